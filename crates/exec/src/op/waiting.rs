//! [`Waiting`]: rows that a batch has given, until an operator that takes rows has taken them.

use types::{Error, Result, SqlState};

use super::{Operator, Row};
use crate::ctx::{Env, Shared};
use crate::spill::{RowStore, StorePosition};
use crate::tables::Piece;

/// An operator that gives pieces, whose rows wait where they are taken one by one.
pub(crate) trait GivesPieces: Operator {
    /// The rows that wait.
    fn waiting(&mut self) -> &mut Waiting;
}

/// Puts the next row of an operator that gives pieces into `out`; false at the end.
pub(crate) fn next_of(
    operator: &mut impl GivesPieces,
    env: &Env<'_>,
    out: &mut Row,
) -> Result<bool> {
    loop {
        if operator.waiting().next(env.shared, out)? {
            return Ok(true);
        }
        let mut waiting = std::mem::take(operator.waiting());
        let more = operator.next_piece(env, &mut |piece| {
            waiting.add(env, &piece)?;
            Ok(0)
        });
        *operator.waiting() = waiting;
        if !more? {
            return Ok(false);
        }
    }
}

/// Rows that wait. Beyond `work_mem` they wait in a file: one piece of a join may give very many.
#[derive(Default)]
pub(crate) struct Waiting {
    rows: RowStore,
    place: StorePosition,
    at: usize,
}

impl Waiting {
    /// Adds the rows of a piece that is no block.
    pub(crate) fn add(&mut self, env: &Env<'_>, piece: &Piece<'_, '_>) -> Result<()> {
        match piece {
            Piece::Joined(slice, selected) => {
                slice.to_rows(selected)?.into_iter().try_for_each(|row| self.push(env, row))
            }
            Piece::Values(rows) => rows.iter().try_for_each(|row| self.push(env, row.clone())),
            Piece::Block(..) | Piece::Rows(_) => {
                let message = "rows as a table has them reached an operator over columns";
                Err(Error::new(SqlState::INTERNAL_ERROR, message))
            }
        }
    }

    /// Adds a row.
    pub(crate) fn push(&mut self, env: &Env<'_>, row: Row) -> Result<()> {
        self.rows.push(env, row)
    }

    /// The rows that wait, and those that were taken since none waited.
    pub(crate) fn rows(&self) -> &RowStore {
        &self.rows
    }

    /// Takes the row that has waited longest; false if none waits.
    pub(crate) fn next(&mut self, shared: &Shared, out: &mut Row) -> Result<bool> {
        if self.at == self.rows.len() {
            if self.at > 0 {
                self.clear(shared);
            }
            return Ok(false);
        }
        *out = self.rows.take(self.at, &mut self.place)?;
        self.at += 1;
        Ok(true)
    }

    /// Forgets all rows.
    pub(crate) fn clear(&mut self, shared: &Shared) {
        self.rows.clear(shared);
        (self.place, self.at) = (StorePosition::default(), 0);
    }
}
