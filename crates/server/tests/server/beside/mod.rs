//! Queries beside PostgreSQL: whatever is asked, each access method of ours and PostgreSQL give one answer.
//!
//! ```text
//!               ┌─ heap ─────────┐
//!    question ──┼─ columnar ─────┼── the same rows, the same types of columns, or the same SQLSTATE
//!               ├─ rowcompress ──┤
//!               ├─ one of each   │   tables of different methods in one query
//!               └─ PostgreSQL ───┘   where ANYWHEN_POSTGRES says where a server of version 17 listens
//! ```
//!
//! Rows lie in memory, in files, and partly changed, in 4 kB to 4 MB of `work_mem`. `ANYWHEN_SEED` and
//! `ANYWHEN_TIMES` as ever; a seed is a world of `ANYWHEN_STEPS` questions. `tests/postgres/run` starts a server and
//! runs this beside it.

mod expressions;
mod questions;

use std::net::SocketAddr;

use vfs::{SimRandom, seeds, steps};

use self::expressions::{Dice, MAIN, SECOND, THIRD};
use self::questions::Question;
use crate::wire::{Answer, Wire, message};
use crate::world;

/// How many different answers of one seed are shown.
const SHOWN: usize = 12;
/// The tables of each method: prefix, access method.
const METHODS: [(&str, &str); 3] =
    [("h", ""), ("c", " USING columnar"), ("w", " USING rowcompress")];

/// The answer of a server to a query.
#[derive(Clone, Debug)]
enum Told {
    Rows { names: Vec<String>, types: Vec<i32>, rows: Vec<Vec<Option<String>>> },
    Failed(String, String),
}

/// A session with a server.
struct Peer {
    wire: Wire,
}

impl Peer {
    fn connect(address: SocketAddr, database: &str) -> Peer {
        let mut wire = Wire::open(address);
        wire.begin(&[("user", "postgres"), ("database", database), ("TimeZone", "UTC")]);
        let mut peer = Peer { wire };
        peer.must("SET statement_timeout = '20s'");
        peer
    }

    fn ask(&mut self, text: &str) -> Told {
        self.wire.send(&message(b'Q', &[text.as_bytes(), b"\0"].concat()));
        let (mut columns, mut rows, mut failed) = (Vec::new(), Vec::new(), None);
        for answer in self.wire.until(b'Z') {
            match answer.kind {
                b'T' => columns = columns_of(&answer),
                b'D' => rows.push(values_of(&answer)),
                b'E' => failed = Some((answer.state(), answer.field(b'M').unwrap_or_default())),
                _ => {}
            }
        }
        match failed {
            Some((code, message)) => Told::Failed(code, message),
            None => {
                let (names, types) = columns.into_iter().unzip();
                Told::Rows { names, types, rows }
            }
        }
    }

    fn must(&mut self, text: &str) {
        if let Told::Failed(code, message) = self.ask(text) {
            panic!("{code} {message}: {text:.300}");
        }
    }
}

/// The names and types of a RowDescription.
fn columns_of(answer: &Answer) -> Vec<(String, i32)> {
    let mut rest = &answer.body[2..];
    let mut columns = Vec::new();
    while let Some(end) = rest.iter().position(|byte| *byte == 0) {
        let (name, fields) = (String::from_utf8_lossy(&rest[..end]).into_owned(), &rest[end + 1..]);
        let ty = i32::from_be_bytes(fields[6..10].try_into().expect("four bytes"));
        columns.push((name, ty));
        rest = &fields[18..];
    }
    columns
}

/// The values of a DataRow.
fn values_of(answer: &Answer) -> Vec<Option<String>> {
    let mut rest = &answer.body[2..];
    let mut values = Vec::new();
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let length = i32::from_be_bytes(*length);
        let (value, after) = after.split_at(length.max(0) as usize);
        values.push((length >= 0).then(|| String::from_utf8_lossy(value).into_owned()));
        rest = after;
    }
    values
}

/// A server of ours with the tables of each method, and PostgreSQL with one set of tables.
struct World {
    dice: Dice,
    ours: Peer,
    postgres: Option<Peer>,
    rows: u64,
    /// Whether a transaction with a savepoint is open.
    is_within: bool,
    wrong: Vec<String>,
    asked: u64,
    failed: u64,
}

impl World {
    /// Does the same everywhere; `%` is the prefix of the tables.
    fn everywhere(&mut self, text: &str) {
        for (prefix, _) in METHODS {
            self.ours.must(&named(text, [prefix; 3]));
        }
        if let Some(postgres) = &mut self.postgres {
            postgres.must(&named(text, ["h"; 3]));
        }
    }

    /// Makes the tables; their parameters and indexes, which no answer depends on, are drawn.
    fn create(&mut self) {
        for (suffix, columns) in [("", MAIN), ("s", SECOND), ("t", THIRD)] {
            let columns: Vec<_> =
                columns.iter().map(|(name, ty, _)| format!("{name} {ty}")).collect();
            let columns = columns.join(", ");
            for (prefix, method) in METHODS {
                let order = match suffix {
                    "" => self.dice.pick(&["", ", orderby = 'day, n DESC'", ", orderby = 'word'"]),
                    _ => "",
                };
                let parameters = match prefix {
                    "c" => format!(
                        " WITH (stripe_row_limit = 2000, chunk_group_row_limit = 1000{order})"
                    ),
                    "w" => " WITH (batch_size = 100)".to_owned(),
                    _ => String::new(),
                };
                let text = format!("CREATE TABLE {prefix}{suffix} ({columns})");
                self.ours.must(&format!("{text}{method}{parameters}"));
                if let (Some(postgres), "h") = (&mut self.postgres, prefix) {
                    postgres.must(&text);
                }
            }
        }
        for (prefix, _) in METHODS {
            for index in
                ["% (n)", "% (day, word)", "% USING gin (doc)", "%s (sn)", "% (upper(word))"]
            {
                if self.dice.one_in(4) {
                    let index = index.replace('%', prefix);
                    self.ours.must(&format!("CREATE INDEX ON {index}"));
                }
            }
        }
    }

    fn fill(&mut self, count: u64) {
        let rows: Vec<_> = (self.rows..self.rows + count)
            .map(|id| format!("({id}, {})", self.dice.main_row()))
            .collect();
        self.rows += count;
        for some in rows.chunks(250) {
            self.everywhere(&format!("INSERT INTO % VALUES {}", some.join(", ")));
        }
    }

    fn fill_partners(&mut self) {
        let rows: Vec<_> =
            (0..120).map(|id| format!("({id}, {})", self.dice.second_row())).collect();
        self.everywhere(&format!("INSERT INTO %s VALUES {}", rows.join(", ")));
        let rows: Vec<_> = (0..40).map(|id| format!("({id}, {})", self.dice.third_row())).collect();
        self.everywhere(&format!("INSERT INTO %t VALUES {}", rows.join(", ")));
    }

    /// Changes rows, or where they lie.
    fn change(&mut self) {
        match self.dice.below(5) {
            0 => self.fill(50),
            1 => self.ours.must("CHECKPOINT"),
            2 => {
                let rest = self.dice.below(40);
                self.everywhere(&format!(
                    "UPDATE % SET small = mod(id, 5), note = NULL, f = f * 2, wild = wild WHERE mod(id, 41) = {rest}"
                ));
            }
            3 => {
                let rest = self.dice.below(90);
                self.everywhere(&format!("DELETE FROM % WHERE mod(id, 97) = {rest}"));
            }
            _ => {
                let work = self.dice.pick(&["64kB", "1MB", "4MB"]);
                self.ours.must(&format!("SET work_mem = '{work}'"));
            }
        }
    }

    /// Asks within a transaction that has changed the tables: its own changes lie above what is committed.
    fn ask_within_a_transaction(&mut self) {
        self.all("BEGIN");
        self.is_within = true;
        let rest = self.dice.below(13);
        self.everywhere(&format!("DELETE FROM % WHERE mod(id, 13) = {rest}"));
        self.everywhere(&format!(
            "UPDATE % SET n = n + 1, word = NULL, exact = -exact, doc = '{{\"k\": 2}}' WHERE mod(id, 7) = {}",
            rest % 7
        ));
        self.everywhere(&format!("INSERT INTO % VALUES (-1, {})", self.dice.main_row()));
        self.everywhere("UPDATE %s SET sn = sn - 1 WHERE sid < 20");
        for _ in 0..3 {
            self.all("SAVEPOINT asked");
            self.ask();
            self.all("ROLLBACK TO asked");
        }
        self.all("ROLLBACK");
        self.is_within = false;
    }

    /// Tells each server the same.
    fn all(&mut self, text: &str) {
        self.ours.must(text);
        if let Some(postgres) = &mut self.postgres {
            postgres.must(text);
        }
    }

    fn ask(&mut self) {
        let Question { text, is_ordered } = self.dice.question();
        let mixed = [0, 1, 2].map(|_| METHODS[self.dice.below(3) as usize].0);
        let mut answers = Vec::new();
        for prefixes in [["h"; 3], ["c"; 3], ["w"; 3], mixed] {
            let told = self.ours.ask(&named(&text, prefixes));
            if self.is_within {
                self.ours.must("ROLLBACK TO asked");
            }
            answers.push((prefixes.concat(), told));
        }
        if let Some(postgres) = &mut self.postgres {
            answers.insert(0, ("PostgreSQL".into(), postgres.ask(&named(&text, ["h"; 3]))));
        }
        self.asked += 1;
        let (first, others) = answers.split_first().expect("all were asked");
        self.failed += u64::from(matches!(first.1, Told::Failed(..)));
        for (name, told) in others {
            if let Some(differ) = difference(&first.1, told, is_ordered) {
                let text = named(&text, ["h"; 3]);
                let number = self.asked;
                self.wrong.push(format!(
                    "question {number}: {name}, not as {}: {differ}\n    {text}",
                    first.0
                ));
                break;
            }
        }
    }
}

/// The query over tables with these prefixes.
fn named(text: &str, prefixes: [&str; 3]) -> String {
    let mut named = String::new();
    let mut rest = text;
    // A `%` within a constant is part of a pattern.
    let mut is_constant = false;
    while let Some(at) = rest.find(['%', '\'']) {
        named.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let is_name = |suffix: char| {
            let mut chars = after.chars();
            chars.next() == Some(suffix) && !chars.next().is_some_and(|c| c.is_alphanumeric())
        };
        match &rest[at..at + 1] {
            "'" => {
                is_constant = !is_constant;
                named.push('\'');
            }
            _ if is_constant => named.push('%'),
            // The remainder of a division.
            _ if after.starts_with(' ') && rest[..at].ends_with("n ") => named.push('%'),
            _ if is_name('s') => named.push_str(prefixes[1]),
            _ if is_name('t') => named.push_str(prefixes[2]),
            _ => named.push_str(prefixes[0]),
        }
        rest = after;
    }
    named + rest
}

/// The difference between two answers.
fn difference(one: &Told, other: &Told, is_ordered: bool) -> Option<String> {
    match (one, other) {
        (Told::Failed(a, _), Told::Failed(b, _)) if a == b => None,
        (
            Told::Rows { names, types, rows },
            Told::Rows { names: other_names, types: other_types, rows: other_rows },
        ) => {
            if (names, types) != (other_names, other_types) {
                return Some(format!(
                    "columns {other_names:?} {other_types:?}, not {names:?} {types:?}"
                ));
            }
            if rows.len() != other_rows.len() {
                return Some(format!("{} rows, not {}", other_rows.len(), rows.len()));
            }
            let (mut rows, mut other_rows) = (rows.clone(), other_rows.clone());
            if !is_ordered {
                rows.sort_by_cached_key(|row| rounded(row, types));
                other_rows.sort_by_cached_key(|row| rounded(row, types));
            }
            let differ = rows.iter().zip(&other_rows).find(|(a, b)| !is_near(a, b, types));
            differ.map(|(a, b)| first_difference(a, b))
        }
        (a, b) => Some(format!("{}, not {}", short(b), short(a))),
    }
}

/// The row that differs, and the first value that does.
fn first_difference(one: &[Option<String>], other: &[Option<String>]) -> String {
    let cut = |text: String| text.chars().take(200).collect::<String>();
    let at = one.iter().zip(other).position(|(a, b)| a != b).unwrap_or(0);
    let (a, b) = (cut(format!("{:?}", one[at])), cut(format!("{:?}", other[at])));
    format!("column {}: {b}, not {a}, in {}", at + 1, cut(format!("{other:?}")))
}

fn short(told: &Told) -> String {
    match told {
        Told::Failed(code, message) => format!("{code} {message}"),
        Told::Rows { rows, .. } => format!("{} rows", rows.len()),
    }
}

/// `float4` and `float8`, whose last digits depend on the order of an addition.
fn is_float(ty: i32) -> bool {
    matches!(ty, 700 | 701)
}

fn rounded(row: &[Option<String>], types: &[i32]) -> Vec<Option<String>> {
    let round = |(value, ty): (&Option<String>, &i32)| match value {
        Some(text) if is_float(*ty) => {
            text.parse::<f64>().ok().map(|number| format!("{number:.7e}"))
        }
        value => value.clone(),
    };
    row.iter().zip(types).map(round).collect()
}

fn is_near(one: &[Option<String>], other: &[Option<String>], types: &[i32]) -> bool {
    const NEAR: f64 = 1e-9;
    one.iter().zip(other).zip(types).all(|((one, other), ty)| match (one, other) {
        (Some(a), Some(b)) if is_float(*ty) && a != b => match (a.parse::<f64>(), b.parse::<f64>())
        {
            (Ok(a), Ok(b)) => (a - b).abs() <= NEAR * a.abs().max(b.abs()),
            _ => false,
        },
        _ => one == other,
    })
}

/// Where PostgreSQL listens, if it does.
fn postgres() -> Option<SocketAddr> {
    let address = std::env::var("ANYWHEN_POSTGRES").ok()?;
    Some(address.parse().expect("ANYWHEN_POSTGRES is an address and a port"))
}

/// A session with PostgreSQL in a database that is made for it, whose texts are compared as ours are.
fn connect_postgres(name: &str) -> Option<Peer> {
    let address = postgres()?;
    let mut wire = Peer::connect(address, "postgres");
    wire.must(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"));
    wire.must(&format!(
        "CREATE DATABASE {name} TEMPLATE template0 LOCALE_PROVIDER builtin BUILTIN_LOCALE 'C.UTF-8' LOCALE 'C'"
    ));
    let mut peer = Peer::connect(address, name);
    peer.must("SET max_parallel_workers_per_gather = 0");
    Some(peer)
}

#[test]
fn each_method_and_postgresql_answer_alike() {
    seeds(8_200, 4, |seed| {
        let dice = Dice(SimRandom::new(seed));
        let server = world::start(world::options());
        let ours = Peer::connect(server.addresses()[0], "postgres");
        let postgres = connect_postgres(&format!("anywhen_beside_{seed}"));
        let mut world = World {
            dice,
            ours,
            postgres,
            rows: 0,
            is_within: false,
            wrong: Vec::new(),
            asked: 0,
            failed: 0,
        };
        world.create();
        let rows = [100, 700, 1_500, 3_000][world.dice.below(4) as usize];
        world.fill(rows);
        world.fill_partners();
        world.ours.must("CHECKPOINT");
        for _ in 0..steps(100) {
            if world.dice.one_in(12) {
                world.change();
            }
            match world.dice.one_in(25) {
                true => world.ask_within_a_transaction(),
                false => world.ask(),
            }
        }
        let World { wrong, asked, failed, .. } = world;
        println!(
            "seed {seed}: {asked} questions, {failed} failed everywhere, {} differ",
            wrong.len()
        );
        assert!(
            wrong.is_empty(),
            "ANYWHEN_SEED={seed}: {} of {asked} answers differ:\n{}",
            wrong.len(),
            wrong[..wrong.len().min(SHOWN)].join("\n")
        );
        assert!(failed * 5 < asked, "ANYWHEN_SEED={seed}: {failed} of {asked} failed");
    });
}
