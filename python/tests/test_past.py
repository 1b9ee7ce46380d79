"""The past: what was when, what changed, who changed it, and the way back."""

import pickle
from datetime import datetime, timedelta, timezone

import pytest

import anywhen


def test_a_view_is_what_was_there(articles):
    """By version, by time, by commit; it can be read, and nothing else."""
    assert articles.at(version=1)["a1"]["counter"] == 0
    assert articles.at(version=2).get_node("a1", "$.counter") == 1
    first = articles.history("a1")[-1]
    for view in (
        articles.at(csn=first.csn),
        articles.at(time=first.time),
        articles.at(time=first.time.isoformat()),
        articles.at(time=first.time.astimezone(timezone(timedelta(hours=-7)))),
    ):
        assert view["a1"]["counter"] == 0 and view.version("a1") == 1
        assert list(view) == ["a1"] and len(view) == 1 and "a1" in view and "b" not in view
    before = articles.at(time=first.time - timedelta(microseconds=1))
    assert "a1" not in before and before.get("a1") is None
    with pytest.raises(KeyError):
        before["a1"]
    assert "a1" not in articles.at(version=9)
    with pytest.raises(anywhen.NotSupportedError, match="time="):
        list(articles.at(version=1))
    with pytest.raises(TypeError):
        articles.at(version=1)["a1"] = 2
    for wrong in ({}, {"version": 1, "csn": 1}, {"version": "1"}, {"version": True}, {"time": 7}):
        with pytest.raises(TypeError):
            articles.at(**wrong)
    for wrong in ({"version": -1}, {"time": datetime(2026, 1, 1)}, {"time": "yesterday"}):
        with pytest.raises(ValueError):
            articles.at(**wrong)


def test_history_is_newest_first(articles):
    """Who made each version, when and why; also of what was removed."""
    rows = articles.history("a1")
    assert [(row.version, row.author, row.message) for row in rows] == [
        (3, "grace", "tags"),
        (2, "ada", "first edit"),
        (1, "ada", ""),
    ]
    assert all(row.time.utcoffset() == timedelta(0) and row.kept for row in rows)
    assert rows[0].time >= rows[1].time >= rows[2].time
    assert articles.history("a1", 2) == rows[:2]
    articles.delete("a1", message="gone")
    newest = articles.history("a1", 1)[0]
    assert newest.deleted and newest.version == 4 and articles.version("a1") == 4
    with pytest.raises(KeyError):
        articles.history("never")


def test_diffs_know_moves(articles):
    """What changed between two versions, node by node, and as a patch."""
    changes = articles.diff("a1", 2, 3)
    assert [(change.op, change.path) for change in changes] == [
        ("move", "$.tags[0]"),
        ("insert", "$.tags[2]"),
    ]
    assert changes[0].from_path == "$.tags[1]" and changes[1].new == "history"
    assert articles.diff("a1") == changes
    assert [step["op"] for step in articles.json_patch("a1", 2, 3)] == ["move", "add"]
    back = articles.diff("a1", 3, 2)
    assert ("delete", "history") in [(change.op, change.old) for change in back]
    assert articles.diff("a1", 3, 3) == []
    with pytest.raises(KeyError):
        articles.diff("a1", 1, 99)


def test_one_field_over_time(articles):
    """Every value that a node had, each with its versions and times."""
    first, second = articles.node_history("a1", "$.counter")
    assert (first.value, first.from_version, first.to_version) == (0, 1, 1)
    assert (second.value, second.from_version, second.to_version) == (1, 2, None)
    assert first.to_time == second.from_time and second.to_time is None
    articles.delete("a1", "$.counter")
    assert articles.node_history("a1", "/counter")[-1].to_version == 3
    articles.update("a1", "$.counter", 7)
    *_, second, third = articles.node_history("a1", "$.counter")
    assert (third.value, third.from_version, third.to_version) == (7, 5, None)
    assert third.node_key != second.node_key, "a field that is added again is another node"
    assert articles.node_history("a1", second.node_key)[-1] == second
    with pytest.raises(anywhen.NotFoundError):
        articles.node_history("a1", "$.never")


def test_blame(articles):
    """Each node's last change, with who and why."""
    by = {line.path: line for line in articles.blame("a1")}
    assert (by["$.counter"].version, by["$.counter"].message) == (2, "first edit")
    assert (by["$.title"].author, by["$.title"].value) == ("ada", "Anywhen")
    assert by["$.tags"].is_container and by["$.tags"].author == "grace"
    assert {line.version for line in articles.blame("a1", 1)} == {1}


def test_the_way_back_is_a_version(articles):
    """Reverting writes; a removed document comes back the same way."""
    done = articles.revert("a1", 1, message="as it was")
    assert done.version == 4 and articles["a1"] == articles.at(version=1)["a1"]
    articles.delete("a1")
    articles.revert("a1", 3)
    assert articles["a1"]["tags"] == ["db", "draft", "history"]
    with pytest.raises(KeyError):
        articles.revert("a1", 99)


def test_records_compare_print_and_travel(articles):
    """They are values: equal, hashable, readable, and safe to send elsewhere."""
    rows = articles.history("a1")
    assert pickle.loads(pickle.dumps(rows)) == rows == articles.history("a1")
    assert len(set(rows)) == 3 and "author='grace'" in repr(rows[0])
    with pytest.raises(AttributeError):
        rows[0].author = "somebody else"


def test_what_is_not_kept_says_so():
    """A collection without a past answers for the versions that it has let go of."""
    with anywhen.open(None) as db:
        short = db.collection("short", history="none")
        for number in range(5):
            short["k"] = {"n": number}
        db.compact()
        with pytest.raises(anywhen.ForgottenError):
            short.at(version=1)["k"]
        assert [row.kept for row in short.history("k")][-1] is False
