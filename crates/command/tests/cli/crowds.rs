//! Clients that come in thousands and hang up wherever they are: the server answers, and holds on to
//! nothing of them.
//!
//! ```text
//!   connect ─ startup ─ ready ─ query ─ rows ─ COPY ─ transaction with a lock
//!      x         x        x       x       x      x            x             one of these each
//! ```
//!
//! The test counts the server's resources from outside: its sessions in `pg_stat_activity`, its
//! threads and open files in `/proc`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::World;
use crate::serve_killed::{ask, query, serve};
use crate::wire::{Wire, message, startup};

const CONNECTIONS: usize = 10_000;
/// How many there are at the same time.
const WAVE: usize = 100;

/// How many entries a folder of `/proc` has; 0 where there is no such thing.
fn entries(process: u32, folder: &str) -> usize {
    let folder = PathBuf::from(format!("/proc/{process}/{folder}"));
    std::fs::read_dir(folder).map_or(0, Iterator::count)
}

/// Comes as far as its number says.
fn come(address: SocketAddr, number: usize) -> Wire {
    let mut wire = Wire::open(address);
    let hello = startup(3 << 16, &[("user", "postgres")]);
    let said: Vec<u8> = match number % 8 {
        0 => return wire,
        1 => {
            wire.send(&hello[..1 + number / 8 % (hello.len() - 1)]);
            return wire;
        }
        2 => {
            wire.send(&hello);
            return wire;
        }
        3 => Vec::new(),
        4 => query("SELECT g, repeat('x', 100) FROM generate_series(1, 1000000) g"),
        5 => [query("COPY t FROM STDIN"), message(b'd', b"1\tone\n2\tt")].concat(),
        6 => query("BEGIN; INSERT INTO t VALUES (3, 'three'); SELECT pg_advisory_lock_shared(5)"),
        _ => [message(b'P', b"s\0SELECT $1::int\0\0\0"), message(b'S', b"")].concat(),
    };
    wire.begin(&[("user", "postgres")]);
    wire.send(&said);
    wire
}

#[test]
fn a_crowd_that_hangs_up_leaves_nothing_behind() {
    let world = World::new();
    world.run(&["init"]);
    let (mut server, address) = serve(&world);
    let process = server.id();
    let one = |text: &str| {
        let mut wire = Wire::connect_to(address);
        ask(&mut wire, text).unwrap_or_else(|_| panic!("the server is gone")).concat()
    };
    let sessions = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'";
    one("CREATE TABLE t (id int, word text)");
    // After a first wave the server has made everything that it makes once and keeps.
    let mut held = (0, 0);
    let start = Instant::now();
    for wave in 0..CONNECTIONS / WAVE {
        let crowd: Vec<Wire> =
            (wave * WAVE..(wave + 1) * WAVE).map(|number| come(address, number)).collect();
        assert_eq!(crowd.len(), WAVE);
        drop(crowd);
        if wave == 4 {
            settle(&one, sessions);
            held = (entries(process, "fd"), entries(process, "task"));
        }
    }
    println!("{CONNECTIONS} connections in {:.1} s", start.elapsed().as_secs_f64());
    settle(&one, sessions);
    // Threads that waited for a client's sake end when they have had nothing to do for a while.
    let patience = Instant::now() + Duration::from_secs(30);
    let now = loop {
        let now = (entries(process, "fd"), entries(process, "task"));
        if (now.0 <= held.0 + 5 && now.1 <= held.1 + 5) || Instant::now() > patience {
            break now;
        }
        std::thread::sleep(Duration::from_millis(200));
    };
    println!("files and threads: {held:?}, then {now:?}");
    assert!(now.0 <= held.0 + 5 && now.1 <= held.1 + 5, "{held:?} were {now:?}");
    assert_eq!(one("SELECT count(*) FROM t"), "0", "nobody has committed");
    assert_eq!(one("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"), "0");
    assert_eq!(one("DROP TABLE t; SELECT 7"), "7", "no lock is held");
    server.kill().expect("the server can be killed");
    server.wait().expect("the server is gone");
}

/// Waits until this session is the only one.
fn settle(one: &impl Fn(&str) -> String, sessions: &str) {
    let start = Instant::now();
    while one(sessions) != "1" {
        assert!(start.elapsed() < Duration::from_secs(30), "{} sessions", one(sessions));
        std::thread::sleep(Duration::from_millis(20));
    }
}
