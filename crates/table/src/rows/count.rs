//! How many rows each table has: for planning, and for `pg_class.reltuples`.
//!
//! The record of a commit says by how many rows the commit changes each table
//! ([`Transaction::note_rows`]). The counts in memory observe the commits. They are written now and then,
//! with the commit that they were taken at; opening adds what the commits since then say. The count of a table
//! goes when its relation gives the table up, and its record goes with the next commit of counts.
//!
//! ```text
//!   table COUNTS   key  number of the table, u32 big-endian     value  rows, i64 little-endian
//!                  key  empty                                    value  the commit, u64 little-endian
//! ```

use std::collections::{HashMap, HashSet};
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use foldhash::fast::FixedState;
use parking_lot::Mutex;
use store::{Csn, TableId};
use txn::{CommitMeta, Durability, Engine, Isolation, Observed, Observer, TableChange};

use crate::catalog::CATALOG;
use crate::shrink::shrink;
use crate::stored::Standing;
use crate::{Error, Result, Tables};

/// Where the numbers are kept: the last of SQL's tables, which none will ever be.
pub(crate) const COUNTS: TableId = TableId(0x7fff_ffff);
/// The key of the commit that the numbers were taken at.
const TAKEN: &[u8] = &[];

/// Commits that an opening adds up before it writes the counts, for the next one.
const ADDED_MAX: u64 = 16 << 10;

/// A table that has doubled or halved since plans were made for it has them made anew, if it has so many rows.
const ROWS_PLANNED_MIN: i64 = 1_000;

/// The counts of all tables.
#[derive(Debug, Default)]
pub(super) struct RowCounts {
    counts: Mutex<Counts>,
    /// How often plans were to be made anew: [`RowCounts::generation`].
    generation: AtomicU64,
    /// The tables of the store.
    tables: OnceLock<Tables>,
}

#[derive(Debug, Default)]
struct Counts {
    tables: HashMap<TableId, Count, FixedState>,
    /// Tables that were given up by a commit that may not have been counted yet.
    given_up: Vec<TableId>,
    /// Tables without a count whose record is still in the store.
    stale: Vec<TableId>,
    /// The newest commit that is counted.
    counted: Csn,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    rows: i64,
    /// The count in the record of the store; `None` without a record.
    saved: Option<i64>,
    /// How many rows plans are made for.
    planned: i64,
}

impl Counts {
    /// Tells whether the table has doubled or halved.
    fn add(&mut self, table: TableId, rows: i64) -> bool {
        let count = self.tables.entry(table).or_default();
        count.rows = count.rows.saturating_add(rows);
        let (less, more) = (count.rows.min(count.planned), count.rows.max(count.planned));
        let is_other = more >= ROWS_PLANNED_MIN && less < more / 2;
        if is_other {
            count.planned = count.rows;
        }
        is_other
    }

    /// Forgets the tables that were given up. The commit that gives a table up can change its count too, and the
    /// observers can hear of the two in either order.
    fn forget(&mut self) {
        for table in std::mem::take(&mut self.given_up) {
            if let Some(Count { saved: Some(_), .. }) = self.tables.remove(&table) {
                self.stale.push(table);
            }
        }
        shrink(&mut self.tables);
    }
}

impl Observer for RowCounts {
    fn follows(&self, table: TableId) -> bool {
        table >= CATALOG
    }

    fn reads(&self, _table: TableId, _key: &[u8]) -> bool {
        false
    }

    fn observe(&self, commit: &mut Observed<'_>) {
        self.count(commit.csn(), &commit.changes());
    }
}

impl RowCounts {
    /// Gives the counts the tables of the store.
    pub(super) fn know(&self, tables: &Tables) {
        // Once set they stay: there is one catalog for an engine.
        let _ = self.tables.set(tables.clone());
    }

    /// Counts what a commit has changed.
    fn count(&self, csn: Csn, changes: &[TableChange]) {
        let mut counts = self.counts.lock();
        let mut is_other = false;
        for TableChange { table, rows } in changes {
            // The count of a table that this commit gives up, or has made and given up, may be forgotten already.
            if counts.tables.contains_key(table) || self.is_present(*table) {
                is_other |= counts.add(*table, *rows);
            }
        }
        counts.counted = csn;
        counts.forget();
        if is_other {
            self.plan_anew();
        }
    }

    fn is_present(&self, table: TableId) -> bool {
        let standing = self.tables.get().map(|tables| tables.standing(table));
        standing.is_none_or(|standing| standing == Standing::Present)
    }

    /// `None` for a table that was given up, or never had a row.
    pub(super) fn get(&self, table: TableId) -> Option<u64> {
        self.counts.lock().tables.get(&table).map(|count| count.rows.max(0) as u64)
    }

    /// Forgets tables that relations have given up, once their last commit is counted.
    pub(super) fn give_up(&self, tables: &[TableId]) {
        self.counts.lock().given_up.extend_from_slice(tables);
    }

    /// The number of tables that are counted.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        let mut counts = self.counts.lock();
        counts.forget();
        counts.tables.len()
    }

    /// A number that grows whenever the sessions must plan anew, because a table has doubled or
    /// halved, or because a session has asked for it.
    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Makes the sessions plan anew.
    pub(super) fn plan_anew(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
    }

    /// Reads the counts as of the newest commit, and has them follow the engine from there on. Tables that are not
    /// `live` are not counted.
    pub(super) fn open(
        counts: &Arc<RowCounts>,
        engine: &Arc<Engine>,
        live: &HashSet<TableId>,
    ) -> Result<()> {
        let snapshot = engine.snapshot();
        let mut found = Counts { counted: snapshot.csn(), ..Counts::default() };
        let mut taken = Csn::ZERO;
        for item in snapshot.scan(COUNTS, Bound::Unbounded, Bound::Unbounded, false) {
            let (key, versioned) = item?;
            let damaged = Error::Damaged { what: "the number of rows of a table" };
            let Ok(value) = <[u8; 8]>::try_from(versioned.base()) else { return Err(damaged) };
            if key.as_slice() == TAKEN {
                taken = taken.max(Csn(u64::from_le_bytes(value)));
                continue;
            }
            let Ok(table) = key.as_slice().try_into().map(u32::from_be_bytes) else {
                return Err(damaged);
            };
            // A release that did not write the commit counted up to about here.
            taken = taken.max(Csn(versioned.csn().0.saturating_sub(1)));
            let rows = i64::from_le_bytes(value);
            found.tables.insert(TableId(table), Count { rows, saved: Some(rows), planned: rows });
        }
        for csn in (taken.0 + 1..=snapshot.csn().0).map(Csn) {
            for change in engine.tables_changed(csn)? {
                found.add(change.table, change.rows);
            }
        }
        found.given_up = found.tables.keys().copied().filter(|id| !live.contains(id)).collect();
        found.forget();
        let is_far = snapshot.csn().0 - taken.0.min(snapshot.csn().0) > ADDED_MAX;
        drop(snapshot);
        *counts.counts.lock() = found;
        let following: Weak<RowCounts> = Arc::downgrade(counts);
        engine.observe(following);
        if is_far {
            // Where the disk is full or broken the next opening adds up as much.
            let _ = counts.save(engine);
        }
        Ok(())
    }

    /// Writes the counts that have changed by a commit of their own, so that opening need not add them up.
    pub(super) fn save(&self, engine: &Arc<Engine>) -> Result<()> {
        let (changed, stale, counted) = {
            let mut counts = self.counts.lock();
            counts.forget();
            let is_changed = |count: &Count| count.rows != count.saved.unwrap_or(0);
            let changed = counts.tables.iter().filter(|(_, count)| is_changed(count));
            let changed: Vec<(TableId, i64)> =
                changed.map(|(table, count)| (*table, count.rows)).collect();
            (changed, counts.stale.clone(), counts.counted)
        };
        if changed.is_empty() && stale.is_empty() {
            return Ok(());
        }
        let mut txn = engine.begin(Isolation::ReadCommitted);
        for (table, rows) in &changed {
            txn.put(COUNTS, &table.0.to_be_bytes(), rows.to_le_bytes().to_vec())?;
        }
        for table in &stale {
            txn.delete(COUNTS, &table.0.to_be_bytes())?;
        }
        txn.put(COUNTS, TAKEN, counted.0.to_le_bytes().to_vec())?;
        txn.commit(CommitMeta { durability: Some(Durability::Os), ..CommitMeta::default() })?;
        let mut counts = self.counts.lock();
        // Other tables may have become stale meanwhile.
        let deleted: HashSet<TableId, FixedState> = stale.into_iter().collect();
        counts.stale.retain(|table| !deleted.contains(table));
        for (table, rows) in changed {
            match counts.tables.get_mut(&table) {
                Some(count) => count.saved = Some(rows),
                None => counts.stale.push(table),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::Retention;
    use types::Oid;

    use crate::stored::KeptHistory;

    /// One commit changed rows of a table and dropped it. The catalog hears of the commit first and gives the count up. A
    /// session that saved the counts just then removed it, and the changes of the commit brought it back for ever.
    #[test]
    fn a_count_that_was_given_up_does_not_come_back() {
        let (counts, tables, table) =
            (RowCounts::default(), Tables::new(), TableId(CATALOG.0 + 20_000));
        tables.given_below(Oid(20_001));
        counts.know(&tables);
        let kept = KeptHistory::all(Retention::Forever);
        tables.know(table, Oid(19_999), kept);
        counts.count(Csn(1), &[TableChange { table, rows: 5 }]);
        assert_eq!(counts.get(table), Some(5));
        tables.end(table, Oid(19_999), kept, Csn(2));
        counts.give_up(&[table]);
        assert_eq!(counts.len(), 0, "another session has them forgotten");
        counts.count(Csn(2), &[TableChange { table, rows: -3 }]);
        assert_eq!(counts.len(), 0);
        // A follower hears only of the rows of a table that one commit made and gave up.
        counts.count(Csn(3), &[TableChange { table: TableId(table.0 - 1), rows: 7 }]);
        assert_eq!(counts.len(), 0);
    }
}
