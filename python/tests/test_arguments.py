"""What cannot be is refused with an error of the module, and alike in this process and over HTTP."""

from datetime import datetime, timezone

import pytest

import anywhen

HALF = "\ud800"


def test_numbers_that_count_have_a_range(articles):
    """A number that no version can have was an OverflowError, or one of HTTP."""
    for call in (
        lambda: articles.at(version=2**70),
        lambda: articles.at(csn=2**70),
        lambda: articles.put("a1", 1, if_version=2**70),
        lambda: articles.put("a1", 1, if_version=-1),
        lambda: articles.revert("a1", 2**70),
        lambda: articles.diff("a1", 2**70, 1),
        lambda: articles.blame("a1", 2**70),
        lambda: articles.history("a1", -1),
        lambda: articles._database.changes(2**70),
    ):
        with pytest.raises(anywhen.EditError) as caught:
            call()
        assert isinstance(caught.value, ValueError)
    for node in (-1, 0, 2**63, 2**70):
        with pytest.raises(anywhen.NotFoundError):
            articles.get_node("a1", node)
    for wrong in (True, 1.0, None, b"$"):
        with pytest.raises(TypeError):
            articles.get_node("a1", wrong)
    with pytest.raises(TypeError):
        articles.put("a1", 1, if_version="1")
    assert articles.version("a1") == 3 and articles.history("a1", 0) == []


def test_nobody_has_seen_what_is_still_to_come(db, articles):
    """Whoever goes on after a commit that is not there yet would miss what comes before it, without a word."""
    newest = db.newest_commit()
    assert list(db.changes(newest)) == []
    for follow in (False, True):
        with pytest.raises(anywhen.EditError, match="newest commit"):
            db.changes(newest + 10**9, follow=follow)


def test_half_a_surrogate_pair_is_no_text(db, articles):
    """It was a bare UnicodeEncodeError wherever it was."""
    for call in (
        lambda: articles[HALF],
        lambda: articles.put(HALF, 1),
        lambda: articles.get_node("a1", f"$.{HALF}"),
        lambda: articles.rename("a1", "$.counter", HALF),
        lambda: articles.insert("a1", "$", 1, name=HALF),
        lambda: articles.put("a1", 1, message=HALF),
        lambda: articles.put("a1", 1, author=HALF),
        lambda: list(articles.keys_from(HALF)),
        lambda: db.collection(HALF),
        lambda: db.drop_collection(HALF),
        lambda: db.transaction().collection(HALF),
        lambda: db.changes(document=HALF),
    ):
        with pytest.raises(anywhen.EditError, match="surrogate"):
            call()
    with pytest.raises(anywhen.InvalidValueError, match="surrogate"):
        db.sql(f"SELECT '{HALF}'")
    assert HALF not in articles and HALF not in articles.at(version=1)


def test_values_that_no_document_holds(db, articles):
    """Over HTTP they were another error than here. SQL's own errors are what they were."""
    for value, state in ((10**131_072, "22003"), ("a\0b", "22P05"), ({"a\0": 1}, "22P05")):
        for call in (
            lambda: articles.put("a2", [value]),
            lambda: articles.update("a1", "$.counter", value),
            lambda: articles.insert("a1", "$", value, name="new"),
        ):
            with pytest.raises(anywhen.InvalidValueError) as caught:
                call()
            assert caught.value.sqlstate == state
    assert articles["a1"]["counter"] == 1 and "a2" not in articles
    with pytest.raises(anywhen.DataError) as caught:
        db.sql("SELECT 9223372036854775807 + 1").fetchall()
    assert not isinstance(caught.value, anywhen.InvalidValueError)


def test_what_can_be_no_key(db, articles):
    """The empty key found a list of the documents over HTTP."""
    for call in (
        lambda: articles[""],
        lambda: articles.put("", 1),
        lambda: articles.delete(""),
        lambda: articles.history(""),
        lambda: articles.at(version=1)[""],
        lambda: articles.update({"": 1}),
        lambda: articles.put("x" * 1025, 1),
        lambda: articles.put("a\0b", 1),
        lambda: db.collection(""),
    ):
        with pytest.raises(anywhen.EditError):
            call()
    assert "" not in articles and list(articles) == ["a1"]
    for key in (".", "..", "%2f", "?#", "x" * 1024):
        articles[key] = key
        assert articles[key] == key and key in articles


def test_a_time_says_where_it_is(articles):
    """What has no time zone was taken as UTC as a `str`, and refused as a `datetime`."""
    for wrong in ("2026-01-01 00:00:00", "2026-01-01T00:00", "2026-01-01", datetime(2026, 1, 1)):
        with pytest.raises(anywhen.InvalidValueError, match="time zone") as caught:
            articles.at(time=wrong)
        assert caught.value.sqlstate == "22007"
    for right in ("2100-01-01 00:00:00Z", "2100-01-01T00:00:00-07", "2100-01-01 00:00 +02:00", "@4102444800"):
        assert articles.at(time=right)["a1"]["counter"] == 1
    with pytest.raises(anywhen.InvalidValueError):
        articles.put("a1", 1, authored=datetime(2026, 1, 1))
    with pytest.raises(anywhen.EditError, match="1970"):
        articles.put("a1", 1, authored=datetime(1969, 1, 1, tzinfo=timezone.utc))
    with pytest.raises(TypeError):
        articles.put("a1", 1, authored="now")


def test_the_newest_version_is_what_is_expected(articles):
    """`version` of a removed document tells the version that removed it, and `if_version` knew it not."""
    del articles["a1"]
    removed = articles.version("a1")
    assert removed == 4
    for wrong in (3, 5):
        for call in (
            lambda: articles.put("a1", 1, if_version=wrong),
            lambda: articles.revert("a1", 1, if_version=wrong),
            lambda: articles.update("a1", "$.counter", 1, if_version=wrong),
            lambda: articles.delete("a1", if_version=wrong),
            lambda: articles.delete("never", if_version=wrong),
        ):
            with pytest.raises(anywhen.StaleError):
                call()
    with pytest.raises(anywhen.NotFoundError):
        articles.delete("a1", if_version=removed)
    assert articles.put("a1", {"n": 1}, if_version=removed).version == 5
    with pytest.raises(anywhen.StaleError):
        articles.put("a1", 2, if_version=removed)
    del articles["a1"]
    assert articles.revert("a1", 1, if_version=articles.version("a1")).version == 7
    del articles["a1"]
    assert articles.put("a1", 3, if_version=0).version == 9


def test_a_collection_that_was_dropped_is_not_made_by_writing(db, name):
    """Over HTTP whoever held on to it made another."""
    things = db.collection(name)
    things["k"] = 1
    then = db.newest_commit()
    assert db.drop_collection(name)
    for call in (
        lambda: things.put("k", 2),
        lambda: things.update({"k": 2}),
        lambda: things.update("k", "$", 2),
        lambda: things.delete("k"),
        lambda: things["k"],
        lambda: list(things),
        lambda: len(things),
    ):
        with pytest.raises(anywhen.NotFoundError):
            call()
    assert "k" not in things and name not in db.collections()
    assert things.at(csn=then)["k"] == 1 and list(things.at(csn=then)) == ["k"], "its past is there"
    with db.transaction() as tx:
        tx.collection(name)["k"] = 3
    assert things["k"] == 3, "it is made where that is said"


def test_options_of_a_collection(db, name):
    """What one cannot keep, and what another keeps already."""
    for history in ("sometimes", ""):
        with pytest.raises(anywhen.EditError):
            db.collection(name, history=history)
    things = db.collection(name, hashes=True)
    with pytest.raises(anywhen.ProgrammingError) as caught:
        db.collection(name, hashes=False)
    assert caught.value.sqlstate == "42710"
    with pytest.raises(anywhen.EditError):
        things.set_history("sometimes")
    with pytest.raises(anywhen.EditError):
        things.put("k", {"a": 1})
        things.insert("k", "$.a", 2, where="beside", name="b")
