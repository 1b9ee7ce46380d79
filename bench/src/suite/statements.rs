//! The same history by SQL statements: a table `USING document` beside jsonb with a history trigger.
//!
//! ```text
//!  client ── loopback ── Anywhen      UPDATE doc SET doc = jsonb_set(...)     the row's own past
//!     └──── loopback ── PostgreSQL    the same statement                      a trigger's table
//! ```
//! Both servers run in processes of their own and are spoken to by one client library, with
//! statements prepared once; only the text of the questions about the past differs.
//!
//! Invariants: both sides answer the same versions, sums and lengths before a figure is believed.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::SystemTime;

use postgres::Client;
use postgres::types::ToSql;

use super::{Context, micros_each, must_equal, per_second, race, together, warm_race};
use crate::Result;
use crate::document::{Numbers, SIZES, Size, generate};
use crate::ours::Server;
use crate::peer::driver::connect;
use crate::peer::postgres::{NAME, Postgres, SCHEMA};
use crate::peer::wire::Wire;
use crate::report::{Row, Target, median};

/// Connections that commit at the same time, each to a document of its own.
const WRITERS: i32 = 32;
const UPDATE: &str =
    "UPDATE doc SET doc = jsonb_set(doc, '{counter}', to_jsonb($1::int)) WHERE id = $2";
/// 10 MB by statement would measure the socket.
const MEASURED: usize = 3;
/// How often a question about all versions is asked in a row: once alone would measure how fast the two
/// processes wake up.
const ASKED: u32 = 10;
/// So many statements are sent at a time where the client does not wait for each answer.
const SERIES: usize = 10;

/// The questions about the past, as each side asks them.
struct Words {
    make: &'static str,
    /// Has a planner know what there is.
    analyze: &'static str,
    times: &'static str,
    whole: &'static str,
    list: &'static str,
    always: &'static str,
    never: &'static str,
}

const OURS: Words = Words {
    make: "CREATE TABLE doc (id int PRIMARY KEY, doc jsonb NOT NULL) USING document",
    analyze: "VACUUM ANALYZE doc",
    times: "SELECT committed_at FROM history('doc', '1') ORDER BY version",
    whole: "SELECT doc::text FROM doc FOR SYSTEM_TIME AS OF $1 WHERE id = 1",
    list: "SELECT version, committed_at FROM history('doc', '1')",
    always: "SELECT sum(versions)::bigint, sum(value::bigint)::bigint \
             FROM value_runs('doc', '1', '$.counter')",
    never: "SELECT sum(versions)::bigint, sum(versions * length(value #>> '{}'))::bigint \
            FROM value_runs('doc', '1', '$.s01')",
};

const THEIRS: Words = Words {
    make: SCHEMA,
    analyze: "VACUUM ANALYZE doc_history",
    times: "SELECT valid_from FROM doc_history WHERE id = 1 ORDER BY rev",
    whole: "SELECT doc::text FROM doc_history WHERE id = 1 AND valid_from <= $1 \
            ORDER BY valid_from DESC LIMIT 1",
    list: "SELECT rev, valid_from FROM doc_history WHERE id = 1 ORDER BY valid_from DESC",
    always: "SELECT count(c), sum(c)::bigint FROM \
             (SELECT (doc->>'counter')::bigint AS c FROM doc_history WHERE id = 1) s",
    never: "SELECT count(c), sum(length(c))::bigint FROM \
            (SELECT doc->>'s01' AS c FROM doc_history WHERE id = 1) s",
};

/// Measures W1 to W4 by statement; `postgres` must listen.
pub fn rows(context: &Context, postgres: &Postgres) -> Result<Vec<Row>> {
    let server = Server::start(&context.work.join("statements"))?;
    let addresses = [server.address(), postgres.address()?];
    let mut rows = Vec::new();
    for size in &SIZES[..MEASURED] {
        let updates = context.count(size.updates, (size.updates / 10).max(4));
        one_document(context, addresses, Size { updates, ..*size }, &mut rows)?;
    }
    rows.push(many_documents(context, addresses)?);
    Ok(rows)
}

/// One side of the race.
struct Side {
    address: SocketAddr,
    client: Client,
    words: &'static Words,
    /// Prepared on first use, so that a timed statement is never parsed again.
    prepared: HashMap<&'static str, postgres::Statement>,
}

impl Side {
    /// The tables, new, in a schema of their own, with `documents` first versions.
    fn new(
        address: SocketAddr,
        words: &'static Words,
        document: &str,
        documents: i32,
    ) -> Result<Self> {
        let mut side = Side::connect(address, words)?;
        side.client
            .batch_execute("DROP SCHEMA IF EXISTS statements CASCADE; CREATE SCHEMA statements")?;
        side.client.batch_execute(words.make)?;
        for id in 1..=documents {
            side.client
                .execute("INSERT INTO doc VALUES ($1, $2::text::jsonb)", &[&id, &document])?;
        }
        Ok(side)
    }

    /// A connection whose search path is the schema of the tables.
    fn connect(address: SocketAddr, words: &'static Words) -> Result<Self> {
        let mut client = connect(address)?;
        client.batch_execute("SET search_path = statements")?;
        Ok(Side { address, client, words, prepared: HashMap::new() })
    }

    fn all(
        &mut self,
        sql: &'static str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<postgres::Row>> {
        if !self.prepared.contains_key(sql) {
            self.prepared.insert(sql, self.client.prepare(sql)?);
        }
        Ok(self.client.query(&self.prepared[sql], parameters)?)
    }

    fn update(&mut self, id: i32, counter: u32) -> Result<()> {
        if !self.prepared.contains_key(UPDATE) {
            self.prepared.insert(UPDATE, self.client.prepare(UPDATE)?);
        }
        let count = self.client.execute(&self.prepared[UPDATE], &[&(counter as i32), &id])?;
        must_equal("rows updated", count, 1)
    }

    /// The time of each version, oldest first.
    fn times(&mut self) -> Result<Vec<SystemTime>> {
        Ok(self.all(self.words.times, &[])?.iter().map(|row| row.get(0)).collect())
    }

    /// The length of the document's text at a moment, in bytes.
    fn whole(&mut self, moment: SystemTime) -> Result<usize> {
        let rows = self.all(self.words.whole, &[&moment])?;
        Ok(rows.first().ok_or("no version of that moment")?.get::<_, &str>(0).len())
    }

    /// How many versions the client got.
    fn list(&mut self) -> Result<usize> {
        Ok(self.all(self.words.list, &[])?.len())
    }

    /// A count and a sum over all versions.
    fn field(&mut self, sql: &'static str) -> Result<(i64, i64)> {
        let rows = self.all(sql, &[])?;
        let row = rows.first().ok_or("no sum")?;
        Ok((row.get(0), row.get(1)))
    }
}

/// W1 to W4 on one document of a size.
fn one_document(
    context: &Context,
    [ours, theirs]: [SocketAddr; 2],
    size: Size,
    rows: &mut Vec<Row>,
) -> Result<()> {
    let Size { id, label, updates, .. } = size;
    context.step(format!("W1 by statement, {label}"));
    let document = generate(size.bytes);
    let mut ours = Side::new(ours, &OURS, &document, 1)?;
    let mut theirs = Side::new(theirs, &THEIRS, &document, 1)?;
    let row = |part: &str, what: &str, unit: &str, [ours, theirs]: [Vec<f64>; 2]| {
        Row::new(format!("{part}-sql-{id}"), format!("{what}, {label}"), unit)
            .ours(median(&ours))
            .peer(NAME, median(&theirs))
    };

    let slices = (updates / 4).min(10);
    let slice = updates / slices;
    let write = |side: &mut Side, done: &mut u32| {
        per_second(slice, || {
            (0..slice).try_for_each(|_| {
                *done += 1;
                side.update(1, *done)
            })
        })
    };
    let (mut a, mut b) = (0, 0);
    let rates =
        race(slices, [&mut || write(&mut ours, &mut a), &mut || write(&mut theirs, &mut b)])?;
    rows.push(
        row("w1", "W1 durable commits by UPDATE, one client", "commits/s", rates)
            .target("≥ 1.3 × PostgreSQL", Target::TimesPeer(1.3)),
    );

    let versions = i64::from(slice * slices) + 1;
    let counters = (versions, versions * (versions - 1) / 2);
    for side in [&mut ours, &mut theirs] {
        side.client.batch_execute(side.words.analyze)?;
        must_equal("versions and their sum", side.field(side.words.always)?, counters)?;
    }
    let never = theirs.field(THEIRS.never)?;
    must_equal("a field that never changes", ours.field(OURS.never)?, never)?;

    context.step(format!("W2 by statement, {label}"));
    let reads = context.count([400, 100, 10], [40, 10, 4])
        [usize::from(id != "2k") + usize::from(id == "1m")];
    let mut numbers = Numbers::new(2);
    let revisions: Vec<usize> = (0..reads).map(|_| numbers.below(versions as usize)).collect();
    let bytes = |side: &mut Side, times: &[SystemTime]| -> Result<usize> {
        revisions.iter().map(|&revision| side.whole(times[revision])).sum()
    };
    let (our_times, their_times) = (ours.times()?, theirs.times()?);
    let lengths = (bytes(&mut ours, &our_times)?, bytes(&mut theirs, &their_times)?);
    must_equal("bytes of random versions", lengths.0, lengths.1)?;
    let micros = warm_race(
        context.count(9, 2),
        [&mut || micros_each(reads, || bytes(&mut ours, &our_times).map(drop)), &mut || {
            micros_each(reads, || bytes(&mut theirs, &their_times).map(drop))
        }],
    )?;
    rows.push(
        row("w2", "W2 a random version by a statement, whole", "us", micros)
            .target("≤ ½ × PostgreSQL", Target::TimesPeer(2.0)),
    );
    if id == SIZES[0].id {
        let micros = in_series(context, [&mut ours, &mut theirs], &revisions, lengths.0)?;
        let what = format!("W2 a random version by a statement, whole, {SERIES} sent at a time");
        let mut series =
            row("w2", &what, "us", micros).target("≤ ½ × PostgreSQL", Target::TimesPeer(2.0));
        series.id += "-series";
        rows.push(series);
    }

    context.step(format!("W3 and W4 by statement, {label}"));
    let asked = context.count(ASKED, 1);
    let list = |side: &mut Side| {
        micros_each(asked, || {
            (0..asked)
                .try_for_each(|_| must_equal("versions listed", side.list()? as i64, versions))
        })
    };
    let micros =
        warm_race(context.count(9, 2), [&mut || list(&mut ours), &mut || list(&mut theirs)])?;
    rows.push(
        row("w3", "W3 number and time of every version, to the client", "us", micros)
            .target("≤ PostgreSQL", Target::TimesPeer(1.0)),
    );
    let all = format!("over all {versions} versions");
    for (kind, what, expected) in [
        ("always", format!("W4 a field that always changes {all}"), counters),
        ("never", format!("W4 a field that never changes {all}"), never),
    ] {
        let field = |side: &mut Side| {
            let sql = if kind == "always" { side.words.always } else { side.words.never };
            micros_each(asked, || {
                (0..asked).try_for_each(|_| must_equal("a field's sum", side.field(sql)?, expected))
            })
        };
        let micros =
            warm_race(context.count(9, 2), [&mut || field(&mut ours), &mut || field(&mut theirs)])?;
        let mut row =
            row("w4", &what, "us", micros).target("≤ ⅒ × PostgreSQL", Target::TimesPeer(10.0));
        row.id = format!("{}-{kind}", row.id);
        rows.push(row);
    }
    Ok(())
}

/// W2 where a client sends several statements before it reads the first answer, as drivers do in pipeline
/// mode: what the statements cost, beside the [`Side`]s' round trips. Microseconds a statement.
fn in_series(
    context: &Context,
    sides: [&mut Side; 2],
    revisions: &[usize],
    bytes: usize,
) -> Result<[Vec<f64>; 2]> {
    let mut contenders = Vec::new();
    for side in sides {
        let times = format!("SELECT t::text FROM ({}) AS times (t)", side.words.times);
        let rows = side.client.query(&times, &[])?;
        let times: Vec<String> = revisions.iter().map(|at| rows[*at].get(0)).collect();
        let mut wire = Wire::connect(side.address, "postgres")?;
        wire.simple("SET search_path = statements")?;
        wire.prepare("whole", side.words.whole)?;
        contenders.push((wire, times));
    }
    let ask = |(wire, times): &mut (Wire, Vec<String>)| {
        micros_each(times.len() as u32, || {
            let mut got = 0;
            for series in times.chunks(SERIES) {
                let parameters: Vec<[&str; 1]> = series.iter().map(|time| [&**time]).collect();
                let series: Vec<&[&str]> = parameters.iter().map(|one| &one[..]).collect();
                got += wire.run_series("whole", &series)?.bytes;
            }
            must_equal("bytes of random versions", got, bytes as u64)
        })
    };
    let [mut ours, mut theirs] = <[_; 2]>::try_from(contenders).map_err(|_| "two sides")?;
    warm_race(context.count(9, 2), [&mut || ask(&mut ours), &mut || ask(&mut theirs)])
}

/// W1 on many connections, each with a document of its own.
fn many_documents(context: &Context, addresses: [SocketAddr; 2]) -> Result<Row> {
    context.step("W1 by statement, 32 clients");
    let document = generate(SIZES[0].bytes);
    let each = context.count(250, 25);
    let mut sides = Vec::new();
    for (address, words) in addresses.into_iter().zip([&OURS, &THEIRS]) {
        Side::new(address, words, &document, WRITERS)?;
        sides.push(
            (1..=WRITERS)
                .map(|id| Ok((id, Side::connect(address, words)?, 0)))
                .collect::<Result<Vec<_>>>()?,
        );
    }
    let [mut ours, mut theirs] = <[_; 2]>::try_from(sides).map_err(|_| "two sides")?;
    let write = |(id, side, counter): &mut (i32, Side, u32)| {
        *counter += 1;
        side.update(*id, *counter)
    };
    let rates = warm_race(
        context.count(9, 2),
        [&mut || together(each, &mut ours, write), &mut || together(each, &mut theirs, write)],
    )?;
    Ok(Row::new(
        "w1-sql-32",
        "W1 durable commits by UPDATE, 32 clients on 32 documents",
        "commits/s",
    )
    .ours(median(&rates[0]))
    .peer(NAME, median(&rates[1]))
    .target("≥ 2 × PostgreSQL", Target::TimesPeer(2.0)))
}
