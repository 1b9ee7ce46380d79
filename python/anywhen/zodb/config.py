"""The section ``<anywhen>`` of ZConfig files; `component.xml` has its keys. ::

    %import anywhen.zodb
    <zodb main>
        <anywhen>
            path $INSTANCE/var/anywhen
            blob-dir $INSTANCE/var/blobcache
        </anywhen>
    </zodb>
"""

from __future__ import annotations

from ZODB.config import BaseConfig

from ._open import open as open_storage
from ._storage import AnywhenStorage


class AnywhenSection(BaseConfig):  # type: ignore[misc]
    """One section; ``open`` makes its storage."""

    def open(self) -> AnywhenStorage:  # type: ignore[override]
        """Opens the storage that the section describes."""
        config = self.config
        return open_storage(
            config.path,
            config.storage,
            create=config.create,
            read_only=config.read_only,
            keeps_history=config.keep_history,
            cache_bytes=config.cache_size,
            blob_dir=config.blob_dir,
            blob_cache_bytes=config.blob_cache_size,
            pack_gc=config.pack_gc,
        )
