//! Ten questions over 1,000,000 events in a table of columns, one thread, beside PostgreSQL's heap and three engines
//! that keep columns.
//!
//! ```text
//!  events ──> csv ──COPY──> Anywhen USING columnar, PostgreSQL with its indexes
//!                 ──read──> DuckDB (JSON as text, as VARIANT, as STRUCT), Hyper, ClickHouse: one process each
//!
//!  each query: once to warm up, then some times; the median; the answers of both servers are compared
//!  the same queries of a heap with a columnar index
//!  then 10 % of the rows are changed and 1 % deleted, and ours answers again after a checkpoint, now and as of before
//! ```

use std::fs;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use postgres::Client;
use serde::Deserialize;

use super::Context;
use crate::Result;
use crate::ours::Server;
use crate::peer::driver::{answer, connect, timed_ms};
use crate::peer::postgres::{NAME, Postgres};
use crate::report::{Row, Target, median};

/// What the queries ask.
const QUERIES: [&str; 10] = [
    "count",
    "sums and means of a numeric and a float",
    "group by country, mean of a real",
    "group by type, with a percentile",
    "one month, group by day",
    "jsonb @> object",
    "group by a key of jsonb",
    "array @> element",
    "LIKE with a prefix",
    "group by two columns, eight aggregates, count(DISTINCT)",
];
const ENGINES: [&str; 5] =
    ["duckdb-json", "duckdb-variant", "duckdb-struct", "hyper", "clickhouse"];
const THREADS: &str = "1";
/// The cache of both servers.
const CACHE_MIB: &str = "1024";

/// What a process that runs another engine has measured.
#[derive(Deserialize)]
struct Measured {
    load_s: f64,
    bytes: u64,
    ms: Vec<Option<f64>>,
}

/// Runs the suite.
pub fn run(context: &Context) -> Result<Vec<Row>> {
    let count: u64 = context.count(1_000_000, 20_000);
    let rounds = context.count(7, 1);
    let queries = queries()?;
    context.step(format!("making {count} events"));
    let data = context.work.join("event.csv");
    write_events(&data, count)?;
    let mut engines = Vec::new();
    for engine in ENGINES {
        context.step(engine);
        engines.push((engine, measure(context, engine, &data, rounds)?));
    }
    let folder = context.work.join("ours");
    let server = Server::start_with(&folder, &["--cache-mib", CACHE_MIB])?;
    let mut ours = connect(server.address())?;
    let postgres = Postgres::start(&context.cache, &context.work)?;
    let mut theirs = postgres.connect()?;
    theirs.batch_execute(
        "SET max_parallel_workers_per_gather = 0; SET jit = off; SET work_mem = '256MB'",
    )?;
    let schema = fs::read_to_string(home().join("schema.sql"))?;
    ours.batch_execute(&format!("{schema} USING columnar"))?;
    theirs.batch_execute(&schema)?;
    context.step("Anywhen: loading");
    let load_s = load(&mut ours, &data)?;
    context.step("PostgreSQL: loading");
    let theirs_load_s = load(&mut theirs, &data)?;
    context.step("PostgreSQL: making indexes");
    theirs.batch_execute(&fs::read_to_string(home().join("indexes.sql"))?)?;
    theirs.simple_query("VACUUM ANALYZE event")?;

    let with_engines = |mut row: Row, figure: &dyn Fn(&Measured) -> Option<f64>| {
        for (name, measured) in &engines {
            if let Some(value) = figure(measured) {
                row = row.peer(name, value);
            }
        }
        row
    };
    let best = |at: usize| {
        let of = |(_, measured): &(&str, Measured)| measured.ms.get(at).copied().flatten();
        engines.iter().filter_map(of).min_by(f64::total_cmp)
    };
    let mut rows = Vec::new();
    let row = Row::new("load", format!("load {count} rows from CSV, durably"), "s");
    let hyper_s = engines.iter().find(|(name, _)| *name == "hyper").map(|(_, found)| found.load_s);
    let row = with_engines(row.ours(load_s).peer(NAME, theirs_load_s), &|found| Some(found.load_s));
    rows.push(row.target("≤ Hyper", Target::AtMost(hyper_s.unwrap_or(f64::NAN))));
    let row = Row::new("size", "bytes of the table", "bytes").ours(size(&mut ours)?);
    let row = row.peer(NAME, size(&mut theirs)?);
    let row = with_engines(row, &|found| Some(found.bytes as f64));
    rows.push(row.target("≤ 50 MB", Target::AtMost(50e6)));
    let mut medians = Vec::new();
    for (at, (what, sql)) in QUERIES.iter().zip(&queries).enumerate() {
        context.step(format!("Q{}: {what}", at + 1));
        must_agree(at, &answer(&mut ours, sql)?, &answer(&mut theirs, sql)?)?;
        // One after the other, as the engines that are asked in their process: nobody's caches are emptied.
        let mine = median_ms(&mut ours, sql, rounds)?;
        let other = median_ms(&mut theirs, sql, rounds)?;
        medians.push(mine);
        let row = Row::new(format!("q{}", at + 1), format!("Q{}: {what}", at + 1), "ms");
        let row = row.ours(mine).peer(NAME, other);
        let row = with_engines(row, &|found| found.ms.get(at).copied().flatten());
        let limit = best(at).unwrap_or(f64::NAN) * 0.7;
        rows.push(match at {
            0 => row.target("≤ 0.5 ms", Target::AtMost(0.5)),
            _ => row.target(
                "≤ 0.7 × the best engine, ≤ PostgreSQL / 10",
                Target::AtMost(limit.min(other / 10.0)),
            ),
        });
    }
    by_index(context, &mut ours, &queries, &medians, rounds, &mut rows)?;
    after_changes(context, &mut ours, &queries, &medians, rounds, &mut rows)?;
    Ok(rows)
}

/// The columns that the queries name.
const INDEXED: &str = "event_date, user_id, amount, price, quantity, duration_ms, score, country_code, browser, url, \
                       is_mobile, event_type, metadata, tags";

/// The same queries of a heap with a columnar index.
fn by_index(
    context: &Context,
    ours: &mut Client,
    queries: &[String],
    of_columns: &[f64],
    rounds: u32,
    rows: &mut Vec<Row>,
) -> Result<()> {
    context.step("a heap with a columnar index");
    let schema = fs::read_to_string(home().join("schema.sql"))?;
    ours.batch_execute(&schema.replacen("event", "event_heap", 1))?;
    ours.batch_execute("INSERT INTO event_heap SELECT * FROM event")?;
    let start = Instant::now();
    ours.batch_execute(&format!(
        "CREATE INDEX event_columns ON event_heap USING columnar ({INDEXED})"
    ))?;
    let made_s = start.elapsed().as_secs_f64();
    ours.simple_query("CHECKPOINT")?;
    rows.push(Row::new("index", "make a columnar index of a heap", "s").ours(made_s));
    for (at, sql) in queries.iter().enumerate() {
        context.step(format!("Q{} of the heap", at + 1));
        let of_heap = sql.replace("FROM event", "FROM event_heap");
        must_agree(at, &answer(ours, &of_heap)?, &answer(ours, sql)?)?;
        let mine = median_ms(ours, &of_heap, rounds.min(3))?;
        let what = format!("Q{} of a heap by its columnar index", at + 1);
        let row = Row::new(format!("q{}-index", at + 1), what, "ms").ours(mine);
        let limit = of_columns[at] * 1.3;
        rows.push(row.target("≤ 1.3 × the table in columns", Target::AtMost(limit)));
    }
    ours.batch_execute("DROP TABLE event_heap")?;
    Ok(())
}

/// The same queries after changes of many rows, and as of before these.
fn after_changes(
    context: &Context,
    ours: &mut Client,
    queries: &[String],
    before: &[f64],
    rounds: u32,
    rows: &mut Vec<Row>,
) -> Result<()> {
    context.step("changing rows");
    let moment = answer(ours, "SELECT clock_timestamp()")?;
    let moment = moment.first().and_then(|row| row.first().cloned().flatten()).unwrap_or_default();
    let start = Instant::now();
    ours.batch_execute(
        "UPDATE event SET quantity = quantity + 1, amount = amount + 1 WHERE id % 10 = 3",
    )?;
    let updated_s = start.elapsed().as_secs_f64();
    ours.batch_execute("DELETE FROM event WHERE id % 100 = 7")?;
    ours.simple_query("CHECKPOINT")?;
    rows.push(Row::new("update", "change a tenth of the rows", "s").ours(updated_s));
    let past: Vec<String> = queries
        .iter()
        .map(|sql| {
            sql.replace("FROM event", &format!("FROM event FOR SYSTEM_TIME AS OF '{moment}'"))
        })
        .collect();
    for (id, when, queries) in
        [("changed", "after changes", queries), ("as-of", "as of before them", &past)]
    {
        for (at, sql) in queries.iter().enumerate() {
            context.step(format!("Q{} {when}", at + 1));
            answer(ours, sql)?;
            let mine = median_ms(ours, sql, rounds.min(3))?;
            let row = Row::new(format!("q{}-{id}", at + 1), format!("Q{} {when}", at + 1), "ms");
            let limit = before[at] * 1.3;
            rows.push(row.ours(mine).target("≤ 1.3 × before", Target::AtMost(limit)));
        }
    }
    Ok(())
}

/// The median of the milliseconds that a query takes.
fn median_ms(client: &mut Client, sql: &str, rounds: u32) -> Result<f64> {
    let samples = (0..rounds).map(|_| timed_ms(client, sql)).collect::<Result<Vec<f64>>>()?;
    Ok(median(&samples))
}

fn home() -> PathBuf {
    crate::home().join("analytics")
}

fn queries() -> Result<Vec<String>> {
    let text = fs::read_to_string(home().join("queries.sql"))?;
    let all = text.split(';').map(str::trim).filter(|sql| !sql.is_empty());
    Ok(all.map(str::to_owned).collect())
}

/// The same numbers in each run (splitmix64).
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let bits = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number from 0 to 1.
    fn part(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Writes events in the order of their times.
fn write_events(path: &Path, count: u64) -> Result<()> {
    let pick = |of: &[&'static str], g: u64| of[(g % of.len() as u64) as usize];
    let mut out = BufWriter::new(fs::File::create(path)?);
    let mut random = Random(7);
    writeln!(
        out,
        "id,created_at,event_date,user_id,session_id,amount,price,quantity,duration_ms,score,country_code,browser,\
         url,is_mobile,event_type,metadata,tags"
    )?;
    for g in 1..=count {
        let (day, second) = (g / 2_880, g * 30 % 86_400);
        let date = date_after(day);
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        let session = format!("{:016x}{:016x}", random.bits(), random.bits());
        let amount = random.bits() % 99_999_901;
        let (price, duration) = (random.part() * 999.99, random.bits() % 30_000 + 50);
        let (score, revenue) = (random.part() as f32, random.bits() % 50_001);
        let country = pick(&["BR", "US", "DE", "FR", "IN", "GB", "JP", "CN", "RU", "CA"], g);
        let browser = pick(&["Chrome", "Firefox", "Safari", "Edge", "Opera", "Samsung"], g);
        let event = pick(&["click", "pageview", "purchase", "signup", "search", "logout"], g);
        let os = pick(&["android", "ios", "windows", "macos", "linux"], g);
        let app = pick(&["mobile", "web", "desktop", "tv"], g);
        let campaign = pick(&["summer", "black_friday", "organic", "referral", "email"], g);
        let group = pick(&["A", "B", "C"], g);
        writeln!(
            out,
            "{g},{date} {hour:02}:{minute:02}:{second:02}+00,{date},{user},{session},{}.{:04},{price},{quantity},\
             {duration},{score},{country},{browser},/page/{page},{mobile},{event},\"{{\"\"os\"\": \"\"{os}\"\", \
             \"\"version\"\": \"\"{version}\"\", \"\"app\"\": \"\"{app}\"\", \"\"campaign\"\": \"\"{campaign}\"\", \
             \"\"revenue\"\": {}.{:02}, \"\"ab_group\"\": \"\"{group}\"\", \"\"premium\"\": {premium}}}\",\
             \"{{tag_{tag},cat_{category}}}\"",
            amount / 10_000,
            amount % 10_000,
            revenue / 100,
            revenue % 100,
            user = g % 50_000 + 1,
            quantity = g % 100 + 1,
            page = g % 5_000,
            mobile = g % 3 != 0,
            version = 12 + g % 8,
            premium = g % 7 == 0,
            tag = g % 20,
            category = g % 8,
        )?;
    }
    Ok(out.flush()?)
}

/// The day so many days after 2024-01-01, up to the end of 2025.
fn date_after(days: u64) -> String {
    let (year, mut day) = if days < 366 { (2_024, days) } else { (2_025, days - 366) };
    let february = if year == 2_024 { 29 } else { 28 };
    for (month, length) in (1..).zip([31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]) {
        if day < length {
            return format!("{year}-{month:02}-{:02}", day + 1);
        }
        day -= length;
    }
    format!("{year}-12-31")
}

/// What another engine measures, in a process of its own.
fn measure(context: &Context, engine: &str, data: &Path, rounds: u32) -> Result<Measured> {
    let ran = Command::new("python3")
        .arg(home().join("peers.py"))
        .args([engine.as_ref(), data, context.work.as_path()])
        .args([&rounds.to_string(), THREADS])
        .env("PYTHONPATH", context.cache.join("python"))
        .output()?;
    if !ran.status.success() {
        return Err(format!("{engine}: {}", String::from_utf8_lossy(&ran.stderr)).into());
    }
    Ok(serde_json::from_slice(&ran.stdout)?)
}

/// Loads the events, and gives the seconds it took until all was durable.
fn load(client: &mut Client, data: &Path) -> Result<f64> {
    let start = Instant::now();
    let mut file = BufReader::new(fs::File::open(data)?);
    let mut copy = client.copy_in("COPY event FROM STDIN (FORMAT csv, HEADER)")?;
    let mut bytes = vec![0; 1 << 16];
    loop {
        let count = file.read(&mut bytes)?;
        if count == 0 {
            break;
        }
        copy.write_all(&bytes[..count])?;
    }
    copy.finish()?;
    client.simple_query("CHECKPOINT")?;
    Ok(start.elapsed().as_secs_f64())
}

fn size(client: &mut Client) -> Result<f64> {
    let rows = answer(client, "SELECT pg_table_size('event')")?;
    let bytes = rows.first().and_then(|row| row.first()?.as_deref());
    Ok(bytes.unwrap_or_default().parse()?)
}

/// Fails the run where two answers differ, beyond the last digits of floating point numbers.
fn must_agree(
    at: usize,
    ours: &[Vec<Option<String>>],
    theirs: &[Vec<Option<String>>],
) -> Result<()> {
    const NEAR: f64 = 1e-9;
    let is_same = |(one, other): (&Option<String>, &Option<String>)| match (one, other) {
        (Some(one), Some(other)) if one != other => {
            match (one.parse::<f64>(), other.parse::<f64>()) {
                (Ok(one), Ok(other)) => (one - other).abs() <= NEAR * one.abs().max(1.0),
                _ => false,
            }
        }
        (one, other) => one == other,
    };
    let are_same = |(one, other): (&Vec<Option<String>>, &Vec<Option<String>>)| {
        one.len() == other.len() && one.iter().zip(other).all(is_same)
    };
    if ours.len() == theirs.len() && ours.iter().zip(theirs).all(are_same) {
        return Ok(());
    }
    Err(format!("Q{}: the servers answer differently:\n{ours:?}\n{theirs:?}", at + 1).into())
}
