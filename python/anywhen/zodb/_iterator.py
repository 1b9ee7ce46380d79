"""The transactions of a storage, and the records of each."""

from __future__ import annotations

from collections.abc import Iterator

import zope.interface
from ZODB.BaseStorage import DataRecord, TransactionRecord
from ZODB.interfaces import IStorageRecordInformation, IStorageTransactionInformation
from ZODB.utils import p64, u64

from ._backend import Backend

# Transactions that are asked for at once.
_PAGE = 100


@zope.interface.implementer(IStorageRecordInformation)
class Record(DataRecord):
    """One record: ``oid``, ``tid``, ``data`` (None for a deletion), ``data_txn``."""


@zope.interface.implementer(IStorageTransactionInformation)
class Transaction(TransactionRecord):
    """One transaction. Its records are loaded at each iteration."""

    def __init__(
        self,
        backend: Backend,
        tid: bytes,
        status: bytes,
        user: bytes,
        description: bytes,
        extension: bytes,
    ) -> None:
        super().__init__(tid, status.decode("ascii"), user, description, extension)
        self._backend = backend

    def __iter__(self) -> Iterator[Record]:
        for oid, data, data_tid in self._backend.records(self.tid):
            yield Record(oid, self.tid, data, data_tid)


class Transactions:
    """The transactions from ``start`` to ``stop``, both included, that were there when this was made."""

    def __init__(self, backend: Backend, start: bytes | None, stop: bytes | None) -> None:
        self._backend = backend
        self._next: bytes | None = start or bytes(8)
        newest = backend.last_tid()
        self._last = newest if stop is None else min(stop, newest)
        self._page: Iterator[tuple[bytes, bytes, bytes, bytes, bytes]] = iter(())

    def __iter__(self) -> Transactions:
        return self

    def __next__(self) -> Transaction:
        for row in self._page:
            return Transaction(self._backend, *row)
        if self._next is None or self._next > self._last:
            raise StopIteration
        page = self._backend.transactions(self._next, self._last, False, _PAGE)
        self._next = p64(u64(page[-1][0]) + 1) if len(page) == _PAGE else None
        self._page = iter(page)
        return next(self)

    def close(self) -> None:
        """Ends the iteration."""
        self._next, self._page = None, iter(())
