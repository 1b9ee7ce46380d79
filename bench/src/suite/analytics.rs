//! Ten questions over events in a table of columns, on one thread and on two, beside PostgreSQL's heap and three
//! engines that keep columns.
//!
//! ```text
//!  events ──> csv ──COPY──> Anywhen USING columnar; PostgreSQL with its indexes
//!                 ──read──> DuckDB (JSON as text, as VARIANT, as STRUCT), Hyper, ClickHouse: one process each
//!
//!  each query: once to warm up, then some times; the median; the answers of both servers are compared
//!  the same queries of a heap with a columnar index
//!  then 10 % of the rows are changed and 1 % deleted, and ours answers again after a checkpoint, now and as of before
//!
//!  analytics      1,000,000 events, all of this
//!  analytics-10m  10,000,000 events, without PostgreSQL, an index, changes, and with one form of DuckDB's
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use postgres::Client;
use serde::Deserialize;

use super::{Context, in_words, must_agree, set_threads};
use crate::Result;
use crate::ours::Server;
use crate::peer::driver::{Answer, answer, connect, timed_ms};
use crate::peer::postgres::{NAME, Postgres};
use crate::report::{Row, Target, median};

/// The queries, in words.
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
/// How many threads the queries have.
const THREADS: [u32; 2] = [1, 2];
/// The cache of both servers.
const CACHE_MIB: &str = "1024";

/// The differences between the suites of these questions.
struct Shape {
    /// How many events.
    count: u64,
    /// The time from each event to the next: all are within the same year.
    seconds_apart: u64,
    engines: &'static [&'static str],
    /// The most that the table may take: in words, and bytes.
    size_max: (&'static str, f64),
    /// Whether PostgreSQL is asked too.
    with_postgres: bool,
    /// Whether a heap with a columnar index, and the table after changes, are asked too.
    with_changes: bool,
}

/// The measurements of a process that runs another engine.
#[derive(Deserialize)]
struct Measured {
    load_s: f64,
    bytes: u64,
    /// Of each query, by the number of threads; empty where the engine has no types for it.
    ms: BTreeMap<u32, Vec<Option<f64>>>,
}

impl Measured {
    /// The milliseconds of a query on so many threads.
    fn of_query(&self, at: usize, threads: u32) -> Option<f64> {
        self.ms.get(&threads)?.get(at).copied().flatten()
    }
}

/// The other engines, each with what it measured.
struct Engines(Vec<(&'static str, Measured)>);

impl Engines {
    /// Adds a figure of each to a row.
    fn add(&self, mut row: Row, figure: impl Fn(&Measured) -> Option<f64>) -> Row {
        for (name, measured) in &self.0 {
            if let Some(value) = figure(measured) {
                row = row.peer(name, value);
            }
        }
        row
    }

    /// The milliseconds of the fastest for a query.
    fn best(&self, at: usize, threads: u32) -> Option<f64> {
        let of = |(_, measured): &(_, Measured)| measured.of_query(at, threads);
        self.0.iter().filter_map(of).min_by(f64::total_cmp)
    }

    /// The seconds that Hyper takes to load the events; not a number where it was not measured.
    fn hyper_load_s(&self) -> f64 {
        let hyper = self.0.iter().find(|(name, _)| *name == "hyper");
        hyper.map_or(f64::NAN, |(_, found)| found.load_s)
    }
}

/// PostgreSQL with the events, and what it took to load them.
struct Theirs {
    client: Client,
    load_s: f64,
    _server: Postgres,
}

/// Runs the suite of 1,000,000 events.
pub fn run(context: &Context) -> Result<Vec<Row>> {
    let shape = Shape {
        count: context.count(1_000_000, 20_000),
        seconds_apart: 30,
        engines: &["duckdb-json", "duckdb-variant", "duckdb-struct", "hyper", "clickhouse"],
        size_max: ("≤ 50 MB", 50e6),
        with_postgres: true,
        with_changes: true,
    };
    run_shape(context, &shape)
}

/// Runs the suite of 10,000,000 events.
pub fn run_10m(context: &Context) -> Result<Vec<Row>> {
    let shape = Shape {
        count: context.count(10_000_000, 40_000),
        seconds_apart: 3,
        engines: &["duckdb-variant", "hyper", "clickhouse"],
        size_max: ("≤ 500 MB", 500e6),
        with_postgres: false,
        with_changes: false,
    };
    run_shape(context, &shape)
}

fn run_shape(context: &Context, shape: &Shape) -> Result<Vec<Row>> {
    let rounds = context.count(7, 1);
    let queries = queries()?;
    context.step(format!("making {} events", shape.count));
    let data = context.work.join("event.csv");
    write_events(&data, shape)?;
    let mut engines = Engines(Vec::new());
    for &engine in shape.engines {
        context.step(engine);
        engines.0.push((engine, measure(context, engine, &data, rounds)?));
    }
    let folder = context.work.join("ours");
    let server = Server::start_with(&folder, &["--cache-mib", CACHE_MIB])?;
    let mut ours = connect(server.address())?;
    let schema = fs::read_to_string(home().join("schema.sql"))?;
    ours.batch_execute(&format!("{}; {schema} USING columnar", set_threads(1)))?;
    context.step("Anywhen: loading");
    let load_s = load(&mut ours, &data)?;
    let mut theirs = match shape.with_postgres {
        true => Some(load_postgres(context, &schema, &data)?),
        false => None,
    };
    fs::remove_file(&data)?;

    let mut rows = Vec::new();
    let row = Row::new("load", format!("load {} rows from CSV, durably", shape.count), "s");
    let row = with_theirs(row.ours(load_s), theirs.as_ref().map(|theirs| theirs.load_s));
    let row = engines.add(row, |found| Some(found.load_s));
    rows.push(row.target("≤ Hyper", Target::AtMost(engines.hyper_load_s())));
    let row = Row::new("size", "bytes of the table", "bytes").ours(size(&mut ours)?);
    let their_size = theirs.as_mut().map(|theirs| size(&mut theirs.client)).transpose()?;
    let row = engines.add(with_theirs(row, their_size), |found| Some(found.bytes as f64));
    rows.push(row.target(shape.size_max.0, Target::AtMost(shape.size_max.1)));

    let asked = ask(context, &mut ours, theirs.as_mut(), &queries, rounds)?;
    add_questions(&asked, &engines, &mut rows);
    if shape.with_changes {
        let on_one: Vec<f64> = asked[0].ms.iter().map(|(ours, _)| *ours).collect();
        ours.batch_execute(&set_threads(1))?;
        by_index(context, &mut ours, &queries, &on_one, rounds, &mut rows)?;
        after_changes(context, &mut ours, &queries, &on_one, rounds, &mut rows)?;
    }
    Ok(rows)
}

/// Adds PostgreSQL's figure to a row, where there is one.
fn with_theirs(row: Row, figure: Option<f64>) -> Row {
    match figure {
        Some(figure) => row.peer(NAME, figure),
        None => row,
    }
}

/// Starts PostgreSQL and loads the events into a heap with indexes.
fn load_postgres(context: &Context, schema: &str, data: &Path) -> Result<Theirs> {
    let server = Postgres::start(&context.cache, &context.work)?;
    let mut client = server.connect()?;
    client.batch_execute(&format!("{}; SET jit = off; SET work_mem = '256MB'", set_threads(1)))?;
    client.batch_execute(schema)?;
    context.step("PostgreSQL: loading");
    let load_s = load(&mut client, data)?;
    context.step("PostgreSQL: making indexes");
    client.batch_execute(&fs::read_to_string(home().join("indexes.sql"))?)?;
    client.simple_query("VACUUM ANALYZE event")?;
    Ok(Theirs { client, load_s, _server: server })
}

/// The times of all queries on so many threads.
struct QueryTimes {
    threads: u32,
    /// Our milliseconds of each query, and PostgreSQL's.
    ms: Vec<(f64, Option<f64>)>,
}

/// Asks all queries on each number of threads, PostgreSQL on one thread alone.
fn ask(
    context: &Context,
    ours: &mut Client,
    mut theirs: Option<&mut Theirs>,
    queries: &[String],
    rounds: u32,
) -> Result<Vec<QueryTimes>> {
    let mut all = Vec::new();
    let mut answers: Vec<Answer> = Vec::new();
    for threads in THREADS {
        let (on, _) = in_words(threads);
        ours.batch_execute(&set_threads(threads))?;
        let mut ms = Vec::new();
        for (at, (what, sql)) in QUERIES.iter().zip(queries).enumerate() {
            let id = format!("Q{}", at + 1);
            context.step(format!("{id} on {on}: {what}"));
            let found = answer(ours, sql)?;
            let mut of_theirs = None;
            if let Some(on_one) = answers.get(at) {
                must_agree(&format!("{id} on {on} and on one"), &found, on_one)?;
            } else if let Some(theirs) = &mut theirs {
                let expected = answer(&mut theirs.client, sql)?;
                must_agree(&format!("{id}, ours and PostgreSQL's"), &found, &expected)?;
            }
            // One after the other, as the engines that are asked in their process: nobody's caches are emptied.
            let of_ours = median_ms(ours, sql, rounds)?;
            if answers.len() == at {
                answers.push(found);
                if let Some(theirs) = &mut theirs {
                    of_theirs = Some(median_ms(&mut theirs.client, sql, rounds)?);
                }
            }
            ms.push((of_ours, of_theirs));
        }
        all.push(QueryTimes { threads, ms });
    }
    Ok(all)
}

/// Adds the rows of the queries beside those of the engines on as many threads.
fn add_questions(asked: &[QueryTimes], engines: &Engines, rows: &mut Vec<Row>) {
    for QueryTimes { threads, ms } in asked {
        let (on, ending) = in_words(*threads);
        for (at, (what, (ours, theirs))) in QUERIES.iter().zip(ms).enumerate() {
            let on = if *threads == 1 { String::new() } else { format!(" on {on}") };
            let what = format!("Q{}{on}: {what}", at + 1);
            let row = Row::new(format!("q{}{ending}", at + 1), what, "ms");
            let row = with_theirs(row.ours(*ours), *theirs);
            let row = engines.add(row, |found| found.of_query(at, *threads));
            let limit = engines.best(at, *threads).unwrap_or(f64::NAN) * 0.7;
            rows.push(match (at, theirs) {
                (0, _) => row.target("≤ 0.5 ms", Target::AtMost(0.5)),
                (_, Some(theirs)) => row.target(
                    "≤ 0.7 × the best engine, ≤ PostgreSQL / 10",
                    Target::AtMost(limit.min(theirs / 10.0)),
                ),
                (_, None) => row.target("≤ 0.7 × the best engine", Target::AtMost(limit)),
            });
        }
    }
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
        let what = format!("Q{}, by the index and in columns", at + 1);
        must_agree(&what, &answer(ours, &of_heap)?, &answer(ours, sql)?)?;
        let mine = median_ms(ours, &of_heap, rounds)?;
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
            let mine = median_ms(ours, sql, rounds)?;
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
fn write_events(path: &Path, shape: &Shape) -> Result<()> {
    let pick = |of: &[&'static str], g: u64| of[(g % of.len() as u64) as usize];
    let mut out = BufWriter::new(fs::File::create(path)?);
    let mut random = Random(7);
    writeln!(
        out,
        "id,created_at,event_date,user_id,session_id,amount,price,quantity,duration_ms,score,country_code,browser,\
         url,is_mobile,event_type,metadata,tags"
    )?;
    for g in 1..=shape.count {
        let (day, second) = (g * shape.seconds_apart / 86_400, g * shape.seconds_apart % 86_400);
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

/// Another engine's measurements on each number of threads, in a process of its own.
fn measure(context: &Context, engine: &str, data: &Path, rounds: u32) -> Result<Measured> {
    let ran = Command::new("python3")
        .arg(home().join("peers.py"))
        .args([engine.as_ref(), data, context.work.as_path()])
        .args([&rounds.to_string(), &THREADS.map(|threads| threads.to_string()).join(",")])
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
