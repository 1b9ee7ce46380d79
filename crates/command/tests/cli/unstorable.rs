//! Documents with values that no document gets today, from a release that took them.
//!
//! `tests/unstorable` is a folder that such a release wrote (commit 1da3e27). It holds, in the collection `c`:
//!
//! ```text
//!   bad      1  {"n":1e131072,"s":"a\u0000b","k\u0000":1,"ok":[1.50]}
//!   good     1  {"a":1}
//!   mended   1  {"n":1e131072,"ok":1}   2  {"n":1e131072,"ok":2}      3  {"n":1,"ok":3}
//!   last     1  {"x":1,"y":{"z":2}}     2  {"x":1,"y":{"z":"\u0000"}} 3  {"x":7,"y":{"z":"\u0000"}}
//! ```

use std::path::Path;

use crate::World;
use crate::formats::unpack;
use crate::http::{ask, serve};

fn world() -> World {
    let world = World::new();
    let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/unstorable");
    unpack(&packed, &world.path("anywhen-data"));
    world
}

/// The output of a command on standard error.
fn told(world: &World, words: &[&str]) -> String {
    let output = world.command(words).output().expect("it starts");
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8(output.stderr).expect("UTF-8")
}

/// JSON stays what it was, byte for byte, in every version and every kind of question.
#[test]
fn documents_are_read_as_they_were_written() {
    let world = world();
    let bad = r#"{"n":1e131072,"s":"a\u0000b","k\u0000":1,"ok":[1.50]}"#;
    assert_eq!(world.run(&["get", "c/bad"]), format!("{bad}\n"));
    assert_eq!(world.run(&["get", "c/mended", "--at", "2"]), "{\"n\":1e131072,\"ok\":2}\n");
    assert_eq!(world.run(&["get", "c/bad", "--path", "$.n"]), "1e131072\n");
    let history = world.run(&["node-history", "c/mended", "$.n"]);
    assert!(history.contains("1-2") && history.contains("1e131072"), "{history}");
    assert!(world.run(&["diff", "c/mended", "1", "3"]).contains("~ $.n  1e131072 -> 1"));
    world.run(&["verify"]);
    let words = ["serve", "--pg-listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0"];
    let (_served, address) = serve(&world, &words);
    assert_eq!(ask(&address, "GET /c/bad", "", ""), (200, bad.to_owned()));
    let (status, text) = ask(&address, "POST /v1/c/last/revert", "", "{\"revision\":2}");
    assert_ne!(status, 500, "{text}");
}

/// SQL gets such a value as a string of its text, and a notice names the document and the place. The scan
/// of the collection once ended at the first of them.
#[test]
fn sql_gets_marked_values_and_a_notice() {
    let world = world();
    let words = ["sql", "--format", "csv", "-c", "SELECT key, doc FROM documents('c') ORDER BY 1"];
    let rows = world.run(&words);
    assert_eq!(
        rows.replace("\"\"", "\""),
        concat!(
            "key,doc\n",
            "bad,\"{\"n\": \"1e131072\", \"s\": \"a\\\\u0000b\", \"ok\": [1.50], \"k\\\\u0000\": 1}\"\n",
            "good,\"{\"a\": 1}\"\n",
            "last,\"{\"x\": 7, \"y\": {\"z\": \"\\\\u0000\"}}\"\n",
            "mended,\"{\"n\": 1, \"ok\": 3}\"\n",
        )
    );
    let notices = told(&world, &words);
    let named: Vec<&str> = notices.lines().filter(|line| line.contains("NOTICE")).collect();
    let text = |key: &str, place: &str| {
        format!(
            "NOTICE:  document \"{key}\" of collection \"c\" has values that jsonb cannot hold: {place}"
        )
    };
    assert_eq!(named, [text("bad", "$.n and 2 more"), text("last", "$.y.z")], "{notices}");
    // A session that wants no notices gets none.
    let quiet = "SET client_min_messages = warning; SELECT count(*) FROM documents('c')";
    assert_eq!(told(&world, &["sql", "-c", quiet]), "");
}

/// The way back to a version with such a value would write it again: it is refused, and names the value.
/// Where the value stands at the same node, the way is open and writes nothing of it.
#[test]
fn no_way_back_writes_such_a_value_again() {
    let world = world();
    for (target, revision, place) in [("c/mended", "1", "$.n"), ("c/mended", "2", "$.n")] {
        let said = world.fails(1, &["revert", target, revision]);
        assert!(said.contains(&format!("no document can hold the value at {place}")), "{said}");
    }
    assert_eq!(world.run(&["get", "c/mended"]), "{\"n\":1,\"ok\":3}\n");
    assert!(!world.run(&["history", "c/mended"]).contains("4  "));
    // The value was never away.
    world.run(&["revert", "c/last", "2"]);
    assert_eq!(world.run(&["get", "c/last"]), "{\"x\":1,\"y\":{\"z\":\"\\u0000\"}}\n");
    world.run(&["revert", "c/last", "1"]);
    assert_eq!(world.run(&["get", "c/last"]), "{\"x\":1,\"y\":{\"z\":2}}\n");
    assert!(world.fails(1, &["revert", "c/last", "3"]).contains("$.y.z"));
    world.run(&["rm", "c/bad"]);
    assert!(world.fails(1, &["revert", "c/bad", "1"]).contains("$."));
    world.run(&["verify"]);
}
