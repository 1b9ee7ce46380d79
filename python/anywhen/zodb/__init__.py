"""A ZODB storage that keeps its objects in an Anywhen database. ::

    import ZODB, anywhen.zodb

    db = ZODB.DB(anywhen.zodb.open("data"))
    with db.transaction() as connection:
        connection.root()["hello"] = "world"

It needs ZODB: ``pip install "anywhen-db[zodb]"``. Other programs import :mod:`anywhen` without it. The guide
is ``docs/guide/zodb.md``; ``python -m anywhen.zodb --help`` converts and packs.
"""

try:
    import ZODB  # noqa: F401
except ImportError as error:
    raise ImportError(
        'anywhen.zodb needs ZODB, which is not installed: pip install "anywhen-db[zodb]"'
    ) from error

from ._copy import DifferenceError
from ._open import open
from ._shared import ClosedError
from ._storage import AnywhenStorage

#: The class of the storage that :func:`open` returns.
Storage = AnywhenStorage

__all__ = ["AnywhenStorage", "ClosedError", "DifferenceError", "Storage", "open"]
