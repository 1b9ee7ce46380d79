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

/// The head of a request to put a document of so many bytes, and the first of them.
fn half(path: &str, text: &str, sent: usize) -> Vec<u8> {
    let head = format!(
        "PUT {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        text.len()
    );
    [head.as_bytes(), &text.as_bytes()[..sent]].concat()
}

/// A client that sent half of a large document and stopped held the lock of the document until its connection ended:
/// all other writers of the document waited for it. Also, it left the collection that was made for it.
#[test]
fn nobody_waits_for_half_a_document() {
    let idle = std::time::Duration::from_secs(600);
    let world = World::with(|options| options.limits.idle = idle);
    world.database.collection("c").expect("made");
    let text = large(20 << 20);
    let mut stopped: Vec<_> = ["/v1/collections/c/documents/a", "/v1/collections/new/documents/a"]
        .map(|path| {
            let mut client = world.client();
            client.raw(&half(path, &text, 18 << 20));
            client
        })
        .into();
    // The server has read what was sent.
    std::thread::sleep(std::time::Duration::from_millis(500));
    let put = world.ask("PUT /v1/collections/c/documents/a", "{\"n\":1}");
    assert_eq!(put.status, 201, "{}", put.text());
    assert_eq!(world.ask("GET /v1/collections/new", "").status, 404, "half a body makes nothing");
    stopped.iter_mut().for_each(|client| client.close(std::net::Shutdown::Both));
    drop(stopped);
    let put = world.ask("PUT /v1/collections/c/documents/a", "{\"n\":2}");
    assert_eq!(put.status, 200, "{}", put.text());
    let history = world.ask("GET /v1/collections/c/documents/a/versions", "").json();
    let versions = history.to_string().matches("\"revision\":").count();
    assert_eq!(versions, 2, "{history}");
    assert_eq!(world.ask("GET /v1/collections/new", "").status, 404);
    // All of it makes both, from the temporary file.
    let put = world.ask("PUT /v1/collections/new/documents/a", &text);
    assert_eq!(put.status, 201, "{}", put.text());
    assert!(world.ask("GET /v1/collections/new/documents/a", "").body == text.as_bytes());
    let refused = world.ask("PUT /v1/collections/bad/documents/a", &text[..text.len() - 1]);
    assert_eq!(refused.status, 400, "{}", refused.text());
    assert_eq!(world.ask("GET /v1/collections/bad", "").status, 404);
}

/// The blame of many nodes was gathered as a whole before any of it was sent: gigabytes for a
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

/// A body that is larger than its limit is 413, with or without a length.
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
    // Of those that a client takes the fastest: brotli takes several times as long as the others.
    assert_eq!(ask("br, gzip").header("content-encoding"), Some("gzip"));
    assert_eq!(ask("gzip, deflate, br, zstd").header("content-encoding"), Some("zstd"));
}

/// A request too many gets 503: nothing waits without an end.
#[test]
fn too_much_at_once() {
    let world = World::with(|options| options.limits.requests_max = 1);
    let mut slow = world.client();
    slow.raw(b"PUT /d/r HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n[");
    // It has to come first: a second client is sent away.
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

/// Bytes as gzip has them.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).expect("gzip");
    encoder.finish().expect("gzip")
}

/// Bodies may come as gzip, short and long, of several members too, as documents and as what says what is to be
/// done.
#[test]
fn compressed_bodies() {
    let world = World::new();
    let packed = [("content-encoding", "gzip")];
    let large = large(100_000);
    let (begin, end) = large.split_at(1_000);
    for (key, text, bytes) in [
        ("short", "[1]", gzip(b"[1]")),
        ("long", &large, gzip(large.as_bytes())),
        ("members", &large, [gzip(begin.as_bytes()), gzip(end.as_bytes())].concat()),
    ] {
        let answer = world.client().ask(&format!("PUT /d/{key}"), &packed, &bytes);
        assert_eq!(answer.status, 201, "{key}: {}", answer.text());
        assert_eq!(world.ask(&format!("GET /d/{key}"), "").text(), text);
    }
    let x_gzip = [("content-encoding", "X-GZIP")];
    let answer =
        world.client().ask("POST /v1/sql", &x_gzip, &gzip(br#"{"sql":"SELECT 1 AS one"}"#));
    assert_eq!(answer.json()["rows"], serde_json::json!([[1]]), "{}", answer.text());
}

/// Limits hold for what a body is once it is decompressed; what is no gzip is 400, another coding 415, and
/// nothing is changed by any of them.
#[test]
fn compressed_bodies_that_are_refused() {
    let world = World::with(|options| {
        options.limits.body_bytes_max = 10_000;
        options.limits.document_bytes_max = 1_000_000;
    });
    world.ask("PUT /d/r", "[1]");
    let gzipped = gzip(b"[2]");
    let cut = &gzipped[..gzipped.len() - 4];
    let bomb = gzip(&vec![b' '; 2_000_000]);
    assert!(bomb.len() < 10_000);
    let garbage = b"[2]".to_vec();
    let followed = [gzipped.as_slice(), b"[3]"].concat();
    for (coding, body, status) in [
        ("gzip", garbage.as_slice(), 400),
        ("gzip", cut, 400),
        ("gzip", &followed, 400),
        ("gzip", &bomb, 413),
        ("br", &gzipped, 415),
        ("gzip, gzip", &gzipped, 415),
    ] {
        for head in ["PUT /d/r", "POST /d/r?nodeId=1"] {
            let answer = world.client().ask(head, &[("content-encoding", coding)], body);
            assert_eq!(answer.status, status, "{head} {coding}: {}", answer.text());
            let offered = answer.header("accept-encoding");
            assert_eq!(offered, (status == 415).then_some("gzip, identity"), "{coding}");
        }
    }
    assert_eq!(world.ask("GET /d/r", "").text(), "[1]");
    assert_eq!(world.ask("GET /d/r", "").header("accept-ranges"), Some("none"));
}
