//! The past of rows: their versions, and what changed between two commits.
//!
//! ```text
//!   csn            10      20      30      40
//!   row 7          put ─── patch ─ delete
//!   row 8                  put ─────────── put
//!
//!   versions from 15 to 35     7 [10, 20)  7 [20, 30)  8 [20, 40)
//!   changes after 15 up to 35  7 at 20: both   7 at 30: before   8 at 20: after
//! ```
//!
//! A version is there from the commit that made it up to the one that ended it, whatever was asked
//! for: what is asked for only says which versions are given. Everything comes in the order of keys,
//! and of one key in the order of commits, and only what is committed.

use std::collections::btree_set;
use std::ops::Bound;
use std::sync::Arc;

use store::Csn;
use txn::{Engine, KeyRange, Snapshot};

use super::layout::Row;
use super::table::Table;
use crate::Result;
use crate::index::RowKeys;
use crate::method::ColumnSet;

/// A state of a row, and how long it was the newest.
#[derive(Clone, Debug)]
pub struct RowVersion {
    /// The row.
    pub row: Row,
    /// The commit that made it so.
    pub from: Csn,
    /// The commit that ended that; `None` if it is so still.
    pub to: Option<Csn>,
}

impl RowVersion {
    /// The row as it was from a commit on, up to another.
    pub fn new(row: Row, from: Csn, to: Option<Csn>) -> RowVersion {
        RowVersion { row, from, to }
    }
}

/// A change of a row by a commit.
#[derive(Clone, Debug)]
pub struct RowChange {
    /// The commit.
    pub csn: Csn,
    /// The row before; `None` if there was none.
    pub before: Option<Row>,
    /// The row after; `None` if it was deleted.
    pub after: Option<Row>,
}

impl Table {
    /// The versions of the row at `key` that were the newest at some commit in `from..=to`, oldest
    /// first, as `now` knows them. Versions that retention has dropped are not among them. Values
    /// that the method keeps out of line are missing ([`Rows::complete`](crate::method::Rows::complete)).
    pub fn versions(
        &self,
        now: &Snapshot,
        key: &[u8],
        from: Csn,
        to: Csn,
    ) -> Result<Vec<RowVersion>> {
        let forgotten = now.engine().table(self.storage()).forgotten();
        self.rows().versions(now, key, from.max(forgotten), to)
    }

    /// The versions that the store still has, those included of which the past is to be forgotten; whole,
    /// because entries of indexes may be made of all their values.
    pub(super) fn every_version(&self, now: &Snapshot, key: &[u8]) -> Result<Vec<RowVersion>> {
        let mut versions = self.rows().versions(now, key, Csn::ZERO, Csn::MAX)?;
        versions.iter_mut().try_for_each(|version| self.rows().complete(now, version))?;
        Ok(versions)
    }

    /// The changes of the row at `key` by commits above `after` up to `to`, oldest first.
    pub fn row_changes(
        &self,
        now: &Snapshot,
        key: &[u8],
        after: Csn,
        to: Csn,
    ) -> Result<Vec<RowChange>> {
        let within = |csn: Csn| csn > after && csn <= to;
        let mut changes: Vec<RowChange> = Vec::new();
        let mut before: Option<RowVersion> = None;
        for mut version in self.versions(now, key, after, to)? {
            self.rows().complete(now, &mut version)?;
            let ended = before.take().and_then(|before| Some((before.to?, before.row)));
            let replaced = match ended {
                Some((csn, row)) if csn == version.from => Some(row),
                Some((csn, row)) => {
                    changes.push(RowChange { csn, before: Some(row), after: None });
                    None
                }
                None => None,
            };
            let (csn, row) = (version.from, version.row.clone());
            changes.push(RowChange { csn, before: replaced, after: Some(row) });
            before = Some(version);
        }
        if let Some(RowVersion { row, to: Some(csn), .. }) = before {
            changes.push(RowChange { csn, before: Some(row), after: None });
        }
        changes.retain(|change| within(change.csn));
        Ok(changes)
    }
}

/// A walk over the past of rows, that can be suspended.
pub struct PastCursor {
    table: Arc<Table>,
    keys: Keys,
    ended: bool,
}

/// Whose past is walked over.
enum Keys {
    Range(KeyRange),
    Listed(btree_set::IntoIter<Vec<u8>>),
}

impl PastCursor {
    /// The rows, those that are gone included, whose keys are in a range.
    pub fn over(table: &Arc<Table>, range: KeyRange) -> PastCursor {
        PastCursor::of(table, Keys::Range(range))
    }

    /// The rows that commits after `after` up to `to` have changed, as the table of changes tells. All rows
    /// where it does not reach back that far, or names too many.
    pub fn over_changes(
        table: &Arc<Table>,
        engine: &Engine,
        after: Csn,
        to: Csn,
    ) -> Result<PastCursor> {
        Ok(match table.rows().changed(engine, after, to)? {
            Some(keys) => PastCursor::of_rows(table, keys),
            None => PastCursor::over(table, KeyRange::ALL),
        })
    }

    /// These rows.
    pub fn of_rows(table: &Arc<Table>, keys: RowKeys) -> PastCursor {
        PastCursor::of(table, Keys::Listed(keys.into_iter()))
    }

    fn of(table: &Arc<Table>, keys: Keys) -> PastCursor {
        PastCursor { table: Arc::clone(table), keys, ended: false }
    }

    /// True if there is nothing more to come.
    pub fn is_at_end(&self) -> bool {
        self.ended
    }

    /// Adds the versions ([`Table::versions`]) of the next rows to `out`, until it has at least so many
    /// or there are no more. The columns that are wanted are complete in them.
    pub fn versions(
        &mut self,
        now: &Snapshot,
        (from, to): (Csn, Csn),
        wanted: ColumnSet<'_>,
        out: &mut Vec<RowVersion>,
        versions_max: usize,
    ) -> Result<()> {
        let table = Arc::clone(&self.table);
        let is_whole = table.wants_out_of_line(wanted);
        self.walk(now, |key| {
            for mut version in table.versions(now, key, from, to)? {
                if is_whole {
                    table.rows().complete(now, &mut version)?;
                }
                out.push(version);
            }
            Ok(out.len() < versions_max)
        })
    }

    /// Adds the changes ([`Table::row_changes`]) of the next rows to `out`, until it has at least so
    /// many or there are no more.
    pub fn changes(
        &mut self,
        now: &Snapshot,
        after: Csn,
        to: Csn,
        out: &mut Vec<RowChange>,
        changes_max: usize,
    ) -> Result<()> {
        let table = Arc::clone(&self.table);
        self.walk(now, |key| {
            out.extend(table.row_changes(now, key, after, to)?);
            Ok(out.len() < changes_max)
        })
    }

    fn walk(&mut self, now: &Snapshot, mut more: impl FnMut(&[u8]) -> Result<bool>) -> Result<()> {
        if self.ended {
            return Ok(());
        }
        match &mut self.keys {
            Keys::Range(range) => {
                let mut keys = self.table.rows().keys_ever(now.engine(), range.clone(), false);
                while let Some(key) = keys.advance()? {
                    if !more(key)? {
                        range.lower = Bound::Excluded(key.to_vec());
                        return Ok(());
                    }
                }
            }
            Keys::Listed(keys) => {
                for key in keys {
                    if !more(&key)? {
                        return Ok(());
                    }
                }
            }
        }
        self.ended = true;
        Ok(())
    }
}
