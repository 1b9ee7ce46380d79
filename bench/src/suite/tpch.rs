//! The 22 queries of TPC-H in tables of rows and in tables of columns, one thread each, beside PostgreSQL and DuckDB.
//!
//! ```text
//!  tpchgen-cli ──> csv ──COPY──> Anywhen, PostgreSQL     primary keys, indexes on foreign keys
//!                      ──COPY──> Anywhen USING columnar  primary keys
//!                      ──read──> DuckDB                  columns of its own, in a file
//!
//!  each query: once to warm up, then in turns; the median; the answers of both servers are compared
//! ```
//! Both servers get the same statements: the simple protocol, `work_mem` of 256 MB, caches of 1 GB.

use std::fs;
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use postgres::Client;

use super::{Context, take_turns};
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

/// Runs the suite.
pub fn run(context: &Context) -> Result<Vec<Row>> {
    let scale = context.count("0.3", "0.01");
    let rounds = context.count(5, 1);
    let queries = queries()?;
    let data = generate(context, scale)?;
    let folder = context.work.join("ours");
    let server = Server::start_with(&folder, &["--cache-mib", CACHE_MIB])?;
    let mut ours = connect(server.address())?;
    let postgres = Postgres::start(&context.cache, &context.work)?;
    let mut theirs = postgres.connect()?;
    for (whose, client) in [("Anywhen", &mut ours), ("PostgreSQL", &mut theirs)] {
        load(context, whose, client, &data, &fs::read_to_string(home().join("indexes.sql"))?)?;
        client.batch_execute(&format!("SET work_mem = '{WORK_MEM}'"))?;
    }
    theirs.batch_execute("SET max_parallel_workers_per_gather = 0")?;
    context.step("DuckDB");
    let duckdb = duckdb(context, &data, rounds)?;
    let mut rows = Vec::new();
    let mut logarithms = 0.0;
    let mut answers = Vec::new();
    for (at, ((id, what), sql)) in QUERIES.iter().zip(&queries).enumerate() {
        context.step(format!("{id}: {what}"));
        let (first, second) = (answer(&mut ours, sql)?, answer(&mut theirs, sql)?);
        if first != second {
            return Err(format!("{id}: the servers answer differently").into());
        }
        answers.push(first);
        let mut of_ours = || timed_ms(&mut ours, sql);
        let mut of_theirs = || timed_ms(&mut theirs, sql);
        let samples = take_turns(rounds, &mut [&mut of_ours, &mut of_theirs])?;
        let (mine, other) = (median(&samples[0]), median(&samples[1]));
        logarithms += (mine / other).ln();
        let row = Row::new(*id, format!("Q{}: {what}", at + 1), "ms")
            .ours(mine)
            .peer(NAME, other)
            .peer(DUCKDB, duckdb[at]);
        rows.push(row.target("≤ 2 × PostgreSQL", Target::TimesPeer(0.5)));
    }
    let mean = (logarithms / QUERIES.len() as f64).exp();
    let what = "geometric mean of the 22: our time by that of PostgreSQL";
    rows.push(Row::new("mean", what, "ratio").ours(mean).target("≤ 1", Target::AtMost(1.0)));
    in_columns(context, &mut ours, (&data, &queries), (&answers, &duckdb), rounds, &mut rows)?;
    Ok(rows)
}

/// The same queries in tables of columns.
fn in_columns(
    context: &Context,
    ours: &mut Client,
    (data, queries): (&Path, &[String]),
    (answers, duckdb): (&[Answer], &[f64]),
    rounds: u32,
    rows: &mut Vec<Row>,
) -> Result<()> {
    ours.batch_execute(
        "CREATE SCHEMA columns; SET search_path = columns; \
         SET default_table_access_method = 'columnar'",
    )?;
    load(context, "Anywhen in columns", ours, data, "")?;
    let mut logarithms = 0.0;
    for (at, ((id, what), sql)) in QUERIES.iter().zip(queries).enumerate() {
        context.step(format!("{id} in columns"));
        if answer(ours, sql)? != answers[at] {
            return Err(format!("{id}: rows and columns answer differently").into());
        }
        let samples = take_turns(rounds, &mut [&mut || timed_ms(ours, sql)])?;
        let mine = median(&samples[0]);
        logarithms += (mine / duckdb[at]).ln();
        let id = format!("{id}-columns");
        let row = Row::new(id, format!("Q{} in columns: {what}", at + 1), "ms");
        let row = row.ours(mine).peer(DUCKDB, duckdb[at]);
        rows.push(row.target("≤ 2.5 × DuckDB", Target::AtMost(2.5 * duckdb[at])));
    }
    let mean = (logarithms / QUERIES.len() as f64).exp();
    let what = "geometric mean of the 22 in columns: our time by that of DuckDB";
    let row = Row::new("mean-columns", what, "ratio").ours(mean);
    rows.push(row.target("≤ 1.2", Target::AtMost(1.2)));
    Ok(())
}

fn home() -> PathBuf {
    crate::home().join("tpch")
}

fn queries() -> Result<Vec<String>> {
    let read = |(id, _): &(&str, &str)| Ok(fs::read_to_string(home().join(format!("{id}.sql")))?);
    QUERIES.iter().map(read).collect()
}

/// Makes the data; gives the folder of its files.
fn generate(context: &Context, scale: &str) -> Result<PathBuf> {
    context.step(format!("making the data of scale {scale}"));
    let folder = context.work.join("csv");
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

/// The milliseconds that DuckDB takes for each query.
fn duckdb(context: &Context, data: &Path, rounds: u32) -> Result<Vec<f64>> {
    let ran = Command::new("python3")
        .arg(home().join("duckdb_peer.py"))
        .args([home().as_path(), data, &context.work.join("duckdb.db")])
        .arg(rounds.to_string())
        .env("PYTHONPATH", context.cache.join("python"))
        .output()?;
    if !ran.status.success() {
        return Err(format!("DuckDB: {}", String::from_utf8_lossy(&ran.stderr)).into());
    }
    Ok(serde_json::from_slice(&ran.stdout)?)
}
