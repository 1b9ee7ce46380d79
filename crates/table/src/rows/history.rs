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

use std::collections::{BTreeSet, btree_set};
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use store::{Csn, Kind};
use txn::{Engine, KeyRange, Snapshot, Touched, TxnError};

use super::layout::Row;
use super::patch;
use super::table::Table;
use crate::index::RowKeys;
use crate::{Error, Result};

/// A state of a row, and how long it was the newest.
#[derive(Clone, Debug)]
pub struct RowVersion {
    /// The row.
    pub row: Row,
    /// The commit that made it so.
    pub from: Csn,
    /// The commit that ended that; `None` where it is so still.
    pub to: Option<Csn>,
}

/// A change of a row by a commit.
#[derive(Clone, Debug)]
pub struct RowChange {
    /// The commit.
    pub csn: Csn,
    /// The row before; `None` where there was none.
    pub before: Option<Row>,
    /// The row after; `None` where it was deleted.
    pub after: Option<Row>,
}

impl Table {
    /// The versions of the row at `key` that were the newest at some commit in `from..=to`, oldest
    /// first, as `now` knows them, without their documents. What retention has dropped is not among them.
    pub fn versions(
        &self,
        now: &Snapshot,
        key: &[u8],
        from: Csn,
        to: Csn,
    ) -> Result<Vec<RowVersion>> {
        let forgotten = now.engine().table(self.storage()).forgotten();
        self.kept_versions(now, key, from.max(forgotten), to)
    }

    /// The versions that the store still has, those included of which the past is to be forgotten; with
    /// their documents, which indexes may be made of.
    pub(super) fn every_version(&self, now: &Snapshot, key: &[u8]) -> Result<Vec<RowVersion>> {
        let mut versions = self.kept_versions(now, key, Csn::ZERO, Csn::MAX)?;
        self.fill_documents(now, &mut versions)?;
        Ok(versions)
    }

    /// Those without their documents.
    pub(super) fn kept_versions(
        &self,
        now: &Snapshot,
        key: &[u8],
        from: Csn,
        to: Csn,
    ) -> Result<Vec<RowVersion>> {
        let store = now.engine().store();
        let storage = self.storage();
        let to = to.min(now.csn());
        let from = from.max(self.horizon(now));
        if from > to {
            return Ok(Vec::new());
        }
        let mut versions: Vec<RowVersion> = Vec::new();
        // The newest version so far, while it lives: its commit and its bytes.
        let mut open: Option<(Csn, Vec<u8>)> = None;
        if let Some(found) = store.read(storage, key, from)? {
            let mut bytes = Vec::new();
            let patches = found.deltas().map(|(_, patch)| patch);
            patch::merge(found.base(), patches, &mut bytes).map_err(|_| damaged())?;
            open = Some((found.csn(), bytes));
        }
        let close = |versions: &mut Vec<RowVersion>, open: &mut Option<(Csn, Vec<u8>)>, end| {
            if let Some((from, bytes)) = open.take()
                && from <= to
                && Some(from) != end
            {
                let mut row = Row::of(key, self.layout(), bytes.len());
                row.bytes_mut().extend_from_slice(&bytes);
                versions.push(RowVersion { row, from, to: end });
            }
        };
        let mut failed = false;
        now.versions(storage, key, Csn(from.0 + 1), |version| {
            let bytes = match (version.kind, &open) {
                (Kind::Delete, _) => None,
                (Kind::Put, _) => Some(version.bytes.to_vec()),
                (Kind::Delta, Some((_, base))) => {
                    let mut after = Vec::with_capacity(base.len());
                    failed |= patch::merge(base, [version.bytes].into_iter(), &mut after).is_err();
                    Some(after)
                }
                (Kind::Delta, None) => {
                    failed = true;
                    None
                }
            };
            close(&mut versions, &mut open, Some(version.csn));
            open = bytes.map(|bytes| (version.csn, bytes));
            // One version past `to` tells when the last one ended.
            if failed || version.csn > to {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        if failed {
            return Err(damaged());
        }
        close(&mut versions, &mut open, None);
        Ok(versions)
    }

    /// Puts the documents of their time into versions of rows.
    pub(crate) fn fill_documents(&self, now: &Snapshot, versions: &mut [RowVersion]) -> Result<()> {
        let Some(documents) = self.documents() else { return Ok(()) };
        let horizon = self.horizon(now);
        for RowVersion { row, from, .. } in versions {
            let (csn, at) = ((*from).max(horizon), row.key().len());
            documents.fill(self.layout(), at, row.bytes_mut(), |key| documents.then(key, csn))?;
        }
        Ok(())
    }

    /// The first commit at which rows and their documents are whole, which may lie in tables of the store of
    /// which not the same has been forgotten.
    fn horizon(&self, now: &Snapshot) -> Csn {
        let store = now.engine().store();
        let documents = self.documents().map(|documents| documents.collection().id());
        let horizon = documents.map_or(Csn::ZERO, |documents| store.horizon(documents));
        store.horizon(self.storage()).max(horizon)
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
        let mut versions = self.versions(now, key, after, to)?;
        self.fill_documents(now, &mut versions)?;
        for version in versions {
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

/// Keys of changed rows that are held for a walk over them, in bytes; a walk over more looks at all rows.
const CHANGED_BYTES_MAX: usize = 32 << 20;

/// A walk over the past of rows, that can be suspended.
pub struct PastCursor {
    table: Arc<Table>,
    keys: Keys,
    ended: bool,
    without_documents: bool,
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
        let mut keys = BTreeSet::new();
        let mut bytes = 0;
        let changes = match engine.changes(table.storage(), after, to) {
            Ok(changes) => changes,
            Err(TxnError::ChangesForgotten { .. }) => {
                return Ok(PastCursor::over(table, KeyRange::ALL));
            }
            Err(error) => return Err(error.into()),
        };
        for change in changes {
            let Touched::Keys(touched) = change?.1 else {
                return Ok(PastCursor::over(table, KeyRange::ALL));
            };
            for key in touched {
                let size = key.len() + size_of::<Vec<u8>>();
                bytes += if keys.insert(key) { size } else { 0 };
            }
            if bytes > CHANGED_BYTES_MAX {
                return Ok(PastCursor::over(table, KeyRange::ALL));
            }
        }
        Ok(PastCursor::of_rows(table, keys))
    }

    /// These rows.
    pub fn of_rows(table: &Arc<Table>, keys: RowKeys) -> PastCursor {
        PastCursor::of(table, Keys::Listed(keys.into_iter()))
    }

    fn of(table: &Arc<Table>, keys: Keys) -> PastCursor {
        PastCursor { table: Arc::clone(table), keys, ended: false, without_documents: false }
    }

    /// Leaves documents out of versions, as [`Cursor::without_documents`](super::Cursor::without_documents).
    pub fn without_documents(mut self) -> PastCursor {
        self.without_documents = true;
        self
    }

    /// True where there is nothing more to come.
    pub fn is_at_end(&self) -> bool {
        self.ended
    }

    /// Adds the versions ([`Table::versions`]) of the next rows to `out`, until it has at least so many
    /// or there are no more.
    pub fn versions(
        &mut self,
        now: &Snapshot,
        from: Csn,
        to: Csn,
        out: &mut Vec<RowVersion>,
        versions_max: usize,
    ) -> Result<()> {
        let (table, without_documents) = (Arc::clone(&self.table), self.without_documents);
        self.walk(now, |key| {
            let mut versions = table.versions(now, key, from, to)?;
            if !without_documents {
                table.fill_documents(now, &mut versions)?;
            }
            out.extend(versions);
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
                let KeyRange { lower, upper } = range.clone();
                let mut keys = now.engine().store().keys(self.table.storage(), lower, upper, false);
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

fn damaged() -> Error {
    Error::Damaged { what: "a patch of a row" }
}
