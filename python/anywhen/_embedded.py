"""A database in this process: the engine's answers as records."""

from __future__ import annotations

import gzip
from typing import Any

from . import _native
from ._changes import EmbeddedFeed, Wanted
from ._store import At, Node, Numbers, Said
from .errors import DataError, NotSupportedError
from .records import (
    BlameLine,
    Change,
    CollectionOptions,
    Commit,
    NodeVersion,
    Version,
    change_of,
    moment_of,
)


def _commit(row: tuple[int, int, int, bool], node_key: int | None = None) -> Commit:
    version, csn, time_us, changed = row
    return Commit(version, csn, moment_of(time_us), changed, node_key)


class EmbeddedStore:
    """Documents of a database in this process."""

    def __init__(self, native: _native.Database, numbers: Numbers) -> None:
        self.native = native
        self.numbers = numbers

    def collections(self) -> list[str]:
        return self.native.collections()

    def create_collection(
        self, name: str, history: str | None, hashes: bool | None, path_summary: bool | None
    ) -> CollectionOptions:
        return CollectionOptions(
            *self.native.create_collection(name, history, hashes, path_summary)
        )

    def collection_options(self, name: str) -> CollectionOptions:
        return CollectionOptions(*self.native.collection_options(name))

    def set_history(self, name: str, history: str) -> None:
        self.native.set_history(name, history)

    def drop_collection(self, name: str, purge: bool) -> bool:
        return self.native.drop_collection(name, purge)

    def count(self, collection: str) -> int:
        return self.native.count(collection)

    def keys(
        self, collection: str, prefix: str, after: str, limit: int, at: At = None
    ) -> list[str]:
        return self.native.keys(collection, prefix, after, limit, at)

    def get(self, collection: str, key: str, at: At = None) -> tuple[int, Any] | None:
        return self.native.get(collection, key, self.numbers, at)

    def get_node(self, collection: str, key: str, node: Node, at: At = None) -> Any:
        return self.native.get_node(collection, key, node, self.numbers, at)

    def put(self, collection: str, key: str, value: Any, said: Said) -> Commit:
        return _commit(self.native.put(collection, key, value, said))

    def edit(
        self,
        collection: str,
        key: str,
        said: Said,
        op: str,
        node: Node,
        json: bytes | None = None,
        to: Node | None = None,
        at: str | None = None,
        name: str | None = None,
    ) -> Commit:
        row, made = self.native.edit(collection, key, said, op, node, json, to, at, name)
        return _commit(row, made)

    def remove(self, collection: str, key: str, said: Said) -> Commit | None:
        row = self.native.remove(collection, key, said)
        return None if row is None else _commit(row)

    def revert(self, collection: str, key: str, to: int, said: Said) -> Commit:
        return _commit(self.native.revert(collection, key, to, said))

    def newest(self, collection: str, key: str) -> int:
        return self.native.newest(collection, key)

    def history(self, collection: str, key: str, limit: int | None) -> list[Version]:
        rows = self.native.history(collection, key, limit)
        return [
            Version(
                version,
                csn,
                moment_of(time_us),
                author,
                message,
                None if authored_us is None else moment_of(authored_us),
                deleted,
                kept,
                role,
            )
            for version, csn, time_us, author, message, authored_us, deleted, kept, role in rows
        ]

    def diff(self, collection: str, key: str, old: int, new: int) -> list[Change]:
        changes = self.native.diff(collection, key, old, new, self.numbers)
        return [change_of(told) for told in changes]

    def json_patch(self, collection: str, key: str, old: int, new: int) -> list[dict[str, Any]]:
        return self.native.json_patch(collection, key, old, new, self.numbers)

    def node_history(self, collection: str, key: str, node: Node) -> list[NodeVersion]:
        runs = self.native.node_history(collection, key, node, self.numbers)
        return [
            NodeVersion(
                value,
                first,
                last,
                moment_of(from_us),
                None if to_us is None else moment_of(to_us),
                node_key,
                None if authored_us is None else moment_of(authored_us),
                *by,
            )
            for value, first, last, from_us, to_us, node_key, authored_us, by in runs
        ]

    def history_page(self, collection: str, key: str) -> str:
        packed = _native.export_page()
        if packed is None:
            raise NotSupportedError("this package was built without the explorer", "0A000")
        page = self.native.history_page(collection, key, gzip.decompress(packed).decode())
        if page is None:
            raise DataError(f"the history of {key!r} is too long for one page", "54000")
        return page

    def blame(self, collection: str, key: str, version: int | None) -> list[BlameLine]:
        rows = self.native.blame(collection, key, self.numbers, version)
        return [
            BlameLine(
                path,
                node,
                number,
                moment_of(us),
                author,
                message,
                is_container,
                value,
                role,
                None if authored_us is None else moment_of(authored_us),
            )
            for path, node, number, us, author, message, is_container, value, role, authored_us in rows
        ]

    # --- commits -----------------------------------------------------------------------------------

    def changes(self, wanted: Wanted) -> EmbeddedFeed:
        return EmbeddedFeed(self.native, wanted, self.numbers)

    def newest_commit(self) -> int:
        return self.native.newest_commit()

    # --- SQL ---------------------------------------------------------------------------------------

    def session(self) -> _native.Session:
        return self.native.session()

    def refuse(self) -> None:
        self.native.refuse()

    def close(self) -> None:
        self.native.close()
