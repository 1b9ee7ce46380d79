//! Records by object and by transaction.

use std::ops::{Bound, ControlFlow};

use store::{Csn, TableId};
use table::Result;
use table::objects::{ObjectRows, Record, Tid};
use table::rows::Table;
use txn::{KeyRange, Snapshot};

use crate::Storage;

/// A record that was asked for by a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found<Data = Vec<u8>> {
    /// The pickles of class and state; `None` if the record is that the object was deleted.
    pub data: Option<Data>,
    /// The transaction that made the record.
    pub tid: Tid,
    /// The transaction that made the next one, or deleted the object; `None` if this one is the newest.
    pub next: Option<Tid>,
}

/// The pickles of class and state, and the transaction that made the record.
pub type Loaded = (Vec<u8>, Tid);

/// One of the records of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    /// The transaction that made it.
    pub tid: Tid,
    /// Its user.
    pub user: Vec<u8>,
    /// Its description.
    pub description: Vec<u8>,
    /// The pickle of its extension; may be empty.
    pub extension: Vec<u8>,
    /// The bytes of the pickles of class and state.
    pub size: usize,
}

impl Storage {
    /// Calls `f` with the newest record of an object, and returns what it does and the transaction that made the
    /// record; `None` if there is no such object, or it was deleted.
    ///
    /// # Errors
    /// The errors of reading.
    pub fn load<R>(&self, oid: u64, f: impl FnOnce(&[u8]) -> R) -> Result<Option<(R, Tid)>> {
        let table = self.table(self.objects)?;
        let now = self.engine.snapshot();
        Storage::rows_of(&table)?
            .record(now.view(), oid, |record| Ok((f(record.pickle()?), self.tid_in(&record)?)))
    }

    /// Returns module and name of the class of an object; `None` if there is no such object, or its pickle names none.
    ///
    /// # Errors
    /// As [`Storage::load`].
    pub fn class(&self, oid: u64) -> Result<Option<(String, String)>> {
        let table = self.table(self.objects)?;
        let now = self.engine.snapshot();
        let class = Storage::rows_of(&table)?.record(now.view(), oid, |record| record.class())?;
        Ok(class.flatten())
    }

    /// Returns the transaction that made the newest record of an object.
    ///
    /// # Errors
    /// As [`Storage::load`].
    pub fn tid_of_newest(&self, oid: u64) -> Result<Option<Tid>> {
        Ok(self.load(oid, |_| ())?.map(|((), tid)| tid))
    }

    /// The transaction that made a record.
    pub(crate) fn tid_in(&self, record: &Record<'_>) -> Result<Tid> {
        record.tid(&self.engine)
    }

    /// Calls `f` with the record that an object had before a transaction, and returns what it does.
    ///
    /// # Errors
    /// As [`Storage::load`].
    pub fn load_before<R>(
        &self,
        oid: u64,
        tid: Tid,
        f: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<Found<R>>> {
        let table = self.table(self.objects)?;
        let now = self.engine.snapshot();
        let at = self.csn_before(tid)?.min(now.csn());
        self.found_at(&table, &now, oid, at, |csn| csn <= at, f)
    }

    /// Calls `f` with the record of an object that a transaction made, and returns what it does.
    ///
    /// # Errors
    /// As [`Storage::load`].
    pub fn load_serial<R>(
        &self,
        oid: u64,
        tid: Tid,
        f: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<Found<R>>> {
        let table = self.table(self.objects)?;
        let now = self.engine.snapshot();
        let Some(at) = self.csn_of(tid)?.filter(|csn| *csn <= now.csn()) else { return Ok(None) };
        self.found_at(&table, &now, oid, at, |csn| csn == at, f)
    }

    /// The record that was the newest after a commit, if it is wanted.
    fn found_at<R>(
        &self,
        table: &Table,
        now: &Snapshot,
        oid: u64,
        at: Csn,
        is_wanted: impl Fn(Csn) -> bool,
        f: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<Found<R>>> {
        let (rows, storage) = (Storage::rows_of(table)?, table.storage());
        // Records that were the newest at the horizon are kept, whenever they were made.
        let at = at.max(self.kept_from(storage)).min(now.csn());
        let then = if at == now.csn() { now.clone() } else { self.engine.snapshot_at(at)? };
        let found = rows.record(then.view(), oid, |record| match is_wanted(record.csn) {
            true => Ok(Some((f(record.pickle()?), self.tid_in(&record)?, record.csn))),
            false => Ok(None),
        })?;
        let (data, tid, csn) = match found {
            Some(Some((data, tid, csn))) => (Some(data), tid, csn),
            Some(None) => return Ok(None),
            None => match self.deletion(&then, storage, oid)?.filter(|csn| is_wanted(*csn)) {
                Some(csn) => (None, self.tid_of(csn)?, csn),
                None => return Ok(None),
            },
        };
        if at == now.csn() {
            return Ok(Some(Found { data, tid, next: None }));
        }
        let next = now.successor(storage, &ObjectRows::key(oid), csn)?;
        let Some(next) = next else { return Ok(Some(Found { data, tid, next: None })) };
        if self.is_pack(next)? {
            return Ok(None);
        }
        Ok(Some(Found { data, tid, next: Some(self.tid_of(next)?) }))
    }

    /// Returns true if any record of an object is kept, or that it was deleted.
    ///
    /// # Errors
    /// As [`Storage::load`].
    pub fn is_known(&self, oid: u64) -> Result<bool> {
        let storage = self.table(self.objects)?.storage();
        let now = self.engine.snapshot();
        if now.read(storage, &ObjectRows::key(oid))?.is_some() {
            return Ok(true);
        }
        Ok(self.deletion(&now, storage, oid)?.is_some())
    }

    /// The commit that deleted an object that does not exist now; `None` if a pack deleted it, or if the commit is no
    /// longer kept.
    fn deletion(&self, now: &Snapshot, storage: TableId, oid: u64) -> Result<Option<Csn>> {
        let csn = self.newest_change_of(now, storage, oid)?;
        match csn.filter(|csn| *csn > self.kept_from(storage)) {
            Some(csn) if !self.is_pack(csn)? => Ok(Some(csn)),
            _ => Ok(None),
        }
    }

    /// The newest commit that has changed an object, be it that it was deleted.
    pub(crate) fn newest_change_of(
        &self,
        now: &Snapshot,
        storage: TableId,
        oid: u64,
    ) -> Result<Option<Csn>> {
        let mut newest = None;
        now.versions(storage, &ObjectRows::key(oid), Csn::ZERO, |version| {
            newest = Some(version.csn);
            ControlFlow::Continue(())
        })?;
        Ok(newest)
    }

    /// Returns up to so many of the records of an object, newest first; none if there is no such object.
    ///
    /// # Errors
    /// As [`Storage::load`].
    pub fn history(&self, oid: u64, count: usize) -> Result<Vec<Revision>> {
        let table = self.table(self.objects)?;
        let now = self.engine.snapshot();
        let from = self.kept_from(table.storage());
        let key = ObjectRows::key(oid);
        let count = if self.keeps_history() { count } else { count.min(1) };
        let mut csns = Vec::new();
        for version in table.versions(&now, &key, from, now.csn())? {
            if let Some(end) = version.to
                && self.is_pack(end)?
            {
                // An object that a pack has removed has no history, even if it is stored again.
                csns.clear();
                continue;
            }
            csns.push(version.from);
        }
        let mut revisions = Vec::new();
        for csn in csns.into_iter().rev().take(count) {
            let at = csn.max(from);
            let then = self.engine.snapshot_at(at)?;
            let size = Storage::rows_of(&table)?
                .record(then.view(), oid, |record| Ok(record.pickle()?.len()))?;
            let note = self.note(csn)?;
            revisions.push(Revision {
                tid: self.tid_of(csn)?,
                user: note.user,
                description: note.description,
                extension: note.extension,
                size: size.unwrap_or_default(),
            });
        }
        Ok(revisions)
    }

    /// Calls `f` with up to so many objects after one, in the order of their ids, as they are now.
    ///
    /// # Errors
    /// As [`Storage::load`].
    pub fn objects_after(
        &self,
        after: Option<u64>,
        count: usize,
        mut f: impl FnMut(u64, Tid, &[u8]),
    ) -> Result<()> {
        let table = self.table(self.objects)?;
        let rows = Storage::rows_of(&table)?;
        let now = self.engine.snapshot();
        let lower = after.map_or(Bound::Unbounded, |oid| Bound::Excluded(ObjectRows::key(oid)));
        let range = KeyRange { lower, upper: Bound::Unbounded };
        let mut cursor = txn::Cursor::new(table.storage(), range, false);
        let (mut buffer, mut left) = (Vec::new(), count);
        if left == 0 {
            return Ok(());
        }
        cursor.fill(now.view(), |key, found| {
            let oid = ObjectRows::oid(key)?;
            rows.record_of(found, &mut buffer, |record| {
                f(oid, self.tid_in(&record)?, record.pickle()?);
                Ok(())
            })?;
            left -= 1;
            Ok::<_, table::Error>(match left {
                0 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            })
        })
    }

    /// Returns the number of objects.
    ///
    /// # Errors
    /// As [`Storage::load`].
    pub fn count(&self) -> Result<u64> {
        Ok(self.handles.row_count(self.table(self.objects)?.storage()))
    }

    /// Returns about how many bytes the newest records and the blobs take.
    ///
    /// # Errors
    /// As [`Storage::load`].
    pub fn size(&self) -> Result<u64> {
        let store = self.engine.store();
        let objects = store.table_bytes(self.table(self.objects)?.storage())?;
        Ok(objects + store.table_bytes(self.table(self.blobs)?.storage())?)
    }

    /// Returns the first of so many ids that no object has, and that are given to no other caller.
    ///
    /// # Errors
    /// As [`Storage::load`].
    pub fn new_oids(&self, count: u64) -> Result<u64> {
        let mut next = self.next_oid.lock();
        if *next == 0 {
            let storage = self.table(self.objects)?.storage();
            let store = self.engine.store();
            let mut keys = store.keys(storage, Bound::Unbounded, Bound::Unbounded, true);
            let largest = keys.advance()?.map(ObjectRows::oid).transpose()?;
            // Object 0 is the root.
            *next = largest.unwrap_or(0) + 1;
        }
        let first = *next;
        *next += count;
        Ok(first)
    }

    /// An object with this id was written, which may have come from elsewhere.
    pub(crate) fn note_oids(&self, oids: impl Iterator<Item = u64>) {
        let Some(largest) = oids.max() else { return };
        let mut next = self.next_oid.lock();
        if *next > 0 && *next <= largest {
            *next = largest + 1;
        }
    }

    /// Returns the records of some objects as they were before a transaction, in the order in which they were asked
    /// for.
    ///
    /// # Errors
    /// As [`Storage::load`].
    pub fn load_many(&self, oids: &[u64], before: Tid) -> Result<Vec<Option<Loaded>>> {
        let load = |oid: &u64| {
            let found = self.load_before(*oid, before, <[u8]>::to_vec)?;
            Ok(found.and_then(|found| Some((found.data?, found.tid))))
        };
        oids.iter().map(load).collect()
    }
}
