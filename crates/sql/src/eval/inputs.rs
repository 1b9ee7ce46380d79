//! The inputs of an evaluation: the row ([`Row`]), the parameters ([`Frame`]), the executor ([`Host`],
//! [`OuterValues`]).

use std::cell::OnceCell;

use scalar::function::Call;
use scalar::{Context, Function};
use types::{Datum, DatumRef, Error, Oid, Result, SqlState};

use super::List;

/// The inputs of an evaluation other than the row.
#[derive(Clone, Copy)]
pub struct Frame<'a> {
    /// Style, clock, session.
    pub context: &'a Context<'a>,
    /// The values of the parameters.
    pub params: &'a [Datum],
    /// The catalog and the transaction, as evaluation asks for them.
    pub host: &'a dyn Host,
}

/// Functions that need the server.
pub trait Host {
    /// The next value of a sequence.
    ///
    /// # Errors
    /// `2200H` where the sequence is at its end.
    fn next_value(&self, sequence: Oid) -> Result<i64>;

    /// Calls a function that needs the catalog or the transaction, such as `nextval`.
    ///
    /// # Errors
    /// The errors of the function.
    fn call(&self, function: &Function, call: &Call<'_>, args: &[DatumRef<'_>]) -> Result<Datum>;

    /// The rows of a function that needs the catalog or the past, such as `table_changes`.
    ///
    /// # Errors
    /// The errors of the function.
    fn rows(
        &self,
        function: &Function,
        call: &Call<'_>,
        args: &[DatumRef<'_>],
    ) -> Result<scalar::Rows>;
}

/// The row that a program is run over.
#[derive(Clone, Copy)]
pub enum Row<'a> {
    /// Values that are owned.
    Values(&'a [Datum]),
    /// Values that lie elsewhere.
    Refs(&'a [DatumRef<'a>]),
    /// Two rows side by side, as a join has them.
    Pair(&'a [Datum], &'a [Datum]),
}

impl<'a> Row<'a> {
    /// The row of no columns.
    pub const NONE: Row<'static> = Row::Values(&[]);

    /// The value of a column.
    ///
    /// # Panics
    /// Where the row has no such column: the program is not for such rows.
    #[inline]
    pub fn get(self, index: usize) -> DatumRef<'a> {
        match self {
            Row::Values(values) => values[index].as_ref(),
            Row::Refs(values) => values[index],
            Row::Pair(left, right) => match index.checked_sub(left.len()) {
                None => left[index].as_ref(),
                Some(index) => right[index].as_ref(),
            },
        }
    }
}

impl<'a> From<&'a [Datum]> for Row<'a> {
    fn from(values: &'a [Datum]) -> Self {
        Row::Values(values)
    }
}

impl<'a> From<&'a Vec<Datum>> for Row<'a> {
    fn from(values: &'a Vec<Datum>) -> Self {
        Row::Values(values)
    }
}

impl<'a> From<&'a [DatumRef<'a>]> for Row<'a> {
    fn from(values: &'a [DatumRef<'a>]) -> Self {
        Row::Refs(values)
    }
}

impl<'a> From<&'a Vec<DatumRef<'a>>> for Row<'a> {
    fn from(values: &'a Vec<DatumRef<'a>>) -> Self {
        Row::Refs(values)
    }
}

impl<'a, const N: usize> From<&'a [DatumRef<'a>; N]> for Row<'a> {
    fn from(values: &'a [DatumRef<'a>; N]) -> Self {
        Row::Refs(values)
    }
}

/// The values outside of the row, which the executor knows: slots, kept values, subplans.
pub trait OuterValues {
    /// The value that is kept under this number.
    fn slot(&self, number: usize) -> Datum;

    /// The place of a value that is the same for all rows; `None` if nothing is kept from row to row.
    fn kept(&self, _number: usize) -> Option<&OnceCell<CachedValue>> {
        None
    }

    /// The value of a subquery for these arguments.
    ///
    /// # Errors
    /// The errors of its plan; `21000` where it has too many rows.
    fn subplan(
        &self,
        number: usize,
        args: &mut dyn Iterator<Item = Result<Datum>>,
    ) -> Result<Datum>;
}

/// A value that is the same for all rows, or the list that is made of it.
#[derive(Debug)]
pub enum CachedValue {
    /// A value.
    Value(Datum),
    /// The list that `IN` searches.
    List(List),
}

/// Nothing is around the row.
pub(super) struct Alone;

impl OuterValues for Alone {
    fn slot(&self, _: usize) -> Datum {
        Datum::Null
    }

    fn subplan(&self, _: usize, _: &mut dyn Iterator<Item = Result<Datum>>) -> Result<Datum> {
        Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, "cannot use subquery here"))
    }
}
