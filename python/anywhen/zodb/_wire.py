"""Objects of a server: the second implementation of the backend. ::

    threads that read      take a connection of the pool, and give it back       1 round trip
    a transaction          takes one from its first write until its end          begin + writes │ finish: 2
    the feed               has one that listens                                  `last_tid`, `changes`: none

The server has a function for each method (``zodb_load`` and so on), and an id is a ``bigint`` with the same
64 bits. So the eight bytes of an id go over the wire as they are.

A call that reads runs again on a new connection where the connection was lost. The first call of a
transaction does that too, because the server takes back what a lost connection has written. A transaction that
has lost its connection fails.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import NoReturn

from .._database import Database
from .._pipeline import (
    BOOL,
    BYTEA,
    BYTEA_ARRAY,
    INT8,
    INT8_ARRAY,
    TEXT,
    Pipeline,
    Pool,
    Row,
    Statement,
    Values,
    boolean,
    bytea_array,
    int8,
    int8_array,
    int8_elements,
    number,
)
from .._postgres import PostgresStore
from ..errors import ConflictError, Error, InterfaceError, NotFoundError, NotSupportedError, OperationalError
from ._backend import Answer, Step, Write
from ._feed import Changes, Feed

# Connections that are kept for their next use.
_IDLE_MAX = 8
# A part of a blob, in bytes, as the server has them.
_PART_BYTES = 1 << 20
# How long `abort` waits for a call of another thread before it cancels the call, in seconds.
_PATIENCE_S = 0.1
_MAXTID = b"\x7f" + b"\xff" * 7
_TRUE = boolean(True)

Calls = Sequence[tuple[Statement, Values]]

# SQLSTATEs.
_NOT_KEPT = "22023"
_GIVEN_UP = ("40001", "40P01", "55P03")
_NO_TABLE = ("42P01", "3F000")
_NO_FUNCTION = "42883"
_SCHEMA_EXISTS = "42P06"

_DEFINITION = Statement("definition", "SELECT zodb_definition($1, $2)", (TEXT, BOOL))


class _Statements:
    """The calls of one storage. ``objects`` is the name of its relation as a constant of SQL."""

    def __init__(self, relation: str) -> None:
        objects = _constant(relation)
        make = Statement
        self.last_tid = make("last_tid", f"SELECT zodb_last_tid({objects})")
        self.load = make("load", f"SELECT data, tid FROM zodb_load({objects}, $1)", (INT8,))
        self.load_before = make(
            "load_before",
            f"SELECT data, tid, next_tid FROM zodb_load_before({objects}, $1, $2)",
            (INT8, INT8),
        )
        self.load_serial = make("load_serial", f"SELECT zodb_load_serial({objects}, $1, $2)", (INT8, INT8))
        self.load_many = make(
            "load_many", f"SELECT at, data, tid FROM zodb_load_many({objects}, $1, $2)", (INT8_ARRAY, INT8)
        )
        self.tid_of = make("tid_of", f"SELECT tid FROM {relation} WHERE zoid = $1", (INT8,))
        self.is_known = make("is_known", f"SELECT zodb_is_known({objects}, $1)", (INT8,))
        self.history = make(
            "history",
            f"SELECT tid, user_name, description, extension, size FROM zodb_history({objects}, $1, $2)",
            (INT8, INT8),
        )
        self.changes = make(
            "changes", f"SELECT tid, zoids FROM zodb_changes({objects}, $1, $2)", (INT8, INT8)
        )
        self.transactions = make(
            "transactions",
            "SELECT tid, is_packed, user_name, description, extension "
            f"FROM zodb_transactions({objects}, $1, $2, $3, $4)",
            (INT8, INT8, BOOL, INT8),
        )
        self.records = make(
            "records", f"SELECT zoid, data, data_tid FROM zodb_records({objects}, $1)", (INT8,)
        )
        self.first_objects = make(
            "first_objects", f"SELECT zoid, tid, pickle FROM {relation} ORDER BY zoid LIMIT $1", (INT8,)
        )
        self.objects = make(
            "objects",
            f"SELECT zoid, tid, pickle FROM {relation} WHERE zoid > $1 ORDER BY zoid LIMIT $2",
            (INT8, INT8),
        )
        self.count = make("count", f"SELECT count(*) FROM {relation}")
        self.size = make("size", f"SELECT pg_total_relation_size({objects})")
        self.new_oids = make("new_oids", f"SELECT zodb_new_oids({objects}, $1)", (INT8,))
        self.blob = make("blob", f"SELECT zodb_blob({objects}, $1, $2, $3)", (INT8, INT8, INT8))
        self.pack = make("pack", f"SELECT zodb_pack({objects}, $1, $2)", (INT8, BOOL))
        self.begin = make(
            "begin",
            f"SELECT zodb_begin({objects}, $1, $2, $3, $4, $5, $6)",
            (BYTEA, BYTEA, BYTEA, INT8, BOOL, INT8),
        )


# The calls of a transaction.
_WRITE = Statement(
    "write",
    "SELECT at, newest FROM zodb_write($1, $2, $3, $4)",
    (INT8_ARRAY, INT8_ARRAY, BYTEA_ARRAY, INT8_ARRAY),
)
_CHECK = Statement("check", "SELECT zodb_check_current($1, $2)", (INT8, INT8))
_PUT_BLOB = Statement("put_blob", "SELECT zodb_put_blob($1, $2, $3, $4)", (INT8, INT8, BYTEA, BOOL))
_FINISH = Statement("finish", "SELECT zodb_finish()")
_ABORT = Statement("abort", "SELECT zodb_abort()")


def objects(database: Database, name: str, create: bool, keeps_history: bool) -> WireObjects:
    """The objects of the storage ``name`` on a server. With ``create`` a missing one is made, and
    ``keeps_history`` says whether it keeps old records; of one that exists it must be the same."""
    store = database._store
    if not isinstance(store, PostgresStore):
        raise NotSupportedError(
            "a ZODB storage cannot be reached over http://",
            "0A000",
            hint="connect with postgres://, or open a folder with anywhen.open",
        )
    pool = Pool(store, _IDLE_MAX)
    try:
        opened = WireObjects(pool, name, _identify(pool, name, create, keeps_history))
    except BaseException:
        pool.close()
        raise
    return database._using(opened)


def _identify(pool: Pool, name: str, create: bool, keeps_history: bool) -> int:
    """The oid of the relation of a storage, which is made where it is missing."""
    identify = Statement("identify", f"SELECT {_constant(_relation(name))}::regclass::oid::bigint")
    try:
        return number(pool.rows(identify)[0][0])
    except Error as error:
        if error.sqlstate not in _NO_TABLE:
            raise
        if not create:
            raise NotFoundError(f"there is no ZODB storage {name!r} on the server", "42P01") from error
    try:
        definition = pool.rows(_DEFINITION, name.encode(), boolean(keeps_history))[0][0]
        connection, _ = pool.take()
        connection.command(_known(definition).decode())
        pool.give(connection)
    except Error as error:
        if error.sqlstate == _NO_FUNCTION:
            raise NotSupportedError(
                "the server cannot hold ZODB storages", "0A000", hint="a newer version of it can"
            ) from error
        # Another process may have made the storage meanwhile.
        if error.sqlstate != _SCHEMA_EXISTS:
            raise
    return number(pool.rows(identify)[0][0])


def _relation(name: str) -> str:
    return '"' + name.replace('"', '""') + '".objects'


def _constant(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


class WireObjects:
    """The objects of one storage of a server."""

    #: Tids follow the clock of the server: one client whose clock is wrong does not lead all others astray. Tests
    #: that move Python's clock have tids follow that one.
    follows_clock = False

    def __init__(self, pool: Pool, name: str, relation: int) -> None:
        self._pool = pool
        self._sql = _Statements(_relation(name))
        self._process = os.getpid()
        self._feed = Feed(pool, f"zodb_{relation}", self._server_last_tid, self._since)
        self._feed.start()

    def _value(self, statement: Statement, *values: bytes | None) -> bytes | None:
        return self._pool.rows(statement, *values)[0][0]

    # --- what is committed -------------------------------------------------------------------------

    def last_tid(self) -> bytes:
        """The newest tid that is known here: everything that this process has committed, and what the server
        has told of others. No round trip, unless the connection that listens was lost."""
        feed = self._feed
        if not feed.is_listening or self._process != os.getpid():
            self._pool.check()
            feed.start()
        return feed.known

    def sync(self) -> None:
        """Makes ``last_tid`` cover everything that was acknowledged, anywhere, before this call: one round
        trip, and another one where the server has not told of it yet."""
        self.last_tid()
        self._feed.reach(self._server_last_tid())

    def changes(self, after: bytes, upto: bytes) -> Changes | None:
        """The transactions in (after, upto]; None where they are not known any more."""
        self.last_tid()
        is_here, changes = self._feed.changes(after, upto)
        if is_here:
            return changes
        try:
            return _changes(self._pool.rows(self._sql.changes, after, upto))
        except Error as error:
            if error.sqlstate == _NOT_KEPT:
                return None
            raise

    def _server_last_tid(self) -> bytes:
        return _known(self._value(self._sql.last_tid))

    def _since(self, after: bytes) -> tuple[bytes, Changes | None]:
        try:
            # Commits between the two are in the second answer.
            newest, changes = self._pool.run(
                ((self._sql.last_tid, ()), (self._sql.changes, (after, _MAXTID)))
            )
        except Error as error:
            if error.sqlstate == _NOT_KEPT:
                return self._server_last_tid(), None
            raise
        return _known(newest[0][0]), _changes(changes)

    # --- reading -----------------------------------------------------------------------------------

    def load(self, oid: bytes) -> tuple[bytes, bytes] | None:
        """The newest (data, tid)."""
        rows = self._pool.rows(self._sql.load, oid)
        return tuple(rows[0]) if rows else None  # type: ignore[return-value]

    def load_before(self, oid: bytes, tid: bytes) -> tuple[bytes | None, bytes, bytes | None] | None:
        """The newest record with a lesser tid, as (data, tid, tid of the next record or None)."""
        rows = self._pool.rows(self._sql.load_before, oid, tid)
        return tuple(rows[0]) if rows else None  # type: ignore[return-value]

    def load_serial(self, oid: bytes, tid: bytes) -> bytes | None:
        """The data of the record with exactly this tid."""
        return self._value(self._sql.load_serial, oid, tid)

    def load_many(self, oids: list[bytes], before: bytes) -> list[tuple[bytes, bytes] | None]:
        """For each oid the newest (data, tid) with a lesser tid."""
        found: list[tuple[bytes, bytes] | None] = [None] * len(oids)
        for at, data, tid in self._pool.rows(self._sql.load_many, int8_array(oids), before):
            found[int.from_bytes(at)] = (data, tid)  # type: ignore[arg-type, assignment]
        return found

    def tid_of(self, oid: bytes) -> bytes | None:
        """The tid of the newest record."""
        rows = self._pool.rows(self._sql.tid_of, oid)
        return rows[0][0] if rows else None

    def is_known(self, oid: bytes) -> bool:
        """True where any version of the object is kept, or its deletion."""
        return self._value(self._sql.is_known, oid) == _TRUE

    def history(self, oid: bytes, count: int) -> list[tuple[bytes, bytes, bytes, bytes, int]]:
        """At most ``count`` records, newest first."""
        return [
            (*map(_known, row[:4]), number(row[4]))  # type: ignore[misc]
            for row in self._pool.rows(self._sql.history, oid, int8(count))
        ]

    def transactions(
        self, first: bytes, last: bytes, newest_first: bool, count: int
    ) -> list[tuple[bytes, bytes, bytes, bytes, bytes]]:
        """At most ``count`` transactions in a range, as (tid, status, user, description, extension)."""
        rows = self._pool.rows(self._sql.transactions, first, last, boolean(newest_first), int8(count))
        return [
            (tid, b"p" if is_packed == _TRUE else b" ", *meta)  # type: ignore[misc]
            for tid, is_packed, *meta in rows
        ]

    def records(self, tid: bytes) -> list[tuple[bytes, bytes | None, bytes | None]]:
        """The records of a transaction in order of oids, as (oid, data, data_tid)."""
        return [tuple(row) for row in self._pool.rows(self._sql.records, tid)]  # type: ignore[misc]

    def objects(self, after: bytes | None, count: int) -> list[tuple[bytes, bytes, bytes]]:
        """At most ``count`` objects with greater oids, in order of oids, as (oid, tid, data)."""
        if after is None:
            rows = self._pool.rows(self._sql.first_objects, int8(count))
        else:
            rows = self._pool.rows(self._sql.objects, after, int8(count))
        return [tuple(row) for row in rows]  # type: ignore[misc]

    def load_blob(self, oid: bytes, tid: bytes, path: str) -> bool:
        """Writes the blob of a record into a new file; False where there is none, and no file either."""
        part = self._value(self._sql.blob, oid, tid, int8(0))
        if part is None:
            return False
        with open(path, "xb") as file:
            file.write(part)
            at = 1
            while part is not None and len(part) == _PART_BYTES:
                part = self._value(self._sql.blob, oid, tid, int8(at))
                file.write(part or b"")
                at += 1
        return True

    def count(self) -> int:
        """How many objects there are."""
        return number(self._value(self._sql.count))

    def size(self) -> int:
        """About how many bytes they take."""
        return number(self._value(self._sql.size))

    # --- writing -----------------------------------------------------------------------------------

    def new_oids(self, count: int) -> int:
        """Takes ``count`` successive oids; returns the first. A call whose answer is lost costs its oids."""
        return number(self._value(self._sql.new_oids, int8(count)))

    def begin(
        self,
        user: bytes,
        description: bytes,
        extension: bytes,
        tid: bytes | None,
        status: bytes,
        not_before: bytes,
    ) -> WireTransaction:
        """Begins a transaction. The server learns of it with the first call of the transaction."""
        self._pool.check()
        clock = not_before if self.follows_clock else bytes(8)
        values = (user, description, extension, tid, boolean(status == b"p"), clock)
        return WireTransaction(self._pool, self._feed, (self._sql.begin, values))

    def pack(self, upto: bytes, collects_garbage: bool) -> int:
        """Removes what was no longer current at ``upto``; returns how many objects it removed."""
        return number(self._value(self._sql.pack, upto, boolean(collects_garbage)))

    def close(self) -> None:
        """Ends the use of the storage; nothing where it is closed."""
        self._pool.close()
        self._feed.close()


class WireTransaction:
    """One transaction, which has a connection of its own from its first call on."""

    def __init__(self, pool: Pool, feed: Feed, begin: tuple[Statement, Values]) -> None:
        self._pool = pool
        self._feed = feed
        self._process = os.getpid()
        # The call that begins it; None once the server has answered that.
        self._begin: tuple[Statement, Values] | None = begin
        self._connection: Pipeline | None = None
        # A handler of a signal may call `abort` within another call of the same thread.
        self._lock = threading.RLock()
        self._is_busy = False
        self._has_ended = False
        self._oids: set[bytes] = set()

    def write(self, writes: list[Write]) -> list[tuple[int, bytes | None]]:
        """Writes records; returns the ones that conflict, as (index, tid of the newest record)."""
        return _conflicts(self._call(_WRITE, self._written(writes)))

    def check_current(self, oid: bytes, serial: bytes) -> bytes | None:
        """Locks the object; returns None where its newest record has the tid ``serial``."""
        return self._call(_CHECK, (oid, serial))[0][0]

    def run(self, steps: list[Step]) -> list[Answer]:
        """Writes and checks, as ``write`` and ``check_current`` do, in one round trip."""
        calls = [
            (_WRITE, self._written(step)) if isinstance(step, list) else (_CHECK, step) for step in steps
        ]
        return [
            _conflicts(rows) if statement is _WRITE else rows[0][0]
            for (statement, _), rows in zip(calls, self._calls(calls), strict=True)
        ]

    def _written(self, writes: list[Write]) -> Values:
        oids, serials, data, data_tids = zip(*writes, strict=True)
        self._oids.update(oids)
        return int8_array(oids), int8_array(serials), bytea_array(data), int8_array(data_tids)

    def put_blob(self, oid: bytes, path: str) -> None:
        """Makes the content of a file the blob of the record that was written for ``oid``."""
        with open(path, "rb") as file:
            part, at = file.read(_PART_BYTES), 0
            while True:
                following = file.read(_PART_BYTES) if len(part) == _PART_BYTES else b""
                self._call(_PUT_BLOB, (oid, int8(at), part, boolean(not following)))
                if not following:
                    return
                part, at = following, at + 1

    def finish(self) -> tuple[bytes, None]:
        """Commits durably; returns the tid, which ``last_tid`` covers then."""
        was_connected = self._connection is not None
        self._feed.finishing()
        try:
            with self._lock:
                tid = _known(self._call(_FINISH, ())[0][0])
                self._has_ended = True
                connection, self._connection = self._connection, None
        except BaseException as error:
            self._feed.failed()
            if was_connected and self._connection is None and isinstance(error, OperationalError):
                raise OperationalError(
                    "the connection was lost during the commit: nobody knows whether it has succeeded",
                    "08007",
                    hint="look at the objects before the transaction is tried again",
                ) from error
            raise
        if connection is not None:
            self._pool.give(connection)
        self._feed.finished(tid, list(self._oids))
        return tid, None

    def abort(self) -> None:
        """Takes everything back and lets go of the locks; nothing where the transaction has ended."""
        while not self._lock.acquire(timeout=_PATIENCE_S):
            connection = self._connection
            if connection is not None:
                connection.cancel()
        try:
            self._has_ended = True
            connection, self._connection = self._connection, None
            if connection is None:
                return
            if self._is_busy or self._process != os.getpid():
                # This is the handler of a signal within a call, or a fork of the process that began.
                connection.drop()
                return
            try:
                connection.run(_ABORT)
                self._pool.give(connection)
            except BaseException as error:
                # The locks go with the connection.
                connection.drop()
                if not isinstance(error, Error):
                    raise
        finally:
            self._lock.release()

    # --- calls -------------------------------------------------------------------------------------

    def _call(self, statement: Statement, values: Values) -> list[Row]:
        return self._calls(((statement, values),))[0]

    def _calls(self, calls: Calls) -> list[list[Row]]:
        """The answers of calls that are sent in one flight; the first error is raised."""
        with self._lock:
            self._pool.check()
            if self._has_ended or self._is_busy:
                raise InterfaceError("the transaction has ended")
            self._is_busy = True
            try:
                if self._begin is not None:
                    return self._first(self._begin, calls)
                if self._connection is None:
                    raise OperationalError("the transaction has lost its connection", "08006")
                self._connection.send(calls)
                return self._connection.receive_all(len(calls))
            except BaseException as error:
                self._failed(error)
            finally:
                self._is_busy = False

    def _first(self, begin: tuple[Statement, Values], calls: Calls) -> list[list[Row]]:
        """Begins the transaction and makes its first calls: one round trip."""
        self._connection, is_new = self._pool.take()
        try:
            return self._begun(self._connection, begin, calls)
        except OperationalError:
            # A commit may have been made before the connection was lost.
            if self._connection.is_open() or is_new or calls[0][0] is _FINISH:
                raise
        self._pool.clear()
        self._connection = self._pool.new()
        return self._begun(self._connection, begin, calls)

    def _begun(
        self, connection: Pipeline, begin: tuple[Statement, Values], calls: Calls
    ) -> list[list[Row]]:
        connection.send((begin, *calls))
        try:
            connection.receive()
        except Error:
            # The other calls have failed for want of a transaction. The connection is not worth keeping.
            connection.drop()
            raise
        self._begin = None
        return connection.receive_all(len(calls))

    def _failed(self, error: BaseException) -> NoReturn:
        connection = self._connection
        if connection is not None and (not isinstance(error, Error) or not connection.is_open()):
            connection.drop()
            self._connection = None
        if isinstance(error, Error) and error.sqlstate in _GIVEN_UP:
            if not isinstance(error, ConflictError):
                raise ConflictError(error.message, error.sqlstate, error.detail, error.hint) from error
        raise error


def _conflicts(rows: list[Row]) -> list[tuple[int, bytes | None]]:
    return [(number(at), newest) for at, newest in rows]


def _known(value: bytes | None) -> bytes:
    assert value is not None
    return value


def _changes(rows: Sequence[Row]) -> Changes:
    return [(_known(tid), int8_elements(oids)) for tid, oids in rows]
