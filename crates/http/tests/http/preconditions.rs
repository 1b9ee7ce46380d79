//! Servers that refuse changes of versions that the client has not seen.

use crate::world::World;

/// Every operation that changes a document that is there wants to know which version is meant: 428 without,
/// 412 with another, and nothing has changed then. A document that does not exist can be put, by the first
/// client that does so.
#[test]
fn every_change_says_which_version_it_means() {
    let world = World::with(|options| options.require_preconditions = true);
    let documents = "/v1/collections/c/documents";
    for address in ["/c/k".to_owned(), format!("{documents}/other")] {
        assert_eq!(world.ask(&format!("PUT {address}"), "{\"a\":[1],\"b\":2}").status, 201);
    }
    let v1 = |rest: &str| format!("{documents}/k{rest}");
    let changes = [
        ("PUT /c/k".to_owned(), "", "3"),
        ("PUT /c/k?replace=true".to_owned(), "", "3"),
        ("POST /c/k?nodeId=2".to_owned(), "", "3"),
        ("DELETE /c/k?nodeId=2".to_owned(), "", ""),
        (format!("PUT {}", v1("")), "", "3"),
        (format!("PATCH {}", v1("")), "application/merge-patch+json", "{\"b\":3}"),
        (format!("PUT {}", v1("/node?path=$.b")), "", "3"),
        (format!("POST {}", v1("/node?path=$.a")), "", "3"),
        (format!("DELETE {}", v1("/node?path=$.b")), "", ""),
        (format!("POST {}", v1("/node/move?path=$.b&to_path=$.a")), "", ""),
        (format!("POST {}", v1("/node/rename?path=$.b&name=c")), "", ""),
        (format!("POST {}", v1("/revert?revision=1")), "", ""),
        ("DELETE /c/k".to_owned(), "", ""),
        (format!("DELETE {}", v1("")), "", ""),
    ];
    for (head, media, body) in &changes {
        let ask = |tag: &str| {
            let mut headers = Vec::new();
            if !media.is_empty() {
                headers.push(("content-type", *media));
            }
            if !tag.is_empty() {
                headers.push(("if-match", tag));
            }
            world.client().ask(head, &headers, body.as_bytes())
        };
        let answer = ask("");
        assert_eq!(answer.status, 428, "{head}: {}", answer.text());
        assert_eq!(ask("\"7\"").status, 412, "{head}");
        let now = world.ask("GET /c/k", "");
        assert_eq!(
            (now.header("etag"), now.text().as_str()),
            (Some("\"1.2\""), "{\"a\":[1],\"b\":2}")
        );
    }
    let put = |tag: &str| world.client().ask("PUT /c/k", &[("if-match", tag)], b"{\"n\":2}");
    assert_eq!(put("\"1\"").status, 200);
    assert_eq!(put("\"1\"").status, 412, "once");
    let one = |more: &str| {
        let body = format!(
            "{{\"operations\":[{{\"op\":\"put\",\"collection\":\"c\",\"key\":\"k\",\"value\":3{more}}},\
             {{\"op\":\"put\",\"collection\":\"c\",\"key\":\"k\",\"value\":4}}]}}"
        );
        world.ask("POST /v1/transactions", &body).status
    };
    assert_eq!(one(""), 428);
    assert_eq!(one(",\"if_match\":\"1\""), 412);
    assert_eq!(one(",\"if_match\":\"2\""), 200, "said once, it is said for all of the transaction");
}

/// Two who put the same document, which is not there yet, at once: one of them has not seen that of the
/// other.
#[test]
fn one_of_many_creates() {
    let world = World::with(|options| options.require_preconditions = true);
    world.database.collection("c").expect("made");
    for round in 0..20 {
        let head = format!("PUT /c/k{round}");
        let statuses: Vec<u16> = std::thread::scope(|scope| {
            let ask = |n: usize| world.ask(&head, &format!("{{\"by\":{n}}}")).status;
            let asked: Vec<_> = (0..4).map(|n| scope.spawn(move || ask(n))).collect();
            asked.into_iter().map(|asked| asked.join().expect("asks")).collect()
        });
        let created = statuses.iter().filter(|status| **status == 201).count();
        assert_eq!(created, 1, "{statuses:?}");
        assert!(statuses.iter().all(|status| [201, 412, 428].contains(status)), "{statuses:?}");
    }
}
