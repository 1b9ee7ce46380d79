"""Storages of a server: many processes, changes that are pushed, connections and servers that are lost."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
import transaction
import ZODB
import ZODB.config
import zodburi
from persistent.TimeStamp import TimeStamp
from test_convert import ALL, fill, kinds, run
from test_storage import commit
from ZODB.blob import Blob
from ZODB.Connection import TransactionMetaData
from ZODB.POSException import ConflictError
from ZODB.tests.ConflictResolution import PCounter
from ZODB.utils import p64, z64

import anywhen
import anywhen.zodb
from anywhen._pipeline import Pipeline
from anywhen.zodb import _feed, _wire

WAIT_S = 20

# What every other process begins with.
BEGIN = """
import sys
import threading
import transaction
import ZODB
from ZODB.Connection import TransactionMetaData
from ZODB.POSException import ConflictError
from ZODB.tests.ConflictResolution import PCounter
from ZODB.utils import p64, z64
import anywhen.zodb
storage = anywhen.zodb.open(sys.argv[1], sys.argv[2])
"""


class Process:
    """Another process with the same storage. It runs a script, which speaks by lines."""

    def __init__(self, address, name, script, *arguments):
        command = [sys.executable, "-P", "-c", BEGIN + script, address, name, *map(str, arguments)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def ask(self, line=""):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.told()

    def told(self):
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        return line.strip()

    def end(self):
        out, err = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, err
        return out.split()

    def kill(self):
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def processes(server, name):
    """Starts other processes that have the storage of the test open."""
    started = []

    def start(script, *arguments):
        started.append(Process(server.postgres, name, script, *arguments))
        return started[-1]

    yield start
    for each in started:
        each.kill()


@pytest.fixture
def shared(server, name):
    """The storage of the test, which the other processes have open too."""
    opened = anywhen.zodb.open(server.postgres, name)
    yield opened
    opened.close()


@pytest.fixture
def flights(monkeypatch):
    """The round trips of this process: one entry for each."""
    sent, give_out = [], Pipeline._give_out

    def counted(self, flight):
        sent.append(bytes(flight[:80]))
        return give_out(self, flight)

    monkeypatch.setattr(Pipeline, "_give_out", counted)
    return sent


def until(holds):
    """Waits for what another thread or process brings about."""
    end = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < end, "it does not come"
        time.sleep(0.002)


def settled(storage, flights):
    """Waits until the first question of the listener is answered, and begins to count."""
    commit(storage, (p64(999), z64, b"x"))
    storage.sync()
    time.sleep(0.05)
    flights.clear()


# --- round trips -----------------------------------------------------------------------------------


def test_what_a_call_costs(shared, flights):
    """A load is one round trip and a commit two, however many objects it has; a poll is none, a sync one."""
    settled(shared, flights)
    instance = shared.new_instance()
    instance.poll_invalidations()
    assert len(flights) == 0
    tid = commit(instance, *((p64(number), z64, b"x") for number in range(1, 101)))
    assert len(flights) == 2
    assert instance.poll_invalidations() == []
    assert instance.load(p64(1)) == (b"x", tid)
    assert len(flights) == 2
    shared._cache.clear()
    assert instance.load(p64(1)) == (b"x", tid)
    assert len(flights) == 3
    shared._cache.clear()
    assert len(instance.load_multiple(p64(number) for number in range(1, 101))) == 100
    assert len(flights) == 4
    instance.sync()
    assert len(flights) == 5
    instance.sync(False)
    assert instance.poll_invalidations() == []
    assert len(flights) == 5
    commit(instance, (p64(1), tid, b"y"))
    assert len(flights) == 7
    # Checks go with the writes, each in its place.
    meta = TransactionMetaData()
    instance.tpc_begin(meta)
    for number in range(2, 100, 2):
        instance.checkCurrentSerialInTransaction(p64(number), tid, meta)
        instance.store(p64(number + 1), tid, b"z", "", meta)
    instance.tpc_vote(meta)
    assert len(flights) == 8
    instance.tpc_finish(meta)
    assert len(flights) == 9
    assert instance.load_multiple([p64(3), p64(4)])[p64(3)][0] == b"x"
    instance.poll_invalidations()
    assert [instance.load(p64(number))[0] for number in (2, 3, 4, 5)] == [b"x", b"z", b"x", b"z"]


def test_a_change_is_pushed_to_other_processes(shared, processes, flights):
    """Nobody polls: the server tells of the commit, and one question brings its oids."""
    writer = processes(
        """
for line in sys.stdin:
    meta = TransactionMetaData()
    storage.tpc_begin(meta)
    storage.store(p64(int(line)), z64, line.encode(), "", meta)
    storage.tpc_vote(meta)
    print(storage.tpc_finish(meta).hex(), flush=True)
"""
    )
    reader = shared.new_instance()
    reader.poll_invalidations()
    writer.ask("1")
    until(lambda: reader.poll_invalidations() == [p64(1)])
    for number in range(2, 12):
        flights.clear()
        tid = bytes.fromhex(writer.ask(str(number)))
        until(lambda tid=tid: shared._backend.last_tid() == tid)
        assert reader.poll_invalidations() == [p64(number)]
        assert 1 <= len(flights) <= 3
        assert reader.load(p64(number))[1] == tid
    # What was acknowledged before a sync is seen after it, with no wait.
    for number in range(12, 40):
        tid = bytes.fromhex(writer.ask(str(number)))
        reader.sync()
        assert reader.poll_invalidations() == [p64(number)]
        assert reader.lastTransaction() == tid


def test_the_log_of_changes_is_that_of_the_server(server, name):
    """Two clients with three writers each: every commit is in the log of both, once and in order, whether it
    was pushed, asked for, or the client's own."""
    storages = [anywhen.zodb.open(server.postgres, name) for _ in range(2)]
    first = storages[0].lastTransaction()
    failures = []

    def write(storage, number):
        try:
            instance, tid = storage.new_instance(), z64
            for _ in range(40):
                instance.poll_invalidations()
                tid = commit(instance, (p64(number), tid, b"x"), (p64(number + 100), tid, b"y"))
                assert instance._backend.last_tid() >= tid
        except Exception as error:
            failures.append(error)

    threads = [
        threading.Thread(target=write, args=(storage, number + 10 * at))
        for at, storage in enumerate(storages)
        for number in (1, 2, 3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    if failures:
        raise failures[0]
    expected = [
        (each.tid, [record.oid for record in each]) for each in storages[0].iterator() if each.tid > first
    ]
    assert len(expected) == 240
    for storage in storages:
        storage.sync()
        feed = storage._backend._feed
        is_here, changes = feed.changes(first, feed.known)
        assert is_here
        assert [(tid, sorted(oids)) for tid, oids in changes] == expected
        assert not feed._own
        storage.close()


def test_a_notification_that_comes_before_its_commit_is_visible():
    """The server sends it just before. Nothing is known of the commit until an answer has it."""
    visible, notified = [], []

    class NoPool:
        def check(self):
            pass

    def since(after):
        return max(visible, default=z64), [(tid, [tid]) for tid in visible if tid > after]

    feed = _feed.Feed(NoPool(), "channel", lambda: z64, since)
    feed.is_listening = True
    one, two, three, four = (p64(number) for number in (1, 2, 3, 4))

    def notify(*tids):
        with feed._changed:
            feed._queue.extend(tids)
            feed._settle()
        thread = threading.Thread(target=feed._fetch_queued)
        thread.start()
        notified.append(thread)

    notify(one)
    time.sleep(0.01)
    assert feed.known == z64
    visible.append(one)
    until(lambda: feed.known == one)
    # A commit of this process needs no question.
    feed.finishing()
    notify(two)
    visible.append(two)
    feed._since = None
    feed.finished(two, [p64(22)])
    assert feed.changes(one, two) == (True, [(two, [p64(22)])])
    # Behind one of another process, it comes with the answer of the server.
    feed._since = since
    feed.finishing()
    notify(three, four)
    visible.extend((three, four))
    feed.finished(four, [p64(44)])
    assert feed.changes(two, four) == (True, [(three, [three]), (four, [four])])
    assert not feed._queue
    assert not feed._own
    for thread in notified:
        thread.join(WAIT_S)
    # Of a commit that fails, nothing stays.
    feed.finishing()
    feed.failed()
    assert feed._finishing == 0


# --- processes -------------------------------------------------------------------------------------


def test_processes_change_different_objects_and_one_object(shared, processes):
    """Four of them. Conflicts at the counter are resolved, and nobody's work is lost."""
    db = ZODB.DB(shared)
    with db.transaction() as connection:
        connection.root()["counter"] = PCounter()
        for number in range(4):
            connection.root()[number] = PCounter()
    workers = [
        processes(
            """
db = ZODB.DB(storage)
number, rounds = int(sys.argv[3]), int(sys.argv[4])
last = tries = 0
print("ready", flush=True)
sys.stdin.readline()
for each in range(rounds):
    while True:
        tries += 1
        try:
            with db.transaction() as connection:
                root = connection.root()
                assert root["counter"]._value >= last
                last = root["counter"]._value + 1
                root["counter"].inc()
                root[number].inc()
            break
        except ConflictError:
            pass
print(tries)
db.close()
""",
            number,
            40,
        )
        for number in range(4)
    ]
    for worker in workers:
        worker.told()
    for worker in workers:
        worker.process.stdin.write("\n")
        worker.process.stdin.flush()
    tries = [int(worker.end()[0]) for worker in workers]
    with db.transaction() as connection:
        root = connection.root()
        assert [root[number]._value for number in range(4)] == [40] * 4
        assert root["counter"]._value == 160
    assert sum(tries) >= 160
    assert len(db.undoLog(0, 1000)) >= 160
    db.close()


def test_a_killed_process_leaves_no_locks(shared, processes):
    """It had voted. Whoever waits for the object goes on, and nothing of the killed one is there."""
    holder = processes(
        """
meta = TransactionMetaData()
storage.tpc_begin(meta)
storage.store(p64(1), z64, b"killed", "", meta)
storage.tpc_vote(meta)
print("voted", flush=True)
sys.stdin.readline()
"""
    )
    assert holder.told() == "voted"
    done = []
    thread = threading.Thread(
        target=lambda: done.append(commit(shared.new_instance(), (p64(1), z64, b"waited")))
    )
    thread.start()
    thread.join(0.3)
    assert thread.is_alive()
    holder.process.send_signal(signal.SIGKILL)
    thread.join(WAIT_S)
    assert len(done) == 1
    assert shared.load(p64(1)) == (b"waited", done[0])


def test_a_transaction_that_waits_can_be_taken_back_by_another_thread(shared):
    """The wait for the lock ends, and the storage can be closed."""
    first, second = shared.new_instance(), shared.new_instance()
    one = commit(first, (p64(1), z64, b"1"), vote_only=True)
    caught = []

    def wait():
        try:
            commit(second, (p64(1), z64, b"2"))
        except Exception as error:
            caught.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    thread.join(0.2)
    assert thread.is_alive()
    second.release()
    thread.join(WAIT_S)
    assert not thread.is_alive()
    assert len(caught) == 1
    tid = first.tpc_finish(one)
    assert shared.load(p64(1)) == (b"1", tid)


def test_ctrl_c_ends_a_wait_for_a_lock(shared):
    """The transaction can be aborted, and the storage goes on."""
    first, second = shared.new_instance(), shared.new_instance()
    one = commit(first, (p64(1), z64, b"1"), vote_only=True)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        commit(second, (p64(1), z64, b"2"))
    timer.join()
    tid = first.tpc_finish(one)
    commit(second, (p64(1), tid, b"2"))
    assert shared.load(p64(1))[0] == b"2"


def test_a_fork_has_to_open_the_storage_itself(shared):
    """The connections are those of the first process, which goes on with them."""
    commit(shared, (p64(1), z64, b"1"))
    meta = commit(shared, (p64(2), z64, b"2"), vote_only=True)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        told = []
        for call in (
            lambda: shared.load(p64(1)),
            lambda: shared.new_instance(),
            lambda: shared.new_oid(),
            lambda: shared.tpc_finish(meta),
        ):
            try:
                call()
                told.append("no error")
            except anywhen.InterfaceError as error:
                told.append("fork" if "fork" in str(error) else str(error))
        os.write(write, " ".join(told).encode())
        os._exit(0)
    os.close(write)
    with open(read) as answer:
        assert answer.read() == "fork fork fork fork"
    os.waitpid(child, 0)
    tid = shared.tpc_finish(meta)
    assert shared.load(p64(2)) == (b"2", tid)


# --- what is lost ----------------------------------------------------------------------------------


def test_idle_connections_that_were_lost_are_replaced(shared):
    """A read, and the first call of a transaction, run again on a new connection."""
    first = commit(shared, (p64(1), z64, b"1"))
    pool = shared._backend._pool

    def lose():
        assert pool._idle
        for connection in pool._idle:
            connection._socket.shutdown(socket.SHUT_RDWR)

    lose()
    assert shared.load(p64(1)) == (b"1", first)
    lose()
    second = commit(shared, (p64(1), first, b"2"))
    lose()
    assert shared.load(p64(1)) == (b"2", second)
    # What a transaction has written is lost with its connection.
    meta = commit(shared, (p64(1), second, b"3"), vote_only=True)
    shared._commit._native._connection._socket.shutdown(socket.SHUT_RDWR)
    with pytest.raises(anywhen.OperationalError, match="nobody knows") as caught:
        shared.tpc_finish(meta)
    assert caught.value.sqlstate == "08007"
    assert shared.load(p64(1)) == (b"2", second)
    commit(shared, (p64(1), second, b"4"))


def test_a_lost_listener_costs_the_caches_and_no_change(shared, server, name):
    """What was loaded is dropped: another process may have changed it meanwhile."""
    reader = shared.new_instance()
    first = commit(shared, (p64(1), z64, b"1"))
    reader.poll_invalidations()
    assert reader.load(p64(1)) == (b"1", first)
    feed = shared._backend._feed
    feed._listener._socket.shutdown(socket.SHUT_RDWR)
    until(lambda: not feed.is_listening)
    other = anywhen.zodb.open(server.postgres, name)
    second = commit(other, (p64(1), first, b"2"))
    other.close()
    assert reader.load(p64(1)) == (b"1", first)
    assert reader.poll_invalidations() is None
    assert reader.load(p64(1)) == (b"2", second)
    assert shared.lastInvalidations(2) == [(first, [p64(1)]), (second, [p64(1)])]
    third = commit(shared, (p64(1), second, b"3"))
    assert reader.poll_invalidations() == [p64(1)]
    assert reader.load(p64(1)) == (b"3", third)


def test_a_server_that_is_started_again(start, opens_at, tmp_path):
    """Calls fail while it is gone, and go on afterwards; what was not committed is gone."""
    server = start(tmp_path)
    storage = opens_at(server.postgres)()
    reader, writer = storage.new_instance(), storage.new_instance()
    first = commit(storage, (p64(1), z64, b"1"))
    reader.poll_invalidations()
    reader.load(p64(1))
    meta = commit(writer, (p64(1), first, b"lost"), vote_only=True)
    server.kill()
    until(lambda: not storage._backend._feed.is_listening)
    for call in (reader.poll_invalidations, reader.sync, storage.new_instance, lambda: storage.load(p64(1))):
        with pytest.raises(anywhen.OperationalError, match="connection"):
            call()
    with pytest.raises(anywhen.OperationalError):
        writer.tpc_finish(meta)
    start(tmp_path, postgres=server.address)
    assert reader.poll_invalidations() == []
    assert reader.load(p64(1)) == (b"1", first)
    second = commit(writer, (p64(1), first, b"2"))
    assert reader.poll_invalidations() == [p64(1)]
    assert reader.load(p64(1)) == (b"2", second)
    storage.close()


def test_a_server_with_less_than_was_seen_is_refused(start, opens_at, tmp_path):
    """It is an older copy. The caches have what it does not know."""
    server = start(tmp_path)
    opens = opens_at(server.postgres)
    storage = opens()
    commit(storage, (p64(1), z64, b"1"))
    feed = storage._backend._feed
    feed.known = p64(1 << 62)
    feed._listener._socket.shutdown(socket.SHUT_RDWR)
    until(lambda: not feed.is_listening)
    with pytest.raises(anywhen.OperationalError, match="lacks transactions"):
        storage.poll_invalidations()
    storage.close()
    again = opens()
    assert again.load(p64(1))[0] == b"1"
    again.close()


# --- opening ---------------------------------------------------------------------------------------


def test_addresses_sections_and_databases_open_a_storage(server, name, tmp_path):
    """All of them the same one. A storage ends with its database."""
    place = server.postgres.split("://")[1]
    factory, arguments = zodburi.resolve_uri(
        f"anywhen://{place}?storage={name}&blob_dir={tmp_path}/blobs&sslmode=prefer&database_name=main"
    )
    assert arguments["database_name"] == "main"
    storage = factory()
    ZODB.DB(storage)
    root = storage.load(z64)
    assert name in storage.getName()
    assert storage.temporaryDirectory() == str(tmp_path / "blobs/tmp")
    config = f"""
        %import anywhen.zodb
        <zodb main>
            <anywhen>
                {{which}}
                storage {name}
                read-only on
            </anywhen>
        </zodb>
    """
    db = ZODB.config.databaseFromString(config.format(which=f"dsn anywhen://{place}"))
    assert db.storage.load(z64) == root
    assert db.storage.sortKey() == storage.sortKey()
    db.close()
    for wrong in ("", "dsn http://localhost", f"dsn anywhen://{place}\npath {tmp_path}"):
        with pytest.raises(ValueError, match="."):
            ZODB.config.databaseFromString(config.format(which=wrong))
    with anywhen.connect(server.postgres) as database:
        other = anywhen.zodb.open(database, name)
        assert other.load(z64) == root
    with pytest.raises(anywhen.InterfaceError, match="closed"):
        other.load(z64)
    with pytest.raises(anywhen.InterfaceError, match="closed"):
        other.poll_invalidations()
    other.close()
    storage.close()


def test_what_cannot_be_opened_says_why(server, name):
    """A storage that is not there, a schema without one, and HTTP."""
    with anywhen.connect(server.postgres) as database:
        for options in ({"create": False}, {"read_only": True}):
            with pytest.raises(anywhen.NotFoundError, match="no ZODB storage"):
                anywhen.zodb.open(database, name, **options)
        database.sql(f"CREATE SCHEMA {name}")
        with pytest.raises(anywhen.ProgrammingError):
            anywhen.zodb.open(database, name)
        database.sql(f"CREATE TABLE {name}.objects (zoid bigint)")
        with pytest.raises(anywhen.ProgrammingError):
            anywhen.zodb.open(database, name)
    with anywhen.connect(server.http) as database:
        with pytest.raises(anywhen.NotSupportedError, match="http") as caught:
            anywhen.zodb.open(database, name)
        assert "postgres://" in caught.value.hint


def test_a_socket_of_this_machine(start, tmp_path_factory):
    """Instead of a port."""
    folder = tmp_path_factory.mktemp("s")
    server = start(None, "--unix-socket-dir", str(folder))
    port = server.address.rsplit(":", 1)[1]
    storage = zodburi.resolve_uri(f"anywhen://postgres@:{port}/postgres?host={folder}&storage=site")[0]()
    tid = commit(storage, (p64(1), z64, b"x"))
    assert storage.load(p64(1)) == (b"x", tid)
    storage.close()


def test_a_role_with_a_password_needs_rights(server, name):
    """It may read a storage where it may SELECT, and write one where it may write rows."""
    with anywhen.connect(server.postgres) as database:
        storage = anywhen.zodb.open(database, name)
        tid = commit(storage, (p64(1), z64, b"x"))
        database.sql(f"CREATE ROLE {name} LOGIN PASSWORD 'geheim'")
        address = server.postgres.replace("postgres@", f"{name}:geheim@")
        with pytest.raises(anywhen.OperationalError):
            anywhen.zodb.open(address.replace("geheim", "wrong"), name)
        with pytest.raises(anywhen.ProgrammingError) as caught:
            anywhen.zodb.open(address, name)
        assert caught.value.sqlstate == "42501"
        database.sql(f"GRANT USAGE ON SCHEMA {name} TO {name}")
        database.sql(f"GRANT SELECT ON ALL TABLES IN SCHEMA {name} TO {name}")
        reader = anywhen.zodb.open(address, name, read_only=True)
        assert reader.load(p64(1)) == (b"x", tid)
        assert "geheim" not in repr(reader)
        reader.close()
        writer = anywhen.zodb.open(address, name)
        with pytest.raises(anywhen.ProgrammingError) as caught:
            commit(writer, (p64(1), tid, b"y"))
        assert caught.value.sqlstate == "42501"
        database.sql(f"GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {name} TO {name}")
        commit(writer, (p64(1), tid, b"y"))
        writer.pack(time.time() + 1, None, gc=False)
        writer.close()
        storage.close()
        with pytest.raises(anywhen.ProgrammingError):
            anywhen.zodb.open(address, f"{name} of its own")
        database.sql(f"GRANT CREATE ON DATABASE postgres TO {name}")
        owned = anywhen.zodb.open(address, f"{name} of its own")
        commit(owned, (p64(1), z64, b"x"))
        owned.close()


# --- blobs -----------------------------------------------------------------------------------------


def test_blobs_come_in_parts_of_a_mebibyte(shared, server, name, tmp_path):
    """Of any size; each client has its own folder."""
    sizes = [0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3 << 20]
    db = ZODB.DB(shared)
    with db.transaction() as connection:
        for size in sizes:
            connection.root()[size] = Blob(os.urandom(size))
    other = ZODB.DB(anywhen.zodb.open(server.postgres, name, blob_dir=tmp_path / "other"))
    with db.transaction() as here, other.transaction() as there:
        for size in sizes:
            with here.root()[size].open() as mine, there.root()[size].open() as theirs:
                found = theirs.read()
                assert len(found) == size
                assert found == mine.read()
    other.close()
    db.close()


def test_the_command_converts_into_a_server_and_out_of_it(server, name, tmp_path, capsys):
    """Byte for byte; the site can run while its storage is packed."""
    fill(kinds(tmp_path, "file", "source"))
    address = f"anywhen://{server.postgres.split('://')[1]}?storage={name}"
    code, out, err = run(
        capsys,
        *("convert", tmp_path / "source.fs", address, "--check"),
        *("--source-blobs", tmp_path / "source-fs-blobs"),
    )
    assert (code, err) == (0, "")
    assert f"compared {ALL} transactions, " in out
    site = anywhen.zodb.open(server.postgres, name)
    code, out, err = run(
        capsys,
        *("convert", address, tmp_path / "back.fs", "--check"),
        *("--destination-blobs", tmp_path / "back-blobs"),
    )
    assert (code, err) == (0, "")
    assert f"compared {ALL} transactions, " in out
    code, out, err = run(capsys, "pack", address)
    assert (code, err) == (0, "")
    assert out.startswith("packed: ")
    commit(site, (p64(1 << 40), z64, b"x"))
    site.close()
    for arguments in (("pack", f"{address}x"), ("convert", f"{address}x", address)):
        code, _, err = run(capsys, *arguments)
        assert code == 1
        assert f"no ZODB storage '{name}x'" in err


def test_a_conflict_of_the_server_is_one_of_zodb(served):
    """Two large transactions that wait for each other in a circle: one of them begins anew."""
    storage = served()
    data = b"x" * (9 << 20)
    metas = [TransactionMetaData(), TransactionMetaData()]
    instances = [storage.new_instance() for _ in metas]
    for number, (instance, meta) in enumerate(zip(instances, metas, strict=True)):
        instance.tpc_begin(meta)
        instance.store(p64(number), z64, data, "", meta)
    ended = []

    def other(instance, meta, number):
        try:
            instance.store(p64(number), z64, data, "", meta)
            ended.append("written")
        except ConflictError:
            instance.tpc_abort(meta)
            ended.append("conflict")

    threads = [
        threading.Thread(target=other, args=(instances[0], metas[0], 1)),
        threading.Thread(target=other, args=(instances[1], metas[1], 0)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(ended) == ["conflict", "written"]
    transaction.abort()
    storage.close()


def test_nothing_is_lost_when_the_server_is_killed():
    """Processes commit, one packs, and the server is killed: every acknowledged entry is there, and every
    object that can be reached. The ten minutes of `hostile.py --seconds 600 --kills 30` are for releases."""
    script = os.path.join(os.path.dirname(__file__), "hostile.py")
    command = [sys.executable, script, "--seconds", "8", "--kills", "2", "--writers", "3"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_client_with_a_wrong_clock_leads_nobody_astray(served, monkeypatch):
    """Its clock is an hour ahead. The tid that it gets is of the server's clock."""
    monkeypatch.setattr(_wire.WireObjects, "follows_clock", False)
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + 3600)
    storage = served()
    tid = commit(storage, (p64(1), z64, b"data"))
    assert abs(TimeStamp(tid).timeTime() - now()) < 60
    storage.close()
