//! A server is killed while a hundred clients read over HTTP and four write, again and again: nothing that
//! it acknowledged is lost, nothing is there that nobody wrote, and between the kills no request fails.
//!
//! ```text
//!   writer 0..4     PUT, PATCH, DELETE of documents of its own; POST /v1/transactions over two of them
//!   reader 0..100   GET of any document, now and at a revision; its history; SQL over all
//!         |
//!      serve ── a third of the time ── SIGKILL ──> serve: for each document
//!                                                    found = acknowledged, or acknowledged + in flight
//! ```
//!
//! The test keeps the expected list of revisions of each document, outside of the process that dies.
//! `ANYWHEN_KILLS=<n>` kills so many times (3), `ANYWHEN_SECONDS=<n>` is how long it takes in all (20), and
//! `ANYWHEN_SEED=<n>` writes the same things again, though the machine decides where the kills fall.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use json::Tape;

use crate::World;
use crate::kill::Random;
use crate::serve_killed::number_of;

const WRITERS: usize = 4;
const READERS: usize = 100;
/// Documents of each writer.
const DOCUMENTS: usize = 3;

/// The content of each revision of a document: its text, or `None` if the revision removed it.
type Revisions = Vec<Option<String>>;

/// A writer, and what is known of its documents.
struct Writer {
    number: usize,
    random: Random,
    documents: [Revisions; DOCUMENTS],
    /// Which documents get which revision if the request without an answer happened.
    in_flight: Vec<(usize, Option<String>)>,
    writes: u64,
}

/// The server has died, or is not there yet.
struct Gone;

/// A connection that is kept.
struct Client(BufReader<TcpStream>);

impl Client {
    fn connect(address: SocketAddr) -> Result<Client, Gone> {
        let stream = TcpStream::connect(address).map_err(|_| Gone)?;
        stream.set_nodelay(true).map_err(|_| Gone)?;
        stream.set_read_timeout(Some(Duration::from_secs(60))).map_err(|_| Gone)?;
        Ok(Client(BufReader::new(stream)))
    }

    /// Sends a request and waits for the answer: its status and body.
    fn ask(&mut self, head: &str, media: &str, body: &str) -> Result<(u16, String), Gone> {
        let length = body.len();
        let text = format!(
            "{head} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {media}\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        self.0.get_mut().write_all(text.as_bytes()).map_err(|_| Gone)?;
        let mut line = String::new();
        self.0.read_line(&mut line).map_err(|_| Gone)?;
        let status = line.split(' ').nth(1).and_then(|code| code.parse().ok()).ok_or(Gone)?;
        let mut length = Some(0);
        loop {
            line.clear();
            self.0.read_line(&mut line).map_err(|_| Gone)?;
            match line.trim_end().split_once(": ") {
                Some(("content-length", value)) => length = value.parse().ok(),
                Some(("transfer-encoding", "chunked")) => length = None,
                Some(_) => {}
                None if line == "\r\n" => break,
                None => return Err(Gone),
            }
        }
        let mut body = Vec::new();
        match length {
            Some(length) => self.take(length, &mut body)?,
            None => while self.chunk(&mut body)? {},
        }
        Ok((status, String::from_utf8(body).expect("UTF-8")))
    }

    fn take(&mut self, length: usize, body: &mut Vec<u8>) -> Result<(), Gone> {
        let at = body.len();
        body.resize(at + length, 0);
        self.0.read_exact(&mut body[at..]).map_err(|_| Gone)
    }

    /// Takes a chunk of a body; false if it was the last.
    fn chunk(&mut self, body: &mut Vec<u8>) -> Result<bool, Gone> {
        let mut line = String::new();
        self.0.read_line(&mut line).map_err(|_| Gone)?;
        let length = usize::from_str_radix(line.trim(), 16).map_err(|_| Gone)?;
        self.take(length, body)?;
        self.take(2, &mut Vec::new())?;
        Ok(length > 0)
    }
}

/// The address of a document.
fn address(writer: usize, document: usize) -> String {
    format!("/v1/collections/c{writer}/documents/d{document}")
}

/// Starts the server; it has said where it listens.
fn serve(world: &World) -> (Child, SocketAddr) {
    let words = ["serve", "--json", "--pg-listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0"];
    let mut command = world.command(&[&words[..], &["--log-level", "error"]].concat());
    let mut server = command.stdout(Stdio::piped()).spawn().expect("the command starts");
    let mut lines = BufReader::new(server.stdout.take().expect("a pipe")).lines();
    let address = lines.find_map(|line| {
        let told = Tape::parse(line.expect("text").trim()).expect("JSON");
        let address = told.root().get("listening_http")?.as_str()?.parse();
        Some(address.expect("an address"))
    });
    (server, address.expect("it says where it listens"))
}

/// The counts of all requests between two kills.
#[derive(Default)]
struct Counts {
    reads: AtomicU64,
    /// Answers with a status of 500 or more, which there must be none of.
    failures: AtomicU64,
    is_over: AtomicBool,
}

#[test]
fn nothing_acknowledged_is_lost_and_no_request_fails() {
    let seed = number_of("ANYWHEN_SEED").unwrap_or(0x5eed_0004);
    let kills = number_of("ANYWHEN_KILLS").unwrap_or(3);
    let length = Duration::from_secs(number_of("ANYWHEN_SECONDS").unwrap_or(20));
    println!("ANYWHEN_SEED={seed}");
    let mut random = Random::new(seed);
    let world = World::new();
    world.run(&["init"]);
    let mut writers: Vec<Writer> = (0..WRITERS)
        .map(|number| Writer {
            number,
            random: Random::new(random.below(u64::MAX >> 11)),
            documents: Default::default(),
            in_flight: Vec::new(),
            writes: 0,
        })
        .collect();
    let (mut reads, mut happened, begun) = (0, 0, Instant::now());
    let (mut server, mut address) = serve(&world);
    let mut client = Client::connect(address).unwrap_or_else(|Gone| panic!("it listens"));
    for writer in 0..WRITERS {
        let made = client.ask(&format!("PUT /v1/collections/c{writer}"), "application/json", "");
        assert_eq!(made.unwrap_or_else(|Gone| panic!("it lives")).0, 201);
    }
    for round in 0..=kills {
        let counts = Counts::default();
        let until = begun + length / (kills as u32 + 1) * (round as u32 + 1);
        let is_last = round == kills;
        let what = format!("ANYWHEN_SEED={seed}, round {round}");
        std::thread::scope(|scope| {
            for writer in &mut writers {
                let (counts, what) = (&counts, &what);
                scope.spawn(move || writer.write(address, counts, what));
            }
            for _ in 0..READERS {
                let (counts, random) = (&counts, Random::new(random.below(u64::MAX >> 11)));
                scope.spawn(move || read(address, counts, random));
            }
            std::thread::sleep(until.saturating_duration_since(Instant::now()));
            if !is_last {
                // SIGKILL: the process gets no chance to put anything in order.
                server.kill().expect("the server can be killed");
                server.wait().expect("the server is gone");
            }
            counts.is_over.store(true, Ordering::SeqCst);
        });
        assert_eq!(counts.failures.into_inner(), 0, "{what}: requests failed");
        reads += counts.reads.into_inner();
        if !is_last {
            (server, address) = serve(&world);
        }
        let mut client = Client::connect(address).unwrap_or_else(|Gone| panic!("{what}: it died"));
        for writer in &mut writers {
            let checked = writer.check(&mut client, &what);
            happened += checked.unwrap_or_else(|Gone| panic!("{what}: it died"));
        }
    }
    server.kill().expect("the server can be killed");
    server.wait().expect("the server is gone");
    world.run(&["verify"]);
    let writes: u64 = writers.iter().map(|writer| writer.writes).sum();
    println!(
        "{kills} kills, {writes} acknowledged writes, {happened} that happened unacknowledged, {reads} \
         reads, no failure, {:.1} s",
        begun.elapsed().as_secs_f64()
    );
    assert!(writes > 100 && reads > 1_000, "the clients hardly did anything");
}

/// Reads whatever there is until the server is gone.
fn read(address_of: SocketAddr, counts: &Counts, mut random: Random) {
    let Ok(mut client) = Client::connect(address_of) else { return };
    while !counts.is_over.load(Ordering::Relaxed) {
        let writer = random.below(WRITERS as u64) as usize;
        let of = address(writer, random.below(DOCUMENTS as u64) as usize);
        let (head, body) = match random.below(20) {
            0 => (format!("GET {of}/versions?limit=20"), String::new()),
            1 => (
                "POST /v1/sql".to_owned(),
                "{\"sql\":\"SELECT count(*) FROM pg_class\"}".to_owned(),
            ),
            2..6 => (format!("GET {of}?revision={}", 1 + random.below(30)), String::new()),
            _ => (format!("GET {of}"), String::new()),
        };
        let Ok((status, answer)) = client.ask(&head, "application/json", &body) else { return };
        counts.reads.fetch_add(1, Ordering::Relaxed);
        if ![200, 404].contains(&status) {
            eprintln!("{head}: {status} {answer}");
            counts.failures.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Writer {
    /// Writes until the server is gone, or the time is over.
    fn write(&mut self, address: SocketAddr, counts: &Counts, what: &str) {
        let Ok(mut client) = Client::connect(address) else { return };
        while !counts.is_over.load(Ordering::Relaxed) {
            let Ok(status) = self.change(&mut client) else { return };
            match status {
                200 | 201 | 204 => self.settle(),
                status => {
                    eprintln!("{what}: a write is answered with {status}");
                    counts.failures.fetch_add(1, Ordering::Relaxed);
                    self.in_flight.clear();
                }
            }
        }
    }

    /// The write that was in flight has happened.
    fn settle(&mut self) {
        for (document, text) in self.in_flight.drain(..) {
            self.documents[document].push(text);
        }
        self.writes += 1;
    }

    /// Makes one change of one or two documents.
    fn change(&mut self, client: &mut Client) -> Result<u16, Gone> {
        const JSON: &str = "application/json";
        let document = self.random.below(DOCUMENTS as u64) as usize;
        let at = address(self.number, document);
        let revision = self.documents[document].len();
        let pad = "x".repeat(self.random.below(200) as usize);
        // No two revisions of a document are equal, so that each change makes one.
        let text = |revision: usize| format!("{{\"n\":{revision},\"pad\":\"{pad}\"}}");
        let is_there = matches!(self.documents[document].last(), Some(Some(_)));
        let (head, media, body) = match self.random.below(10) {
            0 if is_there => {
                self.in_flight = vec![(document, None)];
                (format!("DELETE {at}"), JSON, String::new())
            }
            1..4 if is_there => {
                self.in_flight = vec![(document, Some(text(revision)))];
                (format!("PATCH {at}"), "application/merge-patch+json", text(revision))
            }
            4..7 => {
                let other = (document + 1) % DOCUMENTS;
                let values = [document, other].map(|of| (of, text(self.documents[of].len())));
                let operations = values.each_ref().map(|(of, text)| {
                    let number = self.number;
                    format!(
                        "{{\"op\":\"put\",\"collection\":\"c{number}\",\"key\":\"d{of}\",\"value\":{text}}}"
                    )
                });
                self.in_flight = values.map(|(of, text)| (of, Some(text))).to_vec();
                let body = format!("{{\"operations\":[{}]}}", operations.join(","));
                ("POST /v1/transactions".to_owned(), JSON, body)
            }
            _ => {
                self.in_flight = vec![(document, Some(text(revision)))];
                (format!("PUT {at}"), JSON, text(revision))
            }
        };
        Ok(client.ask(&head, media, &body)?.0)
    }

    /// Looks at each document and all its revisions; how many changes happened without an answer.
    fn check(&mut self, client: &mut Client, what: &str) -> Result<u64, Gone> {
        let mut all = [const { Revisions::new() }; DOCUMENTS];
        for (document, found) in all.iter_mut().enumerate() {
            *found = revisions(client, &address(self.number, document), what)?;
        }
        let mut after = self.documents.clone();
        for (document, text) in self.in_flight.drain(..) {
            after[document].push(text);
        }
        let is_new = after != self.documents && all == after;
        if is_new {
            self.documents = after;
        }
        for (document, (found, known)) in all.iter().zip(&self.documents).enumerate() {
            let same = found.iter().zip(known).take_while(|(found, known)| found == known).count();
            assert_eq!(
                (found.len(), same),
                (known.len(), known.len()),
                "{what}: document d{document} of c{}: revisions found, and equal to those acknowledged",
                self.number
            );
        }
        Ok(u64::from(is_new))
    }
}

/// All revisions of a document, as they are read now.
fn revisions(client: &mut Client, address: &str, what: &str) -> Result<Revisions, Gone> {
    let (status, body) = client.ask(&format!("GET {address}/versions"), "application/json", "")?;
    if status == 404 {
        return Ok(Revisions::new());
    }
    assert_eq!(status, 200, "{what}: {body}");
    let told = Tape::parse(&body).expect("JSON");
    let count = told.root().get("versions").expect("versions").count();
    let (status, body) =
        client.ask(&format!("GET {address}/range?from=1&to={count}"), "application/json", "")?;
    assert_eq!(status, 200, "{what}: {body}");
    let mut found = vec![None; count];
    for line in body.lines() {
        let told = Tape::parse(line).expect("JSON");
        let revision =
            told.root().get("revision").and_then(|revision| revision.to_json().parse().ok());
        let revision: usize = revision.expect("a revision");
        let document = told.root().get("document").expect("a document").to_json();
        found[revision - 1] = Some(document).filter(|document| document != "null");
    }
    Ok(found)
}
