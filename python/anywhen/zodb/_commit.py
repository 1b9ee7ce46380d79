"""One transaction of a storage, between ``tpc_begin`` and its end. ::

    tpc_begin    nothing is locked: other instances write meanwhile
    store ...    records are collected, by oid
    tpc_vote     they go to the backend in order of oids: each is locked, compared and written;
                 conflicts are resolved, where the class of the object can
    tpc_finish   the backend commits, and says the tid

Two transactions lock their objects in the same order, so they do not wait for each other in a circle. The
exception is a transaction of more than 8 MiB: it hands over what it has, to keep the memory bounded. Then the
backend ends a deadlock, with a conflict.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ZODB._compat import _protocol, dumps
from ZODB.POSException import ConflictError, POSKeyError, ReadConflictError
from ZODB.utils import newTid

from ..errors import ConflictError as BackendConflict
from ._backend import Answer, BackendTransaction, Step, Write
from ._cache import Z64

if TYPE_CHECKING:
    from ._storage import AnywhenStorage

# Records above this many bytes are handed over before the vote.
BATCH_BYTES = 8 << 20

#: How a write came about, where that was not ``store`` or ``restore``.
DELETE, UNDO = "delete", "undo"


class Commit:
    """The writes of one transaction."""

    __slots__ = (
        "_native",
        "_storage",
        "blobs",
        "bytes",
        "checks",
        "has_flushed",
        "has_undone",
        "is_voted",
        "kinds",
        "resolved",
        "status",
        "tid",
        "transaction",
        "uploads",
        "writes",
    )

    def __init__(
        self, storage: AnywhenStorage, transaction: Any, tid: bytes | None, status: bytes
    ) -> None:
        self._storage = storage
        self._native: BackendTransaction | None = None
        self.transaction = transaction
        self.tid = tid
        self.status = status
        #: By oid, what is not with the backend yet.
        self.writes: dict[bytes, Write] = {}
        self.kinds: dict[bytes, str] = {}
        self.bytes = 0
        #: By oid, the tid that the newest record must still have.
        self.checks: dict[bytes, bytes] = {}
        #: By oid, the file of a new blob.
        self.blobs: dict[bytes, str] = {}
        #: By oid, the file of a new blob that stays where it is.
        self.uploads: dict[bytes, str] = {}
        #: The objects whose conflicts were resolved.
        self.resolved: list[bytes] = []
        self.has_undone = False
        self.has_flushed = False
        self.is_voted = False

    def add(self, write: Write, kind: str | None = None) -> None:
        """Collects a write."""
        oid, _, data, _ = write
        self.writes[oid] = write
        if kind is not None:
            self.kinds[oid] = kind
        elif self.kinds:
            self.kinds.pop(oid, None)
        if data is not None:
            self.bytes += len(data)
            if self.bytes > BATCH_BYTES and not self.has_undone:
                self.flush()

    def flush(self) -> None:
        """Hands over what was collected."""
        writes = sorted(self.writes.values(), key=_oid_of)
        self.writes, self.bytes, self.has_flushed = {}, 0, True
        self._send(writes)

    def vote(self) -> None:
        """Hands over all that is left, makes the checks, and uploads blobs."""
        native = self._begun()
        writes = sorted(self.writes.values(), key=_oid_of)
        if self.checks:
            self._run(native, self._steps(writes))
        else:
            self._send(writes)
        for oid, path in (*self.uploads.items(), *self.blobs.items()):
            native.put_blob(oid, path)
        self.is_voted = True

    def finish(self) -> tuple[bytes, bytes | None]:
        """Commits; returns the tid, and the one of the transaction before where that is known."""
        native = self._begun()
        finished = native.finish()
        self._native = None
        return finished

    def abort(self) -> None:
        """Takes everything back."""
        native, self._native = self._native, None
        if native is not None:
            native.abort()
        for staged in self.blobs.values():
            self._storage.fshelper.discard(staged)
        self.blobs = {}

    def _begun(self) -> BackendTransaction:
        if self._native is None:
            meta = self.transaction
            try:
                extension = meta.extension_bytes
            except AttributeError:  # Records of some storages have only the dictionary.
                extension = dumps(meta.extension, _protocol) if meta.extension else b""
            self._native = self._storage._backend.begin(
                _bytes_of(meta.user),
                _bytes_of(meta.description),
                extension,
                self.tid,
                self.status,
                newTid(None),
            )
        return self._native

    def _steps(self, writes: list[Write]) -> list[Step]:
        """The writes and the checks, in one order of oids."""
        steps: list[Step] = []
        at = 0
        for oid, serial in sorted(self.checks.items()):
            upto = at
            while upto < len(writes) and writes[upto][0] < oid:
                upto += 1
            if upto > at:
                steps.append(writes[at:upto])
            steps.append((oid, serial))
            at = upto
        if at < len(writes):
            steps.append(writes[at:])
        return steps

    def _run(self, native: BackendTransaction, steps: list[Step]) -> None:
        """Makes the steps: in one round trip, where the backend is on a server."""
        together = getattr(native, "run", None)
        answers = map(partial(_made, native), steps) if together is None else together(steps)
        try:
            for step, answer in zip(steps, answers, strict=True):
                if isinstance(step, list):
                    self._send([self._resolve(step[index], tid) for index, tid in answer])
                elif answer is not None:
                    oid, serial = step
                    raise ReadConflictError(oid=oid, serials=(answer, serial))
        except BackendConflict as error:
            raise ConflictError(str(error)) from error

    def _send(self, writes: list[Write]) -> None:
        if not writes:
            return
        native = self._begun()
        try:
            while writes:
                conflicts = native.write(writes)
                # The objects are locked now: what is resolved cannot conflict a second time.
                writes = [self._resolve(writes[index], tid) for index, tid in conflicts]
        except BackendConflict as error:
            raise ConflictError(str(error)) from error

    def _resolve(self, write: Write, current: bytes | None) -> Write:
        """The write anew, with what the class of the object makes of the two changes, or a ConflictError."""
        oid, serial, data, _ = write
        kind = self.kinds.get(oid)
        if current is None and kind == DELETE:
            raise POSKeyError(oid)
        old = serial or Z64
        if current is None and kind is None and not self._storage._backend.is_known(oid):
            # The object comes from elsewhere, such as the base of a DemoStorage.
            return (oid, Z64, data, None)
        if current is None or data is None or kind is not None or old == Z64:
            raise ConflictError(oid=oid, serials=(current or Z64, old), data=data)
        merged = self._storage.tryToResolveConflict(oid, current, old, data)
        self.resolved.append(oid)
        if oid in self.writes:
            self.writes[oid] = (oid, current, merged, None)
        return (oid, current, merged, None)


def _made(native: BackendTransaction, step: Step) -> Answer:
    return native.write(step) if isinstance(step, list) else native.check_current(*step)


def _bytes_of(text: bytes | str) -> bytes:
    # Programs that speak to the storage itself sometimes set text.
    return text.encode() if isinstance(text, str) else text


def _oid_of(write: Write) -> bytes:
    return write[0]


