//! Tables of different access methods to which the same is done: whatever the statements, all have the same
//! rows, now, inside of transactions, and at every commit of their past. One is an ordinary table, one keeps
//! documents, one columns, one batches of rows, and one keeps its rows in memory by a method that only tests have.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use document::Documents;
use session::{Instance, Session};
use table::{Collections, Tables};
use txn::{Engine, EngineOptions};
use vfs::{SimRandom, SimVfs, seeds};

use crate::client::{connect, instance_on, options, query};
use crate::memory::Memory;

/// Documents, rows in memory, rows in columns, rows in batches, rows in a heap.
const TABLES: [&str; 5] = ["d", "m", "c", "r", "h"];
const KEYS: u64 = 5;

/// The answer to a statement.
pub fn answer(session: &mut Session, text: &str) -> String {
    let mut shown = String::new();
    query(session, text, &mut std::iter::empty(), &mut shown);
    shown
}

/// A database on a disk, whose tables can also have the access method of the tests.
fn instance_with_memory(disk: &SimVfs) -> Arc<Instance> {
    let (options, tables) = (options(disk), Tables::new());
    let (folder, resolver) = (Path::new("db"), tables.resolver());
    let engine = Engine::open(&options.env, folder, EngineOptions::default(), resolver);
    let engine = engine.expect("it opens");
    let memory = Arc::new(Memory::new(&engine));
    let documents = Documents::new(engine, 8 << 20, Tables::has_documents);
    let collections = Collections::open_with(documents, tables, [memory as Arc<_>]);
    Instance::open(Arc::new(collections.expect("it has a catalog")), options).expect("it opens")
}

struct Twins {
    dice: SimRandom,
    disk: SimVfs,
    /// None while the database is being opened again.
    open: Option<(Arc<Instance>, Session)>,
    /// The commit before which the past has been deleted.
    forgotten: u64,
    done: Vec<String>,
}

impl Twins {
    fn new(seed: u64) -> Twins {
        let (dice, disk) = (SimRandom::new(seed), SimVfs::new(seed));
        let mut twins = Twins { dice, disk, open: None, forgotten: 6, done: Vec::new() };
        twins.reopen();
        let options = match twins.dice.below(2) {
            0 => "",
            _ => "with (hashes = on, path_summary = on)",
        };
        twins.run(&format!(
            "create table d (k text primary key, n int, doc jsonb) using document {options}"
        ));
        twins.run("create table m (k text primary key, n int, doc jsonb) using memory");
        twins.run("create table c (k text primary key, n int, doc jsonb) using columnar");
        twins.run(
            "create table r (k text primary key, n int, doc jsonb) using rowcompress with (batch_size = 2)",
        );
        twins.run("create table h (k text primary key, n int, doc jsonb)");
        if twins.dice.below(2) == 0 {
            twins.all("create index on % ((doc ->> 'a'))");
            twins.all("create index on % using gin (doc)");
        }
        if twins.dice.below(2) == 0 {
            twins.index_columns();
        }
        twins
    }

    /// Makes columnar indexes anew, of all tables but the one that is in columns.
    fn index_columns(&mut self) {
        for table in TABLES.iter().filter(|table| **table != "c") {
            self.run(&format!("drop index if exists {table}_columns"));
            let made = self.run(&format!(
                "create index {table}_columns on {table} using columnar (doc, k, n, (doc ->> 'a'), jsonb_typeof(doc))"
            ));
            assert_eq!(made, "CREATE INDEX\n");
            let plan = self.run(&format!("explain select sum(n), min(doc::text) from {table}"));
            assert!(plan.contains("Index Only Scan"), "{plan}");
        }
    }

    /// Asks what columnar indexes answer, at a moment.
    fn compare_columns(&mut self, moment: &str) {
        self.compare(&format!(
            "select count(*), sum(n), min(doc ->> 'a'), count(doc ->> 'b'), min(doc::text), max(k) from %{moment}"
        ));
        self.compare(&format!(
            "select count(*), sum(n) from %{moment} where jsonb_typeof(doc) = 'object' or doc ->> 'a' > 's1'"
        ));
    }

    fn reopen(&mut self) {
        self.open = None;
        let instance = instance_with_memory(&self.disk);
        let session = connect(&instance);
        self.open = Some((instance, session));
        self.done.push("-- opened again".into());
    }

    fn run(&mut self, text: &str) -> String {
        self.done.push(format!("{text};"));
        let (_, session) = self.open.as_mut().expect("the database is open");
        answer(session, text)
    }

    /// Does something to all tables, `%` being the name; it ends alike.
    fn all(&mut self, text: &str) {
        let [others @ .., h] = TABLES.map(|table| {
            self.run("savepoint e");
            let shown = self.run(&text.replace('%', table));
            if shown.contains("ERROR") {
                self.run("rollback to e");
            }
            shown
        });
        // Of an error the code: the words name the table.
        let end = |shown: String| match shown.get(..13) {
            Some(code) if shown.contains("ERROR") => code.to_owned(),
            _ => shown,
        };
        let h = end(h);
        for (table, other) in TABLES.iter().zip(others) {
            assert_eq!(end(other), h, "{table}: {text}");
        }
    }

    /// Asks all tables; the answers are the same.
    fn compare(&mut self, text: &str) {
        let [others @ .., h] = TABLES.map(|table| self.run(&text.replace('%', table)));
        for (table, other) in TABLES.iter().zip(others) {
            assert_eq!(other, h, "{table}: {text}");
        }
        self.done.truncate(self.done.len() - TABLES.len());
    }

    fn key(&self) -> String {
        format!("'k{}'", self.dice.below(KEYS))
    }

    fn value(&self, depth: u32) -> String {
        match self.dice.below(if depth == 0 { 5 } else { 9 }) {
            0 => "null".into(),
            1 => "true".into(),
            2 => format!("\"s{}\"", self.dice.below(4)),
            3 | 4 => self.dice.below(20).to_string(),
            5 | 6 => {
                let items: Vec<_> =
                    (0..self.dice.below(4)).map(|_| self.value(depth - 1)).collect();
                format!("[{}]", items.join(", "))
            }
            _ => {
                let names = ["a", "b", "c", "long name", "ü"];
                let mut text = String::new();
                for name in names.iter().filter(|_| self.dice.below(2) == 0) {
                    let comma = if text.is_empty() { "" } else { ", " };
                    write!(text, "{comma}\"{name}\": {}", self.value(depth - 1)).expect("writes");
                }
                format!("{{{text}}}")
            }
        }
    }

    /// An expression for the new document.
    fn expression(&self) -> String {
        let (name, value) = (["a", "b", "c"][self.dice.below(3) as usize], self.value(2));
        let at = self.dice.below(3);
        match self.dice.below(10) {
            0 => format!("'{value}'"),
            1 => "null".into(),
            2 => format!("jsonb_set(doc, '{{{name}}}', '{value}')"),
            3 => format!("jsonb_set(doc, '{{{name},{at}}}', '{value}', false)"),
            4 => format!(
                "case jsonb_typeof(doc) when 'object' then doc || '{{\"{name}\": {value}}}' else doc end"
            ),
            5 => format!("case jsonb_typeof(doc) when 'object' then doc - '{name}' else doc end"),
            6 => format!(
                "case jsonb_typeof(doc) when 'array' then doc || '{value}'::jsonb else doc end"
            ),
            7 => format!("case jsonb_typeof(doc) when 'array' then doc - {at} else doc end"),
            8 => format!(
                "case when jsonb_typeof(doc) in ('array', 'object') then doc #- '{{{name},{at}}}' else doc end"
            ),
            _ => format!(
                "case jsonb_typeof(doc) when 'array' then jsonb_insert(doc, '{{{at}}}', '{value}') else doc end"
            ),
        }
    }

    fn statement(&mut self) {
        let (key, other, value) = (self.key(), self.key(), self.value(3));
        let new = self.expression();
        let text = match self.dice.below(15) {
            12 => self.definition(),
            13 => format!("erase from % where k = {key}"),
            0 | 1 => format!("insert into % values ({key}, 1, '{value}') on conflict do nothing"),
            2 => format!(
                "insert into % values ({key}, 2, '{value}') on conflict (k) do update set doc = excluded.doc"
            ),
            3 => format!("delete from % where k = {key}"),
            4 => format!("update % set n = n + 1 where k <= {key}"),
            5 => format!(
                "update % set k = {other} where k = {key} and not exists (select from % where k = {other})"
            ),
            6 => format!("update % set doc = {new}"),
            _ => format!("update % set doc = {new} where k = {key}"),
        };
        self.all(&text);
    }

    /// Definitions that rewrite rows, or may; documents and their keys go on, but for the last two.
    fn definition(&self) -> String {
        match self.dice.below(8) {
            0 | 1 => "alter table % alter n type bigint".into(),
            2 | 3 => "alter table % alter n type int".into(),
            4 => format!("alter table % alter doc type jsonb using {}", self.expression()),
            5 => format!("alter table % add c{} int default 7", self.dice.below(1 << 20)),
            6 => "alter table % alter k type varchar(10)".into(),
            _ => "truncate %".into(),
        }
    }

    /// Forgets all of the past but what was seen at some commit and later.
    fn forget(&mut self) {
        let last = self.number("select max(version) from commits");
        let asked = self.forgotten + self.dice.below(last + 1 - self.forgotten);
        let time = format!("(select committed_at from commits where version = {asked})");
        // Several commits may have one time.
        let newest = format!("select max(version) from commits where committed_at <= {time}");
        self.forgotten = self.number(&newest);
        self.run("begin");
        for table in TABLES {
            self.run(&format!("delete history from {table} before system_time {time}"));
        }
        self.run("commit");
    }

    fn transaction(&mut self) {
        self.run("begin");
        for _ in 0..1 + self.dice.below(4) {
            let goes_back = self.dice.below(4) == 0;
            if goes_back {
                self.run("savepoint s");
            }
            self.statement();
            self.compare("select * from % order by k");
            self.compare_columns("");
            if goes_back {
                self.run("rollback to s");
                self.compare("select * from % order by k");
            }
        }
        self.run(if self.dice.below(8) == 0 { "rollback" } else { "commit" });
    }

    /// The past of all, as a whole, at each commit, and as each document's own history tells it.
    fn check_past(&mut self) {
        self.compare("select k, n, doc, _version from % for system_time all order by _version, k");
        self.compare("select count(*) from % for system_time all");
        self.compare(
            "select _version, _op, old, new from table_changes('%', 0, 100000) order by 1, 2, 3, 4",
        );
        let last: u64 = self.number("select max(version) from commits");
        for version in self.forgotten..=last {
            let as_of = format!("% for system_version as of {version}");
            self.compare(&format!("select * from {as_of} order by k"));
            self.compare_columns(&format!(" for system_version as of {version}"));
            self.compare(&format!("select k, doc::text from {as_of} order by k"));
            self.compare(&format!("select k from {as_of} where doc ->> 'a' = 's1' order by k"));
        }
        for key in 0..KEYS {
            let versions = self.number(&format!("select count(*) from history('d', 'k{key}')"));
            let mut ended = u64::MAX;
            for version in (1..=versions).rev() {
                let told = format!("from history('d', 'k{key}') where version = {version}");
                let commit = self.number(&format!("select commit {told}"));
                if ended <= self.forgotten {
                    let whole = self.run(&format!("select node_at('d', 'k{key}', '$', {version})"));
                    assert!(whole.contains("22023"), "version {version} of k{key}: {whole}");
                    continue;
                }
                ended = commit;
                let commit = commit.max(self.forgotten);
                let whole = format!("select node_at('d', 'k{key}', '$', {version})");
                let whole = self.run(&whole).replace("node_at", "doc");
                let row = format!("from h for system_version as of {commit} where k = 'k{key}'");
                let row = self.run(&format!("select (select doc {row}) as doc"));
                assert_eq!(whole, row, "version {version} of k{key}");
            }
        }
    }

    fn number(&mut self, text: &str) -> u64 {
        let shown = self.run(text);
        self.done.pop();
        shown.lines().nth(1).and_then(|line| line.parse().ok()).expect(text)
    }
}

#[test]
fn tables_of_all_methods_are_alike() {
    seeds(70_000, 30, |seed| {
        let mut twins = Twins::new(seed);
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for _ in 0..25 {
                twins.transaction();
                twins.compare("select * from % order by k");
                twins.compare("select n, doc::text, length(doc::text) from % order by k");
                twins.compare("select k from % where doc @> '{\"a\": 1}' order by k");
                twins.compare_columns("");
                match twins.dice.below(12) {
                    0 => twins.reopen(),
                    1 => drop(twins.run("vacuum")),
                    2 if twins.dice.below(4) == 0 => twins.forget(),
                    3 => twins.index_columns(),
                    4 => drop(twins.run("checkpoint")),
                    _ => {}
                }
            }
            twins.check_past();
        }));
        if let Err(panic) = done {
            let from = twins.done.len().saturating_sub(30);
            eprintln!("{}", twins.done[from..].join("\n"));
            std::panic::resume_unwind(panic);
        }
    });
}

/// A history of more than one page comes whole and in order, and who asks for its end gets that.
#[test]
fn a_long_history_comes_in_pages() {
    const VERSIONS: usize = 2_100;
    let instance = instance_on(&SimVfs::unrecorded());
    let mut session = connect(&instance);
    answer(&mut session, "create table t (id int primary key, doc jsonb) using document");
    answer(&mut session, "insert into t values (1, '{\"n\": 1}')");
    for n in 2..=VERSIONS {
        answer(&mut session, &format!("update t set doc['n'] = '{n}'"));
    }
    let shown = answer(&mut session, "select version from history('t', '1')");
    let found: Vec<usize> = shown.lines().filter_map(|line| line.parse().ok()).collect();
    assert!(found.into_iter().eq((1..=VERSIONS).rev()));
    let newest = answer(&mut session, "select version from history('t', '1') limit 2");
    assert_eq!(newest, "version\n2100\n2099\n(2 rows)\n");
    let blame = answer(&mut session, "select path, version, author from blame('t', '1')");
    assert_eq!(blame, "path|version|author\n$|1|postgres\n$.n|2100|postgres\n(2 rows)\n");
    let changes = "select version, op, value from node_changes('t', '1', '$.n') limit 2";
    assert_eq!(
        answer(&mut session, changes),
        "version|op|value\n1|insert|1\n2|update|2\n(2 rows)\n"
    );
}

/// A definition that rewrites all rows reads them while it writes, some hundreds at a time. It does not read the
/// rows that it has written, whatever the method: rows, and documents that stay where they are.
#[test]
fn rows_are_written_anew_while_they_are_read() {
    for (using, is_large) in [
        ("heap", false),
        ("heap", true),
        ("document", false),
        ("document", true),
        ("columnar", true),
        ("columnar with (orderby = 'n desc')", true),
        ("rowcompress", true),
    ] {
        let instance = crate::client::instance();
        let mut session = connect(&instance);
        let mut run = |text: &str| {
            let shown = answer(&mut session, text);
            assert!(!shown.contains("ERROR"), "{using}: {text}: {shown}");
            shown
        };
        run(&format!("create table t (k int primary key, n int, doc jsonb) using {using}"));
        run("create index on t (n)");
        let pad = if is_large { 400 } else { 1 };
        run(&format!(
            "insert into t select g, g * 3, jsonb_build_object('g', g, 'pad', repeat('x', {pad}))
             from generate_series(1, 3000) g"
        ));
        run("update t set n = n + 1 where k % 100 = 0");
        run("delete from t where k % 1000 = 1");
        let sums =
            "select count(*), sum(k), sum(n), sum((doc ->> 'g')::int), count(distinct doc) from t";
        let mut wanted = run(sums);
        let newest = run("select max(version) from commits");
        let newest = newest.lines().nth(1).expect("a version");
        for definition in [
            "alter table t alter n type bigint",
            "alter table t alter k type bigint",
            "alter table t alter doc type jsonb using jsonb_set(doc, '{g}', to_jsonb((doc ->> 'g')::int + 1))",
            "alter table t add x int default 7 check (x > 0), alter n type int",
            "alter table t set access method heap",
            "alter table t set access method columnar",
        ] {
            run("begin");
            run(definition);
            if definition.contains("using") {
                let more = sums.replace("int)", "int - 1)");
                assert_eq!(
                    run(&more).lines().nth(1),
                    wanted.lines().nth(1),
                    "{using}: {definition}"
                );
                wanted = run(sums);
            }
            assert_eq!(run(sums), wanted, "{using}: {definition}");
            run("commit");
            assert_eq!(run(sums), wanted, "{using}: {definition}");
            let counted = run("select reltuples from pg_class where relname = 't'");
            assert!(counted.contains("2997"), "{using}: {definition}: {counted}");
            let found = "select k, (doc ->> 'g')::int - k < 2 from t where n = 1501";
            assert_eq!(run(found), "k|?column?\n500|t\n(1 row)\n", "{using}: {definition}");
        }
        let then = format!("select count(*), sum(n) from t for system_version as of {newest}");
        assert_eq!(run(&then).lines().nth(1), Some("2997|13495521"), "{using}");
    }
}
