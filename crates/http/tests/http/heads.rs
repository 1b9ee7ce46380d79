//! HEAD answers with the headers that GET would have.

use crate::world::{Response, World};

/// The headers of both that tell something of the document.
fn headers(answer: &Response) -> [Option<&str>; 5] {
    ["content-type", "content-length", "etag", "last-modified", "vary"]
        .map(|name| answer.header(name))
}

/// HEAD said that a document had no bytes, and nothing of when it was changed; of a condition it knew
/// nothing.
#[test]
fn a_head_is_that_of_the_answer() {
    let world = World::new();
    let document = world.database.collection("c").expect("made");
    document.put("a", r#"{"n":1,"list":[1,2,3]}"#).expect("put");
    document.put("a", r#"{"n":2,"list":[1,2,3,4]}"#).expect("put");
    for address in [
        "/v1/collections/c/documents/a",
        "/v1/collections/c/documents/a?revision=1",
        "/v1/collections/c/documents/a?path=$.list&pretty=true",
        "/v1/collections/c/documents/a/versions",
        "/v1/collections/c/documents/none",
        "/c/a",
        "/c/a?revision=1&maxLevel=1",
        "/c/a/history",
        "/health",
    ] {
        let (head, get) =
            (world.ask(&format!("HEAD {address}"), ""), world.ask(&format!("GET {address}"), ""));
        assert_eq!((head.status, headers(&head)), (get.status, headers(&get)), "{address}");
    }
    let head = world.ask("HEAD /c/a", "");
    assert_eq!(head.header("content-length"), Some("24"));
    let tag = head.header("etag").expect("a tag");
    for address in ["HEAD /c/a", "HEAD /v1/collections/c/documents/a"] {
        let answer = world.client().ask(address, &[("if-none-match", tag)], b"");
        assert_eq!(answer.status, 304, "{address}");
    }
    // A node differs from others by its hash.
    let node = world.ask("HEAD /c/a?nodeId=2", "");
    assert_ne!(node.header("etag"), Some(tag));
    let value = world.ask("GET /c/a?nodeId=2", "");
    assert_eq!(node.header("content-length"), value.header("content-length"));
}

/// Where the length is known only once all of it is written, nothing is written, and the head has
/// no length.
#[test]
fn a_head_of_what_is_long_has_no_length() {
    let world = World::new();
    let long = format!("[{}0]", "0,".repeat(100_000));
    world.database.collection("c").expect("made").put("a", long).expect("put");
    for address in ["/v1/collections/c/documents/a", "/v1/collections/c/documents/a/range"] {
        let head = world.ask(&format!("HEAD {address}"), "");
        assert_eq!((head.status, head.header("content-length")), (200, None), "{address}");
        assert!(head.header("content-type").is_some());
    }
    let head = world.ask("HEAD /v1/changes", "");
    assert_eq!(head.header("content-type"), Some("text/event-stream"));
}
