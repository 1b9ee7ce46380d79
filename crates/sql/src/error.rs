//! An error of a statement: the error itself, and its position in the text.
//!
//! ```text
//!   ERROR:  column "nme" does not exist          the error
//!   LINE 1: select nme from person;
//!                  ^                             the position: character 8
//! ```

use std::fmt;

use types::SqlState;

/// The result of reading or binding a statement.
pub type Result<T> = std::result::Result<T, Error>;

/// A place in the text of a query: an offset in bytes, or none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct At(u32);

impl At {
    /// No place: the thing was not written by the user.
    pub const NONE: At = At(u32::MAX);

    /// The place `offset` bytes into the text.
    pub fn offset(offset: usize) -> Self {
        At(u32::try_from(offset).unwrap_or(u32::MAX))
    }

    /// The offset in bytes, or `None` if there is no place.
    pub fn get(self) -> Option<usize> {
        (self != Self::NONE).then_some(self.0 as usize)
    }

    /// This place, or `other` where there is none.
    #[must_use]
    pub fn or(self, other: At) -> At {
        if self == Self::NONE { other } else { self }
    }

    /// This place in a text that begins at `start` of another one, as a place there.
    #[must_use]
    pub fn within(self, start: At) -> At {
        match (self.get(), start.get()) {
            (Some(offset), Some(start)) => At::offset(start + offset),
            _ => At::NONE,
        }
    }

    /// The number of the character at this place in `text`, from 1, as clients count.
    pub fn position(self, text: &str) -> Option<u32> {
        let before = text.get(..self.get()?)?;
        u32::try_from(before.chars().count() + 1).ok()
    }
}

impl fmt::Debug for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.get() {
            Some(offset) => write!(f, "@{offset}"),
            None => f.write_str("@-"),
        }
    }
}

/// The error of a statement, with its position.
#[derive(Clone, PartialEq, Eq)]
pub struct Error {
    /// The code, the message and the other fields of the error.
    pub cause: types::Error,
    /// The place in the text that it is about.
    pub at: At,
}

impl Error {
    /// An error about the statement as a whole.
    pub fn new(state: SqlState, message: impl Into<String>) -> Self {
        Self { cause: types::Error::new(state, message), at: At::NONE }
    }

    /// The same error, about the place `at`, unless it has a place already.
    #[must_use]
    pub fn at(mut self, at: At) -> Self {
        self.at = self.at.or(at);
        self
    }

    /// The same error with a second sentence that tells more.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.cause = self.cause.with_detail(detail);
        self
    }

    /// The same error with advice about what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.cause = self.cause.with_hint(hint);
        self
    }
}

impl From<types::Error> for Error {
    fn from(cause: types::Error) -> Self {
        Self { cause, at: At::NONE }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {:?}", self.at, self.cause)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.source()
    }
}
