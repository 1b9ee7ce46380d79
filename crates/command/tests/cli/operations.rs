//! The settings and outputs of an operator: budgets, `ALTER SYSTEM` over restarts, SIGHUP, the log
//! file.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::World;
use crate::serve_killed::{query, row};
use crate::wire::Wire;

/// The rows of an answer, or the code of its error.
fn say(wire: &mut Wire, text: &str) -> String {
    wire.send(&query(text));
    let answers = wire.until(b'Z');
    match answers.iter().find(|answer| answer.kind == b'E') {
        Some(error) => error.state(),
        None => {
            let rows = answers.iter().filter(|answer| answer.kind == b'D');
            rows.map(row).collect::<Vec<_>>().join(";")
        }
    }
}

/// A server, ended when it is dropped.
struct Served {
    child: Child,
    address: SocketAddr,
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Served {
    fn start(world: &World, words: &[&str]) -> Served {
        let words = [&["serve", "--pg-listen", "127.0.0.1:0"], words].concat();
        let mut command = world.command(&words);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let address = lines.find_map(|line| {
            let line = line.expect("text");
            let (_, rest) = line.split_once(" at ")?;
            rest.split_once(": psql")?.0.parse().ok()
        });
        Served { child, address: address.expect("it says where it listens") }
    }

    /// The answer to a statement.
    fn one(&self, text: &str) -> String {
        say(&mut Wire::connect_to(self.address), text)
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([name, &self.child.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()), "the signal is sent");
    }

    /// Asks until the answer is the wanted one.
    fn until(&self, text: &str, wanted: &str) {
        let end = Instant::now() + Duration::from_secs(20);
        while self.one(text) != wanted {
            assert!(Instant::now() < end, "{text} gives {}, and not {wanted}", self.one(text));
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// `SHOW` and `pg_settings` tell the budgets of the command line; a budget that is not given is a share of the
/// memory. A statement that needs more than all may have together fails, and the server goes on.
#[test]
fn budgets_are_shown_and_kept() {
    let world = World::new();
    let words = ["--cache-mib", "96", "--max-connections", "7", "--set", "work_mem=9MB"];
    let limits = ["--statement-mib", "16", "--statements-mib", "16", "--memtable-mib", "8"];
    let server = Served::start(&world, &[&words[..], &limits[..]].concat());
    assert_eq!(server.one("SHOW shared_buffers"), "96MB");
    assert_eq!(server.one("SHOW max_connections"), "7");
    assert_eq!(server.one("SHOW work_mem"), "9MB");
    let source = "SELECT source FROM pg_settings WHERE name = 'work_mem'";
    assert_eq!(server.one(source), "command line");
    // A sort that may hold its rows in memory; a cursor keeps them.
    let sorted = |rows: u32| format!("SELECT n FROM generate_series(1, {rows}) n ORDER BY -n");
    let hold = |wire: &mut Wire, rows: u32| {
        say(wire, "SET work_mem = '1GB'");
        say(wire, &format!("BEGIN; DECLARE c CURSOR FOR {}; FETCH c", sorted(rows)))
    };
    let (mut one, mut other) = (Wire::connect_to(server.address), Wire::connect_to(server.address));
    assert_eq!(hold(&mut one, 1_000_000), "53200", "it needs more than a statement may have");
    say(&mut one, "ROLLBACK");
    assert_eq!(hold(&mut one, 130_000), "130000");
    assert_eq!(hold(&mut other, 130_000), "53200", "together they need more than all may have");
    say(&mut other, "ROLLBACK");
    say(&mut one, "ROLLBACK");
    assert_eq!(hold(&mut other, 130_000), "130000");
    assert_eq!(server.one("SELECT 7"), "7");
    drop(server);

    let server = Served::start(&world, &[]);
    let shared: u64 = server
        .one("SELECT setting FROM pg_settings WHERE name = 'shared_buffers'")
        .parse()
        .expect("a number");
    assert!((64 << 20..=16 << 30).contains(&(shared * 8_192)), "{shared} blocks");
    assert_eq!(server.one("SHOW max_connections"), "1000");
    let bad = world.fails(1, &["serve", "--pg-listen", "127.0.0.1:0", "--set", "work_mem"]);
    assert!(bad.contains("NAME=VALUE"), "{bad}");
}

/// `ALTER SYSTEM` holds for all sessions after a reload, by function or signal, and for the server after a
/// restart, even one after a kill; the command line goes before it. Wrong names, values and roles are refused.
#[test]
fn alter_system_outlives_the_server() {
    let world = World::new();
    let server = Served::start(&world, &[]);
    let mut wire = Wire::connect_to(server.address);
    let mut here = |text: &str| say(&mut wire, text);
    for (text, code) in [
        ("ALTER SYSTEM SET wrok_mem = '8MB'", "42704"),
        ("ALTER SYSTEM SET work_mem = 'much'", "22023"),
        ("ALTER SYSTEM SET block_size = 1", "55P02"),
        ("ALTER SYSTEM RESET wrok_mem", "42704"),
        ("BEGIN; ALTER SYSTEM SET work_mem = '8MB'", "25001"),
    ] {
        let given = here(text);
        assert!(given.contains(code), "{text}: {given}");
        here("ROLLBACK");
    }
    here("CREATE ROLE ann LOGIN");
    here("SET ROLE ann");
    assert!(here("ALTER SYSTEM SET work_mem = '8MB'").contains("42501"));
    assert!(here("SELECT pg_reload_conf()").contains("42501"));
    here("RESET ROLE");

    here("ALTER SYSTEM SET work_mem = '8MB'");
    here("ALTER SYSTEM SET max_connections = 17");
    here("ALTER SYSTEM SET shared_buffers = '100MB'");
    here("ALTER SYSTEM SET search_path = public, \"Odd\"");
    assert_eq!(here("SHOW work_mem"), "4MB");
    assert_eq!(server.one("SELECT applied FROM pg_file_settings WHERE name = 'work_mem'"), "t");
    assert_eq!(here("SELECT pg_reload_conf()"), "t");
    // Of a session that was there before, and of one that begins.
    assert_eq!(here("SHOW work_mem"), "8MB");
    assert_eq!(server.one("SHOW search_path"), "public, \"Odd\"");
    let pending = "SELECT name FROM pg_settings WHERE pending_restart ORDER BY 1";
    assert_eq!(here(pending), "max_connections;shared_buffers");
    assert_eq!(here("SHOW max_connections"), "1000");
    // The own setting of a session stays.
    here("SET work_mem = '5MB'");
    assert_eq!(server.one("ALTER SYSTEM SET work_mem = '10MB'"), "");
    server.signal("-HUP");
    server.until("SHOW work_mem", "10MB");
    assert_eq!(here("SHOW work_mem"), "5MB");
    assert_eq!(here("RESET work_mem; SHOW work_mem"), "10MB");
    drop(server);

    let server = Served::start(&world, &[]);
    assert_eq!(server.one("SHOW max_connections"), "17");
    assert_eq!(server.one("SHOW shared_buffers"), "100MB");
    let told = "SELECT source || ' ' || (sourcefile LIKE '%postgresql.auto.conf') FROM pg_settings WHERE name = 'work_mem'";
    assert_eq!(server.one(told), "configuration file true");
    assert_eq!(server.one(pending), "");
    server.one("ALTER SYSTEM RESET ALL");
    drop(server);
    let server = Served::start(&world, &["--max-connections", "9"]);
    assert_eq!(server.one("SHOW max_connections"), "9");
    assert_ne!(server.one("SHOW shared_buffers"), "100MB");
    server.one("ALTER SYSTEM SET max_connections = 5");
    drop(server);
    let server = Served::start(&world, &["--max-connections", "9"]);
    assert_eq!(server.one("SHOW max_connections"), "9", "the command line goes before the file");
}

/// Lines of the log go to a file, statements as `log_statement` and `log_min_duration_statement` say, which may
/// change while the server runs; SIGHUP opens the file anew.
#[test]
fn the_log_is_a_file() {
    let world = World::new();
    let file: PathBuf = world.path("logs/server.log");
    let name = file.to_str().expect("it is text");
    let server = Served::start(&world, &["--log-file", name, "--log-files", "3"]);
    let read = |path: &PathBuf| fs::read_to_string(path).unwrap_or_default();
    let until = |path: &PathBuf, what: &str| {
        let end = Instant::now() + Duration::from_secs(20);
        while !read(path).contains(what) {
            assert!(Instant::now() < end, "{what} is missing: {}", read(path));
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    server.one("CREATE TABLE quiet (id int)");
    until(&file, "connected");
    server.one("ALTER SYSTEM SET log_statement = ddl");
    server.one("ALTER SYSTEM SET log_min_duration_statement = '300ms'");
    server.one("SELECT pg_reload_conf()");
    server.one("CREATE TABLE told (id int)");
    server.one("INSERT INTO told VALUES (1)");
    server.one("SELECT pg_sleep(0.4), 'slow one'");
    until(&file, "slow one");
    until(&file, "CREATE TABLE told");
    let text = read(&file);
    assert!(!text.contains("quiet") && !text.contains("INSERT INTO told"), "{text}");
    assert!(!text.contains('\u{1b}'), "no colours in a file: {text}");

    // Sessions are logged unless settings say otherwise, which a session holds from its beginning.
    until(&file, "disconnected");
    assert!(text.contains("session_ms"), "{text}");
    assert_eq!(server.one("SHOW log_connections"), "on");
    server.one("ALTER SYSTEM SET log_connections = off");
    server.one("ALTER SYSTEM SET log_disconnections = off");
    server.one("CREATE DATABASE unheard");
    server.one("SELECT pg_reload_conf()");
    let say_there = |text: &str| {
        let mut wire = Wire::open(server.address);
        wire.begin(&[("user", "postgres"), ("database", "unheard")]);
        say(&mut wire, text)
    };
    assert_eq!(say_there("SHOW log_connections"), "off");
    server.one("ALTER SYSTEM RESET ALL");
    server.one("SELECT pg_reload_conf()");
    server.one("SELECT 'heard again'");
    let before = read(&file).matches("connected").count();
    server.one("SELECT 1");
    let end = Instant::now() + Duration::from_secs(20);
    while read(&file).matches("connected").count() <= before {
        assert!(Instant::now() < end, "{}", read(&file));
        std::thread::sleep(Duration::from_millis(20));
    }
    let text = read(&file);
    let of_session = |line: &&str| line.contains("connected") && line.contains("unheard");
    assert_eq!(text.lines().filter(of_session).count(), 0, "{text}");

    let moved = world.path("logs/moved");
    fs::rename(&file, &moved).expect("it can be moved");
    server.signal("-HUP");
    until(&file, "the configuration was read again");
    assert_eq!(server.one("SELECT 7"), "7", "the server goes on");
}

/// A server makes a backup of itself for a statement, which a timeout stops and which goes on; the copy is restored.
#[test]
fn a_statement_makes_a_backup() {
    let world = World::new();
    let server = Served::start(&world, &[]);
    let folder = world.path("saved");
    let saved = folder.to_str().expect("it is text");
    server.one("CREATE TABLE t AS SELECT n, md5(n::text) FROM generate_series(1, 30000) n");
    let mut wire = Wire::connect_to(server.address);
    say(&mut wire, "SET statement_timeout = '300ms'");
    let slowly = format!("SELECT backup('{saved}', bytes_per_second => 1000)");
    assert_eq!(say(&mut wire, &slowly), "57014");
    let cut_short = world.output(&["--data", "restored", "restore", "saved"]);
    assert!(!cut_short.status.success(), "it is no backup yet");
    say(&mut wire, "SET statement_timeout = 0");
    let csn = say(&mut wire, &format!("SELECT backup('{saved}')"));
    assert!(csn.parse::<u64>().is_ok_and(|csn| csn > 0), "{csn}");
    let restored = world.output(&["--data", "restored", "restore", "saved"]);
    assert!(restored.status.success(), "{}", String::from_utf8_lossy(&restored.stderr));
    let count = world.output(&["--data", "restored", "sql", "-c", "SELECT count(*) FROM t"]);
    assert!(String::from_utf8_lossy(&count.stdout).contains("30000"), "all rows are there");
}
