"""SQL as PEP 249 (DB-API 2.0) has it. ::

    from anywhen import dbapi

    with dbapi.connect("data") as connection:          # a folder, a postgres:// URL, or an anywhen.Database
        cursor = connection.cursor()
        cursor.execute("SELECT name FROM person WHERE id = %s", [7])
        print(cursor.fetchone())

``paramstyle`` is ``pyformat``: ``%(name)s`` with a mapping; ``%s`` with a sequence works too. A ``%`` of the
statement itself is written ``%%`` where parameters are given. They are sent beside the statement and are
never part of its text.

``threadsafety`` is 2: threads may share the module and connections, where calls wait for one another; a
cursor is for one thread.

A transaction begins with the first statement and ends with ``commit()`` or ``rollback()``; a connection that
is closed takes back what is open. With ``connection.autocommit = True`` each statement is on its own. As a
context manager a connection commits at the end of the block, or takes everything back where that ends with
an exception, and is then closed.

Statements run here or on a server that speaks PostgreSQL's protocol; over ``http://`` there are no
transactions, and no DB-API.
"""

from __future__ import annotations

import datetime
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import TracebackType
from typing import Any

from ._collection import _Handle
from ._database import Database, open
from ._database import connect as _connect_url
from ._parameters import Json
from ._sql import Result
from .errors import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Warning,
)

__all__ = [
    "BINARY",
    "Binary",
    "Connection",
    "Cursor",
    "DATETIME",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "Json",
    "NUMBER",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "ROWID",
    "STRING",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "Warning",
    "apilevel",
    "connect",
    "paramstyle",
    "threadsafety",
]

apilevel = "2.0"
threadsafety = 2
paramstyle = "pyformat"


class _Types(frozenset[int]):
    """A type object of PEP 249: it equals the numbers of the types that it stands for."""

    def __eq__(self, other: object) -> bool:
        return other in self if isinstance(other, int) else frozenset.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = frozenset.__hash__


STRING = _Types({18, 19, 25, 1042, 1043})
BINARY = _Types({17})
NUMBER = _Types({20, 21, 23, 700, 701, 1700})
DATETIME = _Types({1082, 1083, 1114, 1184, 1186, 1266})
ROWID = _Types({26})

Date = datetime.date
Time = datetime.time
Timestamp = datetime.datetime
Binary = bytes


def DateFromTicks(ticks: float) -> datetime.date:  # noqa: N802  (PEP 249)
    """The date at a time in seconds since 1970, here."""
    return Date(*time.localtime(ticks)[:3])


def TimeFromTicks(ticks: float) -> datetime.time:  # noqa: N802  (PEP 249)
    """The time of day at a time in seconds since 1970, here."""
    return Time(*time.localtime(ticks)[3:6])


def TimestampFromTicks(ticks: float) -> datetime.datetime:  # noqa: N802  (PEP 249)
    """Date and time at a time in seconds since 1970, here."""
    return Timestamp(*time.localtime(ticks)[:6])


def connect(
    database: Database | str | os.PathLike[str], *, autocommit: bool = False, **options: Any
) -> Connection:
    """Connects to a folder, to a ``postgres://`` URL, or to a database that is open; the options are those of
    :func:`anywhen.open` and :func:`anywhen.connect`. What was opened here is closed with the connection."""
    if isinstance(database, Database):
        if options:
            raise InterfaceError(f"{next(iter(options))}= is for a database that is opened here")
        return Connection(database, autocommit, False)
    if isinstance(database, str) and "://" in database:
        return Connection(_connect_url(database, **options), autocommit, True)
    return Connection(open(database, **options), autocommit, True)


class Connection(_Handle):
    """A session of SQL, with transactions that begin by themselves."""

    __slots__ = ("_database", "_is_own", "_session", "autocommit")

    Warning = Warning
    Error = Error
    InterfaceError = InterfaceError
    DatabaseError = DatabaseError
    DataError = DataError
    OperationalError = OperationalError
    IntegrityError = IntegrityError
    InternalError = InternalError
    ProgrammingError = ProgrammingError
    NotSupportedError = NotSupportedError

    def __init__(self, database: Database, autocommit: bool, is_own: bool) -> None:
        self._database = database
        self._is_own = is_own
        try:
            self._session = database.session()
        except BaseException:
            if is_own:
                database.close()
            raise
        #: True where each statement is a transaction of its own.
        self.autocommit = autocommit

    def cursor(self) -> Cursor:
        """A cursor; all cursors of a connection share its transaction."""
        self._must_be_open()
        return Cursor(self)

    def execute(self, operation: str, parameters: Any = None) -> Cursor:
        """Runs one statement on a new cursor, which is returned."""
        return self.cursor().execute(operation, parameters)

    def _must_be_open(self) -> None:
        if not self._session.is_open:
            raise InterfaceError("the connection is closed")

    def insert_arrow(
        self,
        table: str,
        data: Any,
        *,
        columns: Iterable[str] | None = None,
        schema: str | None = None,
    ) -> int:
        """Inserts the rows of a stream of Arrow within the transaction, as
        :meth:`anywhen.Session.insert_arrow` does; returns their number."""
        self._begin()
        return self._session.insert_arrow(table, data, columns=columns, schema=schema)

    def _begin(self) -> None:
        self._must_be_open()
        if not self.autocommit and not self._session.in_transaction:
            self._session.sql("BEGIN")

    def _run(self, text: str, parameters: list[Any]) -> Result:
        self._begin()
        return self._session.sql(text, parameters)

    def commit(self) -> None:
        """Ends the transaction, if one is open, and keeps what it did. Fails where it had failed before."""
        self._must_be_open()
        if self._session.in_transaction and self._session.sql("COMMIT").status == "ROLLBACK":
            raise InternalError("the transaction had failed, and was rolled back", "25P02")

    def rollback(self) -> None:
        """Ends the transaction, if one is open, and takes back what it did."""
        self._must_be_open()
        if self._session.in_transaction:
            self._session.sql("ROLLBACK")

    def cancel(self) -> None:
        """Stops the statement that runs, from another thread: it fails with 57014."""
        self._session.cancel()

    def close(self) -> None:
        """Closes the connection; what is open is rolled back."""
        self._session.close()
        if self._is_own:
            self._database.close()

    @property
    def closed(self) -> bool:
        """True where it is closed."""
        return not self._session.is_open

    def __enter__(self) -> Connection:
        self._must_be_open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.closed:
            return
        try:
            if kind is None:
                self.commit()
            else:
                self.rollback()
        finally:
            self.close()

    def __repr__(self) -> str:
        return f"<anywhen.dbapi.Connection to {self._database!r}{' closed' if self.closed else ''}>"


class Cursor(_Handle):
    """Runs statements and fetches rows."""

    __slots__ = ("_is_open", "_result", "_rowcount", "arraysize", "connection")

    def __init__(self, connection: Connection) -> None:
        #: The connection that it belongs to.
        self.connection = connection
        #: Rows that ``fetchmany`` fetches where nothing else is said.
        self.arraysize = 1
        self._result: Result | None = None
        self._rowcount = -1
        self._is_open = True

    @property
    def description(self) -> list[tuple[Any, ...]] | None:
        """Name, type, and precision and scale of a numeric, of each column; None where there are no rows."""
        if self._result is None or not self._result.columns:
            return None
        return [
            (column.name, column.oid, None, None, column.precision, column.scale, None)
            for column in self._result.columns
        ]

    @property
    def rowcount(self) -> int:
        """Rows that the last statement gave or changed; -1 where that is not counted."""
        return self._rowcount

    @property
    def statusmessage(self) -> str | None:
        """The tag of the statement, such as ``INSERT 0 1``."""
        return None if self._result is None else self._result.status

    def execute(self, operation: str, parameters: Any = None) -> Cursor:
        """Runs one statement."""
        self._must_be_open()
        self._result, self._rowcount = None, -1
        self._result = self.connection._run(*_numbered(operation, parameters))
        self._rowcount = -1 if self._result.count is None else self._result.count
        return self

    def executemany(self, operation: str, seq_of_parameters: Iterable[Any]) -> Cursor:
        """Runs one statement for each set of parameters; ``rowcount`` is the sum. Rows are not kept."""
        self._must_be_open()
        total = 0
        for parameters in seq_of_parameters:
            self.execute(operation, parameters)
            total = -1 if self._rowcount < 0 or total < 0 else total + self._rowcount
        self._result, self._rowcount = None, total
        return self

    def _rows(self) -> Result:
        self._must_be_open()
        if self._result is None or not self._result.columns:
            raise ProgrammingError("there are no rows to fetch: the last statement gave none", "02000")
        return self._result

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row; None where there is none."""
        return self._rows().fetchone()

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """The next rows, ``size`` at most."""
        return self._rows().fetchmany(self.arraysize if size is None else size)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """The rows that are left."""
        return self._rows().fetchall()

    @property
    def result(self) -> Result:
        """The rows as an :class:`anywhen.Result`, for ``arrow()``, ``df()`` and ``pl()``."""
        return self._rows()

    def setinputsizes(self, sizes: Sequence[Any]) -> None:
        """Does nothing, as PEP 249 allows."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Does nothing, as PEP 249 allows."""

    def _must_be_open(self) -> None:
        if not self._is_open:
            raise InterfaceError("the cursor is closed")
        self.connection._must_be_open()

    def close(self) -> None:
        """Closes the cursor."""
        self._is_open, self._result = False, None

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        while (row := self.fetchone()) is not None:
            yield row

    def __enter__(self) -> Cursor:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<anywhen.dbapi.Cursor {self.statusmessage or 'without a result'}>"


_PLACEHOLDER = re.compile(r"%(?:\((?P<name>[^)]*)\)s|(?P<next>s)|(?P<percent>%)|(?P<bad>.?))", re.S)


def _numbered(operation: str, parameters: Any) -> tuple[str, list[Any]]:
    """The statement with ``$1``, ``$2`` ... for its placeholders, and the values of these."""
    if parameters is None:
        return operation, []
    if isinstance(parameters, (str, bytes)):
        raise ProgrammingError("parameters are a sequence or a mapping, not one str")
    if isinstance(parameters, Mapping):
        text, names = _named(operation)
        for name in names:
            if name not in parameters:
                raise ProgrammingError(f"there is no value for %({name})s")
        return text, [parameters[name] for name in names]
    text, count = _in_turn(operation)
    values = list(parameters)
    if len(values) != count:
        raise ProgrammingError(f"there are {len(values)} values for {count} placeholders")
    return text, values


# Programs say the same statements again and again.
@lru_cache(maxsize=128)
def _named(operation: str) -> tuple[str, tuple[str, ...]]:
    """The statement, and the names of its placeholders, each once."""
    numbers: dict[str, int] = {}

    def number(found: re.Match[str]) -> str:
        name = found["name"]
        if name is None:
            return _percent(found)
        return f"${numbers.setdefault(name, len(numbers) + 1)}"

    return _PLACEHOLDER.sub(number, operation), tuple(numbers)


@lru_cache(maxsize=128)
def _in_turn(operation: str) -> tuple[str, int]:
    """The statement, and how many placeholders it has."""
    count = 0

    def number(found: re.Match[str]) -> str:
        nonlocal count
        if not found["next"]:
            return _percent(found)
        count += 1
        return f"${count}"

    return _PLACEHOLDER.sub(number, operation), count


def _percent(found: re.Match[str]) -> str:
    if found["percent"]:
        return "%"
    raise ProgrammingError(
        f"{found[0]!r} is no placeholder here: %s takes a sequence, %(name)s a mapping, "
        "and a percent sign is written %%"
    )
