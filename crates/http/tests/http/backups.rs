//! Backups of a server, call by call: what is given, what is waited for, and what is refused.

use std::time::{Duration, Instant};

use base64::Engine as _;

use crate::world::{Response, World};

fn put(world: &World, key: &str) {
    world.database.collection("c").expect("made").put(key, "{\"n\": 1}").expect("put");
}

/// Begins a backup: its number and its commit.
fn begin(world: &World) -> (String, u64) {
    let answer = world.ask("POST /v1/backups", "");
    assert_eq!(answer.status, 201, "{}", answer.text());
    let begun = answer.json();
    (begun["id"].as_str().expect("a text").to_owned(), begun["csn"].as_u64().expect("a number"))
}

/// The records of an answer, after its checksum was compared.
fn records(answer: &Response) -> usize {
    assert_eq!(answer.status, 200, "{}", answer.text());
    let checksum = format!("{:08x}", crc32c::crc32c(&answer.body));
    assert_eq!(answer.header("anywhen-crc32c"), Some(checksum.as_str()));
    let mut rest = &answer.body[8..];
    let mut count = 0;
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        rest = &after[u32::from_le_bytes(*length) as usize..];
        count += 1;
    }
    assert!(rest.is_empty());
    count
}

/// A client that waits for the log is answered when something is committed, and with nothing after a while; what was
/// acknowledged is not told again, and what was not is.
#[test]
fn the_log_is_waited_for() {
    let world = World::with(|options| options.limits.heartbeat = Duration::from_millis(700));
    put(&world, "before");
    let (id, csn) = begin(&world);
    let log = |after: u64| world.ask(&format!("GET /v1/backups/{id}/log?after={after}"), "");
    let begun = Instant::now();
    assert_eq!(records(&log(csn)), 0);
    assert!(begun.elapsed() >= Duration::from_millis(600), "it waits for news");
    std::thread::scope(|threads| {
        let waiting = threads.spawn(|| (log(csn), Instant::now()));
        std::thread::sleep(Duration::from_millis(200));
        let made = Instant::now();
        put(&world, "a");
        let (answer, came) = waiting.join().expect("answers");
        assert_eq!(records(&answer), 1);
        assert!(came - made < Duration::from_millis(400), "it came {:?} later", came - made);
    });
    put(&world, "b");
    assert_eq!(records(&log(csn)), 2, "the first was not acknowledged");
    assert_eq!(records(&log(csn + 1)), 1);
    let other = format!("POST /v1/backups/continue?after={}&time_us=1", csn + 1);
    assert_eq!(world.ask(&other, "").status, 409, "no commit of that time");
    let commit = world.database.commits(anywhen::Csn(csn + 1), anywhen::Csn(csn + 1), false).next();
    let time_us = commit.expect("one").expect("known").time_us;
    let same = format!("POST /v1/backups/continue?after={}&time_us={time_us}", csn + 1);
    let continued = world.ask(&same, "");
    assert_eq!(continued.status, 201, "{}", continued.text());
    let id = continued.json()["id"].as_str().expect("a text").to_owned();
    let answer = world.ask(&format!("GET /v1/backups/{id}/log?after={}", csn + 1), "");
    assert_eq!(records(&answer), 1);
}

/// Files are given as they were when the backup began, whatever is merged meanwhile, until it ends. Nothing else of
/// the folder is given.
#[test]
fn files_stay_until_the_backup_ends() {
    let world = World::new();
    put(&world, "a");
    let answer = world.ask("POST /v1/backups", "").json();
    let id = answer["id"].as_str().expect("a text");
    let manifest = answer["manifest"].as_str().expect("a text");
    let manifest = base64::engine::general_purpose::STANDARD.decode(manifest).expect("base64");
    assert!(manifest.starts_with(b"awhenman"));
    for round in 0..3 {
        put(&world, &format!("k{round}"));
        world.database.compact().expect("merges");
    }
    // The names are in the manifest as numbers: a segment that is there now and was not then is not given.
    let file = |name: &str, query: &str| {
        world.ask(&format!("GET /v1/backups/{id}/files/{name}?{query}"), "")
    };
    for name in ["MANIFEST", "LOCK", "..%2F..%2FLOCK", "0000000001-0000000000000000.seg", "x"] {
        assert_eq!(file(name, "bytes=1").status, 404, "{name}");
    }
    assert_eq!(file("x", "bytes=16777217").status, 400);
    assert_eq!(file("x", "").status, 400);
    assert_eq!(world.ask(&format!("DELETE /v1/backups/{id}"), "").status, 204);
    assert_eq!(world.ask(&format!("GET /v1/backups/{id}/log?after=0"), "").status, 404);
    assert_eq!(world.ask("GET /v1/backups/zzz/log?after=0", "").status, 404);
}
