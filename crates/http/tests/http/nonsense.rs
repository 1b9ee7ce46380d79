//! Nonsense: random paths, parameters, headers and bodies. The server never fails, and stays up.

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::world::{Client, World};

/// Parts of which addresses are put together: some mean something.
fn segment() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => prop::sample::select(vec![
            "v1", "collections", "c", "documents", "k", "node", "history", "diff", "pathSummary",
            "versions", "1", "2", "99", "move", "rename", "range", "blame", "paths", "hash", "changes",
            "sql", "revert", "..", "%00", "%2F", "%ff", "", "health", "metrics",
        ]).prop_map(str::to_owned),
        1 => "[a-zA-Z0-9%~.:-]{0,8}",
    ]
}

fn parameter() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec![
        "revision",
        "timestamp",
        "csn",
        "path",
        "node_key",
        "nodeId",
        "maxLevel",
        "maxChildren",
        "numberOfNodes",
        "withMetaData",
        "prettyPrint",
        "nextTopLevelNodes",
        "startNodeKey",
        "query",
        "insert",
        "first-revision",
        "second-revision",
        "start-revision",
        "end-revision",
        "revisions",
        "startRevision",
        "endRevision",
        "maxDepth",
        "from",
        "to",
        "form",
        "axis",
        "at",
        "name",
        "limit",
        "after",
        "prefix",
        "to_path",
        "revision-timestamp",
        "startResultSeqIndex",
        "max_level",
        "nosuch",
    ]);
    let value = prop_oneof![
        prop::sample::select(vec![
            "0",
            "1",
            "2",
            "3",
            "7",
            "18446744073709551615",
            "18446744073709551616",
            "-1",
            "true",
            "x",
            "",
            "$",
            "$.a",
            "$.a[0]",
            "$.a[99999999999]",
            "/a/0",
            "/a/-",
            "$[",
            "%24.a",
            "2026-01-01",
            "9999-12-31T23:59:59Z",
            "1970-01-01",
            "asFirstChild",
            "replace",
            "nodeKey",
            "first",
            "last",
            "rfc6902",
            "sirix",
            "$.**",
            "$%20?%20(@.a%20%3E%201)",
            "lax%20$.a.type()",
            "%",
            "%zz",
            "+",
        ])
        .prop_map(str::to_owned),
        "[a-z0-9$.%\\[\\]]{0,12}",
    ];
    (name, value).prop_map(|(name, value)| format!("{name}={value}"))
}

fn body() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "",
            "{}",
            "[]",
            "null",
            "1e999",
            "{\"a\":1,\"a\":2}",
            "[[[[[[[[",
            "{\"sql\":\"SELECT $1\"}",
            "{\"sql\":\"SELECT 1\",\"parameters\":[1]}",
            "{\"sql\":\"garbage\"}",
            "\"\\ud800\"",
            "[{\"op\":\"add\",\"path\":\"/a/0\",\"value\":1}]",
            "[{\"op\":\"move\",\"from\":\"\",\"path\":\"/a\"}]",
            "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"\"}]",
            "[{\"op\":\"copy\",\"from\":\"\",\"path\":\"/a/-\"}]",
            "[{\"op\":\"remove\",\"path\":\"\"}]",
            "{\"history\":\"1s\"}",
            "{\"history\":7}",
            "{\"a\":{\"b\":null}}",
        ])
        .prop_map(str::to_owned),
        ".{0,40}",
    ]
}

/// No request makes the server fail: its error is 4xx, or 501 where it is valid but not supported. Set
/// `ANYWHEN_TIMES` for more of them.
#[test]
fn nothing_is_a_failure() {
    let world = World::new();
    world
        .database
        .collection("c")
        .and_then(|c| Ok(c.put("k", r#"{"a":[1,{"b":"x"},[]],"d":{"e":2.50}}"#)?))
        .expect("put");
    let held: Cell<Option<Client>> = Cell::new(None);
    let times: u32 = std::env::var("ANYWHEN_TIMES").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let mut runner = TestRunner::new(Config {
        cases: 1_500 * times,
        failure_persistence: None,
        ..Config::default()
    });
    let methods = prop::sample::select(vec!["GET", "HEAD", "PUT", "POST", "PATCH", "DELETE"]);
    let media = prop::sample::select(vec![
        "application/json",
        "application/json-patch+json",
        "application/merge-patch+json",
        "text/plain",
        "",
    ]);
    let path = prop_oneof![
        prop::collection::vec(segment(), 0..7).prop_map(|parts| format!("/{}", parts.join("/"))),
        segment().prop_map(|end| format!("/v1/collections/c/documents/k/{end}")),
        segment().prop_map(|end| format!("/c/k/{end}")),
        Just("/c/k".to_owned()),
        Just("/v1/collections/c/documents/k".to_owned()),
    ];
    let parameters = prop::collection::vec(parameter(), 0..4);
    let tags = prop::sample::select(vec!["", "1", "\"1\"", "*", "\"", "W/\"2\", \"3\""]);
    let all = (methods, path, parameters, media, body(), tags);
    runner
        .run(&all, |(method, path, parameters, media, body, tag)| {
            // A stream of changes has no end.
            if path.starts_with("/v1/changes") && method == "GET" {
                return Ok(());
            }
            // Half of the time a document is there.
            let _ = world.database.collection("c").map(|c| c.put("k", r#"{"a":[1,{"b":"x"},[]]}"#));
            let question = if parameters.is_empty() { "" } else { "?" };
            let address = format!("{path}{question}{}", parameters.join("&"));
            let address: String = address.chars().filter(|c| c.is_ascii_graphic()).collect();
            let mut headers = Vec::new();
            if !media.is_empty() {
                headers.push(("content-type", media));
            }
            if !tag.is_empty() {
                headers.push(("if-match", tag));
            }
            // After an error the server may not want to hear the rest.
            let mut client = held.take().unwrap_or_else(|| world.client());
            let answer = client.ask(&format!("{method} {address}"), &headers, body.as_bytes());
            if answer.status < 400 {
                held.set(Some(client));
            }
            prop_assert!(
                answer.status < 500 || answer.status == 501,
                "{method} {address} {body:?}: {} {}",
                answer.status,
                answer.text()
            );
            if answer.status >= 400 && method != "HEAD" {
                prop_assert_eq!(answer.header("content-type"), Some("application/problem+json"));
            }
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(world.ask("GET /health", "").status, 200);
    assert!(world.ask("GET /metrics", "").text().contains("anywhen_http_panics_total 0\n"));
}
