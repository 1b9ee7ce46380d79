//! A client that speaks PostgreSQL's protocol message by message: bytes out, messages in, both as text
//! for people. It knows nothing of any server, and drives whichever listens.

use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long a test waits for an answer before it has failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// A message of the server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    pub kind: u8,
    pub body: Vec<u8>,
}

impl Answer {
    /// The value of a field of an ErrorResponse or NoticeResponse.
    pub fn field(&self, code: u8) -> Option<String> {
        let mut fields = self.body.split(|byte| *byte == 0);
        let field = fields.find(|field| field.first() == Some(&code))?;
        Some(String::from_utf8_lossy(&field[1..]).into_owned())
    }

    /// The code of an error.
    pub fn state(&self) -> String {
        assert_eq!(self.kind, b'E', "{self:?}");
        self.field(b'C').expect("errors have a code")
    }
}

/// A connection of a client.
pub struct Wire<S = TcpStream> {
    pub stream: S,
    pub process: i32,
    pub secret: Vec<u8>,
}

impl Wire {
    /// A connection on which nothing has been said.
    pub fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Wire { stream, process: 0, secret: Vec::new() }
    }

    /// The messages that come until none has for so long.
    pub fn rest(&mut self, silence: Duration) -> Vec<Answer> {
        let mut answers = Vec::new();
        loop {
            self.stream.set_read_timeout(Some(silence)).unwrap();
            let is_silent = self.stream.peek(&mut [0]).is_err();
            self.stream.set_read_timeout(Some(PATIENCE)).unwrap();
            match is_silent {
                true => return answers,
                false => answers.extend(self.next()),
            }
        }
    }

    /// A session with any server.
    pub fn connect_to(address: SocketAddr) -> Self {
        let mut wire = Self::open(address);
        wire.begin(&[("user", "postgres")]);
        wire
    }
}

impl<S: Read + Write> Wire<S> {
    /// Sends a first packet and reads up to ReadyForQuery.
    pub fn begin(&mut self, settings: &[(&str, &str)]) -> Vec<Answer> {
        self.send(&startup(3 << 16, settings));
        self.greeted()
    }

    /// Reads up to ReadyForQuery, and keeps what cancelling needs.
    pub fn greeted(&mut self) -> Vec<Answer> {
        let answers = self.until(b'Z');
        let key = answers.iter().find(|answer| answer.kind == b'K').expect("a key for cancelling");
        self.process = i32::from_be_bytes(key.body[..4].try_into().unwrap());
        self.secret = key.body[4..].to_vec();
        answers
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("the server takes bytes");
    }

    /// The next message; none if the server has hung up.
    pub fn next(&mut self) -> Option<Answer> {
        let mut head = [0; 5];
        match self.stream.read_exact(&mut head) {
            Ok(()) => {}
            Err(error) if is_end(&error) => return None,
            Err(error) => panic!("no answer: {error}"),
        }
        let length = u32::from_be_bytes(head[1..].try_into().unwrap()) as usize;
        let mut body = vec![0; length - 4];
        match self.stream.read_exact(&mut body) {
            Ok(()) => Some(Answer { kind: head[0], body }),
            Err(error) if is_end(&error) => None,
            Err(error) => panic!("half an answer: {error}"),
        }
    }

    /// The messages up to the first of a kind.
    pub fn until(&mut self, kind: u8) -> Vec<Answer> {
        let mut answers = Vec::new();
        loop {
            let answer = self.next().unwrap_or_else(|| panic!("hung up after {answers:?}"));
            let is_last = answer.kind == kind;
            answers.push(answer);
            if is_last {
                return answers;
            }
        }
    }

    /// Runs a query, and shows what comes.
    pub fn query(&mut self, text: &str) -> String {
        self.send(&message(b'Q', &[text.as_bytes(), b"\0"].concat()));
        show(&self.until(b'Z'))
    }
}

/// True if there is nothing more to read.
pub fn is_end(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), UnexpectedEof | ConnectionReset | BrokenPipe | ConnectionAborted)
}

/// A message of a client.
pub fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
}

/// A first packet.
pub fn startup(code: u32, settings: &[(&str, &str)]) -> Vec<u8> {
    let mut body = code.to_be_bytes().to_vec();
    for (name, value) in settings {
        body.extend([name.as_bytes(), b"\0", value.as_bytes(), b"\0"].concat());
    }
    if !settings.is_empty() {
        body.push(0);
    }
    packet(&body)
}

/// A packet without a kind.
pub fn packet(body: &[u8]) -> Vec<u8> {
    [&(body.len() as u32 + 4).to_be_bytes(), body].concat()
}

/// Messages as text, one a line.
pub fn show(answers: &[Answer]) -> String {
    let mut text = String::new();
    for Answer { kind, body } in answers {
        let body = Body(body);
        let shown = match kind {
            b'T' => body.columns(),
            b'D' => body.row(),
            b'C' => body.strings().join(" "),
            b'E' | b'N' => body.report(),
            b'S' => body.strings().join("="),
            b'Z' => String::from_utf8_lossy(body.0).into_owned(),
            b't' => body.types(),
            b'A' => format!("process {}", body.after(4).strings().join(" ")),
            b'K' => "process secret".to_owned(),
            b'G' | b'H' => body.hex(),
            b'd' => body.0.escape_ascii().to_string(),
            _ if body.0.is_empty() => String::new(),
            _ => body.hex(),
        };
        writeln!(text, "{} {shown}", *kind as char).unwrap();
        let end = text.trim_end().len();
        text.truncate(end);
        text.push('\n');
    }
    text
}

struct Body<'a>(&'a [u8]);

impl<'a> Body<'a> {
    fn after(&self, count: usize) -> Body<'a> {
        Body(&self.0[count..])
    }

    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken
    }

    fn int16(&mut self) -> i16 {
        i16::from_be_bytes(self.take(2).try_into().unwrap())
    }

    fn int32(&mut self) -> i32 {
        i32::from_be_bytes(self.take(4).try_into().unwrap())
    }

    fn string(&mut self) -> String {
        let end = self.0.iter().position(|byte| *byte == 0).expect("strings end");
        let text = String::from_utf8_lossy(self.take(end)).into_owned();
        self.take(1);
        text
    }

    fn strings(&self) -> Vec<String> {
        let mut body = Body(self.0);
        let mut strings = Vec::new();
        while !body.0.is_empty() {
            strings.push(body.string());
        }
        strings
    }

    fn hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
    }

    fn columns(&self) -> String {
        let mut body = Body(self.0);
        let mut columns = Vec::new();
        for _ in 0..body.int16() {
            let name = body.string();
            let (table, number) = (body.int32(), body.int16());
            let (ty, length, modifier) = (body.int32(), body.int16(), body.int32());
            let format = body.int16();
            let mut column = format!("{name} type {ty} length {length}");
            if (table, number) != (0, 0) {
                write!(column, " of column {number}").unwrap();
            }
            if modifier != -1 {
                write!(column, " modifier {modifier}").unwrap();
            }
            if format != 0 {
                column.push_str(" binary");
            }
            columns.push(column);
        }
        columns.join(" | ")
    }

    fn row(&self) -> String {
        let mut body = Body(self.0);
        let mut values = Vec::new();
        for _ in 0..body.int16() {
            values.push(match body.int32() {
                -1 => "NULL".to_owned(),
                length => body.take(length as usize).escape_ascii().to_string(),
            });
        }
        values.join(" | ")
    }

    fn types(&self) -> String {
        let mut body = Body(self.0);
        let count = body.int16();
        (0..count).map(|_| body.int32().to_string()).collect::<Vec<_>>().join(" ")
    }

    /// Severity, code and message, and what else there is, each under its letter.
    fn report(&self) -> String {
        let fields = self.strings();
        let of = |code: &str| fields.iter().find_map(|field| field.strip_prefix(code));
        let mut text = format!(
            "{} {}: {}",
            of("V").unwrap_or("?"),
            of("C").unwrap_or("?"),
            of("M").unwrap_or("?")
        );
        for field in fields.iter().filter(|field| !field.is_empty()) {
            // The place in PostgreSQL's own source is not compared, but where drivers act on it.
            let is_place = field.starts_with(['F', 'L', 'R']) && *field != "RRevalidateCachedQuery";
            if !is_place && !field.starts_with(['S', 'V', 'C', 'M']) {
                let (code, value) = field.split_at(1);
                write!(text, " | {code} {value}").unwrap();
            }
        }
        text
    }
}
