"""What the guide shows first works as it is printed, here and over the wire."""

import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).resolve().parents[2] / "docs/guide/python.md"
README = Path(__file__).resolve().parents[2] / "README.md"


def first_block(path):
    return re.search(r"```python\n(import anywhen\n.*?)```", path.read_text(), re.S)[1]


@pytest.mark.parametrize("page", [GUIDE, README], ids=["guide", "readme"])
def test_embedded(page, tmp_path, monkeypatch):
    """The code of the page runs in an empty folder."""
    monkeypatch.chdir(tmp_path)
    told = {}
    exec(first_block(page), told)
    check(told["db"], told["articles"])


def test_over_the_wire(server):
    """The same code with `connect` in the place of `open`."""
    code = first_block(GUIDE)
    lines = [line for line in code.splitlines() if "anywhen.open(" in line]
    assert len(lines) == 1
    told = {}
    exec(code.replace(lines[0], f"db = anywhen.connect({server.http!r})"), told)
    check(told["db"], told["articles"])


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
