//! [`Writing`]: a transaction of ZODB, from its vote to its end.
//!
//! ```text
//!   begin    ROW EXCLUSIVE on the table; EXCLUSIVE if the transaction brings its id along
//!   write    lock the row, compare the serial, write          conflicts come back, to be resolved and sent again
//!   finish   one commit: its time is the id
//! ```
//!
//! Transactions that write different objects run side by side, and their commits share a write to the disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use store::Csn;
use table::objects::{Object, ObjectRows, Tid};
use table::rows::{RowValues, Table};
use table::{Error, Result};
use txn::{Isolation, RelationLock, RowLock, Transaction, TxnId, View, Wait};
use types::{Datum, Oid, SqlState};

use crate::Storage;
use crate::blob::OpenBlob;
use crate::note::Note;

/// Clocks that differ by at most so many microseconds count as equal.
const CLOCKS_DIFFER_US: u64 = 200_000;

/// The metadata of a transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// Its user, up to 65,535 bytes.
    pub user: Vec<u8>,
    /// Its description, up to 65,535 bytes.
    pub description: Vec<u8>,
    /// The pickle of its extension, up to 65,535 bytes; may be empty.
    pub extension: Vec<u8>,
    /// Its id, if it was made elsewhere: later than all ids of the storage.
    pub tid: Option<Tid>,
    /// It was packed in the storage that made it.
    pub is_packed: bool,
    /// The caller's clock: the id must not be before it. It matters if that clock is ahead of the clock here.
    pub not_before: Tid,
}

/// How a transaction waits for others.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    /// A flag that ends a wait ([`Transaction::set_interrupt`]).
    pub interrupt: Option<Arc<AtomicBool>>,
    /// How long it waits for a lock, in microseconds; `None` for no limit.
    pub timeout_us: Option<u64>,
}

/// A record to be written.
#[derive(Clone, Copy, Debug)]
pub struct Write<'a> {
    /// The object.
    pub oid: u64,
    /// The transaction whose record must be the newest of the object; [`Tid::ZERO`] if the object must have none. `None`
    /// for no check.
    pub serial: Option<Tid>,
    /// The pickles of class and state; `None` deletes the object.
    pub data: Option<&'a [u8]>,
    /// The transaction whose record this one brings back.
    pub data_tid: Option<Tid>,
}

/// A record that was not written, because its object has a newer one than its writer knew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The position of the record among those that were to be written.
    pub at: usize,
    /// The transaction that made the newest record.
    pub newest: Tid,
}

/// A committed transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    /// Its id.
    pub tid: Tid,
    /// The id of the transaction before it, if it is known without a read. No other transaction was committed in between,
    /// so a reader that has seen all transactions up to that one has seen all up to this one.
    pub before: Option<Tid>,
}

/// A transaction of ZODB. Dropping it rolls it back.
pub struct Writing {
    storage: Arc<Storage>,
    txn: Transaction,
    table: Arc<Table>,
    note: Note,
    /// The change of the number of objects.
    grown: i64,
    largest_oid: Option<u64>,
    /// A function to call with the id when the commit is about to be visible.
    told: Option<Box<dyn FnOnce(Tid) + Send>>,
    /// The blob whose last part is still to come.
    open_blob: Option<OpenBlob>,
}

impl Storage {
    /// Begins a transaction of ZODB.
    ///
    /// # Errors
    /// 22023 if it brings along an id that is not later than those of the storage, or if its metadata is too long; the
    /// errors of locking.
    pub fn begin(self: &Arc<Self>, meta: Meta) -> Result<Writing> {
        self.begin_waiting(meta, Waits::default())
    }

    /// As [`Storage::begin`]; `waits` says how the transaction waits for others.
    ///
    /// # Errors
    /// As [`Storage::begin`]; 55P03 where a lock is waited for too long.
    pub fn begin_waiting(self: &Arc<Self>, meta: Meta, waits: Waits) -> Result<Writing> {
        for (what, text) in [
            ("user", &meta.user),
            ("description", &meta.description),
            ("extension", &meta.extension),
        ] {
            if text.len() > usize::from(u16::MAX) {
                let message = format!(
                    "the {what} of a transaction has {} bytes; at most 65,535 are allowed",
                    text.len()
                );
                return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
            }
        }
        let Meta { user, description, extension, tid, is_packed, not_before } = meta;
        let mut note = Note { tid, user, description, extension, is_pack: false, is_packed };
        loop {
            let mut txn = self.engine.begin(Isolation::ReadCommitted);
            txn.set_interrupt(waits.interrupt.clone());
            txn.set_lock_timeout(waits.timeout_us);
            let brings = tid.is_some() || self.is_ahead(not_before)?;
            let mode = if brings { RelationLock::Exclusive } else { RelationLock::RowExclusive };
            txn.lock_relation(self.objects.0, mode, Wait::Allowed)?;
            txn.statement();
            if !brings && self.is_ahead(Tid::ZERO)? {
                // Another transaction has brought a future id along meanwhile.
                continue;
            }
            if brings {
                let last = self.last_tid()?;
                note.tid = Some(tid.unwrap_or(not_before.max(Tid(last.0 + 1))));
                if let Some(tid) = tid.filter(|tid| *tid <= last) {
                    let message = format!(
                        "transaction {tid} is not later than the newest one of the storage, {last}"
                    );
                    return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
                }
            }
            let table = self.table(self.objects)?;
            let storage = Arc::clone(self);
            return Ok(Writing {
                storage,
                txn,
                table,
                note,
                grown: 0,
                largest_oid: None,
                told: None,
                open_blob: None,
            });
        }
    }

    /// Adds a row of numbers to a table of the storage.
    pub(crate) fn insert_row(&self, txn: &mut Transaction, table: Oid, row: &[i64]) -> Result<()> {
        txn.lock_relation(table.0, RelationLock::RowExclusive, Wait::Allowed)?;
        let table = self.table(table)?;
        let row: Vec<Datum> = row.iter().map(|number| Datum::Int8(*number)).collect();
        self.with_values(&table, |values| {
            self.change(txn, values, |change| table.insert(change, &row))
        })?;
        txn.note_rows(table.storage(), 1);
        Ok(())
    }

    /// True if the time of the next commit might make an id that is not later than one that was brought along: ids go on
    /// from that one until its time has come. True also if a clock is well ahead of the one here.
    fn is_ahead(&self, clock: Tid) -> Result<bool> {
        let imported = self.imported_tid.load(Ordering::Acquire);
        // The next commit has a later time than the newest one, whatever the clock does meanwhile.
        let newest_us = self.engine.time_us(self.engine.visible())?;
        let latest = Tid::of_time(self.engine.now_us() + CLOCKS_DIFFER_US);
        Ok(imported > Tid::of_time(newest_us).0 || clock > latest)
    }
}

impl Writing {
    /// Locks the objects of some records, and writes the records that do not conflict. Waits for other transactions that
    /// have locked one of the objects.
    ///
    /// # Errors
    /// 40P01 where waiting would be a deadlock; 40001 if a record refers to an object that a pack has removed, or is
    /// going to remove; what the transaction reports. The transaction can only be given up then.
    pub fn write<'a>(
        &mut self,
        writes: impl IntoIterator<Item = Write<'a>>,
    ) -> Result<Vec<Conflict>> {
        let mut conflicts = Vec::new();
        let mut references = Vec::new();
        let (storage, table) = (Arc::clone(&self.storage), Arc::clone(&self.table));
        storage.with_values(&table, |values| {
            for (at, write) in writes.into_iter().enumerate() {
                if let Some(newest) = self.write_one(write, values, &mut references)? {
                    conflicts.push(Conflict { at, newest });
                }
            }
            Ok(())
        })?;
        self.check_references(references)?;
        Ok(conflicts)
    }

    /// Writes a record; the newest transaction of its object where it conflicts.
    fn write_one(
        &mut self,
        write: Write<'_>,
        values: &mut dyn RowValues,
        references: &mut Vec<u64>,
    ) -> Result<Option<Tid>> {
        let Self { storage, txn, table, note, grown, largest_oid, .. } = self;
        let rows = Storage::rows_of(table)?;
        let key = ObjectRows::key(write.oid);
        let locked = txn.lock_latest(table.storage(), &key, RowLock::Update, Wait::Allowed)?;
        let latest = txn.latest();
        let newest = rows.record(View::of(txn, &latest), write.oid, |record| match record.csn {
            Csn::MAX => Ok(None),
            _ => storage.tid_in(&record).map(Some),
        })?;
        drop(latest);
        if let (Some(serial), Some(Some(newest))) = (write.serial, newest)
            && serial != newest
        {
            return Ok(Some(newest));
        }
        *largest_oid = (*largest_oid).max(Some(write.oid));
        let has_entries = table.has_entries();
        let datums = |txn: &Transaction| -> Result<Option<Vec<Datum>>> {
            let row = if has_entries { table.latest(txn, &key)? } else { None };
            row.map(|row| row.to_datums()).transpose()
        };
        let old = datums(txn)?;
        match write.data {
            Some(pickle) => {
                *grown += i64::from(newest.is_none());
                let Write { oid, data_tid, .. } = write;
                let object = Object { oid, tid: note.tid, data_tid, pickle };
                let refs = rows.put(txn, locked, object)?;
                references.extend(refs);
            }
            None => {
                *grown -= i64::from(newest.is_some());
                rows.remove(txn, &key)?;
            }
        }
        if has_entries {
            let new = datums(txn)?;
            let (old, new) = (old.as_deref(), new.as_deref());
            storage.change(txn, values, |change| table.follow(change, &key, old, new))?;
        }
        Ok(None)
    }

    /// Refuses references to objects that a pack has removed, or is going to remove: they would lead nowhere. An object
    /// that the transaction writes itself stays.
    fn check_references(&self, mut references: Vec<u64>) -> Result<()> {
        let doomed = Arc::clone(&self.storage.doomed.lock());
        if doomed.is_empty() && self.storage.collected.load(Ordering::Acquire) == 0 {
            return Ok(());
        }
        references.sort_unstable();
        references.dedup();
        let latest = self.txn.latest();
        let view = View::of(&self.txn, &latest);
        for oid in references {
            let found = view.read(self.table.storage(), &ObjectRows::key(oid))?;
            let is_own = found.as_ref().is_some_and(txn::Row::is_own);
            if !is_own && doomed.binary_search(&oid).is_ok() {
                return Err(removed(oid));
            }
            if found.is_some() {
                continue;
            }
            let newest = self.storage.newest_change_of(&latest, self.table.storage(), oid)?;
            if let Some(csn) = newest
                && self.storage.is_pack(csn)?
            {
                return Err(removed(oid));
            }
        }
        Ok(())
    }

    /// Locks an object against changes until the end of the transaction. Returns the transaction that made its newest
    /// record if that is not `serial`; [`Tid::ZERO`] if there is none.
    ///
    /// # Errors
    /// As [`Writing::write`].
    pub fn check_current(&mut self, oid: u64, serial: Tid) -> Result<Option<Tid>> {
        let key = ObjectRows::key(oid);
        self.txn.lock_latest(self.table.storage(), &key, RowLock::Share, Wait::Allowed)?;
        let newest = self.storage.tid_of_newest(oid)?.unwrap_or(Tid::ZERO);
        Ok((newest != serial).then_some(newest))
    }

    /// Its identity among the transactions that are open.
    pub fn id(&self) -> TxnId {
        self.txn.id()
    }

    /// Sets how it waits for others from now on.
    pub fn set_waits(&mut self, waits: Waits) {
        self.txn.set_interrupt(waits.interrupt);
        self.txn.set_lock_timeout(waits.timeout_us);
    }

    /// Calls `f`, and undoes its changes if it fails.
    ///
    /// # Errors
    /// Those of `f`.
    pub fn attempt<R>(&mut self, f: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        let (savepoint, grown, largest) = (self.txn.savepoint(), self.grown, self.largest_oid);
        let had_blob = self.open_blob.is_some();
        let done = f(self);
        if done.is_err() {
            self.txn.rollback_to(savepoint);
            (self.grown, self.largest_oid) = (grown, largest);
            self.open_blob = self.open_blob.take().filter(|_| had_blob);
        }
        self.txn.release(savepoint)?;
        done
    }

    /// Sets a function that is called with the id, in the order of commits, just before the commit is visible. It must
    /// be quick and must not use the database.
    pub fn on_finish(&mut self, f: impl FnOnce(Tid) + Send + 'static) {
        self.told = Some(Box::new(f));
    }

    /// The storage that it writes to, the transaction there, and the blob whose last part is still to come.
    pub(crate) fn parts(&mut self) -> (&Storage, &mut Transaction, &mut Option<OpenBlob>) {
        (&self.storage, &mut self.txn, &mut self.open_blob)
    }

    /// Commits. Returns once the transaction is durable and all that begin from now on see it.
    ///
    /// # Errors
    /// 22023 if the last part of a blob is missing; what the engine reports; after `08007` it may or may not have happened.
    pub fn finish(self) -> Result<Finished> {
        let Writing { storage, mut txn, table, note, grown, largest_oid, told, open_blob } = self;
        if let Some(open) = open_blob {
            return Err(open.unfinished());
        }
        if grown != 0 {
            txn.note_rows(table.storage(), grown);
        }
        storage.note_oids(largest_oid.into_iter());
        if let Some(tid) = note.tid {
            storage.insert_row(&mut txn, storage.imported, &[tid.to_i64()])?;
            let (imported, upto) =
                (Arc::clone(&storage.imported_tid), Arc::clone(&storage.imported_upto));
            txn.on_publish(move |commit| {
                imported.fetch_max(tid.0, Ordering::AcqRel);
                upto.fetch_max(commit.csn.0, Ordering::AcqRel);
            });
        }
        let is_empty = txn.is_read_only();
        let before = Arc::new(AtomicU64::new(0));
        if !is_empty {
            let (last, tid) = (Arc::clone(&storage.last), note.tid);
            let (finished, before) = (Arc::clone(&storage.finished), Arc::clone(&before));
            txn.on_publish(move |commit| {
                let tid = tid.unwrap_or_else(|| Tid::of_time(commit.time_us));
                // A reader that has it locked finds the commit in the table of changes.
                if let Some(mut last) = last.try_lock() {
                    last.note(commit.csn, tid);
                }
                let (csn, tid_before) = std::mem::replace(&mut *finished.lock(), (commit.csn, tid));
                if csn.0 + 1 == commit.csn.0 {
                    before.store(tid_before.0, Ordering::Release);
                }
            });
        }
        if let Some(told) = told.filter(|_| !is_empty) {
            let tid = note.tid;
            txn.on_publish(move |commit| told(tid.unwrap_or_else(|| Tid::of_time(commit.time_us))));
        }
        let commit = txn.commit(note.to_meta())?;
        let tid = match note.tid {
            Some(tid) => tid,
            None if is_empty => storage.last_tid()?,
            None => Tid::of_time(commit.time_us),
        };
        let before = Some(Tid(before.load(Ordering::Acquire))).filter(|tid| *tid != Tid::ZERO);
        Ok(Finished { tid, before })
    }
}

/// The error for a reference to an object that a pack removes.
fn removed(oid: u64) -> Error {
    let message =
        format!("object {oid:#018x} is removed by a pack, which found nothing that refers to it");
    Error::new(SqlState::SERIALIZATION_FAILURE, message)
}
