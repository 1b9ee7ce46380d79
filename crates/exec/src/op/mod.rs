//! Operators: each gives its rows one by one.
//!
//! ```text
//!   next(env, out)  puts the next row into out; false if there is none
//!   rewind(shared)  from the beginning: for another execution, or for another row around
//! ```
//!
//! An operator owns the ones below it, its programs and its buffers, and is used again and again,
//! so that running a statement that was prepared allocates little.

pub(crate) mod aggregate;
pub(crate) mod append;
pub(crate) mod basic;
pub(crate) mod batch_join;
pub(crate) mod batch_project;
pub(crate) mod batches;
pub(crate) mod constant;
pub(crate) mod depends;
pub(crate) mod distinct;
pub(crate) mod frame;
pub(crate) mod functions;
pub(crate) mod grouped;
pub(crate) mod guard;
pub(crate) mod hash;
pub(crate) mod hash_join;
pub(crate) mod limit;
pub(crate) mod lock;
pub(crate) mod loop_join;
pub(crate) mod merge;
pub(crate) mod modify;
pub(crate) mod path;
pub(crate) mod probe;
pub(crate) mod rank;
pub(crate) mod recheck;
pub(crate) mod rows;
pub(crate) mod scan;
pub(crate) mod set;
pub(crate) mod sort;
pub(crate) mod subplan;
pub(crate) mod waiting;
pub(crate) mod window;
pub(crate) mod with;

use batch::Cutoff;
use types::{Datum, Result};

use crate::ctx::{Env, Shared};
use crate::parallel::Parts;
use crate::tables::{Piece, piece_of_rows};

/// A row: the values of its columns.
pub(crate) type Row = Vec<Datum>;

/// A relational operator that is being run.
pub(crate) trait Operator: Send {
    /// Puts the next row into `out`, whose contents before mean nothing; false at the end, after
    /// which it is not called again before a rewind.
    fn next(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool>;

    /// Counts the rows that are left, in place of giving them.
    fn count(&mut self, env: &Env<'_>) -> Result<u64> {
        count_given(self, env)
    }

    /// Calls `f` with the next rows, as they lie; it returns how many of them it keeps. False at the end. All rows
    /// are given like this or none.
    fn next_piece(
        &mut self,
        env: &Env<'_>,
        f: &mut dyn FnMut(Piece<'_, '_>) -> Result<u64>,
    ) -> Result<bool> {
        piece_of_rows(&mut |piece| f(piece).map(drop), |out| self.next(env, out))
    }

    /// Splits an operator that has given nothing yet: returns some of the pieces for each of so many threads. The rest
    /// comes by [`Operator::next_piece`], once each of them is at its end. Returns none if one thread is to take all
    /// pieces.
    fn parts(&mut self, _env: &Env<'_>, _threads: usize) -> Result<Parts<'_>> {
        Ok(Parts::new())
    }

    /// Leaves out, from now until a rewind, rows that are not wanted any more. An operator may give them all the same.
    fn cut_off(&mut self, _cutoff: Cutoff) {}

    /// Starts again from the beginning.
    fn rewind(&mut self, shared: &Shared);

    /// Its own report, for all runs together.
    fn report(&self) -> plan::explain::operator_stats::Report {
        plan::explain::operator_stats::Report::default()
    }
}

/// Counts the rows that an operator gives.
fn count_given(operator: &mut (impl Operator + ?Sized), env: &Env<'_>) -> Result<u64> {
    let (mut row, mut count) = (Row::new(), 0);
    while operator.next(env, &mut row)? {
        count += 1;
    }
    Ok(count)
}

/// An operator below another.
pub(crate) type Input = Box<dyn Operator>;
