//! `anywhen serve --http-listen` and `anywhen token`: documents over HTTP, for those who may.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::World;

/// A server, ended when it is dropped.
pub(crate) struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a server; returns it and where it listens for HTTP.
pub(crate) fn serve(world: &World, words: &[&str]) -> (Served, String) {
    let mut command = world.command(words);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("starts");
    let mut served = Served(child);
    let mut lines = BufReader::new(served.0.stdout.take().expect("a pipe")).lines();
    let address = lines.find_map(|line| {
        let line = line.expect("text");
        let rest = line.strip_prefix("serving HTTP at ")?;
        Some(rest.split_once(": ").expect("an address").0.to_owned())
    });
    (served, address.expect("it says where"))
}

/// Sends a request on a connection of its own.
fn send(address: &str, head: &str, headers: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("connects");
    let length = body.len();
    let text = format!(
        "{head} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
    );
    stream.write_all(text.as_bytes()).expect("sends");
    stream
}

/// Sends a request; returns the status and the body.
pub(crate) fn ask(address: &str, head: &str, headers: &str, body: &str) -> (u16, String) {
    let mut stream = send(address, head, headers, body);
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("reads");
    let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
    (status, answer.split_once("\r\n\r\n").expect("a body").1.to_owned())
}

/// One process serves both protocols; a token that is made while it runs opens it, and one that is
/// revoked does not.
#[test]
fn served_over_http() {
    let world = World::new();
    let made = world.json(&["token", "create", "ada", "--role", "view,create"]);
    let token = made.root().get("token").and_then(|token| token.as_str()).expect("a token");
    let words =
        ["serve", "--pg-listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0", "--http-auth"];
    let (_served, address) = serve(&world, &words);
    let bearer = format!("authorization: Bearer {token}\r\n");
    assert_eq!(ask(&address, "PUT /d/r", "", "{}").0, 401);
    assert_eq!(ask(&address, "PUT /d/r", &bearer, "{\"n\":1}"), (201, "{\"n\":1}".to_owned()));
    assert_eq!(ask(&address, "DELETE /d/r", &bearer, "").0, 403);
    let (status, metrics) = ask(&address, "GET /metrics", "", "");
    assert_eq!(status, 200);
    assert!(metrics.contains("anywhen_http_requests_total"), "our own");
    assert!(metrics.contains("anywhen_statements_total"), "those of the SQL server");

    let listed = world.run(&["token", "list"]);
    assert!(listed.contains("ada") && listed.contains("view, create"), "{listed}");
    world.run(&["token", "create", "bob", "--role", "view", "--sql-role", "reporting"]);
    let listed = world.run(&["token", "list"]);
    assert!(listed.contains("view  as reporting"), "{listed}");
    let listed = world.run(&["token", "list", "--json"]);
    assert!(listed.contains("\"sql_role\":\"reporting\""), "{listed}");
    assert!(listed.contains("\"sql_role\":null"), "{listed}");
    let id = made.root().get("id").and_then(|id| id.as_str()).expect("an id");
    assert!(world.run(&["token", "revoke", &id]).contains("revoked"));
    assert!(world.fails(1, &["token", "revoke", &id]).contains("there is no token"));
    std::thread::sleep(std::time::Duration::from_millis(1_200));
    assert_eq!(ask(&address, "GET /d/r", &bearer, "").0, 401);
}

/// A server that was told to stop amid a long statement went on for ever, or ended without a word. It cancels
/// what takes too long, and ends well within its ten seconds.
#[test]
fn told_to_stop_amid_a_statement() {
    let world = World::new();
    let words = ["serve", "--pg-listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0"];
    let (mut served, address) = serve(&world, &words);
    let endless = "{\"sql\":\"SELECT count(*) FROM generate_series(1, 400000000000) a\"}";
    let _waiting = send(&address, "POST /v1/sql", "", endless);
    std::thread::sleep(Duration::from_millis(300));
    let begun = Instant::now();
    let told = Command::new("kill").args(["-TERM", &served.0.id().to_string()]).status();
    assert!(told.expect("kill is there").success());
    let status = served.0.wait().expect("it ends");
    assert_eq!(status.code(), Some(0), "{status}");
    assert!(begun.elapsed() < Duration::from_secs(12), "{:?}", begun.elapsed());
    world.run(&["verify"]);
}

/// The settings are checked before the server starts: the address, and whether callers must sign
/// in.
#[test]
fn http_is_looked_at_before() {
    let world = World::new();
    let said = world.run(&["serve", "--check", "--http-listen", "127.0.0.1:0"]);
    assert!(said.contains("everybody may come in"), "{said}");
    let said = world.fails(1, &["serve", "--check", "--http-listen", "0.0.0.0:0"]);
    assert!(said.contains("nobody asks who they are"), "{said}");
    world.file("ours.toml", "http-listen = [\"0.0.0.0:0\"]\nhttp-auth = true\n");
    let said = world.run(&["serve", "--check", "--config", "ours.toml"]);
    assert!(said.contains("with tokens"), "{said}");
    let words = ["serve", "--check", "--http-listen", "127.0.0.1:0", "--http-jwks", "none.json"];
    assert!(world.fails(1, &words).contains("none.json"));
    assert!(world.fails(1, &["token", "create", "x", "--role", "king"]).contains("is not a right"));
}
