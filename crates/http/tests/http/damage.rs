//! Damaged files, as clients meet them: 500 with a body that says what is damaged and where, and its SQLSTATE. Damage
//! is never told as a mistake of the client, or as something that does not exist.

use std::path::Path;

use anywhen::{Create, Database, Options};
use serde_json::json;
use vfs::{CrashPolicy, Env, FaultKind, FaultPlan, OpClasses, SimRandom, SimVfs};

use crate::world::{World, options};

const SEED: u64 = 91;
const FLIPS: usize = 150;

fn open(disk: &SimVfs) -> Result<Database, anywhen::Error> {
    let mut options = Options::default();
    options.cache_bytes = 1 << 20;
    options.create = Create::IfMissing;
    Database::open_env(&Env::sim(disk, SEED), Path::new("/data"), options)
}

fn sql(text: &str) -> String {
    json!({"sql": text}).to_string()
}

/// A collection and a table with indexes, most of both in files.
fn filled() -> SimVfs {
    let disk = SimVfs::new(SEED);
    let database = open(&disk).expect("opens");
    let world = World::on(database, options());
    for round in 0..30 {
        for key in ["a", "b"] {
            let rows: Vec<String> =
                (0..20).map(|row| format!("{{\"id\":{}}}", row * round)).collect();
            let text = format!("{{\"n\":{round},\"rows\":[{}]}}", rows.join(","));
            let put = world.ask(&format!("PUT /v1/collections/c/documents/{key}"), &text);
            assert!(put.status < 300, "{}", put.text());
        }
    }
    for text in [
        "CREATE TABLE t (id int PRIMARY KEY, n int, name text)",
        "CREATE INDEX ON t (n)",
        "INSERT INTO t SELECT id, id % 9, 'name ' || id FROM generate_series(1, 500) id",
    ] {
        assert_eq!(world.ask("POST /v1/sql", &sql(text)).status, 200, "{text}");
    }
    let database = world.shutdown();
    database.compact().expect("compacts");
    database.close().expect("closes");
    disk.image(disk.op_count(), &CrashPolicy::Everything, 0)
}

/// The requests, with their bodies.
fn requests() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for key in ["a", "b"] {
        let at = format!("/v1/collections/c/documents/{key}");
        for path in [
            "",
            "?revision=3",
            "/versions",
            "/diff?from=2&to=9",
            "/blame",
            "/range?from=1&to=4",
            "/paths",
        ] {
            all.push((format!("GET {at}{path}"), String::new()));
        }
        all.push((format!("GET {at}/node/history?path=$.n"), String::new()));
        all.push((format!("GET /c/{key}?revision=5"), String::new()));
    }
    all.push(("GET /v1/collections/c/documents".to_owned(), String::new()));
    all.push(("GET /v1/collections".to_owned(), String::new()));
    for text in [
        "SELECT * FROM t ORDER BY id",
        "SELECT name FROM t WHERE id = 70",
        "SELECT id FROM t WHERE n = 7 ORDER BY id",
        "SELECT * FROM c ORDER BY 1",
    ] {
        all.push(("POST /v1/sql".to_owned(), sql(text)));
    }
    all
}

/// Each answer is the right one or says what is damaged; an answer that has begun is cut off.
#[test]
fn a_flipped_bit_is_500_and_says_where() {
    let disk = filled();
    let world =
        World::on(open(&disk.image(0, &CrashPolicy::Everything, 0)).expect("opens"), options());
    let ask = |world: &World, (head, body): &(String, String)| world.ask(head, body);
    let truth: Vec<_> = requests()
        .into_iter()
        .map(|request| {
            let answer = ask(&world, &request);
            assert_eq!(answer.status, 200, "{request:?}: {}", answer.text());
            (request, answer.body)
        })
        .collect();
    world.shutdown();
    let files = disk.files().into_iter().map(|(path, _)| path);
    let segments: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|end| end == "seg")).collect();
    let random = SimRandom::new(SEED + 1);
    let mut found = 0;
    for number in 0..FLIPS {
        let path = &segments[number % segments.len()];
        let bytes = disk.content(path).expect("it is there").len() as u64;
        let disk = disk.image(0, &CrashPolicy::Everything, 0);
        let bit = random.below(bytes * 8);
        assert!(disk.flip_bit(path, bit));
        let Ok(database) = open(&disk) else { continue };
        let world = World::on(database, options());
        let name = path.file_name().expect("it has one").to_string_lossy().into_owned();
        for (request, right) in &truth {
            let answer = ask(&world, request);
            let place = format!("bit {bit} of {}: {request:?}: {}", path.display(), answer.text());
            match answer.status {
                200 if answer.is_whole => assert!(answer.body == *right, "{place}"),
                200 => found += 1,
                500 => {
                    let told = answer.json();
                    let detail = told["detail"].as_str().expect("a text");
                    assert!(detail.contains("damaged") && detail.contains(&name), "{place}");
                    assert!(
                        ["XX001", "XX002"].contains(&told["sqlstate"].as_str().unwrap_or("")),
                        "{place}"
                    );
                    found += 1;
                }
                _ => panic!("{place}"),
            }
        }
        world.shutdown();
    }
    assert!(found > FLIPS / 5, "{found} of {FLIPS} flips were found");
}

/// A disk that fails under a read is 503 with 58030, whatever was asked for.
#[test]
fn failures_below_are_no_refusals() {
    let disk = filled();
    let world = World::on(open(&disk).expect("opens"), options());
    disk.fail(FaultPlan { nth: 0, kind: FaultKind::Eio, once: false, on: OpClasses::READ });
    let mut failed = 0;
    for (head, body) in requests() {
        let answer = world.ask(&head, &body);
        if answer.status == 200 {
            continue; // From memory, or cut off.
        }
        assert_eq!(answer.status, 503, "{head}: {}", answer.text());
        assert_eq!(answer.json()["sqlstate"], "58030", "{head}: {}", answer.text());
        failed += 1;
    }
    assert!(failed > 5, "{failed} requests failed");
}
