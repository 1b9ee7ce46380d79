"""Anywhen: a database that keeps every version of everything, in your process or over the wire. ::

    import anywhen

    db = anywhen.open("data")                    # embedded, no server
    articles = db.collection("articles")
    articles["a1"] = {"title": "Anywhen", "counter": 0}
    articles.update("a1", "$.counter", 1, message="first edit")
    articles.at(version=1)["a1"]                 # {"title": "Anywhen", "counter": 0}
    articles.history("a1")                       # who, when and why
    articles.diff("a1", 1, 2)                    # what changed, node by node
    articles.node_history("a1", "$.counter")     # every value that one field ever had

    db.sql("SELECT $1::int + 1 AS next", [41]).fetchall()

:func:`connect` does the same with a server, and :mod:`anywhen.aio` with asyncio; :mod:`anywhen.dbapi` is SQL as PEP 249 has it.
"""

import os as _os
import sys as _sys
from importlib.util import find_spec as _find_spec

if _find_spec(__name__ + "._native") is not None:
    from . import _native
else:
    # An installation for servers alone: what the native half does for these is done in Python. A native half that
    # is there and cannot be loaded is an error, which says why.
    from . import _pure as _native  # type: ignore[no-redef]

    _sys.modules[__name__ + "._native"] = _native

from . import dbapi, errors
from ._changes import Changes
from ._collection import Collection, Document, View
from ._database import Database, connect, open
from ._explore import Explorer, explore
from ._git import GitImport
from ._numbers import WrittenDecimal, WrittenFloat
from ._parameters import Json
from ._records import Records
from ._sql import Result, Session
from ._transaction import Transaction, TransactionCollection
from .errors import (
    ConflictError,
    DamagedError,
    DatabaseError,
    DataError,
    EditError,
    Error,
    ForgottenError,
    IntegrityError,
    InterfaceError,
    InternalError,
    InvalidValueError,
    NotFoundError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    StaleError,
)
from .records import (
    BlameLine,
    Change,
    CollectionOptions,
    Column,
    Commit,
    DocumentChange,
    NodeVersion,
    Version,
)

__version__: str = _native.__version__

__all__ = [
    "BlameLine",
    "Change",
    "Changes",
    "Collection",
    "CollectionOptions",
    "Column",
    "Commit",
    "ConflictError",
    "DamagedError",
    "DataError",
    "Database",
    "DatabaseError",
    "Document",
    "DocumentChange",
    "EditError",
    "Error",
    "Explorer",
    "ForgottenError",
    "GitImport",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "InvalidValueError",
    "Json",
    "NodeVersion",
    "NotFoundError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Records",
    "Result",
    "Session",
    "StaleError",
    "Transaction",
    "TransactionCollection",
    "Version",
    "View",
    "WrittenDecimal",
    "WrittenFloat",
    "connect",
    "dbapi",
    "errors",
    "explore",
    "open",
]

# An open object belongs to the process that opened it: the threads behind it do not go with a fork.
if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(after_in_child=_native._forked)
