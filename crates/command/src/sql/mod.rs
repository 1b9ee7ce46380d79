//! `anywhen sql`: statements from the command line, a file, a pipe or a person.
//!
//! ```text
//!   -c TEXT ─┐                            ┌─ the database in this process
//!   -f FILE ─┼── split ──> statement ──> source ──> layout ──> standard output
//!   a pipe  ─┤         └─> \d ...    ──> meta    └─ a server (--url)
//!   a person ┘  (line editing, history; help ──> complete, by the names that are known)
//! ```

mod complete;
mod help;
mod known;
mod layout;
mod meta;
mod prompt;
#[expect(clippy::result_large_err, reason = "a refusal is made once and shown to a person")]
mod source;
mod split;
mod token;
mod url;
#[expect(clippy::result_large_err, reason = "as in `source`")]
mod wire;

use std::fs;
use std::io::{BufReader, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::args::{SqlArgs, SqlFormat};
use crate::failure::{Failure, Kind, Outcome};
use crate::screen;
use crate::session::Session;
use layout::Layout;
use source::{Answer, Refusal, Source};
use split::{Piece, Splitter};
use url::Url;
use wire::Client;

/// The state of a run: the source of answers, and how they are shown.
pub(super) struct Shell {
    source: Source,
    layout: Layout,
    /// Says how long each statement took.
    timing: bool,
    /// Ends at the first error.
    stops: bool,
    failed: usize,
    /// The file that statements come from.
    file: Option<PathBuf>,
}

/// Whether there is more to do.
enum Next {
    Go,
    Quit,
}

pub(super) fn sql(session: &mut Session, args: &SqlArgs) -> Outcome {
    let source = match &args.url {
        Some(text) => {
            let url = Url::parse(text, |name| std::env::var(name).ok())?;
            Source::Server(Box::new(Client::connect(&url).map_err(|e| failure(&e))?))
        }
        None => {
            let database = session.database_or_new()?;
            let connection = database.connect().map_err(|error| failure(&error.into()))?;
            Source::Embedded(Box::new(connection))
        }
    };
    let format = match (session.json, args.format) {
        (true, _) => SqlFormat::Json,
        (false, Some(format)) => format,
        (false, None) => SqlFormat::Table,
    };
    let person = std::io::stdin().is_terminal() && args.command.is_empty() && args.file.is_empty();
    let mut shell = Shell {
        source,
        layout: Layout::new(format),
        timing: false,
        stops: !person && !args.keep_going,
        failed: 0,
        file: None,
    };
    for text in &args.command {
        shell.text(text)?;
    }
    for path in &args.file {
        shell.file(path)?;
    }
    if args.command.is_empty() && args.file.is_empty() {
        match person {
            true => prompt::talk(&mut shell)?,
            false => {
                let mut text = String::new();
                std::io::stdin()
                    .read_to_string(&mut text)
                    .map_err(|error| Failure::refused(format!("standard input: {error}")))?;
                shell.text(&text)?;
            }
        }
    }
    match shell.failed {
        0 => Ok(()),
        _ if person => Ok(()),
        failed => {
            Err(Failure::refused(format!("{} failed", screen::count(failed as u64, "statement"))))
        }
    }
}

impl Shell {
    fn file(&mut self, path: &Path) -> Outcome {
        let text = fs::read_to_string(path).map_err(|error| Failure::file(path, &error))?;
        let outer = self.file.replace(path.to_owned());
        let done = self.text(&text);
        self.file = outer;
        done
    }

    /// Runs all pieces of a text, also a last statement without a semicolon.
    fn text(&mut self, text: &str) -> Outcome {
        let mut splitter = Splitter::default();
        for line in text.lines() {
            for (piece, line) in splitter.feed(line) {
                if let Next::Quit = self.piece(piece, line)? {
                    return Ok(());
                }
            }
        }
        if let Some((rest, line)) = splitter.rest() {
            self.piece(Piece::Statement(rest), line)?;
        }
        Ok(())
    }

    /// Runs a piece that begins in line `line` of its text, counted from 1.
    fn piece(&mut self, piece: Piece, line: usize) -> Outcome<Next> {
        let start = Instant::now();
        let done = match piece {
            Piece::Meta(command) => match meta::run(self, &command) {
                Ok(Some(next)) => return Ok(next),
                Ok(None) => {
                    let message = format!("there is no command {command}: \\? lists them");
                    Err(Failure::refused(message))
                }
                Err(failure) => return Err(self.located(failure, line)),
            },
            Piece::Statement(text) => self.statement(&text, line),
        };
        let done = done.map_err(|failure| self.located(failure, line));
        if self.timing {
            screen::note(&format!("Time: {:.3} ms", start.elapsed().as_secs_f64() * 1e3));
        }
        match done {
            Ok(()) => {}
            Err(failure) if self.stops || failure.ends_everything() => return Err(failure),
            Err(failure) => {
                self.failed += 1;
                failure.report(self.layout.format == SqlFormat::Json);
            }
        }
        Ok(Next::Go)
    }

    /// Adds the file and the line to a failure, if the text comes from a file.
    fn located(&self, failure: Failure, line: usize) -> Failure {
        match &self.file {
            Some(path) => failure.at(format!("{}, line {line}", path.display())),
            None => failure,
        }
    }

    /// Runs a statement that begins in line `line` of its text, and shows the answer.
    fn statement(&mut self, text: &str, line: usize) -> Outcome {
        if meta::is_copy(text) {
            return self.copy(text, line);
        }
        let done = self.source.query(text, &[]);
        self.notices();
        self.show(&done.map_err(|error| in_text(&error, text, line))?)
    }

    /// Runs `COPY` with the streams of this process.
    fn copy(&mut self, text: &str, line: usize) -> Outcome {
        let reads = text.to_ascii_lowercase().contains("from stdin");
        let done = match reads {
            true => self.source.copy_in(text, &mut BufReader::new(std::io::stdin())),
            false => self.source.copy_out(text, &mut screen::out()),
        };
        self.notices();
        let rows = done.map_err(|error| in_text(&error, text, line))?;
        if reads && self.layout.format == SqlFormat::Table {
            screen::text(&format!("COPY {rows}"))?;
        }
        Ok(())
    }

    fn show(&self, answer: &Answer) -> Outcome {
        self.layout.show(answer)
    }

    fn notices(&mut self) {
        for notice in self.source.notices() {
            screen::note(&format!("{}:  {}", notice.severity, notice.message));
        }
    }
}

/// A refusal with the line of the statement that it is about; the statement begins in line `first`.
fn in_text(refusal: &Refusal, text: &str, first: usize) -> Failure {
    let mut message = refusal.message.clone();
    if !refusal.state.is_empty() {
        message += &format!(" ({})", refusal.state);
    }
    if let Some(detail) = &refusal.detail {
        message += &format!("\ndetail: {detail}");
    }
    if let Some(position) = refusal.position {
        let at = text.char_indices().nth(position as usize - 1).map_or(text.len(), |(at, _)| at);
        let start = text[..at].rfind('\n').map_or(0, |at| at + 1);
        let line = text[start..].lines().next().unwrap_or_default();
        let number = text[..at].matches('\n').count() + first;
        let head = format!("line {number}: ");
        let column = text[start..at].chars().count() + head.chars().count();
        message += &format!("\n{head}{line}\n{}^", " ".repeat(column));
    }
    let kind = match refusal.state.as_str() {
        // The disk failed, or what is on it is damaged.
        "58030" | "XX001" | "XX002" => Kind::Broken,
        _ if refusal.is_end => Kind::Lost,
        _ => Kind::Refused,
    };
    let failure = Failure::new(kind, message);
    match &refusal.hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

fn failure(refusal: &Refusal) -> Failure {
    in_text(refusal, "", 1)
}
