"""What the guide and the README show first works as it is printed, here and over the wire, where nothing is
installed but the wheel.

ANYWHEN_ALONE names the interpreter of such an environment; without it, it is the one of the tests.
"""

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ALONE = os.environ.get("ANYWHEN_ALONE") or sys.executable
GUIDE = Path(__file__).resolve().parents[2] / "docs/guide/python.md"
README = Path(__file__).resolve().parents[2] / "README.md"
PAGES = pytest.mark.parametrize("page", [GUIDE, README], ids=["guide", "readme"])


def blocks(page):
    """The Python of a page, as it is printed."""
    return re.findall(r"```python\n(.*?)```", page.read_text(), re.S)


def quick_start(page):
    first = blocks(page)[0] if page == GUIDE else next(
        block for block in blocks(page) if block.startswith("import anywhen\n")
    )
    assert first.startswith("import anywhen\n") and "anywhen.open(" in first
    return first


def over_the_wire(code, server):
    """The same code with `connect` in the place of `open`."""
    lines = [line for line in code.splitlines() if "anywhen.open(" in line]
    assert len(lines) == 1
    return code.replace(lines[0], f"db = anywhen.connect({server.http!r})")


def run(code, folder):
    """Runs it as a program of its own, which says that it has come to its end."""
    done = subprocess.run(
        [ALONE, "-I", "-c", code + "\nprint('well')"],
        capture_output=True, text=True, timeout=60, cwd=folder,
    )
    assert (done.returncode, done.stdout) == (0, "well\n"), done.stderr


def check(db, articles):
    assert articles["a1"] == {"title": "Anywhen", "counter": 1}
    assert articles.at(version=1)["a1"] == {"title": "Anywhen", "counter": 0}
    assert [(row.version, row.message) for row in articles.history("a1")] == [
        (2, "first edit"),
        (1, ""),
    ]
    (change,) = articles.diff("a1", 1, 2)
    assert (change.op, change.path, change.old, change.new) == ("update", "$.counter", 0, 1)
    runs = articles.node_history("a1", "$.counter")
    assert [(run.value, run.from_version, run.to_version) for run in runs] == [(0, 1, 1), (1, 2, None)]
    db.close()


CHECK = inspect.getsource(check) + "check(db, articles)\n"


@PAGES
def test_embedded(page, tmp_path):
    """The code of the page runs in an empty folder."""
    run(quick_start(page) + CHECK, tmp_path)


@PAGES
def test_over_the_wire(page, server, tmp_path):
    """The same on a server."""
    clean = "db.drop_collection('articles', purge=True)\n"
    code = over_the_wire(quick_start(page), server)
    code = code.replace("articles = ", clean + "articles = ", 1)
    run(code + CHECK, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_nothing_else_is_there(tmp_path):
    """The wheel is alone: it needs no other distribution, and none helps it."""
    if "ANYWHEN_ALONE" not in os.environ:
        pytest.skip("ANYWHEN_ALONE names no environment")
    code = """
from importlib.metadata import distributions
names = {found.metadata["Name"].lower() for found in distributions()}
assert "anywhen-db" in names and names <= {"anywhen-db", "pip", "setuptools"}, names
"""
    run(code, tmp_path)


def test_the_other_blocks_of_the_guide(server, tmp_path):
    """The transaction, SQL, changes and DB-API of the guide, as printed, one after the other."""
    shown = "\n".join(blocks(GUIDE))
    for where in ("anywhen.open(", "db.transaction(", "db.sql(", "db.changes(", "dbapi.connect("):
        assert where in shown, where
    # The frame needs polars, and is tried in test_frames.
    first, transaction, changes, _asyncio, rows, _frame, dbapi = blocks(GUIDE)
    given = """
db.collection("stock")["apples"] = {"count": 3}
db.collection("orders")
"""
    sold = """
assert db.collection("stock")["apples"] == {"count": 2} and db.collection("orders")["o7"]
seen = 0
import _thread, threading
threading.Timer(1, _thread.interrupt_main).start()
try:
"""
    told = """
except KeyboardInterrupt:
    assert seen == db.newest_commit()
else:
    raise AssertionError("it ended by itself")
from datetime import datetime, timezone
db.sql("CREATE TABLE price (item text, cents int)")
db.sql("INSERT INTO price VALUES ('tea', 350), ('salt', 90)")
moment = datetime.now(timezone.utc)
"""
    closed = "\ndb.close()\n"
    indented = "".join("    " + line + "\n" for line in changes.splitlines())
    rows = "\n".join(
        line for line in rows.splitlines()
        # What needs pandas, polars or pyarrow is tried in test_frames.
        if "rows.df()" not in line
    )
    code = first + given + transaction + sold + indented + told + rows + closed + dbapi
    done = subprocess.run(
        [ALONE, "-I", "-c", code], capture_output=True, text=True, timeout=60, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "(350,)", done.stdout


def test_the_block_for_asyncio(start, tmp_path):
    """As printed, with a server of the test's own and changes that end."""
    code = blocks(GUIDE)[3].replace("http://localhost:8080", start().http).replace("follow=True", "")
    done = subprocess.run([ALONE, "-I", "-c", code], capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "a1  first", done.stdout
