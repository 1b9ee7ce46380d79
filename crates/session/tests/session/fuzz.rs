//! Statements that nobody would write: no panic, no internal error, and the database answers.
//!
//! ```text
//!   generated     SELECT (a ->> 'k')::int[] OVER (PARTITION BY ...) ...      from a grammar
//!   nested        everything inside everything, most of it well typed        from a larger one
//!   spoiled       SELECT ((((( FROM t WHERE $1 99999999999999999999 ,        from tests/sql/*.slt
//! ```
//!
//! Each seed is a database of its own; a statement has 300 ms and 64 MB. `ANYWHEN_SEED=<seed>` plays
//! one of them again, `ANYWHEN_TIMES=<n>` runs so many times as many.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use session::{Done, Error, Instance, Options, Session, Status};
use txn::EngineOptions;
use vfs::{Env, SimRandom, SimVfs, seeds};

use crate::client::{TextOutput, connect};
use crate::generate::{TABLE, mutated, row, statement};
use crate::grammar::any_statement;

/// A database whose clock is the machine's, so that statements can run out of time, with tables to
/// ask: `plain` and `keyed` hold the same rows, `keyed` has indexes.
pub fn world(random: &SimRandom) -> Arc<Instance> {
    let env = Env { clock: Env::os().clock, ..Env::sim(&SimVfs::unrecorded(), random.next()) };
    let options = Options {
        env,
        settings: vec![("statement_timeout".to_owned(), "300ms".to_owned())],
        memory_bytes_max: 64 << 20,
        memory_total_bytes: None,
        defaults: Vec::new(),
        folder: None,
        temporary: Some("spilled".into()),
    };
    let instance = Instance::open_at(Path::new("db"), EngineOptions::default(), options)
        .expect("a new database opens");
    let mut session = connect(&instance);
    let rows: Vec<String> = (0..40).map(|id| row(random, id)).collect();
    let rows = rows.join(", ");
    for text in [
        format!("CREATE TABLE plain {TABLE}"),
        format!("CREATE TABLE keyed {TABLE}"),
        format!("INSERT INTO plain VALUES {rows}"),
        "ALTER TABLE keyed ADD PRIMARY KEY (id)".to_owned(),
        "CREATE INDEX ON keyed (a, b)".to_owned(),
        "CREATE INDEX ON keyed (c)".to_owned(),
        "CREATE INDEX ON keyed (d DESC)".to_owned(),
        "CREATE INDEX ON keyed (e, f)".to_owned(),
        "CREATE INDEX ON keyed USING gin (j)".to_owned(),
        format!("INSERT INTO keyed VALUES {rows}"),
        "CREATE TABLE scratch (n int PRIMARY KEY, v text)".to_owned(),
        "INSERT INTO scratch VALUES (1, 'one'), (2, NULL)".to_owned(),
    ] {
        ask(&mut session, &text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    }
    instance
}

/// Runs a Query message to its end.
pub fn ask(session: &mut Session, text: &str) -> Result<Vec<String>, Error> {
    let done = run(session, text);
    if done.is_err() {
        session.fail();
    }
    session.end().and(done)
}

fn run(session: &mut Session, text: &str) -> Result<Vec<String>, Error> {
    let mut kept = TextOutput::default();
    let statements = session.read(text)?;
    let alone = statements.len() == 1;
    for statement in statements {
        let mut portal = session.start(statement, alone)?;
        if let Done::CopyIn(_) = session.execute(&mut portal, 0, &mut kept)? {
            session.copy_end()?;
        }
    }
    Ok(kept.0)
}

/// Has statements stopped that run for too long, while `work` is at it.
pub fn watched<T>(instance: &Instance, work: impl FnOnce() -> T) -> T {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(20));
                instance.watch();
            }
        });
        let result = catch_unwind(AssertUnwindSafe(work));
        is_over.store(true, Ordering::Relaxed);
        result.unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// Plays statements to one database; none may panic or fail for a reason of its own.
fn play(seed: u64, count: u64, mut next: impl FnMut(&SimRandom) -> String) -> u64 {
    let random = SimRandom::new(seed);
    let instance = world(&random);
    watched(&instance, || {
        let mut session = connect(&instance);
        let mut well = 0;
        for _ in 0..count {
            let text = next(&random);
            let done = catch_unwind(AssertUnwindSafe(|| ask(&mut session, &text)));
            match done {
                Err(panic) => {
                    eprintln!("it panics: {text}");
                    resume_unwind(panic);
                }
                Ok(Ok(_)) => well += 1,
                Ok(Err(error)) => {
                    let code = error.state().to_string();
                    assert!(!code.starts_with("XX"), "{error:?} of {text}");
                }
            }
            if session.status() != Status::Idle || random.chance(1, 50) {
                ask(&mut session, "ROLLBACK").expect("a block can be left");
                ask(&mut session, "RESET ALL").expect("settings can be set back");
            }
        }
        let mut other = connect(&instance);
        let kept = ask(&mut other, "SELECT count(*) FROM keyed").expect("it answers");
        assert_eq!(kept.len(), 1);
        well
    })
}

/// Statements from a grammar.
#[test]
fn generated_statements() {
    let well = AtomicU64::new(0);
    seeds(1, 20, |seed| {
        well.fetch_add(play(seed, 400, statement), Ordering::Relaxed);
    });
    println!("8000 statements, {} of them went well", well.into_inner());
}

/// Queries in calls in windows in queries, with all functions, operators and types that there are: a
/// statement gives rows or an error of its own, and the binder never loses its way.
#[test]
fn nested_statements() {
    let well = AtomicU64::new(0);
    seeds(1, 20, |seed| {
        let next = |random: &SimRandom| {
            let text = any_statement(random);
            match random.chance(1, 10) {
                true => mutated(random, &text, &any_statement(random)),
                false => text,
            }
        };
        well.fetch_add(play(seed, 150, next), Ordering::Relaxed);
    });
    println!("3000 statements, {} of them went well", well.into_inner());
}

/// Statements of the project's own tests, spoiled.
#[test]
fn spoiled_statements() {
    let statements = statements();
    assert!(statements.len() > 2_000, "{} statements", statements.len());
    let well = AtomicU64::new(0);
    seeds(1, 20, |seed| {
        let one = |random: &SimRandom| &*statements[random.below(statements.len() as u64) as usize];
        well.fetch_add(
            play(seed, 400, |random| mutated(random, one(random), one(random))),
            Ordering::Relaxed,
        );
    });
    println!("8000 statements, {} of them went well", well.into_inner());
}

/// The statements of `tests/sql`.
fn statements() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sql");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("the files are there").filter_map(Result::ok).collect();
    files.sort_by_key(|file| file.path());
    let mut statements = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(file.path()).expect("a file can be read");
        for record in text.split("\n\n") {
            let mut lines = record.lines().skip_while(|line| {
                line.starts_with('#')
                    || line.starts_with("connection")
                    || line.starts_with("onlyif")
            });
            let kind = lines.next().unwrap_or_default();
            let lines: Vec<&str> = lines.take_while(|line| *line != "----").collect();
            if kind.starts_with("statement") || kind.starts_with("query") {
                statements.push(lines.join("\n"));
            }
        }
    }
    statements
}
