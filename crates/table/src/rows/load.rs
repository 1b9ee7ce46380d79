//! [`Load`]: many rows for a table that never had any, straight into files of the store.
//!
//! ```text
//!   insert ──> row ────────> sorter of the rows ─────┐
//!          └─> entries ────> sorter of each index ───┤ finish: keys that come twice? 23505
//!          └─> foreign keys  as ever                 └──> loads of the transaction, which sees them
//! ```
//!
//! Nothing of it goes through the transaction's memory or the log, so a load may be larger than either, and
//! costs a third of what as many insertions do.
//!
//! # Invariants
//! * Nobody else writes to the table: it is held in mode SHARE, besides what is held for changing rows.
//! * The table and its indexes are fresh: no version of any row is kept, nor any of the transaction's own.

use std::sync::Arc;

use store::{Sorted, Sorter, Twice};
use txn::{RelationLock, Transaction, TxnError, View, Wait};

use super::change::Change;
use super::table::Table;
use crate::index::Entry;
use crate::method::RowLoad;
use crate::{Error, Result};

/// From so many bytes of rows on, a load costs less than as many insertions.
pub const LOAD_BYTES_MIN: usize = 256 << 10;

/// Rows on their way into a table.
pub struct Load {
    table: Arc<Table>,
    rows: Box<dyn RowLoad>,
    /// By positions in [`Table::indexes`].
    indexes: Vec<(usize, Sorter)>,
}

impl Table {
    /// Begins a load, where the table can be loaded: it is fresh, has no key that is checked late, its method
    /// can, and no other transaction is about to change it. Waits for no other transaction.
    pub fn load(self: &Arc<Self>, txn: &mut Transaction) -> Result<Option<Load>> {
        if self.begin_load(txn)?.is_none() {
            return Ok(None);
        }
        match txn.lock_relation(self.relation().oid.0, RelationLock::Share, Wait::Never) {
            Ok(()) => {}
            Err(TxnError::LockNotAvailable) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        // Somebody may have been there just before.
        self.begin_load(txn)
    }

    fn begin_load(self: &Arc<Self>, txn: &Transaction) -> Result<Option<Load>> {
        let indexes = self.indexes().iter().enumerate();
        let indexes: Vec<_> =
            indexes.filter_map(|(at, index)| Some((at, index.storage()?))).collect();
        for (_, storage) in &indexes {
            if txn.touches(*storage) || !txn.engine().store().is_fresh(*storage)? {
                return Ok(None);
            }
        }
        if self.indexes().iter().any(|index| index.is_checked_late()) {
            return Ok(None);
        }
        let Some(rows) = self.rows().load(txn)? else { return Ok(None) };
        Ok(Some(Load {
            rows,
            indexes: indexes.into_iter().map(|(at, storage)| (at, Sorter::new(storage))).collect(),
            table: Arc::clone(self),
        }))
    }
}

impl Load {
    /// The table.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Adds a row, a value for each column by position, and gives its key. Keys are checked when the
    /// load ends.
    ///
    /// # Errors
    /// As [`Table::insert`], but for 23505. The load is to be dropped then.
    pub fn insert(&mut self, change: &mut Change<'_>, row: &[types::Datum]) -> Result<Vec<u8>> {
        let table = &self.table;
        table.check(row, change.values)?;
        let engine = Arc::clone(change.txn.engine());
        let key = table.new_key(&engine, row)?;
        self.rows.put(&engine, &key, row)?;
        for (at, sorter) in &mut self.indexes {
            for Entry { key, value, .. } in
                table.indexes()[*at].entries(row, &key, change.values)?
            {
                sorter.put(engine.store(), &key, |out| out.extend_from_slice(&value))?;
            }
        }
        change.checks.inserted(table, change.txn, row)?;
        Ok(key)
    }

    /// Ends the load: the rows are there for the transaction, and for all once it commits.
    ///
    /// # Errors
    /// 23505 where two rows have equal keys; what writing files reports.
    pub fn finish(self, change: &mut Change<'_>) -> Result<()> {
        let Load { table, rows, indexes } = self;
        let engine = Arc::clone(change.txn.engine());
        if let Some(row) = rows.finish(change.txn)? {
            return Err(table.duplicate(change.values, None, &row));
        }
        for (at, sorter) in indexes {
            let index = &table.indexes()[at];
            match sorter.finish(engine.store())? {
                Sorted::Loaded(loaded) => change.txn.attach(loaded)?,
                Sorted::Twice(Twice { key, value }) => {
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
