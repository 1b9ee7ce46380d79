"""Following a database: what its commits change, in their order, now and as it happens.

::

    Changes ── whole commits ── Feed ──┬── EmbeddedFeed   looks, and waits a moment where there is nothing
       │                               └── HttpFeed       reads the events of ``GET /v1/changes``
       └── one change after the other, and the commit up to which all of them were given
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ._collection import _Handle
from .records import Change, DocumentChange, change_of, moment_of

if TYPE_CHECKING:
    from . import _native
    from ._store import Numbers

# How often a database in this process is looked at for new commits, in seconds.
_LOOK_S = 0.01

# How long closing waits for another thread to leave, in seconds.
_PATIENCE_S = 5.0


class Wanted(NamedTuple):
    """Which changes are told of; the order is that of the native module."""

    after: int
    #: The last commit that is told of; None for no end.
    until: int | None
    collection: str | None
    key: str | None
    path: str | None
    diff: bool


class Feed(Protocol):
    """Where changes come from."""

    def next(self) -> tuple[list[DocumentChange], int] | None:
        """The changes of the next commits, whole, and the last of these; waits for them. None at the end,
        and once it is closed."""

    def close(self) -> None:
        """Ends the wait of another thread."""


class Changes(_Handle, Iterator[DocumentChange]):
    """What commits changed, one document after the other; see :meth:`Database.changes`.

    It is a context manager that closes it at the end. Several threads may use it: each change is given once.
    """

    __slots__ = ("__weakref__", "_feed", "_lock", "_ready", "_reaches", "csn")

    def __init__(self, feed: Feed, after: int) -> None:
        self._feed: Feed | None = feed
        # Again and again for the same thread: what closes may be the handler of a signal.
        self._lock = threading.RLock()
        self._ready: deque[DocumentChange] = deque()
        self._reaches = after
        #: The commit up to which everything was given: what to go on ``after``, another time.
        self.csn = after

    def __next__(self) -> DocumentChange:
        with self._lock:
            while not self._ready:
                found = None if self._feed is None else self._feed.next()
                if found is None:
                    raise StopIteration
                changes, self._reaches = found
                self._ready.extend(changes)
                if not changes:
                    self.csn = self._reaches
            if self._feed is None:
                raise StopIteration
            change = self._ready.popleft()
            if not self._ready:
                self.csn = self._reaches
            elif self._ready[0].csn != change.csn:
                self.csn = change.csn
            return change

    def close(self) -> None:
        """Ends it, in another thread as well; nothing where it is closed."""
        feed, self._feed = self._feed, None
        if feed is not None:
            feed.close()
            # Whoever is in it leaves at once; what it uses is free then.
            if self._lock.acquire(timeout=_PATIENCE_S):
                self._lock.release()

    def __enter__(self) -> Changes:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<anywhen.Changes up to {self.csn}>"


class EmbeddedFeed:
    """Changes of a database in this process."""

    def __init__(self, native: _native.Database, wanted: Wanted, numbers: Numbers) -> None:
        from . import _native

        self._database = native
        self._feed = _native.Feed(native, *wanted)
        self._at, self._until = wanted.after, wanted.until
        self._numbers = numbers
        self._closed = threading.Event()

    def next(self) -> tuple[list[DocumentChange], int] | None:
        while not self._closed.is_set():
            before = self._at
            rows, self._at = self._feed.next(self._numbers)
            if self._at > before:
                return [_change(*row) for row in rows], self._at
            if self._until is not None and self._at >= self._until:
                return None
            while self._database.newest_commit() <= self._at and not self._closed.wait(_LOOK_S):
                pass
        return None

    def close(self) -> None:
        self._closed.set()


def _change(
    csn: int,
    collection: str,
    key: str,
    version: int,
    deleted: bool,
    time_us: int | None,
    author: str,
    message: str,
    diff: list[dict[str, Any]] | None,
) -> DocumentChange:
    time = None if time_us is None else moment_of(time_us)
    return DocumentChange(
        csn, collection, key, version, deleted, time, author, message, changes_of(diff)
    )


def changes_of(diff: list[dict[str, Any]] | None) -> tuple[Change, ...] | None:
    """The differences of two versions, as JSON tells them."""
    return None if diff is None else tuple(change_of(told) for told in diff)
