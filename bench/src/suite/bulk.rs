//! Many rows at once, and a row of the past: the rest of what the suite *pgwire* measures.
//!
//! ```text
//!  COPY in     1,000,000 rows of a key, a text and a number into a new table, by either server in turns
//!  COPY out    the same rows
//!  a row then  by key, as of before twenty updates of every row, beside the row of now
//! ```
//!
//! Invariants: both servers get the same bytes; what was copied is counted and summed.

use std::net::SocketAddr;
use std::time::Instant;

use super::{Context, must_equal};
use crate::Result;
use crate::document::Numbers;
use crate::peer::postgres::NAME;
use crate::peer::wire::Wire;
use crate::report::{Row, Target, median};

const USER: &str = "postgres";
const COPY_IN: &str = "COPY bench_copy FROM STDIN";
const COPY_OUT: &str = "COPY bench_copy TO STDOUT";
/// Updates of every row between then and now.
const UPDATES: u32 = 20;
const THEN_ROWS: u64 = 5_000;

/// Rows as `COPY` has them in text.
fn lines(rows: u64) -> Vec<u8> {
    let mut numbers = Numbers::new(7);
    let mut text = Vec::new();
    for id in 0..rows {
        let value = numbers.next();
        text.extend_from_slice(format!("{id}\tname {value:016x}\t{}\n", value % 1_000).as_bytes());
    }
    text
}

/// `COPY` of many rows into a new table, and out of it.
pub fn copy(context: &Context, ours: SocketAddr, postgres: SocketAddr) -> Result<Vec<Row>> {
    let rows = context.count(1_000_000, 20_000);
    let text = lines(rows);
    let mut wires = [Wire::connect(ours, USER)?, Wire::connect(postgres, USER)?];
    let (mut into, mut out) = ([const { Vec::new() }; 2], [const { Vec::new() }; 2]);
    let mut sums = [None, None];
    for round in 0..context.count(4, 2) {
        for turn in 0..2 {
            let who = (round + turn) % 2;
            let wire = &mut wires[who];
            context.step(format!("COPY of {rows} rows, {} of 2", turn + 1));
            wire.simple("DROP TABLE IF EXISTS bench_copy")?;
            wire.simple("CREATE TABLE bench_copy (id bigint PRIMARY KEY, name text, n int)")?;
            let start = Instant::now();
            wire.copy_in(COPY_IN, &text)?;
            let loaded = start.elapsed().as_secs_f64();
            let found = wire.simple("SELECT count(*) FROM bench_copy")?.first;
            must_equal("rows copied", found, Some(rows.to_string()))?;
            sums[who] = wire.simple("SELECT sum(n) FROM bench_copy")?.first;
            let start = Instant::now();
            must_equal("bytes copied out", wire.copy_out(COPY_OUT)?, text.len() as u64)?;
            // The first round warms everybody up.
            if round > 0 {
                into[who].push(loaded);
                out[who].push(start.elapsed().as_secs_f64());
            }
        }
    }
    let [mine, theirs] = sums;
    must_equal("the sum of what was copied", mine, theirs)?;
    let row = |id: &str, what: &str, [ours, theirs]: [Vec<f64>; 2]| {
        let rate = |seconds: &[f64]| rows as f64 / median(seconds);
        Row::new(id, format!("{what}, {rows} rows"), "rows/s")
            .ours(rate(&ours))
            .peer(NAME, rate(&theirs))
            .target("≥ PostgreSQL", Target::TimesPeer(1.0))
    };
    Ok(vec![row("copy-in", "COPY into a new table", into), row("copy-out", "COPY out of it", out)])
}

/// A row by key as of before many updates, beside the same row of now.
pub fn then_and_now(context: &Context, ours: SocketAddr) -> Result<Vec<Row>> {
    context.step("a past to read in");
    let mut wire = Wire::connect(ours, USER)?;
    wire.simple("CREATE TABLE bench_then (id bigint PRIMARY KEY, v text)")?;
    wire.simple(&format!(
        "INSERT INTO bench_then SELECT g, 'then' FROM generate_series(0, {}) g",
        THEN_ROWS - 1
    ))?;
    let then = wire.simple("SELECT clock_timestamp()")?.first.ok_or("a clock has a time")?;
    for update in 1..=context.count(UPDATES, 3) {
        wire.simple(&format!("UPDATE bench_then SET v = 'now {update}'"))?;
    }
    wire.simple("VACUUM bench_then")?;
    wire.prepare("now", "SELECT v FROM bench_then WHERE id = $1")?;
    wire.prepare(
        "then",
        &format!("SELECT v FROM bench_then FOR SYSTEM_TIME AS OF '{then}' WHERE id = $1"),
    )?;
    let last = format!("now {}", context.count(UPDATES, 3));
    let mut numbers = Numbers::new(11);
    let mut samples = [Vec::new(), Vec::new()];
    context.step("a row as of then, and now");
    for _ in 0..context.count(20_000, 500) {
        let id = (numbers.next() % THEN_ROWS).to_string();
        for (at, (name, expected)) in [("now", last.as_str()), ("then", "then")].iter().enumerate()
        {
            let start = Instant::now();
            let answer = wire.run(name, &[&id])?;
            samples[at].push(start.elapsed().as_secs_f64() * 1e6);
            must_equal("a row of its time", answer.first.as_deref(), Some(*expected))?;
        }
    }
    let [now, then] = samples.map(|samples| median(&samples));
    Ok(vec![
        Row::new("row-now", "p50 of a row by key, prepared, 1 connection", "us").ours(now),
        Row::new("row-then", "the same as of before 20 updates of every row", "us").ours(then),
        Row::new("row-then-over-now", "the row of then over the row of now", "ratio")
            .ours(then / now)
            .target("≤ 1.5", Target::AtMost(1.5)),
    ])
}
