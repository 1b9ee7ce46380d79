//! JSON as a *tape*: a document laid out in preorder columns, one node for each value.
//!
//! ```text
//!   text   {"id":7,"tags":["a","b\n"]}
//!
//!   node          0        1        2        3        4
//!   kinds         Object   Number   Array    String   String
//!   ups           0        1        2        1        2        how far back the parent is
//!   extents       5        1        3        1        1        nodes in the subtree
//!   counts        2        0        2        0        0        children
//!   name_lens     NONE     2        4        NONE     NONE
//!   text_lens     0        3        4        1        3        name text + value text
//!   heap          ·········id7······tags·····a········b\n      (canonical, escaped, no quotes)
//! ```
//!
//! A field of an object is *one* node, name and value together. Texts are kept in their JSON form, in
//! one canonical escaping. So two values are equal where their bytes are equal, and a writer only
//! copies: it escapes, formats and looks up nothing.
//!
//! The strict parser ([`Tape::parse`] for bytes, [`Parser`] for a stream, either one into any
//! [`Sink`]) and the builder ([`TapeBuilder`]) make tapes. [`Tape::to_json`] and its relatives write
//! them. [`Node`] is a view of a node, [`JsonPath`] its place, and [`text`] has numbers and strings
//! in their JSON form.
//!
//! The crate also has the two types of SQL. [`jsonb`] is a binary form that is compared, searched and
//! edited without a tree, with the path language of SQL/JSON. [`written`] keeps texts as they are.
//!
//! # Accepted input
//! Exactly RFC 8259, in UTF-8 without a byte order mark. `\u0000` is kept. Refused: invalid UTF-8,
//! lone surrogates, raw control characters in strings, anything after the value, and a text beyond
//! [`Limits`]. If an object has a field twice, the last value wins, at the place of the first, as in
//! JavaScript and Python. Numbers are kept digit for digit as they were written.
//!
//! # Absent on purpose
//! No floating point in storage, no maps, no storage knowledge, no I/O but [`std::io::Read`]. No dates
//! and times: the caller of a path passes them in.

mod build;
mod error;
pub mod jsonb;
mod parse;
mod path;
mod pretty;
mod scan;
mod serialize;
mod tape;
pub mod text;
pub mod written;

#[cfg(test)]
mod tests;

pub use build::TapeBuilder;
pub use error::{JsonError, TextPosition};
pub use parse::{Limits, Parser, Sink, Stopped, parse_slice};
pub use path::{JsonPath, PathError, Step};
pub use tape::{Children, Kind, NO_NAME, Node, Tape, TapeFault};
