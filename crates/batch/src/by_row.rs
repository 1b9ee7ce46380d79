//! [`ByRow`]: an expression that its program computes row by row, or once for each value of its only column.

use std::cell::RefCell;
use std::sync::Arc;

use sql::eval::{Program, Row};
use types::{Datum, DatumRef, Repr, Result};

use crate::key_values::Numbers as IntNumbers;
use crate::slice::{Selection, Slice};
use crate::value::Run;
use crate::vector::{Values, Vector};

/// An expression that its program computes row by row.
#[derive(Clone, Debug)]
pub(crate) struct ByRow {
    pub program: Arc<Program>,
    /// The columns that it reads.
    pub columns: Vec<usize>,
    pub repr: Option<Repr>,
    pub is_volatile: bool,
    pub by_int: RefCell<ByInt>,
}

/// The values that an expression of one column has for integers of that column.
#[derive(Clone, Debug, Default)]
pub(crate) struct ByInt {
    numbers: IntNumbers,
    values: Vec<Datum>,
}

/// From so many integers on, the values of others are computed row by row.
const BY_INT_MAX: usize = 1 << 16;

impl ByRow {
    /// Returns true if the value is the same for all rows of an execution.
    pub fn is_constant(&self) -> bool {
        self.columns.is_empty() && !self.is_volatile
    }

    /// Returns the column, if the expression reads one and has the same value whenever that has.
    pub fn only_column(&self) -> Option<usize> {
        match self.columns[..] {
            [column] if !self.is_volatile => Some(column),
            _ => None,
        }
    }

    /// Computes the value of a row.
    pub fn value(&self, run: Run<'_>, slice: &Slice<'_>, row: usize) -> Result<Datum> {
        slice.with_row(row, &self.columns, |values| run.value(&self.program, values_of(values)))
    }

    /// Returns true if the value of a row is true.
    pub fn test(&self, run: Run<'_>, slice: &Slice<'_>, row: usize) -> Result<bool> {
        slice.with_row(row, &self.columns, |values| run.test(&self.program, values_of(values)))
    }

    /// Returns true if it is computed once for each integer of the only column that it reads; then calls `f` with each
    /// selected row and its value.
    ///
    /// # Errors
    /// The errors of the program.
    pub fn each_by_int(
        &self,
        run: Run<'_>,
        slice: &Slice<'_>,
        rows: &Selection,
        mut f: impl FnMut(usize, &Datum),
    ) -> Result<bool> {
        let Some(column) = self.only_column() else { return Ok(false) };
        let vector = slice.column(column)?;
        let mut by_int = self.by_int.borrow_mut();
        let Values::Ints(ints) = &vector.values else { return Ok(false) };
        if by_int.values.len() > BY_INT_MAX {
            return Ok(false);
        }
        let ByInt { numbers, values } = &mut *by_int;
        rows.try_each(|row| {
            if vector.is_null(row) {
                f(row, &self.value(run, slice, row)?);
                return Ok(());
            }
            let next = values.len() as u32;
            let number = numbers.get(ints.values[row], || next);
            if number == next {
                values.push(Datum::Null);
                values[number as usize] = self.value(run, slice, row)?;
            }
            f(row, &values[number as usize]);
            Ok::<_, types::Error>(())
        })?;
        Ok(true)
    }

    /// Forgets what parameters and values around have decided.
    pub fn forget(&self) {
        *self.by_int.borrow_mut() = ByInt::default();
    }

    /// Computes the values of the selected rows, once for each entry of a dictionary.
    pub fn by_row<'a>(
        &self,
        run: Run<'_>,
        slice: &Slice<'a>,
        rows: &Selection,
    ) -> Result<Vector<'a>> {
        let Some(column) = self.only_column() else { return self.vector(run, slice, rows) };
        match slice.column(column)? {
            vector if matches!(vector.values, Values::Codes(..)) => {
                by_code(self.repr, vector, rows, slice.rows(), |row| self.value(run, slice, row))
            }
            _ => self.vector(run, slice, rows),
        }
    }

    /// Computes the values of the selected rows.
    pub fn vector<'a>(
        &self,
        run: Run<'_>,
        slice: &Slice<'a>,
        rows: &Selection,
    ) -> Result<Vector<'a>> {
        let mut values = vec![Datum::Null; slice.rows()];
        if self.each_by_int(run, slice, rows, |row, value| values[row] = value.clone())? {
            return Ok(Vector::of_datums(self.repr.unwrap_or(Repr::Text), values));
        }
        rows.try_each(|row| {
            values[row] = self.value(run, slice, row)?;
            Ok::<_, types::Error>(())
        })?;
        Ok(match self.repr {
            Some(repr) => Vector::of_datums(repr, values),
            None => Vector::of_datums(Repr::Text, values),
        })
    }
}

fn values_of<'v>(values: &'v [DatumRef<'v>]) -> Row<'v> {
    Row::Refs(values)
}

/// Computes an expression of one column once for each of its codes that is there; row by row if it has no codes.
pub(crate) fn by_code<'a>(
    repr: Option<Repr>,
    column: &Vector<'_>,
    rows: &Selection,
    count: usize,
    mut compute: impl FnMut(usize) -> Result<Datum>,
) -> Result<Vector<'a>> {
    let mut values = vec![Datum::Null; count];
    let repr = repr.unwrap_or(Repr::Text);
    let Values::Codes(words, codes) = &column.values else {
        rows.try_each(|row| {
            values[row] = compute(row)?;
            Ok::<_, types::Error>(())
        })?;
        return Ok(Vector::of_datums(repr, values));
    };
    let mut known: Vec<Option<Datum>> = vec![None; words.len() + 1];
    rows.try_each(|row| {
        let at = if column.is_null(row) { words.len() } else { codes[row] as usize };
        let value = match &known[at] {
            Some(value) => value.clone(),
            None => known[at].insert(compute(row)?).clone(),
        };
        values[row] = value;
        Ok::<_, types::Error>(())
    })?;
    Ok(Vector::of_datums(repr, values))
}
