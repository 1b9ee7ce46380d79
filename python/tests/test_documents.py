"""Collections are mappings, and every part of a document can be changed by its path."""

from collections.abc import Mapping, MutableMapping
from datetime import datetime, timedelta, timezone

import pytest
from conftest import Server

import anywhen


def test_a_collection_is_a_mapping(db, name):
    """All that a dict can do with keys and values a collection can."""
    things = db.collection(name)
    assert isinstance(things, MutableMapping) and len(things) == 0 and "a" not in things
    things["b"], things["a/ä ?#"] = [1, None], {"x": {"y": "z"}}
    assert list(things) == ["a/ä ?#", "b"] and len(things) == 2 and "b" in things
    assert dict(things) == {"a/ä ?#": {"x": {"y": "z"}}, "b": [1, None]}
    assert list(things.items())[1] == ("b", [1, None])
    assert things.get("c") is None and things.get("c", 7) == 7
    assert things.pop("b") == [1, None] and "b" not in things
    assert things.setdefault("d", 1) == 1 and things.setdefault("d", 2) == 1
    things.update({"e": 5, "f": 6})
    things.update([("g", 7)])
    assert list(things.keys_from("", after="d")) == ["e", "f", "g"]
    assert list(things.keys_from("f")) == ["f"]
    del things["d"]
    with pytest.raises(KeyError, match="no document .d."):
        del things["d"]
    with pytest.raises(KeyError):
        things["d"]
    with pytest.raises(TypeError, match="str"):
        things[7]
    assert 7 not in things


def test_many_keys_are_listed_page_by_page(db, name):
    """More documents than are asked for at a time."""
    things = db.collection(name)
    keys = [f"k{number:05}" for number in range(1, 1203)]
    if db.is_embedded:
        things.update((key, 0) for key in keys)
    else:
        keys = keys[:30]
        things.update((key, 0) for key in keys)
    assert list(things) == keys and len(things) == len(keys)


def test_edits_by_path(db, name):
    """Each edit is a version; what it does not touch keeps its node key."""
    things = db.collection(name)
    made = things.put("k", {"a": 1, "list": [1, 2], "o": {"x": True}})
    assert isinstance(made, anywhen.Commit) and (made.version, made.changed) == (1, True)
    assert made.time.tzinfo is timezone.utc
    assert abs((datetime.now(timezone.utc) - made.time).total_seconds()) < 300
    things.append("k", "$.list", 3)
    things.insert("k", "$.list", 0, where="first")
    things.insert("k", "$.list[0]", 0.5, where="after")
    things.insert("k", "$.o", None, name="y")
    things.insert("k", "$.a", "b", where="after", name="b")
    assert list(things["k"]) == ["a", "b", "list", "o"]
    things.rename("k", "$.a", "first")
    things.move("k", "$.list[1]", "$.o", name="moved")
    things.delete("k", "/o/x")
    done = things.update("k", "$.new", {"deep": [1]})
    assert done.node_key is None or isinstance(done.node_key, int)
    assert things["k"] == {
        "first": 1,
        "b": "b",
        "list": [0, 1, 2, 3],
        "o": {"y": None, "moved": 0.5},
        "new": {"deep": [1]},
    }
    assert things.version("k") == 10
    assert things.get_node("k", "$.o.moved") == 0.5 and things.get_node("k", "$.o.y") is None
    assert things.update("k", "$.b", "b").changed is False and things.version("k") == 10
    for path in ("$.nothing.at.all", "$.list[9]"):
        with pytest.raises(anywhen.NotFoundError):
            things.get_node("k", path)
        with pytest.raises(KeyError):
            things.update("k", path, 1)
    with pytest.raises(ValueError):
        things.update("k", "$..", 1)
    with pytest.raises(anywhen.EditError):
        things.delete("k", "$")
    with pytest.raises(anywhen.EditError):
        things.rename("k", "$.list[0]", "x")
    with pytest.raises(KeyError):
        things.update("none", "$.a", 1)
    with pytest.raises(TypeError, match="update"):
        things.update("k", "$.a")
    with pytest.raises(TypeError, match="colour"):
        things.update("k", "$.a", 1, colour=2)


def test_who_why_and_when(db, name):
    """A write says who made it and why, and when it was made where it comes from."""
    things = db.collection(name)
    then = datetime(2020, 2, 29, 12, 30, 0, 5, tzinfo=timezone.utc)
    things.put("k", 1, message="Grüße & = ?", author="Ada L.", authored=then)
    (row,) = things.history("k")
    assert (row.author, row.message, row.authored) == ("Ada L.", "Grüße & = ?", then)
    assert row.role == "", "nobody had to prove who they are"
    (line,) = things.blame("k")
    assert (line.author, line.authored, line.role) == ("Ada L.", then, "")
    (run,) = things.node_history("k", "$")
    assert run.authored == then
    (change,) = db.changes(after=row.csn - 1, until=row.csn, collection=name)
    assert (change.author, change.authored, change.role) == ("Ada L.", then, "")
    things["k"] = 2
    assert things.at(authored="2020-03-01 00:00:00Z")["k"] == 1
    assert things.document("k").at(authored=then) == 1
    assert "k" not in things.at(authored=then - timedelta(days=1))
    with db.transaction() as tx:
        tx.collection(name)["other"] = 1
        tx.commit(authored=then)
    assert things.history("other")[0].authored == then
    with pytest.raises(ValueError, match="time zone"):
        things.put("k", 2, authored=datetime(2020, 1, 1))
    db.author = "grace"
    things["k"] = 3
    assert things.history("k", 1)[0].author == "grace"


def test_nobody_writes_over_what_they_have_not_seen(db, name):
    """`if_version` is the version that a write is to follow; 0 where there must be none."""
    things = db.collection(name)
    first = things.put("k", 1, if_version=0)
    things.put("k", 2, if_version=first.version)
    with pytest.raises(anywhen.StaleError):
        things.put("k", 3, if_version=first.version)
    with pytest.raises(anywhen.ConflictError):
        things.put("k", 3, if_version=0)
    with pytest.raises(anywhen.StaleError):
        things.delete("k", if_version=7)
    assert things["k"] == 2


def test_collections(db, name):
    """They are made, listed, altered and dropped, and keep as much of the past as is wanted."""
    kept = db.collection(name, history="90d", hashes=True)
    assert kept.options() == anywhen.CollectionOptions("90d", True, False)
    kept.set_history("forever")
    assert kept.options().history == "forever" and name in db.collections()
    with pytest.raises(anywhen.Error):
        db.collection(name, hashes=False)
    with pytest.raises((anywhen.Error, ValueError)):
        kept.set_history("for ever and ever")
    kept["k"] = 1
    assert db.drop_collection(name) is True and db.drop_collection(name) is False
    with pytest.raises(KeyError):
        kept["k"]
    with pytest.raises((anywhen.EditError, anywhen.NotFoundError)):
        db.collection("")


def test_a_document_has_the_same_calls(articles):
    """`document(key)` is the collection with the key said once."""
    a1 = articles.document("a1")
    assert a1.exists() and a1.version == 3 and a1.value["counter"] == 1
    assert a1.get("$.counter") == 1 and a1.get("$.none", "?") == "?"
    a1.update("$.counter", 2, message="again")
    a1.append("$.tags", "new")
    a1.insert("$.tags", "old", where="first")
    a1.rename("$.title", "name")
    a1.move("$.name", "$", where="last", name="label")
    a1.delete("$.label")
    assert a1.value == {"counter": 2, "tags": ["old", "db", "draft", "history", "new"]}
    assert a1.at(version=1)["counter"] == 0 and len(a1.history(2)) == 2
    assert [run.value for run in a1.node_history("$.counter")] == [0, 1, 2]
    assert a1.diff()[0].op == "delete" and a1.json_patch()[0]["op"] == "remove"
    assert a1.blame()[0].path == "$"
    assert a1.revert(1).changed and a1.value == a1.at(version=1)
    a1.delete()
    assert not a1.exists() and a1.put(1).version == 12
    assert isinstance(articles.at(version=1), Mapping)


def test_a_connection_that_the_server_has_closed_is_not_written_to(tmp_path):
    """Once the first write after half a minute of silence failed: the server closes what is idle."""
    first = Server(tmp_path)
    with anywhen.connect(first.http) as db:
        c = db.collection("c")
        c["a"] = 1
        first.stop()
        second = Server(tmp_path, http=first.http.removeprefix("http://"))
        c["a"] = 2
        assert c["a"] == 2
        second.stop()
