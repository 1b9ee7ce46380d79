//! Plans: how long it takes to make one for many tables, and what it costs readers that others change the catalog.
//!
//! ```text
//!  chain     r0.id = r1.a AND r1.id = r2.a AND ...        each table is joined to the one before
//!  key       r0.id = r1.id AND r1.id = r2.id AND ...      any two tables can be joined
//!
//!  reads     8 connections, a prepared SELECT by key:  alone | beside 100 CREATE TABLE a second | alone | ...
//! ```
//!
//! Invariants: both servers have the same tables with the same rows, and their statistics; every answer is checked.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::{Context, must_equal, race, together};
use crate::Result;
use crate::document::Numbers;
use crate::ours::Server;
use crate::peer::postgres::{NAME, Postgres};
use crate::peer::wire::Wire;
use crate::report::{Row, Target, median};

const USER: &str = "postgres";
/// How many tables there are to be joined.
const TABLES: usize = 30;
/// Rows of each.
const ROWS: i64 = 10_000;
/// Connections that read.
const READERS: usize = 8;
/// Tables that are made beside them in a second: as many on each side, however fast its disk takes a commit.
const MADE_A_SECOND: u32 = 100;

/// A server under test.
struct Side {
    first: Wire,
    readers: Vec<(Wire, Numbers)>,
    /// The connection that changes the catalog, and how many tables it has made.
    maker: Wire,
    made: usize,
    /// How many it made a second.
    made_a_second: Vec<f64>,
}

impl Side {
    fn prepare(address: SocketAddr) -> Result<Side> {
        let mut first = Wire::connect(address, USER)?;
        for table in 0..TABLES {
            first.simple(&format!("CREATE TABLE r{table} (id int PRIMARY KEY, a int, v text)"))?;
            first.simple(&format!(
                "INSERT INTO r{table} SELECT n, n * 7919 % {ROWS}, 'v' || n FROM generate_series(0, {}) n",
                ROWS - 1
            ))?;
            first.simple(&format!("CREATE INDEX ON r{table} (a)"))?;
            first.simple(&format!("VACUUM ANALYZE r{table}"))?;
        }
        let reader = |seed| {
            let mut wire = Wire::connect(address, USER)?;
            wire.prepare("read", "SELECT v FROM r0 WHERE id = $1")?;
            Ok((wire, Numbers::new(seed)))
        };
        let readers = (0..READERS as u64).map(reader).collect::<Result<_>>()?;
        let maker = Wire::connect(address, USER)?;
        Ok(Side { first, readers, maker, made: 0, made_a_second: Vec::new() })
    }

    /// Milliseconds to plan a statement.
    fn plan(&mut self, statement: &str) -> Result<f64> {
        let start = Instant::now();
        let answer = self.first.simple(&format!("EXPLAIN {statement}"))?;
        let millis = start.elapsed().as_secs_f64() * 1e3;
        must_equal("a plan has lines", answer.rows > TABLES / 3, true)?;
        Ok(millis)
    }

    /// Reads a second, while another connection makes [`MADE_A_SECOND`] tables a second where that is wanted.
    fn read(&mut self, each: u32, is_beside: bool) -> Result<f64> {
        let Side { readers, maker, made, made_a_second, .. } = self;
        let is_over = AtomicBool::new(!is_beside);
        let (before, start) = (*made, Instant::now());
        let rate = std::thread::scope(|scope| {
            let is_over = &is_over;
            let maker = scope.spawn(|| -> Result<()> {
                for due in
                    (0..).map(|number| start + Duration::from_secs(1) * number / MADE_A_SECOND)
                {
                    std::thread::sleep(due.saturating_duration_since(Instant::now()));
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                    let columns = "(id int PRIMARY KEY, v text)";
                    maker.simple(&format!("CREATE TABLE made_{made} {columns}"))?;
                    *made += 1;
                }
                Ok(())
            });
            let rate = together(each, readers, |(wire, numbers)| {
                let id = (numbers.next() % ROWS as u64) as i64;
                let answer = wire.run("read", &[&id.to_string()])?;
                must_equal("a read", answer.first, Some(format!("v{id}")))
            });
            is_over.store(true, Ordering::Relaxed);
            maker.join().map_err(|_| "the connection that makes tables panicked")??;
            rate
        })?;
        if is_beside {
            made_a_second.push((self.made - before) as f64 / start.elapsed().as_secs_f64());
        }
        Ok(rate)
    }
}

/// A join of so many tables, each condition made for a table and the one before it.
fn join(tables: usize, condition: impl Fn(usize, usize) -> String) -> String {
    let names: Vec<String> = (0..tables).map(|table| format!("r{table}")).collect();
    let conditions: Vec<String> = (1..tables).map(|table| condition(table - 1, table)).collect();
    format!("SELECT count(*) FROM {} WHERE {}", names.join(", "), conditions.join(" AND "))
}

/// Runs the suite.
pub fn run(context: &Context) -> Result<Vec<Row>> {
    context.step("starting both servers");
    let postgres = Postgres::start_listening(&context.cache, &context.work)?;
    let server = Server::start(&context.work.join("anywhen"))?;
    context.step("making tables");
    let mut theirs = Side::prepare(postgres.address()?)?;
    let mut ours = Side::prepare(server.address())?;

    let mut rows = Vec::new();
    for (tables, most_ms) in [(12, 50.0), (TABLES, 500.0)] {
        let chain = join(tables, |before, table| format!("r{before}.id = r{table}.a"));
        let key = join(tables, |before, table| format!("r{before}.id = r{table}.id"));
        for (shape, words, statement) in [
            ("chain", "each joined to the one before", chain),
            ("key", "all joined by one key", key),
        ] {
            context.step(format!("plan of {tables} tables, {words}"));
            let [own, peer] = race(
                context.count(11, 3),
                [&mut || ours.plan(&statement), &mut || theirs.plan(&statement)],
            )?;
            rows.push(
                Row::new(
                    format!("plan-{tables}-{shape}"),
                    format!("EXPLAIN of a join of {tables} tables, {words}"),
                    "ms",
                )
                .ours(median(&own))
                .peer(NAME, median(&peer))
                .target(&format!("≤ {most_ms} ms"), Target::AtMost(most_ms)),
            );
        }
    }

    context.step("reads beside CREATE TABLE");
    let each = context.count(6_000, 300);
    let (ours, theirs) = (std::cell::RefCell::new(ours), std::cell::RefCell::new(theirs));
    let [alone, beside, peer_alone, peer_beside] = race(
        context.count(15, 2),
        [
            &mut || ours.borrow_mut().read(each, false),
            &mut || ours.borrow_mut().read(each, true),
            &mut || theirs.borrow_mut().read(each, false),
            &mut || theirs.borrow_mut().read(each, true),
        ],
    )?;
    let (alone, beside) = (median(&alone), median(&beside));
    let (peer_alone, peer_beside) = (median(&peer_alone), median(&peer_beside));
    let cost = |alone: f64, beside: f64| (1.0 - beside / alone) * 100.0;
    let who = format!("{READERS} connections read a row by key, prepared");
    rows.push(
        Row::new("reads-alone", format!("rate where {who}"), "operations/s")
            .ours(alone)
            .peer(NAME, peer_alone),
    );
    rows.push(
        Row::new(
            "reads-beside-ddl",
            format!("the same beside {MADE_A_SECOND} CREATE TABLE a second, where {who}"),
            "operations/s",
        )
        .ours(beside)
        .peer(NAME, peer_beside),
    );
    let [own, peer] = [&ours, &theirs].map(|side| median(&side.borrow().made_a_second));
    rows.push(
        Row::new("ddl-rate", format!("tables made meanwhile, where {who}"), "tables/s")
            .ours(own)
            .peer(NAME, peer),
    );
    rows.push(
        Row::new(
            "ddl-cost",
            format!("what {MADE_A_SECOND} CREATE TABLE a second cost, where {who}"),
            "%",
        )
        .ours(cost(alone, beside))
        .peer(NAME, cost(peer_alone, peer_beside))
        .target("≤ 5 %", Target::AtMost(5.0)),
    );
    Ok(rows)
}
