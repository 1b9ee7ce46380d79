//! Filling an index of a table that has rows: `CREATE INDEX`, `ADD PRIMARY KEY`, `ADD UNIQUE`.
//!
//! ```text
//!   SHARE lock on the table (the caller's): no writers
//!   rows of the transaction's view ──> entries ──few──> sorted, writes of the transaction
//!                                          └─────many─> store::Sorter, a load of the transaction
//! ```
//!
//! The entries become part of the commit that makes the index, as do those of the past
//! ([`backfill`]). Of a large table they go to the store's files, in bounded memory, and the log only
//! names them. Unique keys are checked where the entries lie sorted: equal ones are neighbours.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use store::{DuplicateKey, Op, Sorted, Sorter, Store, StoreError, TableId};
use txn::{Transaction, View};
use types::{Datum, Object, SqlState};

use super::{Entry, EntryWriter, Index, Kind, Written};
use crate::method::ColumnSet;
use crate::rows::{Batch, Change, Cursor, RowValues, Table};
use crate::{Error, Result};

/// Entries written through the transaction at most; more are loaded.
const WRITTEN_MAX: usize = 10_000;
const ROWS_AT_ONCE: usize = 1_000;
/// So many batches are read ahead of the entries that are made of them.
const BATCHES_AHEAD: usize = 4;
/// The name of the thread that makes entries.
const THREAD: &str = "index-entries";

impl Table {
    /// Fills the index at a position of [`Table::indexes`], which has no entries. The caller keeps
    /// others from writing to the table, and sees all that is committed. False if the index has no
    /// entries of the past, because its expressions cannot be computed of all that there was.
    ///
    /// # Errors
    /// 23505 where two rows have equal keys, 23P01 where two rows exclude each other.
    pub fn build_index(self: &Arc<Self>, change: &mut Change<'_>, at: usize) -> Result<bool> {
        let index = &self.indexes()[at];
        let Some(storage) = index.storage() else { return Ok(true) };
        let engine = Arc::clone(change.txn.engine());
        let latest = change.txn.latest();
        let view = View::of(change.txn, &latest);
        let mut filling = Filling::new(change.txn, index.sorter(storage))?;
        filling.can_load &= !index.is_checked_late();
        let mut cursor = Cursor::over(self, txn::KeyRange::ALL, false);
        match index.entry_writer() {
            Some(writer) => {
                // Rows may come in any order, and their blocks need not be copied.
                let in_blocks = self.rows().keeps_keys();
                let from = (&mut cursor, view, in_blocks);
                fill_in_turns(from, (index, writer), (&mut filling, engine.store()))?;
            }
            None => {
                let mut batch = Batch::new();
                while !cursor.is_at_end() {
                    batch.clear();
                    cursor.fill(view, ColumnSet::All, &mut batch, ROWS_AT_ONCE)?;
                    for row in batch.iter() {
                        let entries = index.entries(&row.to_datums()?, row.key(), change.values)?;
                        filling.add(engine.store(), entries)?;
                    }
                }
            }
        }
        if let Some(duplicate) =
            filling.finish(change.txn, |entries| first_duplicate(index, entries))?
        {
            let view = View::of(change.txn, &latest);
            let row = Entry::row_key(&duplicate.key, &duplicate.value)?;
            return Err(self.not_unique(view, index, row, change.values));
        }
        if index.excludes() {
            self.check_exclusions(change, index)?;
        }
        self.build_backfill(change, index)
    }

    /// Refuses an index of which two rows exclude each other.
    fn check_exclusions(self: &Arc<Self>, change: &mut Change<'_>, index: &Index) -> Result<()> {
        let latest = change.txn.latest();
        let mut cursor = Cursor::over(self, txn::KeyRange::ALL, false);
        let mut batch = Batch::new();
        while !cursor.is_at_end() {
            batch.clear();
            let view = View::of(change.txn, &latest);
            cursor.fill(view, ColumnSet::All, &mut batch, ROWS_AT_ONCE)?;
            for row in batch.iter() {
                self.check_exclusion(change, index, row.key(), &row.to_datums()?)?;
            }
        }
        Ok(())
    }

    /// 23505 of an index that cannot be made: the row at `key` is one of two with equal keys.
    fn not_unique(
        self: &Arc<Self>,
        view: View<'_>,
        index: &Index,
        key: &[u8],
        values: &mut dyn RowValues,
    ) -> Error {
        let mut describe = || -> Result<String> {
            let row = self.get(view, key)?.ok_or(Error::Damaged { what: "an index entry" })?;
            let row: Vec<Datum> = row.to_datums()?;
            index.describe(self.relation(), &row, values)
        };
        let key = match describe() {
            Ok(key) => key,
            Err(error) => return error,
        };
        let name = &*index.relation().name;
        let message = format!("could not create unique index \"{name}\"");
        let error = types::Error::new(SqlState::UNIQUE_VIOLATION, message)
            .with_detail(format!("Key {key} is duplicated."));
        self.about(error).about(Object::Constraint, name).into()
    }
}

/// Fills an index from rows as they are stored. Another thread makes entries of a batch while this one reads the next,
/// unless there are few rows.
fn fill_in_turns(
    (cursor, view, in_blocks): (&mut Cursor, View<'_>, bool),
    (index, mut writer): (&Index, EntryWriter),
    (filling, store): (&mut Filling, &Store),
) -> Result<()> {
    let attnums = writer.attnums().to_vec();
    let mut read = |batch: &mut Batch| {
        batch.clear();
        interrupt::check().map_err(types::Error::from)?;
        let wanted = ColumnSet::Columns(&attnums);
        let block = cursor.fill_to_block(view, wanted, batch, ROWS_AT_ONCE, in_blocks)?;
        debug_assert!(block.is_none(), "the table has no blocks of columns");
        Ok::<bool, Error>(cursor.is_at_end())
    };
    let mut batch = Batch::new();
    let is_all = read(&mut batch)?;
    filling.put_rows(store, index, &mut writer, &batch)?;
    if is_all {
        return Ok(());
    }
    std::thread::scope(|scope| {
        let (full, batches) = sync_channel::<Batch>(BATCHES_AHEAD);
        let (back, empty) = sync_channel(BATCHES_AHEAD + 1);
        let thread = std::thread::Builder::new().name(THREAD.to_owned());
        let thread = thread.spawn_scoped(scope, move || {
            for batch in batches {
                filling.put_rows(store, index, &mut writer, &batch)?;
                // If the receiver is gone, no more will come.
                let _ = back.try_send(batch);
            }
            Ok(())
        });
        let cannot = |source| {
            let file = THREAD.to_owned();
            Error::from(StoreError::Io { what: "cannot start thread", file, source })
        };
        let thread = thread.map_err(cannot)?;
        let mut read_all = || -> Result<()> {
            loop {
                let mut batch = empty.try_recv().unwrap_or_default();
                let is_all = read(&mut batch)?;
                // The other thread has ended if it takes none: its error is told.
                if full.send(batch).is_err() || is_all {
                    return Ok(());
                }
            }
        };
        let is_read = read_all();
        drop(full);
        let made = thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        is_read.and(made)
    })
}

/// Collects entries for a table of the store that has none.
pub(super) struct Filling {
    storage: TableId,
    can_load: bool,
    entries: Vec<Entry>,
    sorter: Sorter,
    is_loaded: bool,
}

impl Filling {
    pub(super) fn new(txn: &Transaction, sorter: Sorter) -> Result<Filling> {
        let storage = sorter.table();
        let can_load = !txn.touches(storage) && txn.engine().store().is_fresh(storage)?;
        let entries = Vec::new();
        Ok(Filling { storage, can_load, entries, sorter, is_loaded: false })
    }

    pub(super) fn add(
        &mut self,
        store: &Store,
        entries: impl IntoIterator<Item = Entry>,
    ) -> Result<()> {
        interrupt::check().map_err(types::Error::from)?;
        self.entries.extend(entries);
        self.is_loaded |= self.can_load && self.entries.len() > WRITTEN_MAX;
        if self.is_loaded {
            for Entry { key, value, .. } in self.entries.drain(..) {
                self.sorter.put(store, &key, |out| out.extend_from_slice(&value))?;
            }
        }
        Ok(())
    }

    /// Adds the entries of rows.
    fn put_rows(
        &mut self,
        store: &Store,
        index: &Index,
        writer: &mut EntryWriter,
        batch: &Batch,
    ) -> Result<()> {
        let takes_items = index.gin().is_some() && self.can_load;
        let mut key = Vec::new();
        for at in 0..batch.len() {
            let row = batch.row_with_key(at, &mut key);
            match takes_items {
                true => writer.row_items(index, row, (&mut self.sorter, store))?,
                false => writer.row(index, row, |entry| self.put(store, entry))?,
            }
        }
        Ok(())
    }

    /// As [`Filling::add`], of one entry that is copied.
    fn put(&mut self, store: &Store, entry: Written<'_>) -> Result<()> {
        let Written { key, value, is_exclusive, row_key_bytes } = entry;
        if self.is_loaded {
            return Ok(self.sorter.put(store, key, |out| out.extend_from_slice(value))?);
        }
        let (key, value) = (key.to_vec(), value.to_vec());
        self.add(store, [Entry { key, value, is_exclusive, row_key_bytes }])
    }

    /// Makes the entries part of the transaction, unless two of them must not be there together: then
    /// gives one of these. `duplicate` finds one among few, which are sorted; of many they have equal keys.
    pub(super) fn finish(
        mut self,
        txn: &mut Transaction,
        duplicate: impl Fn(&[Entry]) -> Option<DuplicateKey>,
    ) -> Result<Option<DuplicateKey>> {
        let engine = Arc::clone(txn.engine());
        match self.sorter.in_memory() {
            Some(0) => {}
            // Items of few rows: no two entries have one key.
            Some(few) if few <= WRITTEN_MAX => {
                self.sorter.walk(engine.store(), |key, value| {
                    txn.write(self.storage, key.to_vec(), Op::Put(value.to_vec()))
                })?;
                return Ok(None);
            }
            _ => {
                return match self.sorter.finish(engine.store())? {
                    Sorted::Loaded(loaded) => Ok(txn.attach(loaded).map(|()| None)?),
                    Sorted::Duplicate(duplicate) => Ok(Some(duplicate)),
                };
            }
        }
        self.entries.sort_unstable_by(|one, other| one.key.cmp(&other.key));
        if let Some(duplicate) = duplicate(&self.entries) {
            return Ok(Some(duplicate));
        }
        for entry in self.entries {
            txn.write(self.storage, entry.key, Op::Put(entry.value))?;
        }
        Ok(None)
    }
}

/// The first of two neighbours that must not be equal.
fn first_duplicate(index: &Index, entries: &[Entry]) -> Option<DuplicateKey> {
    let is_twice = |pair: &&[Entry]| match index.kind {
        Kind::Unique { .. } => pair[0].is_exclusive && pair[0].key == pair[1].key,
        Kind::Deferrable { .. } => {
            let prefix = index.deferred_prefix(&pair[0]);
            prefix.is_some() && prefix == index.deferred_prefix(&pair[1])
        }
        Kind::Plain | Kind::Gin(_) | Kind::Gist(_) | Kind::Columnar => false,
    };
    let [Entry { key, value, .. }, _] = entries.windows(2).find(is_twice)? else { return None };
    Some(DuplicateKey { key: key.clone(), value: value.clone() })
}
