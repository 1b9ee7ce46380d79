"""The interface of a database for a ZODB storage: the seam between the Python and the native half. ::

    Storage ──> Backend ──> objects of an embedded database   (native, see `_embedded`)
                       └──> objects of a server               (SQL functions, see `_wire`)

An oid and a tid are 8 bytes, big-endian. Every method may be called from any thread, and lets go of the
interpreter lock while it works. A backend keeps these promises:

- Tids ascend in the order in which transactions become visible. Once ``last_tid`` has answered a tid, every
  transaction at or below it is visible, and no later transaction gets such a tid.
- A transaction is visible as a whole: all of its records, or none.
- ``pack`` keeps writers out for milliseconds at most. It never removes a record that is newer than ``upto``,
  nor an object that such a record, or the root object, refers to.
- A storage that keeps no history still answers ``load_before`` and ``load_serial`` for records that were
  replaced within the last minutes: open snapshots and conflict resolution need them. ``history``,
  ``transactions`` and ``records`` leave them out.
- A backend that gives up a wait for a lock (a deadlock, a time limit) raises ``anywhen.ConflictError``.

``last_tid`` of a server's backend covers what the server has told of others. Such a backend has one more
method, ``sync()``: afterwards ``last_tid`` covers every transaction that was acknowledged before the call.
Its transactions have one more method, ``run(steps)``, which makes several calls at once and returns the answers.
"""

from __future__ import annotations

from typing import Protocol

#: (oid, serial, data, data_tid), see :meth:`BackendTransaction.write`.
Write = tuple[bytes, bytes | None, bytes | None, bytes | None]
#: Writes, or the (oid, serial) of a check, see :meth:`BackendTransaction.check_current`.
Step = list[Write] | tuple[bytes, bytes]
#: What ``write`` or ``check_current`` answers to a step.
Answer = list[tuple[int, bytes | None]] | bytes | None


class BackendTransaction(Protocol):
    """One transaction that writes, from its first lock to its end."""

    def write(self, writes: list[Write]) -> list[tuple[int, bytes | None]]:
        """Writes records; returns the ones that conflict, as (index, tid of the newest record).

        Each write locks its object until the transaction ends, and waits for other holders of the lock. It
        then compares the newest record with ``serial``, and writes. A record that conflicts is not written,
        and can be sent again with another ``serial``. The tid of a conflict is None where the object does
        not exist or was deleted. A second write of an object in one transaction replaces the first.

        ``serial``: the tid that the newest record must have; 8 zero bytes, where the object must not exist
        or must have been deleted; None, where nothing is compared.
        ``data``: the record; None deletes the object.
        ``data_tid``: the tid of the record whose data this one brings back, of an undo. It is only a hint:
        that record may have been packed away, and ``data`` is always complete.
        """
        ...

    def check_current(self, oid: bytes, serial: bytes) -> bytes | None:
        """Locks the object until the end. Returns None where its newest record has the tid ``serial``, and
        the tid of the newest record where not (8 zero bytes where the object does not exist)."""
        ...

    def put_blob(self, oid: bytes, path: str) -> None:
        """Makes the content of a file the blob of the record that this transaction has written for ``oid``.
        The file is read before the call returns, and left as it is."""
        ...

    def finish(self) -> tuple[bytes, bytes | None]:
        """Commits durably; returns the tid. Loads that begin afterwards, in any thread, see the transaction.

        The tid is the one given to ``begin``. Otherwise it is a new one, greater than every other. Beside it is the
        tid of the transaction before, where the backend knows it.
        """
        ...

    def abort(self) -> None:
        """Takes everything back and lets go of the locks; nothing where the transaction has ended."""
        ...


class Backend(Protocol):
    """The objects of one storage."""

    # --- reading: each answers for what is committed and visible -------------------------------------

    def last_tid(self) -> bytes:
        """The tid of the newest transaction; 8 zero bytes where there never was one. It is called at each
        begin of a transaction, and costs no round trip."""
        ...

    def load(self, oid: bytes) -> tuple[bytes, bytes] | None:
        """The newest (data, tid); None where the object does not exist or was deleted."""
        ...

    def load_before(self, oid: bytes, tid: bytes) -> tuple[bytes | None, bytes, bytes | None] | None:
        """The newest record with a lesser tid, as (data, tid, tid of the next record or None). The data is
        None where that record is a deletion; the answer is None where no such record is kept."""
        ...

    def load_serial(self, oid: bytes, tid: bytes) -> bytes | None:
        """The data of the record with exactly this tid; None where there is none, or it is a deletion."""
        ...

    def load_many(self, oids: list[bytes], before: bytes) -> list[tuple[bytes, bytes] | None]:
        """For each oid the newest (data, tid) with a lesser tid; None as with :meth:`load`."""
        ...

    def tid_of(self, oid: bytes) -> bytes | None:
        """The tid of the newest record; None as with :meth:`load`."""
        ...

    def is_known(self, oid: bytes) -> bool:
        """True where any version of the object is kept, or its deletion."""
        ...

    def history(self, oid: bytes, count: int) -> list[tuple[bytes, bytes, bytes, bytes, int]]:
        """At most ``count`` records, newest first, as (tid, user, description, extension, size of the
        data in bytes)."""
        ...

    def changes(self, after: bytes, upto: bytes) -> list[tuple[bytes, list[bytes]]] | None:
        """The transactions with ``after`` < tid <= ``upto``, ascending, as (tid, oids); None where they are
        not kept that far back. Records that were packed away since then may be left out."""
        ...

    def transactions(
        self, first: bytes, last: bytes, newest_first: bool, count: int
    ) -> list[tuple[bytes, bytes, bytes, bytes, bytes]]:
        """At most ``count`` transactions with ``first`` <= tid <= ``last``, as (tid, status, user,
        description, extension). The status is ``b" "``, or ``b"p"`` for those at or before a pack."""
        ...

    def records(self, tid: bytes) -> list[tuple[bytes, bytes | None, bytes | None]]:
        """The records of a transaction in order of oids, as (oid, data, data_tid). The data is None for a
        deletion and for the undo of a creation."""
        ...

    def objects(self, after: bytes | None, count: int) -> list[tuple[bytes, bytes, bytes]]:
        """At most ``count`` objects with greater oids than ``after``, or the first ones, in order of oids,
        as (oid, tid, data). Deleted objects are left out."""
        ...

    def load_blob(self, oid: bytes, tid: bytes, path: str) -> bool:
        """Writes the blob of a record into a new file; False where there is none, and no file either."""
        ...

    def count(self) -> int:
        """How many objects there are."""
        ...

    def size(self) -> int:
        """About how many bytes they take."""
        ...

    # --- writing -------------------------------------------------------------------------------------

    def new_oids(self, count: int) -> int:
        """Takes ``count`` successive oids that no record has and no other call gets; returns the first as
        an integer, 1 in an empty storage."""
        ...

    def begin(
        self,
        user: bytes,
        description: bytes,
        extension: bytes,
        tid: bytes | None,
        status: bytes,
        not_before: bytes,
    ) -> BackendTransaction:
        """Begins a transaction. ``tid`` is None, or the tid of a transaction that is copied from elsewhere;
        it fails unless that is greater than ``last_tid``. ``status`` is ``b" "`` or ``b"p"``. ``not_before`` is
        the caller's clock as a tid. In this process a new tid is not less, even where that clock is well ahead; a
        server has a clock of its own."""
        ...

    def pack(self, upto: bytes, collects_garbage: bool) -> int:
        """Removes what was no longer current at ``upto``; returns how many objects it removed.

        Of the records at or before ``upto`` it keeps the newest of each object, and removes that too where
        it is a deletion. With ``collects_garbage`` it also removes objects that cannot be reached from the
        root object as of ``upto``, nor from any later record. Transactions at or before ``upto`` get the
        status ``b"p"``, and go where none of their records is left. An ``upto`` at or before that of an
        earlier pack removes nothing.
        """
        ...

    def close(self) -> None:
        """Ends the use of the storage; nothing where it is closed. Later calls fail."""
        ...
