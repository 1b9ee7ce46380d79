"""Undo: what a transaction changed gets the records back that it had before. ::

    tids          before        undone         current          this transaction
    unchanged     A ──────────> B                               A, and a note that it is that of `before`
    changed       A ──────────> B ───────────> C                what the class makes of A, B and C, or an error
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ZODB.POSException import ConflictError, MultipleUndoErrors, UndoError
from ZODB.utils import maxtid

from ._cache import Z64
from ._commit import UNDO, Commit

if TYPE_CHECKING:
    from ._storage import AnywhenStorage


def undo(storage: AnywhenStorage, commit: Commit, tid: bytes) -> list[bytes]:
    """Collects the records that undo a transaction; returns their oids."""
    if commit.has_flushed:
        # An undo has to see what its own transaction has written.
        raise UndoError("the transaction has stored too much already: undo first, in one of its own")
    backend = storage._backend
    found = backend.transactions(tid, tid, False, 1)
    if not found:
        raise UndoError("Invalid transaction id")
    if found[0][1] != b" ":
        raise UndoError("non-undoable transaction")
    # Records of other undos of this transaction are checked below.
    commit.has_undone = True
    undone, failures = [], []
    for oid, data, _ in backend.records(tid):
        try:
            _undo_record(storage, commit, tid, oid, data)
            undone.append(oid)
        except UndoError as error:
            failures.append((oid, error))
    if failures:
        raise MultipleUndoErrors(failures)
    return undone


def _undo_record(
    storage: AnywhenStorage, commit: Commit, tid: bytes, oid: bytes, data: bytes | None
) -> None:
    newest = storage._backend.load_before(oid, maxtid)
    if newest is None:
        raise UndoError("the object was packed away", oid)
    current, current_tid, _ = newest
    serial = Z64 if current is None else current_tid
    pending = commit.writes.get(oid)
    if pending is not None:
        current = pending[2]
    before = storage._backend.load_before(oid, tid)
    before_data, before_tid = (None, None) if before is None else before[:2]
    if storage._is_blob_record(data):
        is_current = _is_current(storage, commit, tid, oid, current_tid)
    else:
        is_current = current == data or (pending is None and current_tid == tid)
    if is_current:
        restored = before_tid if before_data is not None else None
        commit.add((oid, serial, before_data, restored), UNDO)
        if before_data is not None and before_tid is not None:
            storage._undo_blob(commit, oid, before_tid, before_data)
        return
    if before_data is None or current is None:
        raise UndoError("Can't undo an add transaction followed by conflicting transactions.", oid)
    try:
        merged = storage.tryToResolveConflict(oid, current_tid, tid, before_data, current)
    except ConflictError:
        raise UndoError("Some data were modified by a later transaction", oid) from None
    commit.add((oid, serial, merged, None), UNDO)


def _is_current(
    storage: AnywhenStorage, commit: Commit, tid: bytes, oid: bytes, current_tid: bytes
) -> bool:
    """True where the object is as the transaction ``tid`` left it. Equal records are not enough for blobs:
    theirs are all the same."""
    pending = commit.writes.get(oid)
    if pending is not None:
        return pending[3] == tid
    if current_tid == tid:
        return True
    for each, _, data_tid in storage._backend.records(current_tid):
        if each == oid:
            return data_tid == tid
    return False
