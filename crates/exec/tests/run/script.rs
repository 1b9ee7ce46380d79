//! Files of statements and answers.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A statement and what comes of it.
pub struct Block {
    pub comment: String,
    pub statement: String,
    pub answer: String,
}

/// The files of a folder, in order.
pub fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let entries = fs::read_dir(&folder).expect("the folder is there");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

/// The blocks of a file.
pub fn blocks(text: &str) -> Vec<Block> {
    let is_answer =
        |line: &&str| [">", "!", ": ", "= "].iter().any(|start| line.starts_with(start));
    text.split("\n\n")
        .map(str::trim_end)
        .filter(|block| !block.trim().is_empty())
        .map(|block| {
            let lines: Vec<&str> = block.lines().collect();
            let comments = lines.iter().take_while(|line| line.starts_with('#')).count();
            let answers = lines.iter().position(&is_answer).unwrap_or(lines.len());
            Block {
                comment: lines[..comments].join("\n"),
                statement: lines[comments..answers].join("\n"),
                answer: lines[answers..].join("\n"),
            }
        })
        .collect()
}

/// The text of a file.
pub fn text(blocks: &[Block]) -> String {
    let block = |block: &Block| {
        let parts = [&block.comment, &block.statement, &block.answer];
        let parts: Vec<&str> =
            parts.into_iter().filter(|part| !part.is_empty()).map(String::as_str).collect();
        parts.join("\n")
    };
    blocks.iter().map(block).collect::<Vec<_>>().join("\n\n") + "\n"
}

/// True if the answers are the same, rows in any order unless the statement has one.
pub fn same(statement: &str, wanted: &str, found: &str) -> bool {
    if statement.contains("order by") {
        return wanted == found;
    }
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    sorted(wanted) == sorted(found)
}

/// Asks PostgreSQL for the answers.
pub fn ask(psql: &str, blocks: &mut [Block]) {
    let database = "anywhen_exec";
    let run = |database: &str, statement: &str| {
        let script = format!(
            "PGOPTIONS='-c timezone=UTC -c intervalstyle=postgres' {psql} -d {database} -X -A -t -q \
             -F ' | ' -P null=null -v VERBOSITY=verbose -f - 2>&1"
        );
        let mut child = Command::new("sh")
            .args(["-c", &script])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("psql starts");
        std::io::Write::write_all(&mut child.stdin.take().expect("a pipe"), statement.as_bytes())
            .expect("psql reads");
        let output = child.wait_with_output().expect("psql ends");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    run("postgres", &format!("drop database if exists {database};"));
    run("postgres", &format!("create database {database} template template0;"));
    for block in blocks.iter_mut().filter(|block| !block.comment.contains("(own)")) {
        let said = run(database, &format!("{};", block.statement));
        let error = said.lines().find_map(|line| line.split_once("ERROR:  "));
        block.answer = match error {
            Some((_, error)) => {
                let (state, message) = error.split_once(": ").unwrap_or((error, ""));
                format!("! {state} {message}")
            }
            None => {
                let rows: Vec<String> = said.lines().map(|line| format!("> {line}")).collect();
                if rows.is_empty() { "= nothing".to_owned() } else { rows.join("\n") }
            }
        };
    }
    run("postgres", &format!("drop database if exists {database};"));
}
