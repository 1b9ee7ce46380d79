"""Databases: here, or on a server."""

from __future__ import annotations

import os
import ssl
import threading
import weakref
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Literal, Protocol, TypeVar

from . import _native
from ._changes import Changes, Wanted
from ._collection import Collection, _Handle
from ._embedded import EmbeddedStore
from ._http import HttpStore
from ._http_transaction import HttpTransaction
from ._parameters import statement, to_texts
from ._postgres import PostgresStore
from ._records import table
from ._sql import Result, Session
from ._store import Numbers, Store, collection_of, number_of, text_of
from ._transaction import Transaction
from .errors import EditError, InterfaceError, NotSupportedError


class _Closes(Protocol):
    """Something that is used with a database, and ends with it."""

    def close(self) -> None: ...


_Used = TypeVar("_Used", bound="Transaction | Session | Changes | _Closes")


def _end(used: Transaction | Session | Changes | _Closes) -> None:
    """Ends what is used, in another thread as well."""
    if isinstance(used, Transaction):
        used.rollback()
    elif isinstance(used, Session):
        used._abort()
    else:
        used.close()


class Database(_Handle):
    """A database, in this process or on a server; see :func:`anywhen.open` and :func:`anywhen.connect`.

    ============================  ============  ============  ===============
    what                          ``open``      ``http://``   ``postgres://``
    ============================  ============  ============  ===============
    documents and their past      yes           yes           no
    several documents as one      yes           yes           no
    changes as they happen        yes           yes           no
    ``sql``, a statement each     yes           yes           yes
    ``session``, DB-API           yes           no            yes
    ``insert_arrow``              yes           no            yes
    ``anywhen.zodb``              yes           no            yes
    ============================  ============  ============  ===============

    What cannot be had raises :class:`~anywhen.NotSupportedError`.

    Any number of threads may use it. It is a context manager that closes it at the end.
    """

    __slots__ = ("_is_closing", "_lock", "_place", "_store", "_used", "author")

    def __init__(
        self, store: EmbeddedStore | HttpStore | PostgresStore, place: str, author: str
    ) -> None:
        self._store: Any = store
        self._place = place
        # Transactions, sessions, streams of changes and storages: they are closed with the database.
        self._used: weakref.WeakSet[Transaction | Session | Changes | _Closes] = weakref.WeakSet()
        # Again and again for the same thread: what closes may be the handler of a signal.
        self._lock = threading.RLock()
        self._is_closing = False
        #: Who signs what is written where nothing else is said.
        self.author = author

    @property
    def numbers(self) -> Numbers:
        """How numbers with a fraction come out: ``exact``, ``float`` or ``decimal``."""
        numbers: Numbers = self._store.numbers
        return numbers

    @property
    def is_embedded(self) -> bool:
        """True where the database is in this process."""
        return isinstance(self._store, EmbeddedStore)

    def _documents(self) -> Store:
        if isinstance(self._store, PostgresStore):
            raise NotSupportedError(
                "documents cannot be reached over postgres://",
                "0A000",
                hint="connect with http:// for documents, or use SQL",
            )
        store: Store = self._store
        return store

    # --- documents ---------------------------------------------------------------------------------

    def collection(
        self,
        name: str,
        *,
        history: str | None = None,
        hashes: bool | None = None,
        path_summary: bool | None = None,
    ) -> Collection:
        """The collection of that name, made where there is none.

        ``history`` says how much of the past it keeps (``forever``, ``none``, or a time such as ``90d``),
        ``hashes`` whether it keeps a rolling hash of every document, ``path_summary`` whether it keeps their
        paths. Where the collection exists with others, this fails.
        """
        collection_of(name)
        if history is not None:
            text_of("history=", history)
        self._documents().create_collection(name, history, hashes, path_summary)
        return Collection(self, name)

    def collections(self) -> list[str]:
        """The names of the collections, in order."""
        return self._documents().collections()

    def drop_collection(self, name: str, *, purge: bool = False) -> bool:
        """Drops a collection; False where there is none. With ``purge`` its past goes too."""
        return self._documents().drop_collection(collection_of(name), purge)

    def transaction(
        self, message: str = "", author: str | None = None, *, serializable: bool = False
    ) -> Transaction:
        """Begins a transaction over documents, for a ``with`` block. A ``serializable`` one commits only if
        it could have run alone."""
        native: _native.Transaction | HttpTransaction
        if isinstance(self._store, EmbeddedStore):
            native = self._store.native.begin(serializable)
        elif isinstance(self._store, HttpStore) and not serializable:
            native = HttpTransaction(self._store)
        else:
            raise NotSupportedError(
                "serializable transactions over documents need the database in this process"
                if serializable
                else "transactions over documents need the database in this process, or HTTP",
                "0A000",
                hint="anywhen.open embeds it",
            )
        author = self.author if author is None else author
        transaction = Transaction(self, native, message, author)
        return self._using(transaction)

    def newest_commit(self) -> int:
        """The number of the newest commit."""
        return self._documents().newest_commit()

    def changes(
        self,
        after: int = 0,
        *,
        until: int | None = None,
        follow: bool = False,
        collection: str | None = None,
        document: str | None = None,
        path: str | None = None,
        diff: bool = False,
    ) -> Changes:
        """The changes ``after`` a commit, however long ago: a :class:`~anywhen.DocumentChange` for each
        version of a document, in the order of the commits. ::

            with db.changes(after=seen, follow=True) as changes:
                for change in changes:
                    print(change.collection, change.key, change.version)
                    seen = changes.csn

        It ends with what is there now, or at the commit ``until``; with ``follow`` it waits for more, until
        Ctrl-C, or until it is closed, by another thread for example. Other threads go on meanwhile.

        ``collection``, ``document`` (a key) and ``path`` choose what is told: of a path what changed at it,
        below it or above it, and besides all that made a document or removed it. ``diff`` tells node by node
        what differs from the version before.

        ``changes.csn`` is the commit up to which everything was given, and so what to go on ``after`` another
        time: nothing is missed, and of a commit that was cut short all is told again. Over HTTP the server may
        be lost (:class:`~anywhen.OperationalError`); the next ``next(changes)`` goes on where it was.

        What was written of late is told from memory; what lies further back is looked for in all documents.
        """
        store = self._documents()
        for name, number in (("after", after), ("until", until)):
            if number is not None:
                number_of(name, number)
        for name, text in (("collection", collection), ("document", document), ("path", path)):
            if text is not None:
                text_of(f"{name}=", text)
        newest = store.newest_commit()
        if after > newest:
            # A client that has seen a newer commit has followed another database, or a newer copy.
            raise EditError(f"after={after} is still to come: the newest commit is {newest}", "22023")
        if not follow:
            until = newest if until is None else min(until, newest)
        feed = store.changes(Wanted(after, until, collection, document, path, diff))
        changes = Changes(feed, after)
        return self._using(changes)

    # --- SQL ---------------------------------------------------------------------------------------

    def sql(self, text: str, parameters: Iterable[Any] = ()) -> Result:
        """Runs one statement, in a session and a transaction of its own. Parameters stand in the text as
        ``$1``, ``$2`` and so on. Ctrl-C stops it."""
        if isinstance(self._store, HttpStore):
            return Result(self._store.query(statement(text), to_texts(parameters)), self.numbers)
        with self.session() as session:
            return session.sql(text, parameters)

    def session(self) -> Session:
        """Begins a session of SQL: settings and transactions over several statements."""
        session = Session(self._store.session(), self.numbers)
        return self._using(session)

    def insert_arrow(
        self,
        table: str,
        data: Any,
        *,
        columns: Iterable[str] | None = None,
        schema: str | None = None,
    ) -> int:
        """Inserts the rows of a table of pyarrow, of a frame of polars or pandas, or of any other stream of
        Arrow, as one commit; returns their number. See :meth:`anywhen.Session.insert_arrow`."""
        with self.session() as session:
            return session.insert_arrow(table, data, columns=columns, schema=schema)

    # --- care --------------------------------------------------------------------------------------

    def checkpoint(self) -> None:
        """Writes everything committed to files and frees the log. In this process only."""
        self._native("checkpoint").checkpoint()

    def compact(self) -> None:
        """Merges all files, and drops what nothing needs any more. In this process only."""
        self._native("compact").compact()

    def _native(self, what: str) -> _native.Database:
        if not isinstance(self._store, EmbeddedStore):
            raise NotSupportedError(f"{what}() needs the database in this process", "0A000")
        return self._store.native

    def _using(self, used: _Used) -> _Used:
        """Notes what is to end with the database."""
        with self._lock:
            if not self._is_closing:
                self._used.add(used)
                return used
        _end(used)
        raise InterfaceError("the database is closed")

    def close(self) -> None:
        """Closes the database, its sessions, and its transactions, which are taken back; nothing where it is
        closed. Nothing that was acknowledged needs it.

        Other threads may be within calls: statements of SQL are stopped (57014), waits for locks end, and what
        else runs is waited for; calls that come later fail with :class:`~anywhen.InterfaceError`. Where a
        signal ends the wait, nothing can be begun any more, and another ``close()`` waits on. Over HTTP
        requests that are under way are let be."""
        with self._lock:
            self._is_closing = True
            used = list(self._used)
        # Threads that follow changes are at their end, and get no other error.
        for changes in used:
            if isinstance(changes, Changes):
                changes.close()
        self._store.refuse()
        for each in used:
            _end(each)
        self._store.close()

    def __enter__(self) -> Database:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _repr_html_(self) -> str | None:
        """The collections and how many documents each has, as a notebook shows them; None where it has SQL alone."""
        try:
            names = self.collections()
        except NotSupportedError:
            return None
        rows = ((name, self._documents().count(name)) for name in names)
        return table(("collection", "documents"), rows, len(names))

    def __repr__(self) -> str:
        return f"<anywhen.Database {self._place}>"


def open(  # noqa: A001  (anywhen.open is what it is called)
    path: str | os.PathLike[str] | None,
    *,
    create: Literal["if_missing", "never", "new"] = "if_missing",
    author: str = "",
    numbers: Numbers = "exact",
    durability: Literal["sync", "os"] = "sync",
    cache_bytes: int | None = None,
) -> Database:
    """Opens the database in a folder, in this process; ``None`` is one in memory, gone when it is closed.

    ``create`` says what to do where there is none or where there is one. ``author`` signs what is written
    where nothing else is said. ``numbers`` says what JSON numbers with a fraction become: ``exact`` is a
    float where a float holds the number and a Decimal where not, ``float`` and ``decimal`` are always that.
    ``durability`` is what a write waits for: ``sync``, that it is on the disk; ``os``, that the operating
    system has it, which survives the end of the process and not that of the machine. ``cache_bytes`` is the
    memory for blocks of files.

    One process has a database open at a time, and once: a second ``open`` of the same folder fails with
    :class:`~anywhen.OperationalError` (55006) until the first is closed. Threads share one database.
    """
    if numbers not in ("exact", "float", "decimal"):
        raise ValueError(f"numbers={numbers!r} is none of exact, float, decimal")
    if cache_bytes is not None:
        number_of("cache_bytes", cache_bytes)
    folder = None if path is None else os.fspath(path)
    native = _native.Database.open(folder, create, durability, cache_bytes)
    return Database(EmbeddedStore(native, numbers), repr(folder) if folder else "in memory", author)


def connect(
    url: str,
    *,
    token: str | None = None,
    author: str = "",
    numbers: Numbers = "exact",
    timeout: float | None = 60.0,
    ssl_context: ssl.SSLContext | None = None,
) -> Database:
    """Connects to a server, ``anywhen serve``.

    ``http://`` and ``https://`` reach documents, and SQL one statement at a time; ``token`` says who asks.
    ``postgres://user:password@host:port/database?sslmode=...`` reaches SQL with sessions and transactions,
    and no documents. ``timeout`` is how long an answer over HTTP, or a connection, may take, in seconds;
    ``ssl_context`` is whom ``https://`` trusts, where that is not the system's choice.
    """
    if numbers not in ("exact", "float", "decimal"):
        raise ValueError(f"numbers={numbers!r} is none of exact, float, decimal")
    scheme = url.split("://", 1)[0]
    if scheme in ("http", "https"):
        store = HttpStore(url, numbers, token, timeout, ssl_context)
        return Database(store, url, author)
    if scheme in ("postgres", "postgresql"):
        if token is not None:
            raise InterfaceError("token= is for http://; a postgres:// URL has a password")
        postgres = PostgresStore(url, numbers, timeout)
        return Database(postgres, postgres.shown, author)
    raise InterfaceError(f"{url!r} begins with none of http://, https://, postgres://")
