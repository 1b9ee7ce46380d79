//! Storages of ZODB's objects: the native half of `anywhen.zodb`, whose `Backend` this is.
//!
//! Ids of objects and of transactions are 8 bytes, big end first, as ZODB has them.

use std::fs::File;
use std::io::BufWriter;
use std::sync::Arc;

use anywhen::objects::{Finished, Meta, Storage, Tid, Write, Writing};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::database::Database;
use crate::errors::{Failure, Outcome};
use crate::handle::{Handle, engine};
use crate::waits::Open;

/// An id: 8 bytes.
type Id = [u8; 8];

/// An object, the transaction whose record must be the newest, the record, and the transaction that it brings back.
type WriteRow = (Id, Option<Id>, Option<PyBackedBytes>, Option<Id>);

/// A record and its transaction.
type LoadedRow<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// A transaction, and the one before it.
type FinishedRow<'py> = (Bound<'py, PyBytes>, Option<Bound<'py, PyBytes>>);

/// A transaction, and the objects that it has written.
type ChangedRow<'py> = (Bound<'py, PyBytes>, Vec<Bound<'py, PyBytes>>);

/// An object, the transaction of its newest record, and the record.
type ObjectRow<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// Transaction, user, description, extension, bytes.
type RevisionRow<'py> =
    (Bound<'py, PyBytes>, Bound<'py, PyBytes>, Bound<'py, PyBytes>, Bound<'py, PyBytes>, usize);

/// Transaction, status, user, description, extension.
type TransactionRow<'py> = (
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
);

/// An object, its record, and the transaction whose record that one brings back.
type RecordRow<'py> =
    (Bound<'py, PyBytes>, Option<Bound<'py, PyBytes>>, Option<Bound<'py, PyBytes>>);

/// A storage of objects in an embedded database.
#[pyclass(frozen, module = "anywhen._native")]
pub(crate) struct Objects {
    database: Py<Database>,
    schema: String,
}

fn tid(id: Id) -> Tid {
    Tid(u64::from_be_bytes(id))
}

fn bytes<'py>(py: Python<'py>, number: u64) -> Bound<'py, PyBytes> {
    PyBytes::new(py, &number.to_be_bytes())
}

/// The record of an object, its transaction, and the one of the next record.
type FoundRow<'py> =
    (Option<Bound<'py, PyBytes>>, Bound<'py, PyBytes>, Option<Bound<'py, PyBytes>>);

impl Objects {
    pub(crate) fn new(database: Py<Database>, schema: String) -> Objects {
        Objects { database, schema }
    }

    /// Calls `f` with the storage, without the interpreter.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&Arc<Storage>) -> Outcome<T> + Send,
    ) -> PyResult<T> {
        let database = self.database.get();
        engine(py, || {
            let call = database.database()?;
            let gone =
                || Failure::missing(format!("there is no storage of objects {:?}", self.schema));
            f(&call.objects(&self.schema)?.ok_or_else(gone)?)
        })
    }
}

#[pymethods]
impl Objects {
    /// The newest transaction.
    fn last_tid<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(bytes(py, self.with(py, |storage| Ok(storage.last_tid()?))?.0))
    }

    /// The newest record of an object and its transaction.
    fn load<'py>(&self, py: Python<'py>, oid: Id) -> PyResult<Option<LoadedRow<'py>>> {
        let oid = u64::from_be_bytes(oid);
        let found = self.with(py, |storage| Ok(storage.load(oid, <[u8]>::to_vec)?))?;
        Ok(found.map(|(data, tid)| (PyBytes::new(py, &data), bytes(py, tid.0))))
    }

    /// The record that an object had before a transaction, its transaction, and the one of the next record.
    fn load_before<'py>(
        &self,
        py: Python<'py>,
        oid: Id,
        before: Id,
    ) -> PyResult<Option<FoundRow<'py>>> {
        let oid = u64::from_be_bytes(oid);
        let found =
            self.with(py, |storage| Ok(storage.load_before(oid, tid(before), <[u8]>::to_vec)?))?;
        Ok(found.map(|found| {
            let data = found.data.map(|data| PyBytes::new(py, &data));
            (data, bytes(py, found.tid.0), found.next.map(|next| bytes(py, next.0)))
        }))
    }

    /// The record of an object that a transaction made.
    fn load_serial<'py>(
        &self,
        py: Python<'py>,
        oid: Id,
        serial: Id,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let oid = u64::from_be_bytes(oid);
        let found =
            self.with(py, |storage| Ok(storage.load_serial(oid, tid(serial), <[u8]>::to_vec)?))?;
        Ok(found.and_then(|found| found.data).map(|data| PyBytes::new(py, &data)))
    }

    /// The records that objects had before a transaction, with their transactions.
    fn load_many<'py>(
        &self,
        py: Python<'py>,
        oids: Vec<Id>,
        before: Id,
    ) -> PyResult<Vec<Option<LoadedRow<'py>>>> {
        let oids: Vec<u64> = oids.into_iter().map(u64::from_be_bytes).collect();
        let found = self.with(py, |storage| Ok(storage.load_many(&oids, tid(before))?))?;
        let row = |(data, tid): (Vec<u8>, Tid)| (PyBytes::new(py, &data), bytes(py, tid.0));
        Ok(found.into_iter().map(|found| found.map(row)).collect())
    }

    /// The transaction of the newest record of an object.
    fn tid_of<'py>(&self, py: Python<'py>, oid: Id) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let oid = u64::from_be_bytes(oid);
        let found = self.with(py, |storage| Ok(storage.tid_of_newest(oid)?))?;
        Ok(found.map(|tid| bytes(py, tid.0)))
    }

    /// True if anything is kept of an object.
    fn is_known(&self, py: Python<'_>, oid: Id) -> PyResult<bool> {
        self.with(py, |storage| Ok(storage.is_known(u64::from_be_bytes(oid))?))
    }

    /// The newest records of an object.
    fn history<'py>(
        &self,
        py: Python<'py>,
        oid: Id,
        count: usize,
    ) -> PyResult<Vec<RevisionRow<'py>>> {
        let oid = u64::from_be_bytes(oid);
        let found = self.with(py, |storage| Ok(storage.history(oid, count)?))?;
        let row = |of: anywhen::objects::Revision| {
            let [user, description, extension] =
                [&of.user, &of.description, &of.extension].map(|text| PyBytes::new(py, text));
            (bytes(py, of.tid.0), user, description, extension, of.size)
        };
        Ok(found.into_iter().map(row).collect())
    }

    /// The transactions after one up to another, with the objects that they have written.
    fn changes<'py>(
        &self,
        py: Python<'py>,
        after: Id,
        upto: Id,
    ) -> PyResult<Option<Vec<ChangedRow<'py>>>> {
        let found = self.with(py, |storage| Ok(storage.changes(tid(after), tid(upto))?))?;
        let row = |(tid, oids): (Tid, Vec<u64>)| {
            (bytes(py, tid.0), oids.into_iter().map(|oid| bytes(py, oid)).collect())
        };
        Ok(found.map(|found| found.into_iter().map(row).collect()))
    }

    /// Transactions with ids in a range.
    fn transactions<'py>(
        &self,
        py: Python<'py>,
        first: Id,
        last: Id,
        newest_first: bool,
        count: usize,
    ) -> PyResult<Vec<TransactionRow<'py>>> {
        let found = self.with(py, |storage| {
            Ok(storage.transactions(tid(first), tid(last), newest_first, count)?)
        })?;
        let row = |of: anywhen::objects::TransactionInfo| {
            let status: &[u8] = if of.is_packed { b"p" } else { b" " };
            let [status, user, description, extension] =
                [status, &of.user, &of.description, &of.extension]
                    .map(|text| PyBytes::new(py, text));
            (bytes(py, of.tid.0), status, user, description, extension)
        };
        Ok(found.into_iter().map(row).collect())
    }

    /// The records that a transaction has written.
    fn records<'py>(&self, py: Python<'py>, of: Id) -> PyResult<Vec<RecordRow<'py>>> {
        let found = self.with(py, |storage| Ok(storage.records(tid(of))?))?;
        let row = |of: anywhen::objects::ObjectRecord| {
            let data = of.data.map(|data| PyBytes::new(py, &data));
            (bytes(py, of.oid), data, of.data_tid.map(|tid| bytes(py, tid.0)))
        };
        Ok(found.into_iter().map(row).collect())
    }

    /// Objects with ids after one.
    #[pyo3(signature = (after, count))]
    fn objects<'py>(
        &self,
        py: Python<'py>,
        after: Option<Id>,
        count: usize,
    ) -> PyResult<Vec<ObjectRow<'py>>> {
        let after = after.map(u64::from_be_bytes);
        let found = self.with(py, |storage| {
            let mut found = Vec::new();
            storage.objects_after(after, count, |oid, tid, data| {
                found.push((oid, tid, data.to_vec()));
            })?;
            Ok(found)
        })?;
        let row = |(oid, tid, data): (u64, Tid, Vec<u8>)| {
            (bytes(py, oid), bytes(py, tid.0), PyBytes::new(py, &data))
        };
        Ok(found.into_iter().map(row).collect())
    }

    /// Writes the blob of a record into a new file; False if there is none.
    fn load_blob(
        &self,
        py: Python<'_>,
        oid: Id,
        of: Id,
        path: std::path::PathBuf,
    ) -> PyResult<bool> {
        self.with(py, |storage| {
            let io = |error: std::io::Error| {
                Failure::sql("58030", format!("could not write {}: {error}", path.display()))
            };
            let mut file = BufWriter::new(File::create_new(&path).map_err(io)?);
            let done = storage.load_blob(u64::from_be_bytes(oid), tid(of), &mut file);
            let flushed = file.into_inner().map(drop).map_err(|error| io(error.into_error()));
            if !matches!((&done, &flushed), (Ok(true), Ok(()))) {
                // An incomplete file is removed.
                let _ = std::fs::remove_file(&path);
            }
            flushed?;
            Ok(done?)
        })
    }

    /// How many objects there are.
    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |storage| Ok(storage.count()?))
    }

    /// About how many bytes the objects take.
    fn size(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |storage| Ok(storage.size()?))
    }

    /// The first of so many ids that no object has.
    fn new_oids(&self, py: Python<'_>, count: u64) -> PyResult<u64> {
        self.with(py, |storage| Ok(storage.new_oids(count)?))
    }

    /// Begins a transaction.
    #[pyo3(signature = (user, description, extension, tid, status, not_before))]
    #[expect(clippy::too_many_arguments, reason = "what a transaction says of itself, by position")]
    fn begin(
        &self,
        py: Python<'_>,
        user: &[u8],
        description: &[u8],
        extension: &[u8],
        tid: Option<Id>,
        status: &[u8],
        not_before: Id,
    ) -> PyResult<ObjectsTransaction> {
        let meta = Meta {
            user: user.to_vec(),
            description: description.to_vec(),
            extension: extension.to_vec(),
            tid: tid.map(self::tid),
            is_packed: status == b"p",
            not_before: self::tid(not_before),
        };
        let waits = Arc::clone(self.database.get().waits());
        let writing = self.with(py, |storage| {
            let writing = storage.begin(meta)?;
            let open = Open::used(&waits, writing.id());
            Ok(Begun { writing, open })
        })?;
        Ok(ObjectsTransaction { handle: Handle::new("transaction", writing) })
    }

    /// Ends the use of the storage. It holds nothing: the caller that opened the database closes
    /// it.
    fn close(&self) {}

    /// Packs to a transaction; returns how many objects were removed.
    fn pack(&self, py: Python<'_>, upto: Id, collects_garbage: bool) -> PyResult<u64> {
        self.with(py, |storage| Ok(storage.pack(tid(upto), collects_garbage)?.objects))
    }
}

/// A transaction that writes objects. An unfinished transaction is rolled back.
#[pyclass(frozen, module = "anywhen._native")]
pub(crate) struct ObjectsTransaction {
    handle: Handle<Begun>,
}

/// A transaction that has not ended, and the thread that used it last.
struct Begun {
    writing: Writing,
    open: Open,
}

impl ObjectsTransaction {
    fn with<R: Send>(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&mut Writing) -> Outcome<R> + Send,
    ) -> PyResult<R> {
        engine(py, || {
            self.handle.with(|Begun { writing, open }| {
                open.use_again();
                f(writing)
            })
        })
    }
}

#[pymethods]
impl ObjectsTransaction {
    /// Writes records; returns those that conflict: their positions, and the transactions of the newest records.
    fn write<'py>(
        &self,
        py: Python<'py>,
        writes: Vec<WriteRow>,
    ) -> PyResult<Vec<(usize, Bound<'py, PyBytes>)>> {
        let conflicts = self.with(py, |writing| {
            let writes = writes.iter().map(|(oid, serial, data, data_tid)| Write {
                oid: u64::from_be_bytes(*oid),
                serial: serial.map(tid),
                data: data.as_deref(),
                data_tid: data_tid.map(tid),
            });
            Ok(writing.write(writes)?)
        })?;
        let row = |of: anywhen::objects::Conflict| (of.at, bytes(py, of.newest.0));
        Ok(conflicts.into_iter().map(row).collect())
    }

    /// Locks an object against changes until the end of the transaction. Returns the transaction of its newest record
    /// if that is not `serial`.
    fn check_current<'py>(
        &self,
        py: Python<'py>,
        oid: Id,
        serial: Id,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let oid = u64::from_be_bytes(oid);
        let other = self.with(py, |writing| Ok(writing.check_current(oid, tid(serial))?))?;
        Ok(other.map(|tid| bytes(py, tid.0)))
    }

    /// Makes the content of a file the blob of the record that the transaction writes for an object.
    fn put_blob(&self, py: Python<'_>, oid: Id, path: std::path::PathBuf) -> PyResult<()> {
        self.with(py, |writing| {
            let mut file = File::open(&path).map_err(|error| {
                Failure::sql("58030", format!("could not open {}: {error}", path.display()))
            })?;
            Ok(writing.put_blob(u64::from_be_bytes(oid), &mut file)?)
        })
    }

    /// Commits; returns the id of the transaction, and the one of the transaction before it if that is known.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<FinishedRow<'py>> {
        let Finished { tid, before } = engine(py, || {
            let closed = || Failure::closed("transaction");
            let Begun { writing, open } = self.handle.take()?.ok_or_else(closed)?;
            open.use_again();
            Ok(writing.finish()?)
        })?;
        Ok((bytes(py, tid.0), before.map(|before| bytes(py, before.0))))
    }

    /// Rolls the transaction back; does nothing if it has ended.
    fn abort(&self, py: Python<'_>) -> PyResult<()> {
        engine(py, || {
            drop(self.handle.take()?);
            Ok(())
        })
    }
}
