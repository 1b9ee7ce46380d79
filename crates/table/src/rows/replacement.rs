//! [`Replacement`]: new contents for a table, of which only rows that differ are written.
//!
//! ```text
//!   new rows   1 a   2 B   4 d          by the unique index      1 a   is the same: nothing
//!   the table  1 a   2 b   3 c                                   2 B   update
//!                                                                4 d   insert
//!                                                                3 c   no new row has found it: delete
//! ```
//!
//! A row is the same where it has the same bytes, not where it is only equal (`1.0` and `1.00`). With one
//! unique index a row is written when it comes. With several a new row may have values there of an old row
//! that goes, so all that goes is deleted first. The caller keeps other writers out.

use std::collections::HashSet;
use std::sync::Arc;

use ::types::{Datum, Error as SqlError, Record, SqlState, row, text};
use txn::{KeyRange, RowLock, Wait};

use super::{Batch, Change, Cursor, Row, Table, position};
use crate::Result;
use crate::catalog::IndexPart;
use crate::method::ColumnSet;

/// How many rows are looked at together for those that go.
const ROWS_AT_ONCE: usize = 500;

/// New contents for a table.
pub struct Replacement {
    table: Arc<Table>,
    /// The unique index that finds the old row of a new one.
    index: usize,
    /// True if no other index is unique.
    is_alone: bool,
    /// The keys of the rows that stay.
    kept: HashSet<Vec<u8>>,
    /// New rows that wait for others to go.
    waiting: Vec<Vec<Datum>>,
    /// How many rows there are more than before.
    growth: i64,
}

impl Replacement {
    /// Begins to replace the rows of a table; `None` if it has no unique index over columns and all rows.
    pub fn new(table: &Arc<Table>) -> Option<Replacement> {
        let index = table.indexes().iter().position(|index| {
            let data = index.relation().index();
            data.is_some_and(|data| {
                let is_column = |part| matches!(part, &IndexPart::Column(_));
                let of_columns = data.keys.iter().all(|key| is_column(&key.part));
                data.is_unique && data.is_immediate && data.predicate.is_none() && of_columns
            }) && index.is_valid()
        })?;
        let is_unique = |index: &&crate::index::Index| {
            index.relation().index().is_some_and(|data| data.is_unique)
        };
        Some(Replacement {
            table: Arc::clone(table),
            index,
            is_alone: table.indexes().iter().filter(is_unique).count() == 1,
            kept: HashSet::new(),
            waiting: Vec::new(),
            growth: 0,
        })
    }

    /// Takes one of the new rows.
    ///
    /// # Errors
    /// 21000 where it came before, 23505 where its key did.
    pub fn put(&mut self, change: &mut Change<'_>, row: Vec<Datum>) -> Result<()> {
        let Some(key) = self.row_like(change, &row)? else { return self.add(change, row) };
        let old = self.row_at(change, &key)?;
        let old = old.to_datums()?;
        let is_same = image(&old) == image(&row);
        if self.kept.contains(&key) {
            // It fails unless the rows differ in the key itself.
            self.check_first(change, &row, is_same)?;
            return self.add(change, row);
        }
        if is_same {
            self.kept.insert(key);
        } else if self.is_alone {
            self.table.lock(change.txn, &key, RowLock::Update, Wait::Allowed)?;
            self.kept.insert(self.table.update(change, &key, &old, &row)?);
        } else {
            self.waiting.push(row);
        }
        Ok(())
    }

    fn add(&mut self, change: &mut Change<'_>, row: Vec<Datum>) -> Result<()> {
        if self.is_alone {
            self.kept.insert(self.table.insert(change, &row)?);
            self.growth += 1;
        } else {
            self.waiting.push(row);
        }
        Ok(())
    }

    /// Deletes the old rows that no new one has found, and ends. Returns how many rows there are more than
    /// before.
    ///
    /// # Errors
    /// As [`Replacement::put`].
    pub fn finish(mut self, change: &mut Change<'_>) -> Result<i64> {
        let mut cursor = Cursor::over(&self.table, KeyRange::ALL, false);
        let mut batch = Batch::new();
        while !cursor.is_at_end() {
            interrupt::check().map_err(SqlError::from)?;
            batch.clear();
            cursor.fill(change.txn.view(), ColumnSet::All, &mut batch, ROWS_AT_ONCE)?;
            for row in batch.iter().filter(|row| !self.kept.contains(row.key())) {
                let (key, old) = (row.key().to_vec(), row.to_datums()?);
                self.table.lock(change.txn, &key, RowLock::Update, Wait::Allowed)?;
                self.table.delete(change, &key, &old)?;
                self.growth -= 1;
            }
        }
        for row in std::mem::take(&mut self.waiting) {
            if let Some(key) = self.row_like(change, &row)? {
                let old = self.row_at(change, &key)?;
                self.check_first(change, &row, image(&old.to_datums()?) == image(&row))?;
            }
            self.table.insert(change, &row)?;
            self.growth += 1;
        }
        Ok(self.growth)
    }

    /// Fails if a new row without NULLs is the same as one before it.
    fn check_first(&self, change: &Change<'_>, row: &[Datum], is_same: bool) -> Result<()> {
        if !is_same || row.iter().any(Datum::is_null) {
            return Ok(());
        }
        let relation = self.table.relation();
        let columns = relation.live_columns();
        let fields =
            columns.map(|column| (column.ty, column.repr, row[position(column.attnum)].as_ref()));
        let record = Datum::Record(Record::new(fields));
        let context = change.values.context();
        let none = ::types::Modifier::NONE;
        let shown = text::to_string(record.as_ref(), ::types::Type::RECORD, none, &context);
        let message = format!(
            "new data for materialized view \"{}\" contains duplicate rows without any null columns",
            relation.name
        );
        let error = SqlError::new(SqlState::CARDINALITY_VIOLATION, message);
        Err(error.with_detail(format!("Row: {}", shown.unwrap_or_default())).into())
    }

    /// The row that an entry of the index leads to.
    fn row_at(&self, change: &Change<'_>, key: &[u8]) -> Result<Row> {
        let row = self.table.latest(change.txn, key)?;
        row.ok_or_else(|| self.table.indexes()[self.index].leads_nowhere())
    }

    /// The key of the row that has the values of `row` in the index.
    fn row_like(&self, change: &mut Change<'_>, row: &[Datum]) -> Result<Option<Vec<u8>>> {
        let index = &self.table.indexes()[self.index];
        let Some(storage) = index.storage() else { return Ok(None) };
        for entry in index.entries(row, &[], change.values)? {
            let latest = change.txn.latest();
            let view = txn::View::of(change.txn, &latest);
            if entry.is_exclusive
                && let Some(found) = view.read(storage, &entry.key)?
            {
                return index.row_key(&entry.key, found.base()).map(|key| Some(key.to_vec()));
            }
        }
        Ok(None)
    }
}

/// The bytes of a row.
fn image(row: &[Datum]) -> Vec<u8> {
    let mut bytes = Vec::new();
    row::write(0, row.iter().map(Datum::as_ref), &mut bytes);
    bytes
}
