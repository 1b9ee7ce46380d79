//! The effect of one large transaction on all others, compared with PostgreSQL.
//!
//! ```text
//!  alone     2 readers by key, 2 writers of small commits        a while: p50, p99.9
//!  beside    the same, while one statement inserts, updates or deletes a large part of a table
//!            their p99.9 and worst latency; how long the statement took; memory of our server
//!  killed    in the middle of an insertion, and started again until the table is counted
//! ```
//! Each side does all of it by itself, one after the other: a statement of many seconds leaves no slices.
//!
//! Invariants: both servers get the same statements; after each of them the table is counted.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::{Context, must_equal};
use crate::Result;
use crate::document::Numbers;
use crate::ours::Server;
use crate::peer::postgres::{NAME, Postgres};
use crate::peer::wire::Wire;
use crate::report::{Row, Target};

const USER: &str = "postgres";
/// Rows of the table that the small transactions use.
const KEYS: u64 = 100_000;
/// The most that a large transaction may add to the p99.9 of the others, in microseconds.
const ADDED_US_MAX: f64 = 10_000.0;
/// The most that it may add to the memory of the server, in bytes.
const MEMORY_MAX: f64 = 256.0 * 1024.0 * 1024.0;

/// Latencies of the small operations of a while, ascending, in microseconds.
struct Others {
    reads: Vec<f64>,
    commits: Vec<f64>,
}

/// The measurements of a large statement.
struct Large {
    others: Others,
    seconds: f64,
    /// Resident bytes of the server that it added, at most.
    memory: f64,
}

/// The measurements of one side.
struct Side {
    alone: Others,
    large: Vec<Large>,
    restart_seconds: f64,
}

/// The large statements: name, words, statement, and the count and the sum that the table has then.
struct Statement {
    id: &'static str,
    what: String,
    sql: String,
    rows: u64,
}

fn statements(rows: u64) -> [Statement; 3] {
    let (half, quarter) = (rows / 2, rows / 4);
    [
        Statement {
            id: "insert",
            what: format!("insert {rows} rows"),
            sql: format!(
                "insert into big select g, g % 1000, 'row ' || g from generate_series(1, {rows}) g"
            ),
            rows: rows + 1,
        },
        Statement {
            id: "update",
            what: format!("update {half} rows"),
            sql: format!("update big set n = n + 1 where id between 1 and {half}"),
            rows: rows + 1,
        },
        Statement {
            id: "delete",
            what: format!("delete {quarter} rows"),
            sql: format!("delete from big where id between 1 and {quarter}"),
            rows: rows + 1 - quarter,
        },
    ]
}

/// Runs the suite.
pub fn run(context: &Context) -> Result<Vec<Row>> {
    let rows = context.count(2_000_000, 40_000);
    let theirs = {
        context.step("PostgreSQL");
        let mut server = Postgres::start_listening(&context.cache, &context.work)?;
        let address = server.address()?;
        side(context, address, None, rows, &mut || {
            server.crash_and_restart()?;
            Ok(address)
        })?
    };
    let ours = {
        let folder = context.work.join("ours");
        let mut server = Server::start(&folder)?;
        let (address, process) = (server.address(), server.process_id());
        side(context, address, Some(process), rows, &mut || {
            server.kill()?;
            server = Server::restart(&folder)?;
            Ok(server.address())
        })?
    };
    Ok(published(&statements(rows), &ours, &theirs))
}

fn side(
    context: &Context,
    address: SocketAddr,
    process: Option<u32>,
    rows: u64,
    restart: &mut dyn FnMut() -> Result<SocketAddr>,
) -> Result<Side> {
    let whose = if process.is_some() { "Anywhen" } else { "PostgreSQL" };
    let mut wire = Wire::connect(address, USER)?;
    for sql in [
        "create table small (id int primary key, n int)".to_owned(),
        format!("insert into small select g, 0 from generate_series(1, {KEYS}) g"),
        "create table big (id int primary key, n int, t text)".to_owned(),
        "create index on big (n)".to_owned(),
        "insert into big values (0, 0, 'zero')".to_owned(),
    ] {
        wire.simple(&sql)?;
    }
    context.step(format!("{whose}: small transactions alone"));
    let while_alone = Duration::from_millis(context.count(10_000, 1_000));
    let ((), alone) = beside(address, || {
        thread::sleep(while_alone);
        Ok(())
    })?;
    let mut large = Vec::new();
    for statement in statements(rows) {
        context.step(format!("{whose}: {}", statement.what));
        let before = process.map_or(Ok(0), resident)?;
        let (seconds, others) = beside(address, || {
            let watch = Watch::start(process);
            let start = Instant::now();
            wire.simple(&statement.sql)?;
            Ok((start.elapsed().as_secs_f64(), watch.end()))
        })?;
        let (seconds, most) = seconds;
        let count = wire.simple("select count(*) from big")?;
        must_equal("rows", count.first, Some(statement.rows.to_string()))?;
        large.push(Large { others, seconds, memory: most.saturating_sub(before) as f64 });
    }
    context.step(format!("{whose}: killed in the middle"));
    let sql = "insert into big select g, 0, 'lost' from generate_series(10000000, 12000000) g";
    let mut victim = Wire::connect(address, USER)?;
    let running = thread::spawn(move || victim.simple(sql).is_err());
    thread::sleep(Duration::from_millis(context.count(3_000, 300)));
    let start = Instant::now();
    let address = restart()?;
    let expected = statements(rows)[2].rows;
    let mut wire = loop {
        match Wire::connect(address, USER) {
            Ok(wire) => break wire,
            Err(error) if start.elapsed() > Duration::from_secs(120) => return Err(error),
            Err(_) => thread::sleep(Duration::from_millis(10)),
        }
    };
    let count = wire.simple("select count(*) from big")?;
    let restart_seconds = start.elapsed().as_secs_f64();
    must_equal("rows after the kill", count.first, Some(expected.to_string()))?;
    let _ = running.join();
    Ok(Side { alone, large, restart_seconds })
}

/// Runs `work` while two readers and two writers go on; returns what it gives, and their latencies.
fn beside<R>(address: SocketAddr, work: impl FnOnce() -> Result<R>) -> Result<(R, Others)> {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..4_u64)
            .map(|number| {
                let stop = &stop;
                scope.spawn(move || operate(address, number, stop))
            })
            .collect();
        let done = work();
        stop.store(true, Ordering::Relaxed);
        let mut others = Others { reads: Vec::new(), commits: Vec::new() };
        for (number, thread) in threads.into_iter().enumerate() {
            let micros = thread.join().map_err(|_| "a client panicked")??;
            if number < 2 { &mut others.reads } else { &mut others.commits }.extend(micros);
        }
        others.reads.sort_by(f64::total_cmp);
        others.commits.sort_by(f64::total_cmp);
        Ok((done?, others))
    })
}

/// One client: reads (numbers 0 and 1) or commits, one after the other, until it is told to stop.
fn operate(address: SocketAddr, number: u64, stop: &AtomicBool) -> Result<Vec<f64>> {
    let mut wire = Wire::connect(address, USER)?;
    let is_read = number < 2;
    let sql = match is_read {
        true => "select n from small where id = $1",
        false => "update small set n = n + 1 where id = $1",
    };
    wire.prepare("one", sql)?;
    let mut numbers = Numbers::new(number);
    let mut micros = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        // Writers have keys of their own: nobody waits for a row.
        let at = numbers.next() % (KEYS / 2) * 2 + number % 2;
        let start = Instant::now();
        let answer = wire.run("one", &[&(1 + at).to_string()])?;
        micros.push(start.elapsed().as_secs_f64() * 1e6);
        if is_read {
            must_equal("a row", answer.rows, 1)?;
        }
    }
    Ok(micros)
}

/// Looks at the memory of a process while something goes on.
struct Watch {
    stop: std::sync::Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<u64>>,
}

impl Watch {
    fn start(process: Option<u32>) -> Watch {
        let stop = std::sync::Arc::new(AtomicBool::new(false));
        let told = std::sync::Arc::clone(&stop);
        let thread = process.map(|process| {
            thread::spawn(move || {
                let mut most = 0;
                while !told.load(Ordering::Relaxed) {
                    most = most.max(resident(process).unwrap_or(0));
                    thread::sleep(Duration::from_millis(20));
                }
                most
            })
        });
        Watch { stop, thread }
    }

    /// The most bytes that were resident.
    fn end(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.and_then(|thread| thread.join().ok()).unwrap_or(0)
    }
}

/// Resident bytes of a process.
fn resident(process: u32) -> Result<u64> {
    let text = std::fs::read_to_string(Path::new("/proc").join(process.to_string()).join("statm"))?;
    let pages: u64 = text.split(' ').nth(1).ok_or("no resident pages")?.parse()?;
    Ok(pages * 4096)
}

fn at(sorted: &[f64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    sorted.get((last as f64 * share) as usize).copied().unwrap_or(f64::NAN)
}

fn published(statements: &[Statement], ours: &Side, theirs: &Side) -> Vec<Row> {
    type Of = fn(&Others) -> &[f64];
    let kinds: [(&str, &str, Of); 2] =
        [("reads", "reads by key", |of| &of.reads), ("commits", "small commits", |of| &of.commits)];
    let mut rows = Vec::new();
    for (id, what, of) in kinds {
        rows.push(
            Row::new(format!("alone-{id}"), format!("p99.9 of {what}, alone"), "us")
                .ours(at(of(&ours.alone), 0.999))
                .peer(NAME, at(of(&theirs.alone), 0.999)),
        );
    }
    for (number, statement) in statements.iter().enumerate() {
        let Statement { id: name, what: large, .. } = statement;
        let (mine, other) = (&ours.large[number], &theirs.large[number]);
        rows.push(
            Row::new(format!("{name}-time"), format!("{large}, the whole"), "ms")
                .ours(mine.seconds * 1e3)
                .peer(NAME, other.seconds * 1e3)
                .target("≤ PostgreSQL", Target::TimesPeer(1.0)),
        );
        for (id, what, of) in kinds {
            let added = |side: &Side, of_large: &Others| {
                (at(of(of_large), 0.999) - at(of(&side.alone), 0.999)).max(0.0)
            };
            let words = format!("what it adds to the p99.9 of {what}: {large}");
            rows.push(
                Row::new(format!("{name}-{id}-added"), words, "us")
                    .ours(added(ours, &mine.others))
                    .peer(NAME, added(theirs, &other.others))
                    .target("≤ 10 ms", Target::AtMost(ADDED_US_MAX)),
            );
            let words = format!("the longest of {what} beside it: {large}");
            rows.push(
                Row::new(format!("{name}-{id}-longest"), words, "us")
                    .ours(at(of(&mine.others), 1.0))
                    .peer(NAME, at(of(&other.others), 1.0)),
            );
        }
        rows.push(
            Row::new(format!("{name}-memory"), format!("memory that it adds: {large}"), "bytes")
                .ours(mine.memory)
                .target("≤ 256 MB", Target::AtMost(MEMORY_MAX)),
        );
    }
    rows.push(
        Row::new("restart", "killed in an insertion: until the table is counted", "ms")
            .ours(ours.restart_seconds * 1e3)
            .peer(NAME, theirs.restart_seconds * 1e3),
    );
    rows
}
