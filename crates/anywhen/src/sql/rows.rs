//! [`Rows`]: the result of a statement, in memory; [`Row`]: one of its rows.

use std::ops::ControlFlow;

use session::{Column, Error, Output, Tag};
use types::{Context, Datum, SqlState};

use super::Result;
use super::values::FromSql;

/// The result of a statement.
#[derive(Debug)]
pub struct Rows {
    /// The columns; none if the statement gives no rows.
    pub columns: Vec<Column>,
    /// The rows, a value for each column.
    pub rows: Vec<Vec<Datum>>,
    /// The tag, such as `INSERT 0 1`.
    pub tag: Tag,
}

impl Default for Rows {
    fn default() -> Self {
        Rows { columns: Vec::new(), rows: Vec::new(), tag: Tag::plain("") }
    }
}

impl Rows {
    /// How many rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The row at a position.
    pub fn get(&self, index: usize) -> Option<Row<'_>> {
        self.rows.get(index).map(|values| Row { columns: &self.columns, values })
    }

    /// The rows in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Row<'_>> {
        self.rows.iter().map(|values| Row { columns: &self.columns, values })
    }
}

impl Output for Rows {
    fn row(
        &mut self,
        row: &[Datum],
        _columns: &[Column],
        _context: &Context<'_>,
    ) -> types::Result<ControlFlow<()>> {
        row.iter().for_each(Datum::make);
        self.rows.push(row.to_vec());
        Ok(ControlFlow::Continue(()))
    }
}

/// One row.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    columns: &'a [Column],
    values: &'a [Datum],
}

impl<'a> Row<'a> {
    /// The value of a column, by name.
    ///
    /// # Errors
    /// `42703` where there is no such column, `42804` where its value is of another type.
    pub fn get<T: FromSql>(&self, column: &str) -> Result<T> {
        match self.columns.iter().position(|known| known.name == column) {
            Some(at) => self.at(at),
            None => Err(Error::new(
                SqlState::UNDEFINED_COLUMN,
                format!("column \"{column}\" does not exist"),
            )),
        }
    }

    /// The value at a position.
    ///
    /// # Errors
    /// As [`Row::get`].
    pub fn at<T: FromSql>(&self, index: usize) -> Result<T> {
        let value = self.values.get(index).ok_or_else(|| {
            Error::new(SqlState::UNDEFINED_COLUMN, format!("column {} does not exist", index + 1))
        })?;
        T::from_sql(value).ok_or_else(|| {
            let column = &self.columns[index].name;
            let message = format!("column \"{column}\" cannot be taken as {}", T::WHAT);
            Error::new(SqlState::DATATYPE_MISMATCH, message)
        })
    }

    /// The values.
    pub fn values(&self) -> &'a [Datum] {
        self.values
    }
}
