"""Opening a storage."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from .. import _database
from . import _embedded, _wire
from ._backend import Backend
from ._shared import Shared
from ._storage import AnywhenStorage

#: The size of the load cache, where nothing else is said.
CACHE_BYTES = 128 << 20

# The beginnings of addresses of servers.
_SERVER = re.compile(r"(anywhen|postgres|postgresql)://")


def open(  # noqa: A001  (anywhen.zodb.open is what it is called)
    place: str | os.PathLike[str] | _database.Database | None,
    storage: str = "main",
    *,
    create: bool = True,
    read_only: bool = False,
    keeps_history: bool = True,
    cache_bytes: int = CACHE_BYTES,
    blob_dir: str | os.PathLike[str] | None = None,
    blob_cache_bytes: int | None = None,
    pack_gc: bool = True,
) -> AnywhenStorage:
    """Opens a storage of a database, for ``ZODB.DB``.

    ``place`` is the folder of a database, None for one in memory, the address of a server
    (``anywhen://user:password@host:port/database``), or a database that ``anywhen.open`` or
    ``anywhen.connect`` gave; that one stays open when the storage is closed. A database has any number of
    storages, by name.

    ``create`` makes a storage, and a database, where there is none. ``keeps_history`` keeps old records, for
    undo, history and historical connections, until they are packed. ``cache_bytes`` is the memory for
    records that all connections share. ``blob_dir`` is a folder for blobs that were used here; without one
    it is a temporary folder. Above ``blob_cache_bytes``, files that were not used for long are removed from
    it. ``pack_gc`` says whether ``pack`` removes objects that cannot be reached.
    """
    close: Callable[[], None]
    if isinstance(place, _database.Database):
        database, close, name = place, _nothing, f"{place!r} {storage}"
    elif is_server(place):
        assert isinstance(place, str)
        database = _database.connect(_SERVER.sub("postgres://", place))
        close, name = database.close, f"{database!r} {storage}"
    else:
        mode = "if_missing" if create and not read_only else "never"
        database = _database.open(place, create="if_missing" if place is None else mode)
        close, name = database.close, f"{_name_of(place)}#{storage}"
    try:
        objects = _embedded.objects if database.is_embedded else _wire.objects
        backend: Backend = objects(database, storage, create and not read_only, keeps_history)
        shared = Shared(
            backend,
            name,
            close=close,
            read_only=read_only,
            keeps_history=keeps_history,
            pack_gc=pack_gc,
            cache_bytes=cache_bytes,
            blob_dir=None if blob_dir is None else os.fspath(blob_dir),
            blob_cache_bytes=blob_cache_bytes,
        )
    except BaseException:
        close()
        raise
    return AnywhenStorage(shared)


def is_server(place: object) -> bool:
    """True for the address of a server."""
    return isinstance(place, str) and _SERVER.match(place) is not None


def _name_of(folder: str | os.PathLike[str] | None) -> str:
    return "anywhen:memory" if folder is None else f"anywhen:{os.path.abspath(os.fspath(folder))}"


def _nothing() -> None:
    pass
