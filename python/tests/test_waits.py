"""Whoever waits for another hears of signals, is told where nobody is left to end the wait, and goes when the
database is closed."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import pytest

import anywhen

LONG = "SELECT count(*) FROM generate_series(1, 100000000000) g"


@pytest.fixture
def here():
    with anywhen.open(None) as database:
        database.collection("c")["a"] = 0
        yield database


@contextmanager
def held_elsewhere(db):
    """While the block runs, a transaction of another thread has changed the document `a`."""
    ready, go = threading.Event(), threading.Event()

    def hold():
        with db.transaction() as tx:
            tx.collection("c")["a"] = "elsewhere"
            ready.set()
            go.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert ready.wait(30)
        yield go
    finally:
        go.set()
        thread.join()


def test_a_write_beside_an_own_transaction_is_told(here):
    """It waited for ever: for the thread that waited itself. Nothing else is disturbed."""
    t = here.collection("c")
    t["b"] = 0
    with here.transaction() as tx:
        tx.collection("c")["a"] = 1
        for write in (
            lambda: t.put("a", 2),
            lambda: t.update("a", "$", 2),
            lambda: t.delete("a"),
            lambda: t.revert("a", 1),
            lambda: t.update({"a": 2}),
        ):
            with pytest.raises(anywhen.ConflictError, match="this thread") as caught:
                write()
            assert caught.value.sqlstate == "40P01" and "inside" in caught.value.hint
        t["b"] = 3
        assert t["a"] == 0, "reading waits for nobody"
    assert dict(t) == {"a": 1, "b": 3}


def test_sql_beside_own_transactions_is_told(here):
    """The same between statements of two sessions, and between documents and the rows of their table."""
    here.sql("CREATE TABLE d (id text PRIMARY KEY, doc jsonb) USING document")
    d = here.collection("d")
    d["k"] = {"n": 1}
    with here.session() as session:
        session.sql("BEGIN")
        session.sql("UPDATE d SET doc = '{\"n\": 2}'")
        for write in (lambda: d.put("k", 3), lambda: here.sql("DELETE FROM d")):
            with pytest.raises(anywhen.ConflictError) as caught:
                write()
            assert caught.value.sqlstate == "40P01"
        session.sql("COMMIT")
    d["k"] = {"n": 4}
    with here.transaction() as tx:
        tx.collection("d")["k"] = {"n": 5}
        with pytest.raises(anywhen.ConflictError):
            here.sql("UPDATE d SET doc = '{}'")
    assert d["k"] == {"n": 5}


def test_a_wait_for_another_thread_ends_with_it(here):
    """And signals whose handlers raise nothing do not end it."""
    seen = []
    before = signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
    try:
        with held_elsewhere(here) as go:
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            threading.Timer(0.4, go.set).start()
            here.collection("c")["a"] = "here"
    finally:
        signal.signal(signal.SIGALRM, before)
    assert seen == [1] and here.collection("c")["a"] == "here"
    assert [row.version for row in here.collection("c").history("a")] == [3, 2, 1]


@pytest.mark.parametrize("what", ["document", "transaction", "sql"])
def test_ctrl_c_ends_a_wait_for_a_lock(here, what):
    """Nothing of what waited has happened, and what it waited for goes on."""
    here.sql("CREATE TABLE d (n int PRIMARY KEY)")
    t = here.collection("c")
    with held_elsewhere(here), here.transaction() as tx, here.session() as session:
        session.sql("BEGIN")
        elsewhere = threading.Thread(target=session.sql, args=("LOCK TABLE d",))
        elsewhere.start()
        elsewhere.join()
        calls = {
            "document": lambda: t.put("a", "here"),
            "transaction": lambda: tx.collection("c").put("a", "here"),
            "sql": lambda: here.sql("INSERT INTO d VALUES (1)"),
        }
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        begun = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            calls[what]()
        assert time.monotonic() - begun < 20
        timer.join()
        tx.rollback()
    assert t["a"] == "elsewhere"


def test_ctrl_c_ends_a_wait_for_what_another_thread_uses(here):
    """A transaction in which another thread waits cannot be taken back before; to wait for that can be ended."""
    with held_elsewhere(here) as go:
        tx = here.transaction()
        failed = []

        def wait():
            try:
                tx.collection("c")["a"] = 1
            except anywhen.ConflictError as error:
                failed.append(error)

        thread = threading.Thread(target=wait)
        thread.start()
        time.sleep(0.1)
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            tx.rollback()
        go.set()
        thread.join()
        tx.rollback()
    assert len(failed) == 1


def test_close_ends_what_others_are_at(tmp_path):
    """It failed with "handles still open" where other threads were within calls. Statements are stopped, waits
    end, calls that run are waited for; who comes later learns that it is closed."""
    db = anywhen.open(tmp_path / "data")
    t = db.collection("c")
    t["a"] = 0
    told = {}

    def kept(name):
        def run(call):
            try:
                told[name] = call()
            except anywhen.Error as error:
                told[name] = error

        return run

    def write():
        number = 0
        while True:
            number += 1
            t["n"] = number

    with held_elsewhere(db):
        waiting = db.transaction().collection("c")
        calls = {
            "write": write,
            "write2": write,
            "sql": lambda: db.sql(LONG),
            "put": lambda: t.put("a", 2),
            "transaction": lambda: waiting.put("a", 1),
            "changes": lambda: len(list(db.changes(follow=True))) > 0,
        }
        threads = [threading.Thread(target=kept(name), args=(call,)) for name, call in calls.items()]
        for thread in threads:
            thread.start()
        time.sleep(0.3)
        db.close()
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()
    assert told["sql"].sqlstate == "57014" and told["changes"] is True
    for name in ("write", "write2"):
        assert isinstance(told[name], anywhen.InterfaceError), name
    # These may have been given their turn by the end of what they waited for, the second after the first.
    assert isinstance(told["put"], (anywhen.InterfaceError, anywhen.Commit))
    assert isinstance(told["transaction"], (anywhen.InterfaceError, anywhen.ConflictError, int))
    with pytest.raises(anywhen.InterfaceError, match="closed"):
        t["a"]
    db.close()
    with anywhen.open(tmp_path / "data") as again:
        is_put = isinstance(told["put"], anywhen.Commit)
        assert again.collection("c")["a"] == (2 if is_put else 0) and again.collection("c")["n"] > 0


HANDLER = """
import os, signal, sys, anywhen
db = anywhen.open(None)
def stop(*_):
    try:
        db.close()
    except anywhen.InterfaceError as error:
        assert "handler" in str(error), error
    raise SystemExit(7)
signal.signal(signal.SIGALRM, stop)
signal.setitimer(signal.ITIMER_REAL, 0.3)
try:
    {call}
finally:
    db.close()
"""


@pytest.mark.parametrize("call", ["db.sql('SELECT pg_sleep(600)')", "while True: db.collection('c')['a'] = 1"])
def test_a_handler_of_a_signal_may_close(tmp_path, call):
    """Where the thread is within a call it is told so, and does not wait for itself."""
    done = subprocess.run(
        [sys.executable, "-c", HANDLER.format(call=call)],
        capture_output=True, text=True, timeout=60, cwd=tmp_path,
    )
    assert done.returncode == 7, done.stderr


@pytest.mark.parametrize("where", ["embedded", "postgres"])
def test_close_stops_statements(server, where):
    """Those of sessions and those of `db.sql`, from another thread; nobody begins another."""
    db = anywhen.open(None) if where == "embedded" else anywhen.connect(server.postgres)
    session, failed = db.session(), []

    def run(sql):
        try:
            sql(LONG)
        except anywhen.OperationalError as error:
            failed.append(error.sqlstate)

    threads = [threading.Thread(target=run, args=(sql,)) for sql in (session.sql, db.sql)]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    db.close()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    assert failed == ["57014"] * 2 and not session.is_open
    for call in (lambda: session.sql("SELECT 1"), lambda: db.sql("SELECT 1"), db.session):
        with pytest.raises(anywhen.InterfaceError, match="closed"):
            call()
