//! [`Cursor`]: the rows of a range, by key or by an index, a batch at a time.
//!
//! ```text
//!   by key      scan of the table           ──> key, value            ──> Batch
//!   by index    scan of the index's table   ──> the row's key ──get── ──> Batch      in the index's order
//! ```
//!
//! Between batches a cursor borrows nothing, so a portal can hold one as long as it likes. All batches
//! are of one snapshot, that of the first: see [`txn::Cursor`].

use std::ops::ControlFlow;
use std::sync::Arc;

use txn::{KeyRange, View};
use types::Oid;

use super::layout::Batch;
use super::table::Table;
use crate::columnar::Block;
use crate::index::{Entry, Index};
use crate::method::{Access, ColumnSet, RowScan};
use crate::{Error, Result};

/// A scan that can be suspended.
pub struct Cursor {
    table: Arc<Table>,
    source: Source,
}

/// The source of a cursor.
enum Source {
    Rows(Box<dyn RowScan>),
    /// The entries of the index with this number.
    Entries(Box<txn::Cursor>, Oid),
}

impl Cursor {
    /// The rows whose keys are in a range (see [`Table::shape`]), in the order of keys, or in reverse.
    pub fn over(table: &Arc<Table>, range: KeyRange, reverse: bool) -> Cursor {
        let source = Source::Rows(table.rows().scan(range, reverse));
        Cursor { table: Arc::clone(table), source }
    }

    /// The rows whose entries in the index are in a range (see [`Index::shape`]), in the index's order,
    /// or in reverse. `index` is one of the table's.
    pub fn by_index(table: &Arc<Table>, index: &Index, range: KeyRange, reverse: bool) -> Cursor {
        let Some(storage) = index.storage() else { return Cursor::over(table, range, reverse) };
        let entries = Box::new(txn::Cursor::new(storage, range, reverse));
        let source = Source::Entries(entries, index.relation().oid);
        Cursor { table: Arc::clone(table), source }
    }

    /// True if there is nothing more to come.
    pub fn is_at_end(&self) -> bool {
        match &self.source {
            Source::Rows(scan) => scan.is_at_end(),
            Source::Entries(entries, _) => entries.is_at_end(),
        }
    }

    /// The table whose rows it gives.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Takes a cursor apart that has given nothing yet: returns cursors, for several threads, of
    /// about so many rows each. They are filled to blocks ([`Cursor::fill_to_block`]) with past
    /// views at the snapshot of `view`. This one gives the rows that they do not have. Returns none
    /// if its table cannot do that, or there would be one.
    ///
    /// # Errors
    /// Returns the error of the store.
    pub fn split(&mut self, view: View<'_>, rows_each: u64) -> Result<Vec<Cursor>> {
        let Source::Rows(scan) = &mut self.source else { return Ok(Vec::new()) };
        let parts = scan.split(view, rows_each)?;
        let part = |scan| Cursor { table: Arc::clone(&self.table), source: Source::Rows(scan) };
        Ok(parts.into_iter().map(part).collect())
    }

    /// Counts the next rows, up to so many; fewer only at the end.
    pub fn count(&mut self, view: View<'_>, most: u64) -> Result<u64> {
        match &mut self.source {
            Source::Rows(scan) => scan.count(view, most),
            Source::Entries(entries, _) => Ok(entries.count(view, most)?),
        }
    }

    /// Adds up to so many of the next rows to `batch`, with the columns that are wanted: the same for all
    /// fills. Fewer are added only at the end. All views are of one transaction, or of none.
    pub fn fill(
        &mut self,
        view: View<'_>,
        wanted: ColumnSet<'_>,
        batch: &mut Batch,
        rows_max: usize,
    ) -> Result<()> {
        self.fill_to_block(view, wanted, batch, rows_max, false).map(drop)
    }

    /// As [`Cursor::fill`]. With `stops_at_blocks` rows come in any order, and it stops behind a block of columns,
    /// if its table has such, which it returns. All fills are alike in that.
    pub fn fill_to_block(
        &mut self,
        view: View<'_>,
        wanted: ColumnSet<'_>,
        batch: &mut Batch,
        rows_max: usize,
        stops_at_blocks: bool,
    ) -> Result<Option<Block>> {
        let table = &self.table;
        batch.lay_out(table.layout());
        if rows_max == 0 {
            return Ok(None);
        }
        let (entries, index) = match &mut self.source {
            Source::Rows(scan) if stops_at_blocks => {
                return scan.fill_to_block(view, wanted, batch, rows_max);
            }
            Source::Rows(scan) => {
                return scan.fill(view, wanted, batch, rows_max).map(|()| None);
            }
            Source::Entries(entries, index) => (entries, Some(*index)),
        };
        // Keys first: the cursor's snapshot is known to be held only between its fills, and the rows that
        // the index leads to are read at it.
        let (mut keys, mut ends): (Vec<u8>, Vec<usize>) = (Vec::new(), Vec::new());
        entries.fill::<Error>(view, |entry, value| {
            let key = Entry::row_key(entry, value.base());
            let damaged = |_| table.damaged_index(index, "an entry has no key of a row");
            keys.extend_from_slice(key.map_err(damaged)?);
            ends.push(keys.len());
            Ok(match ends.len() < rows_max {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            })
        })?;
        let view = entries.view(view);
        let mut from = 0;
        for end in ends {
            let key = &keys[from..end];
            from = end;
            let is_found = match wanted.is_nothing() {
                true => batch.push(key, |_| Ok::<bool, Error>(true))?,
                false => table.rows().read_into(view, key, wanted, Access::Scan, batch)?,
            };
            if !is_found {
                return Err(table.damaged_index(index, "an entry leads to no row"));
            }
        }
        Ok(None)
    }
}
