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

from . import _native
from ._collection import _Handle
from .records import Change, DocumentChange, change_of, moment_of

if TYPE_CHECKING:
    from ._store import Numbers

# How often a database in this process is looked at for new commits, in seconds.
_LOOK_S = 0.01

# How long closing waits for another thread to leave, in seconds.
_PATIENCE_S = 5.0


#: Changes that were not given yet, and the commit that they reach.
Found = tuple[deque[DocumentChange], int]


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

    def next(self, after: int) -> Found | None:
        """The changes of the commits after one, of some of these as a whole, and the last of these; waits
        for them. None at the end, and once it is closed.

        It is asked again for what it has given where a signal came before that was taken."""

    def close(self) -> None:
        """Ends the wait of another thread."""


class Changes(_Handle, Iterator[DocumentChange]):
    """The changes of commits, one document after the other; see :meth:`Database.changes`.

    It is a context manager that closes it at the end. Several threads may use it: each change is given once.
    """

    __slots__ = ("__weakref__", "_feed", "_found", "_lock", "csn")

    def __init__(self, feed: Feed, after: int) -> None:
        self._feed: Feed | None = feed
        # Again and again for the same thread: what closes may be the handler of a signal.
        self._lock = threading.RLock()
        # One attribute, so that no signal comes between what was found and how far that reaches.
        self._found: Found = (deque(), after)
        #: The commit up to which everything was given: what to go on ``after``, another time.
        self.csn = after

    def __next__(self) -> DocumentChange:
        with self._lock:
            while not self._found[0]:
                found = None if self._feed is None else self._feed.next(self._found[1])
                if found is None:
                    raise StopIteration
                self._found = found
                if not found[0]:
                    self.csn = found[1]
            if self._feed is None:
                raise StopIteration
            ready, reaches = self._found
            change = ready.popleft()
            if not ready:
                self.csn = reaches
            elif ready[0].csn != change.csn:
                self.csn = change.csn
            return change

    def close(self) -> None:
        """Ends it, in another thread as well; nothing where it is closed."""
        feed, self._feed = self._feed, None
        if feed is not None:
            feed.close()
            # A thread inside of it leaves at once; its resources are free then.
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
        self._database = native
        self._wanted = wanted
        self._feed = _native.Feed(native, *wanted)
        self._at = wanted.after
        self._numbers = numbers
        self._closed = threading.Event()

    def next(self, after: int) -> Found | None:
        if after != self._at:
            self._feed = _native.Feed(self._database, *self._wanted._replace(after=after))
            self._at = after
        until = self._wanted.until
        while not self._closed.is_set():
            rows, self._at = self._feed.next(self._numbers)
            if self._at > after:
                return deque(_change(*row) for row in rows), self._at
            if until is not None and self._at >= until:
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
    role: str,
    authored_us: int | None,
) -> DocumentChange:
    time = None if time_us is None else moment_of(time_us)
    return DocumentChange(
        csn,
        collection,
        key,
        version,
        deleted,
        time,
        author,
        message,
        changes_of(diff),
        role,
        None if authored_us is None else moment_of(authored_us),
    )


def changes_of(diff: list[dict[str, Any]] | None) -> tuple[Change, ...] | None:
    """The differences of two versions, as JSON tells them."""
    return None if diff is None else tuple(change_of(told) for told in diff)
