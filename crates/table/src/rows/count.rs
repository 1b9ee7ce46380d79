//! How many rows a table has, about: for planning, and for `pg_class.reltuples`.
//!
//! Commits add to numbers in memory just before they become visible. The numbers are written now and
//! then and at the end; what was counted since is lost by a crash, which is why they are estimates.
//!
//! ```text
//!   table COUNTS    key  number of the table, big end first     value  rows, 8 bytes, little end first
//! ```

use std::collections::HashMap;
use std::ops::Bound;
use std::sync::Arc;

use foldhash::fast::FixedState;
use parking_lot::Mutex;
use store::TableId;
use txn::{CommitMeta, Durability, Engine, Isolation, Transaction};

use crate::{Error, Result};

/// Where the numbers are kept: the last of SQL's tables, which none will ever be.
pub(crate) const COUNTS: TableId = TableId(0x7fff_ffff);

#[derive(Debug, Default)]
pub(super) struct RowCounts(Mutex<HashMap<TableId, Count, FixedState>>);

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    rows: i64,
    saved: i64,
}

impl RowCounts {
    pub(super) fn get(&self, table: TableId) -> u64 {
        self.0.lock().get(&table).map_or(0, |count| count.rows.max(0) as u64)
    }

    pub(super) fn add(counts: &Arc<RowCounts>, txn: &mut Transaction, table: TableId, rows: i64) {
        if rows == 0 {
            return;
        }
        let counts = Arc::clone(counts);
        txn.on_publish(move |_| counts.0.lock().entry(table).or_default().rows += rows);
    }

    pub(super) fn load(&self, engine: &Arc<Engine>) -> Result<()> {
        let snapshot = engine.snapshot();
        let mut counts = self.0.lock();
        for item in snapshot.scan(COUNTS, Bound::Unbounded, Bound::Unbounded, false) {
            let (key, versioned) = item?;
            let table = key.try_into().map(u32::from_be_bytes);
            let rows = versioned.base().try_into().map(i64::from_le_bytes);
            let (Ok(table), Ok(rows)) = (table, rows) else {
                return Err(Error::Damaged { what: "the number of rows of a table" });
            };
            let count = counts.entry(TableId(table)).or_default();
            count.rows += rows - count.saved;
            count.saved = rows;
        }
        Ok(())
    }

    pub(super) fn save(&self, engine: &Arc<Engine>) -> Result<()> {
        let changed = |(_, count): &(&TableId, &Count)| count.rows != count.saved;
        let changed: Vec<(TableId, i64)> = self
            .0
            .lock()
            .iter()
            .filter(changed)
            .map(|(table, count)| (*table, count.rows))
            .collect();
        if changed.is_empty() {
            return Ok(());
        }
        let mut txn = engine.begin(Isolation::ReadCommitted);
        for (table, rows) in &changed {
            txn.put(COUNTS, &table.0.to_be_bytes(), rows.to_le_bytes().to_vec())?;
        }
        txn.commit(CommitMeta { durability: Some(Durability::Os), ..CommitMeta::default() })?;
        let mut counts = self.0.lock();
        for (table, rows) in changed {
            counts.entry(table).or_default().saved = rows;
        }
        Ok(())
    }
}
