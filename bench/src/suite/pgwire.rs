//! Seven workloads by PostgreSQL's protocol, against PostgreSQL and against a server that does nothing.
//!
//! ```text
//!  round   ours | PostgreSQL | floor | ours | ...        a slice each, by 1, 4 or 32 connections
//!          every slice: the latency of each operation -> p50, p99; operations / time -> a rate
//!  row     the median of the slices
//! ```
//! The floor answers as many bytes at once, after one shared sync of the disk where the operation is a
//! commit: what loopback, scheduler and disk leave to be had.
//!
//! Invariants: every answer is checked; both servers get the same statements in the same order, over
//! TCP on the loopback, with one thread for each connection.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Instant;

use super::{Context, Sample, bulk, must_equal};
use crate::Result;
use crate::document::Numbers;
use crate::floor::SharedFloor;
use crate::ours::Server;
use crate::peer::pgbench;
use crate::peer::postgres::{NAME, Postgres};
use crate::peer::wire::Wire;
use crate::report::{Row, Target};

/// Rows of the tables that are read.
const KEYS: i64 = 5_000;
const VALUE: &str = "0123456789ABCDEF";
const USER: &str = "postgres";
/// Connections at which everything is measured, and those at which rates are.
const FEW: usize = 4;
const MANY: usize = 32;

/// The kind of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Work {
    Select1,
    PointInsert,
    PointSelect,
    RangeScan,
    TxInsert,
    TxUpdate,
    SnapshotRead,
}

/// How its statements are sent. Explicit transactions always have theirs prepared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Protocol {
    Simple,
    Extended,
}

const WORKS: [Work; 7] = [
    Work::Select1,
    Work::PointInsert,
    Work::PointSelect,
    Work::RangeScan,
    Work::TxInsert,
    Work::TxUpdate,
    Work::SnapshotRead,
];

impl Work {
    fn id(self) -> &'static str {
        match self {
            Work::Select1 => "select1",
            Work::PointInsert => "point-insert",
            Work::PointSelect => "point-select",
            Work::RangeScan => "range-scan",
            Work::TxInsert => "tx-insert",
            Work::TxUpdate => "tx-update",
            Work::SnapshotRead => "snapshot-read",
        }
    }

    fn what(self) -> &'static str {
        match self {
            Work::Select1 => "SELECT 1",
            Work::PointInsert => "insert a row",
            Work::PointSelect => "select a row by key",
            Work::RangeScan => "count a range of 101 keys",
            Work::TxInsert => "BEGIN, insert a row, COMMIT",
            Work::TxUpdate => "BEGIN, update a row, COMMIT",
            Work::SnapshotRead => "BEGIN REPEATABLE READ, select a row, COMMIT",
        }
    }

    /// Statements that a connection prepares beforehand.
    fn prepared(self) -> &'static str {
        match self {
            Work::Select1 => "SELECT 1",
            Work::PointInsert | Work::TxInsert => "INSERT INTO bench_pi (id, v) VALUES ($1, $2)",
            Work::PointSelect | Work::SnapshotRead => "SELECT v FROM bench_ps WHERE id = $1",
            Work::RangeScan => "SELECT count(*) FROM bench_rs WHERE id BETWEEN $1 AND $2",
            Work::TxUpdate => "UPDATE bench_tu SET v = $2 WHERE id = $1",
        }
    }

    fn is_commit(self) -> bool {
        matches!(self, Work::PointInsert | Work::TxInsert | Work::TxUpdate)
    }

    /// Requests of an operation.
    fn round_trips(self) -> usize {
        if matches!(self, Work::TxInsert | Work::TxUpdate | Work::SnapshotRead) { 3 } else { 1 }
    }

    /// How many times as good as PostgreSQL the latencies at few connections must be.
    fn goal(self) -> (f64, &'static str) {
        match self {
            Work::PointSelect => (1.0 / 0.85, "≤ 0.85 × PostgreSQL"),
            Work::RangeScan => (1.0 / 0.7, "≤ 0.7 × PostgreSQL"),
            _ => (1.0, "≤ PostgreSQL"),
        }
    }

    /// The same for the rate at many.
    fn goal_of_many(self) -> Option<(f64, &'static str)> {
        match self {
            Work::PointSelect => Some((1.8, "≥ 1.8 × PostgreSQL")),
            Work::PointInsert | Work::TxUpdate => Some((2.0, "≥ 2 × PostgreSQL")),
            _ => None,
        }
    }
}

/// The keys of a run: new ones for inserts, random ones for everything else.
struct Keys<'a> {
    next: &'a AtomicI64,
    numbers: Numbers,
}

impl Keys<'_> {
    fn fresh(&self) -> i64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    fn known(&mut self, below: i64) -> i64 {
        (self.numbers.next() % below as u64) as i64
    }
}

/// Does one operation and checks its answer.
fn operate(wire: &mut Wire, work: Work, protocol: Protocol, keys: &mut Keys<'_>) -> Result<()> {
    let simple = protocol == Protocol::Simple;
    let name = work.id();
    match work {
        Work::Select1 => {
            let answer = if simple { wire.simple("SELECT 1")? } else { wire.run(name, &[])? };
            must_equal("SELECT 1", answer.first.as_deref(), Some("1"))
        }
        Work::PointInsert if simple => {
            let id = keys.fresh();
            wire.simple(&format!("INSERT INTO bench_pi (id, v) VALUES ({id}, '{VALUE}')")).map(drop)
        }
        Work::PointInsert => wire.run(name, &[&keys.fresh().to_string(), VALUE]).map(drop),
        Work::PointSelect => {
            let id = keys.known(KEYS);
            let answer = match simple {
                true => wire.simple(&format!("SELECT v FROM bench_ps WHERE id = {id}"))?,
                false => wire.run(name, &[&id.to_string()])?,
            };
            must_equal("point select", answer.first.as_deref(), Some(VALUE))
        }
        Work::RangeScan => {
            let from = keys.known(KEYS - 100);
            let to = from + 100;
            let answer = match simple {
                true => wire.simple(&format!(
                    "SELECT count(*) FROM bench_rs WHERE id BETWEEN {from} AND {to}"
                ))?,
                false => wire.run(name, &[&from.to_string(), &to.to_string()])?,
            };
            must_equal("range scan", answer.first.as_deref(), Some("101"))
        }
        Work::TxInsert => {
            wire.simple("BEGIN")?;
            wire.run(name, &[&keys.fresh().to_string(), VALUE])?;
            wire.simple("COMMIT").map(drop)
        }
        Work::TxUpdate => {
            // Keys of their own for each operation in flight: no waiting for rows is measured.
            let id = keys.fresh() % KEYS;
            wire.simple("BEGIN")?;
            wire.run(name, &[&id.to_string(), VALUE])?;
            wire.simple("COMMIT").map(drop)
        }
        Work::SnapshotRead => {
            wire.simple("BEGIN ISOLATION LEVEL REPEATABLE READ")?;
            let answer = wire.run(name, &[&keys.known(KEYS).to_string()])?;
            wire.simple("COMMIT")?;
            must_equal("snapshot read", answer.first.as_deref(), Some(VALUE))
        }
    }
}

/// Runs `each` so many times on every connection at once.
fn slice<C: Send>(
    connections: &mut [C],
    repeat: u32,
    each: impl Fn(&mut C) -> Result<()> + Sync,
) -> Result<Sample> {
    let barrier = Barrier::new(connections.len() + 1);
    std::thread::scope(|scope| {
        let threads: Vec<_> = connections
            .iter_mut()
            .map(|connection| {
                let (barrier, each) = (&barrier, &each);
                scope.spawn(move || -> Result<Vec<f64>> {
                    let mut micros = Vec::with_capacity(repeat as usize);
                    barrier.wait();
                    for _ in 0..repeat {
                        let start = Instant::now();
                        each(connection)?;
                        micros.push(start.elapsed().as_secs_f64() * 1e6);
                    }
                    Ok(micros)
                })
            })
            .collect();
        barrier.wait();
        let start = Instant::now();
        let mut micros = Vec::new();
        for thread in threads {
            micros.extend(thread.join().map_err(|_| "a connection's thread panicked")??);
        }
        Ok(Sample::of(micros, start.elapsed().as_secs_f64()))
    })
}

/// A server under test, with connections of which each knows its keys.
struct Side {
    name: &'static str,
    connections: Vec<(Wire, Numbers)>,
    next: AtomicI64,
}

impl Side {
    fn prepare(name: &'static str, address: SocketAddr) -> Result<Side> {
        let mut first = Wire::connect(address, USER)?;
        for table in ["bench_pi", "bench_ps", "bench_rs", "bench_tu"] {
            first.simple(&format!("CREATE TABLE {table} (id bigint PRIMARY KEY, v text)"))?;
        }
        for table in ["bench_ps", "bench_rs", "bench_tu"] {
            for from in (0..KEYS).step_by(500) {
                let rows: Vec<String> =
                    (from..from + 500).map(|id| format!("({id}, '{VALUE}')")).collect();
                first.simple(&format!("INSERT INTO {table} VALUES {}", rows.join(", ")))?;
            }
            first.simple(&format!("VACUUM ANALYZE {table}"))?;
        }
        let mut connections = Vec::new();
        for seed in 0..MANY as u64 {
            let mut wire = Wire::connect(address, USER)?;
            for work in WORKS {
                wire.prepare(work.id(), work.prepared())?;
            }
            connections.push((wire, Numbers::new(seed)));
        }
        Ok(Side { name, connections, next: AtomicI64::new(1_000_000) })
    }

    fn slice(&mut self, case: Case, repeat: u32) -> Result<Sample> {
        let next = &self.next;
        slice(&mut self.connections[..case.connections], repeat, |(wire, numbers)| {
            let mut keys = Keys { next, numbers: numbers.clone() };
            let done = operate(wire, case.work, case.protocol, &mut keys);
            *numbers = keys.numbers;
            done
        })
        .map_err(|error| format!("{}: {}: {error}", self.name, case.work.what()).into())
    }
}

/// One workload at a number of connections.
#[derive(Clone, Copy)]
struct Case {
    work: Work,
    protocol: Protocol,
    connections: usize,
}

impl Case {
    fn label(self) -> String {
        let protocol = match self.protocol {
            Protocol::Extended => ", prepared",
            Protocol::Simple => "",
        };
        let s = if self.connections == 1 { "" } else { "s" };
        format!("{}{protocol}, {} connection{s}", self.work.what(), self.connections)
    }

    fn id(self) -> String {
        let protocol = match self.protocol {
            Protocol::Extended => "-prepared",
            Protocol::Simple => "",
        };
        format!("{}{protocol}-{}", self.work.id(), self.connections)
    }

    fn rows(self, [ours, theirs, floor]: [Sample; 3]) -> Vec<Row> {
        let (id, label) = (self.id(), self.label());
        let latency = |name: &str, figure: fn(&Sample) -> f64| {
            Row::new(format!("{id}-{name}"), format!("{name} of: {label}"), "us")
                .ours(figure(&ours))
                .peer(NAME, figure(&theirs))
                .floor(figure(&floor))
        };
        let rate = Row::new(format!("{id}-rate"), format!("rate of: {label}"), "operations/s")
            .ours(ours.rate)
            .peer(NAME, theirs.rate)
            .floor(floor.rate);
        let [p50, p99] = [latency("p50", |s| s.p50_us), latency("p99", |s| s.p99_us)];
        match self.connections {
            FEW => {
                let (times, words) = self.work.goal();
                let goal = Target::TimesPeer(times);
                let over = Row::new(
                    format!("{id}-over-floor"),
                    format!("p50 over that of the floor: {label}"),
                    "ratio",
                )
                .ours(ours.p50_us / floor.p50_us)
                .peer(NAME, theirs.p50_us / floor.p50_us)
                .target("≤ 1.15", Target::AtMost(1.15));
                vec![p50.target(words, goal), p99.target(words, goal), over, rate]
            }
            _ => match self.work.goal_of_many().filter(|_| self.connections == MANY) {
                Some((times, words)) => vec![p99, rate.target(words, Target::TimesPeer(times))],
                None => vec![p99, rate],
            },
        }
    }
}

/// Runs the suite.
pub fn run(context: &Context) -> Result<Vec<Row>> {
    context.step("starting both servers");
    let postgres = Postgres::start_listening(&context.cache, &context.work)?;
    let server = Server::start(&context.work.join("anywhen"))?;
    let mut theirs = Side::prepare("PostgreSQL", postgres.address()?)?;
    let mut ours = Side::prepare("Anywhen", server.address())?;
    let floor = floor_server(&context.work)?;
    let mut idle: Vec<FloorWire> =
        (0..MANY).map(|_| FloorWire::connect(floor)).collect::<Result<_>>()?;

    let mut cases = Vec::new();
    let both = [Protocol::Simple, Protocol::Extended];
    for work in WORKS {
        for protocol in &both[..if work.round_trips() == 1 { 2 } else { 1 }] {
            cases.push(Case { work, protocol: *protocol, connections: FEW });
        }
    }
    for connections in [1, MANY] {
        cases.extend(WORKS.map(|work| Case { work, protocol: Protocol::Simple, connections }));
    }

    let mut rows = Vec::new();
    for case in cases {
        context.step(case.label());
        let operations = context.count(8_000, 400) / if case.work.is_commit() { 2 } else { 1 };
        let repeat = (operations / case.connections).max(10) as u32;
        let mut samples = [const { Vec::new() }; 3];
        for round in 0..context.count(6, 2) {
            for turn in 0..3 {
                let who = (round + turn) % 3;
                let sample = match who {
                    0 => ours.slice(case, repeat)?,
                    1 => theirs.slice(case, repeat)?,
                    _ => slice(&mut idle[..case.connections], repeat, |wire| {
                        wire.operate(case.work)
                    })?,
                };
                // The first round warms everybody up.
                if round > 0 {
                    samples[who].push(sample);
                }
            }
        }
        rows.extend(case.rows(samples.map(|samples| Sample::median(&samples))));
    }
    drop((ours.connections, theirs.connections));
    rows.extend(bulk::then_and_now(context, server.address())?);
    rows.extend(bulk::copy(context, server.address(), postgres.address()?)?);
    rows.extend(pgbench::rows(context, server.address(), postgres.address()?)?);
    Ok(rows)
}

/// A connection to the floor.
struct FloorWire {
    stream: TcpStream,
}

/// Bytes of a request and of an answer: about what the real ones have.
const FLOOR_BYTES: usize = 64;

impl FloorWire {
    fn connect(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(FloorWire { stream })
    }

    fn operate(&mut self, work: Work) -> Result<()> {
        for trip in 1..=work.round_trips() {
            let mut bytes = [0; FLOOR_BYTES];
            bytes[0] = u8::from(work.is_commit() && trip == work.round_trips());
            self.stream.write_all(&bytes)?;
            self.stream.read_exact(&mut bytes)?;
        }
        Ok(())
    }
}

/// Starts the server that does nothing but sync the disk; it ends with the process.
fn floor_server(work: &Path) -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let floor = Arc::new(SharedFloor::create(work)?);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let floor = Arc::clone(&floor);
            std::thread::spawn(move || -> Result<()> {
                let mut stream = stream;
                stream.set_nodelay(true)?;
                let mut bytes = [0; FLOOR_BYTES];
                while stream.read_exact(&mut bytes).is_ok() {
                    if bytes[0] == 1 {
                        floor.commit()?;
                    }
                    stream.write_all(&bytes)?;
                }
                Ok(())
            });
        }
    });
    Ok(address)
}
