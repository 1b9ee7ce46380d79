//! Aggregates and joins over columns: conditions, pairs, groups and sums, up to 1,024 rows at a time.
//!
//! ```text
//!   select country, sum(amount) from sale where day >= $1 group by country
//!
//!   Slice      1,024 rows: columns are read when something asks for them
//!     │
//!   Condition  day >= $1 ──────────> Selection   the rows that are wanted
//!     │
//!   Groups     country ────────────> 0 2 0 1 ..  the number of each row's group
//!     │
//!   States     sum(amount) ────────> one array with a place for each group
//! ```
//!
//! The meaning of every function stays where it is: in `scalar` and in the programs of `sql::eval`. This crate
//! computes on arrays where the result is provably the same: comparisons, sums, extremes and counts of integers,
//! decimals, floats, dates and times. An expression of one column that has a dictionary is evaluated once for each
//! entry. Everything else runs its program row by row. An accumulator of `scalar` finishes each result.
//!
//! | module | contains |
//! |---|---|
//! | `vector`, `words` | `Vector`: the values of a column or an expression; `Words`: a dictionary |
//! | `slice` | `Slice`: up to 1,024 rows; `Selection`: some of them |
//! | `source` | blocks of columns, and rows, as slices |
//! | `row_columns`, `row_words` | columns of blocks of rows that the store's cache keeps; dictionaries of rows |
//! | `reader` | [`Piece`]: rows that come together; slices of the rows that a condition selects |
//! | `value`, `arithmetic`, `by_row` | expressions over slices |
//! | `condition`, `compare`, `texts` | conditions over slices, and their results from the bounds of a block |
//! | `groups`, `key_values` | the numbers of groups, and of the values of their keys |
//! | `state`, `totals`, `extremes`, `counts`, `distinct` | the states of calls of aggregates, for all groups |
//! | `aggregation` | [`Aggregation`]: all of it together |
//! | `kept`, `key_table` | the rows that a join keeps; which of them have a key |
//! | `join` | [`Join`]: slices of pairs |
//! | `projection` | [`Projection`]: slices of expressions |
//! | `cutoff` | [`Cutoff`]: the rows that a limit above a sort leaves out |
//!
//! # Absent on purpose
//! No scans, no transactions, no memory limits: the executor gives the rows and counts the bytes.

mod aggregation;
mod arithmetic;
mod by_row;
mod compare;
mod condition;
mod counts;
mod cutoff;
mod distinct;
mod extremes;
mod few;
mod groups;
mod join;
mod kept;
mod key_hashes;
mod key_table;
mod key_values;
mod projection;
mod reader;
mod row_columns;
mod row_words;
mod slice;
mod source;
mod state;
mod texts;
mod totals;
mod value;
mod vector;
mod words;

pub use aggregation::{Aggregation, Shape, can_aggregate};
pub use cutoff::Cutoff;
pub use join::{Builder, Join, JoinShape, KeyFilter, Partners, Probing, Side, can_join};
pub use key_hashes::TakeHashed;
pub use projection::Projection;
pub use reader::Piece;
pub use slice::{Selection, Slice};
pub use value::Run;

/// A function that makes the programs of expressions.
pub type Programs<'p> = dyn FnMut(&sql::plan::Expr) -> types::Result<sql::eval::Program> + 'p;

/// The largest number of rows in a slice.
pub const ROWS_MAX: usize = stripe::BLOCK_ROWS;
