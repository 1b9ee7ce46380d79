//! Aggregates: one value for many rows.
//!
//! ```text
//!   Aggregate::start ──> Accumulator ──add(row)──> ... ──add(row)──> finish() ──> Datum
//! ```
//!
//! Every row is added, NULLs too: each accumulator knows whether it looks at them. `DISTINCT`,
//! `FILTER` and `ORDER BY` are the caller's business.

pub(crate) mod collect;
mod json;
mod number;
mod ordered;
mod range;
mod regression;

use numeric::Sum;
use types::{Datum, DatumRef, Error, Result, SqlState, Type};

use crate::function::{Call, Function};

/// The tables of aggregates, one for each kind of result.
pub(crate) const TABLES: &[&[Function]] = &[
    collect::TABLE,
    crate::bits::AGGREGATES,
    crate::money::AGGREGATES,
    crate::network::AGGREGATES,
    json::TABLE,
    number::TABLE,
    ordered::PERCENTILES,
    ordered::MODE,
    ordered::PLACES,
    range::TABLE,
    regression::TABLE,
];

/// An aggregate function: how its accumulators begin.
#[derive(Clone, Copy)]
pub struct Aggregate {
    /// An empty accumulator for arguments of these types.
    pub start: fn(args: &[Type]) -> Box<dyn Accumulator>,
    /// How its rows are to be handed to it.
    pub kind: Kind,
}

/// How the rows of an aggregate come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// In any order, or as `ORDER BY` in the call says.
    Normal,
    /// Sorted as `WITHIN GROUP (ORDER BY ...)` says. The arguments in the parentheses of the call,
    /// `direct` many, come once, by [`Accumulator::begin`].
    OrderedSet {
        /// How many arguments do not come from the sorted rows.
        direct: usize,
    },
    /// Sorted likewise, to find the place that the row of the direct arguments would have. Instead
    /// of the values an accumulator gets two arguments: how the row stands to that one (`int4`: -1
    /// before, 0 a peer, 1 behind), and whether it is no peer of the row before it (`boolean`).
    Hypothetical,
}

/// The state of one group of rows so far.
pub trait Accumulator: Send {
    /// Takes the arguments that are the same for all rows, before the first of them.
    fn begin(&mut self, _direct: &[DatumRef<'_>]) {}

    /// Takes a row in.
    ///
    /// # Errors
    /// The errors of the aggregate.
    fn add(&mut self, call: &Call<'_>, args: &[DatumRef<'_>]) -> Result<()>;

    /// Takes so many rows in that have no arguments.
    ///
    /// # Errors
    /// As [`Accumulator::add`].
    fn add_rows(&mut self, call: &Call<'_>, count: u64) -> Result<()> {
        (0..count).try_for_each(|_| self.add(call, &[]))
    }

    /// Takes so many rows in that have the same arguments.
    ///
    /// # Errors
    /// As [`Accumulator::add`].
    fn add_times(&mut self, call: &Call<'_>, args: &[DatumRef<'_>], count: u64) -> Result<()> {
        (0..count).try_for_each(|_| self.add(call, args))
    }

    /// The places, from 0, of the values that the result depends on, if so many come in order; `None` if it may depend
    /// on all of them.
    fn places(&self, _count: u64) -> Option<Vec<u64>> {
        None
    }

    /// Takes rows in by the sum of their integers or numerics: of `sum` and `avg` over these.
    ///
    /// # Errors
    /// As [`Accumulator::add`]; XX000 if the aggregate is another one.
    fn add_sum(&mut self, _: &Sum) -> Result<()> {
        Err(no_sum())
    }

    /// Takes `count` rows in by the sum of their floating point numbers: of `sum` over `float8`, and of `avg`.
    ///
    /// # Errors
    /// XX000 if the aggregate is another one.
    fn add_floats(&mut self, _sum: f64, _count: u64) -> Result<()> {
        Err(no_sum())
    }

    /// True if it keeps values of any length, so that what it holds is to be counted.
    fn keeps(&self) -> bool {
        false
    }

    /// How many bytes it holds beyond its own few. It never becomes less.
    fn held_bytes(&self) -> usize {
        0
    }

    /// The result for the rows so far.
    ///
    /// # Errors
    /// The errors of the aggregate.
    fn finish(&self, call: &Call<'_>) -> Result<Datum>;
}

#[cold]
fn no_sum() -> Error {
    Error::new(SqlState::INTERNAL_ERROR, "the aggregate does not take sums")
}

/// True for types some of whose values lie elsewhere, and may be long.
fn is_long(ty: Type) -> bool {
    !matches!(
        ty,
        Type::BOOL
            | Type::INT2
            | Type::INT4
            | Type::INT8
            | Type::FLOAT4
            | Type::FLOAT8
            | Type::OID
            | Type::DATE
            | Type::TIME
            | Type::TIMETZ
            | Type::TIMESTAMP
            | Type::TIMESTAMPTZ
            | Type::INTERVAL
            | Type::UUID
            | Type::TID
            | Type::PG_LSN
            | Type::XID8
            | Type::MACADDR
            | Type::MACADDR8
    )
}

/// Makes a table of aggregates: signatures as for functions, then an empty accumulator, which may
/// depend on the types of the arguments: `= @args Elements::of(args)`.
macro_rules! aggregates {
    ($kind:expr => $($oid:literal $name:ident($($arg:ident),*) -> $ret:ident
       $([$($flag:ident),*])? = $(@$args:ident)? $empty:expr;)*) => {
        &[$($crate::function::entry!(
            $oid $name($($arg),*) -> $ret [nullable $($(, $flag)*)?]
            $crate::function::Eval::Aggregate($crate::aggregate::Aggregate {
                start: $crate::aggregate::start!($(@$args)? $empty),
                kind: $kind,
            })
        )),*]
    };
}

/// The closure that makes an empty accumulator.
macro_rules! start {
    (@$args:ident $empty:expr) => {
        |$args| Box::new($empty)
    };
    ($empty:expr) => {
        |_| Box::new($empty)
    };
}

pub(crate) use {aggregates, start};
