//! The backfill of an index: its entries for versions that were over when it was made, and the rows that it
//! finds by any version.
//!
//! ```text
//!   csn              10       20         30  CREATE INDEX          40
//!   row 7            ada ──── grace ───────────────────────────── joan
//!   row 8                     eve ─ deleted
//!
//!   backfill                                 (ada, 7)  (eve, 8)                 no more of them ever
//!   entries                                  (grace, 7) ────────── (joan, 7)    a version as long as the row's
//! ```
//!
//! Entries that are made when versions are over cannot be told apart by commits, so they have a
//! table of the store of their own, in which a key leads to one row whatever the index: `columns │
//! row's key`, or `item │ row's key`. A reader that searches all of the past looks into both, and
//! at the versions of the rows found. The cost, in time and in space, is that of the earlier
//! changes: a row that has always been as it is has no entry here.
//!
//! A table that forgets the past, or part of it, has no such entries: they would remember.

use std::collections::BTreeSet;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use store::{Csn, Kind, Op, Sorter, TableId};
use txn::{KeyRange, Snapshot, Transaction, View};
use types::SqlState;

use super::build::Filling;
use super::search::Entries;
use super::{Entry, Index, Query};
use crate::heap::patch::put_varint;
use crate::rows::{Change, RowVersion, Table};
use crate::stored::backfill_of;
use crate::{Error, Result};

/// Keys of rows, in order.
pub type RowKeys = BTreeSet<Vec<u8>>;

impl Index {
    /// Writes an entry of a version that is over to the backfill.
    pub(crate) fn write_backfill(
        &self,
        txn: &mut Transaction,
        row_key: &[u8],
        entry: &Entry,
    ) -> Result<()> {
        if let (Some(backfill), true) = (self.backfill(), self.is_whole()) {
            let entry = backfill_entry(entry.backfill_key(row_key), row_key);
            txn.write(backfill, entry.key, Op::Put(entry.value))?;
        }
        Ok(())
    }

    /// Where entries lie of versions that were over when it was made; `None` for a columnar index, which
    /// knows no moment before it.
    pub(crate) fn backfill(&self) -> Option<TableId> {
        self.storage().filter(|_| !self.is_columnar()).and_then(backfill_of)
    }

    /// The rows, those that are gone included, of which some version has its entry in one of the ranges.
    /// Only for an index [that is whole](Index::is_whole).
    pub fn rows_ever(&self, now: &Snapshot, ranges: &[KeyRange]) -> Result<RowKeys> {
        let mut found = RowKeys::new();
        let Some(storage) = self.storage() else { return Ok(found) };
        for KeyRange { lower, upper } in ranges {
            for storage in [Some(storage), self.backfill()].into_iter().flatten() {
                add_rows(now, storage, (lower.clone(), upper.clone()), &mut found)?;
            }
        }
        Ok(found)
    }

    /// The rows, those that are gone included, of which versions have the items that are asked for: not
    /// always one version all of them.
    pub fn rows_ever_with(&self, now: &Snapshot, query: &Query) -> Result<RowKeys> {
        let Some(storage) = self.storage() else { return Ok(RowKeys::new()) };
        let storages = [Some(storage), self.backfill()];
        let rows = query.rows(&EntriesEver { now, storages })?;
        Ok(rows.into_iter().collect())
    }
}

/// The entries that ever were, whenever.
struct EntriesEver<'s> {
    now: &'s Snapshot,
    storages: [Option<TableId>; 2],
}

impl Entries for EntriesEver<'_> {
    fn rows(&self, range: KeyRange, out: &mut Vec<Vec<u8>>) -> Result<()> {
        let mut found = RowKeys::new();
        for storage in self.storages.into_iter().flatten() {
            add_rows(self.now, storage, (range.lower.clone(), range.upper.clone()), &mut found)?;
        }
        out.extend(found);
        Ok(())
    }

    fn first(&self, range: KeyRange) -> Result<Option<Vec<u8>>> {
        let mut first: Option<Vec<u8>> = None;
        for storage in self.storages.into_iter().flatten() {
            let (lower, upper) = (range.lower.clone(), range.upper.clone());
            let mut entries = self.now.engine().store().keys(storage, lower, upper, false);
            if let Some(key) = entries.advance()?
                && first.as_ref().is_none_or(|first| key < first.as_slice())
            {
                first = Some(key.to_vec());
            }
        }
        Ok(first)
    }
}

/// Adds the rows that the versions of entries in a range lead to.
fn add_rows(
    now: &Snapshot,
    storage: TableId,
    (lower, upper): (Bound<Vec<u8>>, Bound<Vec<u8>>),
    found: &mut RowKeys,
) -> Result<()> {
    let mut entries = now.engine().store().keys(storage, lower, upper, false);
    while let Some(entry) = entries.advance()? {
        let mut damaged = None;
        // A unique key leads to one row after another.
        now.versions(storage, entry, Csn(1), |version| {
            if version.kind == Kind::Put {
                match Entry::row_key(entry, version.bytes) {
                    Ok(key) => drop(found.insert(key.to_vec())),
                    Err(error) => damaged = Some(error),
                }
            }
            ControlFlow::Continue(())
        })?;
        damaged.map_or(Ok(()), Err)?;
    }
    Ok(())
}

impl Table {
    /// Makes the backfill of an index. Returns false if it cannot have one: then it is empty.
    pub(super) fn build_backfill(
        self: &Arc<Self>,
        change: &mut Change<'_>,
        index: &Index,
    ) -> Result<bool> {
        let (Some(backfill), true) = (index.backfill(), index.is_whole()) else { return Ok(true) };
        let engine = Arc::clone(change.txn.engine());
        let latest = change.txn.latest();
        let mut filling = Filling::new(change.txn, Sorter::new(backfill))?;
        let is_own = change.txn.has_written(self.storage());
        let mut rows = self.rows().keys_changed(&engine);
        while let Some(row_key) = rows.advance()? {
            let mut versions = self.versions(&latest, row_key, Csn::ZERO, Csn::MAX)?;
            // A current version is a row and has its entry, unless the transaction has changed it.
            versions.retain(|version| is_own || version.to.is_some());
            if versions.is_empty() {
                continue;
            }
            let keys = match self.keys_of_past(change, index, &latest, row_key, versions) {
                Err(error) if is_of_data(&error) => return Ok(false),
                keys => keys?,
            };
            let entries = keys.into_iter().map(|key| backfill_entry(key, row_key));
            filling.add(engine.store(), entries)?;
        }
        match filling.finish(change.txn, |_| None)? {
            None => Ok(true),
            Some(_) => Err(Error::Damaged { what: "the past of a row" }),
        }
    }

    /// Returns the keys that an index has for versions of a row, and not for the row.
    fn keys_of_past(
        self: &Arc<Self>,
        change: &mut Change<'_>,
        index: &Index,
        latest: &Snapshot,
        row_key: &[u8],
        versions: Vec<RowVersion>,
    ) -> Result<RowKeys> {
        let mut keys = RowKeys::new();
        // Of large values one at a time is in memory.
        for mut version in versions {
            self.rows().complete(latest, &mut version)?;
            let entries = index.entries(&version.row.to_datums()?, row_key, change.values)?;
            keys.extend(entries.iter().map(|entry| entry.backfill_key(row_key)));
        }
        if let Some(row) = self.get(View::of(change.txn, latest), row_key)? {
            for entry in index.entries(&row.to_datums()?, row_key, change.values)? {
                keys.remove(&entry.backfill_key(row_key));
            }
        }
        Ok(keys)
    }
}

/// Returns the entry of a version that is over.
fn backfill_entry(key: Vec<u8>, row_key: &[u8]) -> Entry {
    let mut value = Vec::with_capacity(2);
    put_varint(&mut value, row_key.len());
    Entry { key, value, is_exclusive: false, row_key_bytes: row_key.len() }
}

/// Erases the backfill of an index. Returns false if it was empty.
pub(crate) fn erase_backfill(txn: &mut Transaction, index: TableId) -> Result<bool> {
    let Some(backfill) = backfill_of(index) else { return Ok(false) };
    let latest = txn.latest();
    let mut keys = Vec::new();
    // The entries that the transaction itself has made are among them.
    txn::Cursor::new(backfill, KeyRange::ALL, false).fill::<Error>(
        View::of(txn, &latest),
        |key, row| {
            keys.push((key.to_vec(), row.csn() == Csn::MAX));
            Ok(ControlFlow::Continue(()))
        },
    )?;
    let is_told = !keys.is_empty();
    for (key, is_own) in keys {
        if is_own {
            txn.write(backfill, key.clone(), Op::Delete)?;
        }
        txn.write(backfill, key, Op::Erase { from: Csn::ZERO, to: None })?;
    }
    Ok(is_told)
}

/// True if the values of a row are to blame: an expression that the rows of now have a value for may have
/// none for a row of the past.
pub(crate) fn is_of_data(error: &Error) -> bool {
    matches!(error, Error::Sql(error) if error.state().code().starts_with("22"))
        || error.sqlstate() == SqlState::PROGRAM_LIMIT_EXCEEDED
}
