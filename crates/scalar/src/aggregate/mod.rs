//! Aggregates: one value for many rows.
//!
//! ```text
//!   Aggregate::start ──> Accumulator ──add(row)──> ... ──add(row)──> finish() ──> Datum
//!                              └──────merge(other part)──────────────┘
//! ```

use types::{Datum, DatumRef, Result, Type};

use crate::function::Call;

/// An aggregate function: how its accumulators begin.
#[derive(Clone, Copy)]
pub struct Aggregate {
    /// An empty accumulator for arguments of these types and a result of that type.
    pub start: fn(args: &[Type], ret: Type) -> Box<dyn Accumulator>,
    /// True where the rows are to come in the order that the call says, after `WITHIN GROUP`, and
    /// the arguments before it come first.
    pub ordered_set: bool,
}

/// What one group of rows has come to so far.
pub trait Accumulator: Send {
    /// Takes a row in.
    ///
    /// # Errors
    /// What the aggregate reports.
    fn add(&mut self, call: &Call<'_>, args: &[DatumRef<'_>]) -> Result<()>;

    /// The result for the rows so far.
    ///
    /// # Errors
    /// What the aggregate reports.
    fn finish(&self, call: &Call<'_>) -> Result<Datum>;
}
