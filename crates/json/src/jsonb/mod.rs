//! PostgreSQL's type `jsonb`: JSON as a value that is compared, taken apart and searched.
//!
//! ```text
//!   text ──Builder──> Jsonb ──root()──> JsonbRef ──> Value: Number, Array, Object ...
//!                       ^                  │
//!                       └──── edits ───────┤   concat, delete, set, insert, strip_nulls, replacing
//!                                          ├   get, path, contains, exists, fields, elements
//!                                          ├   order, hash, key form
//!                                          ├   text, pretty
//!                                          └   pathlang: SQL/JSON path
//! ```
//!
//! A value is one run of bytes ([`form`](Jsonb) has the picture) in which names are found by binary
//! search and elements by position, and every value inside another is a slice of it. Names are
//! unique and sorted, strings are unescaped, numbers keep what `numeric` keeps. Nothing of this
//! recurses but containment and paths, and those have a limit.
//!
//! A value of a large stored document is lazy ([`lazy`]): it is made of the document's nodes when a caller needs the
//! whole of it.
//!
//! Semantics, messages and codes are PostgreSQL's.

mod access;
mod build;
mod check;
mod compare;
mod direct;
mod edit;
mod error;
mod flat;
mod form;
pub mod lazy;
mod make;
mod number;
pub mod pathlang;
mod replace;
mod walk;
mod write;

pub use build::Builder;
pub use direct::DirectText;
pub use edit::{NullTreatment, Subscript, assign};
pub use error::JsonbError;
pub use form::{Array, BYTES_MAX, Jsonb, JsonbRef, Object, Value};
pub use make::{build_array, build_object, check_pairs, object_of, object_of_two, write_object};
pub use number::Number;
pub use replace::Replacing;

/// A text as a position of an array, as C's `strtol` reads it: space and a sign may stand in front.
/// None if it is no integer of 32 bits.
pub(crate) fn subscript(text: &str) -> Option<i32> {
    // C's `isspace` has one character more than Rust's ASCII white space.
    let digits = text.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '\u{b}');
    digits.parse().ok()
}
