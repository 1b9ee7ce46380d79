//! [`Change`]: the context of a change of rows; and [`RowValues`], the values that only SQL can
//! compute.

use std::sync::LazyLock;

use txn::Transaction;
use types::{Context, Datum, Style};

use crate::catalog::Relation;
use crate::foreign::Checks;
use crate::{Error, Result};

/// The values of a row that only a caller with SQL can compute. Asked for expressions alone: for a
/// table without any, [`NoValues`] is enough.
pub trait RowValues {
    /// Whether a row is in a partial index; where it is, appends the values of the index's keys that
    /// are expressions, in their order. Asked of indexes that have a predicate or expressions.
    fn index(&mut self, index: &Relation, row: &[Datum], keys: &mut Vec<Datum>) -> Result<bool>;

    /// The default of the column at `position`, for `SET DEFAULT` of a foreign key.
    fn default(&mut self, table: &Relation, position: usize) -> Result<Datum>;

    /// Computes the generated columns of a row that a foreign key's action has changed, and checks its
    /// CHECK constraints.
    fn complete(&mut self, table: &Relation, row: &mut [Datum]) -> Result<()>;

    /// Appends the values of a row of a partitioned table that decide in which partition it is.
    fn partition_keys(
        &mut self,
        table: &Relation,
        row: &[Datum],
        keys: &mut Vec<Datum>,
    ) -> Result<()>;

    /// How values are written in messages.
    fn context(&self) -> Context<'_>;
}

/// Nothing to compute: for tables without expressions, whose values all are of built-in types.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoValues;

static STYLE: LazyLock<Style> = LazyLock::new(Style::default);

impl RowValues for NoValues {
    fn index(&mut self, index: &Relation, _: &[Datum], _: &mut Vec<Datum>) -> Result<bool> {
        Err(no_values(index))
    }

    fn default(&mut self, table: &Relation, position: usize) -> Result<Datum> {
        match table.columns[position].default {
            None => Ok(Datum::Null),
            Some(_) => Err(no_values(table)),
        }
    }

    fn complete(&mut self, _: &Relation, _: &mut [Datum]) -> Result<()> {
        Ok(())
    }

    fn partition_keys(&mut self, table: &Relation, _: &[Datum], _: &mut Vec<Datum>) -> Result<()> {
        Err(no_values(table))
    }

    fn context(&self) -> Context<'_> {
        Context::new(&STYLE)
    }
}

fn no_values(relation: &Relation) -> Error {
    let message = format!("expressions of \"{}\" cannot be computed here", relation.name);
    Error::new(types::SqlState::INTERNAL_ERROR, message)
}

/// A transaction that changes rows.
pub struct Change<'a> {
    /// The transaction.
    pub txn: &'a mut Transaction,
    /// The values of its rows that only SQL can compute.
    pub values: &'a mut dyn RowValues,
    /// The checks that are left for the end of the statement, or later.
    pub checks: &'a mut Checks,
}
