"""Threads, signals, forks, and what cannot be sent elsewhere."""

import copy
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import anywhen

LONG = "SELECT count(*) FROM generate_series(1, 100000000000) g"


def test_threads_share_a_database(db, name):
    """Writers of one document wait for each other; none of their edits is lost."""
    things = db.collection(name)
    things["k"] = {"n": [], "other": 0}
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: things.append("k", "$.n", number), range(40)))
        list(pool.map(lambda number: things.put(f"d{number}", number), range(40)))
    assert sorted(things["k"]["n"]) == list(range(40)) and len(things) == 41
    assert things.version("k") == 41


def test_the_interpreter_is_free_while_the_engine_works(sql):
    """A long statement in one thread does not hold up another."""
    session = sql.session()
    failed = []

    def run():
        try:
            session.sql(LONG)
        except anywhen.OperationalError as error:
            failed.append(error.sqlstate)

    thread = threading.Thread(target=run)
    thread.start()
    ticks = 0
    until = time.monotonic() + 0.5
    while time.monotonic() < until:
        ticks += 1
        time.sleep(0.001)
    assert ticks > 30, "it was held up"
    assert sql.sql("SELECT 1").scalar() == 1, "other sessions go on"
    while thread.is_alive():
        session.cancel()
        thread.join(0.05)
    assert failed == ["57014"]
    assert session.sql("SELECT 2").scalar() == 2, "the session goes on"


def test_threads_share_a_session(sql):
    """Calls wait for one another; each gets its own answer."""
    with sql.session() as session, ThreadPoolExecutor(8) as pool:
        answers = pool.map(lambda n: session.sql("SELECT $1::int * 2", [n]).scalar(), range(60))
        assert list(answers) == [2 * n for n in range(60)]


def test_ctrl_c_stops_a_statement(sql):
    """It is a KeyboardInterrupt as anywhere in Python, and the session goes on."""
    assert threading.current_thread() is threading.main_thread()
    session = sql.session()
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        session.sql(LONG)
    assert time.monotonic() - begun < 20
    timer.join()
    assert session.sql("SELECT 1").scalar() == 1


def test_statements_have_a_time_limit(sql):
    """`statement_timeout` holds here as on a server."""
    with sql.session() as session:
        session.sql("SET statement_timeout = '100ms'")
        with pytest.raises(anywhen.OperationalError) as caught:
            session.sql(LONG)
        assert caught.value.sqlstate == "57014"


def test_handles_stay_where_they_are(db, articles):
    """What belongs to an open database cannot be pickled or copied, and says what to do instead."""
    handles = [db, articles, articles.at(version=1), articles.document("a1"), db.sql("SELECT 1")]
    if db.is_embedded:
        handles += [db.transaction(), db.session()]
    for handle in handles:
        for elsewhere in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="cannot be pickled or copied"):
                elsewhere(handle)


def test_errors_can_be_sent(db, name):
    """An error of another process says the same there."""
    with pytest.raises(anywhen.NotFoundError) as caught:
        db.collection(name)["none"]
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is anywhen.NotFoundError and str(again) == str(caught.value)
    assert again.sqlstate == "02000"


def test_a_folder_is_open_once(tmp_path):
    """A second `open` says who has it, and what to do; after `close` it can be opened again."""
    with anywhen.open(tmp_path / "data") as db:
        with pytest.raises(anywhen.OperationalError, match="in use") as caught:
            anywhen.open(tmp_path / "data")
        assert caught.value.sqlstate == "55006" and "anywhen.connect" in caught.value.hint
        db.collection("c")["k"] = 1
    with pytest.raises(anywhen.InterfaceError, match="closed"):
        db.collection("c")
    db.close()
    with anywhen.open(tmp_path / "data") as db:
        assert db.collection("c")["k"] == 1


def test_what_is_open_ends_with_its_database(tmp_path):
    """`close` ends sessions and takes transactions back; handles on collections do not keep it open."""
    db = anywhen.open(tmp_path / "data")
    things, session, transaction = db.collection("c"), db.session(), db.transaction()
    session.sql("CREATE TABLE t (n int)")
    transaction.collection("c")["k"] = 1
    db.close()
    for call in (lambda: things["k"], lambda: session.sql("SELECT 1"), transaction.commit):
        with pytest.raises(anywhen.InterfaceError, match="closed"):
            call()
    with anywhen.open(tmp_path / "data") as db:
        assert len(db.collection("c")) == 0


def test_where_there_is_no_database(tmp_path):
    """`create` says what may be made; a folder of something else is left alone."""
    with pytest.raises(anywhen.ProgrammingError) as caught:
        anywhen.open(tmp_path / "none", create="never")
    assert caught.value.sqlstate == "3D000"
    (tmp_path / "file").write_text("mine")
    with pytest.raises(anywhen.ProgrammingError, match="holds no database"):
        anywhen.open(tmp_path)
    anywhen.open(tmp_path / "new", create="new").close()
    with pytest.raises(anywhen.ProgrammingError):
        anywhen.open(tmp_path / "new", create="new")
    for wrong in ({"create": "maybe"}, {"durability": "none"}):
        with pytest.raises(ValueError):
            anywhen.open(tmp_path / "new", **wrong)


FORKED = """
import os, sys, anywhen
db = anywhen.open(sys.argv[1])
wire = anywhen.connect(sys.argv[2])
for each in (db, wire):
    each.collection("forked")["k"] = 1
session = db.session()
session.sql("CREATE TABLE t (n int)")
child = os.fork()
if child == 0:
    for call in (lambda: db.collection("forked")["k"], lambda: session.sql("SELECT 1"), db.close):
        try:
            call()
        except anywhen.InterfaceError as error:
            assert "fork" in str(error)
        else:
            sys.exit(1)
    assert wire.collection("forked")["k"] == 1
    sys.exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert db.collection("forked")["k"] == 1 and wire.collection("forked")["k"] == 1
db.close()
print("well")
"""


def test_a_fork_does_not_take_it_along(tmp_path, server):
    """The child is told to open its own, and ends without a wait; the parent goes on. HTTP goes on in both."""
    done = subprocess.run(
        [sys.executable, "-c", FORKED, tmp_path / "data", server.http],
        capture_output=True, text=True, timeout=60, cwd=tmp_path,
    )
    assert (done.returncode, done.stdout) == (0, "well\n"), done.stderr


def test_every_name_is_there():
    """What the module says that it has; and it is typed."""
    for name in anywhen.__all__:
        assert getattr(anywhen, name).__doc__, name
    folder = Path(anywhen.__file__).parent
    assert (folder / "py.typed").exists() and (folder / "_native.pyi").exists()
    assert anywhen.__version__.count(".") == 2


def test_the_native_module_is_what_its_stub_says():
    """Every class and function, and every method of each, in both directions."""
    import ast

    native = anywhen._native
    tree = ast.parse((Path(anywhen.__file__).parent / "_native.pyi").read_text())
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            assert callable(getattr(native, node.name))
        if isinstance(node, ast.ClassDef):
            told = {of.name for of in node.body if isinstance(of, ast.FunctionDef)}
            there = {name for name in vars(getattr(native, node.name)) if not name.startswith("__")}
            assert there == {name for name in told if not name.startswith("__")}, node.name
