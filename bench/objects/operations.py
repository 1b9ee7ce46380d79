"""The operations of the suite objects, on any ZODB storage.

    storage level    tpc_begin, store ..., tpc_vote, tpc_finish; load as a connection calls it
    ZODB level       connections, transactions, persistent objects
    pack             half of the objects in the root's mapping, the other half garbage
    threads          each with a connection and a document of its own

`prepare` of an operation opens an empty storage and fills it. It gives a function that does a slice of so many
repetitions and returns the seconds that each took. A storage that answers something wrong ends the run.
"""

import contextlib
import dataclasses
import random
import threading
import time
import typing

import transaction
import ZODB
from BTrees.OOBTree import OOBTree
from persistent.mapping import PersistentMapping
from ZODB.Connection import TransactionMetaData
from ZODB.POSException import POSKeyError
from ZODB.utils import z64

import storages
from records import Document, records

#: A slice: the seconds that each repetition took.
Slice = typing.Callable[[], float]

# How many keys the mapping in the root has that the writing operations replace.
_KEYS = 100
# How many objects are stored in one transaction where that is not measured.
_FILL = 100


@dataclasses.dataclass(frozen=True)
class Operation:
    id: str
    what: str
    #: Of the figures: "us", "ms", or a rate that ends with "/s".
    unit: str
    #: How many repetitions a slice has; of a pack, how many objects.
    count: int
    quick_count: int
    prepare: typing.Callable[[storages.Storages, str, int], typing.ContextManager[Slice]]
    #: Whether the disk's floor is measured beside it.
    has_floor: bool = False
    rounds_max: int = 1_000

    def figure(self, seconds: float) -> float:
        """The figure of a repetition that took so long, in the unit."""
        return 1 / seconds if self.unit.endswith("/s") else seconds * {"us": 1e6, "ms": 1e3}[self.unit]


def commit_records(storage: typing.Any, oids: list[bytes], datas: list[bytes]) -> bytes:
    """Stores new objects in one transaction; returns its tid."""
    meta = TransactionMetaData()
    storage.tpc_begin(meta)
    for oid, data in zip(oids, datas, strict=True):
        storage.store(oid, z64, data, "", meta)
    storage.tpc_vote(meta)
    return storage.tpc_finish(meta)


def new_objects(storage: typing.Any, count: int) -> list[bytes]:
    """Stores so many documents in transactions of a hundred; returns their oids."""
    oids = [storage.new_oid() for _ in range(count)]
    datas = records(count)
    for at in range(0, count, _FILL):
        commit_records(storage, oids[at : at + _FILL], datas[at : at + _FILL])
    return oids


@contextlib.contextmanager
def database(kind: storages.Storages, name: str) -> typing.Iterator[ZODB.DB]:
    """A new database, which is removed in the end."""
    db = ZODB.DB(kind.open(name))
    try:
        yield db
    finally:
        db.close()
        kind.remove(name)


# --- storage level -----------------------------------------------------------------------------------


def store(batch: int) -> typing.Callable[..., typing.ContextManager[Slice]]:
    """Stores so many new objects a transaction."""

    @contextlib.contextmanager
    def prepare(kind: storages.Storages, name: str, count: int) -> typing.Iterator[Slice]:
        with database(kind, name) as db:
            storage, datas = db.storage, records(batch)

            def slice_() -> float:
                oids = [[storage.new_oid() for _ in range(batch)] for _ in range(count)]
                start = time.perf_counter()
                for of_transaction in oids:
                    commit_records(storage, of_transaction, datas)
                return (time.perf_counter() - start) / count

            yield slice_

    return prepare


def load_cached(batch: int) -> typing.Callable[..., typing.ContextManager[Slice]]:
    """Loads the same so many objects again and again, as a connection does."""

    @contextlib.contextmanager
    def prepare(kind: storages.Storages, name: str, count: int) -> typing.Iterator[Slice]:
        with database(kind, name) as db:
            oids = new_objects(db.storage, batch)
            connection = db.open(transaction.TransactionManager())
            load = connection._storage.load

            def slice_() -> float:
                for oid in oids:
                    load(oid)
                start = time.perf_counter()
                for _ in range(count):
                    for oid in oids:
                        load(oid)
                return (time.perf_counter() - start) / count

            yield slice_
            connection.close()

    return prepare


@contextlib.contextmanager
def load_uncached(kind: storages.Storages, name: str, count: int) -> typing.Iterator[Slice]:
    """Opens a storage of `count` objects anew, and loads each object once, in random order."""
    storage = kind.open(name)
    oids = new_objects(storage, count)
    storage.close()
    order = list(range(count))
    random.Random(7).shuffle(order)
    # A storage may write the record of an object in its own way.
    parts = [Document(number).uid.encode() for number in range(count)]

    def slice_() -> float:
        db = ZODB.DB(kind.open(name))
        connection = db.open(transaction.TransactionManager())
        load = connection._storage.load
        load(z64)
        start = time.perf_counter()
        loaded = [load(oids[at]) for at in order]
        seconds = (time.perf_counter() - start) / count
        connection.close()
        db.close()
        if not all(parts[at] in data for at, (data, _) in zip(order, loaded, strict=True)):
            raise AssertionError(f"{storage!r} has loaded other records than it has stored")
        return seconds

    yield slice_
    kind.remove(name)


# --- ZODB level --------------------------------------------------------------------------------------


def write_objects(batch: int) -> typing.Callable[..., typing.ContextManager[Slice]]:
    """Puts so many new documents into the root's mapping of a hundred, each in place of another."""

    @contextlib.contextmanager
    def prepare(kind: storages.Storages, name: str, count: int) -> typing.Iterator[Slice]:
        with database(kind, name) as db:
            manager = transaction.TransactionManager()
            connection = db.open(manager)
            root, numbers = connection.root(), iter(range(1 << 60))
            for _ in range(_KEYS):
                number = next(numbers)
                root[f"document-{number % _KEYS}"] = Document(number)
            manager.commit()

            def slice_() -> float:
                # Made beforehand: only storing them is measured.
                documents = [[Document(next(numbers)) for _ in range(batch)] for _ in range(count)]
                at, start = 0, time.perf_counter()
                for of_transaction in documents:
                    for document in of_transaction:
                        root[f"document-{at % _KEYS}"] = document
                        at += 1
                    manager.commit()
                return (time.perf_counter() - start) / count

            yield slice_
            connection.close()

    return prepare


@contextlib.contextmanager
def write_btree(kind: storages.Storages, name: str, count: int) -> typing.Iterator[Slice]:
    """Inserts a key into a BTree in each transaction."""
    with database(kind, name) as db:
        manager = transaction.TransactionManager()
        connection = db.open(manager)
        tree = connection.root()["tree"] = OOBTree()
        manager.commit()
        numbers = iter(range(1 << 60))

        def slice_() -> float:
            start = time.perf_counter()
            for _ in range(count):
                number = next(numbers)
                tree[f"key-{number}"] = number
                manager.commit()
            return (time.perf_counter() - start) / count

        yield slice_
        connection.close()


@contextlib.contextmanager
def read(kind: storages.Storages, name: str, count: int) -> typing.Iterator[Slice]:
    """Reads an object of the root by a connection from the pool, which has it in its own cache."""
    with database(kind, name) as db:
        with db.transaction() as connection:
            connection.root()["target"] = Document(1)

        def slice_() -> float:
            seconds = 0.0
            for _ in range(count):
                connection = db.open()
                start = time.perf_counter()
                _ = connection.root()["target"]
                seconds += time.perf_counter() - start
                connection.close()
            return seconds / count

        yield slice_


@contextlib.contextmanager
def activate(kind: storages.Storages, name: str, count: int) -> typing.Iterator[Slice]:
    """Reads an attribute of each of a hundred documents after the connection's cache was emptied."""
    with database(kind, name) as db:
        with db.transaction() as connection:
            connection.root()["documents"] = PersistentMapping({key: Document(key) for key in range(_KEYS)})
        connection = db.open(transaction.TransactionManager())
        documents = list(connection.root()["documents"].values())

        def slice_() -> float:
            seconds = 0.0
            for _ in range(count):
                connection.cacheMinimize()
                start = time.perf_counter()
                for document in documents:
                    _ = document.title
                seconds += time.perf_counter() - start
            return seconds / count

        yield slice_
        connection.close()


@contextlib.contextmanager
def connection_cycle(kind: storages.Storages, name: str, count: int) -> typing.Iterator[Slice]:
    """Opens a connection, gets the root, and closes it."""
    with database(kind, name) as db:
        with db.transaction() as connection:
            connection.root()["target"] = Document(1)

        def slice_() -> float:
            start = time.perf_counter()
            for _ in range(count):
                connection = db.open()
                _ = connection.root()
                connection.close()
            return (time.perf_counter() - start) / count

        yield slice_


# --- pack --------------------------------------------------------------------------------------------


@contextlib.contextmanager
def pack(kind: storages.Storages, name: str, count: int) -> typing.Iterator[Slice]:
    """Packs a new storage of `count` objects once: half of them are in the root's mapping, half are garbage."""

    def slice_() -> float:
        with database(kind, name) as db:
            manager = transaction.TransactionManager()
            connection = db.open(manager)
            root = connection.root()
            for number in range(count // 2):
                root[f"document-{number}"] = Document(number)
            manager.commit()
            kept = root["document-0"]._p_oid
            connection.close()
            oids = [db.storage.new_oid() for _ in range(count - count // 2)]
            commit_records(db.storage, oids, records(len(oids)))
            start = time.perf_counter()
            db.pack(time.time())
            seconds = time.perf_counter() - start
            must_be_packed(db, kept, oids)
            return seconds

    yield slice_


def must_be_packed(db: ZODB.DB, kept: bytes, garbage: list[bytes]) -> None:
    """Fails unless the kept object is there, and the garbage is not."""
    connection = db.open(transaction.TransactionManager())
    load = connection._storage.load
    load(kept)
    for oid in (garbage[0], garbage[-1]):
        try:
            load(oid)
        except POSKeyError:
            continue
        raise AssertionError(f"a pack of {db.storage!r} has left garbage")
    connection.close()


# --- threads -----------------------------------------------------------------------------------------


def commits(threads: int) -> typing.Callable[..., typing.ContextManager[Slice]]:
    """Threads that change and commit a document each, all at the same time."""

    @contextlib.contextmanager
    def prepare(kind: storages.Storages, name: str, count: int) -> typing.Iterator[Slice]:
        with database(kind, name) as db:
            with db.transaction() as connection:
                for number in range(threads):
                    connection.root()[f"document-{number}"] = Document(number)
            managers = [transaction.TransactionManager() for _ in range(threads)]
            connections = [db.open(manager) for manager in managers]

            def slice_() -> float:
                failures: list[BaseException] = []
                start_line = threading.Barrier(threads + 1)

                def work(number: int) -> None:
                    document = connections[number].root()[f"document-{number}"]
                    start_line.wait()
                    try:
                        for _ in range(count // threads):
                            document.count += 1
                            managers[number].commit()
                    except BaseException as error:
                        failures.append(error)

                workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
                for worker in workers:
                    worker.start()
                start_line.wait()
                start = time.perf_counter()
                for worker in workers:
                    worker.join()
                if failures:
                    raise failures[0]
                return (time.perf_counter() - start) / (count // threads * threads)

            yield slice_
            for connection in connections:
                connection.close()

    return prepare


_PACK = "pack {} objects, half of them garbage"

#: All operations, in the order of the table.
ALL = [
    Operation("store-1", "store one object a transaction", "us", 100, 10, store(1), has_floor=True),
    Operation("store-10", "store 10 objects a transaction", "us", 60, 5, store(10), has_floor=True),
    Operation("store-100", "store 100 objects a transaction", "us", 20, 2, store(100), has_floor=True),
    Operation("load-cached", "load an object again", "us", 5_000, 500, load_cached(1)),
    Operation("load-100", "load 100 objects again", "us", 100, 10, load_cached(100)),
    Operation("load-uncached", "load each object once after opening", "us", 2_000, 200, load_uncached),
    Operation("write-simple", "ZODB: commit one new object in a mapping", "us", 60, 5, write_objects(1), has_floor=True),
    Operation("write-btree", "ZODB: commit one key of a BTree", "us", 60, 5, write_btree, has_floor=True),
    Operation("write-10", "ZODB: commit 10 new objects in a mapping", "us", 30, 3, write_objects(10), has_floor=True),
    Operation("read", "ZODB: read an object in the connection's cache", "us", 1_000, 100, read),
    Operation("activate-100", "ZODB: read 100 objects, connection's cache empty", "us", 50, 5, activate),
    Operation("cycle", "ZODB: open a connection, read the root, close it", "us", 500, 50, connection_cycle),
    Operation("pack-100", _PACK.format("100"), "ms", 100, 100, pack, rounds_max=5),
    Operation("pack-1000", _PACK.format("1,000"), "ms", 1_000, 1_000, pack, rounds_max=5),
    Operation("pack-10000", _PACK.format("10,000"), "ms", 10_000, 10_000, pack, rounds_max=5),
    Operation("commits-1", "ZODB: durable commits, one thread", "commits/s", 200, 20, commits(1), has_floor=True),
    Operation("commits-4", "ZODB: durable commits, 4 threads on 4 objects", "commits/s", 400, 40, commits(4)),
]
