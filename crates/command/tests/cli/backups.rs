//! Backups of a running server, by a second process that is killed, throttled, lied to and sent away.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::http::{Served, ask, serve};
use crate::{World, checkout, number};

const SERVE: [&str; 5] = ["serve", "--pg-listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0"];

/// Puts a document; returns the commit.
fn put(address: &str, key: &str, value: &str) -> u64 {
    let head = format!("PUT /v1/collections/c/documents/{key}");
    let (status, body) = ask(address, &head, "", value);
    assert!((200..300).contains(&status), "{status}: {body}");
    let tape = json::Tape::parse(body.trim()).expect("JSON");
    tape.root().get("csn").and_then(|csn| csn.as_u64()).expect("a commit")
}

/// Starts `backup --follow` into `saved`, and waits until the base is whole.
fn follow(world: &World, url: &str) -> Child {
    let mut child = world
        .command(&["backup", "--from", url, "--follow", "saved"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    let output = child.stdout.as_mut().expect("a pipe");
    BufReader::new(output).read_line(&mut line).expect("it says something");
    assert!(line.starts_with("backed up to saved"), "{line:?}");
    child
}

fn end(mut child: Child) {
    child.kill().expect("it runs");
    child.wait().expect("it ends");
}

/// Restores `saved` to a commit, once the archive has it: until then the process that follows is killed and begun
/// again, which loses nothing.
fn restore(world: &World, url: &str, csn: u64, to: &str) {
    let begun = Instant::now();
    loop {
        let child = follow(world, url);
        std::thread::sleep(Duration::from_millis(300));
        end(child);
        let words = ["--data", to, "restore", "saved", "--to", &format!("csn:{csn}")];
        let output = world.output(&words);
        if output.status.success() {
            return;
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("after the end"), "{said}");
        assert!(begun.elapsed() < Duration::from_secs(60), "{said}");
    }
}

/// An archive of a server goes on over kills of the client and of the server, and is restored to any commit and time
/// since the backup; other moments are refused with those that are allowed.
#[test]
fn an_archive_of_a_running_server() {
    let world = World::new();
    world.run(&["create", "c"]);
    world.run(&["put", "c/before", "0"]);
    let (served, address) = serve(&world, &SERVE);
    let url = format!("http://{address}");
    let child = follow(&world, &url);
    let said = world.fails(1, &["--data", "new", "restore", "saved"]);
    assert!(said.contains("is being written to"), "{said}");
    let first = put(&address, "a", "1");
    std::thread::sleep(Duration::from_millis(50));
    let between = anywhen_time();
    std::thread::sleep(Duration::from_millis(50));
    let large = format!("\"{}\"", "x".repeat(3 << 20));
    put(&address, "large", &large);
    let second = put(&address, "a", "2");
    end(child);
    restore(&world, &url, second, "second");
    assert_eq!(world.run(&["--data", "second", "get", "c/a"]), "2\n");
    assert_eq!(world.run(&["--data", "second", "get", "c/a", "--at", "1"]), "1\n");
    assert_eq!(world.run(&["--data", "second", "get", "c/large"]).trim(), large);
    world.run(&["--data", "second", "verify"]);
    // The restored database takes writes of its own.
    world.run(&["--data", "second", "put", "c/a", "17"]);

    // The server is killed, and opened again at another port.
    drop(served);
    let (served, address) = serve(&world, &SERVE);
    let url = format!("http://{address}");
    let third = put(&address, "a", "3");
    restore(&world, &url, third, "third");
    assert_eq!(world.run(&["--data", "third", "get", "c/a"]), "3\n");

    world.run(&["--data", "then", "restore", "saved", "--to", &between]);
    assert_eq!(world.run(&["--data", "then", "get", "c/a"]), "1\n");
    world.run(&["--data", "one", "restore", "saved", "--to", &format!("csn:{first}")]);
    assert_eq!(world.run(&["--data", "one", "get", "c/a"]), "1\n");
    for (moment, side) in
        [("1970-01-01", "before"), ("csn:999999", "after"), ("2999-01-01", "after")]
    {
        let said = world.fails(1, &["--data", "no", "restore", "saved", "--to", moment]);
        assert!(said.contains(side) && said.contains("can be restored to commits"), "{said}");
        assert!(!world.path("no").exists(), "nothing is left of it");
    }
    world.fails(2, &["--data", "no", "restore", "saved", "--to", "3"]);
    let verified = world.run(&["--data", "saved", "verify"]);
    assert!(verified.contains("an archive of commits"), "{verified}");

    // An archive is of one database.
    let other = World::new();
    other.run(&["put", "c/other", "1"]);
    let (_other, address) = serve(&other, &SERVE);
    for n in 0..30 {
        put(&address, "n", &n.to_string());
    }
    let from = format!("http://{address}");
    let said = world.fails(1, &["backup", "--from", &from, "--follow", "saved"]);
    assert!(said.contains("not a commit of this database"), "{said}");
    drop(served);
}

/// Now, as `--to` takes it.
fn anywhen_time() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    format!("@{:.6}", since.expect("after 1970").as_secs_f64())
}

/// A backup needs a token of a superuser or of a role with REPLICATION, comes over TLS, and is as slow as its limit.
#[test]
fn who_may_take_a_backup() {
    let world = World::new();
    world.run(&["put", "c/a", "1"]);
    // Incompressible, so that it is as large in files.
    let mut random = 1_u64;
    let mut next = || {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        format!("{:016x}", random)
    };
    let text: String = (0..100_000).map(|_| next()).collect();
    world.file("big.json", format!("\"{text}\""));
    world.run(&["put", "c/big", "big.json"]);
    world.run(&["sql", "-c", "create role archivist login replication"]);
    world.run(&["sql", "-c", "create role clerk login"]);
    let token = |name: &str, role: &str| {
        let words = ["token", "create", name, "--role", "view", "--sql-role", role];
        let made = world.json(&words);
        let token = made.root().get("token").and_then(|token| token.as_str()).expect("a token");
        world.file(&format!("{name}.token"), format!("{token}\n"));
    };
    token("good", "archivist");
    token("poor", "clerk");
    let tls = checkout().join("crates/server/tests/server/tls");
    let file = |name: &str| tls.join(name).display().to_string();
    let (certificate, key) = (file("certificate.pem"), file("key.pem"));
    let mut words = SERVE.to_vec();
    words.extend(["--http-auth", "--tls-certificate", &certificate, "--tls-key", &key]);
    let (_served, address) = serve(&world, &words);
    let (_, port) = address.rsplit_once(':').expect("a port");
    let url = format!("https://localhost:{port}");
    let authority = file("authority.pem");
    let from = ["backup", "--from", &url, "--authorities", &authority];
    let with = |more: &[&'static str]| {
        from.iter().copied().chain(more.iter().copied()).collect::<Vec<_>>()
    };
    let said = world.fails(1, &["backup", "--from", "postgres://localhost", "none"]);
    assert!(said.contains("HTTP address"), "{said}");
    let said = world.fails(1, &with(&["none"]));
    assert!(said.contains("token is missing"), "{said}");
    let said = world.fails(1, &with(&["--token-file", "poor.token", "none"]));
    assert!(said.contains("REPLICATION"), "{said}");
    let said = world.fails(1, &["backup", "--from", &url, "--token-file", "good.token", "none"]);
    assert!(said.contains("certificate"), "{said}");

    let begun = Instant::now();
    world.run(&with(&["--token-file", "good.token", "--rate", "1MB/s", "saved"]));
    let bytes: u64 = std::fs::read_dir(world.path("saved/store"))
        .expect("it is there")
        .map(|file| file.expect("a file").metadata().expect("is there").len())
        .sum();
    assert!(bytes > 400_000, "{bytes} bytes");
    let least = Duration::from_secs_f64(bytes as f64 / 1e6 * 0.9);
    assert!(begun.elapsed() > least, "{bytes} bytes in {:?}", begun.elapsed());
    let said = world.fails(1, &with(&["--token-file", "good.token", "saved"]));
    assert!(said.contains("not empty"), "{said}");
    world.run(&["--data", "restored", "restore", "saved"]);
    assert_eq!(world.run(&["--data", "restored", "get", "c/big"]).trim(), format!("\"{text}\""));
}

/// A way to a server that cuts a connection and changes a byte of an answer every so many bytes.
fn bad_way(address: String, cut_every: usize, flip_every: usize) -> (String, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("listens");
    let here = listener.local_addr().expect("an address").to_string();
    let hits = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&hits);
    std::thread::spawn(move || {
        let (mut to_cut, mut to_flip) = (cut_every, flip_every);
        for client in listener.incoming() {
            let mut client = client.expect("a connection");
            let Ok(mut server) = TcpStream::connect(&address) else { continue };
            let mut up =
                (client.try_clone().expect("a socket"), server.try_clone().expect("a socket"));
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut up.0, &mut up.1);
                // A client that was killed ends the way to the server too.
                let _ = up.1.shutdown(std::net::Shutdown::Both);
            });
            let mut buffer = vec![0; 64 << 10];
            while let Ok(count) = server.read(&mut buffer) {
                if count == 0 {
                    break;
                }
                let Some(rest) = to_cut.checked_sub(count) else {
                    to_cut = cut_every;
                    counted.fetch_add(1, Ordering::Relaxed);
                    break;
                };
                to_cut = rest;
                // Within a body: heads are shorter than this.
                to_flip = match to_flip.checked_sub(count) {
                    None if count > 2_000 => {
                        buffer[count - 7] ^= 0x20;
                        counted.fetch_add(1, Ordering::Relaxed);
                        flip_every
                    }
                    rest => rest.unwrap_or(0),
                };
                if client.write_all(&buffer[..count]).is_err() {
                    break;
                }
            }
            let _ = client.shutdown(std::net::Shutdown::Both);
            let _ = server.shutdown(std::net::Shutdown::Both);
        }
    });
    (here, hits)
}

/// A copy over a way that breaks and damages bytes is what the server has; so is one whose process is killed again
/// and again, which keeps what is whole.
#[test]
fn a_copy_over_a_bad_way_by_a_process_that_is_killed() {
    let world = World::new();
    let rows = "insert into t select g, md5(g::text) || md5((g * 7)::text) from generate_series(1, 120000) g";
    world.run(&["sql", "-c", "create table t (id int primary key, x text)", "-c", rows]);
    let (_served, address): (Served, String) = serve(&world, &SERVE);
    let (way, hits) = bad_way(address, 1_800_000, 2_300_000);
    let url = format!("http://{way}");
    world.run(&["backup", "--from", &url, "straight"]);
    assert!(hits.load(Ordering::Relaxed) > 2, "else it proves little");
    let mut kills = 0;
    loop {
        let mut child = world
            .command(&["backup", "--from", &url, "--rate", "2MB/s", "killed"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        std::thread::sleep(Duration::from_millis(400 + 200 * kills));
        match child.try_wait().expect("it is ours") {
            Some(status) => {
                assert!(status.success(), "{status}");
                break;
            }
            None => {
                end(child);
                kills += 1;
                let said = world.fails(1, &["--data", "half", "restore", "killed"]);
                assert!(said.contains("incomplete") || said.contains("no backup"), "{said}");
            }
        }
    }
    assert!(kills > 0, "else it proves little");
    for saved in ["straight", "killed"] {
        let data = format!("{saved}-restored");
        world.run(&["--data", &data, "restore", saved]);
        let count = world.run(&[
            "--data",
            &data,
            "sql",
            "--format",
            "csv",
            "-c",
            "select count(*), max(x) from t",
        ]);
        assert!(count.contains("120000"), "{count}");
        assert!(number(&world.json(&["--data", &data, "verify"]), "blocks") > 0);
    }
}
