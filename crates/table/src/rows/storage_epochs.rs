//! [`StorageEpoch`]s: the tables of the store that have rows of a relation, or had.
//!
//! ```text
//!   csn         10 ──────────── 30 ───────────────── 50 ─────────── now
//!   storage 7   rows 1, 2, 3    TRUNCATE
//!   storage 9                   rows 4, 5            ALTER ... TYPE
//!   storage 12                                       rows 4, 5      the last epoch has no end
//! ```
//!
//! Each has a handle by the catalog of its last commit: its columns are those that it had then. A
//! storage that the transaction itself has given up is a storage epoch as well, which has not ended for
//! other readers.

use std::sync::Arc;

use store::Csn;
use txn::Snapshot;

use super::{Handles, Table};
use crate::catalog::CatalogCache;
use crate::{Error, Result};

/// A table of the store that has rows of a relation, or had.
#[derive(Clone, Debug)]
pub struct StorageEpoch {
    /// The relation as it was at the end.
    pub table: Arc<Table>,
    /// The commit that gave the table up; `None` if rows are written there, and where the transaction
    /// itself is about to give it up.
    pub ended: Option<Csn>,
}

impl StorageEpoch {
    /// Returns the epochs that end with `now`, by the catalog of the calling transaction, and that
    /// were not over at commit `from`, oldest first.
    pub fn of(
        now: &Arc<Table>,
        snapshot: &Snapshot,
        from: Csn,
        (cache, handles): (&CatalogCache, &Handles),
    ) -> Result<Vec<StorageEpoch>> {
        let mut epochs: Vec<StorageEpoch> = Vec::new();
        for past in cache.tables().past_of(now.relation().oid) {
            if past.ended <= from || past.ended > snapshot.csn() {
                continue;
            }
            let last = Csn(past.ended.0 - 1);
            let then = snapshot.engine().snapshot_at(last).map_err(Error::from)?;
            let table = handles.table(&*cache.at(&then)?, now.relation().oid);
            // A storage that one commit made and gave up had no rows for other readers.
            let table = table.filter(|table| table.storage() == past.table);
            epochs.extend(table.map(|table| StorageEpoch { table, ended: Some(past.ended) }));
        }
        if cache.tables().kept(now.storage()).is_none() {
            // The transaction has made it. Other readers see the rows of the storage that it
            // replaces.
            let committed = handles.table(&*cache.at(snapshot)?, now.relation().oid);
            epochs.extend(committed.map(|table| StorageEpoch { table, ended: None }));
        }
        // A catalog of the past shows a table that has been given up since.
        if epochs.iter().all(|epoch| epoch.table.storage() != now.storage()) {
            epochs.push(StorageEpoch { table: Arc::clone(now), ended: None });
        }
        Ok(epochs)
    }

    /// True if rows have the same keys as in another: by the values of the same columns.
    pub fn has_keys_of(&self, other: &StorageEpoch) -> bool {
        let (one, other) = (&self.table, &other.table);
        !one.keyed_by().is_empty()
            && one.keyed_by() == other.keyed_by()
            && one.shape() == other.shape()
            && one.has_all_attributes_of(other)
    }
}
