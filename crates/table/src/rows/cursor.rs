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

use super::layout::Batch;
use super::table::{Table, image};
use crate::index::{Entry, Index};
use crate::{Error, Result};

/// A scan that can be suspended.
pub struct Cursor {
    table: Arc<Table>,
    inner: txn::Cursor,
    by_index: bool,
    keys_only: bool,
    without_documents: bool,
}

impl Cursor {
    /// The rows whose keys are in a range (see [`Table::shape`]), in the order of keys, or in reverse.
    pub fn over(table: &Arc<Table>, range: KeyRange, reverse: bool) -> Cursor {
        let inner = txn::Cursor::new(table.storage(), range, reverse);
        Cursor {
            table: Arc::clone(table),
            inner,
            by_index: false,
            keys_only: false,
            without_documents: false,
        }
    }

    /// The rows whose entries in the index are in a range (see [`Index::shape`]), in the index's order,
    /// or in reverse. `index` is one of the table's.
    pub fn by_index(table: &Arc<Table>, index: &Index, range: KeyRange, reverse: bool) -> Cursor {
        match index.storage() {
            None => Cursor::over(table, range, reverse),
            Some(storage) => {
                let inner = txn::Cursor::new(storage, range, reverse);
                Cursor {
                    table: Arc::clone(table),
                    inner,
                    by_index: true,
                    keys_only: false,
                    without_documents: false,
                }
            }
        }
    }

    /// Gives keys alone: the rows have no columns that could be read.
    pub fn keys_only(mut self) -> Cursor {
        self.keys_only = true;
        self
    }

    /// Leaves documents out: the column of a table `USING document` cannot be read, only whether it is NULL.
    pub fn without_documents(mut self) -> Cursor {
        self.without_documents = true;
        self
    }

    /// True where there is nothing more to come.
    pub fn is_at_end(&self) -> bool {
        self.inner.is_at_end()
    }

    /// The table whose rows it gives.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Counts the next rows, up to so many; fewer only at the end.
    pub fn count(&mut self, view: View<'_>, most: u64) -> Result<u64> {
        let mut count = 0;
        if most > 0 {
            self.inner.fill::<Error>(view, |_, _| {
                count += 1;
                Ok(if count < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
            })?;
        }
        Ok(count)
    }

    /// Adds up to so many of the next rows to `batch`. Fewer are added only at the end. All views are
    /// of one transaction, or of none.
    pub fn fill(&mut self, view: View<'_>, batch: &mut Batch, rows_max: usize) -> Result<()> {
        let Cursor { table, inner, by_index, keys_only, without_documents } = self;
        let with_documents = table.documents().is_some() && !*without_documents;
        batch.lay_out(table.layout());
        if rows_max == 0 {
            return Ok(());
        }
        let end = batch.len() + rows_max;
        let go_on = |batch: &Batch| match batch.len() < end {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        };
        if !*by_index && !with_documents {
            return inner.fill(view, |key, row| {
                batch.push(key, |out| if *keys_only { Ok(()) } else { image(row, out) })?;
                Ok(go_on(batch))
            });
        }
        // Keys first: the cursor's snapshot is known to be held only between its fills, and documents are
        // read in it, as rows that an index leads to are.
        let (mut keys, mut ends): (Vec<u8>, Vec<usize>) = (Vec::new(), Vec::new());
        inner.fill::<Error>(view, |entry, value| {
            let key = if *by_index { Entry::row_key(entry, value.base())? } else { entry };
            keys.extend_from_slice(key);
            ends.push(keys.len());
            Ok(if ends.len() < rows_max {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            })
        })?;
        let view = inner.view(view);
        let mut from = 0;
        for end in ends {
            let key = &keys[from..end];
            from = end;
            if *keys_only {
                batch.push(key, |_| Ok::<_, Error>(()))?;
                continue;
            }
            let row = view.read(table.storage(), key)?;
            let row = row.ok_or(Error::Damaged { what: "an index entry without a row" })?;
            batch.push(key, |out| match with_documents {
                true => table.write_row(view, &row, false, out),
                false => image(&row, out),
            })?;
        }
        Ok(())
    }
}
