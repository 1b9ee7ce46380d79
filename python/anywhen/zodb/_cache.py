"""Records that were loaded, for all instances of a storage in this process. ::

    tids ───────────────── t1 ───────── t2 ──────── seen
    young, old   oid 7:                 [t2 ─────────────>   the newest record, as far as `seen`
    previous     oid 7:     [t1 ───────)                     the one before, for older snapshots

A lookup in ``young`` takes no lock, and needs only one comparison: a record whose tid is not above the
reader's snapshot is the right one. That holds because of three invariants:

- ``seen`` is the tid up to which the commits of all processes have been applied.
- A snapshot is never above ``seen``: an instance calls :meth:`advance` before it moves its snapshot.
- A record enters ``young`` only if it was the newest one at ``seen``, compared under the lock.

No lock is held while the backend works. The limit in bytes is kept by two generations: a full ``young``
becomes ``old``, what is used there moves back, and the rest goes with the next change of generations.
"""

from __future__ import annotations

import threading
from bisect import bisect_right

from ._backend import Backend

Z64 = bytes(8)
# The bytes of an entry beyond its data.
_ENTRY_BYTES = 200
# Oids of commits that are remembered for instances that poll later.
_LOG_OIDS_MAX = 100_000
# The part of the cache that a single commit may fill, and the records before the newest ones.
_SHARE = 8

Record = tuple[bytes, bytes]
# The records of a commit, by oid.
Written = dict[bytes, bytes | None]


class LoadCache:
    """Records by oid, each with the range of tids for which it is the right one."""

    def __init__(self, bytes_max: int) -> None:
        self._lock = threading.Lock()
        self._bytes_max = bytes_max
        #: Newest records; readers look here without a lock.
        self.young: dict[bytes, Record] = {}
        self._old: dict[bytes, Record] = {}
        self._young_bytes = 0
        self._previous: dict[bytes, tuple[bytes, bytes, bytes]] = {}
        self._previous_bytes = 0
        #: Commits up to this tid are applied.
        self.seen = Z64
        # The commits in (floor, seen], ascending.
        self._floor = Z64
        self._tids: list[bytes] = []
        self._oids: list[list[bytes]] = []
        self._logged = 0
        # Commits of this process that it has not seen yet, by tid; the data of a deleted object is None.
        self._written: dict[bytes, Written] = {}
        self._written_bytes = 0

    def start(self, seen: bytes) -> None:
        """Begins at a tid, with nothing in it."""
        with self._lock:
            self.seen = self._floor = seen

    # --- looking up --------------------------------------------------------------------------------

    def find(self, oid: bytes, snapshot: bytes) -> Record | None:
        """The record of an object for a snapshot, or None where it is not here."""
        found = self.young.get(oid)
        if found is not None and found[1] <= snapshot:
            return found
        found = self._old.get(oid)
        if found is not None and found[1] <= snapshot:
            with self._lock:
                if self._old.get(oid) is found:
                    del self._old[oid]
                    self._put(oid, found)
            return found
        before = self._previous.get(oid)
        if before is not None and before[1] <= snapshot < before[2]:
            return before[:2]
        return None

    # --- entries -----------------------------------------------------------------------------------

    def keep(self, oid: bytes, record: Record, seen: bytes) -> None:
        """Takes a record that was the newest one, asked for when ``self.seen`` was ``seen``."""
        with self._lock:
            # Where commits were applied meanwhile, one of them may have changed the object.
            if self.seen == seen and oid not in self.young and oid not in self._old:
                self._put(oid, record)

    def keep_range(self, oid: bytes, record: Record, end: bytes) -> None:
        """Takes a record that the one of ``end`` follows."""
        with self._lock:
            self._put_previous(oid, record, end)

    def _put(self, oid: bytes, record: Record) -> None:
        self.young[oid] = record
        self._young_bytes += len(record[0]) + _ENTRY_BYTES
        if self._young_bytes > self._bytes_max // 2:
            self._old, self.young, self._young_bytes = self.young, {}, 0

    def _pop(self, oid: bytes) -> Record | None:
        found = self.young.pop(oid, None)
        if found is None:
            return self._old.pop(oid, None)
        self._young_bytes -= len(found[0]) + _ENTRY_BYTES
        return found

    def _put_previous(self, oid: bytes, record: Record, end: bytes) -> None:
        size = len(record[0]) + _ENTRY_BYTES
        if self._previous_bytes + size > self._bytes_max // _SHARE:
            self._previous, self._previous_bytes = {}, 0
        replaced = self._previous.get(oid)
        if replaced is not None:
            self._previous_bytes -= len(replaced[0]) + _ENTRY_BYTES
        self._previous[oid] = (*record, end)
        self._previous_bytes += size

    # --- commits -----------------------------------------------------------------------------------

    def wrote(self, tid: bytes, records: Written, before: bytes | None) -> None:
        """Notes what this process has committed, so that it need not be loaded again. Where ``before``, the tid of
        the commit before it, is known, the records are all that it has changed."""
        size = _size_of(records)
        limit = self._bytes_max // _SHARE
        with self._lock:
            if size > limit or tid <= self.seen:
                return
            if self._written_bytes + size > limit:
                self._written, self._written_bytes = {}, 0
            self._written[tid] = records
            self._written_bytes += size
            if before == self.seen:
                # Nothing lies between: the backend need not be asked what has changed.
                self._apply(tid, list(records))
                self.seen = tid

    def advance(self, backend: Backend, upto: bytes) -> None:
        """Applies the commits of all processes up to a tid that ``backend.last_tid`` has answered."""
        while (seen := self.seen) < upto:
            changes = backend.changes(seen, upto)
            with self._lock:
                if self.seen != seen:
                    continue  # Another thread was faster.
                if changes is None:
                    self._forget()
                    self._tids, self._oids, self._logged = [], [], 0
                    self._floor = upto
                else:
                    for tid, oids in changes:
                        self._apply(tid, oids)
                self.seen = upto

    def _apply(self, tid: bytes, oids: list[bytes]) -> None:
        written = self._written.pop(tid, None)
        for oid in oids:
            found = self._pop(oid)
            if found is not None:
                self._put_previous(oid, found, tid)
            if written is not None:
                data = written.get(oid)
                if data is not None:
                    self._put(oid, (data, tid))
        if written is not None:
            self._written_bytes -= _size_of(written)
        self._tids.append(tid)
        self._oids.append(oids)
        self._logged += len(oids) + 1
        if self._logged > _LOG_OIDS_MAX:
            half = len(self._tids) // 2 + 1
            self._floor = self._tids[half - 1]
            del self._tids[:half], self._oids[:half]
            self._logged = sum(map(len, self._oids)) + len(self._oids)

    def changed(self, after: bytes, upto: bytes) -> list[tuple[bytes, list[bytes]]] | None:
        """The commits in (after, upto], or None where they are not remembered."""
        with self._lock:
            if after < self._floor or upto > self.seen:
                return None
            first, last = bisect_right(self._tids, after), bisect_right(self._tids, upto)
            return list(zip(self._tids[first:last], self._oids[first:last], strict=True))

    def clear(self) -> None:
        """Forgets every record, and no commit."""
        with self._lock:
            self._forget()

    def _forget(self) -> None:
        self.young, self._old, self._young_bytes = {}, {}, 0
        self._previous, self._previous_bytes = {}, 0
        self._written, self._written_bytes = {}, 0

    def bytes(self) -> int:
        """How many bytes the newest records of the young generation take."""
        return self._young_bytes


def _size_of(records: Written) -> int:
    size = _ENTRY_BYTES * len(records)
    for data in records.values():
        if data is not None:
            size += len(data)
    return size
