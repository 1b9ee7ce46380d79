"""Sessions and answers of SQL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, overload

from . import _native
from ._collection import _Handle
from ._parameters import copy_arrow, statement, to_texts
from ._records import table
from ._store import Numbers
from ._store import Session as SessionStore
from .records import Column

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

# Rows that become objects of Python at a time, while an answer is walked over.
_PIECE = 4_096


class Result(_Handle):
    """The answer to a statement: rows, which are tuples, by position and one after the other.

    The rows are made when they are asked for, and columns for :meth:`arrow`, :meth:`df` and :meth:`pl` are
    made without them. It needs the database no more: it can be read after that is closed.

    (It is no :class:`~collections.abc.Sequence` by name: libraries that take both, such as polars, would
    take rows where they can have columns.)
    """

    __slots__ = ("_at", "_native", "_numbers", "_rows", "columns")

    def __init__(self, native: _native.Answer, numbers: Numbers) -> None:
        self._native = native
        self._numbers: Numbers = numbers
        self._rows: list[tuple[Any, ...]] | None = None
        self._at = 0
        #: The columns; none where the statement gives no rows.
        self.columns: tuple[Column, ...] = tuple(
            Column(name, ty, oid, *(numeric or (None, None)))
            for name, ty, oid, numeric in native.columns()
        )

    @property
    def status(self) -> str:
        """The tag of the statement, such as ``INSERT 0 1``."""
        return self._native.tag

    @property
    def count(self) -> int | None:
        """How many rows were found or changed, where the command counts them."""
        return self._native.count

    # --- rows --------------------------------------------------------------------------------------

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """All rows."""
        if self._rows is None:
            self._rows = self._native.rows(0, len(self._native), self._numbers)
        return self._rows

    def __len__(self) -> int:
        return len(self._native)

    @overload
    def __getitem__(self, at: int) -> tuple[Any, ...]: ...

    @overload
    def __getitem__(self, at: slice) -> list[tuple[Any, ...]]: ...

    def __getitem__(self, at: int | slice) -> Any:
        return self.rows[at]

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        if self._rows is not None:
            yield from self._rows
            return
        for start in range(0, len(self), _PIECE):
            yield from self._native.rows(start, start + _PIECE, self._numbers)

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row; None where there is none."""
        rows = self.fetchmany(1)
        return rows[0] if rows else None

    def fetchmany(self, size: int) -> list[tuple[Any, ...]]:
        """The next rows, ``size`` at most."""
        start, self._at = self._at, min(self._at + max(size, 0), len(self))
        if self._rows is not None:
            return self._rows[start : self._at]
        return self._native.rows(start, self._at, self._numbers)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """The rows that are left."""
        return self.fetchmany(len(self) - self._at)

    def scalar(self) -> Any:
        """The first value of the first row; None where there is no row."""
        first = self._native.rows(0, 1, self._numbers)
        return first[0][0] if first and first[0] else None

    def dicts(self) -> list[dict[str, Any]]:
        """The rows as dicts by the names of columns; of two columns of one name the later counts."""
        names = [column.name for column in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self]

    # --- columns -----------------------------------------------------------------------------------

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The rows as a stream of Arrow, as pyarrow, polars, pandas, DuckDB and others take it."""
        return self._native.__arrow_c_stream__(requested_schema)

    def arrow(self) -> pyarrow.Table:
        """The rows as a table of pyarrow."""
        try:
            import pyarrow
        except ImportError as error:
            raise _wanted("pyarrow", "arrow") from error
        return pyarrow.table(self)

    def df(self) -> pandas.DataFrame:
        """The rows as a data frame of pandas."""
        try:
            import pandas
        except ImportError as error:
            raise _wanted("pandas", "pandas") from error
        if getattr(_native, "IS_PURE", False):
            # Without the native half there is no Arrow: values of Python, a column each.
            return pandas.DataFrame(self.fetchall(), columns=[column.name for column in self.columns])
        return self.arrow().to_pandas()

    def pl(self) -> polars.DataFrame:
        """The rows as a data frame of polars."""
        try:
            import polars
        except ImportError as error:
            raise _wanted("polars", "polars") from error
        return polars.DataFrame(self)

    def _repr_html_(self) -> str:
        """The first rows, as a notebook shows them."""
        return table([column.name for column in self.columns], self, len(self))

    def __repr__(self) -> str:
        names = ", ".join(column.name for column in self.columns)
        return f"<anywhen.Result {self.status!r} ({names})>"


def _wanted(module: str, extra: str) -> ImportError:
    return ImportError(f"this needs {module}: pip install 'anywhen-db[{extra}]'", name=module)


class Session(_Handle):
    """A session of SQL: settings, prepared plans, temporary tables, and transactions. ::

        with db.session() as session:
            session.sql("BEGIN")
            session.sql("INSERT INTO person VALUES ($1, $2)", [1, "Ada"])
            session.sql("COMMIT")

    Several threads may use it, one after the other: a call waits for the one before.
    """

    __slots__ = ("__weakref__", "_native", "_numbers")

    def __init__(self, native: SessionStore, numbers: Numbers) -> None:
        self._native = native
        self._numbers: Numbers = numbers

    def sql(self, text: str, parameters: Iterable[Any] = ()) -> Result:
        """Runs one statement; parameters stand in the text as ``$1``, ``$2`` and so on. Ctrl-C stops it."""
        return Result(self._native.query(statement(text), to_texts(parameters)), self._numbers)

    def copy_in(self, text: str, data: bytes) -> int:
        """Runs ``COPY ... FROM STDIN`` with the data; returns the number of rows."""
        return self._native.copy_in(statement(text), data)

    def insert_arrow(
        self,
        table: str,
        data: Any,
        *,
        columns: Iterable[str] | None = None,
        schema: str | None = None,
    ) -> int:
        """Inserts the rows of anything that is a stream of Arrow (``__arrow_c_stream__``): a table of pyarrow,
        a frame of polars or pandas, a :class:`Result`. Returns the number of rows.

        Columns are found by their names. Without ``columns`` each column of the data needs a place in the
        table; with it those are taken, and the others left out. Columns of the table that get nothing have
        their defaults. All rows are inserted, or none; outside of a transaction block they are one commit.
        ``table``, ``columns`` and ``schema`` are names as they are, without quotes. Ctrl-C stops it.
        """
        text = copy_arrow(table, columns, schema)
        return self._native.copy_arrow(text, _native.ArrowIn(data))

    def copy_out(self, text: str) -> bytes:
        """Runs ``COPY ... TO STDOUT``; returns the data."""
        return self._native.copy_out(statement(text))

    def notices(self) -> list[tuple[str, str]]:
        """Severity and text of the notices that statements have left since the last call."""
        return self._native.notices()

    @property
    def in_transaction(self) -> bool:
        """True inside a transaction block."""
        return self._native.is_in_transaction()

    def cancel(self) -> None:
        """Stops the statement that runs, from another thread: it fails with 57014."""
        self._native.cancel()

    def close(self) -> None:
        """Ends the session; what is open is rolled back."""
        self._native.close()

    def _abort(self) -> None:
        """Ends the session, and the statement that runs on it if one does."""
        self._native.abort()

    @property
    def is_open(self) -> bool:
        """True until it is closed."""
        return self._native.is_open()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<anywhen.Session {'open' if self.is_open else 'closed'}>"
