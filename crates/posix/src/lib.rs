//! PostgreSQL's regular expressions: POSIX's with its extensions, and its rules of what matches.
//!
//! ```text
//!   pattern ──lex──> tokens ──parse──> tree ──> automata ──┐
//!                                       │                  ├─ search: where the match begins, ends
//!                                       └──────────────────┴─ dissect: where its groups lie
//! ```
//!
//! # What matches
//! Of all matches the one that begins first counts, and of these the longest, or the shortest
//! where the expression prefers that as a whole. The order of alternatives says nothing: `a|ab`
//! finds `ab`. Only then the match is divided among the parts, from the left, and each takes the
//! longest or the shortest that it prefers and that lets the others match.
//!
//! # Limits
//! - The time to find a match grows with the text, and not with what the expression leaves open:
//!   there is no backtracking. To divide it takes polynomial time.
//! - Back references cannot be had that way. They are verified proposal by proposal, and the search
//!   asks its caller now and then whether to go on.
//! - Automata, the depth of groups and what automata keep are bounded; an expression beyond that is
//!   [`Error::TooComplex`].

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

pub use error::Error;
pub use options::{Options, Syntax};
pub use search::{Matches, Regex, Search, Spans, Stopped};
