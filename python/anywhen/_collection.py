"""Collections as mappings, their past, and one document of them.

::

    Collection ── a MutableMapping of keys to values: what is there now
       ├── .at(version= | time= | csn=)   a View, a Mapping: what was there then
       └── .document(key)                 a Document: the same calls without the key
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, NoReturn, overload

from ._native import dumps
from ._records import Records, table
from ._store import (
    PAGE,
    At,
    Node,
    Said,
    Store,
    at_of,
    can_be_key,
    key_of,
    node_of,
    number_of,
    text_of,
    where_of,
)
from .errors import EditError, NotFoundError, NotSupportedError
from .records import (
    BlameLine,
    Change,
    CollectionOptions,
    Commit,
    NodeVersion,
    Version,
    microseconds_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._database import Database
    from ._explore import Explorer
    from ._git import GitImport

_NOTHING: Any = object()

# Documents and versions that a notebook shows.
_KEYS_SHOWN = 20


class _Handle:
    """An object of an open database, which cannot be sent elsewhere."""

    __slots__ = ()

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} belongs to an open database and cannot be pickled or copied: "
            "open the database where it is used, and send keys and values"
        )


class View(_Handle, Mapping[str, Any]):
    """A collection as it was at a moment; it can be read and nothing else.

    A moment given by ``version`` is that of each document asked for: it has no meaning for the whole
    collection, so such a view cannot be listed.
    """

    __slots__ = ("_at", "_database", "name")

    def __init__(self, database: Database, name: str, at: At) -> None:
        self._database = database
        #: The collection's name.
        self.name = name
        self._at = at

    @property
    def _store(self) -> Store:
        return self._database._documents()

    def __getitem__(self, key: str) -> Any:
        found = self._store.get(self.name, key_of(key), self._at)
        if found is None:
            raise NotFoundError(f"there was no document {key!r} in {self.name!r} then", "02000")
        return found[1]

    def get_node(self, key: str, path: Node) -> Any:
        """The value of one node of a document as it was, by path or node key."""
        return self._store.get_node(self.name, key_of(key), node_of(path), self._at)

    def version(self, key: str) -> int:
        """The version that was the newest then."""
        found = self._store.get(self.name, key_of(key), self._at)
        if found is None:
            raise NotFoundError(f"there was no document {key!r} in {self.name!r} then", "02000")
        return found[0]

    def keys_from(self, prefix: str = "", after: str = "") -> Iterator[str]:
        """The keys that begin with ``prefix`` and come after ``after``, in order."""
        if self._at is not None and self._at[0] == "version":
            raise NotSupportedError("a version belongs to one document: list by time= or csn=", "0A000")
        return _pages(self._store, self.name, text_of("prefix=", prefix), text_of("after=", after), self._at)

    def __iter__(self) -> Iterator[str]:
        return self.keys_from()

    def _repr_html_(self) -> str | None:
        """The first documents then, as a notebook shows them; None for a version, which lists no keys."""
        if self._at is not None and self._at[0] in ("version", "authored"):
            return None
        keys = self._store.keys(self.name, "", "", _KEYS_SHOWN + 1, self._at)
        return _documents(self.name, keys, self.__getitem__)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, key: object) -> bool:
        try:
            return can_be_key(key) and self._store.get(self.name, str(key), self._at) is not None
        except NotFoundError:  # It never was, or never had that version.
            return False

    def __repr__(self) -> str:
        kind, number = self._at or ("", 0)
        return f"<anywhen.View of {self.name!r} at {kind} {number}>"


class Collection(_Handle, MutableMapping[str, Any]):
    """Documents by key, every version of them.

    It is a mapping of keys to values, which are what JSON has: dict, list, str, int, float, Decimal, bool
    and None. Keys come in order. Values are copies: a change of one reaches the database when it is put.

    All that writes takes ``message`` and ``author``, ``authored`` (when it was made where it comes from)
    and ``if_version``: write only where this is the document's newest version, as :meth:`version` tells it,
    or 0 for "there must be none"; otherwise :class:`~anywhen.StaleError`.
    """

    __slots__ = ("_database", "name")

    def __init__(self, database: Database, name: str) -> None:
        self._database = database
        #: The collection's name.
        self.name = name

    @property
    def _store(self) -> Store:
        return self._database._documents()

    def _said(
        self,
        message: str,
        author: str | None,
        authored: datetime | None = None,
        if_version: int | None = None,
    ) -> Said:
        author = self._database.author if author is None else author
        if if_version is not None:
            number_of("if_version", if_version)
        return Said(
            text_of("message=", message),
            text_of("author=", author),
            None if authored is None else _authored(authored),
            if_version,
        )

    # --- the mapping -------------------------------------------------------------------------------

    def __getitem__(self, key: str) -> Any:
        found = self._store.get(self.name, key_of(key))
        if found is None:
            raise NotFoundError(f"there is no document {key!r} in {self.name!r}", "02000")
        return found[1]

    def __setitem__(self, key: str, value: Any) -> None:
        self.put(key, value)

    def __delitem__(self, key: str) -> None:
        self.delete(key)

    def __iter__(self) -> Iterator[str]:
        return self.keys_from()

    def __len__(self) -> int:
        """How many documents there are now; over HTTP their keys are counted."""
        return self._store.count(self.name)

    def __contains__(self, key: object) -> bool:
        try:
            return can_be_key(key) and self._store.get(self.name, str(key)) is not None
        except NotFoundError:  # There is no such collection any more.
            return False

    def keys_from(self, prefix: str = "", after: str = "") -> Iterator[str]:
        """The keys that begin with ``prefix`` and come after ``after``, in order."""
        return _pages(self._store, self.name, text_of("prefix=", prefix), text_of("after=", after), None)

    # --- reading -----------------------------------------------------------------------------------

    def get_node(self, key: str, path: Node) -> Any:
        """The value of one node of a document, by path (``$.items[3].qty``, ``/items/3/qty``) or node key."""
        return self._store.get_node(self.name, key_of(key), node_of(path))

    def version(self, key: str) -> int:
        """The newest version of a document, also of one that was removed."""
        return self._store.newest(self.name, key_of(key))

    def document(self, key: str) -> Document:
        """One document, whether it is there or not."""
        return Document(self, key_of(key))

    def options(self) -> CollectionOptions:
        """The options of the collection."""
        return self._store.collection_options(self.name)

    def set_history(self, history: str) -> None:
        """Keeps another part of the past from now on: ``forever``, ``none``, or a time such as ``90d``."""
        self._store.set_history(self.name, text_of("history=", history))

    # --- writing -----------------------------------------------------------------------------------

    def put(
        self,
        key: str,
        value: Any,
        *,
        message: str = "",
        author: str | None = None,
        authored: datetime | None = None,
        if_version: int | None = None,
    ) -> Commit:
        """Gives a document a value. Of one that is there, what stays keeps its nodes and their history."""
        said = self._said(message, author, authored, if_version)
        return self._store.put(self.name, key_of(key), value, said)

    @overload  # type: ignore[override]
    def update(
        self,
        key: str,
        path: Node,
        value: Any,
        /,
        *,
        message: str = "",
        author: str | None = None,
        authored: datetime | None = None,
        if_version: int | None = None,
    ) -> Commit: ...

    @overload
    def update(
        self,
        documents: Mapping[str, Any] | Iterable[tuple[str, Any]],
        /,
        *,
        message: str = "",
        author: str | None = None,
    ) -> None: ...

    def update(self, *given: Any, message: str = "", author: str | None = None, **rest: Any) -> Any:
        """``update(key, path, value)`` gives one node a value; ``update({key: value, ...})`` puts many
        documents.

        One node: what is equal stays, down to the nodes below. A field that is not there is added, and so is
        the element after an array's last.

        Many documents: all of them or none, as one commit.
        """
        if len(given) == 3:
            key, path, value = given
            said = self._said(message, author, rest.pop("authored", None), rest.pop("if_version", None))
            _no_more("update", rest)
            return self._store.edit(self.name, key_of(key), said, "set", node_of(path), dumps(value))
        _no_more("update", rest)
        if len(given) != 1:
            raise TypeError("update() takes key, path and value, or a mapping of keys to values")
        documents = given[0].items() if isinstance(given[0], Mapping) else given[0]
        # A transaction would make a collection that is gone anew.
        self._store.collection_options(self.name)
        with self._database.transaction(message=message, author=author) as transaction:
            into = transaction.collection(self.name)
            for key, value in documents:
                into[key] = value
        return None

    def insert(
        self,
        key: str,
        path: Node,
        value: Any,
        *,
        where: str = "last",
        name: str | None = None,
        message: str = "",
        author: str | None = None,
        authored: datetime | None = None,
        if_version: int | None = None,
    ) -> Commit:
        """Adds a new node below or beside the one at ``path``.

        ``where`` is ``first`` or ``last`` (below it), ``before`` or ``after`` (beside it). What goes into an
        object has a ``name``.
        """
        said = self._said(message, author, authored, if_version)
        json = dumps(value)
        return self._store.edit(
            self.name, key_of(key), said, "insert", node_of(path), json, None, where_of(where), _name(name)
        )

    def append(
        self,
        key: str,
        path: Node,
        value: Any,
        *,
        message: str = "",
        author: str | None = None,
        authored: datetime | None = None,
        if_version: int | None = None,
    ) -> Commit:
        """Adds an element at the end of the array at ``path``."""
        said = self._said(message, author, authored, if_version)
        return self._store.edit(
            self.name, key_of(key), said, "insert", node_of(path), dumps(value), None, "last"
        )

    def delete(
        self,
        key: str,
        path: Node | None = None,
        *,
        message: str = "",
        author: str | None = None,
        authored: datetime | None = None,
        if_version: int | None = None,
    ) -> Commit:
        """Removes a document, or the node at ``path`` and all below it. Its history stays."""
        said = self._said(message, author, authored, if_version)
        if path is not None:
            return self._store.edit(self.name, key_of(key), said, "remove", node_of(path))
        done = self._store.remove(self.name, key_of(key), said)
        if done is None:
            raise NotFoundError(f"there is no document {key!r} in {self.name!r}", "02000")
        return done

    def rename(
        self,
        key: str,
        path: Node,
        name: str,
        *,
        message: str = "",
        author: str | None = None,
        authored: datetime | None = None,
        if_version: int | None = None,
    ) -> Commit:
        """Gives the field at ``path`` another name; it keeps its node key and its history."""
        said = self._said(message, author, authored, if_version)
        name = text_of("name=", name)
        return self._store.edit(self.name, key_of(key), said, "rename", node_of(path), name=name)

    def move(
        self,
        key: str,
        path: Node,
        to: Node,
        *,
        where: str = "last",
        name: str | None = None,
        message: str = "",
        author: str | None = None,
        authored: datetime | None = None,
        if_version: int | None = None,
    ) -> Commit:
        """Moves the node at ``path``, with all below it, below or beside the one at ``to``; it keeps its
        node key and its history. ``where`` and ``name`` as in :meth:`insert`."""
        said = self._said(message, author, authored, if_version)
        return self._store.edit(
            self.name,
            key_of(key),
            said,
            "move",
            node_of(path),
            None,
            node_of(to),
            where_of(where),
            _name(name),
        )

    def revert(
        self,
        key: str,
        version: int,
        *,
        message: str = "",
        author: str | None = None,
        authored: datetime | None = None,
        if_version: int | None = None,
    ) -> Commit:
        """Makes a new version that equals an older one, also of a document that was removed."""
        said = self._said(message, author, authored, if_version)
        return self._store.revert(self.name, key_of(key), number_of("version", version), said)

    def import_git(
        self,
        repository: str | os.PathLike[str],
        path: str,
        key: str | None = None,
        *,
        first_parent: bool = False,
    ) -> GitImport:
        """Makes every version of a JSON file in git a version of the document ``key`` (the path where none is
        named), with its author, message and time. Again for the same file, it takes in the commits since."""
        from ._git import import_git

        return import_git(self, repository, path, key, first_parent=first_parent)

    # --- the past ----------------------------------------------------------------------------------

    def at(
        self,
        *,
        version: int | None = None,
        time: datetime | str | None = None,
        csn: int | None = None,
        authored: datetime | str | None = None,
    ) -> View:
        """The collection as it was: at a ``version`` of each document, at a ``time`` (a datetime with a time
        zone, or a text such as ``2026-11-21 10:00:00+00``), or at a commit; or each document as it had been made by
        a time where it comes from (``authored``), which lists no keys."""
        return View(self._database, self.name, at_of(version, time, csn, authored))

    def history(self, key: str, limit: int | None = None) -> Records[Version]:
        """The versions of a document, newest first."""
        if limit is not None:
            number_of("limit", limit)
        return Records(Version, self._store.history(self.name, key_of(key), limit))

    def diff(self, key: str, a: int | None = None, b: int | None = None) -> Records[Change]:
        """The changes from version ``a`` to version ``b``, node by node; from the one before the newest to
        the newest where nothing is said."""
        return Records(Change, self._store.diff(self.name, key_of(key), *self._two(key, a, b)))

    def json_patch(
        self, key: str, a: int | None = None, b: int | None = None
    ) -> list[dict[str, Any]]:
        """The JSON Patch (RFC 6902) that makes version ``b`` of version ``a``."""
        return self._store.json_patch(self.name, key_of(key), *self._two(key, a, b))

    def _two(self, key: str, a: int | None, b: int | None) -> tuple[int, int]:
        if b is None:
            b = self.version(key)
        return (max(b - 1, 1) if a is None else number_of("a", a)), number_of("b", b)

    def node_history(self, key: str, path: Node) -> Records[NodeVersion]:
        """Every value that stood at a path, each with its node, and the versions and times over which it
        stood there, oldest first. By a node key: every value of that node, wherever it stood."""
        return Records(NodeVersion, self._store.node_history(self.name, key_of(key), node_of(path)))

    def blame(self, key: str, version: int | None = None) -> Records[BlameLine]:
        """For each node, in the order of the document, the version that last changed it."""
        if version is not None:
            number_of("version", version)
        return Records(BlameLine, self._store.blame(self.name, key_of(key), version))

    def plot_history(
        self, key: str, path: Node | None = None, *, by: str = "time", ax: Axes | None = None
    ) -> Axes:
        """Draws the values of the node at ``path``, or without one what each version changed; see
        :mod:`anywhen.plot`. Needs matplotlib."""
        from .plot import plot_history

        return plot_history(self, key, path, by=by, ax=ax)

    def _repr_html_(self) -> str:
        """The first documents, as a notebook shows them."""
        return _documents(self.name, self._store.keys(self.name, "", "", _KEYS_SHOWN + 1), self.get)

    def __repr__(self) -> str:
        return f"<anywhen.Collection {self.name!r} of {self._database!r}>"


class Document(_Handle):
    """One document of a collection: the calls of :class:`Collection` without the key."""

    __slots__ = ("collection", "key")

    def __init__(self, collection: Collection, key: str) -> None:
        #: The collection that it belongs to.
        self.collection = collection
        #: Its key.
        self.key = key

    @property
    def value(self) -> Any:
        """The newest version; NotFoundError where there is none."""
        return self.collection[self.key]

    @property
    def version(self) -> int:
        """Its newest version."""
        return self.collection.version(self.key)

    def exists(self) -> bool:
        """True where there is one now."""
        return self.key in self.collection

    def get(self, path: Node, default: Any = _NOTHING) -> Any:
        """The value of a node; ``default`` where it is not there and one is given."""
        try:
            return self.collection.get_node(self.key, path)
        except NotFoundError:
            if default is _NOTHING:
                raise
            return default

    def put(self, value: Any, **said: Any) -> Commit:
        """See :meth:`Collection.put`."""
        return self.collection.put(self.key, value, **said)

    def update(self, path: Node, value: Any, **said: Any) -> Commit:
        """See :meth:`Collection.update`."""
        return self.collection.update(self.key, path, value, **said)

    def insert(self, path: Node, value: Any, **rest: Any) -> Commit:
        """See :meth:`Collection.insert`."""
        return self.collection.insert(self.key, path, value, **rest)

    def append(self, path: Node, value: Any, **said: Any) -> Commit:
        """See :meth:`Collection.append`."""
        return self.collection.append(self.key, path, value, **said)

    def delete(self, path: Node | None = None, **said: Any) -> Commit:
        """See :meth:`Collection.delete`."""
        return self.collection.delete(self.key, path, **said)

    def rename(self, path: Node, name: str, **said: Any) -> Commit:
        """See :meth:`Collection.rename`."""
        return self.collection.rename(self.key, path, name, **said)

    def move(self, path: Node, to: Node, **rest: Any) -> Commit:
        """See :meth:`Collection.move`."""
        return self.collection.move(self.key, path, to, **rest)

    def revert(self, version: int, **said: Any) -> Commit:
        """See :meth:`Collection.revert`."""
        return self.collection.revert(self.key, version, **said)

    def at(
        self,
        *,
        version: int | None = None,
        time: datetime | str | None = None,
        csn: int | None = None,
        authored: datetime | str | None = None,
    ) -> Any:
        """Its value at a moment."""
        at = self.collection.at(version=version, time=time, csn=csn, authored=authored)
        return at[self.key]

    def history(self, limit: int | None = None) -> Records[Version]:
        """See :meth:`Collection.history`."""
        return self.collection.history(self.key, limit)

    def diff(self, a: int | None = None, b: int | None = None) -> Records[Change]:
        """See :meth:`Collection.diff`."""
        return self.collection.diff(self.key, a, b)

    def json_patch(self, a: int | None = None, b: int | None = None) -> list[dict[str, Any]]:
        """See :meth:`Collection.json_patch`."""
        return self.collection.json_patch(self.key, a, b)

    def node_history(self, path: Node) -> Records[NodeVersion]:
        """See :meth:`Collection.node_history`."""
        return self.collection.node_history(self.key, path)

    def blame(self, version: int | None = None) -> Records[BlameLine]:
        """See :meth:`Collection.blame`."""
        return self.collection.blame(self.key, version)

    def plot_history(
        self, path: Node | None = None, *, by: str = "time", ax: Axes | None = None
    ) -> Axes:
        """See :meth:`Collection.plot_history`."""
        return self.collection.plot_history(self.key, path, by=by, ax=ax)

    def explore(self, *, height: int = 620) -> Explorer:
        """Its history for a cell of a notebook; see :func:`anywhen.explore`."""
        from ._explore import explore

        return explore(self, height=height)

    def _repr_html_(self) -> str:
        """Its newest versions, as a notebook shows them."""
        return self.history(_KEYS_SHOWN)._repr_html_()

    def __repr__(self) -> str:
        return f"<anywhen.Document {self.key!r} of {self.collection.name!r}>"


def _documents(name: str, keys: list[str], get: Callable[[str], Any]) -> str:
    """The first documents of a list as a table of HTML."""
    rows = [(key, get(key)) for key in keys[:_KEYS_SHOWN]]
    more = "<p>and more</p>" if len(keys) > _KEYS_SHOWN else ""
    return table(("key", name), rows, len(rows)) + more


def _name(name: str | None) -> str | None:
    return None if name is None else text_of("name=", name)


def _authored(moment: datetime) -> int:
    if not isinstance(moment, datetime):
        raise TypeError(f"authored= is a datetime with a time zone, not {type(moment).__name__}")
    us = microseconds_of(moment)
    if us < 0:
        raise EditError(f"authored={moment!r} is before 1970", "22023")
    return us


def _no_more(function: str, rest: dict[str, Any]) -> None:
    if rest:
        raise TypeError(f"{function}() got an unexpected keyword argument {next(iter(rest))!r}")


def _pages(store: Store, name: str, prefix: str, after: str, at: At) -> Iterator[str]:
    while True:
        page = store.keys(name, prefix, after, PAGE, at)
        yield from page
        if len(page) < PAGE:
            return
        after = page[-1]
