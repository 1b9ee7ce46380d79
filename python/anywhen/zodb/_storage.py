"""The storage: ZODB's interfaces over a backend. ::

    ZODB.DB ──> storage                     the one that was opened; it reads what is newest
                   ├── new_instance()       one for each connection; it reads a snapshot
                   └── new_instance()
                          │ load            young records of the load cache, then the backend
                          │ poll            moves the snapshot, and tells the connection what changed
                          └ tpc_begin ...   see `_commit`

An instance is for one thread at a time, as a connection is. Where several threads share one, a second
``tpc_begin`` waits until the first transaction has ended. Different instances never wait for each other,
except for objects that both write.
"""

from __future__ import annotations

import base64
import threading
import time
from collections.abc import Callable, Iterable
from typing import IO, Any

import zope.interface
from persistent.TimeStamp import TimeStamp
from ZODB.blob import BlobFile, is_blob_record
from ZODB.ConflictResolution import ConflictResolvingStorage
from ZODB.interfaces import (
    IBlobStorage,
    IBlobStorageRestoreable,
    IExternalGC,
    IMultiCommitStorage,
    IMVCCPrefetchStorage,
    IMVCCStorage,
    IStorage,
    IStorageCurrentRecordIteration,
    IStorageIteration,
    IStorageRestoreable,
    IStorageUndoable,
    ReadVerifyingStorage,
)
from ZODB.POSException import (
    POSKeyError,
    ReadConflictError,
    ReadOnlyError,
    StorageError,
    StorageTransactionError,
    Unsupported,
)
from ZODB.utils import maxtid, p64, u64

from ._blobs import BlobFolder
from ._cache import Z64, Record
from ._commit import DELETE, Commit
from ._copy import Progress, copy_transactions
from ._iterator import Transactions
from ._log import history_entry, undo_log
from ._shared import CLOSED, Shared
from ._undo import undo

# Objects that are fetched at once.
_FETCH = 500


@zope.interface.implementer(
    IStorage,
    IMVCCStorage,
    IMVCCPrefetchStorage,
    IMultiCommitStorage,
    IStorageIteration,
    IStorageRestoreable,
    IStorageCurrentRecordIteration,
    ReadVerifyingStorage,
    IBlobStorage,
    IBlobStorageRestoreable,
    IExternalGC,
)
class AnywhenStorage(ConflictResolvingStorage):
    """A ZODB storage in an Anywhen database. :func:`anywhen.zodb.open` opens one."""

    def __init__(self, shared: Shared, *, is_owner: bool = True) -> None:
        self._shared = shared
        self._is_owner = is_owner
        self._backend = shared.backend
        self._cache = shared.cache
        self.fshelper: BlobFolder = shared.blobs
        self._commit_lock = threading.Lock()
        # A DemoStorage uses the lock of the storage that takes its changes.
        self._lock = threading.RLock()
        self._commit: Commit | None = None
        #: The tid of the snapshot; None reads what is newest.
        self._snapshot: bytes | None = None
        # The commits of this instance since the snapshot.
        self._own: set[bytes] = set()
        self._own_last = Z64
        if shared.keeps_history:
            zope.interface.alsoProvides(self, IStorageUndoable)
        shared.add(self)

    def __repr__(self) -> str:
        return f"<anywhen.zodb.Storage {self._shared.name}>"

    # --- instances ---------------------------------------------------------------------------------

    def new_instance(self) -> AnywhenStorage:
        """Another instance of this storage, with a snapshot of its own."""
        self._backend.last_tid()  # Fails where this is closed.
        instance = type(self)(self._shared, is_owner=False)
        for name in ("_crs_transform_record_data", "_crs_untransform_record_data"):
            if name in self.__dict__:
                setattr(instance, name, self.__dict__[name])
        return instance

    def release(self) -> None:
        """Ends this instance. The storage stays open."""
        self._end()

    def close(self) -> None:
        """Ends this instance, and closes the storage where this is the instance that opened it."""
        if self._is_owner:
            self._shared.close()
        self._end()

    def _end(self) -> None:
        self._backend, self._snapshot = CLOSED, None
        commit = self._commit
        if commit is not None:
            self.tpc_abort(commit.transaction)

    def cleanup(self) -> None:
        """Nothing: the database is a folder that others may use as well."""

    def poll_invalidations(self) -> list[bytes] | None:
        """Moves the snapshot to the newest transaction. Returns the oids that others have changed since the
        snapshot before, or None where the caller must drop all it has."""
        newest, before = self._backend.last_tid(), self._snapshot
        if newest == before:
            return []
        cache = self._cache
        cache.advance(self._backend, newest)
        self._snapshot = newest
        own = self._own
        if own:
            self._own = set()
        if before is None:
            return None
        changes = cache.changed(before, newest)
        if changes is None:
            changes = self._backend.changes(before, newest)
            if changes is None:
                return None
        changed: set[bytes] = set()
        for tid, oids in changes:
            if tid not in own:
                changed.update(oids)
        return list(changed)

    def sync(self, force: bool = True) -> None:
        """Makes the next ``poll_invalidations`` see what was acknowledged before this call. Without ``force``
        it sees what a server has told so far; in one process that is everything."""
        if force:
            self._shared.sync()

    # --- loading -----------------------------------------------------------------------------------

    def load(self, oid: bytes, version: str = "") -> Record:
        """The (data, tid) of an object: the newest at the snapshot, where there is one."""
        snapshot = self._snapshot
        if snapshot is not None:
            found = self._cache.young.get(oid)
            if found is not None and found[1] <= snapshot:
                return found
            return self._load_at(oid, snapshot)
        newest = self._backend.load(oid)
        if newest is None:
            raise POSKeyError(oid)
        return newest

    def _load_at(self, oid: bytes, snapshot: bytes) -> Record:
        cache = self._cache
        found = cache.find(oid, snapshot)
        if found is not None:
            return found
        seen = cache.seen
        row = self._backend.load_before(oid, p64(u64(snapshot) + 1))
        if row is None:
            if self._backend.tid_of(oid) is not None:
                # It is newer, or a pack has removed the record: a new transaction will see the object.
                raise ReadConflictError(oid=oid)
            raise POSKeyError(oid)
        data, tid, end = row
        if data is None:
            raise POSKeyError(oid)
        record = (data, tid)
        if end is None:
            cache.keep(oid, record, seen)
        else:
            cache.keep_range(oid, record, end)
        return record

    def load_multiple(self, oids: Iterable[bytes]) -> dict[bytes, Record]:
        """Many objects at once, as :meth:`load` gives each; those that do not exist are left out."""
        snapshot = self._snapshot
        cache, found, missing = self._cache, {}, []
        if snapshot is None:
            missing.extend(oids)
        else:
            for oid in oids:
                record = cache.young.get(oid)
                if record is None or record[1] > snapshot:
                    record = cache.find(oid, snapshot)
                if record is None:
                    missing.append(oid)
                else:
                    found[oid] = record
        before = maxtid if snapshot is None else p64(u64(snapshot) + 1)
        for at in range(0, len(missing), _FETCH):
            page = missing[at : at + _FETCH]
            seen = cache.seen
            for oid, record in zip(page, self._backend.load_many(page, before), strict=True):
                if record is not None:
                    found[oid] = record
                    # Only there it is known to be the newest one.
                    if seen == snapshot:
                        cache.keep(oid, record, seen)
        return found

    def prefetch(self, oids: Iterable[bytes]) -> None:
        """Brings objects into the load cache."""
        if self._snapshot is not None:
            self.load_multiple(oids)

    def loadBefore(self, oid: bytes, tid: bytes) -> tuple[bytes, bytes, bytes | None] | None:
        """The newest record before a tid, as (data, tid, tid of the next record or None); None where the
        object came later."""
        row = self._backend.load_before(oid, tid)
        if row is None:
            if self._backend.is_known(oid):
                return None
            raise POSKeyError(oid)
        if row[0] is None:
            raise POSKeyError(oid)
        return row  # type: ignore[return-value]

    def loadSerial(self, oid: bytes, serial: bytes) -> bytes:
        """The data of the record with exactly this tid."""
        data = self._backend.load_serial(oid, serial)
        if data is None:
            raise POSKeyError(oid, serial)
        return data

    def getTid(self, oid: bytes) -> bytes:
        """The tid of an object's newest record."""
        tid = self._backend.tid_of(oid)
        if tid is None:
            raise POSKeyError(oid)
        return tid

    # --- what the storage is -----------------------------------------------------------------------

    def getName(self) -> str:
        """The folder of the database and the name of the storage in it."""
        return self._shared.name

    sortKey = getName

    def getSize(self) -> int:
        """About how many bytes the storage takes."""
        return self._backend.size()

    def __len__(self) -> int:
        return self._backend.count()

    def __bool__(self) -> bool:
        return True

    def isReadOnly(self) -> bool:
        """True where this storage was opened for reading only."""
        return self._shared.read_only

    def supportsUndo(self) -> bool:
        """True where the storage keeps history."""
        return self._shared.keeps_history

    def lastTransaction(self) -> bytes:
        """The tid of the newest transaction that this instance can see or has committed."""
        if self._snapshot is None:
            return self._backend.last_tid()
        return max(self._snapshot, self._own_last)

    def new_oid(self) -> bytes:
        """An oid for a new object."""
        self._writable()
        self._backend.is_known  # noqa: B018  (fails where this is closed)
        return self._shared.new_oid()

    # --- history -----------------------------------------------------------------------------------

    def history(self, oid: bytes, size: int = 1) -> list[dict[str, Any]]:
        """The newest records of an object, newest first."""
        rows = self._backend.history(oid, size)
        if not rows and not self._backend.is_known(oid):
            raise POSKeyError(oid)
        return [history_entry(*row) for row in rows]

    def undoLog(
        self,
        first: int = 0,
        last: int = -20,
        filter: Callable[[dict[str, Any]], Any] | None = None,  # noqa: A002  (the interface's name)
    ) -> list[dict[str, Any]]:
        """The transactions that can be undone, newest first; ``first`` and ``last`` as ZODB has them."""
        return undo_log(self._backend, first, last, filter) if self.supportsUndo() else []

    def undoInfo(
        self, first: int = 0, last: int = -20, specification: dict[str, Any] | None = None
    ) -> list[dict[str, Any]]:
        """Like :meth:`undoLog`, of the transactions that have what ``specification`` has."""
        if not specification:
            return self.undoLog(first, last)
        wanted = specification.items()
        return self.undoLog(
            first, last, lambda entry: all(entry.get(name) == value for name, value in wanted)
        )

    def iterator(self, start: bytes | None = None, stop: bytes | None = None) -> Transactions:
        """The transactions from ``start`` to ``stop``, both included."""
        self._backend.last_tid()  # Fails where this is closed.
        self._shared.sync()
        return Transactions(self._backend, start, stop)

    def record_iternext(
        self, next: bytes | None = None  # noqa: A002  (the interface's name)
    ) -> tuple[bytes, bytes, bytes, bytes | None]:
        """The first object from the oid ``next`` on, as (oid, tid, data, oid of the one after it)."""
        after = None if next is None or next == Z64 else p64(u64(next) - 1)
        found = self._backend.objects(after, 2)
        if not found:
            raise ValueError("there is no object from this oid on")
        return (*found[0], found[1][0] if len(found) > 1 else None)

    def lastInvalidations(self, count: int) -> list[tuple[bytes, list[bytes]]]:
        """The oids of the newest transactions, ascending, as (tid, oids)."""
        newest = self._backend.transactions(Z64, maxtid, True, count) if count > 0 else []
        if not newest:
            return []
        before = p64(u64(newest[-1][0]) - 1)
        changes = self._backend.changes(before, newest[0][0])
        if changes is not None:
            return changes
        records = self._backend.records
        return [(row[0], [oid for oid, _, _ in records(row[0])]) for row in reversed(newest)]

    # --- writing -----------------------------------------------------------------------------------

    def tpc_begin(self, transaction: Any, tid: bytes | None = None, status: str | bytes = b" ") -> None:
        """Begins a transaction; ``tid`` and ``status`` are those of one that is copied from elsewhere."""
        self._writable()
        if self.tpc_transaction() is transaction:
            raise StorageTransactionError("Duplicate tpc_begin calls for same transaction")
        self._commit_lock.acquire()
        try:
            self._backend.begin  # noqa: B018  (fails where this is closed)
            if isinstance(status, str):
                status = status.encode("ascii")
            self._commit = Commit(self, transaction, tid, status)
        except BaseException:
            self._commit_lock.release()
            raise

    def tpc_transaction(self) -> Any:
        """The transaction that is being committed, or None."""
        commit = self._commit
        return None if commit is None else commit.transaction

    def _committing(self, transaction: Any) -> Commit:
        commit = self._commit
        if commit is None or commit.transaction is not transaction:
            self._writable()
            raise StorageTransactionError(self, transaction)
        return commit

    def _writable(self) -> None:
        if self._shared.read_only:
            raise ReadOnlyError()

    def store(self, oid: bytes, serial: bytes | None, data: bytes, version: str, transaction: Any) -> None:
        """Writes an object. A conflict is told by ``tpc_vote``."""
        commit = self._commit
        if commit is None or commit.transaction is not transaction:
            commit = self._committing(transaction)
        if version:
            raise Unsupported("versions are not supported")
        commit.add((oid, _serial_of(serial), data, None))

    def deleteObject(self, oid: bytes, serial: bytes, transaction: Any) -> None:
        """Deletes an object whose newest record has the tid ``serial``."""
        self._committing(transaction).add((oid, _serial_of(serial), None, None), DELETE)

    def checkCurrentSerialInTransaction(self, oid: bytes, serial: bytes, transaction: Any) -> None:
        """Makes ``tpc_vote`` fail unless the newest record of the object has this tid. After the vote it stays
        so until the end of the transaction."""
        self._committing(transaction).checks[oid] = serial

    def restore(
        self,
        oid: bytes,
        serial: bytes,
        data: bytes | None,
        version: str,
        prev_txn: bytes | None,
        transaction: Any,
    ) -> None:
        """Writes a record that was committed elsewhere. It gets the tid that ``tpc_begin`` was given."""
        commit = self._committing(transaction)
        if version:
            raise Unsupported("versions are not supported")
        commit.add((oid, None, data, prev_txn))
        self._shared.forget_oids()

    def undo(self, transaction_id: bytes, transaction: Any) -> tuple[None, list[bytes]]:
        """Undoes a transaction, given by the ``id`` of an entry of the undo log."""
        commit = self._committing(transaction)
        if not self.supportsUndo():
            raise Unsupported("this storage keeps no history")
        return None, undo(self, commit, base64.b64decode(transaction_id))

    def tpc_vote(self, transaction: Any) -> list[bytes]:
        """Makes sure that the transaction can be committed; returns the oids of resolved conflicts."""
        commit = self._committing(transaction)
        commit.vote()
        return commit.resolved

    def tpc_finish(self, transaction: Any, func: Callable[[bytes], Any] | None = None) -> bytes:
        """Commits the transaction; returns its tid."""
        commit = self._committing(transaction)
        try:
            if not commit.is_voted:
                commit.vote()
            # The caller's clock: a later time is always a greater tid.
            tid, before = commit.finish()
            self._committed(commit, tid, before)
            if func is not None:
                func(tid)
        finally:
            try:
                commit.abort()
            finally:
                self._ended(commit)
        return tid

    def _ended(self, commit: Commit) -> None:
        """Lets the next transaction begin. Another thread may have ended this one too: by ``release``."""
        with self._lock:
            if self._commit is not commit:
                return
            self._commit = None
        self._commit_lock.release()

    def _committed(self, commit: Commit, tid: bytes, before: bytes | None) -> None:
        self._own_last = tid
        # A connection knows what it has stored, and not what an undo changed.
        if self._snapshot is not None and not commit.has_undone:
            self._own.add(tid)
        records = {oid: data for oid, _, data, _ in commit.writes.values()}
        if records:
            self._cache.wrote(tid, records, None if commit.has_flushed else before)
        for oid in list(commit.blobs):
            self.fshelper.commit(commit.blobs[oid], oid, tid)
            del commit.blobs[oid]

    def tpc_abort(self, transaction: Any) -> None:
        """Takes the transaction back; nothing where another one is being committed."""
        commit = self._commit
        if commit is None or commit.transaction is not transaction:
            return
        try:
            commit.abort()
        finally:
            self._ended(commit)

    # --- blobs -------------------------------------------------------------------------------------

    def _is_blob_record(self, data: bytes | None) -> bool:
        return bool(data) and is_blob_record(self._crs_untransform_record_data(data))

    def storeBlob(
        self,
        oid: bytes,
        oldserial: bytes | None,
        data: bytes,
        blobfilename: str,
        version: str,
        transaction: Any,
    ) -> None:
        """Writes an object that has a blob, and takes the file."""
        self.store(oid, oldserial, data, version, transaction)
        self._stage(oid, self.fshelper.stage(blobfilename))

    def restoreBlob(
        self,
        oid: bytes,
        serial: bytes,
        data: bytes,
        blobfilename: str,
        prev_txn: bytes | None,
        transaction: Any,
    ) -> None:
        """Like :meth:`restore`, of an object that has a blob, and takes the file."""
        self.restore(oid, serial, data, "", prev_txn, transaction)
        self._stage(oid, self.fshelper.stage(blobfilename))

    def restore_with_blob_at(
        self,
        oid: bytes,
        serial: bytes,
        data: bytes,
        path: str,
        prev_txn: bytes | None,
        transaction: Any,
    ) -> None:
        """Like :meth:`restoreBlob`; the file stays where it is, and must stay until the vote."""
        self.restore(oid, serial, data, "", prev_txn, transaction)
        self._committing(transaction).uploads[oid] = path

    def _stage(self, oid: bytes, staged: str) -> None:
        commit = self._commit
        assert commit is not None
        replaced = commit.blobs.get(oid)
        if replaced is not None:
            self.fshelper.discard(replaced)
        commit.blobs[oid] = staged

    def _undo_blob(self, commit: Commit, oid: bytes, tid: bytes, data: bytes) -> None:
        if self._is_blob_record(data):
            try:
                path = self.loadBlob(oid, tid)
            except POSKeyError:
                return
            self._stage(oid, self.fshelper.stage_copy(path))

    def loadBlob(self, oid: bytes, serial: bytes) -> str:
        """The file of a blob, fetched where it is not here. The file may be removed
        later, so :meth:`openCommittedBlobFile` is the safe way to read it."""
        path = self.fshelper.find(oid, serial)
        if path is None:
            backend = self._backend
            path = self.fshelper.fetch(oid, serial, lambda new: backend.load_blob(oid, serial, new))
            if path is None:
                raise POSKeyError(oid, serial)
        return path

    def openCommittedBlobFile(self, oid: bytes, serial: bytes, blob: Any = None) -> IO[bytes]:
        """A blob, open for reading."""
        while True:
            path = self.loadBlob(oid, serial)
            try:
                return open(path, "rb") if blob is None else BlobFile(path, "r", blob)
            except FileNotFoundError:
                continue  # It was removed in between, and is fetched again.

    def temporaryDirectory(self) -> str:
        """The folder for blobs that are not committed yet."""
        return self.fshelper.temp_dir

    # --- maintenance -------------------------------------------------------------------------------

    def pack(
        self, pack_time: float, referencesf: Callable[..., Any] | None = None, gc: bool | None = None
    ) -> None:
        """Removes what was not current at a time, in seconds since 1970, and with ``gc`` what cannot be
        reached from the root object. Others read and write meanwhile. The database finds references
        itself: ``referencesf`` is not called."""
        self._writable()
        gc = self._shared.pack_gc if gc is None else gc
        if gc and self._crs_transform_record_data(b"N.") != b"N.":
            raise StorageError(
                "the storage around this one changes the records, so the database cannot find references "
                "in them: pack with gc=False"
            )
        upto = TimeStamp(*time.gmtime(pack_time)[:5] + (pack_time % 60,)).raw()
        backend = self._backend
        backend.pack(upto, gc)
        self._cache.clear()
        self.fshelper.keep_only(lambda oid, tid: backend.load_serial(oid, tid) is not None)

    def copyTransactionsFrom(
        self, other: Any, verbose: int = 0, progress: Progress | None = None
    ) -> None:
        """Copies the transactions of another storage, with their tids. A second call goes on where the
        first one ended."""
        copy_transactions(other, self, progress)


def _serial_of(serial: bytes | str | None) -> bytes:
    if not serial:
        return Z64
    # Old programs write the zeroes of a new object as text.
    return serial.encode("latin-1") if isinstance(serial, str) else serial
