//! Regular expressions as SQL has them: flags, functions and operators over the engine in `posix`.
//!
//! ```text
//!   pattern, flags ──> posix::Regex, of which each thread keeps the last few ──> spans of matches
//! ```
//!
//! A call without groups says so to the engine: then it need not look for them, as in PostgreSQL,
//! where this also decides which divisions of a match are tried for back references.

mod functions;
mod similar;

use std::rc::Rc;

use interrupt::Interrupted;
use posix::{Options, Regex, Stopped, Syntax};
use types::{Error, Result, SqlState};

pub(crate) use functions::{
    SETS, TABLE, all_matches, first_match, first_match_of, is_match, pieces, replace, split,
};

/// How an expression is read and matched: what the letters of a flags argument say.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Flags {
    options: Options,
    /// `g`: all matches, not only the first.
    pub(crate) global: bool,
}

impl Flags {
    /// The flags that letters stand for.
    ///
    /// # Errors
    /// 22023 for a letter that is none.
    pub(crate) fn parse(letters: &str) -> Result<Self> {
        let mut flags = Self::default();
        for letter in letters.chars() {
            match letter {
                'g' => flags.global = true,
                // PostgreSQL means extended expressions here, and reads basic ones.
                'e' => flags.options.syntax = Syntax::Basic,
                letter if flags.options.set(letter) => {}
                _ => {
                    return Err(Error::new(
                        SqlState::INVALID_PARAMETER_VALUE,
                        format!("invalid regular expression option: \"{letter}\""),
                    ));
                }
            }
        }
        Ok(flags)
    }

    /// Letters match in both cases.
    pub(crate) fn any_case() -> Self {
        Self { options: Options { any_case: true, ..Options::default() }, global: false }
    }
}

/// The compiled form of an expression, with its groups or without.
///
/// # Errors
/// 2201B where it is none.
fn compiled(pattern: &str, flags: Flags, groups: bool) -> Result<Rc<Regex>> {
    Regex::cached(pattern, flags.options, groups).map_err(|error| {
        Error::new(
            SqlState::INVALID_REGULAR_EXPRESSION,
            format!("invalid regular expression: {error}"),
        )
    })
}

/// The error for a search that came to no end.
fn stopped(stopped: Stopped) -> Error {
    match stopped {
        Stopped::Interrupted => Interrupted.into(),
        _ => Error::new(
            SqlState::INVALID_REGULAR_EXPRESSION,
            "regular expression failed: regular expression is too complex",
        ),
    }
}
