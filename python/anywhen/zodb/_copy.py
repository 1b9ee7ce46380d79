"""Copies of transactions from one storage to another, of any kind, with their tids. ::

    source          t1  t2  t3  t4  t5  t6
    destination     t1  t2  t3                    the last ones are compared, then it goes on after t3

A copy that was cut off can be begun again: each transaction is copied as a whole or not at all.
"""

from __future__ import annotations

import filecmp
import logging
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ZODB.blob import is_blob_record
from ZODB.interfaces import IBlobStorage
from ZODB.POSException import POSKeyError, StorageError
from ZODB.utils import p64, readable_tid_repr, u64

from ._cache import Z64

if TYPE_CHECKING:
    from ._storage import AnywhenStorage

_log = logging.getLogger(__name__)

# Transactions at the end of the destination that are compared before it goes on.
OVERLAP = 100


class DifferenceError(StorageError):
    """The destination has something that the source does not have, or has otherwise."""


@dataclass
class Counts:
    """The counts of copied or compared records so far."""

    transactions: int = 0
    records: int = 0
    blobs: int = 0
    #: Blobs that the source does not have although it has their records.
    missing_blobs: int = 0
    #: Of records and blobs.
    bytes: int = 0
    #: The newest transaction.
    tid: bytes = Z64


Progress = Callable[[Counts], None]


def copy_transactions(
    source: Any,
    destination: Any,
    progress: Progress | None = None,
    *,
    overlap: int = OVERLAP,
    with_blobs: bool = True,
) -> Counts:
    """Copies what the destination does not have yet. Fails with :class:`DifferenceError` where the last
    ``overlap`` transactions of the destination are not those of the source. Without ``with_blobs`` only
    their records are copied; with it, both storages must be able to hold blobs, where there are any."""
    counts = Counts()
    last = destination.lastTransaction()
    if last != Z64:
        compare(source, destination, first=_first_of_last(destination, overlap), stop=last)
    start = None if last == Z64 else p64(u64(last) + 1)
    transactions = source.iterator(start)
    try:
        for transaction in transactions:
            tid = transaction.tid
            if tid <= last:
                tid = p64(u64(last) + 1)
                _log.warning(
                    "transaction %s is out of order and becomes %s",
                    readable_tid_repr(transaction.tid),
                    readable_tid_repr(tid),
                )
            _copy_transaction(source, destination, transaction, tid, with_blobs, counts)
            last = counts.tid = tid
            counts.transactions += 1
            if progress is not None:
                progress(counts)
    finally:
        if hasattr(transactions, "close"):
            transactions.close()
    return counts


def _copy_transaction(
    source: Any, destination: Any, transaction: Any, tid: bytes, with_blobs: bool, counts: Counts
) -> None:
    destination.tpc_begin(transaction, tid, transaction.status)
    try:
        for record in transaction:
            oid, data = record.oid, record.data
            path = None
            if with_blobs and is_blob_record(data):
                path = _blob_of(source, destination, record, counts)
            if path is None:
                destination.restore(oid, tid, data, "", record.data_txn, transaction)
            else:
                _restore_blob(destination, record, tid, path, transaction)
            counts.records += 1
            counts.bytes += len(data or b"")
        destination.tpc_vote(transaction)
        destination.tpc_finish(transaction)
    except BaseException:
        destination.tpc_abort(transaction)
        raise


def _blob_of(source: Any, destination: Any, record: Any, counts: Counts) -> str | None:
    for storage, which in ((source, "source"), (destination, "destination")):
        if not IBlobStorage.providedBy(storage):
            raise StorageError(f"there are blobs, and the {which} was opened without a folder for them")
    try:
        path: str = source.loadBlob(record.oid, record.tid)
    except POSKeyError:
        counts.missing_blobs += 1
        return None
    counts.blobs += 1
    counts.bytes += os.path.getsize(path)
    return path


def _restore_blob(destination: Any, record: Any, tid: bytes, path: str, transaction: Any) -> None:
    # Asked of the class: a wrapper that changes records passes on what it does not have itself.
    if hasattr(type(destination), "restore_with_blob_at"):
        here: AnywhenStorage = destination
        here.restore_with_blob_at(record.oid, tid, record.data, path, record.data_txn, transaction)
        return
    # The destination takes the file.
    handle, copy = tempfile.mkstemp(suffix=".tmp", dir=destination.temporaryDirectory())
    os.close(handle)
    shutil.copyfile(path, copy)
    destination.restoreBlob(record.oid, tid, record.data, copy, record.data_txn, transaction)


def _first_of_last(storage: Any, count: int) -> bytes:
    """The tid of the transaction that is ``count`` before the end."""
    recent = storage.lastInvalidations(count) if hasattr(storage, "lastInvalidations") else []
    first: bytes = recent[0][0] if recent else storage.lastTransaction()
    return first


def compare(
    source: Any,
    destination: Any,
    first: bytes | None = None,
    stop: bytes | None = None,
    blobs: bool = False,
    is_complete: bool = False,
    progress: Progress | None = None,
) -> Counts:
    """Compares transactions: tids, users, descriptions, extensions, and the bytes of every record. Fails
    with :class:`DifferenceError`.

    Where the destination was packed, it may lack transactions and records; unless it ``is_complete``, which
    is so right after a copy.
    """
    counts = Counts()
    theirs = source.iterator(first, stop)
    ours = destination.iterator(first, stop)
    their = next(theirs, None)
    for our in ours:
        may_lack = our.status == "p" and not is_complete
        while may_lack and their is not None and their.tid < our.tid:
            their = next(theirs, None)
        name = readable_tid_repr(our.tid)
        if their is None or their.tid != our.tid:
            raise DifferenceError(f"the source has no transaction {name}: is it another database?")
        for what in ("user", "description", "extension_bytes"):
            if getattr(our, what) != getattr(their, what):
                raise DifferenceError(f"the {what} of transaction {name} is another one")
        # Of two records of an object in one transaction only the second one counts.
        expected = {record.oid: record.data for record in their}
        found = {record.oid: record.data for record in our}
        for oid in expected.keys() | found.keys():
            if may_lack and oid not in found:
                continue
            if expected.get(oid, ()) != found.get(oid, ()):
                raise DifferenceError(f"object {oid.hex()} of transaction {name} is another one")
            if blobs and is_blob_record(found[oid]):
                _compare_blob(source, destination, oid, our.tid, counts)
            counts.records += 1
            counts.bytes += len(found[oid] or b"")
        counts.transactions += 1
        counts.tid = our.tid
        if progress is not None:
            progress(counts)
        their = next(theirs, None)
    if their is not None:
        raise DifferenceError(f"transaction {readable_tid_repr(their.tid)} is missing in the destination")
    return counts


def _compare_blob(source: Any, destination: Any, oid: bytes, tid: bytes, counts: Counts) -> None:
    try:
        expected = source.loadBlob(oid, tid)
    except POSKeyError:
        counts.missing_blobs += 1
        return
    if not filecmp.cmp(expected, destination.loadBlob(oid, tid), shallow=False):
        raise DifferenceError(f"the blob of object {oid.hex()} at {readable_tid_repr(tid)} is another one")
    counts.blobs += 1
