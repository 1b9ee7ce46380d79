//! Indexes change how rows are found, and never which.
//!
//! Two tables take the same random changes; one has indexes of every kind, the other none. Each query
//! gives the same rows of both, now and at commits of the past. `ANYWHEN_SEED=<seed>` plays one run
//! again.

use store::Op;
use table::rows::Cursor;
use txn::{CommitMeta, Isolation, KeyRange};
use types::{Datum, SqlState};

use crate::session::Session;
use crate::world::{View, World};

pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % below
    }

    pub fn of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len() as u64) as usize]
    }
}

/// The seed of a random test, which is printed.
pub fn seed() -> u64 {
    let given = std::env::var("ANYWHEN_SEED").ok();
    let seed = given.and_then(|seed| seed.parse().ok()).unwrap_or(20_261_122);
    println!("ANYWHEN_SEED={seed}");
    seed
}

const COLUMNS: &str =
    "(id int primary key, status text, n int, amount numeric, flag boolean, doc jsonb, tags int[])";

const INDEXES: [&str; 14] = [
    "create index k_open on keyed (n) where status = 'open'",
    "create index k_some on keyed (n, amount) where n > 5 and amount is not null",
    "create index k_lower on keyed (lower(status), n desc)",
    "create index k_sum on keyed ((n + id))",
    "create index k_name on keyed ((doc->>'name'))",
    "create index k_size on keyed (((doc->>'size')::int) desc) where doc->>'size' is not null",
    "create index k_flag on keyed (flag) where flag is not null",
    "create index k_doc on keyed using gin (doc)",
    "create index k_path on keyed using gin (doc jsonb_path_ops)",
    "create index k_tags on keyed using gin (tags)",
    "create index k_few on keyed using gin (tags) where status in ('open', 'new')",
    "create unique index k_one on keyed (n, id)",
    "create unique index k_half on keyed ((id / 2), (id % 2) desc) where flag is not null",
    "create unique index k_null on keyed (id, amount) nulls not distinct",
];

const STATUS: [&str; 5] = ["'open'", "'Open'", "'new'", "'done'", "null"];
const DOCS: [&str; 9] = [
    r#"'{"name": "ann", "size": 3}'"#,
    r#"'{"name": "bob", "size": 12, "tags": ["x", "y"]}'"#,
    r#"'{"name": "ann", "a": {"b": 1.0, "c": ["x", null]}}'"#,
    r#"'[{"a": {"b": 1}}, "x", 3]'"#,
    r#"'{"a": [{"b": 2}, {"b": "x"}], "x": true}'"#,
    r#"'"x"'"#,
    "'{}'",
    "'[]'",
    "null",
];
const TAGS: [&str; 7] =
    ["'{1,2}'", "'{2,3,2}'", "'{}'", "'{null,1}'", "'{4}'", "null", "'{1,2,3,4}'"];

/// Conditions on a row: `N` is a small number.
const CONDITIONS: [&str; 47] = [
    "status = 'open' and n = N",
    "status = 'open' and n > N",
    "status = 'open'",
    "status in ('open', 'done') and n < N",
    "n = N and amount > 2",
    "n > 7 and amount = N",
    "n between 6 and 9 and amount is not null",
    "lower(status) = 'open'",
    "lower(status) = 'open' and n >= N",
    "lower(status) in ('new', 'done') and n = N",
    "n + id = 2N",
    "n + id > 3N and flag",
    "doc->>'name' = 'ann'",
    "doc->>'name' > 'ann'",
    "doc->>'name' is null and id < 3N",
    "(doc->>'size')::int = 3",
    "(doc->>'size')::int < 1N and doc->>'size' is not null",
    "flag",
    "not flag",
    "flag is false",
    r#"doc @> '{"name": "ann"}'"#,
    r#"doc @> '{"a": {"b": 1}}'"#,
    r#"doc @> '[{"a": {"b": 1}}]'"#,
    r#"doc @> '{"a": [{"b": "x"}]}'"#,
    r#"doc @> '"x"'"#,
    "doc @> '{}'",
    "doc @> '[]'",
    "doc ? 'x'",
    "doc ?| '{size,x}'",
    "doc ?& '{name,a}'",
    "doc @? '$.a.b ? (@ == 1)'",
    r#"doc @@ '$.name == "ann" && $.size > 1'"#,
    r#"doc @? '$.tags[*] ? (@ == "x" || @ == "z")'"#,
    r#"doc @@ '$.** == "x"'"#,
    "tags @> '{2}'",
    "tags && array[N, 1]",
    "tags = '{1,2}' or id = N",
    "N = any (tags)",
    "tags <@ '{1,2,N}'",
    "tags @> '{1}' and status = 'new'",
    "n = 6 and id = 2N",
    "n = 6 and id = 2N and status = 'open'",
    "n is null and id = 3N",
    "id / 2 = 1N and id % 2 = 1 and flag",
    "id / 2 = 1N and id % 2 is null and flag is not null",
    "id = 2N and amount = 2.5",
    "id = 3N and amount is null",
];

/// Two tables that are joined row by row.
const JOINS: [&str; 3] = [
    "select a.id, b.id from @t a join @t b on lower(b.status) = lower(a.status) and b.n = a.n \
     where a.id < 9 order by 1, 2",
    "select a.id, b.tags from @t a join @t b on b.id = a.n and b.n = a.id % 13 order by 1",
    "select a.id, b.n from @t a join @t b on b.id / 2 = a.n and b.id % 2 = a.id % 2 \
     where b.flag is not null order by 1",
];

fn change(random: &mut Random) -> String {
    let id = random.below(60);
    let (status, doc, tags) = (random.of(&STATUS), random.of(&DOCS), random.of(&TAGS));
    let amount = random.of(&["null", "1.0", "2.50", "8", "2.5"]);
    let flag = random.of(&["true", "false", "null"]);
    let n = random.of(&["null", "3", "6", "7", "9", "12"]);
    match random.below(6) {
        0..3 => format!(
            "insert into @t values ({id}, {status}, {n}, {amount}, {flag}, {doc}, {tags}) \
             on conflict (id) do update set status = excluded.status, doc = excluded.doc, \
             tags = excluded.tags"
        ),
        3 => format!("update @t set n = {n}, status = {status} where id % 7 = {}", id % 7),
        4 => {
            format!("update @t set doc = {doc}, flag = {flag} where id between {id} and {}", id + 5)
        }
        _ => format!("delete from @t where id = {id}"),
    }
}

fn both(session: &mut Session, statement: &str, params: &[Datum]) -> [Vec<String>; 2] {
    ["plain", "keyed"].map(|table| {
        let statement = statement.replace("@t", table);
        match session.run(&statement, params) {
            Ok(rows) => rows,
            Err(error) => panic!("{statement}: {error:?}"),
        }
    })
}

#[test]
fn what_an_index_finds_is_what_is_there() {
    let mut random = Random::new(seed());
    let mut session = Session::new(&World::new());
    for table in ["plain", "keyed"] {
        session.run(&format!("create table {table} {COLUMNS}"), &[]).expect("it can be made");
    }
    for index in INDEXES {
        session.run(index, &[]).expect("it can be made");
    }
    let mut versions = Vec::new();
    let mut by_index = 0;
    for round in 0..60 {
        session.answer("begin");
        for _ in 0..5 {
            both(&mut session, &change(&mut random), &[]);
        }
        // Among what the transaction has written and not committed.
        let id = random.below(60);
        for condition in [format!("n = 6 and id = {id}"), format!("id = {id} and amount = 2.5")] {
            let query = format!("select * from @t where {condition}");
            let [plain, keyed] = both(&mut session, &query, &[]);
            assert_eq!(plain, keyed, "round {round}: {query}");
        }
        if random.below(6) == 0 {
            session.answer("rollback");
        } else {
            session.answer("commit");
        }
        let version = session.run("select max(_version) from keyed", &[]).expect("it runs");
        versions.extend(version);
        for condition in CONDITIONS {
            let number = random.below(10).to_string();
            let condition = condition.replace('N', &number);
            let order = random.of(&["id", "n, id", "lower(status), n desc, id", "tags, id"]);
            let at = random.below(versions.len() as u64) as usize;
            let moment = match random.below(3) {
                0 => format!("for system_version as of {}", versions[at]),
                _ => String::new(),
            };
            let query = format!("select * from @t {moment} where {condition} order by {order}");
            let [plain, keyed] = both(&mut session, &query, &[]);
            assert_eq!(plain, keyed, "round {round}: {query}");
            let plan = session.prepare(&query.replace("@t", "keyed")).expect("it has a plan");
            by_index += usize::from(plan.explain().contains(" by k_"));
        }
        // Conditions that a parameter decides when the scan starts.
        for (condition, param) in [
            ("status = $1 and n = 6", Datum::text(["open", "new"][round % 2])),
            ("n > $1 and n < 9 and amount = 2.5", Datum::Int4(random.below(10) as i32)),
            ("status = $1 and tags @> '{2}'", Datum::text(["open", "done", "new"][round % 3])),
        ] {
            let query = format!("select id from @t where {condition} order by id");
            let [plain, keyed] = both(&mut session, &query, &[param]);
            assert_eq!(plain, keyed, "round {round}: {query}");
        }
        for join in JOINS {
            let [plain, keyed] = both(&mut session, join, &[]);
            assert_eq!(plain, keyed, "round {round}: {join}");
        }
    }
    assert!(by_index > 60 * 20, "only {by_index} queries were answered by an index");
}

/// An index that has most of the rows is left alone, and one that has few is not; the rows are the same.
#[test]
fn what_most_rows_have_is_read_as_it_lies() {
    let mut session = Session::new(&World::new());
    for statement in [
        "create table t (id int primary key, state text, tags int[])",
        "create index t_live on t (id) where state = 'live'",
        "create index t_gone on t (id) where state = 'gone'",
        "create index t_tags on t using gin (tags)",
        "insert into t select n, case when n % 50 = 0 then 'gone' else 'live' end, array[n % 2, n] \
         from generate_series(1, 3000) n",
    ] {
        session.run(statement, &[]).expect("it runs");
    }
    for (query, wanted) in [
        ("select count(*), min(id), max(id) from t where state = 'live'", "2940 | 1 | 2999"),
        ("select count(*), min(id), max(id) from t where state = 'gone'", "60 | 50 | 3000"),
        ("select count(*), sum(id) from t where tags @> '{1}'", "1500 | 2250000"),
        ("select count(*), sum(id) from t where tags @> '{0}'", "1500 | 2251500"),
        ("select count(*), sum(id) from t where tags && '{77,78}'", "2 | 155"),
        ("select id from t where state = 'live' order by id desc limit 1", "2999"),
    ] {
        assert_eq!(session.run(query, &[]).expect("it runs"), [wanted], "{query}");
    }
}

/// A row that an index leads to and that is not there is damage, however it was looked for; a look-up once
/// said that there is no such row.
#[test]
fn an_entry_that_leads_nowhere_is_damage() {
    let world = World::new();
    let mut session = Session::new(&world);
    for statement in [
        "create table t (id int primary key, name text)",
        "create unique index t_name on t (name)",
        "insert into t values (1, 'ada')",
    ] {
        session.run(statement, &[]).expect("it runs");
    }
    let version = session.run("select max(_version) from t", &[]).expect("it runs").remove(0);
    let view = View::new(&world);
    let oid = view.find("t").expect("it is there").oid;
    let table = world.handles.table(&view.catalog, oid).expect("it is a table");
    let mut txn = world.engine.begin(Isolation::ReadCommitted);
    let mut rows = table::rows::Batch::new();
    Cursor::over(&table, KeyRange::ALL, false)
        .fill(txn.view(), table::method::ColumnSet::All, &mut rows, 1)
        .expect("it is read");
    txn.write(table.storage(), rows.row(0).key().to_vec(), Op::Delete).expect("it is written");
    let damaged = txn.commit(CommitMeta::default()).expect("it is committed").csn.0;
    for query in ["select * from t where name = 'ada'", "select * from t where name >= 'ada'"] {
        for moment in [String::new(), format!("t for system_version as of {damaged}")] {
            let query = if moment.is_empty() {
                query.into()
            } else {
                query.replace("t where", &format!("{moment} where"))
            };
            let error = session.run(&query, &[]).expect_err(&query);
            assert_eq!(error.state(), SqlState::INDEX_CORRUPTED, "{query}: {error:?}");
        }
    }
    let before = format!("select id from t for system_version as of {version} where name = 'ada'");
    assert_eq!(session.run(&before, &[]).expect("it runs"), ["1"]);
}
