//! jsonb and json against tables of answers that PostgreSQL 17 gave.
//!
//! A line of a table is `signature | argument ... => result`, where the signature is SQL with types
//! in the places of the arguments. Results are text as psql shows it, `NULL`, rows joined by ` ; `,
//! or `!SQLSTATE message / detail // hint`.

mod lazy;
mod paths;
mod properties;
mod tables;

use crate::jsonb::JsonbError;

/// One line of a table.
struct Case<'t> {
    signature: &'t str,
    arguments: Vec<&'t str>,
    result: &'t str,
}

/// The cases of a table: comments and empty lines are not.
fn cases(table: &str) -> impl Iterator<Item = Case<'_>> {
    let lines = table.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| {
        let (call, result) = line.split_once(" => ").expect("a result after =>");
        let mut parts = call.split(" | ").map(|part| if part == "(empty)" { "" } else { part });
        let signature = parts.next().expect("a signature");
        Case { signature, arguments: parts.collect(), result }
    })
}

/// Runs every case of a table through `answer` and shows all that came out differently.
fn check(table: &str, answer: impl Fn(&Case<'_>) -> String) {
    let mut wrong = Vec::new();
    let mut count = 0;
    for case in cases(table) {
        count += 1;
        let answer = answer(&case).replace('\n', "\\n");
        if answer != case.result {
            let Case { signature, arguments, result } = case;
            wrong.push(format!(
                "{signature} {arguments:?}\n  expected {result}\n  found    {answer}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {count} differ\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 0, "an empty table");
}

/// An error as the tables write it.
fn refusal(error: &JsonbError) -> String {
    report(error.sqlstate(), error, error.detail(), error.hint())
}

fn report(
    sqlstate: &str,
    message: &dyn std::fmt::Display,
    detail: Option<impl std::fmt::Display>,
    hint: Option<impl std::fmt::Display>,
) -> String {
    let detail = detail.map_or(String::new(), |detail| format!(" / {detail}"));
    let hint = hint.map_or(String::new(), |hint| format!(" // {hint}"));
    format!("!{sqlstate} {message}{detail}{hint}")
}

fn nullable(text: Option<impl std::fmt::Display>) -> String {
    text.map_or("NULL".to_owned(), |text| text.to_string())
}

fn rows(rows: impl Iterator<Item = String>) -> String {
    let rows = Vec::from_iter(rows);
    if rows.is_empty() { "EMPTY".to_owned() } else { rows.join(" ; ") }
}

impl Case<'_> {
    /// The elements of the argument that is an array of text; none if there is no such.
    fn texts(&self) -> Vec<Option<String>> {
        let is_array = self.signature.contains("text[]");
        let text = self.arguments.get(1).filter(|_| is_array);
        text.map_or(Vec::new(), |text| text_array(text).1)
    }
}

/// The dimensions and elements of an array of text as PostgreSQL writes it.
fn text_array(text: &str) -> (Vec<usize>, Vec<Option<String>>) {
    let (mut dimensions, mut texts) = (Vec::new(), Vec::new());
    // Elements so far on each level that is open; levels close for the first time innermost first.
    let mut open: Vec<usize> = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '{' => {
                if let Some(count) = open.last_mut() {
                    *count += 1;
                }
                open.push(0);
            }
            '}' => {
                let count = open.pop().expect("a brace is open");
                if dimensions.len() <= open.len() {
                    dimensions.resize(open.len() + 1, 0);
                }
                dimensions[open.len()] = count;
            }
            ',' | ' ' => {}
            _ => {
                *open.last_mut().expect("a brace is open") += 1;
                let mut element = String::new();
                if c == '"' {
                    while let Some(c) = chars.next().filter(|&c| c != '"') {
                        element.push(if c == '\\' { chars.next().unwrap() } else { c });
                    }
                    texts.push(Some(element));
                } else {
                    element.push(c);
                    while let Some(c) = chars.next_if(|c| !matches!(c, ',' | '}')) {
                        element.push(c);
                    }
                    texts.push((element != "NULL").then_some(element));
                }
            }
        }
    }
    (if texts.is_empty() { Vec::new() } else { dimensions }, texts)
}
