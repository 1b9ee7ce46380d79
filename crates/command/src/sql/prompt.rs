//! A person at a terminal: line editing, history, completion.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Config, Context, Editor, Helper, Highlighter, Hinter, Validator};

use super::complete::complete;
use super::known::Known;
use super::source::{Block, Canceller};
use super::split::Splitter;
use super::{Next, Shell};
use crate::failure::{Failure, Kind, Outcome};
use crate::screen;

/// Completes the word at the cursor.
#[derive(Helper, Hinter, Highlighter, Validator, Default)]
struct Completion {
    known: Known,
    /// The lines of the statement before the one that is edited.
    begun: String,
    files: FilenameCompleter,
}

impl Completer for Completion {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _context: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let (before, after) = line.split_at(position);
        if self.begun.trim().is_empty() && before.trim_start().starts_with("\\i ") {
            return self.files.complete_path(line, position);
        }
        let before = format!("{}{before}", self.begun);
        let (replaced, found) = complete(&self.known, &before, after);
        let pair = |word: String| Pair { display: word.clone(), replacement: word };
        Ok((position.saturating_sub(replaced), found.into_iter().map(pair).collect()))
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

/// The statements of the last [`talk`], which signals cancel. A process has one handler, and `anywhen shell` may begin
/// many of them.
static WATCHED: Mutex<Option<Watched>> = Mutex::new(None);

struct Watched {
    state: Arc<AtomicU8>,
    cancel: Canceller,
}

/// Takes a signal.
fn interrupted() {
    let watched = WATCHED.lock().unwrap_or_else(PoisonError::into_inner);
    let begins = |watched: &&Watched| {
        let state = &watched.state;
        state.compare_exchange(RUNS, CANCELLED, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    };
    match watched.as_ref().filter(begins) {
        Some(watched) => (watched.cancel)(),
        None => std::process::exit(INTERRUPTED),
    }
}

impl Interrupts {
    /// Has `cancel` called for the first signal while a statement runs.
    fn watch(cancel: Canceller) -> Outcome<Self> {
        let state = Arc::new(AtomicU8::new(NOTHING_RUNS));
        let watched = Watched { state: Arc::clone(&state), cancel };
        let before = WATCHED.lock().unwrap_or_else(PoisonError::into_inner).replace(watched);
        if before.is_none() {
            ctrlc::set_handler(interrupted)
                .map_err(|error| Failure::new(Kind::Broken, format!("signals: {error}")))?;
        }
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
    let mut editor: Editor<Completion, FileHistory> =
        Editor::with_config(config).map_err(broken)?;
    let remembered = history_file();
    if let Some(path) = &remembered {
        // There is none the first time.
        let _ = editor.load_history(path);
    }
    let interrupts = Interrupts::watch(shell.source.canceller())?;
    let mut splitter = Splitter::default();
    let mut completion = Completion::default();
    completion.known.refresh(&mut shell.source);
    editor.set_helper(Some(completion));
    loop {
        if let Some(completion) = editor.helper_mut() {
            completion.begun = splitter.begun().to_owned();
        }
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
        let (mut quits, mut ran) = (false, false);
        for (piece, _) in splitter.feed(&line) {
            // To a person each statement is a text of its own.
            interrupts.begin();
            let next = shell.piece(piece, 1);
            interrupts.end();
            quits |= matches!(next?, Next::Quit);
            ran = true;
        }
        if quits {
            break;
        }
        // Any statement may have made or removed something.
        if ran && let Some(completion) = editor.helper_mut() {
            completion.known.refresh(&mut shell.source);
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
