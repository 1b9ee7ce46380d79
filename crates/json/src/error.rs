//! The errors of a text that claims to be JSON, with their positions.
//!
//! Every error carries its [`TextPosition`], counted only once something has gone wrong, so that good
//! documents do not pay for line numbers.

use std::fmt;
use std::io;

/// A position in the input, for people (line and column, from 1) and programs (offset, from 0).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TextPosition {
    /// Bytes before the position.
    pub offset: u64,
    /// Line, from 1; lines end with a line feed.
    pub line: u64,
    /// Column, from 1, in Unicode characters.
    pub column: u64,
}

impl fmt::Display for TextPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {} (byte {})", self.line, self.column, self.offset)
    }
}

/// Why a text was not taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JsonError {
    /// The text is not JSON: correct it at the place named.
    #[error("{at}: expected {expected}, found {found}")]
    Syntax {
        /// Where.
        at: TextPosition,
        /// The tokens that were possible.
        expected: &'static str,
        /// The token that was found.
        found: String,
    },
    /// The text is JSON but goes beyond a limit: split it, or raise the limit.
    #[error("{at}: more than {limit} {what}")]
    Limit {
        /// Where the limit was crossed.
        at: TextPosition,
        /// The limited quantity.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// The reader failed; nothing is known of the text beyond the offset.
    #[error("reading JSON failed after byte {offset}")]
    Read {
        /// Bytes taken in before the failure.
        offset: u64,
        /// The reader's error.
        #[source]
        source: io::Error,
    },
    /// The sink asked to stop; it knows why.
    #[error("{at}: stopped by the receiver")]
    Stopped {
        /// The token that was being delivered.
        at: TextPosition,
    },
}

impl JsonError {
    /// Where the text is wrong, where it is the text that is wrong.
    pub fn place(&self) -> Option<TextPosition> {
        match self {
            JsonError::Syntax { at, .. }
            | JsonError::Limit { at, .. }
            | JsonError::Stopped { at } => Some(*at),
            JsonError::Read { .. } => None,
        }
    }
}

/// A fault found in a window, before it is known where the window lies in the input.
#[derive(Debug)]
pub(crate) struct Fault {
    /// Offset in the window; its length means the end of the input.
    pub at: usize,
    pub what: FaultKind,
}

#[derive(Debug)]
pub(crate) enum FaultKind {
    Expected(&'static str),
    Limit(&'static str, u64),
    Stopped,
}

impl Fault {
    pub fn expected(at: usize, what: &'static str) -> Fault {
        Fault { at, what: FaultKind::Expected(what) }
    }

    pub fn limit(at: usize, what: &'static str, limit: u64) -> Fault {
        Fault { at, what: FaultKind::Limit(what, limit) }
    }

    /// Turns a fault into an error, given the window it was found in and the input before it.
    #[cold]
    pub fn locate(self, window: &[u8], before: &Passed) -> JsonError {
        let mut passed = before.clone();
        passed.advance(&window[..self.at]);
        let at = passed.place();
        match self.what {
            FaultKind::Expected(expected) => {
                JsonError::Syntax { at, expected, found: describe(&window[self.at..]) }
            }
            FaultKind::Limit(what, limit) => JsonError::Limit { at, what, limit },
            FaultKind::Stopped => JsonError::Stopped { at },
        }
    }
}

/// Counts lines and columns of the input that has gone by.
#[derive(Clone, Debug, Default)]
pub(crate) struct Passed {
    pub bytes: u64,
    lines: u64,
    columns: u64,
}

impl Passed {
    pub fn advance(&mut self, text: &[u8]) {
        self.bytes += text.len() as u64;
        let tail = match memchr::memrchr(b'\n', text) {
            Some(last) => {
                self.lines += memchr::memchr_iter(b'\n', text).count() as u64;
                self.columns = 0;
                &text[last + 1..]
            }
            None => text,
        };
        // Bytes that continue a character do not open a column.
        self.columns += tail.iter().filter(|&&byte| byte & 0xc0 != 0x80).count() as u64;
    }

    fn place(&self) -> TextPosition {
        TextPosition { offset: self.bytes, line: self.lines + 1, column: self.columns + 1 }
    }
}

/// Names what stands at the front of `rest`.
fn describe(rest: &[u8]) -> String {
    let Some(&first) = rest.first() else {
        return "the end of the input".into();
    };
    let head = &rest[..rest.len().min(4)];
    let valid = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or(""),
    };
    match valid.chars().next() {
        Some('`') => "a backquote".into(),
        Some(c) if c.is_control() || c == '\u{feff}' => format!("the character U+{:04X}", c as u32),
        Some(c) => format!("`{c}`"),
        None => format!("the byte 0x{first:02x}"),
    }
}
