//! Scripts: requests, and the answers that must come, in `scripts/*.txt`.
//!
//! ```text
//!   A sentence that says what must hold.
//!
//!   >>> PUT /shop/order                  a request: method and path, headers, a blank line, the body
//!   content-type: application/json
//!
//!   {"total":10}
//!   <<< 201                              the answer: its status, some of its headers, its body
//!   etag: "1"
//!
//!   {"total":10}
//! ```
//!
//! Each script has a server of its own. Times are shown as TIME. `ANYWHEN_BLESS=1` writes the answers
//! into the scripts; look at what has changed then.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use crate::world::{Client, Response, World};

/// Headers that are shown.
const SHOWN: &[&str] =
    &["allow", "content-type", "etag", "location", "retry-after", "www-authenticate"];

#[test]
fn scripts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/http/scripts");
    let mut scripts: Vec<PathBuf> = fs::read_dir(&folder)
        .expect("scripts")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    scripts.sort();
    assert!(scripts.len() > 5, "{} scripts", scripts.len());
    let is_blessed = std::env::var_os("ANYWHEN_BLESS").is_some();
    let mut wrong = String::new();
    for path in scripts {
        let text = fs::read_to_string(&path).expect("a script");
        let run = run(&text);
        if run == text {
            continue;
        }
        if is_blessed {
            fs::write(&path, run).expect("writes");
            continue;
        }
        let lines = text.lines().zip(run.lines()).enumerate();
        let first = lines
            .filter(|(_, (wanted, is))| wanted != is)
            .map(|(number, lines)| (number + 1, lines));
        for (number, (wanted, is)) in first.take(3) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let _ = writeln!(wrong, "{name}:{number}\n  wanted {wanted}\n  came   {is}");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// The script with the answers that come.
fn run(text: &str) -> String {
    let world = World::new();
    let mut client = world.client();
    let mut out = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(head) = line.strip_prefix(">>> ") else {
            let _ = writeln!(out, "{line}");
            continue;
        };
        let _ = writeln!(out, "{line}");
        let mut headers = Vec::new();
        while let Some(line) = lines.next_if(|line| !line.is_empty() && !line.starts_with("<<<")) {
            let _ = writeln!(out, "{line}");
            headers.push(line.split_once(": ").expect("a header"));
        }
        let mut body = Vec::new();
        while let Some(line) = lines.next_if(|line| !line.starts_with("<<<")) {
            let _ = writeln!(out, "{line}");
            body.push(line);
        }
        let body = body.join("\n");
        let body = body.trim();
        let answer = client.ask(head, &headers, body.as_bytes());
        if answer.header("connection") == Some("close") {
            client = Client::connect(world.address());
        }
        out += &shown(&answer);
        // The expected answer of the script so far; a comment or the next request ends it.
        while lines.next_if(|line| !line.starts_with(">>>") && !line.starts_with('#')).is_some() {}
    }
    let trimmed = out.trim_end().len();
    out.truncate(trimmed);
    out.push('\n');
    out
}

fn shown(answer: &Response) -> String {
    let mut out = format!("<<< {}\n", answer.status);
    for name in SHOWN {
        match answer.header(name) {
            Some("application/json" | "application/problem+json") | None => {}
            Some(value) => {
                let _ = writeln!(out, "{name}: {value}");
            }
        }
    }
    let body = answer.text();
    if !body.is_empty() {
        // Of a problem only what is its own.
        let body = match answer.header("content-type") {
            Some("application/problem+json") => {
                let problem = answer.json();
                assert_eq!(problem["status"], answer.status);
                assert_eq!(problem["statusCode"], answer.status);
                assert_eq!(problem["message"], problem["detail"]);
                let code =
                    problem["sqlstate"].as_str().map_or(String::new(), |code| format!("{code} "));
                format!("problem: {code}{}", problem["detail"].as_str().expect("a detail"))
            }
            _ => body,
        };
        let _ = writeln!(out, "\n{}", without_times(body.trim_end()));
    }
    out.push('\n');
    out
}

/// The text with its times replaced.
fn without_times(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("\"20") {
        let end = rest[at + 1..].find('"').map_or(rest.len(), |end| at + 1 + end);
        let quoted = &rest[at + 1..end];
        let is_time = quoted.len() >= 20 && quoted.ends_with('Z') && quoted.as_bytes()[10] == b'T';
        out += &rest[..at + 1];
        out += if is_time { "TIME" } else { quoted };
        rest = &rest[end..];
    }
    out + rest
}
