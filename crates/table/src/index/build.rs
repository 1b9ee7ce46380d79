//! Filling an index of a table that has rows: `CREATE INDEX`, `ADD PRIMARY KEY`, `ADD UNIQUE`.
//!
//! ```text
//!   SHARE lock on the table (the caller's): nobody writes
//!   rows of the transaction's view ──> entries ──few──> sorted, writes of the transaction
//!                                          └─────many─> store::Sorter, a load of the transaction
//! ```
//!
//! The entries become part of the commit that makes the index. Of a large table they go to the store's
//! files, in bounded memory, and the log only names them. Keys that must be unique are seen to where the
//! entries lie sorted: equal ones are neighbours.

use std::sync::Arc;

use store::{Op, Sorted, Sorter, Twice};
use txn::View;
use types::{Datum, Object, SqlState};

use super::{Entry, Index, Kind};
use crate::rows::{Batch, Change, Cursor, RowValues, Table};
use crate::{Error, Result};

/// Entries written through the transaction at most; more are loaded.
const WRITTEN_MAX: usize = 10_000;
const ROWS_AT_ONCE: usize = 1_000;

impl Table {
    /// Fills the index at a position of [`Table::indexes`], which has no entries. The caller keeps
    /// others from writing to the table, and sees all that is committed.
    ///
    /// # Errors
    /// 23505 where two rows have equal keys.
    pub fn build_index(self: &Arc<Self>, change: &mut Change<'_>, at: usize) -> Result<()> {
        let index = &self.indexes()[at];
        let Some(storage) = index.storage() else { return Ok(()) };
        let engine = Arc::clone(change.txn.engine());
        let can_load = !index.is_checked_late()
            && !change.txn.touches(storage)
            && engine.store().is_fresh(storage)?;
        let latest = change.txn.latest();
        let view = View::of(change.txn, &latest);
        let mut entries: Vec<Entry> = Vec::new();
        let mut sorter = Sorter::new(storage);
        let mut is_loaded = false;
        let mut cursor = Cursor::over(self, txn::KeyRange::ALL, false);
        let mut batch = Batch::new();
        while !cursor.is_at_end() {
            batch.clear();
            cursor.fill(view, &mut batch, ROWS_AT_ONCE)?;
            for row in batch.iter() {
                entries.extend(index.entries(&row.to_datums()?, row.key(), change.values)?);
            }
            is_loaded |= can_load && entries.len() > WRITTEN_MAX;
            if is_loaded {
                for Entry { key, value, .. } in entries.drain(..) {
                    sorter.put(engine.store(), &key, |out| out.extend_from_slice(&value))?;
                }
            }
        }
        if is_loaded {
            return match sorter.finish(engine.store())? {
                Sorted::Loaded(loaded) => Ok(change.txn.attach(loaded)?),
                Sorted::Twice(Twice { key, value }) => {
                    let row = Entry::row_key(&key, &value)?;
                    Err(self.not_unique(view, index, row, change.values))
                }
            };
        }
        entries.sort_unstable_by(|one, other| one.key.cmp(&other.key));
        if let Some(twice) = first_twice(index, &entries) {
            let row = Entry::row_key(&twice.key, &twice.value)?;
            return Err(self.not_unique(view, index, row, change.values));
        }
        for entry in entries {
            change.txn.write(storage, entry.key, Op::Put(entry.value))?;
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

/// The first of two neighbours that must not be equal.
fn first_twice<'e>(index: &Index, entries: &'e [Entry]) -> Option<&'e Entry> {
    let is_twice = |pair: &&[Entry]| match index.kind {
        Kind::Unique { .. } => pair[0].is_exclusive && pair[0].key == pair[1].key,
        Kind::Deferrable { .. } => {
            let prefix = index.deferred_prefix(&pair[0]);
            prefix.is_some() && prefix == index.deferred_prefix(&pair[1])
        }
        Kind::Plain | Kind::Gin(_) => false,
    };
    entries.windows(2).find(is_twice).map(|pair| &pair[0])
}
