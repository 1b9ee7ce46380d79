//! Part of a document over HTTP: by many clients at once, beside a writer, and after many revisions.
//!
//! ```text
//!  round    floor | as put | 2,000 revisions | 10,000 revisions | floor ...   a slice each,
//!                                                                             by 1, 4, 8, 16, 32 clients
//!  then     16 readers | 16 readers and a writer | ...                        of the document as put
//!  row      the median of the slices
//! ```
//! The document has 1.71 MB; the part that is asked for about 18 KB, with the key of each node. The floor
//! is a server made of the same libraries that answers the very bytes out of memory. Server, floor and load
//! generator are processes of their own; they have more threads than there are cores, so they come before
//! other programs but are no real-time ones.
//!
//! The three histories are three documents of one database, so that they can take turns: the machine's
//! other work falls on all of them. Revisions are made by edits of one node each, over the same routes as
//! the reads. The writer makes them in the same way; every other edit of it falls into the part that is
//! read.
//!
//! Invariants: every answer is as long as that of the floor, and its status is 200; the document has as
//! many revisions as edits were acknowledged.

mod floor;
mod load;
mod records;

pub use floor::serve_bytes;

use std::time::Duration;

use super::{Context, Sample, must_equal};
use crate::Result;
use crate::document::Numbers;
use crate::ours::Server;
use crate::report::{Row, Target, count, median};
use load::{Ask, Waiting};

/// Clients at which everything is measured, and those beside a writer.
const CLIENTS: [usize; 5] = [1, 4, 8, 16, 32];
const BESIDE: usize = 16;
const DATABASE: &str = "/bench";
const PART: &str = "maxLevel=4&maxChildren=50&withMetaData=nodeKeyAndChildCount";
/// Users of whom the part that is read tells.
const READ_USERS: usize = 50;

/// Reads the part.
struct Reader {
    request: Vec<u8>,
    answer_bytes: usize,
}

impl Ask for Reader {
    fn request(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.request);
    }

    fn answer_bytes(&self) -> usize {
        self.answer_bytes
    }
}

/// Sets the age of a user: every other time of one who is read.
struct Writer {
    document: &'static str,
    /// As they are.
    ages: Vec<u8>,
    numbers: Numbers,
    sent: u64,
}

impl Writer {
    fn new(document: &'static str, ages: &[u8]) -> Self {
        Writer { document, ages: ages.to_vec(), numbers: Numbers::new(10), sent: 0 }
    }
}

impl Ask for Writer {
    fn request(&mut self, out: &mut Vec<u8>) {
        self.sent += 1;
        let users = if self.sent.is_multiple_of(2) { READ_USERS } else { self.ages.len() };
        let user = self.numbers.below(users);
        self.ages[user] = records::another(self.ages[user], &mut self.numbers);
        let (node, age) = (records::age_key(user), self.ages[user].to_string());
        let target = format!("{DATABASE}/{}?nodeId={node}&insert=replace", self.document);
        out.extend_from_slice(&request("POST", &target, &age));
    }

    /// Of large documents nothing is sent back.
    fn answer_bytes(&self) -> usize {
        0
    }
}

fn request(method: &str, target: &str, body: &str) -> Vec<u8> {
    let length = match body.len() {
        0 => String::new(),
        length => format!("content-type: application/json\r\ncontent-length: {length}\r\n"),
    };
    format!("{method} {target} HTTP/1.1\r\nhost: localhost\r\n{length}\r\n{body}").into_bytes()
}

/// The number of a document's newest revision.
fn newest(client: &mut Waiting, document: &str) -> Result<u64> {
    let target = format!("{DATABASE}/{document}/history?revisions=1");
    let text = client.ask(&request("GET", &target, ""))?;
    let history: serde_json::Value = serde_json::from_slice(&text)?;
    Ok(history["history"][0]["revision"].as_u64().ok_or("the history has no revision")?)
}

/// A document with a history.
struct Past {
    name: &'static str,
    revisions: u64,
}

/// The servers, and what is asked of them.
struct Suite<'a> {
    context: &'a Context,
    server: Server,
    floor: Server,
    /// Of the users, in each document as put.
    ages: Vec<u8>,
    answer_bytes: usize,
    pasts: [Past; 3],
    errors: u64,
}

/// Runs the suite.
pub fn run(context: &Context) -> Result<Vec<Row>> {
    let mut suite = Suite::start(context)?;
    let mut rows = Vec::new();
    let mut held = [Vec::new(), Vec::new()];
    for clients in CLIENTS {
        rows.extend(suite.step(clients, &mut held)?);
    }
    rows.extend(suite.held(&held));
    rows.extend(suite.beside_a_writer()?);
    let errors = "answers that were errors, over all";
    let row = Row::new("errors", errors, "errors").ours(suite.errors as f64);
    rows.push(row.target("0", Target::AtMost(0.0)));
    Ok(rows)
}

impl<'a> Suite<'a> {
    fn start(context: &'a Context) -> Result<Self> {
        context.step("starting the server");
        let server = Server::start_http(&context.work.join("anywhen"))?;
        let mut client = Waiting::connect(server.address())?;
        client.ask(&request("PUT", DATABASE, ""))?;
        let (text, ages) = records::document();
        let pasts = [
            Past { name: "new", revisions: 1 },
            Past { name: "changed", revisions: context.count(2_000, 200) },
            Past { name: "old", revisions: context.count(10_000, 1_000) },
        ];
        let mut answer = Vec::new();
        for past in &pasts {
            context.step(format!("a document of {} revisions", count(past.revisions)));
            let path = format!("{DATABASE}/{}", past.name);
            client.ask(&request("PUT", &path, &text))?;
            let first = client.ask(&request("GET", &format!("{path}?{PART}"), ""))?;
            if answer.is_empty() {
                answer = first;
            } else {
                must_equal("bytes of the part", &first, &answer)?;
            }
            for user in [0, ages.len() - 1] {
                let target = format!("{path}?nodeId={}", records::age_key(user));
                let found = String::from_utf8(client.ask(&request("GET", &target, ""))?)?;
                must_equal("where an age stands", &found[..7], "{\"age\":")?;
            }
            let mut writer = Writer::new(past.name, &ages);
            let mut edit = Vec::new();
            for _ in 1..past.revisions {
                edit.clear();
                writer.request(&mut edit);
                client.ask(&edit)?;
            }
            must_equal("revisions", newest(&mut client, past.name)?, past.revisions)?;
        }
        let file = context.work.join("answer.json");
        std::fs::write(&file, &answer)?;
        let floor = Server::start_as("serve-bytes", &file, &[])?;
        let answer_bytes = answer.len();
        Ok(Suite { context, server, floor, ages, answer_bytes, pasts, errors: 0 })
    }

    /// How long everybody warms up, how long a slice is, and how many there are.
    fn times(&self) -> (Duration, Duration, usize) {
        let count = |full, quick| Duration::from_millis(self.context.count(full, quick));
        (count(5_000, 300), count(5_000, 500), self.context.count(6, 2))
    }

    /// A slice of so many clients that read a document, or the floor where none is named, and of a writer.
    fn slice(
        &mut self,
        past: Option<usize>,
        clients: usize,
        writer: Option<&mut Writer>,
        time: Duration,
    ) -> Result<(Sample, Sample)> {
        let name = past.map_or("floor", |past| self.pasts[past].name);
        let address = if past.is_some() { &self.server } else { &self.floor }.address();
        let request = request("GET", &format!("{DATABASE}/{name}?{PART}"), "");
        let answer_bytes = self.answer_bytes;
        let mut readers: Vec<Reader> =
            (0..clients).map(|_| Reader { request: request.clone(), answer_bytes }).collect();
        let mut asks: Vec<&mut dyn Ask> =
            readers.iter_mut().map(|reader| reader as &mut dyn Ask).collect();
        if let Some(writer) = writer {
            asks.push(writer);
        }
        let (reads, writes, errors) = load::run(address, &mut asks, clients, time)?;
        self.errors += errors;
        Ok((reads, writes))
    }

    /// The rows of a number of clients. The share that the longer histories keep of the rate of the
    /// document as put goes to `held`, round by round.
    fn step(&mut self, clients: usize, held: &mut [Vec<f64>; 2]) -> Result<Vec<Row>> {
        let who = format!("{clients} client{}", if clients == 1 { "" } else { "s" });
        self.context.step(who.clone());
        let contenders = [None, Some(0), Some(1), Some(2)];
        let (warm, slice, rounds) = self.times();
        for contender in contenders {
            self.slice(contender, clients, None, warm)?;
        }
        let mut samples = [const { Vec::new() }; 4];
        for round in 0..rounds {
            for turn in 0..4 {
                let at = (round + turn) % 4;
                samples[at].push(self.slice(contenders[at], clients, None, slice)?.0);
            }
        }
        for (held, samples_of) in held.iter_mut().zip(&samples[2..]) {
            held.extend(samples_of.iter().zip(&samples[1]).map(|(old, new)| old.rate / new.rate));
        }
        let [floor, found @ ..] = samples.map(|samples| Sample::median(&samples));
        let mut rows = Vec::new();
        for (past, found) in self.pasts.iter().zip(found) {
            let label = match past.revisions {
                1 => format!("as put, {who}"),
                revisions => format!("{} revisions, {who}", count(revisions)),
            };
            let id = format!("{}-{clients}", past.name);
            let rate = Row::new(format!("{id}-rate"), format!("reads: {label}"), "requests/s")
                .ours(found.rate)
                .floor(floor.rate);
            rows.push(rate.target("≥ 50 % of the floor", Target::OfFloor(0.5)));
            for (name, figure, least) in
                [("p50", found.p50_us, floor.p50_us), ("p99", found.p99_us, floor.p99_us)]
            {
                let what = format!("{name} of reads: {label}");
                rows.push(Row::new(format!("{id}-{name}"), what, "us").ours(figure).floor(least));
            }
        }
        Ok(rows)
    }

    /// The share of the rate that the longer histories keep: the middle of all rounds at all numbers
    /// of clients.
    fn held(&self, held: &[Vec<f64>; 2]) -> Vec<Row> {
        let rows = self.pasts[1..].iter().zip(held).map(|(past, held)| {
            let what = format!("rate at {} revisions over that as put", count(past.revisions));
            let row = Row::new(format!("{}-held", past.name), what, "ratio").ours(median(held));
            row.series(held.iter().copied()).target("≥ 0.97", Target::AtLeast(0.97))
        });
        rows.collect()
    }

    /// Readers of the document as put, alone and beside a writer of it.
    fn beside_a_writer(&mut self) -> Result<Vec<Row>> {
        self.context.step(format!("{BESIDE} readers and a writer"));
        let (warm, slice, rounds) = self.times();
        let mut writer = Writer::new(self.pasts[0].name, &self.ages);
        let (mut alone, mut beside, mut writes) = (Vec::new(), Vec::new(), Vec::new());
        self.slice(Some(0), BESIDE, Some(&mut writer), warm)?;
        for round in 0..rounds {
            for turn in 0..2 {
                if (round + turn) % 2 == 0 {
                    alone.push(self.slice(Some(0), BESIDE, None, slice)?.0);
                } else {
                    let (read, written) = self.slice(Some(0), BESIDE, Some(&mut writer), slice)?;
                    beside.push(read);
                    writes.push(written);
                }
            }
        }
        // Every edit that was acknowledged is a revision; of each slice the last one may not have been.
        let made = newest(&mut Waiting::connect(self.server.address())?, writer.document)? - 1;
        let lost = writer.sent.saturating_sub(made);
        must_equal("no revision is lost", lost <= rounds as u64 + 1, true)?;
        let [alone, beside, writes] =
            [alone, beside, writes].map(|samples| Sample::median(&samples));
        let who = format!("{BESIDE} readers");
        let us = |id: &str, what: String, value: f64| Row::new(id, what, "us").ours(value);
        let ratio = |id: &str, what: String, value: f64| Row::new(id, what, "ratio").ours(value);
        Ok(vec![
            Row::new("alone-rate", format!("reads: {who} alone"), "requests/s").ours(alone.rate),
            Row::new("beside-rate", format!("reads: {who} beside a writer"), "requests/s")
                .ours(beside.rate),
            ratio(
                "beside-kept",
                format!("rate of {who} beside a writer over that alone"),
                beside.rate / alone.rate,
            )
            .target("≥ 0.8", Target::AtLeast(0.8)),
            Row::new("beside-commits", format!("commits of a writer beside {who}"), "commits/s")
                .ours(writes.rate)
                .target("≥ 500", Target::AtLeast(500.0)),
            us("commit-p50", format!("p50 of commits beside {who}"), writes.p50_us),
            us("commit-p99", format!("p99 of commits beside {who}"), writes.p99_us),
            us("alone-p50", format!("p50 of reads: {who} alone"), alone.p50_us),
            us("beside-p50", format!("p50 of reads: {who} beside a writer"), beside.p50_us),
            us("alone-p99", format!("p99 of reads: {who} alone"), alone.p99_us),
            us("beside-p99", format!("p99 of reads: {who} beside a writer"), beside.p99_us),
            ratio(
                "beside-slower",
                format!("p99 of reads of {who} beside a writer over that alone"),
                beside.p99_us / alone.p99_us,
            )
            .target("≤ 3", Target::AtMost(3.0)),
        ])
    }
}
