"""The entries of ``history`` and of the undo log, as ZODB has them."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from persistent.TimeStamp import TimeStamp
from ZODB._compat import loads
from ZODB.utils import maxtid, p64, u64

from ._backend import Backend
from ._cache import Z64

# Transactions that are asked for at once.
_PAGE = 100


def history_entry(
    tid: bytes, user: bytes, description: bytes, extension: bytes, size: int
) -> dict[str, Any]:
    """One record of an object. What the transaction noted itself has names of its own."""
    return {
        **_extension(extension),
        "time": TimeStamp(tid).timeTime(),
        "tid": tid,
        "serial": tid,
        "user_name": user,
        "description": description,
        "size": size,
    }


def undo_log(
    backend: Backend,
    first: int,
    last: int,
    wanted: Callable[[dict[str, Any]], Any] | None,
) -> list[dict[str, Any]]:
    """The transactions after the newest pack, newest first: those with ``first`` <= index < ``last``, or
    ``-last`` of them."""
    if last < 0:
        last = first - last
    found: list[dict[str, Any]] = []
    at, upto = 0, maxtid
    while True:
        page = backend.transactions(Z64, upto, True, _PAGE)
        for tid, status, user, description, extension in page:
            if at >= last or status == b"p":
                return found
            entry = {
                "id": base64.b64encode(tid),
                "time": TimeStamp(tid).timeTime(),
                "user_name": user,
                "description": description,
                **_extension(extension),
            }
            if wanted is None or wanted(entry):
                if at >= first:
                    found.append(entry)
                at += 1
        if len(page) < _PAGE:
            return found
        upto = p64(u64(page[-1][0]) - 1)


def _extension(pickled: bytes) -> dict[str, Any]:
    if not pickled:
        return {}
    try:
        extension = loads(pickled)
    except Exception:  # It may name a class that is gone; the rest of the entry can be read.
        return {}
    return extension if isinstance(extension, dict) else {}
