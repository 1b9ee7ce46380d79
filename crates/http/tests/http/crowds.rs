//! Clients that hold connections and say nothing, and clients that are gone before they have their answer.

use std::net::Shutdown;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::world::{Client, World};

/// Rows of one character, more of them than can be counted before the end of a test.
const ENDLESS: &str = "SELECT count(*) FROM generate_series(1, 4000000000) a";

fn sql(text: &str) -> Vec<u8> {
    json!({"sql": text}).to_string().into_bytes()
}

/// A thousand connections that sent nothing, or half of a head, kept everybody out for 27 seconds. They
/// leave for clients that have something to ask; one that waits for its answer does not.
#[test]
fn silent_connections_leave_for_others() {
    let world = World::with(|options| options.limits.connections_max = 20);
    let mut waiting = world.client();
    waiting.send("POST /v1/sql", &[], &sql("SELECT pg_sleep(2)"));
    std::thread::sleep(Duration::from_millis(100));
    let silent: Vec<Client> = (0..60)
        .map(|number| {
            let mut client = world.client();
            match number % 5 {
                0 => {}
                1 => client.raw(b"GET /hea"),
                2 => client.raw(b"POST /v1/sql HTTP/1.1\r\nhost: localhost\r\n"),
                3 => client.raw(
                    b"POST /v1/sql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
                      content-length: 100\r\n\r\n{",
                ),
                _ => client.send("GET /health", &[], b""),
            }
            client
        })
        .collect();
    for _ in 0..10 {
        let begun = Instant::now();
        assert_eq!(world.ask("GET /health", "").status, 200);
        assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    }
    assert_eq!(waiting.answer(false).status, 200, "who waits for an answer gets it");
    let metrics = world.ask("GET /metrics", "").text();
    let evicted = metrics.lines().find(|line| line.starts_with("anywhen_http_connections_evicted"));
    let evicted = evicted.and_then(|line| line.rsplit_once(' ')).expect("a counter").1;
    assert!(evicted.parse::<u32>().expect("a number") >= 40, "{evicted}");
    drop(silent);
}

/// Clients that ask for much and read nothing hold no place either.
#[test]
fn clients_that_read_nothing_leave_for_others() {
    let world = World::with(|options| options.limits.connections_max = 5);
    let deaf: Vec<Client> = (0..5)
        .map(|_| {
            let mut client = world.client();
            client.raw(
                "GET /openapi.yaml HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(400).as_bytes(),
            );
            client
        })
        .collect();
    std::thread::sleep(Duration::from_secs(1));
    for _ in 0..5 {
        let begun = Instant::now();
        assert_eq!(world.ask("GET /health", "").status, 200);
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    }
    drop(deaf);
}

/// A connection on which no request comes ends after a while, also where the client did not begin one.
#[test]
fn silence_ends() {
    let world = World::with(|options| options.limits.header = Duration::from_millis(200));
    for bytes in [&b""[..], b"GET /", b"PRI * HT"] {
        let mut client = world.client();
        client.raw(bytes);
        let begun = Instant::now();
        while !client.line().is_empty() {}
        assert!(begun.elapsed() < Duration::from_secs(5), "{bytes:?}: {:?}", begun.elapsed());
    }
}

/// A world whose few threads are all taken by a handful of requests, and a document of so many nodes.
fn narrow(nodes: usize) -> World {
    let world = World::with(|options| {
        options.limits.workers = 1;
        options.limits.streams_max = 2;
    });
    let list: Vec<String> = (0..nodes).map(|number| number.to_string()).collect();
    let text = format!(r#"{{"a":[{}]}}"#, list.join(","));
    world.database.collection("c").expect("made").put("k", text).expect("put");
    world
}

/// A patch that takes seconds on any machine: each step walks along an array of 20,000 elements, to move the
/// first one to its end.
fn long_patch() -> String {
    let step = json!({"op": "move", "from": "/a/0", "path": "/a/19999"});
    json!(vec![step; 40_000]).to_string()
}

/// Statements, patches and transactions went on after their clients had gone, and held threads, locks and
/// memory. They end soon now, and change nothing.
#[test]
fn work_ends_with_its_client() {
    const AT: &str = "/v1/collections/c/documents/k";
    let world = narrow(20_000);
    let patch = long_patch();
    let transaction = format!(
        r#"{{"operations":[{{"op":"patch","collection":"c","key":"k","patch":{patch}}}]}}"#
    );
    let lines = [("accept", "application/x-ndjson"), ("content-type", "application/json")];
    let none = sql("SELECT g FROM generate_series(1, 4000000000) g WHERE g < 0");
    let some = sql("SELECT repeat('x', 40000) FROM generate_series(1, 4000000000) g WHERE g < 5");
    let patched = [("content-type", "application/json-patch+json")];
    let patch_at = format!("PATCH {AT}");
    for (head, headers, body) in [
        ("POST /v1/sql", &[][..], &sql(ENDLESS)[..]),
        ("POST /v1/sql", &lines[..], &none[..]),
        ("POST /v1/sql", &lines[..], &some[..]),
        (&patch_at, &patched[..], patch.as_bytes()),
        ("POST /v1/transactions", &[][..], transaction.as_bytes()),
    ] {
        // More of them than there are threads.
        for _ in 0..4 {
            let mut client = world.client();
            client.send(head, headers, body);
            std::thread::sleep(Duration::from_millis(100));
            client.close(Shutdown::Both);
        }
        let begun = Instant::now();
        let answer = world.ask("POST /v1/sql", "{\"sql\":\"SELECT 1\"}");
        assert_eq!(answer.status, 200, "{head}: {}", answer.text());
        assert!(begun.elapsed() < Duration::from_secs(10), "{head}: {:?}", begun.elapsed());
    }
    let document = world.ask(&format!("GET {AT}/versions"), "").json();
    assert_eq!(document["versions"].as_array().map(Vec::len), Some(1), "nothing was changed");
}

/// A server that is told to stop lets requests go on for most of the time that it has, then cancels them;
/// no thread of it is left that holds the database.
#[test]
fn shutting_down_amid_work() {
    let world = World::with(|options| options.limits.shutdown = Duration::from_secs(3));
    let collection = world.database.collection("c").expect("made");
    let list: Vec<String> = (0..20_000).map(|number| number.to_string()).collect();
    collection.put("k", format!(r#"{{"a":[{}]}}"#, list.join(","))).expect("put");
    drop(collection);
    let (mut first, mut second) = (world.client(), world.client());
    first.send("POST /v1/sql", &[], &sql(ENDLESS));
    let patched = [("content-type", "application/json-patch+json")];
    second.send("PATCH /v1/collections/c/documents/k", &patched, long_patch().as_bytes());
    std::thread::sleep(Duration::from_millis(200));
    let begun = Instant::now();
    let database = world.shutdown();
    let took = begun.elapsed();
    // The endless statement would take for ever; a machine that does other work may be late.
    assert!((2_000..20_000).contains(&took.as_millis()), "{took:?}");
    database.close().expect("nobody else holds it");
}

/// Forty steps that each copy the document into itself make it a million million times as large: of 1.7 KB
/// all memory was taken. The server counts copies before it allocates memory for them, over all operations
/// of a transaction. It refuses the request, and the document is unchanged.
#[test]
fn copies_are_limited() {
    const AT: &str = "/v1/collections/c/documents/k";
    let world = World::new();
    let collection = world.database.collection("c").expect("made");
    collection.put("k", r#"{"text":"some text"}"#).expect("put");
    collection.put("wide", format!("[{}0]", "0,".repeat(100_000))).expect("put");
    let copies = |count: usize| -> Vec<_> {
        (0..count).map(|at| json!({"op": "copy", "from": "", "path": format!("/c{at}")})).collect()
    };
    let status = |head: &str, media: &str, body: String| {
        let answer = world.client().ask(head, &[("content-type", media)], body.as_bytes());
        assert!(answer.status < 500, "{}", answer.text());
        (answer.status, answer.text())
    };
    let begun = Instant::now();
    let patch = "application/json-patch+json";
    let head = format!("PATCH {AT}");
    let (code, text) = status(&head, patch, json!(copies(40)).to_string());
    assert_eq!(code, 413, "{text}");
    assert!(text.contains("4000000 nodes"), "{text}");
    // Many operations together copy what each of them may.
    let into = |key: &str, count: usize| {
        let steps: Vec<_> =
            (0..count).map(|_| json!({"op": "copy", "from": "", "path": "/-"})).collect();
        json!({"op": "patch", "collection": "c", "key": key, "patch": steps})
    };
    let all = json!({"operations": [into("wide", 5), into("wide", 5)]}).to_string();
    assert_eq!(status("POST /v1/transactions", "application/json", all).0, 413);
    // The content of a body is limited as well: a merge patch, a node.
    let many = format!("{{\"a\":[{}0]}}", "0,".repeat(4_000_000));
    assert_eq!(status(&head, "application/merge-patch+json", many.clone()).0, 422);
    let node = format!("PUT {AT}/node?path=$.n");
    assert_eq!(status(&node, "application/json", many).0, 422);
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    let versions = world.ask(&format!("GET {AT}/versions"), "").json();
    assert_eq!(versions["versions"].as_array().map(Vec::len), Some(1), "nothing was changed");
    // Small copies work as ever.
    assert_eq!(status(&head, patch, json!(copies(10)).to_string()).0, 200);
}
