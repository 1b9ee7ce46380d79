//! The explorer: its files, for browsers; and that all other clients get what they got before.

use anywhen_http::WebFile;

use crate::world::World;

/// `page`, compressed with gzip.
const GZIP: &[u8] =
    &[31, 139, 8, 0, 0, 0, 0, 0, 2, 255, 43, 72, 76, 79, 5, 0, 32, 182, 10, 20, 4, 0, 0, 0];

fn world() -> World {
    World::with(|options| {
        let file = |name, media, tag| WebFile { name, media, tag, gzip: GZIP, brotli: b"br" };
        options.explorer = vec![
            file("index.html", "text/html; charset=utf-8", "a1"),
            file("app-5e1f.js", "text/javascript; charset=utf-8", "b2"),
        ];
    })
}

/// A browser that opens the address gets the page; a program gets the databases, as before.
#[test]
fn browsers_get_the_page() {
    let world = world();
    const HTML: (&str, &str) = ("accept", "text/html,application/xhtml+xml,*/*;q=0.8");
    let page = world.client().ask("GET /", &[HTML, ("accept-encoding", "gzip, br")], b"");
    assert_eq!(page.status, 200);
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(page.header("content-encoding"), Some("br"));
    assert_eq!(page.body, b"br");
    assert_eq!(page.header("cache-control"), Some("no-cache"));
    assert_eq!(page.header("vary"), Some("accept, accept-encoding"));
    let policy = page.header("content-security-policy").expect("a policy");
    for part in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    for accept in [&[("accept", "*/*")][..], &[("accept", "application/json")], &[]] {
        let answer = world.client().ask("GET /", accept, b"");
        assert_eq!(answer.json()["databases"], serde_json::json!([]), "{accept:?}");
        // A cache in between must not give a browser this answer.
        assert_eq!(answer.header("vary"), Some("accept, accept-encoding"), "{accept:?}");
    }
    assert_eq!(world.client().ask("DELETE /", &[HTML], b"").status, 204, "another method");
}

/// Files with a hash in their names are kept for good; the page is asked for again by its tag. Each comes in the
/// coding that the client takes.
#[test]
fn files_are_kept() {
    let world = world();
    const APP: &str = "GET /v1/explorer/app-5e1f.js";
    let file = world.client().ask(APP, &[("accept-encoding", "gzip, deflate")], b"");
    assert_eq!(file.header("content-encoding"), Some("gzip"));
    assert_eq!(file.body, GZIP);
    assert_eq!(file.header("cache-control"), Some("public, max-age=31536000, immutable"));
    let plain = world.client().ask(APP, &[("accept-encoding", "br;q=0, identity")], b"");
    assert_eq!((plain.header("content-encoding"), plain.text().as_str()), (None, "page"));
    let known = world.client().ask(APP, &[("if-none-match", "W/\"b2\"")], b"");
    assert_eq!((known.status, known.body.len()), (304, 0));
    let head = world.client().ask("HEAD /v1/explorer/app-5e1f.js", &[], b"");
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(world.ask("GET /v1/explorer/other.js", "").status, 404);
    assert_eq!(world.ask("GET /v1/explorer/..%2fhealth", "").status, 404);
}

/// A link of another site may lead to the page, which has no data; to nothing else. A name that may be that of
/// another page leads nowhere.
#[test]
fn links_of_other_sites_lead_to_the_page_alone() {
    let world = world();
    const HTML: (&str, &str) = ("accept", "text/html");
    const CROSS: (&str, &str) = ("sec-fetch-site", "cross-site");
    assert_eq!(world.client().ask("GET /", &[HTML, CROSS], b"").status, 200);
    assert_eq!(world.client().ask("GET /", &[CROSS], b"").status, 403);
    assert_eq!(world.client().ask("GET /v1/collections", &[HTML, CROSS], b"").status, 403);
    let elsewhere = world.client().ask("GET /", &[HTML, ("host", "evil.example")], b"");
    assert!([400, 421].contains(&elsewhere.status), "{}", elsewhere.status);
}

/// A server without the files answers browsers as it answers all.
#[test]
fn without_files_nothing_changes() {
    let world = World::new();
    let answer = world.client().ask("GET /", &[("accept", "text/html")], b"");
    assert_eq!(answer.json()["databases"], serde_json::json!([]));
}

/// The history of a document in one page: it is a file to be saved, its script has no origin, and what the data hold ends
/// no element of it. A history that is too long is refused.
#[test]
fn a_history_in_a_page() {
    use std::io::Write;
    let page = b"<p id=a></p><script type=x><!--history--></script>";
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(page).expect("writes");
    let gzip: &'static [u8] = gzip.finish().expect("writes").leak();
    let world = World::with(|options| {
        let media = "text/html; charset=utf-8";
        let file = WebFile { name: "export.html", media, tag: "c3", gzip, brotli: &[] };
        options.export_page = Some(file);
        options.limits.body_bytes_max = 2_000;
    });
    const DOCUMENT: &str = "/v1/collections/c/documents/a";
    for text in ["{\"k\":\"</script><b>\"}", "{\"k\":2}"] {
        let put = world.ask(&format!("PUT {DOCUMENT}?author=ada&message=%3C!--"), text);
        assert!(put.status < 300, "{}", put.text());
    }
    let answer = world.ask(&format!("GET {DOCUMENT}/page"), "");
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-security-policy"), Some("sandbox allow-scripts"));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    let disposition = answer.header("content-disposition").expect("a disposition");
    assert!(disposition.starts_with("attachment"), "{disposition}");
    let text = answer.text();
    let history = text.strip_prefix("<p id=a></p><script type=x>").expect("the page before");
    let history = history.strip_suffix("</script>").expect("the page behind");
    assert!(!history.contains('<'), "{history}");
    let history: serde_json::Value = serde_json::from_str(history).expect("JSON");
    assert_eq!(history["key"], "a");
    assert_eq!(history["versions"].as_array().expect("a list").len(), 2);
    assert_eq!(history["versions"][0]["message"], "<!--");
    assert_eq!(history["nodes"]["2"][0][3], "</script><b>");

    assert_eq!(world.ask("GET /v1/collections/c/documents/none/page", "").status, 404);
    let long = format!("{{\"k\":\"{}\"}}", "x".repeat(1_900));
    for number in 0..3 {
        world.ask(&format!("PUT {DOCUMENT}"), &long.replace("x\"", &format!("{number}\"")));
    }
    let refused = world.ask(&format!("GET {DOCUMENT}/page"), "");
    assert_eq!(refused.status, 422, "{}", refused.text());
}
