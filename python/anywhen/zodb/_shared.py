"""The state that all instances of one storage share: the backend, the load cache, the folder of blobs, oids."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

from ZODB.POSException import StorageError
from ZODB.utils import p64

from ._backend import Backend
from ._blobs import BlobFolder
from ._cache import LoadCache

if TYPE_CHECKING:
    from ._storage import AnywhenStorage

# Oids that are taken at once: first, and at most. Who makes many objects asks seldom.
_OIDS, _OIDS_MAX = 16, 256


class ClosedError(StorageError):
    """The storage is closed, or this instance of it was released."""


class _Closed:
    """Stands where a backend was."""

    def __getattr__(self, name: str) -> NoReturn:
        raise ClosedError("the storage is closed, or this instance of it was released")


#: The backend of a closed storage: every call of it fails.
CLOSED: Any = _Closed()


class Shared:
    """One open storage of a process. It is closed with the instance that opened it."""

    def __init__(
        self,
        backend: Backend,
        name: str,
        *,
        close: Callable[[], None],
        read_only: bool,
        keeps_history: bool,
        pack_gc: bool,
        cache_bytes: int,
        blob_dir: str | None,
        blob_cache_bytes: int | None,
    ) -> None:
        self.backend = backend
        # Only a server's backend has something to wait for.
        self._sync: Callable[[], None] | None = getattr(backend, "sync", None)
        self.name = name
        self.read_only = read_only
        self.keeps_history = keeps_history
        self.pack_gc = pack_gc
        self.cache = LoadCache(cache_bytes)
        self.cache.start(backend.last_tid())
        self.blobs = BlobFolder(blob_dir, blob_cache_bytes)
        self._close = close
        self._lock = threading.Lock()
        self._instances: weakref.WeakSet[AnywhenStorage] = weakref.WeakSet()
        self._oids: Iterator[int] = iter(())
        self._oids_count = _OIDS

    def sync(self) -> None:
        """Makes ``last_tid`` cover what was acknowledged anywhere before this call."""
        if self._sync is not None:
            self._sync()

    def add(self, instance: AnywhenStorage) -> None:
        """Notes an instance that is to end with the storage."""
        with self._lock:
            self._instances.add(instance)

    def new_oid(self) -> bytes:
        """An oid that no record has."""
        while True:
            for oid in self._oids:
                return p64(oid)
            # Two threads may come here at once; then some oids are never used.
            count = self._oids_count
            first = self.backend.new_oids(count)
            self._oids, self._oids_count = iter(range(first, first + count)), min(count * 2, _OIDS_MAX)

    def forget_oids(self) -> None:
        """Drops the oids that were taken: a restored record may have one of them."""
        self._oids = iter(())

    def close(self) -> None:
        """Closes the backend and ends every instance; nothing where it is closed."""
        with self._lock:
            backend, self.backend = self.backend, CLOSED
            instances, self._instances = list(self._instances), weakref.WeakSet()
        if backend is CLOSED:
            return
        for instance in instances:
            instance._end()
        self.cache.clear()
        try:
            backend.close()
        finally:
            self._close()
            self.blobs.close()
