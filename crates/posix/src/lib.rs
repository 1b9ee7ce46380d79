//! PostgreSQL's regular expressions: POSIX's with its extensions and its rules of matching.
//!
//! ```text
//!   pattern ──lex──> tokens ──parse──> tree ──> automata ──┐
//!                                       │                  ├─ search: the begin and end of the match
//!                                       └──────────────────┴─ dissect: the places of its groups
//! ```
//!
//! # Matching
//! A search finds the match that begins first. Of several such matches it takes the longest, or the
//! shortest if the expression as a whole is non-greedy. The order of alternatives does not matter:
//! `a|ab` finds `ab`. Then the match is divided among the parts, from the left. Each part takes the
//! longest (or, if it is non-greedy, the shortest) text with which the other parts still match.
//!
//! # Limits
//! - The time to find a match grows with the text, not with the choices of the expression: the search
//!   does not backtrack. Dividing a match among groups takes polynomial time.
//! - Automata have no back references. The search verifies these match by match, and asks its caller from
//!   time to time whether to go on.
//! - Automata, their caches and the depth of groups are bounded. An expression beyond the bounds fails
//!   with [`Error::TooComplex`].

mod assigned;
mod bits;
mod cache;
mod chars;
mod classes;
mod dfa;
mod dissect;
mod error;
mod fast;
mod lex;
mod nfa;
mod options;
mod parse;
mod prefilter;
mod search;
#[cfg(test)]
mod tests;
mod tree;

pub use chars::{is_alpha, is_space, lower_char, upper_char};
pub use error::Error;
pub use options::{Options, Syntax};
pub use search::{Matches, Regex, Search, Spans, Stopped};
