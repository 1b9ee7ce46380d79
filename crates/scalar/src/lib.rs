//! PostgreSQL's functions, operators, casts and aggregates over values.
//!
//! ```text
//!   name + types of arguments ──resolve──> Function, Operator        the one that is called
//!              type -> type   ──cast─────> CoercionPath              the cast
//!        values + Context     ──Function::call──> Datum              the result
//!        many rows            ──Aggregate──> Accumulator ──> Datum
//! ```
//!
//! The tables of functions are ordered by subject, one file each: [`function`] describes their form.
//! Numbers, names, strictness and volatility are those of PostgreSQL's catalog, because clients
//! read them there, and results and errors are PostgreSQL's too.
//!
//! # Absent on purpose
//! No SQL text, no tables, no clock and no random source: the inputs of an evaluation come in a
//! [`Context`]. `COALESCE`, `CASE` and `GREATEST` are expressions of the binder, not functions.

pub mod aggregate;
mod array;
mod bits;
mod bytes;
pub mod cast;
pub mod collation;
mod comparison;
pub mod context;
mod datetime;
mod decimal;
mod enums;
pub mod extension;
pub mod facts;
mod float;
mod format;
pub mod fulltext;
pub mod function;
pub mod geometry;
mod hash;
mod input;
mod integer;
mod json;
mod jsonb;
mod money;
pub mod names;
mod network;
pub mod operators;
mod order;
mod overlap;
mod pattern;
pub mod polymorphic;
pub mod quote;
mod random;
pub mod range;
mod regex;
pub mod registry;
pub mod resolve;
mod rows;
mod search;
mod series;
mod server;
mod session;
mod size;
mod snapshot;
pub mod standard;
mod string;
mod template;
mod trigonometry;
mod unicode;
mod uuid;
mod window;

/// The check for a cancel, which long computations call.
pub use ::interrupt;
pub use comparison::Comparison;
pub use context::{Clock, Context, Random, Session};
pub use function::{Call, Eval, Function, Volatility};
pub use json::{Dates, Needs, path_needs, to_jsonb};
pub use rows::{Columns, RowSet, Rows};
