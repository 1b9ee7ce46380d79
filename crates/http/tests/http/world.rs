//! A server on a database in memory, and a client that speaks HTTP/1.1.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anywhen::Database;
use anywhen_http::{Handle, Options, Server};

/// A server and its database.
pub struct World {
    pub database: Database,
    handle: Handle,
}

impl World {
    pub fn new() -> World {
        World::with(|_| ())
    }

    /// A server with other options than usual.
    pub fn with(change: impl FnOnce(&mut Options)) -> World {
        let mut options = options();
        change(&mut options);
        let database = Database::open_in_memory().expect("opens");
        World::on(database, options)
    }

    /// A server on this database.
    pub fn on(database: Database, options: Options) -> World {
        let handle = Server::start(database.clone(), options).expect("listens");
        World { database, handle }
    }

    pub fn address(&self) -> SocketAddr {
        self.handle.addresses()[0]
    }

    pub fn client(&self) -> Client {
        Client::connect(self.address())
    }

    /// One request on a connection of its own.
    #[track_caller]
    pub fn ask(&self, head: &str, body: &str) -> Response {
        self.client().ask(head, &[], body.as_bytes())
    }

    pub fn shutdown(self) -> Database {
        self.handle.shutdown();
        self.database
    }
}

/// This machine, any port, two threads.
pub fn options() -> Options {
    Options { listen: vec![([127, 0, 0, 1], 0).into()], cores: 2, ..Default::default() }
}

/// A connection.
pub struct Client {
    stream: BufReader<TcpStream>,
}

/// The answer of the server.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// False if the body ended before its end.
    pub is_whole: bool,
}

impl Response {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }
}

impl Client {
    pub fn connect(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).expect("connects");
        stream.set_nodelay(true).expect("a socket");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a socket");
        Client { stream: BufReader::new(stream) }
    }

    /// Sends `METHOD /path` with headers and a body, and waits for the answer.
    #[track_caller]
    pub fn ask(&mut self, head: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
        self.send(head, headers, body);
        self.answer(head.starts_with("HEAD"))
    }

    /// Sends a request. A body of bytes has a length even if that is 0, unless the method has none, and is
    /// JSON unless another type is given.
    pub fn send(&mut self, head: &str, headers: &[(&str, &str)], body: &[u8]) {
        let mut text = format!("{head} HTTP/1.1\r\n");
        let has = |wanted: &str| headers.iter().any(|(name, _)| *name == wanted);
        if !has("host") {
            text += "host: localhost\r\n";
        }
        if !body.is_empty() && !has("content-type") {
            text += "content-type: application/json\r\n";
        }
        // No value at all leaves a header out.
        for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
            text += &format!("{name}: {value}\r\n");
        }
        if !body.is_empty() || !head.starts_with(['G', 'H', 'D']) {
            text += &format!("content-length: {}\r\n", body.len());
        }
        text += "\r\n";
        let stream = self.stream.get_mut();
        stream.write_all(text.as_bytes()).expect("sends");
        // A server that has seen enough may answer before it has all.
        let _ = stream.write_all(body);
    }

    /// Ends the connection.
    pub fn close(&mut self, how: std::net::Shutdown) {
        // The server may have ended it before.
        let _ = self.stream.get_mut().shutdown(how);
    }

    /// Sends bytes as they are.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).expect("sends");
    }

    /// The next line, without its end; empty where the connection has ended.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        // The text that came before the connection broke is all.
        let _ = self.stream.read_line(&mut line);
        line.trim_end().to_owned()
    }

    /// The head of an answer: its status and headers.
    #[track_caller]
    pub fn head(&mut self) -> (u16, Vec<(String, String)>) {
        let first = self.line();
        let status = first.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.unwrap_or_else(|| panic!("no status in {first:?}"));
        let mut headers = Vec::new();
        loop {
            let line = self.line();
            let Some((name, value)) = line.split_once(": ") else { return (status, headers) };
            headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
    }

    /// The next answer.
    #[track_caller]
    pub fn answer(&mut self, is_head: bool) -> Response {
        let (status, headers) = self.head();
        let mut answer = Response { status, headers, body: Vec::new(), is_whole: true };
        if is_head || [204, 304].contains(&status) {
            return answer;
        }
        if answer.header("transfer-encoding") == Some("chunked") {
            answer.is_whole = self.chunks(&mut answer.body);
        } else {
            let length = answer.header("content-length").and_then(|length| length.parse().ok());
            answer.body = vec![0; length.expect("a length")];
            self.stream.read_exact(&mut answer.body).expect("reads");
        }
        answer
    }

    /// Takes a body in chunks; false if it breaks off.
    fn chunks(&mut self, body: &mut Vec<u8>) -> bool {
        while let Some(chunk) = self.chunk() {
            if chunk.is_empty() {
                return true;
            }
            body.extend_from_slice(&chunk);
        }
        false
    }

    /// The next chunk, empty at the end; `None` if the connection has ended before.
    pub fn chunk(&mut self) -> Option<Vec<u8>> {
        let mut line = String::new();
        self.stream.read_line(&mut line).ok()?;
        let length = usize::from_str_radix(line.trim(), 16).ok()?;
        let mut chunk = vec![0; length + 2];
        self.stream.read_exact(&mut chunk).ok()?;
        chunk.truncate(length);
        Some(chunk)
    }
}
