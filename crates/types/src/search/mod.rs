//! Text search: `tsvector`, the lexemes of a document, and `tsquery`, a search.
//!
//! ```text
//!   'fat':2A 'rat':3,7        lexemes in the order of their bytes, with positions and weights
//!   'fat' & ( 'rat' | !'cat' )   words, joined by operators
//! ```
//!
//! Both types are held as bytes whose order is PostgreSQL's order of the values: see [`vector`] and
//! [`query`].

mod parse;
pub mod query;
pub mod vector;
mod words;

pub use parse::{Syntax, parse_query, wrong_distance};
pub use query::{Node, Word};
pub use vector::{Lexeme, Position, Vector};

use crate::{Error, SqlState};

/// The longest lexeme, in bytes.
pub const LEXEME_BYTES_MAX: usize = 2046;

/// The most bytes that the lexemes and positions of a vector, or the words of a query, have.
pub(crate) const AREA_BYTES_MAX: usize = (1 << 20) - 1;

#[cold]
fn too_long(found: usize, most: usize, what: &str) -> Error {
    let message = format!("{what} ({found} bytes, max {most} bytes)");
    Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
}

#[cold]
fn malformed(message: &str) -> Error {
    Error::new(SqlState::PROTOCOL_VIOLATION, message)
}
