//! SQL's type `json`: the text is the value, kept exactly as it was written.
//!
//! ```text
//!   '{"a": [1,  2], "a": 1.50}'     spaces, order, both fields named "a" and the digits stay
//!      -> 'a'                       1.50      a part of the text; of equal names the last
//! ```
//!
//! A text gets in through [`check`]. After that its grammar is known to be right, and the functions
//! here read it token by token, without building anything. Only an escape can still be wrong: the
//! type takes `"\u0000"` and lone surrogates, which no string can hold, and most functions refuse a
//! text that has one anywhere.

mod access;
mod syntax;

pub use access::{
    Elements, Fields, Path, Written, array_length, build_array, build_object, each, elements,
    field, get, get_path, object_names, strip_nulls, type_name,
};
pub use syntax::{SyntaxError, check, check_escapes};
