//! The rows of sets: the results of functions that return `SETOF`, one row after another.
//!
//! ```text
//!   generate_series(1, 3)   an iterator of values     one column: the value
//!   jsonb_each(...)         Columns of name, value    two columns, or one record of both
//! ```
//!
//! In `FROM` the columns are wanted, in a select list one record of them. A function that has
//! separate columns gives them as [`Columns`], so that no record is packed only to be taken apart
//! again.

use interrupt::Pace;
use types::{Datum, Record, Repr, Result, Type};

/// The rows of a set, one after the other.
pub type Rows = Box<dyn RowSet>;

/// Something that gives the rows of a set; every iterator of values does.
pub trait RowSet: Send {
    /// The next row as one value, a record where it has several columns; none after the last.
    fn next_value(&mut self) -> Option<Result<Datum>>;

    /// Appends the next row's columns, `width` of them; false, and nothing appended, after the last.
    ///
    /// # Errors
    /// The errors of the function.
    fn next_columns(&mut self, width: usize, out: &mut Vec<Datum>) -> Result<bool> {
        let Some(value) = self.next_value().transpose()? else { return Ok(false) };
        let end = out.len() + width;
        match value {
            Datum::Record(record) if width != 1 || record.as_ref().len() == 1 => {
                let fields = record.as_ref().iter().take(width);
                out.extend(fields.map(|(_, _, field)| field.to_owned()));
            }
            value if width == 1 => out.push(value),
            _ => {}
        }
        out.resize(end, Datum::Null);
        Ok(true)
    }
}

impl<I: Iterator<Item = Result<Datum>> + Send> RowSet for I {
    fn next_value(&mut self) -> Option<Result<Datum>> {
        self.next()
    }
}

/// The values of an iterator, collected while it is looked whether the statement is to stop.
///
/// # Errors
/// Those of the values; 57014.
pub(crate) fn collected<T>(values: impl Iterator<Item = Result<T>>) -> Result<Vec<Result<T>>> {
    /// About what one value takes, in the nanoseconds of a [`Pace`].
    const VALUE_WORK: usize = 64;
    let mut pace = Pace::new();
    let mut kept = Vec::with_capacity(values.size_hint().0);
    for value in values {
        pace.step(VALUE_WORK)?;
        kept.push(Ok(value?));
    }
    Ok(kept)
}

/// Rows of `N` columns, each with its type.
pub struct Columns<I, const N: usize> {
    types: [(Type, Repr); N],
    rows: I,
}

impl<I, const N: usize> Columns<I, N>
where
    I: Iterator<Item = Result<[Datum; N]>> + Send,
{
    /// The rows of an iterator.
    pub fn new(types: [(Type, Repr); N], rows: I) -> Self {
        Columns { types, rows }
    }
}

impl<I, const N: usize> RowSet for Columns<I, N>
where
    I: Iterator<Item = Result<[Datum; N]>> + Send,
{
    fn next_value(&mut self) -> Option<Result<Datum>> {
        let row = match self.rows.next()? {
            Ok(row) => row,
            Err(error) => return Some(Err(error)),
        };
        let fields = self.types.iter().zip(&row);
        let fields = fields.map(|((ty, repr), value)| (*ty, *repr, value.as_ref()));
        Some(Ok(Datum::from(Record::new(fields))))
    }

    fn next_columns(&mut self, width: usize, out: &mut Vec<Datum>) -> Result<bool> {
        let Some(row) = self.rows.next().transpose()? else { return Ok(false) };
        let end = out.len() + width;
        out.extend(row.into_iter().take(width));
        out.resize(end, Datum::Null);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> Rows {
        let rows = [(1, "a"), (2, "b")].map(|(n, s)| Ok([Datum::Int8(n), Datum::text(s)]));
        let types = [(Type::INT8, Repr::Int8), (Type::TEXT, Repr::Text)];
        Box::new(Columns::new(types, rows.into_iter()))
    }

    #[test]
    fn columns_are_the_fields_of_the_record() {
        let (mut apart, mut together) = (two(), two());
        let mut out = Vec::new();
        while apart.next_columns(2, &mut out).expect("no error") {}
        let mut fields = Vec::new();
        while let Some(Ok(Datum::Record(record))) = together.next_value() {
            fields.extend(record.as_ref().iter().map(|(_, _, field)| field.to_owned()));
        }
        assert_eq!(out, fields);
        assert_eq!(out.len(), 4);
    }

    #[test]
    fn a_row_is_as_wide_as_it_is_wanted() {
        let mut out = Vec::new();
        assert!(two().next_columns(3, &mut out).expect("no error"));
        assert_eq!(out[2], Datum::Null);
        let mut one: Rows = Box::new(std::iter::once(Ok(Datum::Int8(7))));
        out.clear();
        assert!(one.next_columns(1, &mut out).expect("no error"));
        assert!(!one.next_columns(1, &mut out).expect("no error"));
        assert_eq!(out, [Datum::Int8(7)]);
    }
}
