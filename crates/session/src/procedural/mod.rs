//! `DO`: blocks of PL/pgSQL, whose statements are run one by one.
//!
//! ```text
//!   text ──parse::plpgsql──> Code ──> Runner       steps      control: IF, loops, blocks
//!                                       │          values     variables, and what names in SQL mean
//!                                       │          evaluate   expressions, assignments, casts
//!                                       │          statements SQL, EXECUTE, loops over rows
//!                                       │          messages   RAISE, ASSERT, GET DIAGNOSTICS
//!                                       │          ends       EXCEPTION, COMMIT, ROLLBACK
//!                                       v
//!                          plans with variables as parameters, portals, savepoints
//! ```
//!
//! An expression is the `SELECT` of it. Its plan is kept while the block runs, as long as the catalog and the types of
//! its variables stay. A block with `EXCEPTION` begins at a mark, as a savepoint does: where an error is handled the
//! transaction goes back to the mark, and variables keep their values.
//!
//! # Invariants
//! - The statements of a block see what those before have done: each takes a snapshot as a statement of its own would.
//! - The rows of a loop are those of the moment at which it began: all are read before its first turn, and lie in
//!   memory or in a file.
//! - An error gets the line at which it came up once, where it comes up.

mod ends;
mod evaluate;
mod messages;
mod statements;
mod steps;
mod values;

use std::collections::HashMap;
use std::sync::Arc;

use sql::parse::plpgsql::{self, Code};
use types::{Datum, SqlState};

use crate::error::{Error, Result, caught};
use crate::portal::{Output, Portal, Work};
use crate::session::{Session, done};
use crate::transaction::Block;
use evaluate::Plan;
use values::Values;

/// How many blocks may run one another, by `EXECUTE 'DO ...'`.
const BLOCKS_MAX: u32 = 16;

/// How deep statements may be nested, those of all blocks that run one another together.
const LEVELS_MAX: u32 = 150;

/// How many bytes of messages a block may send before it ends.
const MESSAGE_BYTES_MAX: usize = 64 << 20;

/// An error, and whether its context has the line of the block.
struct Failure {
    error: Error,
    is_placed: bool,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure { error, is_placed: false }
    }
}

impl From<types::Error> for Failure {
    fn from(error: types::Error) -> Self {
        Error::from(error).into()
    }
}

/// The failure or result of a step.
type Tried<T> = std::result::Result<T, Failure>;

/// Runs the code of a block.
struct Runner<'r> {
    session: &'r mut Session,
    out: &'r mut dyn Output,
    code: &'r Code,
    values: Values<'r>,
    /// The plans of fragments, by their numbers.
    plans: HashMap<usize, Plan>,
    casts: evaluate::Casts,
    /// How many rows the last statement gave or changed.
    row_count: u64,
    /// The errors that are being handled, the innermost last.
    handled: Vec<Error>,
    /// How many blocks around can handle errors.
    savepoints: usize,
    /// True if the block may end its transaction.
    may_commit: bool,
    /// The line that is being run.
    line: u32,
    /// How many bytes of messages were sent.
    told: usize,
}

/// Adds a line to what an error says of its circumstances.
fn with_context(mut error: Error, line: &str) -> Error {
    let context = match error.cause.context() {
        Some(inner) => format!("{inner}\n{line}"),
        None => line.to_owned(),
    };
    error.cause = error.cause.with_context(context);
    error
}

/// The line of an error's context for a place in the code.
fn place(line: u32, words: &str) -> String {
    format!("PL/pgSQL function {} line {line} {words}", plpgsql::NAME)
}

impl Session {
    /// Runs a `DO` block.
    ///
    /// # Errors
    /// `42704` and `0A000` for other languages, `42601` for what is no code, and what its statements report.
    pub(crate) fn do_block(
        &mut self,
        language: Option<&str>,
        body: Option<&(String, sql::At)>,
        portal: &Portal,
        out: &mut dyn Output,
    ) -> Result<Work> {
        let is_own_transaction =
            !self.is_block() && !portal.is_one_of_many && self.client.blocks_depth.get() == 0;
        let Some((text, at)) = body else {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "no inline code specified"));
        };
        match language.unwrap_or("plpgsql") {
            "plpgsql" => {}
            language @ ("sql" | "c" | "internal") => {
                let message =
                    format!("language \"{language}\" does not support inline code execution");
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
            language => {
                let message = format!("language \"{language}\" does not exist");
                let error = Error::new(SqlState::UNDEFINED_OBJECT, message);
                return Err(
                    error.hint("Use CREATE EXTENSION to load the language into the database.")
                );
            }
        }
        let source = Arc::clone(&portal.parsed.source);
        let code = plpgsql::code(text).map_err(|error| in_literal(error, &source, *at))?;
        let depth = self.client.blocks_depth.get();
        if depth == BLOCKS_MAX {
            let message = "stack depth limit exceeded";
            return Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, message));
        }
        self.open();
        self.look()?;
        let values = Values::new(&code, self).map_err(|error| in_literal(error, &source, *at))?;
        self.client.blocks_depth.set(depth + 1);
        let levels = self.client.blocks_levels.get();
        let mut runner = Runner {
            session: self,
            out,
            code: &code,
            values,
            plans: HashMap::new(),
            casts: HashMap::new(),
            row_count: 0,
            handled: Vec::new(),
            savepoints: 0,
            may_commit: is_own_transaction,
            line: 0,
            told: 0,
        };
        let ran = caught(|| runner.run());
        self.client.blocks_depth.set(depth);
        self.client.blocks_levels.set(levels);
        ran?;
        Ok(done("DO"))
    }

    /// Begins the transaction anew after a block has ended it.
    fn begin_again(&mut self, modes: Option<crate::transaction::Modes>) {
        self.begin(Block::Implicit, modes);
    }
}

/// The error of a place in the text of a block, as one in the whole text, where the string that the block stands in
/// begins at `start`.
fn in_literal(error: sql::Error, source: &str, start: sql::At) -> Error {
    let at = error.at.get().and_then(|at| {
        let start = start.get()?;
        let literal = source.get(start..)?;
        offset_in(literal, at).map(|offset| sql::At::offset(start + offset))
    });
    let at = at.unwrap_or(sql::At::NONE);
    Error::in_text(sql::Error { at, ..error }, source)
}

/// Where the byte `at` of a string stands in what was written, which begins with its quote; `None` if escapes
/// part the two.
fn offset_in(literal: &str, at: usize) -> Option<usize> {
    if let Some(tagged) = literal.strip_prefix('$') {
        return Some(tagged.find('$')? + 2 + at);
    }
    let body = literal.strip_prefix('\'')?;
    let mut left = at;
    let mut chars = body.char_indices();
    loop {
        let (offset, c) = chars.next()?;
        if left == 0 {
            return Some(1 + offset);
        }
        if c == '\'' {
            chars.next();
        }
        left = left.checked_sub(c.len_utf8())?;
    }
}

/// A value with the type that it has.
struct Typed {
    value: Datum,
    ty: types::Type,
    modifier: types::Modifier,
}
