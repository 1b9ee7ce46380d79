"""What the storage promises beyond ZODB's suites. Some tests tell of a defect that other storages had."""

import math
import pickle
import random
import subprocess
import sys
import threading
import time
from collections import OrderedDict, defaultdict, deque

import pytest
import transaction
import zope.interface.verify
from persistent import Persistent
from persistent.mapping import PersistentMapping
from ZODB import DB
from ZODB.blob import Blob
from ZODB.Connection import TransactionMetaData
from ZODB.DemoStorage import DemoStorage
from ZODB.POSException import ConflictError, POSKeyError, ReadConflictError, ReadOnlyError, StorageError, UndoError
from ZODB.tests.ConflictResolution import PCounter
from ZODB.utils import p64, u64, z64

import anywhen
import anywhen.zodb
from anywhen.zodb._cache import LoadCache


def commit(storage, *writes, vote_only=False):
    """A transaction of (oid, serial, data); returns its tid."""
    meta = TransactionMetaData()
    storage.tpc_begin(meta)
    try:
        for oid, serial, data in writes:
            storage.store(oid, serial, data, "", meta)
        storage.tpc_vote(meta)
        return meta if vote_only else storage.tpc_finish(meta)
    except BaseException:
        storage.tpc_abort(meta)
        raise


# --- the records are the truth ---------------------------------------------------------------------


def test_numbers_come_back_as_they_were(db):
    """A storage that made JSON of states lost NaN and the infinities, and gave 1e22 back as an int."""
    values = [math.inf, -math.inf, 1e22, -0.0, 10**400, 0.1]
    with db.transaction() as connection:
        connection.root()["numbers"] = [math.nan, *values]
    db.cacheMinimize()
    found = db.open().root()["numbers"]
    assert math.isnan(found[0])
    assert found[1:] == values
    assert [type(value) for value in found[1:]] == [float, float, float, float, int, float]
    assert math.copysign(1, found[4]) == -1


def test_states_that_look_like_markers_come_back_as_they_were(db):
    """Such a storage took a user's dictionary for its own markers, broke up shared objects, and emptied
    collections."""
    shared = ["shared"]
    circle = []
    circle.append(circle)
    default = defaultdict(list, {"a": [1]})
    state = {
        "tuple": {"@t": [1]},
        "class": {"@cls": ["os", "system"], "@s": 1},
        "shared": [shared, shared],
        "circle": circle,
        "ordered": OrderedDict([("z", 1), ("a", 2)]),
        "default": default,
        "deque": deque([1, 2], maxlen=5),
        "order": {"z": 1, "a": 2, 3: 4},
    }
    with db.transaction() as connection:
        connection.root()["state"] = state
    db.cacheMinimize()
    found = db.open().root()["state"]
    assert found["tuple"] == {"@t": [1]}
    assert found["class"] == {"@cls": ["os", "system"], "@s": 1}
    assert found["shared"][0] is found["shared"][1]
    assert found["circle"][0] is found["circle"]
    assert list(found["ordered"].items()) == [("z", 1), ("a", 2)]
    assert found["default"] == default
    assert found["default"].default_factory is list
    assert found["deque"] == deque([1, 2])
    assert found["deque"].maxlen == 5
    assert list(found["order"]) == ["z", "a", 3]


def test_a_small_record_stays_small(db):
    """A record of 264 bytes, in which each list has the one before ten times, became 71 MB of JSON."""
    state = ["x"]
    for _ in range(7):
        state = [state] * 10
    with db.transaction() as connection:
        connection.root()["bomb"] = state
    db.cacheMinimize()
    found = db.open().root()["bomb"]
    assert found[0] is found[9]
    assert db.getSize() < 1 << 20


# --- packs and writers -----------------------------------------------------------------------------


def test_a_pack_removes_nothing_that_is_committed_meanwhile(db):
    """A storage traced the objects, and deleted what it had not reached: also what was committed in between.
    Then the root had a reference to nothing."""
    with db.transaction() as connection:
        connection.root()["parts"] = PersistentMapping()
    over, failures = threading.Event(), []

    def write(name):
        manager = transaction.TransactionManager()
        connection = db.open(manager)
        number = 0
        while not over.is_set():
            try:
                manager.begin()
                parts = connection.root()["parts"]
                parts[name, number] = PersistentMapping(number=number)
                # Becomes garbage, which the pack has to remove.
                parts.pop((name, number - 5), None)
                manager.commit()
                number += 1
            except ConflictError:
                manager.abort()
            except Exception as error:
                failures.append(error)
                return
        connection.close()

    threads = [threading.Thread(target=write, args=(name,)) for name in range(3)]
    for thread in threads:
        thread.start()
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        db.pack(time.time())
    over.set()
    for thread in threads:
        thread.join(30)
    assert not failures
    db.pack(time.time() + 1)
    db.cacheMinimize()
    parts = db.open().root()["parts"]
    assert parts
    assert all(part["number"] == number for (_, number), part in parts.items())


def test_a_snapshot_that_a_pack_has_taken_away_asks_for_another_try(db, storage):
    """Not for an object that is lost: the reader begins anew and finds it."""
    with db.transaction() as connection:
        connection.root()["a"] = PCounter()
    db.cacheMinimize()
    manager = transaction.TransactionManager()
    reader = db.open(manager)
    counter = reader.root()["a"]
    with db.transaction() as connection:
        connection.root()["a"].inc()
    db.pack(time.time() + 1)
    with pytest.raises(ReadConflictError):
        counter._value  # noqa: B018
    manager.begin()
    assert counter._value == 1


def test_writers_of_different_objects_do_not_wait(storage):
    """Other storages let one writer in the whole database go from tpc_begin to the end."""
    first, second = storage.new_instance(), storage.new_instance()
    one = commit(first, (p64(1), z64, b"1"), vote_only=True)
    two = commit(second, (p64(2), z64, b"2"), vote_only=True)
    later = second.tpc_finish(two)
    last = first.tpc_finish(one)
    assert later < last == storage.lastTransaction()
    assert storage.load(p64(1)) == (b"1", last)
    assert storage.load(p64(2)) == (b"2", later)


def test_writers_of_one_object_wait_and_then_conflict(storage):
    """The second one waits at its vote for the end of the first one."""
    serial = commit(storage, (p64(1), z64, b"1"))
    first, second = storage.new_instance(), storage.new_instance()
    one = commit(first, (p64(1), serial, b"first"), vote_only=True)
    caught = []

    def late():
        try:
            commit(second, (p64(1), serial, b"second"))
        except ConflictError as error:
            caught.append(error)

    thread = threading.Thread(target=late)
    thread.start()
    thread.join(0.2)
    assert thread.is_alive()
    first.tpc_finish(one)
    thread.join(30)
    assert [error.oid for error in caught] == [p64(1)]
    assert storage.load(p64(1))[0] == b"first"


def test_two_orders_of_objects_are_no_deadlock(storage):
    """Writes are locked in one order, whatever the order in which they were stored."""
    a, b = p64(1), p64(2)
    failures, rounds = [], 60

    def write(instance, order):
        try:
            done = 0
            while done < rounds:
                try:
                    commit(instance, *((oid, _tid(storage, oid), b"x") for oid in order))
                    done += 1
                except ConflictError:
                    pass
        except Exception as error:
            failures.append(error)

    threads = [
        threading.Thread(target=write, args=(storage.new_instance(), order)) for order in ([a, b], [b, a])
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failures
    assert not any(thread.is_alive() for thread in threads)
    assert len(storage.history(a, 1000)) == 2 * rounds


def test_records_and_checks_go_to_the_backend_in_order_of_oids(storage):
    """So two transactions do not wait for each other in a circle."""
    serial = commit(storage, *((p64(number), z64, b"x") for number in range(1, 6)))
    sent = []

    class Recording:
        def __init__(self, native):
            self.native = native

        def write(self, writes):
            sent.append([oid for oid, _, _, _ in writes])
            return self.native.write(writes)

        def check_current(self, oid, serial):
            sent.append(oid)
            return self.native.check_current(oid, serial)

        # Over a server they go together, and are made one by one here.
        run = None

        def __getattr__(self, name):
            return getattr(self.native, name)

    class Backend(Counted):
        def begin(self, *arguments):
            return Recording(self.backend.begin(*arguments))

    instance = storage.new_instance()
    instance._backend = Backend(storage._backend)
    meta = TransactionMetaData()
    instance.tpc_begin(meta)
    for number in (5, 1, 4):
        instance.store(p64(number), serial, b"y", "", meta)
    for number in (3, 2):
        instance.checkCurrentSerialInTransaction(p64(number), serial, meta)
    instance.tpc_vote(meta)
    instance.tpc_finish(meta)
    assert sent == [[p64(1)], p64(2), p64(3), [p64(4), p64(5)]]


def _tid(storage, oid):
    try:
        return storage.getTid(oid)
    except POSKeyError:
        return z64


def test_more_than_fits_into_memory_is_handed_over_before_the_vote(storage):
    """One transaction of 40 records of 1 MB: about 8 of them are held at a time, and all or none are there."""
    data = b"x" * (1 << 20)
    meta = TransactionMetaData()
    storage.tpc_begin(meta)
    for number in range(1, 41):
        storage.store(p64(number), z64, data, "", meta)
        assert len(storage._commit.writes) <= 9
    storage.tpc_vote(meta)
    assert len(storage) == 0
    storage.tpc_finish(meta)
    assert len(storage) == 40


def test_a_store_and_the_checks_of_a_transaction_hold_together(storage):
    """A read that must stay current is checked at the vote, and stays so until the end."""
    read = commit(storage, (p64(1), z64, b"read"))
    newer = commit(storage, (p64(1), read, b"newer"))
    meta = TransactionMetaData()
    storage.tpc_begin(meta)
    storage.store(p64(2), z64, b"2", "", meta)
    storage.checkCurrentSerialInTransaction(p64(1), read, meta)
    with pytest.raises(ReadConflictError) as caught:
        storage.tpc_vote(meta)
    storage.tpc_abort(meta)
    assert caught.value.serials == (newer, read)
    assert len(storage) == 1


# --- snapshots and the load cache ------------------------------------------------------------------


def test_an_instance_sees_what_others_have_committed_when_it_polls(storage):
    """Others' changes are told once; an instance's own are not told, for its connection has them."""
    reader, writer = storage.new_instance(), storage.new_instance()
    assert reader.poll_invalidations() is None
    assert writer.poll_invalidations() is None
    first = commit(writer, (p64(1), z64, b"1"))
    assert writer.poll_invalidations() == []
    with pytest.raises(POSKeyError):
        storage.new_instance().load(p64(9))
    assert reader.poll_invalidations() == [p64(1)]
    assert reader.load(p64(1)) == (b"1", first)
    second = commit(writer, (p64(1), first, b"2"), (p64(2), z64, b"2"))
    # The snapshot is that of the last poll.
    assert reader.load(p64(1)) == (b"1", first)
    with pytest.raises(ReadConflictError):
        reader.load(p64(2))
    assert sorted(reader.poll_invalidations()) == [p64(1), p64(2)]
    assert reader.poll_invalidations() == []
    assert reader.load(p64(1)) == (b"2", second)


def test_an_instance_is_told_what_its_own_undo_has_changed(storage):
    """Its connection does not know: it has stored nothing."""
    first = commit(storage, (p64(1), z64, b"1"))
    commit(storage, (p64(1), first, b"2"))
    instance = storage.new_instance()
    instance.poll_invalidations()
    meta = TransactionMetaData()
    instance.tpc_begin(meta)
    _, oids = instance.undo(storage.undoLog()[0]["id"], meta)
    instance.tpc_vote(meta)
    tid = instance.tpc_finish(meta)
    assert instance.lastTransaction() == tid
    assert oids == instance.poll_invalidations() == [p64(1)]
    assert instance.load(p64(1)) == (b"1", tid)


class Counted:
    """A backend that counts the calls of each method."""

    def __init__(self, backend):
        self.backend, self.calls = backend, {}

    def __getattr__(self, name):
        self.calls[name] = self.calls.get(name, 0) + 1
        return getattr(self.backend, name)


@pytest.fixture
def counted(storage):
    storage._shared.backend = storage._backend = Counted(storage._backend)
    return storage._backend


def test_a_poll_without_changes_asks_only_for_the_newest_tid(storage, counted):
    """Instances that poll one after the other share what the first one learned."""
    readers = [storage.new_instance() for _ in range(5)]
    for reader in readers:
        reader.poll_invalidations()
    commit(storage, (p64(1), z64, b"1"))
    counted.calls.clear()
    assert [reader.poll_invalidations() for reader in readers] == [[p64(1)]] * 5
    assert counted.calls == {"last_tid": 5, "changes": 1}


def test_a_poll_that_another_thread_overtakes_takes_nothing_back(storage):
    """The other one polled while this one waited for the backend, and saw a later commit."""
    slow, fast = storage.new_instance(), storage.new_instance()
    slow.poll_invalidations()
    fast.poll_invalidations()
    first = commit(storage, (p64(1), z64, b"1"))

    class Overtaken(Counted):
        def changes(self, after, upto):
            answer = self.backend.changes(after, upto)
            commit(storage, (p64(1), first, b"2"))
            assert fast.poll_invalidations() == [p64(1)]
            return answer

    slow._backend = Overtaken(slow._backend)
    assert slow.poll_invalidations() == [p64(1)]
    assert slow.load(p64(1)) == (b"1", first)
    assert storage._cache.seen == storage.lastTransaction()
    assert fast.load(p64(1))[0] == b"2"
    assert slow.poll_invalidations() == [p64(1)]
    assert slow.load(p64(1))[0] == b"2"


def test_a_record_is_loaded_once_for_all_instances(storage, counted):
    """Also the older one, for readers that have not polled; what this process wrote is not loaded at all."""
    first = commit(storage, (p64(1), z64, b"1"))
    old, new = storage.new_instance(), storage.new_instance()
    old.poll_invalidations()
    new.poll_invalidations()
    storage._cache.clear()
    counted.calls.clear()
    assert [old.load(p64(1)), new.load(p64(1))] == [(b"1", first)] * 2
    assert counted.calls == {"load_before": 1}
    second = commit(storage, (p64(1), first, b"2"))
    new.poll_invalidations()
    counted.calls.clear()
    assert new.load(p64(1)) == (b"2", second)
    assert old.load(p64(1)) == (b"1", first)
    assert counted.calls == {}


def test_prefetched_objects_need_no_further_call(storage, counted):
    """Five hundred at a time."""
    oids = [p64(number) for number in range(1, 1201)]
    tid = commit(storage, *((oid, z64, oid) for oid in oids))
    reader = storage.new_instance()
    reader.poll_invalidations()
    storage._cache.clear()
    counted.calls.clear()
    reader.prefetch(iter(oids))
    assert counted.calls == {"load_many": 3}
    assert reader.load_multiple([*oids, p64(9999)]) == {oid: (oid, tid) for oid in oids}
    assert [reader.load(oid) for oid in oids] == [(oid, tid) for oid in oids]
    assert counted.calls == {"load_many": 4}


def test_the_load_cache_keeps_its_limit(opens):
    """What is used stays; the rest makes room."""
    with_limit = opens(cache_bytes=100_000)
    data = b"x" * 1000
    oids = [p64(number) for number in range(1, 501)]
    commit(with_limit, *((oid, z64, data) for oid in oids))
    reader = with_limit.new_instance()
    reader.poll_invalidations()
    for oid in oids:
        reader.load(oid)
        reader.load(oids[0])
    cache = with_limit._cache
    held = sum(len(each) for each in (cache.young, cache._old))
    assert 20 <= held <= 100
    assert oids[0] in cache.young or oids[0] in cache._old
    with_limit.close()


def test_the_load_cache_answers_as_the_backend_does(opens):
    """Three writers, four readers, and a cache that is so small that its generations change all the time."""
    storage = opens(cache_bytes=20_000)
    oids = [p64(number) for number in range(1, 61)]
    commit(storage, *((oid, z64, b"0" * 100) for oid in oids))
    failures, over = [], threading.Event()

    def work(run, seed):
        try:
            chance, instance = random.Random(seed), storage.new_instance()
            while not over.is_set():
                run(instance, chance)
        except Exception as error:
            failures.append(error)
            over.set()

    def write(instance, chance):
        changed = sorted(chance.sample(oids, chance.randint(1, 5)))
        data = b"%d" % chance.randrange(10**9) * 20
        try:
            commit(instance, *((oid, instance.getTid(oid), data) for oid in changed))
        except ConflictError:
            pass

    def read(instance, chance):
        # Others have polled meanwhile, and the cache is ahead of this snapshot.
        if instance._snapshot is None or chance.random() < 0.3:
            instance.poll_invalidations()
        before = p64(u64(instance._snapshot) + 1)
        wanted = chance.sample(oids, 10)
        if chance.random() < 0.3:
            instance.prefetch(wanted)
        for oid in wanted:
            assert instance.load(oid) == instance._backend.load_before(oid, before)[:2]

    interval = sys.getswitchinterval()
    sys.setswitchinterval(5e-6)
    try:
        threads = [
            threading.Thread(target=work, args=(run, seed))
            for seed, run in enumerate([write] * 3 + [read] * 4)
        ]
        for thread in threads:
            thread.start()
        over.wait(2)
        over.set()
        for thread in threads:
            thread.join(30)
    finally:
        sys.setswitchinterval(interval)
    storage.close()
    if failures:
        raise failures[0]


def test_a_reader_that_missed_more_than_is_kept_drops_everything(storage):
    """``changes`` answers None where a backend does not know them any more."""
    reader = storage.new_instance()
    reader.poll_invalidations()
    commit(storage, (p64(1), z64, b"1"))

    class Forgetful(Counted):
        def changes(self, after, upto):
            return None

    reader._backend = Forgetful(reader._backend)
    assert reader.poll_invalidations() is None
    assert reader.load(p64(1))[0] == b"1"


def test_what_is_released_or_closed_says_so(storage):
    """Every call fails, also of what was in the load cache; a second close is none."""
    commit(storage, (p64(1), z64, b"1"))
    released, left = storage.new_instance(), storage.new_instance()
    for instance in (released, left):
        instance.poll_invalidations()
        assert instance.load(p64(1))[0] == b"1"
    released.release()
    assert left.load(p64(1))[0] == b"1"
    storage.close()
    storage.close()
    for instance in (released, left, storage):
        for call in (
            lambda each: each.load(p64(1)),
            lambda each: each.poll_invalidations(),
            lambda each: each.new_instance(),
            lambda each: each.new_oid(),
            lambda each: each.tpc_begin(TransactionMetaData()),
            lambda each: each.iterator(),
            len,
        ):
            with pytest.raises(anywhen.zodb.ClosedError, match="closed"):
                call(instance)


def test_an_end_lets_go_of_locks(storage):
    """An instance that is released between its vote and its end takes its transaction back."""
    first, second = storage.new_instance(), storage.new_instance()
    commit(first, (p64(1), z64, b"first"), vote_only=True)
    first.release()
    commit(second, (p64(1), z64, b"second"))
    assert storage.load(p64(1))[0] == b"second"


# --- oids, undo, blobs -----------------------------------------------------------------------------


def test_new_oids_are_not_those_of_restored_records(storage):
    """Some were taken in advance before the restore."""
    assert storage.new_oid() == p64(1)
    meta = TransactionMetaData()
    storage.tpc_begin(meta, p64(1 << 60))
    for number in range(2, 40):
        storage.restore(p64(number), p64(1 << 60), b"x", "", None, meta)
    storage.tpc_vote(meta)
    storage.tpc_finish(meta)
    assert storage.new_oid() >= p64(40)


def test_an_undo_that_others_overtake_conflicts(storage):
    """Its records were made for an object that has changed since."""
    first = commit(storage, (p64(1), z64, b"1"))
    second = commit(storage, (p64(1), first, b"2"))
    meta = TransactionMetaData()
    undoer = storage.new_instance()
    undoer.tpc_begin(meta)
    undoer.undo(storage.undoLog()[0]["id"], meta)
    commit(storage, (p64(1), second, b"3"))
    with pytest.raises(ConflictError):
        undoer.tpc_vote(meta)
    undoer.tpc_abort(meta)
    assert storage.load(p64(1))[0] == b"3"


def test_an_undo_below_a_newer_blob_fails(db):
    """The records of a blob are all the same, so a storage that compared them gave the old file back."""
    manager = transaction.TransactionManager()
    connection = db.open(manager)
    for content in (b"1", b"2", b"3"):
        if content == b"1":
            connection.root()["blob"] = Blob(content)
        else:
            with connection.root()["blob"].open("w") as file:
                file.write(content)
        manager.commit()
    with pytest.raises(UndoError):
        db.undo(db.undoLog(1, 2)[0]["id"], manager.get())
        manager.commit()
    manager.abort()
    # One after the other they can be undone, also in one transaction.
    db.undoMultiple([entry["id"] for entry in db.undoLog(0, 2)], manager.get())
    manager.commit()
    manager.begin()
    with connection.root()["blob"].open() as file:
        assert file.read() == b"1"


def test_blobs_that_are_not_here_are_fetched(storage, db):
    """The folder is a cache: it can be emptied, and files above its limit go, the longest unused first."""
    manager = transaction.TransactionManager()
    connection = db.open(manager)
    for number in range(10):
        connection.root()[number] = Blob(bytes([number]) * 10_000)
    manager.commit()
    paths = [connection.root()[number].committed() for number in range(10)]
    folder = storage.fshelper
    folder._bytes_max = 50_000
    folder.trim(unused_s=-1)
    left = [path for path in paths if _exists(path)]
    assert 1 <= len(left) <= 5
    for number in range(10):
        with connection.root()[number].open("c") as file:
            assert file.read() == bytes([number]) * 10_000
    with pytest.raises(POSKeyError):
        storage.loadBlob(p64(12345), storage.lastTransaction())


def _exists(path):
    try:
        open(path, "rb").close()
        return True
    except FileNotFoundError:
        return False


# --- opening ---------------------------------------------------------------------------------------


def test_a_storage_without_history_has_the_newest_records(opens):
    """It cannot undo, and says so."""
    storage = opens(keeps_history=False)
    db = DB(storage)
    for number in range(3):
        with db.transaction() as connection:
            connection.root()["a"] = number
    assert db.open().root()["a"] == 2
    assert not db.supportsUndo()
    assert storage.undoLog() == []
    assert len(storage.history(z64, 10)) == 1
    # Conflicts are resolved all the same, for records that were just replaced are still kept.
    with db.transaction() as connection:
        connection.root()["counter"] = counter = PCounter()
        counter.inc()
    managers = [transaction.TransactionManager() for _ in range(2)]
    counters = [db.open(manager).root()["counter"] for manager in managers]
    for counter in counters:
        counter.inc()
    for manager in managers:
        manager.commit()
    assert db.open().root()["counter"]._value == 3
    db.close()


def test_storages_of_one_database_are_apart(tmp_path):
    """The caller's database stays open when they are closed."""
    with anywhen.open(tmp_path / "data") as database:
        one, two = (anywhen.zodb.open(database, name) for name in ("one", "two"))
        commit(one, (p64(1), z64, b"1"))
        assert (len(one), len(two)) == (1, 0)
        assert one.sortKey() != two.sortKey()
        one.close()
        commit(two, (p64(1), z64, b"2"))
        two.close()
        again = anywhen.zodb.open(database, "one", read_only=True)
        assert again.load(p64(1))[0] == b"1"
        with pytest.raises(ReadOnlyError):
            again.pack(time.time(), None)
        again.close()


def test_a_storage_that_is_missing_is_not_made_by_mistake(tmp_path):
    """Where it is opened for reading, or without ``create``."""
    with anywhen.open(tmp_path / "data") as database:
        for options in ({"create": False}, {"read_only": True}):
            with pytest.raises(anywhen.NotFoundError, match="no ZODB storage 'site'"):
                anywhen.zodb.open(database, "site", **options)


def test_a_wrapper_that_changes_records_cannot_have_garbage_collected(storage):
    """The database would find no references in them, and remove what is needed."""

    class Wrapper:
        def transform_record_data(self, data):
            return b".h" + data.hex().encode()

        def untransform_record_data(self, data):
            return bytes.fromhex(data[2:].decode())

    storage.registerDB(Wrapper())
    commit(storage, (z64, z64, b".h00"))
    with pytest.raises(StorageError, match="gc=False"):
        storage.pack(time.time() + 1, None)
    storage.pack(time.time() + 1, None, gc=False)
    assert len(storage) == 1


def test_every_interface_is_there(storage):
    """Also that of an instance."""
    for each in (storage, storage.new_instance()):
        provided = list(zope.interface.providedBy(each))
        assert {interface.__name__ for interface in provided} >= {
            "IMVCCStorage",
            "IMVCCPrefetchStorage",
            "IStorageUndoable",
            "IStorageIteration",
            "IBlobStorageRestoreable",
            "IStorageCurrentRecordIteration",
            "ReadVerifyingStorage",
            "IExternalGC",
        }
        for interface in provided:
            zope.interface.verify.verifyObject(interface, each)


def test_records_can_be_walked_over(storage):
    """In order of oids; deleted objects are left out."""
    tid = commit(storage, *((p64(number), z64, b"x") for number in (1, 5, 9)))
    meta = TransactionMetaData()
    storage.tpc_begin(meta)
    storage.deleteObject(p64(5), tid, meta)
    storage.tpc_vote(meta)
    storage.tpc_finish(meta)
    found, after = [], None
    while True:
        oid, serial, data, after = storage.record_iternext(after)
        found.append((oid, serial, data))
        if after is None:
            break
    assert found == [(p64(1), tid, b"x"), (p64(9), tid, b"x")]
    assert storage.lastInvalidations(2) == [
        (tid, [p64(1), p64(5), p64(9)]),
        (storage.lastTransaction(), [p64(5)]),
    ]


def test_anywhen_does_not_import_zodb():
    """Only anywhen.zodb does, and says what to install where it is missing."""
    script = (
        "import sys, anywhen\n"
        "assert not any(name.split('.')[0] in ('ZODB', 'persistent') for name in sys.modules)\n"
        "sys.modules['ZODB'] = None\n"
        "try: import anywhen.zodb\n"
        "except ImportError as error: assert 'anywhen-db[zodb]' in str(error), error\n"
        "else: raise SystemExit('imported')\n"
    )
    subprocess.run([sys.executable, "-P", "-c", script], check=True)


def test_extensions_that_cannot_be_read_do_no_harm(storage):
    """A class that is gone: the log still has the transaction."""
    meta = TransactionMetaData(extension=b"cgone\nGone\n.")
    storage.tpc_begin(meta)
    storage.store(p64(1), z64, b"x", "", meta)
    storage.tpc_vote(meta)
    tid = storage.tpc_finish(meta)
    assert storage.undoLog()[0]["user_name"] == b""
    assert storage.history(p64(1))[0]["tid"] == tid
    assert [each.extension_bytes for each in storage.iterator()] == [b"cgone\nGone\n."]


def test_a_demo_storage_stands_on_it_and_writes_into_it(db, storage, opens):
    """Tests of Plone and Zope use one. Its changes are of objects that only its base has."""
    with db.transaction() as connection:
        connection.root()["a"] = PersistentMapping(value=1)
    changes = opens("changes")
    for number, over in ((2, DemoStorage(base=storage)), (3, DemoStorage(base=storage, changes=changes))):
        demo = DB(over)
        for value in (number, number * 10):
            with demo.transaction() as connection:
                connection.root()["a"]["value"] = value
                connection.root()[value] = Blob(b"blob")
        demo.cacheMinimize()
        with demo.transaction() as connection:
            assert connection.root()["a"]["value"] == number * 10
            with connection.root()[number].open() as file:
                assert file.read() == b"blob"
    assert db.open().root()["a"]["value"] == 1
    changes.close()


class Thing(Persistent):
    """Something to store."""


def test_a_storage_cannot_be_pickled_by_mistake(db):
    """An object that refers to its storage is a bug of the program, and is told at the commit."""
    manager = transaction.TransactionManager()
    connection = db.open(manager)
    connection.root()["thing"] = thing = Thing()
    thing.storage = db.storage
    with pytest.raises((TypeError, pickle.PicklingError)):
        manager.commit()
    manager.abort()


def test_a_commit_right_after_another_is_in_the_load_cache():
    """A commit is applied to the load cache at once if the cache has all before it. Otherwise the cache waits for
    what the backend says of the commits between."""
    one, two, three, four = (p64(number) for number in (1, 2, 3, 4))
    cache = LoadCache(1 << 20)
    cache.start(one)
    cache.wrote(two, {one: b"record", two: None}, one)
    assert cache.seen == two
    assert cache.find(one, two) == (b"record", two)
    assert cache.find(two, two) is None
    assert cache.changed(one, two) == [(two, [one, two])]
    cache.wrote(four, {one: b"newer"}, three)
    assert cache.seen == two
    assert cache.find(one, two) == (b"record", two)
