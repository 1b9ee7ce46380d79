"""Transactions over documents: all of it happens, or none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import _native
from ._collection import _authored, _Handle, _name
from ._native import dumps
from ._store import Node, can_be_key, collection_of, key_of, node_of, text_of, where_of
from .errors import InterfaceError, NotFoundError

if TYPE_CHECKING:
    from ._database import Database
    from ._http_transaction import HttpTransaction


class Transaction(_Handle):
    """Changes of documents in any collections, as one commit.

    It sees the database as of its beginning, and its own changes. The first to change a document wins:
    a later one that began earlier gets :class:`~anywhen.ConflictError` and
    begins anew. ::

        with db.transaction(message="moved", author="ada") as tx:
            stock, orders = tx.collection("stock"), tx.collection("orders")
            stock.update("apples", "$.count", stock["apples"]["count"] - 1)
            orders["o7"] = {"what": "apples"}

    The block ends with a commit, or takes everything back where it ends with an exception.

    Over HTTP changes are sent with the commit, and so it is then that errors and conflicts are found, and
    versions and node keys are not known before. A document that was edited by path is not read there again.
    """

    __slots__ = ("__weakref__", "_author", "_database", "_message", "_native", "csn")

    def __init__(
        self,
        database: Database,
        native: _native.Transaction | HttpTransaction,
        message: str,
        author: str,
    ) -> None:
        self._database = database
        self._native = native
        self._message = message
        self._author = author
        #: The number of the commit, once there is one.
        self.csn: int | None = None

    def collection(self, name: str) -> TransactionCollection:
        """A collection inside the transaction. Where there is none, it is made by the first ``put``: at once, and
        not by the commit."""
        return TransactionCollection(self, collection_of(name))

    def commit(
        self,
        message: str | None = None,
        author: str | None = None,
        authored: datetime | None = None,
    ) -> int:
        """Makes all changes durable and visible; returns the number of the commit. ``authored`` is when they were
        made where they come from."""
        message = self._message if message is None else message
        author = self._author if author is None else author
        authored_us = None if authored is None else _authored(authored)
        said = (text_of("message=", message), text_of("author=", author), authored_us, None)
        self.csn = self._native.commit(said)
        return self.csn

    def rollback(self) -> None:
        """Takes all changes back; nothing where the transaction has ended."""
        self._native.rollback()

    @property
    def is_open(self) -> bool:
        """True until it is committed or taken back."""
        return self._native.is_open()

    def __enter__(self) -> Transaction:
        if not self.is_open:
            raise InterfaceError("the transaction is closed")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self.rollback()
        elif self.is_open:
            self.commit()

    def __repr__(self) -> str:
        state = "open" if self.is_open else "ended" if self.csn is None else f"commit {self.csn}"
        return f"<anywhen.Transaction {state}>"


class TransactionCollection(_Handle):
    """A collection inside a transaction: read and write by key; it cannot be listed.

    ``collection[key]``, ``collection[key] = value``, ``del collection[key]``, ``key in collection`` and the
    edits of :class:`~anywhen.Collection`, which give the key of the node that they made.
    """

    __slots__ = ("_transaction", "name")

    # Not to be iterated by position either.
    __iter__ = None

    def __init__(self, transaction: Transaction, name: str) -> None:
        self._transaction = transaction
        #: The collection's name.
        self.name = name

    def _found(self, key: str) -> tuple[int, Any] | None:
        numbers = self._transaction._database.numbers
        return self._transaction._native.get(self.name, key_of(key), numbers)

    def get(self, key: str, default: Any = None) -> Any:
        """The document as the transaction sees it; ``default`` where there is none."""
        found = self._found(key)
        return default if found is None else found[1]

    def __getitem__(self, key: str) -> Any:
        found = self._found(key)
        if found is None:
            raise NotFoundError(f"there is no document {key!r} in {self.name!r}", "02000")
        return found[1]

    def __contains__(self, key: object) -> bool:
        return can_be_key(key) and self._found(str(key)) is not None

    def __setitem__(self, key: str, value: Any) -> None:
        self.put(key, value)

    def __delitem__(self, key: str) -> None:
        self.delete(key)

    def put(self, key: str, value: Any) -> int | None:
        """Gives a document a value; returns the version that it will have, where that is known."""
        return self._transaction._native.put(self.name, key_of(key), value)

    def update(self, *given: Any) -> int | None:
        """``update(key, path, value)`` gives one node a value; ``update({key: value})`` puts many documents."""
        if len(given) == 3:
            key, path, value = given
            return self._edit(key, "set", path, dumps(value))
        if len(given) != 1:
            raise TypeError("update() takes key, path and value, or a mapping of keys to values")
        documents: Iterable[tuple[str, Any]]
        documents = given[0].items() if isinstance(given[0], Mapping) else given[0]
        for key, value in documents:
            self.put(key, value)
        return None

    def insert(
        self, key: str, path: Node, value: Any, *, where: str = "last", name: str | None = None
    ) -> int | None:
        """See :meth:`anywhen.Collection.insert`."""
        return self._edit(key, "insert", path, dumps(value), None, where_of(where), _name(name))

    def append(self, key: str, path: Node, value: Any) -> int | None:
        """See :meth:`anywhen.Collection.append`."""
        return self._edit(key, "insert", path, dumps(value), None, "last")

    def delete(self, key: str, path: Node | None = None) -> None:
        """See :meth:`anywhen.Collection.delete`."""
        if path is None:
            self._transaction._native.remove(self.name, key_of(key))
        else:
            self._edit(key, "remove", path)

    def rename(self, key: str, path: Node, name: str) -> None:
        """See :meth:`anywhen.Collection.rename`."""
        self._edit(key, "rename", path, None, None, None, text_of("name=", name))

    def move(
        self, key: str, path: Node, to: Node, *, where: str = "last", name: str | None = None
    ) -> None:
        """See :meth:`anywhen.Collection.move`."""
        self._edit(key, "move", path, None, node_of(to), where_of(where), _name(name))

    def _edit(self, key: str, op: str, path: Node, *rest: Any) -> int | None:
        return self._transaction._native.edit(self.name, key_of(key), op, node_of(path), *rest)

    def __repr__(self) -> str:
        return f"<anywhen.TransactionCollection {self.name!r}>"
