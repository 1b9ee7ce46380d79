//! `ERASE`: rows that never were, in no version, in no index, and in time in no file.
//!
//! ```text
//!   row 7      [10 put] [20 patch] [30 delete]             all of its key
//!   name_idx   (ada, 7)  (grace, 7)                        all of these keys: they are the row's own
//!   email_key  a@x: [10 row 7] [20 ended] [25 row 9]       of a key that others have had: its part
//! ```
//!
//! A row goes by its key. Its entries in indexes follow from its versions. Of indexes that are
//! gone, or belong to a table of the store that was given up, every entry is looked at, because
//! their definition may not be known any more.
//!
//! How many rows each commit has erased of which relation is kept as versions of a key for each
//! relation, so that one can tell what was erased when, and whether the bytes are gone.

use std::collections::{BTreeMap, HashSet};
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use store::{Csn, Kind, Op, TableId};
use txn::{CommitMeta, Engine, Isolation, RowLock, Transaction, Wait};
use types::Oid;

use super::storage_epochs::StorageEpoch;
use super::{Change, Table};
use crate::catalog::{CATALOG, Entry as Known, IndexMethod, Key, Record, decode, key_of};
use crate::index::{Entry, Index, is_of_data};
use crate::stored::{Tables, backfill_of};
use crate::{Error, Result};

/// Where it is noted what was erased: a key for each relation (its OID, big end first), whose value is the
/// number of rows that a commit has erased (u64, little end first); and [`CLEAN`].
pub(crate) const ERASURES: TableId = TableId(0x7fff_fffe);
/// The commit (u64, little end first) up to which the bytes of what was erased are in no file of the database.
const CLEAN: &[u8] = b"";

/// A row: the table of the store that it is in, or was, and its key there.
pub type RowAt = (TableId, Vec<u8>);

/// The rows of a relation that a commit has erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Erasure {
    /// The commit.
    pub csn: Csn,
    /// The relation that the rows were of.
    pub relation: Oid,
    /// How many rows.
    pub rows: u64,
    /// Keys, of rows and of indexes, whose bytes may still be in the store's files.
    pub pending: usize,
    /// True if no file of the database has any of it, the log included.
    pub is_clean: bool,
}

/// Removes rows of a relation with their past, from this commit on: they have then never been.
/// These are the rows in `rows` and, where the relation had the same keys in other epochs, the rows
/// with the same keys there. Returns how many of them there were until now.
///
/// # Errors
/// 23503 where other rows refer to one of them, whatever the foreign key would do if it were
/// deleted; the errors of locking them.
pub fn erase(
    change: &mut Change<'_>,
    epochs: &[StorageEpoch],
    tables: &Tables,
    rows: &[RowAt],
) -> Result<i64> {
    let Some(now) = epochs.last() else { return Ok(0) };
    let mut found: BTreeMap<TableId, HashSet<&[u8]>> = BTreeMap::new();
    for (storage, key) in rows {
        let Some(epoch) = epochs.iter().find(|epoch| epoch.table.storage() == *storage) else {
            continue;
        };
        for other in epochs.iter().filter(|o| o.has_keys_of(epoch) || o.table.storage() == *storage)
        {
            found.entry(other.table.storage()).or_default().insert(key);
        }
    }
    let mut live = 0;
    let none = HashSet::new();
    for key in sorted(found.get(&now.table.storage()).unwrap_or(&none)) {
        live += i64::from(now.table.erase(change, key)?);
    }
    for epoch in epochs.iter().filter(|epoch| epoch.table.storage() != now.table.storage()) {
        let storage = epoch.table.storage();
        let keys = found.get(&storage).unwrap_or(&none);
        for key in sorted(keys) {
            // The changes that the transaction itself made before it wrote the rows anew are erased too.
            if change.txn.read(storage, key)?.is_some_and(|row| row.csn() == Csn::MAX) {
                change.txn.write(storage, key.to_vec(), Op::Delete)?;
            }
            epoch.table.erase_changes(change.txn, key)?;
            epoch.table.rows().erase(change.txn, key, None)?;
        }
        // The indexes of others are among those that are gone.
        let own =
            epoch.table.indexes().iter().filter(|_| epoch.ended.is_none() && !keys.is_empty());
        for index in own {
            if let Some(storage) = index.storage() {
                forget_entries_of(change.txn, (storage, index.is_columnar()), keys)?;
            }
        }
    }
    for (index, ended) in gone_indexes(change.txn, tables, now.table.relation().oid)? {
        let of = epochs.iter().find(|epoch| epoch.ended.is_none_or(|end| end >= ended));
        let keys = of.and_then(|epoch| found.get(&epoch.table.storage()));
        if let Some(keys) = keys.filter(|keys| !keys.is_empty()) {
            forget_entries_of(change.txn, index, keys)?;
        }
    }
    let count = found.values().map(HashSet::len).max().unwrap_or_default();
    note_erased(change.txn, now.table.relation().oid, count as u64)?;
    Ok(live)
}

/// Returns the erasures of rows of relations, oldest first.
pub fn erasures(engine: &Arc<Engine>) -> Result<Vec<Erasure>> {
    let now = engine.snapshot();
    let pending: BTreeMap<Csn, usize> = engine.store().erasures().into_iter().collect();
    let clean = now.read(ERASURES, CLEAN)?.map_or(Ok(0), |found| number(found.base()))?;
    let mut all = Vec::new();
    let mut keys = engine.store().keys(ERASURES, Bound::Unbounded, Bound::Unbounded, false);
    while let Some(key) = keys.advance()? {
        let Ok(oid) = key.try_into().map(u32::from_be_bytes) else { continue };
        let mut damaged = None;
        now.versions(ERASURES, key, Csn(1), |version| {
            let pending = pending.get(&version.csn).copied().unwrap_or_default();
            match number(version.bytes) {
                Ok(rows) => all.push(Erasure {
                    csn: version.csn,
                    relation: Oid(oid),
                    rows,
                    pending,
                    is_clean: pending == 0 && version.csn.0 <= clean,
                }),
                Err(error) => damaged = Some(error),
            }
            ControlFlow::Continue(())
        })?;
        if let Some(error) = damaged {
            return Err(error);
        }
    }
    all.sort_unstable_by_key(|erasure| (erasure.csn, erasure.relation));
    Ok(all)
}

/// Removes the erased bytes from the store's files and the log, as far as no snapshot is older than
/// the erasure; does nothing where nothing is left of any.
pub fn clean(engine: &Arc<Engine>) -> Result<()> {
    if erasures(engine)?.iter().all(|erasure| erasure.is_clean) {
        return Ok(());
    }
    let upto = engine.scrub()?;
    let mut txn = engine.begin(Isolation::ReadCommitted);
    txn.put(ERASURES, CLEAN, upto.0.to_le_bytes().to_vec())?;
    txn.commit(CommitMeta::default())?;
    Ok(())
}

fn number(bytes: &[u8]) -> Result<u64> {
    let number = bytes.try_into().map(u64::from_le_bytes);
    number.map_err(|_| Error::Damaged { what: "a note of what was erased" })
}

/// Adds to what the transaction has erased of a relation.
pub(crate) fn note_erased(txn: &mut Transaction, relation: Oid, rows: u64) -> Result<()> {
    if rows == 0 {
        return Ok(());
    }
    let key = relation.0.to_be_bytes();
    txn.lock_latest(ERASURES, &key, RowLock::Update, Wait::Allowed)?;
    let own = txn.read(ERASURES, &key)?.filter(|row| row.csn() == Csn::MAX);
    let before = own.map_or(Ok(0), |row| number(row.base()))?;
    let value = (before + rows).to_le_bytes().to_vec();
    Ok(txn.write(ERASURES, key.to_vec(), Op::Put(value))?)
}

fn sorted<'a>(keys: &HashSet<&'a [u8]>) -> Vec<&'a [u8]> {
    let mut keys: Vec<&[u8]> = keys.iter().copied().collect();
    keys.sort_unstable();
    keys
}

/// Erases a key whole.
fn forget(txn: &mut Transaction, table: TableId, key: &[u8]) -> Result<()> {
    Ok(txn.write(table, key.to_vec(), Op::Erase { from: Csn::ZERO, to: None })?)
}

/// Erases an entry of the backfill of an index.
fn erase_backfill(txn: &mut Transaction, index: &Index, entry: &[u8]) -> Result<()> {
    match index.backfill() {
        Some(backfill) if txn.engine().store().latest(backfill, entry)?.is_some() => {
            forget(txn, backfill, entry)
        }
        _ => Ok(()),
    }
}

/// Erases, of an entry of a unique index, the stretches in which it led to one of the rows.
fn forget_stretches(
    txn: &mut Transaction,
    index: TableId,
    key: &[u8],
    is_erased: impl Fn(&[u8]) -> bool,
) -> Result<()> {
    for (from, to) in stretches(&owners(txn, index, key)?, is_erased) {
        txn.write(index, key.to_vec(), Op::Erase { from, to })?;
    }
    Ok(())
}

/// The rows that an entry has led to, each from a commit on; none if the entry ended.
fn owners(txn: &Transaction, index: TableId, key: &[u8]) -> Result<Vec<(Csn, Option<Vec<u8>>)>> {
    let mut owners = Vec::new();
    let mut damaged = None;
    txn.latest().versions(index, key, Csn::ZERO, |version| {
        let owner = match version.kind {
            Kind::Delete => Ok(None),
            _ => Entry::row_key(key, version.bytes).map(|owner| Some(owner.to_vec())),
        };
        match owner {
            Ok(owner) => owners.push((version.csn, owner)),
            Err(error) => damaged = Some(error),
        }
        ControlFlow::Continue(())
    })?;
    damaged.map_or(Ok(owners), Err)
}

/// The commits in which an entry led to a row that is erased, the deletions beside included, so that
/// nothing of the key is left where no other row has had it.
fn stretches(
    owners: &[(Csn, Option<Vec<u8>>)],
    is_erased: impl Fn(&[u8]) -> bool,
) -> Vec<(Csn, Option<Csn>)> {
    let mut found = Vec::new();
    // Where a stretch would begin: nothing of others comes after.
    let mut from = Some(Csn::ZERO);
    let mut is_within = false;
    for (csn, owner) in owners {
        match owner {
            Some(row) if is_erased(row) => {
                from = from.or(Some(*csn));
                is_within = true;
            }
            Some(_) => {
                found.extend(from.filter(|_| is_within).map(|from| (from, Some(*csn))));
                (from, is_within) = (None, false);
            }
            None => from = from.or(Some(*csn)),
        }
    }
    found.extend(from.filter(|_| is_within).map(|from| (from, None)));
    found
}

/// The table of the store in which the entries of an index lie, and whether the index is a columnar one.
type Entries = (TableId, bool);

/// The entries that indexes of a table had and gave up, with the commits that did so.
fn gone_indexes(txn: &Transaction, tables: &Tables, table: Oid) -> Result<Vec<(Entries, Csn)>> {
    let mut found = Vec::new();
    for (storage, relation, ended) in tables.ended().into_iter().filter(|gone| gone.1 != table) {
        let last = txn.engine().snapshot_at(Csn(ended.0 - 1))?;
        let key = key_of(Key::Relation(relation));
        let mut value = Vec::new();
        let Some(csn) = last.get(CATALOG, &key, &mut value)? else { continue };
        if let Record::Entry(Known::Relation(known)) = decode(&key, &value, csn)?
            && let Some(index) = known.index().filter(|index| index.table == table)
        {
            found.push(((storage, index.method == IndexMethod::Columnar), ended));
        }
    }
    Ok(found)
}

/// Erases what a whole index says of rows, and of versions of them that were over before it.
fn forget_entries_of(
    txn: &mut Transaction,
    (index, is_columnar): Entries,
    rows: &HashSet<&[u8]>,
) -> Result<()> {
    if is_columnar {
        // Entries have the keys of their rows.
        return sorted(rows).into_iter().try_for_each(|row| forget(txn, index, row));
    }
    let mut all = [Some(index), backfill_of(index)].into_iter().flatten();
    all.try_for_each(|entries| forget_entries(txn, entries, rows))
}

/// Erases what a table of an index says of rows.
fn forget_entries(txn: &mut Transaction, index: TableId, rows: &HashSet<&[u8]>) -> Result<()> {
    let engine = Arc::clone(txn.engine());
    let mut keys = engine.store().keys(index, Bound::Unbounded, Bound::Unbounded, false);
    while let Some(key) = keys.advance()? {
        forget_stretches(txn, index, key, |row| rows.contains(row))?;
    }
    Ok(())
}

impl Table {
    /// Erases the row at `key`; true if it was there until now.
    fn erase(&self, change: &mut Change<'_>, key: &[u8]) -> Result<bool> {
        self.lock(change.txn, key, RowLock::Update, Wait::Allowed)?;
        let latest = self.latest(change.txn, key)?.map(|row| row.to_datums()).transpose()?;
        if let Some(row) = &latest {
            self.end(change, key, row)?;
            change.checks.erased(self, row);
        }
        self.erase_changes(change.txn, key)?;
        let mut done = HashSet::new();
        for version in self.every_version(&change.txn.latest(), key)? {
            let row = version.row.to_datums()?;
            for index in self.indexes() {
                let Some(storage) = index.storage() else { continue };
                let entries = match index.entries(&row, key, change.values) {
                    // An entry that cannot be computed of it was never written.
                    Err(error) if is_of_data(&error) => continue,
                    entries => entries?,
                };
                for entry in entries {
                    if !done.insert((storage, entry.key.clone())) {
                        continue;
                    }
                    erase_backfill(change.txn, index, &entry.backfill_key(key))?;
                    if entry.is_exclusive {
                        let (strength, wait) = (RowLock::Update, Wait::Allowed);
                        change.txn.lock_latest(storage, &entry.key, strength, wait)?;
                        forget_stretches(change.txn, storage, &entry.key, |row| row == key)?;
                    } else {
                        forget(change.txn, storage, &entry.key)?;
                    }
                }
            }
        }
        self.rows().erase(change.txn, key, latest.as_deref())?;
        Ok(latest.is_some())
    }

    /// Takes the row at `key` out of the table of changes.
    pub(crate) fn erase_changes(&self, txn: &mut Transaction, key: &[u8]) -> Result<()> {
        let commits = self.rows().commits(&txn.latest(), key)?;
        Ok(txn.erase_changes(self.storage(), key, commits)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If several rows have had a key, only the stretches of one of them are erased.
    #[test]
    fn the_stretches_of_a_row_in_the_past_of_a_unique_key() {
        let check = |text: &str, expected: &[(u64, Option<u64>)]| {
            let owners: Vec<(Csn, Option<Vec<u8>>)> = text
                .split(' ')
                .zip(1..)
                .map(|(row, csn)| (Csn(csn), (row != "-").then(|| row.as_bytes().to_vec())))
                .collect();
            let found: Vec<_> = stretches(&owners, |row| row == b"e")
                .into_iter()
                .map(|(from, to)| (from.0, to.map(|to| to.0)))
                .collect();
            assert_eq!(found, expected, "{text}");
        };
        check("e", &[(0, None)]);
        check("e -", &[(0, None)]);
        check("a", &[]);
        check("a - e", &[(2, None)]);
        check("a e a", &[(2, Some(3))]);
        check("e - a - e -", &[(0, Some(3)), (4, None)]);
        check("- a", &[]);
    }
}
