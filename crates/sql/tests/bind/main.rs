//! The binder against tables of what PostgreSQL says to the same statements.
//!
//! A file in `tests/answers` is blocks of lines with empty lines between. A block is a statement
//! and what comes of it: names and types of the columns and the types of the parameters,
//!
//! ```text
//! select id, upper($1) from person
//! => id integer, upper text
//! $ text
//! ```
//!
//! or the error, with its place in characters:
//!
//! ```text
//! select nme from person
//! !! 42703 @8 column "nme" does not exist
//! hint: Perhaps you meant to reference the column "person.name".
//! ```
//!
//! A file in `tests/values` has expressions over one row, and their values as text.
//!
//! One in `tests/assignments` has a column of `person` with what it holds, an assignment to a part
//! of it, and what it holds then:
//!
//! ```text
//! tags = {a,b,c}; tags[2:3] = '{x,y}'
//! => {a,x,y}
//! ```
//!
//! Lines that begin with `#` say what a group of statements is about. A file in `tests/plans` has
//! plans in the place of columns; `ANYWHEN_REWRITE=1` writes what the binder makes now into them.

mod catalog;
mod values;

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use catalog::Catalog;
use types::{Context, Style, Type, TypeSource};

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let entries = fs::read_dir(&folder).expect("the folder is there");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} has tables", folder.display());
    files
}

/// The blocks of a file: comments, the statement, and what is expected.
fn blocks(text: &str) -> Vec<(String, String, String)> {
    let is_answer = |line: &&str| {
        ["=>", "!!", "hint:", "detail:", "$ ", "  ", ": "]
            .iter()
            .any(|start| line.starts_with(start))
    };
    text.split("\n\n")
        .map(str::trim_end)
        .filter(|block| !block.trim().is_empty())
        .map(|block| {
            let lines: Vec<&str> = block.lines().collect();
            let comment: Vec<&str> =
                lines.iter().copied().take_while(|line| line.starts_with('#')).collect();
            let rest = &lines[comment.len()..];
            let statement: Vec<&str> =
                rest.iter().copied().take_while(|line| !is_answer(line)).collect();
            let answer = rest[statement.len()..].join("\n");
            (comment.join("\n"), statement.join("\n"), answer)
        })
        .collect()
}

/// The binder's answer to a statement; `show` prints a plan.
fn answer(statement: &str, show: impl Fn(&sql::bind::Bound, &Catalog) -> String) -> String {
    let catalog = Catalog::new();
    let style = Style::default();
    let context = Context { types: &catalog, ..Context::new(&style) };
    let bound = sql::parse::statements(statement).and_then(|parsed| {
        let first = parsed
            .first()
            .ok_or_else(|| sql::Error::new(types::SqlState::SYNTAX_ERROR, "no statement"))?;
        sql::bind::statement(&first.statement, &catalog, context, &[])
    });
    match bound {
        Ok(bound) => show(&bound, &catalog),
        Err(error) => {
            let at = error.at.position(statement).map_or(String::new(), |at| format!("@{at} "));
            let mut text = format!("!! {} {at}{}", error.cause.state(), error.cause.message());
            if let Some(detail) = error.cause.detail() {
                write!(text, "\ndetail: {detail}").expect("strings take all");
            }
            if let Some(hint) = error.cause.hint() {
                write!(text, "\nhint: {hint}").expect("strings take all");
            }
            text
        }
    }
}

/// The name of a type as clients see it: for a domain, that of the type it is over.
fn type_name(catalog: &Catalog, ty: Type, modifier: types::Modifier) -> String {
    let ty = scalar::facts::Facts(catalog).base(ty);
    types::format_type(catalog as &dyn TypeSource, ty, modifier)
}

/// Columns and parameters as the tables have them.
fn columns(bound: &sql::bind::Bound, catalog: &Catalog) -> String {
    let columns: Vec<String> = bound
        .plan
        .columns
        .iter()
        .map(|column| format!("{} {}", column.name, type_name(catalog, column.ty, column.modifier)))
        .collect();
    let mut text = format!("=> {}", columns.join(", ")).trim_end().to_owned();
    if !bound.params.is_empty() {
        let params: Vec<String> =
            bound.params.iter().map(|ty| type_name(catalog, *ty, types::Modifier::NONE)).collect();
        write!(text, "\n$ {}", params.join(", ")).expect("strings take all");
    }
    text
}

/// Result columns, parameter types and errors are those of PostgreSQL.
#[test]
fn answers() {
    let mut failures = String::new();
    let (mut right, mut wrong) = (0, 0);
    for file in files("answers") {
        let text = fs::read_to_string(&file).expect("the file can be read");
        for (_, statement, expected) in blocks(&text) {
            let found = answer(&statement, columns);
            if found == expected {
                right += 1;
            } else {
                wrong += 1;
                let name = file.file_name().expect("files have names").to_string_lossy();
                write!(failures, "\n{name}: {statement}\n  wanted {expected}\n  found  {found}\n")
                    .expect("strings take all");
            }
        }
    }
    assert!(wrong == 0, "{wrong} of {} statements:\n{failures}", right + wrong);
    assert!(right >= 400, "only {right} statements");
}

/// Plans are what they were.
#[test]
fn plans() {
    let rewrite = std::env::var_os("ANYWHEN_REWRITE").is_some();
    for file in files("plans") {
        let text = fs::read_to_string(&file).expect("the file can be read");
        let mut written = String::new();
        for (comment, statement, expected) in blocks(&text) {
            let indent = |bound: &sql::bind::Bound, _: &Catalog| {
                let plan = sql::explain::explain(&bound.plan);
                let lines: Vec<String> = plan.lines().map(|line| format!(": {line}")).collect();
                lines.join("\n")
            };
            let found = answer(&statement, indent);
            if !rewrite {
                assert_eq!(found, expected, "{}: {statement}", file.display());
            }
            let comment = if comment.is_empty() { comment } else { comment + "\n" };
            write!(written, "{comment}{statement}\n{found}\n\n").expect("strings take all");
        }
        if rewrite {
            fs::write(&file, written.trim_end().to_owned() + "\n")
                .expect("the file can be written");
        }
    }
}

/// Programs give the values that PostgreSQL gives.
#[test]
fn values() {
    let mut failures = String::new();
    for file in files("values") {
        let text = fs::read_to_string(&file).expect("the file can be read");
        for (_, expression, expected) in blocks(&text) {
            let found = values::value(&expression);
            if found != expected {
                write!(failures, "\n{expression}\n  wanted {expected}\n  found  {found}\n")
                    .expect("strings take all");
            }
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

/// An assignment to a part of a column leaves what it leaves in PostgreSQL.
#[test]
fn assignments() {
    let mut failures = String::new();
    for file in files("assignments") {
        let text = fs::read_to_string(&file).expect("the file can be read");
        for (_, assignment, expected) in blocks(&text) {
            let found = values::assigned(&assignment);
            if found != expected {
                write!(failures, "\n{assignment}\n  wanted {expected}\n  found  {found}\n")
                    .expect("strings take all");
            }
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

/// Text that nests as deep as is allowed is read and bound on a thread with a small stack; what
/// nests deeper is refused and does not end the process.
#[test]
fn depth() {
    let nested = |depth: usize| {
        [
            format!("select {}1{}", "(".repeat(depth), ")".repeat(depth)),
            format!("select {}1", "- ".repeat(depth)),
            format!("select {}true", "not ".repeat(depth)),
            format!("select {}1{}", "abs(".repeat(depth), ")".repeat(depth)),
            format!("select {}1{}", "(select ".repeat(depth), ")".repeat(depth)),
            format!("{}select 1{}", "(".repeat(depth), ")".repeat(depth)),
            format!(
                "select * from {}person{}",
                "(".repeat(depth),
                " cross join person)".repeat(depth)
            ),
            format!("select {}1{}", "case when true then ".repeat(depth), " end".repeat(depth)),
            format!("select {}1{}", "array[".repeat(depth), "]".repeat(depth)),
        ]
    };
    let work = move || {
        for statement in nested(100_000) {
            let found = answer(&statement, columns);
            assert!(found.starts_with("!! 54001"), "{found}");
        }
        for statement in [
            format!("select 1{}", " + 1".repeat(100_000)),
            format!("select 1{}", " union all select 1".repeat(100_000)),
            format!("select 1{}", " intersect select 1".repeat(100_000)),
            format!("select 1 from (select 1) t{}", " join (select 1) u on true".repeat(100_000)),
            format!("select 1 from (select 1) t{}", ", (select 1) u".repeat(100_000)),
        ] {
            let found = answer(&statement, columns);
            assert!(found.starts_with("!! 54001"), "{}: {found}", &statement[..40]);
        }
        let recursive = (0..30).fold("select 1".to_owned(), |inner, at| {
            format!(
                "with recursive a{at} as (({inner}) union select 1 from a{at}) select * from a{at}"
            )
        });
        let found = answer(&recursive, columns);
        assert!(found.starts_with("!! 54001"), "{found}");
        for statement in nested(sql::parse::DEPTH_MAX / 3) {
            answer(&statement, columns);
        }
        // Long is not deep.
        for statement in [
            format!("select 1{}", " + 1".repeat(sql::parse::CHAIN_MAX - 1)),
            format!("select true{}", " and true".repeat(20_000)),
            format!("select 1 in (1{})", ", 1".repeat(20_000)),
            format!("values (1){}", ", (1)".repeat(20_000)),
        ] {
            let found = answer(&statement, columns);
            assert!(found.starts_with("=>"), "{}: {found}", &statement[..30]);
        }
    };
    let thread = std::thread::Builder::new().stack_size(8 << 20).spawn(work).expect("a thread");
    thread.join().expect("the stack is large enough");
}

/// No text makes the reader or the binder panic: statements with tokens taken out, exchanged and
/// doubled are errors, or statements.
#[test]
fn damaged_statements() {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    for file in files("answers") {
        let text = fs::read_to_string(&file).expect("the file can be read");
        for (_, statement, _) in blocks(&text) {
            let mut words: Vec<&str> =
                statement.split_inclusive([' ', '(', ')', ',', '.']).collect();
            for _ in 0..3 {
                let at = random(words.len());
                let with = random(words.len());
                match random(3) {
                    0 if words.len() > 1 => {
                        words.remove(at);
                    }
                    1 => words.swap(at, with),
                    _ => words.insert(at, words[with]),
                }
            }
            answer(&words.concat(), columns);
        }
    }
}
