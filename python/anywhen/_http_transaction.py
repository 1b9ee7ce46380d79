"""A transaction over documents of a server: what it changes is kept here until it commits, as one request.

::

    begin ── the newest commit ──┐
    get      the document as it was at that commit, or as it was put here
    put, edit, remove ──> operations
    commit   POST /v1/transactions {"since": commit, "operations": [...]}    all of it, or ConflictError
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from . import _native
from ._store import Node, Numbers, Said
from .errors import InterfaceError, NotFoundError, NotSupportedError, make

if TYPE_CHECKING:
    from ._http import HttpStore

# Operations that a server takes as one commit.
_OPERATIONS_MAX = 10_000

_REMOVED = object()
_EDITED = object()


class HttpTransaction:
    """The transaction of :class:`anywhen.Transaction`, over HTTP."""

    def __init__(self, store: HttpStore) -> None:
        self._store = store
        self._since = store.newest_commit()
        self._operations: list[dict[str, Any]] = []
        # Documents as this transaction has made them: a value as it is sent, removed, or edited.
        self._own: dict[tuple[str, str], Any] = {}
        self._collections: set[str] = set()
        self._is_open = True
        self._lock = threading.Lock()

    def get(self, collection: str, key: str, numbers: Numbers) -> tuple[int, Any] | None:
        with self._lock:
            self._check()
            own = self._own.get((collection, key))
        if own is _REMOVED:
            return None
        if own is _EDITED:
            raise NotSupportedError(
                "over HTTP a document that was edited in a transaction can be read once that is committed",
                "0A000",
                hint="read it before, put it as a whole, or embed the database",
            )
        if own is not None:
            return 0, _native.loads(own, numbers)
        return self._store.get(collection, key, ("csn", self._since))

    def put(self, collection: str, key: str, value: Any) -> None:
        """Gives a document a value; which version that is turns out when it is committed."""
        json = _native.dumps(value)
        with self._lock:
            self._check()
            if collection not in self._collections:
                self._store.create_collection(collection, None, None, None)
                self._collections.add(collection)
            self._add("put", collection, key, value=_native.loads(json, "exact"))
            self._own[collection, key] = json

    def edit(
        self,
        collection: str,
        key: str,
        op: str,
        node: Node,
        json: bytes | None = None,
        to: Node | None = None,
        at: str | None = None,
        name: str | None = None,
    ) -> None:
        more: dict[str, Any] = {"at": at, "name": name}
        more = {field: value for field, value in more.items() if value is not None}
        if json is not None:
            more["value"] = _native.loads(json, "exact")
        more["path" if isinstance(node, str) else "node_key"] = node
        if to is not None:
            more["to_path" if isinstance(to, str) else "to_node_key"] = to
        with self._lock:
            self._check()
            self._add(op + "_node", collection, key, **more)
            self._own[collection, key] = _EDITED

    def remove(self, collection: str, key: str) -> None:
        if self.get(collection, key, "exact") is None:
            raise NotFoundError(f"no document {key!r}", "02000")
        with self._lock:
            self._check()
            self._add("delete", collection, key)
            self._own[collection, key] = _REMOVED

    def commit(self, said: tuple[str, str, int | None, int | None]) -> int:
        with self._lock:
            self._check()
            self._is_open = False
        return self._store.commit(self._since, self._operations, Said(*said))

    def rollback(self) -> None:
        with self._lock:
            self._is_open = False

    def is_open(self) -> bool:
        return self._is_open

    def _check(self) -> None:
        if not self._is_open:
            raise InterfaceError("the transaction is closed")

    def _add(self, op: str, collection: str, key: str, **more: Any) -> None:
        if len(self._operations) == _OPERATIONS_MAX:
            raise make(
                "value",
                "54000",
                f"over HTTP one commit changes {_OPERATIONS_MAX:,} documents or nodes at most",
                hint="make several commits, or embed the database, where it may be any number",
            )
        self._operations.append({"op": op, "collection": collection, "key": key, **more})
