"""The section ``<anywhen>`` of ZConfig files; `component.xml` has its keys. ::

    %import anywhen.zodb
    <zodb main>
        <anywhen>
            path $INSTANCE/var/anywhen
            blob-dir $INSTANCE/var/blobcache
        </anywhen>
    </zodb>

``dsn anywhen://site:secret@db.example.org:5433/postgres`` instead of ``path`` is a storage of a server.
"""

from __future__ import annotations

from ZODB.config import BaseConfig

from ._open import is_server
from ._open import open as open_storage
from ._storage import AnywhenStorage


def server_address(text: str) -> str:
    """The address of a server, as it is; fails where it is none."""
    if not is_server(text):
        raise ValueError("dsn begins with anywhen:// or postgres://")
    return text


class AnywhenSection(BaseConfig):  # type: ignore[misc]
    """One section; ``open`` makes its storage."""

    def open(self) -> AnywhenStorage:  # type: ignore[override]
        """Opens the storage that the section describes."""
        config = self.config
        if (config.path is None) == (config.dsn is None):
            raise ValueError("<anywhen> has either path, a folder, or dsn, the address of a server")
        return open_storage(
            config.path if config.dsn is None else config.dsn,
            config.storage,
            create=config.create,
            read_only=config.read_only,
            keeps_history=config.keep_history,
            cache_bytes=config.cache_size,
            blob_dir=config.blob_dir,
            blob_cache_bytes=config.blob_cache_size,
            pack_gc=config.pack_gc,
        )
