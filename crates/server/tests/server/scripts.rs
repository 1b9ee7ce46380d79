//! Scripts of the protocol: what a client says, and what it hears.
//!
//! ```text
//!   # a comment
//!   > Parse s | SELECT $1 | 23            name | text | types of parameters
//!   > Bind p | s | 1 | x'00000007' | 0    portal | statement | formats | values | result formats
//!   > Describe S s                        or P
//!   > Execute p 10
//!   > Sync
//!   < 1
//!   < Z I
//! ```
//!
//! The messages of a group are sent at once; what comes is read until everything that ends in
//! ReadyForQuery has. `> until X` ends a group and reads up to a message of kind X instead, `> until
//! close` to the end, and `> until silence` until nothing more comes for a while. Each script is a session of its own, on one server.
//!
//! The written answers are those of PostgreSQL 17. With `ANYWHEN_POSTGRES=127.0.0.1:5432` the
//! scripts are played to such a server instead, and with `UPDATE_EXPECT=1` its answers are written
//! down; where we mean to differ, the script says why.

use std::fmt::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use expect_test::expect_file;

use crate::world::{self, Answer, Wire, message, show};

/// How long nothing must come for a silence.
const SILENCE: Duration = Duration::from_millis(300);

/// A test for each script.
macro_rules! scripts {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                check(stringify!($name));
            }
        )*

        /// No script is forgotten.
        #[test]
        fn all_are_played() {
            let known = [$(concat!(stringify!($name), ".txt")),*];
            for entry in std::fs::read_dir(folder()).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                assert!(known.contains(&name.as_str()), "{name} is played by no test");
            }
        }
    };
}

scripts! {
    simple extended portals copy copy_lost errors malformed fatal fatal_kind fatal_password farewell
    unasked refused blocks do_block failed described ended ended_extended ended_late modes discarded replanned
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/server/scripts")
}

/// A script gives what is written in it.
fn check(name: &str) {
    let path = folder().join(name).with_extension("txt");
    let script = std::fs::read_to_string(&path).unwrap();
    let played = match std::env::var("ANYWHEN_POSTGRES") {
        Ok(other) => play(other.parse().expect("an address and a port"), &script),
        Err(_) => {
            let server = world::start(world::options());
            play(server.addresses()[0], &script)
        }
    };
    expect_file![path].assert_eq(&played);
}

/// Plays the client's part of a script: the script as it should read.
fn play(address: SocketAddr, script: &str) -> String {
    let mut wire = Wire::connect_to(address);
    let mut played = String::new();
    let mut group = Vec::new();
    let mut lines = script.lines().filter(|line| !line.starts_with('<')).peekable();
    while let Some(line) = lines.next() {
        writeln!(played, "{line}").unwrap();
        if let Some(said) = line.strip_prefix("> ") {
            group.push(said);
        }
        let goes_on =
            lines.peek().is_some_and(|next| next.starts_with('>')) && !line.starts_with("> until");
        if !group.is_empty() && !goes_on {
            for line in show(&say(&mut wire, &group)).lines() {
                writeln!(played, "< {line}").unwrap();
            }
            group.clear();
        }
    }
    played
}

/// Sends a group of messages, and reads what they are answered with.
fn say(wire: &mut Wire, group: &[&str]) -> Vec<Answer> {
    let mut bytes = Vec::new();
    let mut ends = 0;
    let mut until = None;
    for said in group {
        let (verb, rest) = said.split_once(' ').unwrap_or((said, ""));
        match verb {
            "until" => until = Some(rest),
            _ => bytes.extend(encode(verb, rest)),
        }
        ends += usize::from(matches!(verb, "Query" | "Sync" | "FunctionCall"));
    }
    wire.send(&bytes);
    match until {
        Some("silence") => wire.rest(SILENCE),
        Some("close") => std::iter::from_fn(|| wire.next()).collect(),
        Some(kind) => wire.until(kind.as_bytes()[0]),
        None => (0..ends).flat_map(|_| wire.until(b'Z')).collect(),
    }
}

fn encode(verb: &str, rest: &str) -> Vec<u8> {
    let parts: Vec<&str> = rest.split('|').map(str::trim).collect();
    let part = |at: usize| parts.get(at).copied().unwrap_or("");
    let string = |text: &str| [text.as_bytes(), b"\0"].concat();
    match verb {
        "Query" => message(b'Q', &string(&rest.replace("\\n", "\n"))),
        "Parse" => {
            let types: Vec<&str> = part(2).split_whitespace().collect();
            let mut body = [string(part(0)), string(part(1))].concat();
            body.extend((types.len() as i16).to_be_bytes());
            types.iter().for_each(|ty| body.extend(ty.parse::<i32>().unwrap().to_be_bytes()));
            message(b'P', &body)
        }
        "Bind" => {
            let mut body = [string(part(0)), string(part(1))].concat();
            body.extend(formats(part(2)));
            let values: Vec<&str> = part(3).split_whitespace().collect();
            body.extend((values.len() as i16).to_be_bytes());
            for value in values {
                match bytes(value) {
                    None => body.extend((-1_i32).to_be_bytes()),
                    Some(value) => {
                        body.extend((value.len() as i32).to_be_bytes());
                        body.extend(value);
                    }
                }
            }
            body.extend(formats(part(4)));
            message(b'B', &body)
        }
        "Describe" | "Close" => {
            let (target, name) = rest.split_once(' ').unwrap_or((rest, ""));
            let kind = if verb == "Close" { b'C' } else { b'D' };
            message(kind, &[target.as_bytes(), name.as_bytes(), b"\0"].concat())
        }
        "Execute" => {
            let (portal, rows) = rest.rsplit_once(' ').unwrap_or(("", rest));
            let rows: i32 = rows.parse().unwrap_or(0);
            message(b'E', &[string(portal), rows.to_be_bytes().to_vec()].concat())
        }
        "Sync" => message(b'S', b""),
        "Flush" => message(b'H', b""),
        "Terminate" => message(b'X', b""),
        "CopyData" => message(b'd', rest.replace("\\n", "\n").replace("\\t", "\t").as_bytes()),
        "CopyDone" => message(b'c', b""),
        "CopyFail" => message(b'f', &string(rest)),
        "FunctionCall" => message(b'F', &hex(rest)),
        // Bytes as they are: what no client should send.
        "Bytes" => hex(rest),
        verb => panic!("no message is called {verb}"),
    }
}

fn formats(text: &str) -> Vec<u8> {
    let codes: Vec<&str> = text.split_whitespace().collect();
    let mut bytes = (codes.len() as i16).to_be_bytes().to_vec();
    codes.iter().for_each(|code| bytes.extend(code.parse::<i16>().unwrap().to_be_bytes()));
    bytes
}

/// A value: `NULL`, `x'00ff'`, or text.
fn bytes(value: &str) -> Option<Vec<u8>> {
    match value {
        "NULL" => None,
        value => Some(match value.strip_prefix("x'") {
            Some(digits) => hex(digits.trim_end_matches('\'')),
            None => value.as_bytes().to_vec(),
        }),
    }
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}
