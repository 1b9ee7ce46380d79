//! The load generator: clients in a closed loop, each with a connection of its own, one thread for all.
//!
//! ```text
//!   client   request ───> ........ <─── answer, request ───> ....
//!                    |<-- latency -->|
//! ```
//! It shares two cores with what it measures, so it does little: it waits for all sockets at once, looks at
//! the head of an answer, counts the bytes of its body, and sends the next request.
//!
//! Invariant: an answer is an error unless its status is 200 and its body is as long as expected; a
//! connection that ends is one, too.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use mio::{Events, Interest, Poll, Token};

use super::Sample;
use crate::Result;

/// The request of a client, again and again.
pub trait Ask {
    /// Appends the next request.
    fn request(&mut self, out: &mut Vec<u8>);

    /// Length of the body of the answer, bytes.
    fn answer_bytes(&self) -> usize;
}

/// The head of an answer.
struct Head {
    status: u16,
    head_bytes: usize,
    body_bytes: usize,
}

impl Head {
    /// Reads a head; `None` unless all of it is there.
    fn read(bytes: &[u8]) -> Option<Head> {
        let find = |what: &[u8]| bytes.windows(what.len()).position(|part| part == what);
        let head_bytes = find(b"\r\n\r\n")? + 4;
        let number = |from: usize| {
            let digits = bytes[from..].iter().take_while(|byte| byte.is_ascii_digit());
            digits.fold(0, |number, digit| number * 10 + usize::from(digit - b'0'))
        };
        const LENGTH: &[u8] = b"\r\ncontent-length: ";
        let body_bytes = find(LENGTH).map_or(0, |at| number(at + LENGTH.len()));
        let status = number("HTTP/1.1 ".len()) as u16;
        Some(Head { status, head_bytes, body_bytes })
    }
}

/// A client of the loop.
struct Client<'a> {
    stream: mio::net::TcpStream,
    ask: &'a mut dyn Ask,
    sent: Instant,
    request: Vec<u8>,
    /// Of the answer that is coming: what has come as long as its head is not whole.
    head: Vec<u8>,
    /// Its status, and the bytes of its body that have not come.
    body: Option<(u16, usize)>,
    micros: Vec<f64>,
    errors: u64,
    is_gone: bool,
}

impl Client<'_> {
    fn send(&mut self) -> io::Result<()> {
        self.request.clear();
        self.ask.request(&mut self.request);
        self.sent = Instant::now();
        self.stream.write_all(&self.request)
    }

    /// Takes what has come, and sends the next request after an answer.
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        loop {
            let length = match self.stream.read(buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            if self.take(&buffer[..length])? {
                // Nothing more comes before it is asked for.
                return self.send();
            }
        }
    }

    /// True if the answer is whole.
    fn take(&mut self, bytes: &[u8]) -> io::Result<bool> {
        let (status, left) = match self.body {
            Some((status, left)) => (status, left.checked_sub(bytes.len())),
            None => {
                self.head.extend_from_slice(bytes);
                let Some(head) = Head::read(&self.head) else { return Ok(false) };
                let status = match head.body_bytes == self.ask.answer_bytes() {
                    true => head.status,
                    false => 0,
                };
                (status, (head.head_bytes + head.body_bytes).checked_sub(self.head.len()))
            }
        };
        match left {
            None => Err(io::Error::other("an answer that nobody has asked for")),
            Some(0) => {
                self.micros.push(self.sent.elapsed().as_secs_f64() * 1e6);
                self.errors += u64::from(status != 200);
                self.head.clear();
                self.body = None;
                Ok(true)
            }
            Some(left) => {
                self.body = Some((status, left));
                Ok(false)
            }
        }
    }
}

/// Has clients ask for so long, each of `asks` one, and returns the figures of the first `readers` and of
/// the others, and how many answers were errors.
pub fn run(
    address: SocketAddr,
    asks: &mut [&mut dyn Ask],
    readers: usize,
    time: Duration,
) -> Result<(Sample, Sample, u64)> {
    let mut poll = Poll::new()?;
    let mut clients = Vec::new();
    for ask in asks.iter_mut() {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let mut stream = mio::net::TcpStream::from_std(stream);
        poll.registry().register(&mut stream, Token(clients.len()), Interest::READABLE)?;
        clients.push(Client {
            stream,
            ask: &mut **ask,
            sent: Instant::now(),
            request: Vec::new(),
            head: Vec::new(),
            body: None,
            micros: Vec::new(),
            errors: 0,
            is_gone: false,
        });
    }
    let mut buffer = vec![0; 64 << 10];
    let mut events = Events::with_capacity(64);
    let begun = Instant::now();
    for client in &mut clients {
        client.send()?;
    }
    while begun.elapsed() < time {
        poll.poll(&mut events, Some(time.saturating_sub(begun.elapsed())))?;
        for event in &events {
            let client = &mut clients[event.token().0];
            if !client.is_gone && client.receive(&mut buffer).is_err() {
                client.errors += 1;
                client.is_gone = true;
            }
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    let errors = clients.iter().map(|client| client.errors).sum();
    let others = clients.split_off(readers);
    let sample = |clients: Vec<Client<'_>>| {
        Sample::of(clients.into_iter().flat_map(|client| client.micros).collect(), seconds)
    };
    Ok((sample(clients), sample(others), errors))
}

/// A client that waits for each answer: for what is not measured.
pub struct Waiting(BufReader<TcpStream>);

impl Waiting {
    /// Connects.
    pub fn connect(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Waiting(BufReader::with_capacity(64 << 10, stream)))
    }

    /// Sends a request; returns the body of the answer.
    ///
    /// # Errors
    /// Where the status is none that means success.
    pub fn ask(&mut self, request: &[u8]) -> Result<Vec<u8>> {
        self.0.get_mut().write_all(request)?;
        let mut text = Vec::new();
        let head = loop {
            if self.0.read_until(b'\n', &mut text)? == 0 {
                return Err("the server has closed the connection".into());
            }
            if let Some(head) = Head::read(&text) {
                break head;
            }
        };
        let mut body = vec![0; head.body_bytes];
        self.0.read_exact(&mut body)?;
        match head.status {
            200..300 => Ok(body),
            status => Err(format!("{status}: {}", String::from_utf8_lossy(&body)).into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_once_all_of_it_is_there() {
        let text = b"HTTP/1.1 200 OK\r\ncontent-length: 12\r\netag: \"1\"\r\n\r\nbody";
        let head = Head::read(text).expect("it is whole");
        assert_eq!((head.status, head.head_bytes, head.body_bytes), (200, text.len() - 4, 12));
        assert!(Head::read(&text[..text.len() - 5]).is_none());
    }
}
