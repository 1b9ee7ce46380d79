"""Objects of a database in this process: the native half is the backend itself."""

from __future__ import annotations

from .. import _native
from .._database import Database
from ..errors import NotFoundError
from ._backend import Backend


def objects(database: Database, name: str, create: bool, keeps_history: bool) -> Backend:
    """The objects of the storage ``name`` of a database. With ``create`` a missing one is made, and
    ``keeps_history`` says whether it keeps old records; of one that exists it must be the same."""
    native: _native.Database = database._store.native
    backend: Backend | None = native.objects(name, create, keeps_history)
    if backend is None:
        raise NotFoundError(f"there is no ZODB storage {name!r} in the database", "42P01")
    return backend
