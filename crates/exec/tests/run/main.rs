//! Statements against what PostgreSQL answers to them.
//!
//! A file in `tests/queries` is blocks of lines with empty lines between. A block is a statement and
//! what comes of it: rows with their values as text, or the error.
//!
//! ```text
//! # Lines that begin with # say what statements are about.
//! select n, n / (n - 2) from generate_series(1, 2) n
//! ! 22012 division by zero
//!
//! select 1, null
//! > 1 | null
//! ```
//!
//! Rows are compared in their order where the statement has an `order by`, and as a set else.
//!
//! The answers are PostgreSQL's own: `ANYWHEN_PSQL='psql -h localhost -U postgres' cargo test -p
//! exec` asks a server for them, in a database of its own, and writes them into the files. Blocks
//! whose comment has `(own)` are about what PostgreSQL does not have, and are left as they are.

mod cost;
mod define;
mod indexes;
mod script;
mod session;
mod sessions;
mod spilling;
mod world;

use std::fs;

/// Plans are what they were. A file in `tests/plans` defines tables and then has statements with their
/// plans; `ANYWHEN_REWRITE=1` writes what is made now into it.
#[test]
fn plans() {
    let rewrite = std::env::var_os("ANYWHEN_REWRITE").is_some();
    for path in script::files("plans") {
        let text = fs::read_to_string(&path).expect("the file can be read");
        let mut blocks = script::blocks(&text);
        let mut session = session::Session::new(&world::World::new());
        for block in &mut blocks {
            let statement = &block.statement;
            let found = if statement.starts_with("create") {
                session.answer(statement)
            } else {
                match session.prepare(statement) {
                    Ok(prepared) => {
                        let text = prepared.explain();
                        text.lines().map(|line| format!(": {line}")).collect::<Vec<_>>().join("\n")
                    }
                    Err(error) => format!("! {} {}", error.state(), error.message()),
                }
            };
            if !rewrite {
                assert_eq!(found, block.answer, "{}: {statement}", path.display());
            }
            block.answer = found;
        }
        if rewrite {
            fs::write(&path, script::text(&blocks)).expect("the file can be written");
        }
    }
}

/// Every statement gives what PostgreSQL gives.
#[test]
fn queries() {
    let psql = std::env::var("ANYWHEN_PSQL").ok();
    let (mut right, mut failures) = (0, String::new());
    for path in script::files("queries") {
        let text = fs::read_to_string(&path).expect("the file can be read");
        let mut blocks = script::blocks(&text);
        if let Some(psql) = &psql {
            script::ask(psql, &mut blocks);
            fs::write(&path, script::text(&blocks)).expect("the file can be written");
        }
        let mut session = session::Session::new(&world::World::new());
        for block in &blocks {
            let found = session.answer(&block.statement);
            if script::same(&block.statement, &block.answer, &found) {
                right += 1;
                continue;
            }
            let name = path.file_name().expect("files have names").to_string_lossy();
            failures += &format!(
                "\n{name}: {}\n wanted\n{}\n found\n{found}\n",
                block.statement, block.answer
            );
        }
    }
    let wrong = failures.matches("\n wanted\n").count();
    assert!(failures.is_empty(), "{wrong} of {} statements:\n{failures}", right + wrong);
    assert!(right >= 300, "only {right} statements");
}
