"""Prepared statements over PostgreSQL's protocol, with binary values and several calls in one flight. ::

    Connection.query      Parse Bind Describe Execute Sync      texts, one statement at a time
    Pipeline.send         Bind Execute Sync, Bind Execute Sync  raw bytes, any number of calls
    Pipeline.receive      the rows of the oldest call that was sent

A program that runs the same few statements again and again uses this module. A value is the binary format of
its type, as bytes, or None for NULL: an eight-byte id of ZODB is the binary format of a ``bigint``. A
connection prepares a statement in the flight that first runs it.

One thread uses a :class:`Pipeline` at a time: :class:`Pool` hands connections out. An exception of a signal
ends the connection, because half of an answer is unread then. So no other thread is needed for an exchange,
as it is for :meth:`Connection.query`.
"""

from __future__ import annotations

import os
import socket
import struct
from collections import deque
from collections.abc import Iterable, Sequence

from ._postgres import Connection, PostgresStore, _error, _fields, _message, _terminated
from .errors import Error, InterfaceError, OperationalError

#: Values of a call.
Values = Sequence[bytes | None]
#: One row of an answer.
Row = list[bytes | None]

# Oids of types, as pg_type has them.
BOOL, BYTEA, INT8, TEXT = 16, 17, 20, 25
BYTEA_ARRAY, INT8_ARRAY = 1001, 1016

_HEAD = struct.Struct("!BI")
_LENGTH = struct.Struct("!I")
_SIZE = struct.Struct("!i")
_COUNT = struct.Struct("!H")
_INT8 = struct.Struct("!q")
_NO_ARRAY, _ARRAY = struct.Struct("!iiI"), struct.Struct("!iiIii")
_NULL = b"\xff\xff\xff\xff"
_EIGHT = _SIZE.pack(8)
# Execute of the unnamed portal without a limit, and Sync.
_EXECUTE = b"E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04"
# One format for all results: binary.
_BINARY = b"\0\x01\0\x01"
_PIECE_BYTES = 65_536
_LARGE_PIECE_BYTES = 1 << 20

# Silence before a probe, time between probes and their number, and how long data may stay unacknowledged, in
# seconds and milliseconds.
_GONE = (
    ("TCP_KEEPIDLE", 30),
    ("TCP_KEEPINTVL", 10),
    ("TCP_KEEPCNT", 3),
    ("TCP_USER_TIMEOUT", 60_000),
)
_PARSED, _READY, _FAILED, _ROW, _NOTIFIED, _DONE = b"1ZEDAC"


class Statement:
    """A statement with a name, its text, and the types of its parameters."""

    __slots__ = ("_count", "_head", "name", "parse")

    def __init__(self, name: str, text: str, types: Sequence[int] = ()) -> None:
        self.name = name
        self._count = len(types)
        named = _terminated(name)
        declared = struct.pack(f"!H{len(types)}I", len(types), *types)
        #: The message that prepares it.
        self.parse = _message(b"P", named + _terminated(text) + declared)
        formats = b"\0\x01\0\x01" if types else b"\0\0"
        self._head = b"\0" + named + formats + _COUNT.pack(len(types))

    def call(self, values: Values) -> bytes:
        """The messages that run it."""
        assert len(values) == self._count, f"{self.name} takes {self._count} values"
        # The kind and the length come first, when the length is known.
        parts = [self._head]
        for value in values:
            if value is None:
                parts.append(_NULL)
            else:
                parts.append(_SIZE.pack(len(value)))
                parts.append(value)
        parts.append(_BINARY)
        body = b"".join(parts)
        return b"B" + _LENGTH.pack(len(body) + 4) + body + _EXECUTE


class Pipeline(Connection):
    """A session that runs prepared statements. One thread uses it at a time."""

    def __init__(self, store: PostgresStore) -> None:
        # The names of statements that the server has prepared for this connection.
        self._prepared: set[str] = set()
        # For each call that was sent: the statement, and whether the flight prepares it.
        self._sent: deque[tuple[str, bool]] = deque()
        self._buffer = b""
        self._at = 0
        self._payloads: list[str] = []
        super().__init__(store)
        self._buffer, self._received = bytes(self._received), bytearray()
        self._keep_alive()

    def run(self, statement: Statement, values: Values = ()) -> list[Row]:
        """Runs one statement: one round trip."""
        if statement.name in self._prepared:
            self._sent.append((statement.name, False))
            self._give_out(statement.call(values))
        else:
            self.send(((statement, values),))
        return self.receive()

    def send(self, calls: Iterable[tuple[Statement, Values]]) -> None:
        """Sends calls in one flight. Each runs whether the one before it failed or not."""
        flight = []
        for statement, values in calls:
            is_new = statement.name not in self._prepared
            if is_new:
                self._prepared.add(statement.name)
                flight.append(statement.parse)
            flight.append(statement.call(values))
            self._sent.append((statement.name, is_new))
        self._give_out(flight[0] if len(flight) == 1 else b"".join(flight))

    def command(self, text: str) -> None:
        """Runs a statement without parameters and results, such as ``LISTEN``."""
        self._sent.append(("", False))
        self._give_out(_message(b"Q", _terminated(text)))
        self.receive()

    def _give_out(self, flight: bytes) -> None:
        if self._socket is None:
            raise OperationalError("the connection was lost before", "08006")
        try:
            self._socket.sendall(flight)
        except OSError as error:
            self._lost(error)
        except BaseException:
            self._end()
            raise

    def receive(self) -> list[Row]:
        """The rows of the oldest call whose answer was not read; its error is raised."""
        name, is_new = self._sent.popleft()
        rows: list[Row] = []
        failed: Error | None = None
        buffer, at, head, size_at = self._buffer, self._at, _HEAD.unpack_from, _SIZE.unpack_from
        try:
            while True:
                if len(buffer) < at + 5:
                    buffer, at = self._more(buffer, at, 5), 0
                kind, length = head(buffer, at)
                end = at + 1 + length
                if len(buffer) < end:
                    buffer, at, end = self._more(buffer, at, length + 1), 0, length + 1
                if kind == _ROW:
                    # Behind the number of columns.
                    at += 7
                    row: Row = []
                    while at < end:
                        (size,) = size_at(buffer, at)
                        at += 4
                        if size < 0:
                            row.append(None)
                        else:
                            row.append(buffer[at : at + size])
                            at += size
                    rows.append(row)
                elif kind == _DONE:
                    pass
                elif kind == _READY:
                    break
                elif kind == _PARSED:
                    is_new = False
                elif kind == _FAILED:
                    failed = self._failure(buffer[at + 5 : end], failed)
                elif kind == _NOTIFIED:
                    self._payloads.append(_payload(buffer[at + 5 : end]))
                at = end
            self._buffer, self._at = (buffer, end) if end < len(buffer) else (b"", 0)
        except BaseException:
            self._end()
            raise
        if failed is not None:
            if is_new:
                self._prepared.discard(name)
            raise failed
        return rows

    def receive_all(self, count: int) -> list[list[Row]]:
        """The rows of several calls; the first error is raised when all answers were read."""
        answers: list[list[Row]] = []
        failed: Error | None = None
        for _ in range(count):
            try:
                answers.append(self.receive())
            except Error as error:
                if not self.is_open():
                    raise
                failed = failed or error
        if failed is not None:
            raise failed
        return answers

    def notifications(self) -> list[str]:
        """Waits for notifications; returns the payloads of those that have come."""
        while not self._payloads:
            buffer = self._more(self._buffer, self._at, 5)
            at = 0
            while len(buffer) >= at + 5:
                (length,) = _LENGTH.unpack_from(buffer, at + 1)
                end = at + 1 + length
                if len(buffer) < end:
                    break
                if buffer[at] == _NOTIFIED:
                    self._payloads.append(_payload(buffer[at + 5 : end]))
                elif buffer[at] == _FAILED:
                    raise self._failure(buffer[at + 5 : end], None)
                at = end
            self._buffer, self._at = buffer[at:], 0
        payloads, self._payloads = self._payloads, []
        return payloads

    def _more(self, buffer: bytes, at: int, size: int) -> bytes:
        """The rest of the buffer after ``at``, and at least ``size`` bytes with it."""
        pieces = [buffer[at:]]
        missing = size - len(pieces[0])
        while True:
            try:
                if self._socket is None:
                    self._lost(None)
                wanted = _PIECE_BYTES if missing <= _PIECE_BYTES else _LARGE_PIECE_BYTES
                piece = self._socket.recv(wanted)
            except OSError as error:
                self._lost(error)
            if not piece:
                self._lost(None)
            missing -= len(piece)
            pieces.append(piece)
            if missing <= 0:
                return b"".join(pieces) if pieces[0] or len(pieces) > 2 else piece

    def _failure(self, body: bytes, earlier: Error | None) -> Error:
        error = _error(memoryview(body))
        if _fields(memoryview(body)).get("V") in ("FATAL", "PANIC"):
            # The server closes the connection.
            self._end()
            raise error
        return earlier or error

    def _keep_alive(self) -> None:
        """Has the operating system find out within a minute where the server's machine is gone."""
        if self._socket is not None and self._socket.family != socket.AF_UNIX:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for name, value in _GONE:
                if hasattr(socket, name):
                    self._socket.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)

    def interrupt(self) -> None:
        """Ends a wait for notifications in another thread; the connection is lost to it."""
        waiting = self._socket
        if waiting is not None and self._process == os.getpid():
            try:
                waiting.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # It is lost already.

    def drop(self) -> None:
        """Ends the connection at once, whatever goes on there. The server takes back what was not committed."""
        self._end()


class Pool:
    """Connections that wait for their next use. Any thread may call it."""

    def __init__(self, store: PostgresStore, idle_max: int) -> None:
        self._store = store
        self._idle_max = idle_max
        self._idle: list[Pipeline] = []
        self._process = os.getpid()
        self._is_open = True

    def take(self) -> tuple[Pipeline, bool]:
        """A connection, and whether it is a new one."""
        self.check()
        try:
            return self._idle.pop(), False
        except IndexError:
            return self.new(), True

    def new(self) -> Pipeline:
        """A new connection."""
        self.check()
        return Pipeline(self._store)

    def check(self) -> None:
        """Fails where the pool is closed, or belongs to another process."""
        if self._process != os.getpid():
            raise InterfaceError(
                "the storage was opened before a fork: open it in the process that uses it"
            )
        if not self._is_open or not self._store._is_open:
            raise InterfaceError("the database is closed")

    def give(self, connection: Pipeline) -> None:
        """Takes a connection back, after the answers of all its calls were read."""
        if connection._socket is None:
            return
        if len(self._idle) < self._idle_max:
            self._idle.append(connection)
        else:
            connection.close()
        if not self._is_open:
            self.clear()

    def rows(self, statement: Statement, *values: bytes | None) -> list[Row]:
        """Runs a statement that only reads, as :meth:`run` does."""
        connection, is_new = self.take()
        try:
            found = connection.run(statement, values)
        except Error:
            if connection.is_open():
                self.give(connection)
                raise
            if is_new:
                raise
        else:
            self.give(connection)
            return found
        return self._again(((statement, values),))[0]

    def run(self, calls: Sequence[tuple[Statement, Values]]) -> list[list[Row]]:
        """Runs calls that only read: one round trip. They run again on a new connection where the connection
        was lost; the first error of the server is raised."""
        connection, is_new = self.take()
        try:
            return self._run(connection, calls)
        except OperationalError:
            if connection.is_open() or is_new:
                raise
        return self._again(calls)

    def _again(self, calls: Sequence[tuple[Statement, Values]]) -> list[list[Row]]:
        # The others have most likely been lost too.
        self.clear()
        return self._run(self.new(), calls)

    def _run(self, connection: Pipeline, calls: Sequence[tuple[Statement, Values]]) -> list[list[Row]]:
        connection.send(calls)
        try:
            answers = connection.receive_all(len(calls))
        finally:
            self.give(connection)
        return answers

    def clear(self) -> None:
        """Closes the connections that wait."""
        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:
                return
            connection.close()

    def close(self) -> None:
        """Closes the connections that wait, and each of the others when it comes back."""
        self._is_open = False
        self.clear()


# --- binary values ---------------------------------------------------------------------------------


def int8(number: int) -> bytes:
    """A ``bigint``."""
    return _INT8.pack(number)


def number(value: bytes | None) -> int:
    """The number of a ``bigint`` that is not NULL."""
    assert value is not None
    (found,) = _INT8.unpack(value)
    return int(found)


def boolean(value: bool) -> bytes:
    """A ``boolean``."""
    return b"\x01" if value else b"\0"


def int8_array(values: Sequence[bytes | None]) -> bytes:
    """A ``bigint[]`` of raw values."""
    head = _array_head(INT8, len(values))
    if None not in values:
        # The length of an element stands before each.
        return _EIGHT.join((head, *values))  # type: ignore[arg-type]
    elements = [_NULL if value is None else _EIGHT + value for value in values]
    return b"".join((head, *elements))


def bytea_array(values: Sequence[bytes | None]) -> bytes:
    """A ``bytea[]``."""
    parts = [_array_head(BYTEA, len(values))]
    for value in values:
        if value is None:
            parts.append(_NULL)
        else:
            parts.append(_SIZE.pack(len(value)))
            parts.append(value)
    return b"".join(parts)


def int8_elements(array: bytes | None) -> list[bytes]:
    """The raw elements of a ``bigint[]`` without NULL."""
    assert array is not None
    # An array without elements ends before its dimension.
    return [array[at : at + 8] for at in range(24, len(array), 12)]


def _array_head(element: int, count: int) -> bytes:
    if count == 0:
        return _NO_ARRAY.pack(0, 0, element)
    # One dimension from 1; there may be NULLs.
    return _ARRAY.pack(1, 1, element, count, 1)


def _payload(body: bytes) -> str:
    # The number of a process, the channel, the payload.
    return body[4:].split(b"\0")[1].decode()
