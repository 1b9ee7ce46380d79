"""Changes of a server, as ``GET /v1/changes`` tells them: server-sent events on a connection of their own.

::

    event: change
    data: {"csn":12, ...}        gathered, until
    id: 12                       all of these commits has been told: given

A connection that is lost is an error, and the next request goes on after the last ``id``: nothing is missed
and nothing is told twice.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
from collections import deque
from datetime import datetime
from typing import TYPE_CHECKING, Any

from . import _native
from ._changes import Found, Wanted, changes_of
from .records import DocumentChange

if TYPE_CHECKING:
    from ._http import HttpStore

# Where nothing happens the server gives a sign of life every 15 seconds; without one it is gone.
_SILENCE_S = 60.0


class HttpFeed:
    """Changes of a server, over HTTP."""

    def __init__(self, store: HttpStore, wanted: Wanted) -> None:
        self._store = store
        self._wanted = wanted
        self._at = wanted.after
        self._is_closed = False
        self._stream: _Stream | None = None
        # Now, so that what cannot be followed is said at once.
        self._open()

    def _open(self) -> _Stream:
        wanted = self._wanted
        query = {
            "from": self._at,
            "until": wanted.until,
            "collection": wanted.collection,
            "key": wanted.key,
            "path": wanted.path,
            "diff": "true" if wanted.diff else None,
        }
        connection, answer = self._store.open_stream("/v1/changes", query, _SILENCE_S)
        self._stream = _Stream(connection, answer)
        return self._stream

    def next(self, after: int) -> Found | None:
        if after != self._at:
            self._end()
            self._at = after
        until = self._wanted.until
        if self._is_closed or (until is not None and after >= until):
            self._end()
            return None
        stream = self._stream
        if stream is None or stream.process != os.getpid():
            # It was lost, or belongs to the parent of this process.
            stream = self._open()
            if self._is_closed:
                # Meanwhile, by another thread, which found no stream to interrupt.
                self._end()
                return None
        try:
            changes, self._at = stream.next(self._store)
        except (OSError, http.client.HTTPException, ValueError) as error:
            # A read from what is closed is a ValueError.
            self._end()
            if self._is_closed:
                return None
            raise self._store.lost(error) from error
        except BaseException:
            # Interrupted: the next event may be half read.
            self._end()
            raise
        return changes, self._at

    def _end(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()

    def close(self) -> None:
        self._is_closed = True
        stream = self._stream
        if stream is not None:
            stream.interrupt()


class _Stream:
    """Events on one connection."""

    def __init__(
        self, connection: http.client.HTTPConnection, answer: http.client.HTTPResponse
    ) -> None:
        self._connection = connection
        self._answer = answer
        self._socket: socket.socket | None = connection.sock
        self.process = os.getpid()

    def next(self, store: HttpStore) -> Found:
        changes: deque[DocumentChange] = deque()
        is_change = False
        while line := self._answer.readline():
            if line.startswith(b"event: "):
                # Of collections that end is told as well.
                is_change = line.strip() == b"event: change"
            elif is_change and line.startswith(b"data: "):
                changes.append(_change(_native.loads(line[6:], store.numbers)))
            elif line.startswith(b"id: "):
                return changes, int(line[4:])
        raise ConnectionError("the server has ended the stream of changes")

    def interrupt(self) -> None:
        """Has a read of another thread end."""
        if self._socket is not None and self.process == os.getpid():
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        if self.process == os.getpid():
            self._answer.close()
            self._connection.close()


def _change(told: dict[str, Any]) -> DocumentChange:
    return DocumentChange(
        told["csn"],
        told["collection"],
        told["key"],
        told["revision"],
        told["deleted"],
        datetime.fromisoformat(told["time"]) if "time" in told else None,
        told.get("author", ""),
        told.get("message", ""),
        changes_of(told.get("changes")),
        told.get("role") or "",
        datetime.fromisoformat(told["authored"]) if told.get("authored") else None,
    )
