//! Tables of many rows: how long it takes to make their indexes, and to read what is larger than the cache.
//!
//! ```text
//!  indexes   1,000,000 events: three indexes of columns, a GIN over jsonb and one over an array;  then count(*)
//!  cold      10,000,000 rows, a cache of 256 MiB, PostgreSQL with its 128 MB and the system's cache:
//!            a row by key, 1 and 8 connections;  sum, condition and groups over all of them
//! ```
//!
//! Invariants: both servers have the same rows and their statistics; every answer is checked, or compared with the other's.

use std::net::SocketAddr;
use std::time::Instant;

use super::{Context, must_equal, race, together};
use crate::Result;
use crate::document::Numbers;
use crate::ours::Server;
use crate::peer::postgres::{NAME, Postgres};
use crate::peer::wire::Wire;
use crate::report::{Row, Target, median};

const USER: &str = "postgres";
/// Connections that read at the same time.
const READERS: usize = 8;
/// Ours; PostgreSQL has the 128 MB of its default, and the pages that the system keeps.
const CACHE_MIB: &str = "256";

/// The table of events of the suite *analytics*, and how either server makes its rows of numbers.
const SCHEMA: &str = include_str!("../../analytics/schema.sql");
const EVENTS: &str = include_str!("events.sql");

/// The indexes: id of the row, words, method and columns.
const INDEXES: [(&str, &str, &str); 5] = [
    ("index-date", "of a date", "(event_date)"),
    ("index-number", "of a bigint", "(user_id)"),
    ("index-text", "of a text of seven values", "(event_type)"),
    ("index-jsonb", "GIN, jsonb_path_ops", "USING gin (metadata jsonb_path_ops)"),
    ("index-array", "GIN of a text[]", "USING gin (tags)"),
];

/// Questions over all rows: id of the row, words, statement.
const SCANS: [(&str, &str, &str); 3] = [
    ("cold-sum", "sum of an integer over all rows", "SELECT sum(a) FROM big"),
    (
        "cold-filter",
        "rows that meet a condition on a numeric and a LIKE",
        "SELECT count(*) FROM big WHERE d > 500 AND b LIKE '%ab%'",
    ),
    (
        "cold-group",
        "a thousand groups of all rows",
        "SELECT sum(n) FROM (SELECT a, count(*) * sum(d) AS n FROM big GROUP BY a) g",
    ),
];

fn timed_ms(wire: &mut Wire, statement: &str) -> Result<f64> {
    let start = Instant::now();
    wire.simple(statement)?;
    Ok(start.elapsed().as_secs_f64() * 1e3)
}

/// A row of milliseconds that are to be PostgreSQL's at most.
fn level(id: &str, what: String, own: &[f64], peer: &[f64]) -> Row {
    Row::new(id, what, "ms")
        .ours(median(own))
        .peer(NAME, median(peer))
        .target("level with PostgreSQL", Target::TimesPeer(1.0))
}

/// Runs the suite.
pub fn run(context: &Context) -> Result<Vec<Row>> {
    context.step("starting both servers");
    let postgres = Postgres::start_listening(&context.cache, &context.work)?;
    let server = Server::start_with(&context.work.join("anywhen"), &["--cache-mib", CACHE_MIB])?;
    let (own, peer) = (server.address(), postgres.address()?);
    let mut rows = indexes(context, own, peer)?;
    rows.extend(cold(context, own, peer)?);
    Ok(rows)
}

fn indexes(context: &Context, own: SocketAddr, peer: SocketAddr) -> Result<Vec<Row>> {
    let count = context.count(1_000_000, 20_000);
    let mut wires = [Wire::connect(own, USER)?, Wire::connect(peer, USER)?];
    for wire in &mut wires {
        context.step(format!("{count} events"));
        wire.simple(SCHEMA)?;
        wire.simple(&EVENTS.replace(":count", &count.to_string()))?;
        wire.simple("VACUUM ANALYZE event")?;
    }
    let [ours, theirs] = &mut wires;
    let (mut rows, mut sums) = (Vec::new(), [0.0, 0.0]);
    for (id, words, indexed) in INDEXES {
        context.step(format!("CREATE INDEX {words}"));
        let statement = format!("CREATE INDEX made ON event {indexed}");
        let make = |wire: &mut Wire| -> Result<f64> {
            wire.simple("DROP INDEX IF EXISTS made")?;
            timed_ms(wire, &statement)
        };
        let times = race(context.count(5, 1), [&mut || make(ours), &mut || make(theirs)])?;
        let [own, peer] = &times;
        sums = [sums[0] + median(own), sums[1] + median(peer)];
        rows.push(level(id, format!("CREATE INDEX over {count} rows, {words}"), own, peer));
        for wire in [&mut *ours, &mut *theirs] {
            wire.simple(&format!("ALTER INDEX made RENAME TO \"{id}\""))?;
        }
    }
    rows.push(level("index-all", "the five together".into(), &sums[..1], &sums[1..]));
    context.step("count(*)");
    let counting = |wire: &mut Wire| -> Result<f64> {
        let start = Instant::now();
        let found = wire.simple("SELECT count(*) FROM event")?.first;
        must_equal("events", found, Some(count.to_string()))?;
        Ok(start.elapsed().as_secs_f64() * 1e3)
    };
    let [own, peer] =
        race(context.count(11, 2), [&mut || counting(ours), &mut || counting(theirs)])?;
    rows.push(level("count-indexed", "count(*) of them, with the indexes".into(), &own, &peer));
    for wire in &mut wires {
        wire.simple("DROP TABLE event")?;
    }
    Ok(rows)
}

fn cold(context: &Context, own: SocketAddr, peer: SocketAddr) -> Result<Vec<Row>> {
    let count: u64 = context.count(10_000_000, 100_000);
    let side = |address| -> Result<Vec<(Wire, Numbers)>> {
        let mut wire = Wire::connect(address, USER)?;
        wire.simple(
            "CREATE TABLE big (id bigint PRIMARY KEY, a int NOT NULL, b text NOT NULL, \
             c timestamptz NOT NULL, d numeric(12, 2) NOT NULL)",
        )?;
        wire.simple(&format!(
            "INSERT INTO big SELECT i, i % 1000, md5(i::text) || md5((i * 7)::text), \
             timestamptz '2024-01-01 UTC' + i * interval '1 second', (i % 100000) / 100.0 \
             FROM generate_series(1, {count}) i"
        ))?;
        wire.simple("VACUUM ANALYZE big")?;
        let reader = |seed| {
            let mut wire = Wire::connect(address, USER)?;
            wire.prepare("read", "SELECT a FROM big WHERE id = $1")?;
            Ok((wire, Numbers::new(seed)))
        };
        (0..READERS as u64).map(reader).collect()
    };
    context.step(format!("{count} rows for ours"));
    let mut ours = side(own)?;
    context.step(format!("{count} rows for PostgreSQL"));
    let mut theirs = side(peer)?;
    let read = |readers: &mut [(Wire, Numbers)], each| {
        together(each, readers, |(wire, numbers)| {
            let id = numbers.next() % count + 1;
            let answer = wire.run("read", &[&id.to_string()])?;
            must_equal("a read", answer.first, Some((id % 1000).to_string()))
        })
    };
    let mut rows = Vec::new();
    for readers in [1, READERS] {
        context.step(format!("reads by key, {readers} connections"));
        let each = context.count(24_000, 800) / readers as u32;
        let [own, peer] = race(
            context.count(11, 2),
            [&mut || read(&mut ours[..readers], each), &mut || read(&mut theirs[..readers], each)],
        )?;
        let what = format!("a row of {count} by key, prepared, connections: {readers}");
        rows.push(
            Row::new(format!("cold-point-{readers}"), what, "operations/s")
                .ours(median(&own))
                .peer(NAME, median(&peer))
                .target("level with PostgreSQL", Target::TimesPeer(1.0)),
        );
    }
    let (ours, theirs) = (&mut ours[0].0, &mut theirs[0].0);
    for (id, words, statement) in SCANS {
        context.step(words);
        must_equal(words, ours.simple(statement)?.first, theirs.simple(statement)?.first)?;
        let [own, peer] = race(
            context.count(7, 2),
            [&mut || timed_ms(ours, statement), &mut || timed_ms(theirs, statement)],
        )?;
        rows.push(level(id, format!("{words}, {count}"), &own, &peer));
    }
    Ok(rows)
}
