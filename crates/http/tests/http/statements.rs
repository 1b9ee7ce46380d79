//! How long statements of SQL may run, and how large they may be.

use std::time::{Duration, Instant};

use crate::world::World;

/// Rows of one character, more of them than can be counted before the end of a test.
const ENDLESS: &str = "SELECT count(*) FROM generate_series(1, 4000000000) a";

/// A statement that takes longer than the server allows, or than the request wants, is cancelled and
/// not just left alone: its locks are free, and its changes are rolled back.
#[test]
fn time_is_limited() {
    let world = World::with(|options| options.limits.statement = Some(Duration::from_millis(150)));
    let sql = |parameters: &str, text: &str| {
        let body = serde_json::json!({"sql": text}).to_string();
        world.ask(&format!("POST /v1/sql{parameters}"), &body)
    };
    assert_eq!(sql("", "CREATE TABLE t (n int PRIMARY KEY, m int)").status, 200);
    assert_eq!(sql("", "INSERT INTO t SELECT g, 0 FROM generate_series(1, 10) g").status, 200);
    for (parameters, text) in [
        ("", ENDLESS),
        ("?timeout=60000", ENDLESS),
        ("?timeout=20", "UPDATE t SET m = 1 FROM pg_sleep(60)"),
        ("?timeout=20", "UPDATE t SET m = (SELECT count(*) FROM generate_series(1, 4000000000))"),
    ] {
        let begun = Instant::now();
        let answer = sql(parameters, text);
        assert_eq!(answer.status, 504, "{text}: {}", answer.text());
        assert_eq!(answer.json()["sqlstate"], "57014");
        assert!(begun.elapsed() < Duration::from_secs(20), "{text}: {:?}", begun.elapsed());
    }
    // A request that waits for a lock is cancelled as well.
    let mut other = world.database.connect().expect("connects");
    other.execute("BEGIN", &[]).expect("begins");
    other.execute("UPDATE t SET m = 2 WHERE n = 1", &[]).expect("updates");
    assert_eq!(sql("", "UPDATE t SET m = 3 WHERE n = 1").status, 504);
    other.execute("ROLLBACK", &[]).expect("rolls back");
    assert_eq!(sql("", "UPDATE t SET m = m + 1").json()["count"], 10, "nobody holds anything");
    assert_eq!(sql("", "SELECT DISTINCT m FROM t").json()["rows"], serde_json::json!([[1]]));
}

/// Rows that are on their way when the time is over break off, so that no client takes them for
/// all.
#[test]
fn rows_on_their_way_break_off() {
    let world = World::new();
    let text = "SELECT g, repeat('x', 100) FROM generate_series(1, 4000000000) g";
    let body = serde_json::json!({"sql": text}).to_string();
    let headers = [("accept", "application/x-ndjson"), ("content-type", "application/json")];
    let answer = world.client().ask("POST /v1/sql?timeout=300", &headers, body.as_bytes());
    assert_eq!((answer.status, answer.is_whole), (200, false));
    let lines = answer.text().lines().count();
    assert!(lines > 100, "{lines} lines");
    assert_eq!(world.ask("GET /health", "").status, 200);
}

/// A statement that is longer than a body may be is not read.
#[test]
fn text_is_limited() {
    let world = World::with(|options| options.limits.body_bytes_max = 1_000);
    let body = |length: usize| format!("{{\"sql\":\"SELECT 1 {}\"}}", " ".repeat(length));
    assert_eq!(world.ask("POST /v1/sql", &body(900)).status, 200);
    assert_eq!(world.ask("POST /v1/sql", &body(1_000)).status, 413);
}
