//! A client of PostgreSQL's protocol with nothing between the measurement and the socket.
//!
//! ```text
//!  simple    Q ............................................> <..... T D C Z
//!  prepared  B E S ........................................> <..... 2 D C Z      parsed before
//! ```
//! One write and, mostly, one read for each request: what is timed is the server and the loopback.
//! Answers are looked through for errors and counted, not decoded.
//!
//! Invariants: after an answer the connection is ready for the next request; an `ErrorResponse` is an
//! `Err` with its message.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use crate::Result;

/// Protocol 3.0.
const VERSION: i32 = 3 << 16;

/// Bytes of a `CopyData` message that is sent.
const COPY_BYTES: usize = 64 << 10;

/// A connection.
pub struct Wire {
    stream: TcpStream,
    request: Vec<u8>,
    answer: Vec<u8>,
}

/// The answer to one request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// How many rows.
    pub rows: usize,
    /// The first value of the first row, as text.
    pub first: Option<String>,
    /// Bytes of the first values of all rows.
    pub bytes: u64,
    /// Bytes of `CopyData`.
    pub copied: u64,
}

impl Wire {
    /// Connects as `user` to the database of that name, without a password.
    pub fn connect(address: SocketAddr, user: &str) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let mut wire = Wire { stream, request: Vec::new(), answer: Vec::new() };
        wire.request.extend([0; 4]);
        wire.request.extend(VERSION.to_be_bytes());
        for word in ["user", user, "database", user] {
            wire.text(word);
        }
        wire.request.push(0);
        let length = wire.request.len() as u32;
        wire.request[..4].copy_from_slice(&length.to_be_bytes());
        wire.ask()?;
        Ok(wire)
    }

    /// Runs statements by the simple protocol.
    pub fn simple(&mut self, sql: &str) -> Result<Answer> {
        self.message(b'Q', |wire| wire.text(sql));
        self.ask()
    }

    /// Prepares a statement under a name.
    pub fn prepare(&mut self, name: &str, sql: &str) -> Result<()> {
        self.message(b'P', |wire| {
            wire.text(name);
            wire.text(sql);
            wire.request.extend(0i16.to_be_bytes());
        });
        self.message(b'S', |_| {});
        self.ask().map(drop)
    }

    /// Runs a prepared statement with parameters as text.
    pub fn run(&mut self, name: &str, parameters: &[&str]) -> Result<Answer> {
        self.run_series(name, &[parameters])
    }

    /// Runs a prepared statement several times, each for itself, and sends them all before the first answer
    /// is read. The answers are returned together.
    pub fn run_series(&mut self, name: &str, series: &[&[&str]]) -> Result<Answer> {
        series.iter().for_each(|parameters| self.add_run(name, parameters));
        self.ask_for(series.len())
    }

    /// Adds a run of a prepared statement to the request.
    fn add_run(&mut self, name: &str, parameters: &[&str]) {
        self.message(b'B', |wire| {
            wire.text("");
            wire.text(name);
            wire.request.extend(0i16.to_be_bytes());
            wire.request.extend((parameters.len() as i16).to_be_bytes());
            for parameter in parameters {
                wire.request.extend((parameter.len() as i32).to_be_bytes());
                wire.request.extend(parameter.as_bytes());
            }
            wire.request.extend(0i16.to_be_bytes());
        });
        self.message(b'E', |wire| {
            wire.text("");
            wire.request.extend(0i32.to_be_bytes());
        });
        self.message(b'S', |_| {});
    }

    /// Copies `data` in by a `COPY ... FROM STDIN`.
    pub fn copy_in(&mut self, sql: &str, data: &[u8]) -> Result<()> {
        self.message(b'Q', |wire| wire.text(sql));
        // The server reads what follows even where it refuses the statement.
        for piece in data.chunks(COPY_BYTES) {
            self.message(b'd', |wire| wire.request.extend_from_slice(piece));
            self.stream.write_all(&self.request)?;
            self.request.clear();
        }
        self.message(b'c', |_| {});
        self.ask().map(drop)
    }

    /// Runs a `COPY ... TO STDOUT`; returns the bytes that came.
    pub fn copy_out(&mut self, sql: &str) -> Result<u64> {
        self.message(b'Q', |wire| wire.text(sql));
        Ok(self.ask()?.copied)
    }

    fn text(&mut self, text: &str) {
        self.request.extend(text.as_bytes());
        self.request.push(0);
    }

    /// Adds a message to the request.
    fn message(&mut self, kind: u8, body: impl FnOnce(&mut Self)) {
        self.request.push(kind);
        let at = self.request.len();
        self.request.extend([0; 4]);
        body(self);
        let length = (self.request.len() - at) as u32;
        self.request[at..at + 4].copy_from_slice(&length.to_be_bytes());
    }

    /// Sends the request and reads up to `ReadyForQuery`.
    fn ask(&mut self) -> Result<Answer> {
        self.ask_for(1)
    }

    /// Sends the request and reads up to the last of so many `ReadyForQuery`.
    fn ask_for(&mut self, mut awaited: usize) -> Result<Answer> {
        self.stream.write_all(&self.request)?;
        self.request.clear();
        self.answer.clear();
        let (mut answer, mut failed) = (Answer::default(), None);
        let mut at = 0;
        loop {
            let Some((kind, body, next)) = message_at(&self.answer, at) else {
                // Read bytes make room for new ones.
                self.answer.drain(..at);
                at = 0;
                let filled = self.answer.len();
                self.answer.resize(filled + 16_384, 0);
                let read = self.stream.read(&mut self.answer[filled..])?;
                self.answer.truncate(filled + read);
                if read == 0 {
                    return Err("the server has closed the connection".into());
                }
                continue;
            };
            let body = &self.answer[body];
            at = next;
            match kind {
                b'D' => {
                    answer.rows += 1;
                    answer.bytes += first_bytes(body).unwrap_or_default();
                    if answer.rows == 1 {
                        answer.first = first_value(body);
                    }
                }
                b'd' => answer.copied += body.len() as u64,
                b'E' => failed = Some(error_text(body)),
                b'R' if body[..4] != [0; 4] => return Err("the server wants a password".into()),
                b'Z' if awaited > 1 => awaited -= 1,
                b'Z' => return failed.map_or(Ok(answer), |message| Err(message.into())),
                _ => {}
            }
        }
    }
}

/// The message at `at`: its kind, where its body is, and where the next begins; none if it is not all
/// there yet.
fn message_at(bytes: &[u8], at: usize) -> Option<(u8, std::ops::Range<usize>, usize)> {
    let head = bytes.get(at..at + 5)?;
    let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
    let end = at + 1 + length;
    (end <= bytes.len()).then_some((head[0], at + 5..end, end))
}

/// Bytes of the first value of a `DataRow`; none for NULL.
fn first_bytes(row: &[u8]) -> Option<u64> {
    let length = i32::from_be_bytes(row.get(2..6)?.try_into().ok()?);
    u64::try_from(length).ok()
}

/// The first value of a `DataRow`.
fn first_value(row: &[u8]) -> Option<String> {
    let length = i32::from_be_bytes(row.get(2..6)?.try_into().ok()?);
    let value = row.get(6..6 + usize::try_from(length).ok()?)?;
    Some(String::from_utf8_lossy(value).into_owned())
}

/// Code and message of an `ErrorResponse`.
fn error_text(body: &[u8]) -> String {
    let fields = body.split(|byte| *byte == 0).filter(|field| !field.is_empty());
    let of_interest = fields.filter(|field| b"CM".contains(&field[0]));
    let texts = of_interest.map(|field| String::from_utf8_lossy(&field[1..]).into_owned());
    texts.collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_found_once_they_are_whole() {
        let bytes = *b"Z\0\0\0\x05ID\0\0\0\x04";
        assert_eq!(message_at(&bytes, 0), Some((b'Z', 5..6, 6)));
        assert_eq!(message_at(&bytes, 6), Some((b'D', 11..11, 11)));
        assert_eq!(message_at(&bytes[..5], 0), None);
        assert_eq!(message_at(&bytes, 11), None);
    }

    #[test]
    fn the_first_value_and_the_error_are_read() {
        assert_eq!(first_value(b"\0\x02\0\0\0\x02ab\xff\xff\xff\xff"), Some("ab".to_owned()));
        assert_eq!(first_value(b"\0\x01\xff\xff\xff\xff"), None);
        assert_eq!(error_text(b"SERROR\0C42P01\0Mno table\0\0"), "42P01: no table");
    }
}
