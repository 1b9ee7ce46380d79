//! Ids of transactions as commits, and back.
//!
//! ```text
//!   commit   5      6      7      8       9
//!   time     t5     t6     t7     t8      t9
//!   id       2019   2020   t7     other   t9       5 and 6 were copied here, 8 is of another table
//! ```

use std::ops::Bound;
use std::sync::atomic::Ordering;

use store::Csn;
use table::objects::{ObjectRows, Tid};
use table::{Error, Result};
use txn::CHANGES_TABLE;

use crate::Storage;
use crate::note::Note;

/// The newest transaction.
#[derive(Clone, Copy, Default)]
pub(crate) struct Last {
    /// The commit up to which changes were looked at; 0 before the first look.
    seen: Csn,
    csn: Csn,
    tid: Tid,
    /// A commit of the storage that is about to be visible, or is so.
    coming: Option<(Csn, Tid)>,
}

impl Last {
    /// A commit of the storage is about to be visible.
    pub fn note(&mut self, csn: Csn, tid: Tid) {
        self.coming = Some((csn, tid));
    }
}

impl Storage {
    /// Returns the id of the newest transaction; [`Tid::ZERO`] if there is none.
    ///
    /// # Errors
    /// The errors of reading.
    pub fn last_tid(&self) -> Result<Tid> {
        Ok(self.newest()?.1)
    }

    /// The newest transaction: its commit and its id.
    pub(crate) fn newest(&self) -> Result<(Csn, Tid)> {
        let visible = self.engine.visible();
        let mut last = self.last.lock();
        if let Some((csn, tid)) = last.coming.filter(|(csn, _)| *csn <= visible) {
            last.coming = None;
            if last.seen < csn {
                *last = Last { seen: csn, csn, tid, coming: None };
            }
        }
        if last.seen < visible {
            let storage = self.table(self.objects)?.storage();
            // Nearly always there are few commits since, and mostly one.
            if let Some(csn) = self.newest_change(storage.0, last.seen, visible)? {
                (last.csn, last.tid) = (csn, self.tid_of(csn)?);
            }
            last.seen = visible;
        }
        Ok((last.csn, last.tid))
    }

    /// The newest commit after `after` up to `to` that is a transaction of the storage.
    fn newest_change(&self, storage: u32, after: Csn, to: Csn) -> Result<Option<Csn>> {
        let mut csns = self.changed_csns(storage, after, to, true);
        while let Some(csn) = csns.advance()? {
            if !self.is_pack(csn)? {
                return Ok(Some(csn));
            }
        }
        if after >= self.engine.changes_kept(store::TableId(storage)) {
            return Ok(None);
        }
        // For the time before, the rows that are left give the answer.
        let old = self.old(to)?;
        Ok(old.csns().next_back().filter(|csn| *csn > after))
    }

    /// The commits after `after` up to `to` that have changed a table of the store, as far as the table of changes
    /// tells.
    pub(crate) fn changed_csns(
        &self,
        storage: u32,
        after: Csn,
        to: Csn,
        is_backward: bool,
    ) -> ChangedCsns {
        let key = |csn: Csn| {
            let mut key = storage.to_be_bytes().to_vec();
            key.extend_from_slice(&csn.0.to_be_bytes());
            key
        };
        let (lower, upper) = (Bound::Excluded(key(after)), Bound::Included(key(to)));
        let is_empty = after >= to;
        ChangedCsns {
            keys: (!is_empty)
                .then(|| self.engine.store().keys(CHANGES_TABLE, lower, upper, is_backward)),
        }
    }

    /// The metadata of a commit.
    pub(crate) fn note(&self, csn: Csn) -> Result<Note> {
        let info = self.engine.commit_info(csn)?;
        Ok(Note::of_commit(&info.author, &info.message, &self.engine.extension(csn)?))
    }

    /// True for a commit that has removed what nothing reaches.
    pub(crate) fn is_pack(&self, csn: Csn) -> Result<bool> {
        if csn.0 > self.collected.load(Ordering::Acquire) {
            return Ok(false);
        }
        Ok(Note::of_commit("", "", &self.engine.extension(csn)?).is_pack)
    }

    /// The id of the transaction that is a commit.
    pub(crate) fn tid_of(&self, csn: Csn) -> Result<Tid> {
        if csn.0 <= self.imported_upto.load(Ordering::Acquire)
            && let Some(tid) = Note::of_commit("", "", &self.engine.extension(csn)?).tid
        {
            return Ok(tid);
        }
        Ok(Tid::of_time(self.engine.time_us(csn)?))
    }

    /// The commit of the transaction with an id, which may have been none of the storage.
    pub(crate) fn csn_of(&self, tid: Tid) -> Result<Option<Csn>> {
        if self.imported_upto.load(Ordering::Acquire) > 0 {
            let storage = self.table(self.imported)?.storage();
            let found = self.engine.snapshot().read(storage, &ObjectRows::key(tid.0))?;
            if let Some(found) = found {
                return Ok(Some(found.csn()));
            }
        }
        let time_us = tid.time_us();
        if time_us == 0 || Tid::of_time(time_us) != tid {
            return Ok(None);
        }
        let csn = self.engine.csn_at(time_us)?;
        let is_it =
            csn > Csn::ZERO && self.engine.time_us(csn)? == time_us && self.tid_of(csn)? == tid;
        Ok(is_it.then_some(csn))
    }

    /// The commit after which the storage was as it was before the transaction with an id, and all later ones.
    pub(crate) fn csn_before(&self, tid: Tid) -> Result<Csn> {
        let visible = self.engine.visible();
        if tid.to_i64() < 0 {
            // Above the largest id of ZODB (`maxtid`).
            return Ok(visible);
        }
        let time_us = tid.time_us();
        let derived = match Tid::of_time(time_us) < tid {
            _ if time_us == 0 => Csn::ZERO,
            true => self.engine.csn_at(time_us)?,
            false => self.engine.csn_at(time_us - 1)?,
        };
        if self.imported_upto.load(Ordering::Acquire) == 0 {
            return Ok(derived.min(visible));
        }
        let storage = self.table(self.imported)?.storage();
        let now = self.engine.snapshot();
        let key = ObjectRows::key(tid.0);
        let first = |lower, upper, is_backward| -> Result<Option<Csn>> {
            let mut scan = now.scan(storage, lower, upper, is_backward);
            Ok(scan.advance()?.map(|(_, found)| found.csn()))
        };
        let before = first(Bound::Unbounded, Bound::Excluded(key.clone()), true)?;
        let behind = first(Bound::Included(key), Bound::Unbounded, false)?;
        // A commit of later may have brought an earlier id along than its time, and the other way round.
        let derived = behind.map_or(derived, |behind| derived.min(Csn(behind.0 - 1)));
        Ok(derived.max(before.unwrap_or_default()).min(visible))
    }

    /// Looks up the newest transaction that was copied here, and the newest pack.
    pub(crate) fn find_marks(&self) -> Result<()> {
        let now = self.engine.snapshot();
        let newest = |oid| -> Result<Option<(u64, Csn)>> {
            let storage = self.table(oid)?.storage();
            let mut scan = now.scan(storage, Bound::Unbounded, Bound::Unbounded, true);
            match scan.advance()? {
                Some((key, found)) => Ok(Some((ObjectRows::oid(key)?, found.csn()))),
                None => Ok(None),
            }
        };
        if let Some((tid, csn)) = newest(self.imported)? {
            self.imported_tid.store(tid, Ordering::Release);
            self.imported_upto.store(csn.0, Ordering::Release);
        }
        if let Some((_, csn)) = newest(self.packs)? {
            self.collected.store(csn.0, Ordering::Release);
        }
        Ok(())
    }
}

/// Commits that have changed a table.
pub(crate) struct ChangedCsns {
    keys: Option<store::Keys>,
}

impl ChangedCsns {
    pub fn advance(&mut self) -> Result<Option<Csn>> {
        let Some(keys) = &mut self.keys else { return Ok(None) };
        let Some(key) = keys.advance()? else { return Ok(None) };
        let csn = key.get(4..).and_then(|csn| csn.try_into().ok());
        let csn = csn.ok_or(Error::Damaged { what: "a key of the table of changes" })?;
        Ok(Some(Csn(u64::from_be_bytes(csn))))
    }
}
