//! Blobs: files that belong to records, a mebibyte a row.
//!
//! ```text
//!   up to a mebibyte, or in the place of another blob    rows, as any other ones
//!   larger                                               a file of the store, written part by part as they come
//! ```
//!
//! The commit names such a file, as it names those of any bulk load: the blob goes neither through the memory of the
//! transaction nor through the log, and with the file it is backed up, followed, packed and erased as rows are.

use std::io::{self, Read};
use std::ops::{Bound, ControlFlow};

use store::{Bulk, Csn};
use table::objects::{ObjectRows, Tid};
use table::rows::Table;
use table::{Error, HeapRows, Result};
use txn::{KeyRange, RelationLock, RowLock, Transaction, View, Wait};
use types::{Datum, DatumRef, KeyOrder, SqlState};

use crate::Storage;
use crate::write::Writing;

/// Columns of the table of blobs.
const COLUMNS: usize = 3;
/// Bytes of a part.
const PART_BYTES: usize = 1 << 20;

/// The keys of all parts of a blob.
fn parts_of(oid: u64) -> KeyRange {
    let mut prefix = Vec::new();
    types::key::write(DatumRef::Int8(oid as i64), KeyOrder::ASCENDING, &mut prefix);
    KeyRange::prefix(prefix)
}

fn key(oid: u64, part: i32) -> Vec<u8> {
    let mut key = Vec::new();
    types::key::write(DatumRef::Int8(oid as i64), KeyOrder::ASCENDING, &mut key);
    types::key::write(DatumRef::Int4(part), KeyOrder::ASCENDING, &mut key);
    key
}

/// The keys of a range that a view shows.
fn keys_in(view: View<'_>, table: &Table, range: KeyRange) -> Result<Vec<Vec<u8>>> {
    let mut keys = Vec::new();
    txn::Cursor::new(table.storage(), range, false).fill(view, |key, _| {
        keys.push(key.to_vec());
        Ok::<_, Error>(ControlFlow::Continue(()))
    })?;
    Ok(keys)
}

fn part_number(part: u32) -> Result<i32> {
    i32::try_from(part)
        .map_err(|_| Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "a blob has more than 2 PiB"))
}

/// The rows of the table of blobs, if they lie in a heap of three columns.
fn heap_of(table: &Table) -> Option<&HeapRows> {
    table.rows().of_method().filter(|_| table.layout().width() == COLUMNS)
}

/// Reads until a buffer is full, or the file ends.
fn read_part(file: &mut dyn Read, part: &mut Vec<u8>) -> io::Result<()> {
    part.clear();
    file.take(PART_BYTES as u64).read_to_end(part).map(drop)
}

fn io_error(what: &str, error: &io::Error) -> Error {
    let state = types::Error::state_of_io(error);
    Error::new(state, format!("could not {what} the file of a blob: {error}"))
}

/// A blob that goes to a file of the store, until its last part has come.
pub(crate) struct OpenBlob {
    oid: u64,
    /// The number of the next part.
    part: u32,
    /// `None` if the file could not be ended.
    file: Option<Bulk>,
}

impl OpenBlob {
    /// The error for a transaction that does something else before the last part.
    pub fn unfinished(&self) -> Error {
        missing(self.oid, self.part)
    }

    /// Writes a part, which is the next one, and ends the file with the last. Where that fails, the transaction cannot be
    /// committed without the blob.
    fn put(
        &mut self,
        (storage, txn): (&Storage, &mut Transaction),
        (oid, part): (u64, u32),
        bytes: &[u8],
        is_last: bool,
    ) -> Result<()> {
        let table = storage.table(storage.blobs)?;
        let (Some(heap), Some(file)) = (heap_of(&table), &mut self.file) else {
            return Err(self.unfinished());
        };
        if (self.oid, self.part) != (oid, part) {
            return Err(self.unfinished());
        }
        let number = part_number(part)?;
        let row = [DatumRef::Int8(oid as i64), DatumRef::Int4(number), DatumRef::Bytea(bytes)];
        file.put(table.storage(), &key(oid, number), &heap.encode(row.into_iter()))?;
        self.part += 1;
        if is_last && let Some(file) = self.file.take() {
            txn.note_changes(table.storage());
            txn.note_rows(table.storage(), i64::from(self.part));
            txn.attach(file.finish()?)?;
        }
        Ok(())
    }
}

fn missing(oid: u64, part: u32) -> Error {
    let message = format!("part {part} of the blob of object {oid:#018x} is missing");
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

impl Writing {
    /// Makes the content of a file the blob of the record that the transaction writes for an object.
    ///
    /// # Errors
    /// 58030 if the file cannot be read; 54000 if it has more than 2 PiB; what the transaction reports.
    pub fn put_blob(&mut self, oid: u64, file: &mut dyn Read) -> Result<()> {
        let (mut bytes, mut next) = (Vec::with_capacity(PART_BYTES), Vec::new());
        read_part(file, &mut bytes).map_err(|error| io_error("read", &error))?;
        for part in 0.. {
            // An empty file has one part, which is empty.
            if bytes.len() == PART_BYTES {
                read_part(file, &mut next).map_err(|error| io_error("read", &error))?;
            }
            self.put_blob_part(oid, part, &bytes, next.is_empty())?;
            if next.is_empty() {
                break;
            }
            std::mem::swap(&mut bytes, &mut next);
            next.clear();
        }
        Ok(())
    }

    /// Writes a part of a blob, from 0 on; all but the last have a mebibyte.
    ///
    /// # Errors
    /// 22023 if a part is larger, or the one before it has not come; 54000 if a blob has more than 2 PiB; what the transaction reports.
    pub fn put_blob_part(
        &mut self,
        oid: u64,
        part: u32,
        bytes: &[u8],
        is_last: bool,
    ) -> Result<()> {
        if bytes.len() > PART_BYTES {
            let message =
                format!("a part of a blob has {} bytes; {PART_BYTES} are allowed", bytes.len());
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
        }
        let (storage, txn, open_blob) = self.parts();
        if part == 0 && !is_last && open_blob.is_none() {
            *open_blob = storage.begin_file(txn, oid)?;
        }
        if let Some(open) = open_blob {
            open.put((storage, txn), (oid, part), bytes, is_last)?;
            if is_last {
                *open_blob = None;
            }
            return Ok(());
        }
        let number = part_number(part)?;
        txn.lock_relation(storage.blobs.0, RelationLock::RowExclusive, Wait::Allowed)?;
        let table = storage.table(storage.blobs)?;
        if number > 0 && table.latest(txn, &key(oid, number - 1))?.is_none() {
            return Err(missing(oid, part - 1));
        }
        storage.put_part(txn, &table, oid, number, bytes)?;
        if is_last { self.end_blob(oid, part + 1) } else { Ok(()) }
    }

    /// A blob has so many parts.
    fn end_blob(&mut self, oid: u64, parts: u32) -> Result<()> {
        let parts = part_number(parts)?;
        let (storage, txn, _) = self.parts();
        let table = storage.table(storage.blobs)?;
        storage.remove_parts(txn, &table, oid, parts)
    }
}

impl Storage {
    /// Begins a file for a blob; `None` if rows are to be written one by one: the object has or had a blob, or the owner
    /// of the table has given it indexes or another form.
    fn begin_file(&self, txn: &mut Transaction, oid: u64) -> Result<Option<OpenBlob>> {
        txn.lock_relation(self.blobs.0, RelationLock::RowExclusive, Wait::Allowed)?;
        let table = self.table(self.blobs)?;
        if heap_of(&table).is_none() || table.has_entries() {
            return Ok(None);
        }
        // The locks make other writers of the object's parts wait for this transaction.
        let objects = self.table(self.objects)?.storage();
        txn.lock_latest(objects, &ObjectRows::key(oid), RowLock::Update, Wait::Allowed)?;
        txn.lock_latest(table.storage(), &key(oid, 0), RowLock::Update, Wait::Allowed)?;
        let KeyRange { lower, upper } = parts_of(oid);
        let store = self.engine.store();
        let has_versions = store.keys(table.storage(), lower, upper, false).advance()?.is_some();
        let latest = txn.latest();
        let has_own = !keys_in(View::of(txn, &latest), &table, parts_of(oid))?.is_empty();
        let file = Some(store.bulk());
        Ok((!has_versions && !has_own).then_some(OpenBlob { oid, part: 0, file }))
    }

    fn put_part(
        &self,
        txn: &mut Transaction,
        table: &Table,
        oid: u64,
        part: i32,
        bytes: &[u8],
    ) -> Result<()> {
        let row = [Datum::Int8(oid as i64), Datum::Int4(part), Datum::Bytea(bytes.into())];
        let key = key(oid, part);
        txn.lock_latest(table.storage(), &key, RowLock::Update, Wait::Allowed)?;
        let old = table.latest(txn, &key)?.map(|old| old.to_datums()).transpose()?;
        txn.note_rows(table.storage(), i64::from(old.is_none()));
        self.with_values(table, |values| {
            self.change(txn, values, |change| match old {
                Some(old) => table.update(change, &key, &old, &row),
                None => table.insert(change, &row),
            })
        })
        .map(drop)
    }

    /// Removes the parts of a blob from one on.
    pub(crate) fn remove_parts(
        &self,
        txn: &mut Transaction,
        table: &Table,
        oid: u64,
        from: i32,
    ) -> Result<()> {
        let KeyRange { upper, .. } = parts_of(oid);
        let range = KeyRange { lower: Bound::Included(key(oid, from)), upper };
        let latest = txn.latest();
        let keys = keys_in(View::of(txn, &latest), table, range)?;
        drop(latest);
        self.with_values(table, |values| {
            for key in &keys {
                txn.lock_latest(table.storage(), key, RowLock::Update, Wait::Allowed)?;
                let Some(old) = table.latest(txn, key)? else { continue };
                let old = old.to_datums()?;
                self.change(txn, values, |change| table.delete(change, key, &old))?;
                txn.note_rows(table.storage(), -1);
            }
            Ok(())
        })
    }

    /// Writes the blob of a record to a file, part by part. Returns false, and writes nothing, if the record is not
    /// there or has no blob.
    ///
    /// # Errors
    /// 58030 if the file cannot be written; what reading reports.
    pub fn load_blob(&self, oid: u64, tid: Tid, file: &mut dyn io::Write) -> Result<bool> {
        let mut part = 0;
        while let Some(bytes) = self.load_blob_part(oid, tid, part)? {
            file.write_all(&bytes).map_err(|error| io_error("write", &error))?;
            part += 1;
        }
        Ok(part > 0)
    }

    /// Returns a part of the blob of a record; `None` behind the last, and if there is no such record or blob.
    ///
    /// # Errors
    /// The errors of reading.
    pub fn load_blob_part(&self, oid: u64, tid: Tid, part: u32) -> Result<Option<Vec<u8>>> {
        if self.load_serial(oid, tid, |_| ())?.is_none_or(|found| found.data.is_none()) {
            return Ok(None);
        }
        let table = self.table(self.blobs)?;
        let Some(csn) = self.csn_of(tid)? else { return Ok(None) };
        let kept = self.kept_from(self.table(self.objects)?.storage());
        let kept = kept.max(self.engine.store().horizon(table.storage()));
        let then = self.engine.snapshot_at(csn.max(kept).max(Csn(1)))?;
        let Some(row) = table.get(then.view(), &key(oid, part_number(part)?))? else {
            return Ok(None);
        };
        match row.column(2)? {
            DatumRef::Bytea(bytes) => Ok(Some(bytes.to_vec())),
            _ => Err(Error::Damaged { what: "a part of a blob" }),
        }
    }
}
