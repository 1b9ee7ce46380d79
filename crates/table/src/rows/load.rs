//! [`Load`]: many rows for a table at once.
//!
//! ```text
//!   insert ──> [ sorter, where the table has an order ] ──> place ──┬─> files, of a table that never had any
//!                                                                   └─> one by one, of any other
//!   files
//!     row ────────> sorter of the rows ─────┐
//!     entries ────> sorter of each index ───┤ finish: keys that come twice? 23505
//!     foreign keys  as ever                 └──> loads of the transaction, which sees them
//! ```
//!
//! Nothing of what goes to files goes through the transaction's memory or the log, so a load may be larger
//! than either, and costs a third of what as many insertions do.
//!
//! A table with an order ([`Rows::order`](crate::method::Rows::order)) gives its hidden ids to the rows of a
//! load in that order. The rows wait for that in a sorter of their own.
//!
//! # Invariants of files
//! * No other transaction writes to the table: it is locked in mode SHARE, besides what is held for changing rows.
//! * The table and its indexes are fresh: no version of any row is kept, nor any of the transaction's own.

use std::sync::Arc;

use store::{DuplicateKey, Sorted, Sorter, Store};
use txn::{RelationLock, Transaction, TxnError, View, Wait};
use types::{Datum, key, row};

use super::Row;
use super::change::{Change, RowValues};
use super::table::Table;
use crate::columnar::OrderedColumn;
use crate::index::{Entry, EntryWriter, Index};
use crate::method::RowLoad;
use crate::{Error, Result};

/// From so many bytes of rows on, a load costs less than as many insertions.
pub const LOAD_BYTES_MIN: usize = 256 << 10;

/// Rows are sorted by so many bytes of their order at most.
const ORDER_BYTES_MAX: usize = 1 << 10;

/// Collects rows for a table.
pub struct Load {
    table: Arc<Table>,
    sorting: Option<Sorting>,
    /// `None` if rows are inserted one by one.
    files: Option<Files>,
}

/// Rows that wait until all have come.
struct Sorting {
    rows: Sorter,
    order: Vec<OrderedColumn>,
    count: u64,
}

/// The files of the rows and of the indexes.
struct Files {
    rows: Box<dyn RowLoad>,
    indexes: Vec<IndexFiles>,
}

/// Collects the entries of an index for files.
struct IndexFiles {
    /// The position of the index in [`Table::indexes`].
    at: usize,
    /// `None` if its entries are computed.
    writer: Option<EntryWriter>,
    sorter: Sorter,
}

impl IndexFiles {
    /// Adds what the index says of a row.
    fn put(
        &mut self,
        index: &Index,
        store: &Store,
        (row, key): (&[Datum], &[u8]),
        values: &mut dyn RowValues,
    ) -> Result<()> {
        let sorter = &mut self.sorter;
        if let Some(writer) = &mut self.writer {
            return writer.put_values(index, (row, key), (sorter, store));
        }
        for Entry { key, value, .. } in index.entries(row, key, values)? {
            sorter.put(store, &key, |out| out.extend_from_slice(&value))?;
        }
        Ok(())
    }
}

impl Table {
    /// Begins a load of many rows, or of few. `None` if rows are better inserted one by one: the table has no
    /// order; and they are few, or the table is not fresh, has a key that is checked late or an exclusion constraint, is about to be changed
    /// by another transaction, or has a method without files. Waits for no other transaction.
    pub fn load(self: &Arc<Self>, txn: &mut Transaction, is_large: bool) -> Result<Option<Load>> {
        let files = if is_large { self.files(txn)? } else { None };
        let sorting = self.sorting();
        Ok(match (&files, &sorting) {
            (None, None) => None,
            _ => Some(Load { table: Arc::clone(self), sorting, files }),
        })
    }

    fn sorting(&self) -> Option<Sorting> {
        let order = self.rows().order();
        if order.is_empty() || !self.keyed_by().is_empty() {
            return None;
        }
        let rows = Sorter::new(self.storage()).for_walk();
        Some(Sorting { rows, order: order.to_vec(), count: 0 })
    }

    fn files(self: &Arc<Self>, txn: &mut Transaction) -> Result<Option<Files>> {
        if self.begin_files(txn)?.is_none() {
            return Ok(None);
        }
        match txn.lock_relation(self.relation().oid.0, RelationLock::Share, Wait::Never) {
            Ok(()) => {}
            Err(TxnError::LockNotAvailable) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        // Another transaction may have written just before.
        self.begin_files(txn)
    }

    fn begin_files(self: &Arc<Self>, txn: &Transaction) -> Result<Option<Files>> {
        let indexes = self.indexes().iter().enumerate();
        let indexes: Vec<_> =
            indexes.filter_map(|(at, index)| Some((at, index.storage()?))).collect();
        for (_, storage) in &indexes {
            if txn.touches(*storage) || !txn.engine().store().is_fresh(*storage)? {
                return Ok(None);
            }
        }
        if self.indexes().iter().any(|index| index.is_checked_late() || index.excludes()) {
            return Ok(None);
        }
        let Some(rows) = self.rows().load(txn)? else { return Ok(None) };
        let files = |(at, storage): (usize, _)| {
            let index = &self.indexes()[at];
            IndexFiles { at, writer: index.entry_writer(), sorter: index.sorter(storage) }
        };
        let indexes = indexes.into_iter().map(files).collect();
        Ok(Some(Files { rows, indexes }))
    }
}

impl Sorting {
    /// Takes a row in.
    fn put(&mut self, table: &Table, change: &Change<'_>, values: &[Datum]) -> Result<()> {
        let mut order = Vec::with_capacity(32);
        for OrderedColumn { attnum, order: direction } in &self.order {
            // A column that was dropped is NULL in all rows.
            let value = values.get(*attnum as usize - 1).unwrap_or(&Datum::Null);
            key::write(value.as_ref(), *direction, &mut order);
        }
        order.truncate(ORDER_BYTES_MAX);
        // Rows that are equal stay as they came.
        order.extend_from_slice(&self.count.to_be_bytes());
        self.count += 1;
        let (version, values) = (table.layout().version(), values.iter().map(Datum::as_ref));
        let store = change.txn.engine().store();
        Ok(self.rows.put(store, &order, |out| row::write(version, values, out))?)
    }
}

impl Files {
    fn insert(&mut self, table: &Arc<Table>, change: &mut Change<'_>, row: &[Datum]) -> Result<()> {
        let engine = Arc::clone(change.txn.engine());
        let key = table.new_key(&engine, row)?;
        self.rows.put(&engine, &key, row)?;
        for files in &mut self.indexes {
            let index = &table.indexes()[files.at];
            files.put(index, engine.store(), (row, &key), change.values)?;
        }
        change.checks.inserted(table, change.txn, row)
    }

    fn finish(self, table: &Table, change: &mut Change<'_>) -> Result<()> {
        let engine = Arc::clone(change.txn.engine());
        if let Some(row) = self.rows.finish(change.txn)? {
            return Err(table.duplicate(change.values, None, &row));
        }
        for IndexFiles { at, sorter, .. } in self.indexes {
            let index = &table.indexes()[at];
            match sorter.finish(engine.store())? {
                Sorted::Loaded(loaded) => change.txn.attach(loaded)?,
                Sorted::Duplicate(DuplicateKey { key, value }) => {
                    let row = Entry::row_key(&key, &value)?;
                    let row = table.get(View::of(change.txn, change.txn.snapshot()), row)?;
                    let row = row.ok_or(Error::Damaged { what: "an index entry" })?.to_datums()?;
                    return Err(table.duplicate(change.values, Some(index), &row));
                }
            }
        }
        Ok(())
    }
}

impl Load {
    /// The table.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Adds a row, a value for each column by position. Keys are checked when the load ends.
    ///
    /// # Errors
    /// As [`Table::insert`], but for 23505. The load is to be dropped then.
    pub fn insert(&mut self, change: &mut Change<'_>, row: &[Datum]) -> Result<()> {
        self.table.check(row, change.values)?;
        match &mut self.sorting {
            Some(sorting) => sorting.put(&self.table, change, row),
            None => place(&self.table, &mut self.files, change, row),
        }
    }

    /// Ends the load: the transaction sees the rows, and all readers do once it commits.
    ///
    /// # Errors
    /// 23505 where two rows have equal keys; the errors of writing files.
    pub fn finish(self, change: &mut Change<'_>) -> Result<()> {
        let Load { table, sorting, mut files } = self;
        if let Some(sorting) = sorting {
            let engine = Arc::clone(change.txn.engine());
            sorting.rows.walk(engine.store(), |_, bytes| {
                interrupt::check().map_err(types::Error::from)?;
                let row = Row::new(&[], table.layout(), bytes).to_datums()?;
                place(&table, &mut files, change, &row)
            })?;
        }
        match files {
            Some(files) => files.finish(&table, change),
            None => Ok(()),
        }
    }
}

/// Puts a row into the files of a load, or inserts it where there are none.
fn place(
    table: &Arc<Table>,
    files: &mut Option<Files>,
    change: &mut Change<'_>,
    row: &[Datum],
) -> Result<()> {
    match files {
        Some(files) => files.insert(table, change, row),
        None => table.insert(change, row).map(drop),
    }
}
