//! A follower takes in the records of a leader's log, and answers as the leader did at each commit.
//!
//! ```text
//!   leader     statements of SQL, documents, erasures, retention      the answers after each step, by commit
//!   records    ──────────────────────────────────────────────>
//!   follower   some of them, reopened, compacted, some more ...       the same answers at the same commit
//! ```
//!
//! `ANYWHEN_SEED=<seed>` plays one history again; `ANYWHEN_TIMES=<n>` runs so many times as many, and
//! `ANYWHEN_STEPS=<n>` makes each so many steps long: every step of a short one is compared, and of a longer
//! one the last of each round.

use crate::{CollectionOptions, Create, Csn, Database, Lsn, Options, Retention};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use vfs::{Env, SimRandom, SimVfs};

pub(super) fn open(env: &Env, follower: bool) -> Database {
    let options =
        Options { create: Create::IfMissing, follower, large_bytes: 60, ..Options::default() };
    Database::open_as(env, Path::new("/data"), options, false).expect("opens")
}

/// The rows of a query as texts, or its error.
fn ask(database: &Database, query: &str) -> Vec<String> {
    let mut sql = database.connect().expect("connects");
    let found = match sql.query(query, &[]) {
        Ok(found) => found,
        Err(error) => return vec![format!("{query}: {error}")],
    };
    let columns = found.columns.clone();
    let line = |row: crate::sql::Row<'_>| {
        let values = row.values().iter().zip(&columns);
        let texts = values.map(|(value, column)| sql.text(value, column).unwrap_or("-".into()));
        texts.collect::<Vec<_>>().join("|")
    };
    found.iter().map(line).collect()
}

/// Everything that can be asked: catalogs, rows of now and then, counts, documents, changes.
pub(super) fn answers(database: &Database) -> Vec<String> {
    let mut all = vec![format!("newest {}", database.newest().0)];
    let mut tell = |what: &str, answer: Vec<String>| {
        all.push(format!("{what}:\n    {}", answer.join("\n    ")));
    };
    let tables = "select relname from pg_class where relkind = 'r' and oid >= 16384 order by 1";
    for query in [
        "select relname, relkind, reltuples from pg_class where oid >= 16384 order by 1",
        "select attrelid::regclass, attname, atttypid::regtype from pg_attribute
          where attrelid >= 16384 and attnum > 0 order by 1::text, attnum",
        "select version, author, message, tables from commits order by 1",
        "select version, name, rows from erasures order by 1, 2",
    ] {
        tell(query, ask(database, query));
    }
    for table in ask(database, tables) {
        for query in [
            format!("select * from {table} order by 1"),
            format!("select *, _version from {table} for system_time all order by 1, _version"),
            format!(
                "select * from table_changes('{table}', 0, 1000000) order by 1, 3, 4::text, 5::text"
            ),
            format!("select count(*) from {table} where n between 2 and 5"),
            format!(
                "select count(*), sum(n), min(id), count(*) filter (where n + 0 > 3) from {table}"
            ),
        ] {
            // How far a shorter past has been dropped is known to each of them alone.
            let is_past = query.contains("_version") || query.contains("table_changes");
            if !(table.starts_with("brief") && is_past) {
                tell(&query, ask(database, &query));
            }
        }
    }
    for name in database.collections() {
        let Some(collection) = database.find_collection(&name) else { continue };
        let keys: Vec<String> = collection.keys("").map(|key| key.expect("a key")).collect();
        for key in keys {
            let document = collection.get(&key).expect("reads").expect("it is there");
            let text = document.to_json().expect("prints");
            tell(&name, vec![format!("{key} {} {text}", document.revision().0)]);
        }
    }
    for dropped in database.dropped_collections().expect("they are known") {
        tell("dropped", vec![format!("{} at {}", dropped.name, dropped.csn.0)]);
    }
    let changes = database.changes(Csn(0), None, 100_000).expect("told");
    // Subscribers of that moment get an erasure, and no list keeps it.
    let kept = changes.list.into_iter().filter(|change| change.revision.0 > 0);
    tell("changes", kept.map(|change| format!("{change:?}")).collect());
    all
}

pub(super) fn definition(table: &str) -> String {
    match table {
        "docs" => "create table docs (id text primary key, doc jsonb, n int) using document".into(),
        "brief" => {
            "create table brief (id int primary key, n int, t text) with (history = 'none')".into()
        }
        "other" => "create table other (id int primary key, n int, t text) using columnar".into(),
        _ => format!("create table {table} (id int primary key, n int, t text)"),
    }
}

/// One step of the leader, which may fail as a whole. One of `checkpoints` steps that would write files does.
pub(super) fn step(leader: &Database, random: &SimRandom, checkpoints: u64) {
    let n = random.below(12);
    let table = ["plain", "other", "docs", "brief"][random.below(4) as usize];
    let key = if table == "docs" { format!("'k{n}'") } else { n.to_string() };
    let document = format!("{{\"n\":{},\"tags\":[{n},\"x\"]}}", random.below(100));
    let run = |statement: String| drop(leader.connect().expect("connects").batch(&statement));
    match random.below(26) {
        0 => run(definition(table)),
        1 if random.below(2) == 0 => run(format!("create index on {table} using columnar (n, id)")),
        1 => run(format!("create index on {table} (n)")),
        2 => run(match random.below(6) {
            0 => format!("drop table {table}"),
            1 => format!("truncate {table}"),
            2 | 3 => format!("alter table {table} add column c{n} int default {n}"),
            _ => format!("alter table {table} alter column n type bigint"),
        }),
        3 => run(format!("erase from {table} where id = {key}")),
        4 => run(format!("delete history from {table} before system_version {}", leader.newest().0 / 2)),
        5..=8 if table == "docs" => run(format!(
            "insert into docs values ({key}, '{document}', {n}) on conflict (id) do update set doc = excluded.doc"
        )),
        5..=8 => run(format!(
            "insert into {table} select g, g % 7, repeat('x', g) from generate_series({n}, {n} + {}) g
             on conflict (id) do nothing",
            random.below(6)
        )),
        9 | 10 => run(format!("update {table} set n = n + 1 where id >= {key}")),
        11 => run(format!("update docs set doc['n'] = '{n}' where id = 'k{n}'")),
        12 => run(format!("delete from {table} where id = {key}")),
        13 => run(format!(
            "begin; set local commit.author = 'ada'; insert into {table} (id) values ({key});
             savepoint s; delete from {table}; rollback to s; commit"
        )),
        14 => drop(leader.drop_collection("c")),
        15 => {
            let history = match random.below(3) {
                0 => Retention::Forever,
                _ => Retention::For(Duration::from_secs(1 << 40)),
            };
            drop(leader.set_history("c", history));
        }
        16 => {
            let hashes = random.below(2) == 0;
            let options = CollectionOptions { hashes, ..CollectionOptions::default() };
            drop(leader.collection_with("d", options));
        }
        17 if random.below(4) == 0 => drop(leader.drop_collection("docs")),
        18 if random.below(checkpoints) == 0 => leader.checkpoint().expect("flushes"),
        kind => {
            let name = ["c", "d", "docs"][random.below(3) as usize];
            if name == "docs" && leader.find_collection(name).is_none() {
                return;
            }
            let collection = leader.collection(name).expect("there");
            match kind {
                19 => drop(collection.remove(&format!("k{n}"))),
                20 | 21 => {
                    drop(collection.edit(&format!("k{n}"), |edit| edit.set("$.n", n.to_string())));
                }
                22 if name != "docs" => {
                    let tape = json::Tape::parse(&document).expect("parses");
                    drop(collection.replace(&format!("k{n}"), &tape, &crate::Meta::default()));
                }
                _ => drop(collection.put(&format!("k{n}"), &document)),
            }
        }
    }
}

/// Random histories of SQL and documents; the follower has the leader's answers at every commit at which it
/// stops, whatever it went through before. The leader writes its files, merges them and cuts its log
/// meanwhile: what the follower has not taken is held.
#[test]
fn a_follower_answers_as_its_leader_did() {
    const ROUNDS: u64 = 24;
    const SHORT: u64 = 156;
    let steps = vfs::steps(SHORT);
    vfs::seeds(61, 4, |seed| {
        let random = SimRandom::new(seed);
        let leader = open(&Env::sim(&SimVfs::unrecorded(), seed), false);
        leader.instance().expect("it has a catalog from its first commit on");
        let env = Env::sim(&SimVfs::unrecorded(), seed + 1_000_000);
        let mut follower = open(&env, true);
        for table in ["plain", "other", "docs", "brief"] {
            leader.sql(&definition(table), &[]).expect("it is made");
        }
        let mut told: BTreeMap<Csn, Vec<String>> = BTreeMap::new();
        let mut at = Lsn::START;
        let hold = leader.hold_log(at).expect("nothing is cut yet");
        let (mut plain, mut large) = (0, 0);
        for round in 0..ROUNDS {
            for left in (0..1 + random.below(2 * steps / ROUNDS - 1)).rev() {
                step(&leader, &random, (steps / SHORT).max(1));
                if steps <= SHORT || left == 0 {
                    told.insert(leader.newest(), answers(&leader));
                }
            }
            let mut records: Vec<(Lsn, Vec<u8>)> = leader
                .records(at)
                .expect("it is there")
                .map(|record| record.expect("sound"))
                .collect();
            records.truncate(random.below(records.len() as u64 + 1) as usize);
            let mut answered = 0;
            for (end, record) in records {
                if leader.files(&record).expect("it decodes").is_empty() {
                    plain += 1;
                } else {
                    large += 1;
                    assert!(follower.apply(&[&record]).is_err(), "its files are missing");
                    let read = |name: &str, at, part: &mut [u8]| leader.read_file(name, at, part);
                    follower.adopt(&record, read).expect("it copies them");
                }
                let newest = follower.apply(&[record]).expect("it follows");
                at = end;
                hold.advance(at);
                if random.below(4) == 0
                    && let Some(then) = told.get(&newest)
                {
                    same(
                        &answers(&follower),
                        then,
                        &format!("seed {seed}, round {round}, {newest:?}"),
                    );
                    answered += 1;
                }
            }
            match random.below(4) {
                0 => leader.checkpoint().expect("flushes, and cuts the log"),
                1 => leader.compact().expect("merges"),
                _ => {}
            }
            match random.below(6) {
                0 => follower.checkpoint().expect("flushes"),
                1 => follower.compact().expect("merges"),
                2 => {
                    follower.close().expect("closes");
                    follower = open(&env, true);
                }
                _ => {}
            }
            if let Some(then) = told.get(&follower.newest()) {
                let what = format!("seed {seed}, round {round}, after {answered} answers");
                same(&answers(&follower), then, &what);
            }
        }
        // Without the hold the log is cut.
        drop(hold);
        for n in 0..2 {
            step(&leader, &random, 1);
            leader.sql(&format!("select {n}"), &[]).expect("reads");
            leader.compact().expect("merges, and begins the log anew");
        }
        assert!(leader.records(Lsn::START).is_err() || leader.hold_log(Lsn::START).is_err());
        assert!(plain > 20 && large > 2, "seed {seed}: {plain} plain and {large} large commits");
        let refused = ask(&follower, "create table t (a int)");
        assert!(refused[0].contains("read-only transaction"), "{refused:?}");
        assert_eq!(ask(&follower, "select pg_is_in_recovery()"), ["t"]);
        assert!(follower.collection("new").is_err());
    });
}

pub(super) fn same(told: &[String], expected: &[String], what: &str) {
    for (one, other) in told.iter().zip(expected) {
        assert_eq!(one, other, "{what}");
    }
    assert_eq!(told.len(), expected.len(), "{what}");
}

/// The variable that names the folder of a follower in a process of its own.
const FOLDER: &str = "ANYWHEN_FOLLOWER_FOLDER";

/// Does nothing by itself: the follower of the test below, in a process of its own. It reads records from
/// its standard input, each after its length, and writes a hash of all its answers after each.
#[test]
fn follower_in_a_process() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let options = Options { create: Create::IfMissing, follower: true, ..Options::default() };
    let copies = Path::new(&folder).with_extension("files");
    let follower = Database::open_with(&folder, options).expect("opens");
    let mut input = std::io::stdin().lock();
    let mut length = [0; 4];
    while input.read_exact(&mut length).is_ok() {
        let mut record = vec![0; u32::from_le_bytes(length) as usize];
        input.read_exact(&mut record).expect("a whole record");
        let read = |name: &str, at, part: &mut [u8]| {
            let file = std::fs::File::open(copies.join(name)).expect("it was copied");
            std::os::unix::fs::FileExt::read_exact_at(&file, part, at).expect("it is whole");
            Ok(())
        };
        follower.adopt(&record, read).expect("it copies them");
        let newest = follower.apply(&[record]).expect("it follows");
        println!("\nanswers {} {:x}", newest.0, hash(&answers(&follower)));
    }
}

fn hash(answers: &[String]) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    answers.hash(&mut hasher);
    hasher.finish()
}

/// A follower in another process, on real files, that is killed now and then, has its leader's answers too.
#[test]
fn a_follower_in_another_process() {
    let random = SimRandom::new(vfs::seed(71));
    let folder = std::env::temp_dir().join(format!("anywhen-follower-{}", std::process::id()));
    let leader = open(&Env::sim(&SimVfs::unrecorded(), 71), false);
    leader.instance().expect("it has a catalog from its first commit on");
    let start = || {
        let program = std::env::current_exe().expect("it is a file");
        Command::new(program)
            .args(["--exact", "tests::follower::follower_in_a_process", "--nocapture"])
            .env(FOLDER, &folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts")
    };
    let copies = folder.with_extension("files");
    std::fs::create_dir_all(&copies).expect("it is made");
    let mut at = Lsn::START;
    let mut compared = 0;
    for _ in 0..3 {
        let mut follower = start();
        let mut input = follower.stdin.take().expect("it is a pipe");
        let mut output = BufReader::new(follower.stdout.take().expect("it is a pipe")).lines();
        for _ in 0..20 {
            step(&leader, &random, 1);
            let expected = hash(&answers(&leader));
            let records: Vec<_> =
                leader.records(at).expect("it is there").map(|one| one.expect("sound")).collect();
            for (end, record) in records {
                for (name, bytes) in leader.files(&record).expect("it decodes") {
                    let mut file = vec![0; bytes as usize];
                    leader.read_file(&name, 0, &mut file).expect("it is there");
                    std::fs::write(copies.join(name), file).expect("it is written");
                }
                input.write_all(&(record.len() as u32).to_le_bytes()).expect("it listens");
                input.write_all(&record).expect("it listens");
                let line = output.find_map(|line| {
                    line.expect("it answers").strip_prefix("answers ").map(str::to_owned)
                });
                let line = line.expect("it answers");
                let (newest, told) = line.split_once(' ').expect("two words");
                if newest == leader.newest().0.to_string() {
                    assert_eq!(told, format!("{expected:x}"), "at commit {newest}");
                    compared += 1;
                }
                at = end;
            }
        }
        follower.kill().expect("it runs");
        follower.wait().expect("it ends");
        at = Lsn::START;
    }
    assert!(compared > 30, "else it proves little: {compared}");
    std::fs::remove_dir_all(&folder).expect("it is there");
    std::fs::remove_dir_all(&copies).expect("it is there");
}
