"""The records of the database: named tuples, which compare, print and pickle, and which cannot change.

All times are :class:`datetime.datetime` in UTC.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple

from .errors import InvalidValueError

__all__ = [
    "BlameLine",
    "Change",
    "CollectionOptions",
    "Column",
    "Commit",
    "DocumentChange",
    "NodeVersion",
    "Version",
]

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)

# Before this, in 2106, seconds as a float are nearer to their microsecond than to any other.
_EXACT_US = (1 << 32) * 1_000_000


def moment_of(us: int) -> datetime:
    """The time so many microseconds after 1970."""
    if us < _EXACT_US:
        return datetime.fromtimestamp(us / 1_000_000, timezone.utc)
    return _EPOCH + timedelta(microseconds=us)


def microseconds_of(moment: datetime) -> int:
    """Microseconds from 1970 to a time, which must say where it is."""
    if moment.tzinfo is None:
        raise InvalidValueError(
            f"{moment!r} has no time zone: write datetime(..., tzinfo=timezone.utc), or moment.astimezone()",
            "22007",
        )
    return (moment - _EPOCH) // _MICROSECOND


class Commit(NamedTuple):
    """A write that is on the disk."""

    #: The document's newest version.
    version: int
    #: The number of the commit in the database.
    csn: int
    #: When it was committed.
    time: datetime
    #: False where the document already was as asked: then this is the version that made it so.
    changed: bool
    #: The key of the node that is new or holds the value, where one was set or inserted here.
    node_key: int | None = None


class Version(NamedTuple):
    """One version of a document: who made it, when and why."""

    #: 1, 2, 3 ...
    version: int
    #: The number of the commit in the database.
    csn: int
    #: When it was committed.
    time: datetime
    author: str
    message: str
    #: When it was made where it comes from, for imports.
    authored: datetime | None = None
    #: True where it removed the document.
    deleted: bool = False
    #: True where the document can still be read as it was then.
    kept: bool = True
    #: The authenticated role of the committing client; empty without authentication.
    role: str = ""


class Change(NamedTuple):
    """One difference between two versions of a document."""

    #: ``insert``, ``update``, ``delete``, ``move``, ``rename`` or ``replace``.
    op: str
    #: Where the node stands in the newer version; for a delete, where it stood.
    path: str
    #: The node: the same in every version.
    node_key: int
    #: The value before, or the name for a rename; None also where there was none.
    old: Any = None
    #: The value now, or the name for a rename; None also where there is none.
    new: Any = None
    #: Where a node that moved stood before.
    from_path: str | None = None


class DocumentChange(NamedTuple):
    """A version of a document, as somebody who follows the database learns of it."""

    #: The number of the commit.
    csn: int
    collection: str
    key: str
    #: The version that the commit made.
    version: int
    #: True where it removed the document.
    deleted: bool
    #: When it was committed; None where the document was erased since, of which no more is told.
    time: datetime | None
    author: str = ""
    message: str = ""
    #: What differs from the version before, where ``diff=True`` asked for it; None also where there is
    #: nothing to compare with: it is the first, it removes, or one of the two is not kept any more.
    changes: tuple[Change, ...] | None = None
    #: The authenticated role of the committing client; empty without authentication.
    role: str = ""
    #: When it was made where it comes from, for imports.
    authored: datetime | None = None


class NodeVersion(NamedTuple):
    """The value of one node over some versions in a row."""

    value: Any
    #: The first version that has it.
    from_version: int
    #: The last version that has it; None where it is the value of now.
    to_version: int | None
    from_time: datetime
    #: When the next version was committed; None where it is the value of now.
    to_time: datetime | None
    #: The node that had it: another one stands at a path where its field was removed and added again.
    node_key: int
    #: When the first version was made where it comes from, for imports.
    authored: datetime | None = None
    #: Who made the first version, and why.
    author: str = ""
    message: str = ""
    #: The authenticated role of the client that committed the first version; empty without authentication.
    role: str = ""


class BlameLine(NamedTuple):
    """Which version last changed a node."""

    path: str
    node_key: int
    version: int
    time: datetime
    author: str
    message: str
    #: True for objects and arrays: what is changed of these is which children they have.
    is_container: bool
    #: The value of a scalar; None for a container.
    value: Any = None
    #: The authenticated role of the committing client; empty without authentication.
    role: str = ""
    #: When it was made where it comes from, for imports.
    authored: datetime | None = None


class CollectionOptions(NamedTuple):
    """The options of a collection."""

    #: ``forever``, ``none``, or a time such as ``90d``.
    history: str = "forever"
    #: A rolling hash of every document.
    hashes: bool = False
    #: The paths of every document, so that they are read and not computed.
    path_summary: bool = False


class Column(NamedTuple):
    """A column of an answer of SQL."""

    name: str
    #: The name of its type in SQL, such as ``integer`` or ``text[]``.
    type: str
    #: The number of its type.
    oid: int
    #: Digits in all, and behind the point, of a ``numeric(precision, scale)``.
    precision: int | None = None
    scale: int | None = None


def change_of(told: dict[str, Any]) -> Change:
    """A change as JSON tells it."""
    return Change(
        op=told["op"],
        path=told["path"],
        node_key=told["node_key"],
        old=told.get("old"),
        new=told.get("new"),
        from_path=told.get("from"),
    )
