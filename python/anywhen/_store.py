"""The interface of a database for collections, in this process or on a server.

::

    Collection, View, Document ── Store ──┬── EmbeddedStore   this process
                                          ├── HttpStore       a server over HTTP
                                          └── PostgresStore   a server over PostgreSQL's protocol: SQL alone
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from .errors import EditError, NotFoundError
from .records import BlameLine, Change, CollectionOptions, Commit, NodeVersion, Version

if TYPE_CHECKING:
    from . import _native
    from ._changes import Feed, Wanted

#: How numbers with a fraction come out.
Numbers = Literal["exact", "float", "decimal"]

#: ``("version", 3)``, ``("time", microseconds)``, ``("authored", microseconds)``, ``("csn", 17)``; None for now.
At = tuple[str, int] | None

#: A node: a path such as ``$.items[3].qty`` or ``/items/3/qty``, or a node key.
Node = str | int

#: Keys that are asked for at a time.
PAGE = 1_000


class Said(NamedTuple):
    """The metadata of a write; the order is that of the native module."""

    message: str = ""
    author: str = ""
    authored_us: int | None = None
    #: Write only where this is the newest version; 0 where there must be no document.
    if_version: int | None = None


class Store(Protocol):
    """Documents by collection and key."""

    def collections(self) -> list[str]: ...

    def create_collection(
        self, name: str, history: str | None, hashes: bool | None, path_summary: bool | None
    ) -> CollectionOptions: ...

    def collection_options(self, name: str) -> CollectionOptions: ...

    def set_history(self, name: str, history: str) -> None: ...

    def drop_collection(self, name: str, purge: bool) -> bool: ...

    def count(self, collection: str) -> int: ...

    def keys(
        self, collection: str, prefix: str, after: str, limit: int, at: At = None
    ) -> list[str]: ...

    def get(self, collection: str, key: str, at: At = None) -> tuple[int, Any] | None: ...

    def get_node(self, collection: str, key: str, node: Node, at: At = None) -> Any: ...

    def put(self, collection: str, key: str, value: Any, said: Said) -> Commit: ...

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
    ) -> Commit: ...

    def remove(self, collection: str, key: str, said: Said) -> Commit | None: ...

    def revert(self, collection: str, key: str, to: int, said: Said) -> Commit: ...

    def newest(self, collection: str, key: str) -> int: ...

    def history(self, collection: str, key: str, limit: int | None) -> list[Version]: ...

    def diff(self, collection: str, key: str, old: int, new: int) -> list[Change]: ...

    def json_patch(
        self, collection: str, key: str, old: int, new: int
    ) -> list[dict[str, Any]]: ...

    def node_history(self, collection: str, key: str, node: Node) -> list[NodeVersion]: ...

    def blame(self, collection: str, key: str, version: int | None) -> list[BlameLine]: ...

    def history_page(self, collection: str, key: str) -> str: ...

    def changes(self, wanted: Wanted) -> Feed: ...

    def newest_commit(self) -> int: ...

    def refuse(self) -> None:
        """Lets nothing begin from now on."""

    def close(self) -> None: ...


class Session(Protocol):
    """A session of SQL: what :class:`anywhen.Session` asks of it."""

    def query(self, text: str, parameters: list[str | None]) -> Any: ...

    def copy_in(self, text: str, data: bytes) -> int: ...

    def copy_arrow(self, text: str, data: _native.ArrowIn) -> int: ...

    def copy_out(self, text: str) -> bytes: ...

    def notices(self) -> list[tuple[str, str]]: ...

    def is_in_transaction(self) -> bool: ...

    def cancel(self) -> None: ...

    def close(self) -> None: ...

    def abort(self) -> None:
        """Ends it, and the statement that runs on it if one does."""

    def is_open(self) -> bool: ...


#: No number of a version, a commit or a node is larger.
_NUMBER_MAX = 2**63 - 1


def at_of(
    version: int | None = None,
    time: datetime | str | None = None,
    csn: int | None = None,
    authored: datetime | str | None = None,
) -> At:
    """The moment that one of the four names."""
    from ._native import parse_time
    from .records import microseconds_of

    given = [given for given in (version, time, csn, authored) if given is not None]
    if len(given) != 1:
        raise TypeError("a moment is one of version=, time=, csn= and authored=")
    if version is not None:
        return ("version", number_of("version", version))
    if csn is not None:
        return ("csn", number_of("csn", csn))
    name, moment = ("time", time) if authored is None else ("authored", authored)
    if isinstance(moment, str):
        return (name, parse_time(text_of(f"{name}=", moment)))
    if not isinstance(moment, datetime):
        what = type(moment).__name__
        raise TypeError(f"{name}= is a datetime with a time zone or a str, not {what}")
    return (name, max(0, microseconds_of(moment)))


def number_of(name: str, number: int) -> int:
    """A number that counts: versions, commits, how many of something."""
    if isinstance(number, bool) or not isinstance(number, int):
        raise TypeError(f"{name}= is an int, not {type(number).__name__}")
    if number < 0:
        raise EditError(f"{name}={number} is before the first", "22023")
    if number > _NUMBER_MAX:
        raise EditError(f"{name}= is larger than any number can be", "22023")
    return number


def text_of(what: str, text: str) -> str:
    """A text that UTF-8 can hold."""
    if not isinstance(text, str):
        raise TypeError(f"{what} is a str, not {type(text).__name__}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise EditError(f"{what} has half of a surrogate pair and is no text", "22021") from error
    return text


def node_of(node: Node) -> Node:
    """A path or a node key."""
    if isinstance(node, str):
        return text_of("a path", node)
    if isinstance(node, bool) or not isinstance(node, int):
        raise TypeError(f"a node is a path (str) or a node key (int), not {type(node).__name__}")
    if not 0 <= node <= _NUMBER_MAX:
        raise NotFoundError(f"there is no node {node:#x}" if node > 0 else f"there is no node {node}", "02000")
    return node


def collection_of(name: str) -> str:
    """The name of a collection."""
    if not text_of("the name of a collection", name):
        raise EditError("the name of a collection is not empty", "42602")
    return name


def key_of(key: str) -> str:
    """The key of a document."""
    if not text_of("the key of a document", key):
        raise EditError("the key of a document is not empty", "22023")
    return key


def can_be_key(key: object) -> bool:
    """False for what no document can be called."""
    try:
        return isinstance(key, str) and key_of(key) == key
    except EditError:
        return False


def where_of(where: str) -> str:
    """Where a node goes."""
    if where not in ("first", "last", "before", "after"):
        raise EditError(f"where={where!r} is none of first, last, before, after", "22023")
    return where
