//! Damage, as callers of SQL and of the library meet it: its code is XX001 or XX002, its text says so and names the
//! file, and its sources lead to the check that failed. It is never a mistake of the caller, and never "no rows".

#![cfg(feature = "sql")]

use std::error::Error as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use anywhen::{Causes, Create, Database, Error, Meta, Options, Result};
use vfs::{CrashPolicy, Env, FaultKind, FaultPlan, OpClasses, SimRandom, SimVfs};

const SEED: u64 = 77;
const FLIPS: usize = 400;
const METHODS: [&str; 4] = ["heap", "columnar", "rowcompress", "document"];

fn open(disk: &SimVfs) -> Result<Database> {
    let mut options = Options::default();
    options.cache_bytes = 1 << 20;
    options.create = Create::IfMissing;
    Database::open_env(&Env::sim(disk, SEED), Path::new("/data"), options)
}

fn run(database: &Database, text: &str) -> Result<()> {
    Ok(database.connect()?.execute(text, &[]).map(drop)?)
}

/// Tables of each method with indexes and some past, and a collection, most of it in files.
fn filled() -> SimVfs {
    let disk = SimVfs::new(SEED);
    let database = open(&disk).unwrap();
    for method in METHODS {
        let doc = if method == "document" { ", doc jsonb" } else { "" };
        let made = format!(
            "CREATE TABLE {method}_t (id int PRIMARY KEY, n int, name text{doc}) USING {method}"
        );
        run(&database, &made).unwrap();
        run(&database, &format!("CREATE INDEX ON {method}_t (n)")).unwrap();
        let doc = if method == "document" {
            ", jsonb_build_object('n', id, 'list', array[1, 2])"
        } else {
            ""
        };
        let filled = format!(
            "INSERT INTO {method}_t SELECT id, id % 50, 'name ' || id{doc} FROM generate_series(1, 400) id"
        );
        run(&database, &filled).unwrap();
    }
    database.checkpoint().unwrap();
    for method in METHODS {
        run(&database, &format!("UPDATE {method}_t SET name = name || '!' WHERE id % 7 = 0"))
            .unwrap();
        run(&database, &format!("DELETE FROM {method}_t WHERE id % 31 = 0")).unwrap();
    }
    let notes = database.collection("notes").unwrap();
    for round in 0..20 {
        for key in ["a", "b"] {
            let meta = Meta { message: format!("round {round}"), ..Meta::default() };
            let text = format!(r#"{{"n":{round},"rows":[{{"id":{round}}},{{"id":2}}]}}"#);
            notes.put_with(key, text, &meta).unwrap();
        }
    }
    drop(notes);
    database.compact().unwrap();
    run(&database, "INSERT INTO heap_t VALUES (1000, 1, 'late')").unwrap();
    database.close().unwrap();
    disk.image(disk.op_count(), &CrashPolicy::Everything, 0)
}

/// Questions to SQL.
fn questions() -> Vec<String> {
    let mut all = vec![
        "SELECT relname, relkind FROM pg_class WHERE relname LIKE '%\\_t%' ORDER BY 1".to_owned(),
        "SELECT count(*), max(message) FROM commits".to_owned(),
        "SELECT version, message FROM history('notes', 'a')".to_owned(),
        "SELECT from_version, value FROM node_history('notes', 'a', '$.n') ORDER BY 1".to_owned(),
        "SELECT path, version FROM blame('notes', 'b') ORDER BY 1".to_owned(),
        "SELECT * FROM diff('notes', 'a', 3, 5)".to_owned(),
        "SELECT * FROM notes ORDER BY 1".to_owned(),
    ];
    for method in METHODS {
        all.push(format!("SELECT * FROM {method}_t ORDER BY id"));
        all.push(format!("SELECT name FROM {method}_t WHERE id = 70"));
        all.push(format!("SELECT id FROM {method}_t WHERE n = 7 ORDER BY id"));
        all.push(format!("SELECT n, count(*), max(name) FROM {method}_t GROUP BY n ORDER BY n"));
        all.push(format!("SELECT id, name FROM {method}_t FOR SYSTEM_TIME ALL ORDER BY id, name"));
        all.push(format!("INSERT INTO {method}_t VALUES (71, 1, 'x') ON CONFLICT DO NOTHING"));
        all.push(format!("UPDATE {method}_t SET n = n WHERE id = 72"));
    }
    all.push("SELECT a.id FROM heap_t a JOIN columnar_t b ON a.n = b.id ORDER BY 1".to_owned());
    all
}

fn ask(database: &Database, text: &str) -> Result<String> {
    let rows = database.connect()?.query(text, &[])?;
    Ok(format!("{:?}", rows.rows))
}

/// The answers of SQL and of the library, each with its question.
fn answers(database: &Database) -> Vec<(String, Result<String>)> {
    let mut all: Vec<_> =
        questions().into_iter().map(|text| (text.clone(), ask(database, &text))).collect();
    let mut tell = |question: &str, answer: Result<String>| all.push((question.to_owned(), answer));
    let Some(notes) = database.find_collection("notes") else {
        return all;
    };
    for key in ["a", "b"] {
        let text = |document: Option<anywhen::Document>| match document {
            Some(document) => document.to_json(),
            None => Ok("none".to_owned()),
        };
        tell(&format!("get {key}"), notes.get(key).and_then(text).map_err(Error::from));
        let old = notes.at(anywhen::Revision(4)).get(key).and_then(text);
        tell(&format!("get {key} at 4"), old.map_err(Error::from));
        let runs = notes.node_history(key, "$.n").map(|runs| format!("{runs:?}"));
        tell(&format!("history of {key}"), runs.map_err(Error::from));
        let value = notes.get(key).and_then(|found| found.map(|it| it.tree().jsonb()).transpose());
        tell(&format!("value of {key}"), value.map(|it| format!("{it:?}")).map_err(Error::from));
    }
    all
}

/// Checks an error of damaged files.
fn check_damage(question: &str, error: &Error) {
    let text = Causes(error).to_string();
    assert!(error.is_damage(), "{question}: {}: {text}", error.sqlstate());
    assert!(text.contains("damaged"), "{question}: {text}");
}

/// Each answer is the right one, or an error of damage that names the file and leads to the check that failed.
#[test]
fn flips_give_errors_of_damage() {
    let disk = filled();
    let database = open(&disk.image(0, &CrashPolicy::Everything, 0)).unwrap();
    let truth: Vec<(String, String)> =
        answers(&database).into_iter().map(|(asked, it)| (asked, it.unwrap())).collect();
    drop(database);
    let extent = |path: &Path| {
        let bytes = disk.content(path).expect("it is there");
        bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last as u64 + 1)
    };
    let files = disk.files().into_iter().map(|(path, _)| (extent(&path), path));
    let files: Vec<_> = files.filter(|(extent, _)| *extent > 0).collect();
    let random = SimRandom::new(SEED + 1);
    let (mut refused, mut damaged) = (0, 0);
    for number in 0..FLIPS {
        let (extent, path) = &files[number % files.len()];
        let disk = disk.image(0, &CrashPolicy::Everything, 0);
        let bit = random.below(extent * 8);
        assert!(disk.flip_bit(path, bit));
        let place = format!("bit {bit} of {}", path.display());
        let flipped = AssertUnwindSafe(|| {
            let database = match open(&disk) {
                Ok(database) => database,
                Err(error) => {
                    check_damage(&place, &error);
                    refused += 1;
                    return;
                }
            };
            let mut wrong = 0;
            for ((asked, right), (_, found)) in truth.iter().zip(answers(&database)) {
                match found {
                    Ok(found) => assert_eq!(&found, right, "{place}: {asked}"),
                    Err(error) => {
                        let asked = format!("{place}: {asked}");
                        check_damage(&asked, &error);
                        let text = Causes(&error).to_string();
                        let name = path.file_name().unwrap().to_string_lossy();
                        assert!(text.contains(&*name), "{asked}: {text} names no {name}");
                        wrong += 1;
                    }
                }
            }
            damaged += usize::from(wrong > 0);
        });
        assert!(catch_unwind(flipped).is_ok(), "{place}");
    }
    println!("{FLIPS} flips in {} files: {refused} refused, {damaged} found", files.len());
    assert!(refused > FLIPS / 20 && damaged > FLIPS / 10, "{refused} and {damaged}");
}

/// A disk that fails while a commit is on its way: 53100 where it is full, 58030 otherwise, for this commit and those
/// after it, and the sources lead to the error of the operating system.
#[test]
fn a_failed_disk_has_its_code_and_its_source() {
    for (kind, state) in [(FaultKind::Eio, "58030"), (FaultKind::Enospc, "53100")] {
        let disk = filled();
        let database = open(&disk).unwrap();
        let notes = database.collection("notes").unwrap();
        disk.fail(FaultPlan { nth: 0, kind, once: true, on: OpClasses::SYNC });
        let errors = [
            Error::from(notes.put("a", "1").unwrap_err()),
            Error::from(notes.put("b", "1").unwrap_err()),
            run(&database, "INSERT INTO heap_t VALUES (2000, 1, 'x')").unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.sqlstate().code(), state, "{}", Causes(&error));
            let mut next = error.source();
            let mut system = None;
            while let Some(source) = next {
                system = source.downcast_ref::<std::io::Error>().or(system);
                next = source.source();
            }
            let system = system.unwrap_or_else(|| panic!("no source: {error:?}"));
            assert!(system.raw_os_error().is_some(), "{system:?}");
        }
    }
}
