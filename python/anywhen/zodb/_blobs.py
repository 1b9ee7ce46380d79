"""A folder with the blobs that this machine has used: a cache of those in the database. ::

    blob_dir/
    ├── tmp/                                  what is being written, uploaded or fetched
    └── 1f/                                   the last byte of the oid
        └── 000000000000021f/                 the oid
            └── 03f2a1b2c3d4e5f6.blob         the tid; read-only

Every file can be removed at any time: it is fetched again when it is needed. Blobs are never in memory as a
whole. Several processes may share a folder.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterator

from ZODB.blob import remove_committed, rename_or_copy_blob, set_not_writable

# A file that was used so recently is not removed, in seconds: its name may just have been handed out.
_IN_USE_S = 120
# The time of the last use is written down so often, in seconds.
_USE_S = 30
# Where the limit is exceeded, files go until so much of it is used.
_TRIM_TO = 0.9


class BlobFolder:
    """Files of blobs by oid and tid. It also is what ZODB calls a storage's ``fshelper``."""

    def __init__(self, folder: str | None, bytes_max: int | None) -> None:
        self._lock = threading.Lock()
        self._bytes_max = bytes_max
        self._added_bytes = 0
        self._trimmer: threading.Thread | None = None
        self._base: str | None = None
        if folder is not None:
            self._base = os.path.abspath(folder)
            self._make(self._base)
            if bytes_max is not None:
                self._start_trimming()

    @staticmethod
    def _make(base: str) -> None:
        os.makedirs(os.path.join(base, "tmp"), exist_ok=True)

    @property
    def base_dir(self) -> str:
        """The folder; one below the system's folder for temporary files where none was given."""
        if self._base is None:
            with self._lock:
                if self._base is None:
                    base = tempfile.mkdtemp(prefix="anywhen-blobs-")
                    self._make(base)
                    self._remove_at_end = weakref.finalize(self, shutil.rmtree, base, True)
                    self._base = base
        return self._base

    @property
    def temp_dir(self) -> str:
        """Where uncommitted blobs are, on the same file system."""
        return os.path.join(self.base_dir, "tmp")

    def close(self) -> None:
        """Removes the folder if it is a temporary one."""
        remove = getattr(self, "_remove_at_end", None)
        if remove is not None:
            remove()

    # --- names -------------------------------------------------------------------------------------

    def getPathForOID(self, oid: bytes, create: bool = False) -> str:
        """The folder of an object's blobs."""
        path = os.path.join(self.base_dir, oid[-1:].hex(), oid.hex())
        if create:
            os.makedirs(path, exist_ok=True)
        return path

    def getBlobFilename(self, oid: bytes, tid: bytes) -> str:
        """The file of a blob, whether it is there or not."""
        return os.path.join(self.getPathForOID(oid), f"{tid.hex()}.blob")

    def temporary_name(self) -> str:
        """A unique name below ``temp_dir``."""
        return os.path.join(self.temp_dir, f"{os.getpid():x}-{os.urandom(8).hex()}")

    # --- files -------------------------------------------------------------------------------------

    def stage(self, path: str) -> str:
        """Takes ownership of a file with a new blob; returns where it is until the commit."""
        staged = self.temporary_name()
        rename_or_copy_blob(path, staged, chmod=False)
        return staged

    def stage_copy(self, path: str) -> str:
        """Like :meth:`stage`, and leaves the file where it is."""
        staged = self.temporary_name()
        try:
            os.link(path, staged)
        except OSError:
            shutil.copyfile(path, staged)
        return staged

    def commit(self, staged: str, oid: bytes, tid: bytes) -> None:
        """Gives a staged file the name of a committed blob."""
        self.getPathForOID(oid, create=True)
        path = self.getBlobFilename(oid, tid)
        rename_or_copy_blob(staged, path)
        self._added(path)

    def discard(self, staged: str) -> None:
        """Removes a staged file."""
        with contextlib.suppress(FileNotFoundError):
            os.remove(staged)

    def find(self, oid: bytes, tid: bytes) -> str | None:
        """The file of a blob where it is here, which counts as a use of it."""
        path = self.getBlobFilename(oid, tid)
        try:
            found = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        now = time.time()
        if found.st_atime < now - _USE_S:
            with contextlib.suppress(OSError):
                os.utime(path, (now, found.st_mtime))
        return path

    def fetch(self, oid: bytes, tid: bytes, write: Callable[[str], bool]) -> str | None:
        """The file of a blob, which ``write`` makes; None where that answers that there is no blob."""
        new = self.temporary_name()
        try:
            if not write(new):
                return None
            self.getPathForOID(oid, create=True)
            path = self.getBlobFilename(oid, tid)
            set_not_writable(new)
            # Another thread may have fetched it too: both files are the same.
            os.replace(new, path)
        except BaseException:
            self.discard(new)
            raise
        self._added(path)
        return path

    # --- limits ------------------------------------------------------------------------------------

    def _added(self, path: str) -> None:
        if self._bytes_max is None:
            return
        with contextlib.suppress(FileNotFoundError):
            size = os.path.getsize(path)
            with self._lock:
                self._added_bytes += size
                due = self._added_bytes > self._bytes_max * (1 - _TRIM_TO)
            if due:
                self._start_trimming()

    def _start_trimming(self) -> None:
        with self._lock:
            if self._trimmer is None or not self._trimmer.is_alive():
                self._added_bytes = 0
                self._trimmer = threading.Thread(target=self.trim, name="anywhen-blobs", daemon=True)
                self._trimmer.start()

    def trim(self, unused_s: float = _IN_USE_S) -> None:
        """Removes the files that were not used for the longest time, until the limit is kept."""
        if self._bytes_max is None:
            return
        files, total, now = [], 0, time.time()
        for path in self._files():
            with contextlib.suppress(FileNotFoundError):
                found = os.stat(path)
                files.append((max(found.st_atime, found.st_mtime), found.st_size, path))
                total += found.st_size
        if total <= self._bytes_max:
            return
        for used, size, path in sorted(files):
            if total <= self._bytes_max * _TRIM_TO or used > now - unused_s:
                break
            self._remove(path)
            total -= size

    def keep_only(self, is_kept: Callable[[bytes, bytes], bool]) -> None:
        """Removes the files of records that the database does not keep any more."""
        if self._base is None:
            return
        for path in list(self._files()):
            oid, tid = (os.path.basename(part) for part in (os.path.dirname(path), path[: -len(".blob")]))
            if not is_kept(bytes.fromhex(oid), bytes.fromhex(tid)):
                self._remove(path)

    def _files(self) -> Iterator[str]:
        for folder, folders, names in os.walk(self.base_dir):
            if folder == self._base and "tmp" in folders:
                folders.remove("tmp")
            yield from (os.path.join(folder, name) for name in names if name.endswith(".blob"))

    def _remove(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            remove_committed(path)
        # Folders that another thread fills stay.
        with contextlib.suppress(OSError):
            os.rmdir(os.path.dirname(path))
