//! Web pages of other origins: what a browser sends for them is refused, whatever the route.

use serde_json::json;

use crate::described::operations;
use crate::world::{Client, Response, World};

const DOCUMENT: &str = r#"{"n":1}"#;

/// A database with a document of two revisions.
fn world(change: impl FnOnce(&mut anywhen_http::Options)) -> World {
    let world = World::with(change);
    let collection = world.database.collection("c").expect("made");
    collection.put("k", DOCUMENT).expect("put");
    collection.put("k", r#"{"n":2}"#).expect("put");
    world
}

fn asked(world: &World, head: &str, headers: &[(&str, &str)], body: &str) -> Response {
    world.client().ask(head, headers, body.as_bytes())
}

/// A page could have its visitor's browser make a superuser: it posted a body without a type, which no
/// browser asks about beforehand, and which counted as JSON. The server now refuses such requests of
/// pages. A program that sends `Content-Type: application/json` needs nothing else.
#[test]
fn a_page_cannot_run_sql() {
    let world = world(|_| ());
    let body = json!({"sql": "CREATE ROLE evil SUPERUSER LOGIN"}).to_string();
    let is_made = || {
        let rows = "SELECT count(*) FROM pg_roles WHERE rolname = 'evil'";
        let mut sql = world.database.connect().expect("connects");
        let rows = sql.query(rows, &[]).expect("rows");
        rows.get(0).expect("a row").get::<i64>("count").expect("a count") > 0
    };
    for (headers, status) in [
        (vec![("content-type", "")], 415),
        (vec![("content-type", "text/plain")], 415),
        (vec![("content-type", "text/plain; application/json")], 415),
        (vec![("content-type", "application/x-www-form-urlencoded")], 415),
        (vec![("content-type", "multipart/form-data; boundary=application/json")], 415),
        (vec![("origin", "http://evil.example")], 403),
        (vec![("origin", "null")], 403),
        (vec![("sec-fetch-site", "cross-site")], 403),
        (vec![("sec-fetch-site", "same-site")], 403),
        (vec![("host", "evil.example")], 421),
        (vec![("host", "evil.example:8080"), ("origin", "http://evil.example:8080")], 421),
    ] {
        let answer = asked(&world, "POST /v1/sql", &headers, &body);
        assert_eq!(answer.status, status, "{headers:?}: {}", answer.text());
        assert!(!is_made(), "{headers:?}");
    }
    let metrics = world.ask("GET /metrics", "").text();
    assert!(metrics.contains("anywhen_http_refused_total{reason=\"host\"} 2\n"), "{metrics}");
    assert!(metrics.contains("anywhen_http_refused_total{reason=\"origin\"} 4\n"), "{metrics}");
    assert_eq!(world.ask("POST /v1/sql", &body).status, 200);
    assert!(is_made());
}

/// Every operation, those that will be added too, refuses pages of other origins and names that are not
/// this machine's; those that change something refuse the bodies of forms, and bodies that do not say what
/// they are.
#[test]
fn every_operation_is_guarded() {
    let world = world(|_| ());
    let document = world.ask("GET /openapi.yaml?form=json", "").json();
    let operations = operations(&document);
    assert!(operations.len() > 40, "{} operations", operations.len());
    for (path, method, told) in operations {
        let path = path.replace("{db}", "c").replace("{collection}", "c").replace("{r}", "k");
        let path = path.replace("{key}", "k").replace("{revision}", "1");
        let mut head = format!("{} {path}", method.to_ascii_uppercase());
        // With all that it wants, so that nothing else is wrong.
        let parameters = told["parameters"].as_array().expect("parameters").iter();
        for (at, parameter) in parameters.filter(|one| one["example"].is_string()).enumerate() {
            let (name, value) = (&parameter["name"], &parameter["example"]);
            let (name, value) = (name.as_str().expect("text"), value.as_str().expect("text"));
            head += &format!("{}{name}={value}", if at == 0 { '?' } else { '&' });
        }
        let refused = |headers: &[(&str, &str)], body: &str, status: u16| {
            let answer = asked(&world, &head, headers, body);
            assert_eq!(answer.status, status, "{head} {headers:?}: {}", answer.text());
            assert!(
                told["responses"].get(status.to_string()).is_some(),
                "{head}: {status} is not described"
            );
        };
        let json = ("content-type", "application/json");
        refused(&[json, ("origin", "https://evil.example")], "", 403);
        refused(&[json, ("sec-fetch-site", "cross-site")], "", 403);
        refused(&[json, ("host", "evil.example")], "", 421);
        if !["get", "head"].contains(&method.as_str()) {
            refused(&[("content-type", "text/plain")], "{}", 415);
            if told.get("requestBody").is_some() {
                refused(&[("content-type", "")], "{}", 415);
            }
        }
    }
    let kept = world.database.find_collection("c").expect("it is there").get("k");
    let kept = kept.expect("reads").expect("it is there");
    assert_eq!(kept.revision(), anywhen::Revision(2), "nothing has happened");
    for path in ["/none", "/v1/none", "/c/k/none"] {
        let headers = [("origin", "https://evil.example")];
        assert_eq!(asked(&world, &format!("GET {path}"), &headers, "").status, 403);
    }
}

/// A request without a body needs no type: programs go on as they did. A request with a body names
/// its type.
#[test]
fn programs_need_little() {
    let world = world(|_| ());
    let at = "/v1/collections/c/documents/k";
    for (head, headers, body, status) in [
        (format!("POST {at}/revert?revision=1"), vec![], "", 200),
        (format!("POST {at}/node/rename?path=$.n&name=m"), vec![], "", 200),
        (format!("DELETE {at}"), vec![], "", 204),
        ("PUT /v1/collections/fresh".to_owned(), vec![], "", 201),
        ("PUT /v1/collections/more".to_owned(), vec![("content-type", "")], "{}", 415),
        ("PUT /v1/collections/more".to_owned(), vec![], "{}", 201),
        ("GET /health".to_owned(), vec![("host", "127.0.0.1:8080")], "", 200),
        ("GET /health".to_owned(), vec![("host", "[::1]:8080")], "", 200),
        ("GET /health".to_owned(), vec![("sec-fetch-site", "none")], "", 200),
        (
            "GET /health".to_owned(),
            vec![("host", "localhost:8080"), ("origin", "http://localhost:8080")],
            "",
            200,
        ),
    ] {
        let answer = asked(&world, &head, &headers, body);
        assert_eq!(answer.status, status, "{head} {headers:?}: {}", answer.text());
    }
    let old = |text: &str| {
        let mut client = world.client();
        client.raw(text.as_bytes());
        client.line()
    };
    assert_eq!(old("GET /health HTTP/1.0\r\n\r\n"), "HTTP/1.0 200 OK");
    assert_eq!(old("GET /health HTTP/1.1\r\n\r\n"), "HTTP/1.1 400 Bad Request");
    let absolute = "GET http://evil.example/health HTTP/1.1\r\nhost: localhost\r\n\r\n";
    assert_eq!(old(absolute), "HTTP/1.1 421 Misdirected Request");
}

/// Pages of an origin that is named may do what programs may, and others still may not. With a token any name
/// of the server will do: a page that gets there by a name of its own has no token.
#[test]
fn allowed_origins_and_tokens() {
    let app = ("origin", "https://app.example");
    let cross = ("sec-fetch-site", "cross-site");
    let some = world(|options| options.cors = vec!["https://app.example".to_owned()]);
    let any = world(|options| options.cors = vec!["*".to_owned()]);
    let sql = json!({"sql": "SELECT 1"}).to_string();
    let status = |world: &World, headers: &[(&str, &str)]| {
        asked(world, "POST /v1/sql", headers, &sql).status
    };
    assert_eq!(status(&some, &[app, cross]), 200);
    let answer = asked(&some, "GET /c/k", &[app, cross], "");
    assert_eq!(answer.header("access-control-allow-origin"), Some("https://app.example"));
    assert_eq!(status(&some, &[("origin", "https://evil.example"), cross]), 403);
    assert_eq!(status(&some, &[cross]), 403);
    assert_eq!(status(&some, &[app, ("content-type", "text/plain")]), 415);
    assert_eq!(status(&some, &[app, ("host", "evil.example")]), 421);
    assert_eq!(status(&any, &[("origin", "https://evil.example"), cross]), 200);

    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("tokens");
    let mut rights = anywhen_http::Rights::default();
    rights.add("view").expect("a role");
    let made = anywhen_http::TokenFile::new(path.clone());
    let (_, token) = made.create("ada", rights, None).expect("made");
    let closed = world(|options| options.auth.tokens = Some(path));
    let bearer = format!("Bearer {token}");
    let named = [("host", "db.example:8080"), ("authorization", bearer.as_str())];
    assert_eq!(asked(&closed, "GET /c/k", &named, "").status, 200);
    let with = |header| [&named[..], &[header]].concat();
    let own = ("origin", "http://db.example:8080");
    assert_eq!(asked(&closed, "GET /c/k", &with(own), "").status, 200);
    let evil = ("origin", "http://evil.example");
    assert_eq!(asked(&closed, "GET /c/k", &with(evil), "").status, 403);
    assert_eq!(asked(&closed, "GET /c/k", &named[..1], "").status, 401);
}

/// A connection that is refused something can be used again.
#[test]
fn refused_and_asked_again() {
    let world = world(|_| ());
    let mut client = Client::connect(world.address());
    for _ in 0..3 {
        let evil = [("origin", "https://evil.example")];
        assert_eq!(client.ask("PUT /c/k", &evil, DOCUMENT.as_bytes()).status, 403);
        assert_eq!(client.ask("GET /c/k", &[], b"").status, 200);
    }
}
