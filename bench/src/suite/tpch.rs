//! The 22 queries of TPC-H, in tables of rows beside PostgreSQL and in tables of columns beside DuckDB.
//!
//! ```text
//!  scale 0.3   tpchgen-cli ──> csv ──COPY──> Anywhen, PostgreSQL     primary keys, indexes on foreign keys; one thread
//!  scale 1     tpchgen-cli ──> csv ──COPY──> Anywhen USING columnar  primary keys; one thread, and two
//!                                  ──COPY──> DuckDB                  columns of its own, in a file; likewise
//!
//!  each query: once to warm up, then some times (in turns with PostgreSQL); the median; the answers are compared
//! ```
//! All servers get the same statements: the simple protocol, `work_mem` of 256 MB, caches of 1 GB.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use postgres::Client;
use serde::Deserialize;

use super::{Context, in_words, must_agree, must_equal, set_threads, take_turns};
use crate::Result;
use crate::ours::Server;
use crate::peer::DUCKDB;
use crate::peer::driver::{Answer, answer, connect, timed_ms};
use crate::peer::postgres::{NAME, Postgres};
use crate::report::{Row, Target, median};

const TABLES: [&str; 8] =
    ["region", "nation", "part", "supplier", "partsupp", "customer", "orders", "lineitem"];
/// The queries, with what the specification calls them.
const QUERIES: [(&str, &str); 22] = [
    ("q01", "pricing summary report"),
    ("q02", "minimum cost supplier"),
    ("q03", "shipping priority"),
    ("q04", "order priority checking"),
    ("q05", "local supplier volume"),
    ("q06", "forecasting revenue change"),
    ("q07", "volume shipping"),
    ("q08", "national market share"),
    ("q09", "product type profit measure"),
    ("q10", "returned item reporting"),
    ("q11", "important stock identification"),
    ("q12", "shipping modes and order priority"),
    ("q13", "customer distribution"),
    ("q14", "promotion effect"),
    ("q15", "top supplier"),
    ("q16", "parts/supplier relationship"),
    ("q17", "small-quantity-order revenue"),
    ("q18", "large volume customer"),
    ("q19", "discounted revenue"),
    ("q20", "potential part promotion"),
    ("q21", "suppliers who kept orders waiting"),
    ("q22", "global sales opportunity"),
];
const WORK_MEM: &str = "256MB";
/// Our server's cache; that of PostgreSQL has 1 GB too.
const CACHE_MIB: &str = "1024";

/// How many threads the queries of tables of columns have.
const THREADS: [u32; 2] = [1, 2];

/// DuckDB's answers and times.
#[derive(Deserialize)]
struct OfDuckdb {
    /// For each query.
    answers: Vec<Answer>,
    /// Milliseconds for each query, by the number of threads.
    ms: BTreeMap<u32, Vec<f64>>,
}

impl OfDuckdb {
    /// The milliseconds of each query on so many threads.
    fn of_threads(&self, threads: u32) -> Result<&[f64]> {
        let ms = self.ms.get(&threads).filter(|ms| ms.len() == QUERIES.len());
        Ok(ms.ok_or_else(|| format!("DuckDB was not measured on {threads} threads"))?)
    }
}

/// Runs the suite.
pub fn run(context: &Context) -> Result<Vec<Row>> {
    let rounds = context.count(5, 1);
    let queries = queries()?;
    let mut rows = Vec::new();
    in_rows(context, &queries, rounds, &mut rows)?;
    in_columns(context, &queries, rounds, &mut rows)?;
    Ok(rows)
}

/// The queries in tables of rows, beside PostgreSQL, on one thread.
fn in_rows(context: &Context, queries: &[String], rounds: u32, rows: &mut Vec<Row>) -> Result<()> {
    let data = generate(context, context.count("0.3", "0.01"), "csv")?;
    let folder = context.work.join("ours");
    let server = Server::start_with(&folder, &["--cache-mib", CACHE_MIB])?;
    let mut ours = connect(server.address())?;
    let postgres = Postgres::start(&context.cache, &context.work)?;
    let mut theirs = postgres.connect()?;
    for (whose, client) in [("Anywhen", &mut ours), ("PostgreSQL", &mut theirs)] {
        load(context, whose, client, &data, &fs::read_to_string(home().join("indexes.sql"))?)?;
        client.batch_execute(&format!("SET work_mem = '{WORK_MEM}'; {}", set_threads(1)))?;
    }
    let duckdb = duckdb(context, &data, rounds, &[1])?;
    let duckdb_ms = duckdb.of_threads(1)?;
    fs::remove_dir_all(&data)?;
    let (mut logarithms, mut sum) = (0.0, (0.0, 0.0));
    for (at, ((id, what), sql)) in QUERIES.iter().zip(queries).enumerate() {
        context.step(format!("{id}: {what}"));
        if answer(&mut ours, sql)? != answer(&mut theirs, sql)? {
            return Err(format!("{id}: the servers answer differently").into());
        }
        let mut of_ours = || timed_ms(&mut ours, sql);
        let mut of_theirs = || timed_ms(&mut theirs, sql);
        let samples = take_turns(rounds, &mut [&mut of_ours, &mut of_theirs])?;
        let (mine, other) = (median(&samples[0]), median(&samples[1]));
        logarithms += (mine / other).ln();
        sum = (sum.0 + mine, sum.1 + other);
        let row = Row::new(*id, format!("Q{}: {what}", at + 1), "ms")
            .ours(mine)
            .peer(NAME, other)
            .peer(DUCKDB, duckdb_ms[at]);
        rows.push(row.target("≤ 2 × PostgreSQL", Target::TimesPeer(0.5)));
    }
    let mean = (logarithms / QUERIES.len() as f64).exp();
    let what = "geometric mean of the 22: our time by that of PostgreSQL";
    rows.push(Row::new("mean", what, "ratio").ours(mean).target("≤ 1", Target::AtMost(1.0)));
    let row = Row::new("sum", "the 22, one after the other", "ms").ours(sum.0).peer(NAME, sum.1);
    rows.push(row.target("≤ PostgreSQL / 3", Target::TimesPeer(3.0)));
    Ok(())
}

/// The queries in tables of columns of a larger scale, beside DuckDB.
fn in_columns(
    context: &Context,
    queries: &[String],
    rounds: u32,
    rows: &mut Vec<Row>,
) -> Result<()> {
    let data = generate(context, context.count("1", "0.01"), "csv-columns")?;
    let duckdb = duckdb(context, &data, rounds, &THREADS)?;
    let folder = context.work.join("columns");
    let server = Server::start_with(&folder, &["--cache-mib", CACHE_MIB])?;
    let mut ours = connect(server.address())?;
    ours.batch_execute("SET default_table_access_method = 'columnar'")?;
    load(context, "Anywhen in columns", &mut ours, &data, "")?;
    fs::remove_dir_all(&data)?;
    ours.batch_execute(&format!("SET work_mem = '{WORK_MEM}'"))?;
    let mut answers = Vec::new();
    for threads in THREADS {
        let (on, ending) = in_words(threads);
        let duckdb_ms = duckdb.of_threads(threads)?;
        ours.batch_execute(&set_threads(threads))?;
        let mut logarithms = 0.0;
        for (at, ((id, what), sql)) in QUERIES.iter().zip(queries).enumerate() {
            context.step(format!("{id} in columns, {on}"));
            let found = answer(&mut ours, sql)?;
            match answers.get(at) {
                None => {
                    let expected = duckdb.answers.get(at).ok_or("DuckDB has not answered")?;
                    must_agree(&format!("{id} in columns, ours and DuckDB's"), &found, expected)?;
                    answers.push(found);
                }
                Some(on_one) => must_equal(&format!("{id} in columns, {on}"), &found, on_one)?,
            }
            let samples = take_turns(rounds, &mut [&mut || timed_ms(&mut ours, sql)])?;
            let mine = median(&samples[0]);
            logarithms += (mine / duckdb_ms[at]).ln();
            let what = format!("Q{} in columns, {on}: {what}", at + 1);
            let row = Row::new(format!("{id}-columns{ending}"), what, "ms");
            let row = row.ours(mine).peer(DUCKDB, duckdb_ms[at]);
            rows.push(row.target("≤ 2.5 × DuckDB", Target::AtMost(2.5 * duckdb_ms[at])));
        }
        let mean = (logarithms / QUERIES.len() as f64).exp();
        let what = format!("geometric mean of the 22 in columns, {on}: our time by that of DuckDB");
        let row = Row::new(format!("mean-columns{ending}"), what, "ratio").ours(mean);
        rows.push(row.target("≤ 1.2", Target::AtMost(1.2)));
    }
    Ok(())
}

fn home() -> PathBuf {
    crate::home().join("tpch")
}

fn queries() -> Result<Vec<String>> {
    let read = |(id, _): &(&str, &str)| Ok(fs::read_to_string(home().join(format!("{id}.sql")))?);
    QUERIES.iter().map(read).collect()
}

/// Makes the data in a folder of the work folder, whose path it returns.
fn generate(context: &Context, scale: &str, name: &str) -> Result<PathBuf> {
    context.step(format!("making the data of scale {scale}"));
    let folder = context.work.join(name);
    let program = context.cache.join("python/bin/tpchgen-cli");
    let made = Command::new(&program)
        .args(["csv", "--scale-factor", scale, "--output-dir"])
        .arg(&folder)
        .env("PYTHONPATH", context.cache.join("python"))
        .output()
        .map_err(|error| format!("{}: {error}; bench/run fetches it", program.display()))?;
    match made.status.success() {
        true => Ok(folder),
        false => Err(String::from_utf8_lossy(&made.stderr).into_owned().into()),
    }
}

fn load(
    context: &Context,
    whose: &str,
    client: &mut Client,
    data: &Path,
    indexes: &str,
) -> Result<()> {
    client.batch_execute(&fs::read_to_string(home().join("schema.sql"))?)?;
    for table in TABLES {
        context.step(format!("{whose}: loading {table}"));
        let mut file = BufReader::new(fs::File::open(data.join(format!("{table}.csv")))?);
        let mut copy = client.copy_in(&format!("COPY {table} FROM STDIN (FORMAT csv, HEADER)"))?;
        let mut bytes = vec![0; 1 << 16];
        loop {
            let count = file.read(&mut bytes)?;
            if count == 0 {
                break;
            }
            copy.write_all(&bytes[..count])?;
        }
        copy.finish()?;
    }
    context.step(format!("{whose}: making indexes"));
    client.batch_execute(indexes)?;
    client.simple_query("VACUUM ANALYZE")?;
    client.simple_query("CHECKPOINT")?;
    Ok(())
}

/// DuckDB's answers and times on each of these numbers of threads, in a process of its own.
fn duckdb(context: &Context, data: &Path, rounds: u32, threads: &[u32]) -> Result<OfDuckdb> {
    context.step("DuckDB");
    let database = context.work.join("duckdb.db");
    let threads: Vec<String> = threads.iter().map(u32::to_string).collect();
    let ran = Command::new("python3")
        .arg(home().join("duckdb_peer.py"))
        .args([home().as_path(), data, &database])
        .args([&rounds.to_string(), &threads.join(",")])
        .env("PYTHONPATH", context.cache.join("python"))
        .output()?;
    if !ran.status.success() {
        return Err(format!("DuckDB: {}", String::from_utf8_lossy(&ran.stderr)).into());
    }
    fs::remove_file(&database)?;
    Ok(serde_json::from_slice(&ran.stdout)?)
}
