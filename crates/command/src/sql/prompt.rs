//! A person at a terminal: line editing, history, completion.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Config, Context, Editor, Helper, Highlighter, Hinter, Validator};

use super::source::{Block, Canceller};
use super::split::Splitter;
use super::{Next, Shell};
use crate::failure::{Failure, Kind, Outcome};
use crate::screen;

/// Words that are offered beside the names of the database.
const WORDS: &str = "\
ALTER ANALYZE AND AS ASC BEGIN BETWEEN BY CASE COMMIT COPY CREATE DELETE DESC DISTINCT DROP ELSE END \
ERASE EXISTS EXPLAIN FOR FROM FULL GROUP HAVING HISTORY ILIKE IN INDEX INNER INSERT INTO IS JOIN LEFT \
LIKE LIMIT MERGE NOT NULL OFFSET ON OR ORDER PRIMARY KEY REFERENCES RETURNING RIGHT ROLLBACK \
SAVEPOINT SELECT SET SHOW SYSTEM_TIME SYSTEM_VERSION TABLE THEN TRUNCATE UNION UNIQUE UPDATE USING \
VALUES VIEW WHEN WHERE WITH";

#[derive(Helper, Hinter, Highlighter, Validator)]
struct Names {
    words: Vec<String>,
}

impl Completer for Names {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _context: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let before = &line[..position];
        let part_of_name = |c: char| c.is_alphanumeric() || c == '_';
        let start = before
            .rfind(|c| !part_of_name(c))
            .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
        let begun = before[start..].to_lowercase();
        let fits = |word: &&String| !begun.is_empty() && word.to_lowercase().starts_with(&begun);
        Ok((start, self.words.iter().filter(fits).cloned().collect()))
    }
}

/// Ctrl-C while a statement runs: the first cancels it, and leaves the shell and the transaction block
/// there; the next, or a signal to terminate at any other time, ends the program.
#[derive(Clone)]
struct Interrupts(Arc<AtomicU8>);

const NOTHING_RUNS: u8 = 0;
const RUNS: u8 = 1;
const CANCELLED: u8 = 2;

/// The exit code of a program that a signal has ended, as shells tell it.
const INTERRUPTED: i32 = 130;

impl Interrupts {
    /// Has `cancel` called for the first signal while a statement runs.
    fn watch(cancel: Canceller) -> Outcome<Self> {
        let state = Arc::new(AtomicU8::new(NOTHING_RUNS));
        let watched = Arc::clone(&state);
        ctrlc::set_handler(move || {
            let seen =
                watched.compare_exchange(RUNS, CANCELLED, Ordering::SeqCst, Ordering::SeqCst);
            match seen {
                Ok(_) => cancel(),
                Err(_) => std::process::exit(INTERRUPTED),
            }
        })
        .map_err(|error| Failure::new(Kind::Broken, format!("signals: {error}")))?;
        Ok(Interrupts(state))
    }

    fn begin(&self) {
        self.0.store(RUNS, Ordering::SeqCst);
    }

    fn end(&self) {
        self.0.store(NOTHING_RUNS, Ordering::SeqCst);
    }
}

/// Reads statements until the person leaves.
pub(super) fn talk(shell: &mut Shell) -> Outcome {
    screen::note("SQL as in PostgreSQL, and the past of every table: \\? for help, \\q to leave");
    let broken = |error: ReadlineError| Failure::new(Kind::Broken, format!("terminal: {error}"));
    let config = Config::builder()
        .completion_type(CompletionType::List)
        .auto_add_history(false)
        .history_ignore_space(true)
        .build();
    let mut editor: Editor<Names, FileHistory> = Editor::with_config(config).map_err(broken)?;
    let remembered = history_file();
    if let Some(path) = &remembered {
        // There is none the first time.
        let _ = editor.load_history(path);
    }
    let interrupts = Interrupts::watch(shell.source.canceller())?;
    let mut splitter = Splitter::default();
    loop {
        editor.set_helper(Some(Names { words: words(shell) }));
        let prompt = match (splitter.is_empty(), shell.source.block()) {
            (true, Block::None) => "anywhen=# ",
            (true, Block::Open) => "anywhen=*# ",
            (true, Block::Failed) => "anywhen=!# ",
            (false, _) => "anywhen-# ",
        };
        let line = match editor.readline(prompt) {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => {
                splitter = Splitter::default();
                continue;
            }
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(broken(error)),
        };
        if !line.trim().is_empty() {
            let _ = editor.add_history_entry(&line);
        }
        let mut quits = false;
        for (piece, _) in splitter.feed(&line) {
            // To a person each statement is a text of its own.
            interrupts.begin();
            let next = shell.piece(piece, 1);
            interrupts.end();
            quits |= matches!(next?, Next::Quit);
        }
        if quits {
            break;
        }
    }
    if let Some(path) = &remembered {
        // A history that cannot be kept is no reason to complain.
        let _ = editor.save_history(path);
    }
    Ok(())
}

/// Where lines are remembered.
fn history_file() -> Option<PathBuf> {
    std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".anywhen_history"))
}

/// What can be completed now; inside a transaction nothing is asked, since asking could fail it.
fn words(shell: &mut Shell) -> Vec<String> {
    let mut words: Vec<String> = WORDS.split_whitespace().map(str::to_owned).collect();
    if shell.source.block() != Block::None {
        return words;
    }
    let names = "SELECT c.relname::text FROM pg_catalog.pg_class c
                 JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                 WHERE n.nspname NOT IN ('pg_catalog', 'information_schema')
                 UNION SELECT a.attname::text FROM pg_catalog.pg_attribute a
                 JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
                 JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                 WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND a.attnum > 0 LIMIT 5000";
    if let Ok(answer) = shell.source.query(names, &[]) {
        words.extend(answer.rows.into_iter().flatten().flatten());
    }
    words
}
