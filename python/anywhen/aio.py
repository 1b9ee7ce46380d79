"""A server over HTTP for programs with asyncio. ::

    import anywhen.aio

    async with anywhen.aio.connect("http://localhost:8080") as db:
        articles = await db.collection("articles")
        await articles.put("a1", {"title": "Anywhen"}, message="first")
        value, versions = await asyncio.gather(articles.get("a1"), articles.history("a1"))
        async for change in db.changes(follow=True):
            print(change.key, change.author, change.message)

The calls are those of :class:`anywhen.Database` and :class:`anywhen.Collection`, with the same records and errors.
Each request runs in a thread of the client's own, ``connections`` of them at most, so that no request blocks the
event loop; nothing but the standard library is needed. A task that is cancelled no longer waits for its answer: what
it asked for may be done all the same.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, TypeVar

from ._collection import Collection as _Collection
from ._collection import View as _View
from ._database import Database as _Database
from ._database import connect as _connect
from ._records import Records
from ._sql import Result
from ._store import Node, Numbers
from .errors import InterfaceError
from .records import BlameLine, Change, CollectionOptions, Commit, DocumentChange, NodeVersion, Version

__all__ = ["Collection", "Database", "View", "connect"]

_Answer = TypeVar("_Answer")


def connect(
    url: str,
    *,
    token: str | None = None,
    author: str = "",
    numbers: Numbers = "exact",
    timeout: float | None = 60.0,
    ssl_context: ssl.SSLContext | None = None,
    connections: int = 8,
) -> Database:
    """A server at an ``http://`` or ``https://`` address; see :func:`anywhen.connect`. Nothing is sent yet."""
    if url.split("://", 1)[0] not in ("http", "https"):
        raise InterfaceError(f"{url!r} begins with neither http:// nor https://")
    database = _connect(
        url, token=token, author=author, numbers=numbers, timeout=timeout, ssl_context=ssl_context
    )
    return Database(database, connections)


class Database:
    """A database on a server. It is an asynchronous context manager that closes it at the end."""

    def __init__(self, database: _Database, connections: int) -> None:
        self._database = database
        self._threads = ThreadPoolExecutor(connections, "anywhen-aio")

    async def _run(self, call: Callable[..., _Answer], /, *words: Any, **named: Any) -> _Answer:
        loop = asyncio.get_running_loop()
        try:
            waiting = loop.run_in_executor(self._threads, lambda: call(*words, **named))
        except RuntimeError as error:
            raise InterfaceError("the database is closed") from error
        return await waiting

    async def collection(self, name: str, **options: Any) -> Collection:
        """See :meth:`anywhen.Database.collection`."""
        return Collection(self, await self._run(self._database.collection, name, **options))

    async def collections(self) -> list[str]:
        """See :meth:`anywhen.Database.collections`."""
        return await self._run(self._database.collections)

    async def drop_collection(self, name: str, *, purge: bool = False) -> bool:
        """See :meth:`anywhen.Database.drop_collection`."""
        return await self._run(self._database.drop_collection, name, purge=purge)

    async def newest_commit(self) -> int:
        """See :meth:`anywhen.Database.newest_commit`."""
        return await self._run(self._database.newest_commit)

    async def sql(self, text: str, parameters: Iterable[Any] = ()) -> Result:
        """See :meth:`anywhen.Database.sql`."""
        return await self._run(self._database.sql, text, parameters)

    async def changes(self, after: int = 0, **wanted: Any) -> AsyncIterator[DocumentChange]:
        """Changes as they come; see :meth:`anywhen.Database.changes`. A thread of its own waits for them."""
        changes = await self._run(self._database.changes, after, **wanted)
        loop, end = asyncio.get_running_loop(), object()
        # A call that waits for changes must not keep requests from a thread.
        thread = ThreadPoolExecutor(1, "anywhen-aio-changes")
        try:
            while (change := await loop.run_in_executor(thread, next, changes, end)) is not end:
                yield change  # type: ignore[misc]  # it is no sentinel
        finally:
            changes.close()
            thread.shutdown(wait=False)

    async def close(self) -> None:
        """Closes the connections, once what was asked for is answered."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self._threads.shutdown)
        self._database.close()

    async def __aenter__(self) -> Database:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<anywhen.aio.Database of {self._database!r}>"


class View:
    """A collection as it was at a moment."""

    def __init__(self, database: Database, view: _View) -> None:
        self._database = database
        self._view = view

    async def get(self, key: str) -> Any:
        """A document as it was; :class:`~anywhen.NotFoundError` where there was none."""
        return await self._database._run(self._view.__getitem__, key)

    async def get_node(self, key: str, path: Node) -> Any:
        """See :meth:`anywhen.View.get_node`."""
        return await self._database._run(self._view.get_node, key, path)

    async def keys(self, prefix: str = "", after: str = "") -> list[str]:
        """The keys that begin with ``prefix`` and come after ``after``, in order."""
        return await self._database._run(lambda: list(self._view.keys_from(prefix, after)))


class Collection:
    """Documents by key, every version of them."""

    def __init__(self, database: Database, collection: _Collection) -> None:
        self._database = database
        self._collection = collection
        #: The collection's name.
        self.name = collection.name

    async def get(self, key: str) -> Any:
        """A document; :class:`~anywhen.NotFoundError` where there is none."""
        return await self._database._run(self._collection.__getitem__, key)

    async def get_node(self, key: str, path: Node) -> Any:
        """See :meth:`anywhen.Collection.get_node`."""
        return await self._database._run(self._collection.get_node, key, path)

    async def contains(self, key: str) -> bool:
        """True where there is a document now."""
        return await self._database._run(self._collection.__contains__, key)

    async def keys(self, prefix: str = "", after: str = "") -> list[str]:
        """The keys that begin with ``prefix`` and come after ``after``, in order."""
        return await self._database._run(lambda: list(self._collection.keys_from(prefix, after)))

    async def version(self, key: str) -> int:
        """See :meth:`anywhen.Collection.version`."""
        return await self._database._run(self._collection.version, key)

    async def options(self) -> CollectionOptions:
        """See :meth:`anywhen.Collection.options`."""
        return await self._database._run(self._collection.options)

    async def put(self, key: str, value: Any, **said: Any) -> Commit:
        """See :meth:`anywhen.Collection.put`."""
        return await self._database._run(self._collection.put, key, value, **said)

    async def update(self, *given: Any, **said: Any) -> Any:
        """One node, or many documents as one commit; see :meth:`anywhen.Collection.update`."""
        return await self._database._run(self._collection.update, *given, **said)

    async def insert(self, key: str, path: Node, value: Any, **rest: Any) -> Commit:
        """See :meth:`anywhen.Collection.insert`."""
        return await self._database._run(self._collection.insert, key, path, value, **rest)

    async def append(self, key: str, path: Node, value: Any, **said: Any) -> Commit:
        """See :meth:`anywhen.Collection.append`."""
        return await self._database._run(self._collection.append, key, path, value, **said)

    async def delete(self, key: str, path: Node | None = None, **said: Any) -> Commit:
        """See :meth:`anywhen.Collection.delete`."""
        return await self._database._run(self._collection.delete, key, path, **said)

    async def rename(self, key: str, path: Node, name: str, **said: Any) -> Commit:
        """See :meth:`anywhen.Collection.rename`."""
        return await self._database._run(self._collection.rename, key, path, name, **said)

    async def move(self, key: str, path: Node, to: Node, **rest: Any) -> Commit:
        """See :meth:`anywhen.Collection.move`."""
        return await self._database._run(self._collection.move, key, path, to, **rest)

    async def revert(self, key: str, version: int, **said: Any) -> Commit:
        """See :meth:`anywhen.Collection.revert`."""
        return await self._database._run(self._collection.revert, key, version, **said)

    def at(self, **moment: Any) -> View:
        """See :meth:`anywhen.Collection.at`."""
        return View(self._database, self._collection.at(**moment))

    async def history(self, key: str, limit: int | None = None) -> Records[Version]:
        """See :meth:`anywhen.Collection.history`."""
        return await self._database._run(self._collection.history, key, limit)

    async def diff(self, key: str, a: int | None = None, b: int | None = None) -> Records[Change]:
        """See :meth:`anywhen.Collection.diff`."""
        return await self._database._run(self._collection.diff, key, a, b)

    async def node_history(self, key: str, path: Node) -> Records[NodeVersion]:
        """See :meth:`anywhen.Collection.node_history`."""
        return await self._database._run(self._collection.node_history, key, path)

    async def blame(self, key: str, version: int | None = None) -> Records[BlameLine]:
        """See :meth:`anywhen.Collection.blame`."""
        return await self._database._run(self._collection.blame, key, version)

    def __repr__(self) -> str:
        return f"<anywhen.aio.Collection {self.name!r} of {self._database!r}>"
