"""Addresses of storages for zodburi. ::

    anywhen+embedded:///var/lib/site/data?storage=main&blob_dir=/var/cache/site
    anywhen+embedded:data?read_only=true&connection_pool_size=10
    anywhen://site:secret@db.example.org:5433/postgres?storage=main&sslmode=verify-full&sslrootcert=ca.pem
    anywhen://site@/postgres?host=/run/anywhen&storage=main

After the ``?`` come the arguments of :func:`anywhen.zodb.open`, those of ``ZODB.DB`` as zodburi names them, and
for a server those of a ``postgres://`` address.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from ._open import open as open_storage
from ._storage import AnywhenStorage

_TRUE, _FALSE = {"1", "true", "yes", "on"}, {"0", "false", "no", "off"}
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def _boolean(text: str) -> bool:
    if text.lower() not in _TRUE | _FALSE:
        raise ValueError(f"{text!r} is neither true nor false")
    return text.lower() in _TRUE


def _bytes(text: str) -> int:
    found = re.fullmatch(r"(\d+)\s*([kmg]?)b?", text.strip().lower())
    if found is None:
        raise ValueError(f"{text!r} is no size: write 1000, 64KB, 128MB or 2GB")
    return int(found[1]) * _UNITS[found[2]]


_ARGUMENTS: dict[str, Callable[[str], Any]] = {
    "storage": str,
    "create": _boolean,
    "read_only": _boolean,
    "keeps_history": _boolean,
    "cache_bytes": _bytes,
    "blob_dir": str,
    "blob_cache_bytes": _bytes,
    "pack_gc": _boolean,
}

# Arguments of a connection with a server.
_CONNECTION = ("sslmode", "sslrootcert", "host", "application_name")


def resolve(uri: str, **given: Any) -> tuple[Callable[[], AnywhenStorage], dict[str, str]]:
    """Returns what opens the storage of an address, and the arguments for ``ZODB.DB``. What the address does
    not say is as ``given``."""
    parts = urlsplit(uri)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    given |= {name: _ARGUMENTS[name](options.pop(name)) for name in _ARGUMENTS if name in options}
    if parts.scheme == "anywhen":
        connection = {name: options.pop(name) for name in _CONNECTION if name in options}
        address = parts._replace(query=urlencode(connection), fragment="").geturl()
        if not parts.netloc:
            # Without it, there would be no slashes before the path.
            address = address.replace("anywhen:", "anywhen://", 1)
        return lambda: open_storage(address, **given), options
    if parts.netloc:
        raise ValueError(f"{uri!r} names a host; three slashes begin a folder: anywhen+embedded:///folder")
    folder = unquote(parts.path)
    if not folder:
        raise ValueError(f"{uri!r} names no folder")
    return lambda: open_storage(folder, **given), options
