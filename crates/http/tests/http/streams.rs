//! Large documents on their way in and out, compression, and limits.

use std::io::Read;

use crate::world::World;

/// A document of many elements, of about so many bytes.
fn large(bytes: usize) -> String {
    let mut text = String::from("{\"items\":[");
    let mut number = 0;
    while text.len() < bytes {
        if number > 0 {
            text.push(',');
        }
        text += &format!("{{\"id\":{number},\"name\":\"item {number}\",\"tags\":[\"a\",\"b\"]}}");
        number += 1;
    }
    text + "]}"
}

/// A document that is larger than what is held of a body comes in as a stream and goes out in pieces,
/// byte for byte, with edits in it as well.
#[test]
fn a_large_document_streams() {
    let world = World::new();
    let text = large(20 << 20);
    let answer = world.ask("PUT /d/large", &text);
    assert_eq!(answer.status, 201, "{}", answer.text());
    let answer = world.ask("GET /d/large", "");
    assert_eq!(answer.header("transfer-encoding"), Some("chunked"));
    assert!(answer.is_whole && answer.body == text.as_bytes());
    let answer = world.ask("POST /d/large?nodeId=2&insert=asFirstChild", "\"first\"");
    assert_eq!(answer.status, 200, "{}", answer.text());
    let answer = world.ask("GET /d/large", "");
    assert!(answer.body == text.replacen('[', "[\"first\",", 1).as_bytes());
    // A body that ends too early leaves nothing behind.
    let mut client = world.client();
    client.raw(b"PUT /d/broken HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n[1,2,3]");
    drop(client);
    assert_eq!(world.ask("GET /d/broken", "").status, 404);
}

/// Who changed which of many nodes was gathered as a whole before any of it was sent: gigabytes for a
/// document of 25 MB.
#[test]
fn the_blame_of_a_large_document_streams() {
    let world = World::new();
    let text = large(1 << 20);
    assert_eq!(world.ask("PUT /d/large?author=ada", &text).status, 201);
    let inserted = world.ask("POST /d/large?nodeId=2&insert=asFirstChild&author=bob", "\"new\"");
    assert_eq!(inserted.status, 200);
    let answer = world.ask("GET /v1/collections/d/documents/large/blame", "");
    assert_eq!(answer.header("transfer-encoding"), Some("chunked"));
    assert!(answer.is_whole);
    let known = answer.json();
    let nodes = known["nodes"].as_array().expect("a list");
    assert!(nodes.len() > 50_000, "{}", nodes.len());
    let of = |name: &str| nodes.iter().filter(|node| node["author"] == name).count();
    assert_eq!(
        (of("ada"), of("bob")),
        (nodes.len() - 2, 2),
        "the new one and the list that has it"
    );
    assert_eq!(world.ask("GET /v1/collections/d/documents/none/blame", "").status, 404);
}

/// What is larger than its limit is 413, whether it says so or not.
#[test]
fn too_large() {
    let world = World::with(|options| {
        options.limits.body_bytes_max = 1_000;
        options.limits.document_bytes_max = 2_000;
    });
    assert_eq!(world.ask("PUT /d/r", &large(1_000)).status, 201);
    assert_eq!(world.ask("PUT /d/r", &large(3_000)).status, 413);
    assert_eq!(world.ask("POST /d/r?nodeId=2&insert=asFirstChild", &large(1_500)).status, 413);
    let mut client = world.client();
    client.raw(b"PUT /d/r HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n");
    client.raw(b"3e8\r\n");
    client.raw(&[b' '; 1_000]);
    client.raw(b"\r\n7d0\r\n");
    client.raw(&[b' '; 2_000]);
    client.raw(b"\r\n0\r\n\r\n");
    assert_eq!(client.answer(false).status, 413);
    // Of a head that is too long not all is read: the answer may get lost with the connection.
    let mut client = world.client();
    client.raw(format!("GET /d/r?query={} HTTP/1.1\r\n", "x".repeat(70_000)).as_bytes());
    let line = client.line();
    assert!(line.is_empty() || line.contains(" 414 ") || line.contains(" 431 "), "{line}");
}

/// Answers are compressed as the client likes them.
#[test]
fn compression() {
    let world = World::new();
    let text = large(100_000);
    world.ask("PUT /d/r", &text);
    let ask =
        |encoding: &str| world.client().ask("GET /d/r", &[("accept-encoding", encoding)], b"");
    assert_eq!(ask("identity").body, text.as_bytes());
    let answer = ask("gzip");
    assert_eq!(answer.header("content-encoding"), Some("gzip"));
    assert!(answer.body.len() * 4 < text.len());
    let mut plain = String::new();
    flate2::read::GzDecoder::new(&answer.body[..]).read_to_string(&mut plain).expect("gzip");
    assert_eq!(plain, text);
    let answer = ask("zstd");
    assert_eq!(answer.header("content-encoding"), Some("zstd"));
    assert_eq!(zstd::decode_all(&answer.body[..]).expect("zstd"), text.as_bytes());
    let answer = ask("br");
    assert_eq!(answer.header("content-encoding"), Some("br"));
    assert!(answer.body.len() * 4 < text.len());
}

/// More than fits at once is told to come again: nothing waits without an end.
#[test]
fn too_much_at_once() {
    let world = World::with(|options| options.limits.requests_max = 1);
    let mut slow = world.client();
    slow.raw(b"PUT /d/r HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n[");
    // It has to come first: whoever comes second is sent away.
    std::thread::sleep(std::time::Duration::from_millis(200));
    let mut busy = false;
    for _ in 0..200 {
        let answer = world.ask("GET /health", "");
        busy = answer.status == 503 && answer.header("retry-after") == Some("1");
        if busy {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(busy, "the first request takes the only place");
    slow.raw(b"]");
    assert_eq!(slow.answer(false).status, 201);
    assert_eq!(world.ask("GET /health", "").status, 200);
}
