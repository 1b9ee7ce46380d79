"""Following a database: what commits changed, in their order, now and as it happens."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from datetime import timedelta

import pytest

import anywhen
from conftest import Server


def told(changes):
    return [(change.key, change.version, change.deleted) for change in changes]


@pytest.fixture
def before(db):
    """The newest commit before the test does anything."""
    return db.newest_commit()


def test_what_was_committed_comes_in_its_order(db, name, before):
    """A change for each version, with who, when and why; it ends with what is there."""
    things = db.collection(name)
    first = things.put("a", {"n": 1}, author="ada", message="made")
    things["b"] = [1]
    things.update("a", "$.n", 2)
    del things["b"]
    changes = list(db.changes(before, collection=name))
    assert told(changes) == [("a", 1, False), ("b", 1, False), ("a", 2, False), ("b", 2, True)]
    assert [change.csn for change in changes] == sorted(change.csn for change in changes)
    made = changes[0]
    assert (made.csn, made.time, made.collection) == (first.csn, first.time, name)
    assert (made.author, made.message, made.changes) == ("ada", "made", None)
    assert made.time.utcoffset() == timedelta(0)
    assert pickle.loads(pickle.dumps(changes)) == changes and len(set(changes)) == 4


def test_it_is_told_once_and_nothing_is_missed(db, name, before):
    """Whoever goes on after `csn` gets the rest; what belongs to one commit stays together."""
    things = db.collection(name)
    things["a"] = 1
    things.update({f"k{number:03}": number for number in range(600)})
    things["z"] = 1
    seen, keys = before, []
    changes = db.changes(seen, collection=name)
    for change in changes:
        keys.append(change.key)
        seen = changes.csn
        if len(keys) == 300:
            break
    # In the middle of the second commit: all of it comes again.
    assert seen == changes.csn == db.collection(name).history("a")[0].csn
    rest = db.changes(seen, collection=name)
    again = [change.key for change in rest]
    assert keys[:1] + again == ["a", *(f"k{number:03}" for number in range(600)), "z"]
    assert rest.csn == db.newest_commit() and list(rest) == []
    assert list(db.changes(rest.csn, collection=name)) == []
    assert told(db.changes(seen, until=seen + 1, collection=name)) == told(
        change for change in db.changes(seen, collection=name) if change.csn == seen + 1
    )


def test_what_is_told_can_be_chosen(db, name, before):
    """By collection, by document, and by a place in it."""
    things, others = db.collection(name), db.collection(name + "_other")
    others["a"] = {"n": 1}
    things["a"] = {"n": 1, "m": {"x": [1, 2]}}
    things["b"] = {"n": 1}
    things.update("a", "$.m.x[0]", 7)
    things.update("a", "$.n", 2)
    things["ü/ö"] = "ß"
    ours = {name, name + "_other"}
    assert [change.key for change in db.changes(before) if change.collection in ours] == list("aabaa") + ["ü/ö"]
    assert told(db.changes(before, collection=name, document="a")) == [
        ("a", 1, False), ("a", 2, False), ("a", 3, False),
    ]
    assert told(db.changes(before, collection=name, document="ü/ö")) == [("ü/ö", 1, False)]
    for path in ("$.m", "/m/x", "$.m.x[0]"):
        below = db.changes(before, collection=name, document="a", path=path)
        assert told(below) == [("a", 1, False), ("a", 2, False)], path
    assert told(db.changes(before, collection=name, document="a", path="$.n")) == [
        ("a", 1, False), ("a", 3, False),
    ]


def test_what_differs_is_told_where_it_is_asked_for(db, name, before):
    """Node by node, as `diff` tells it; of the first version and of a removal there is nothing to compare."""
    things = db.collection(name)
    things["a"] = {"n": 1.5, "m": 1}
    things["a"] = {"n": 2.5, "m": 1}
    del things["a"]
    made, edited, removed = db.changes(before, collection=name, diff=True)
    assert (made.changes, removed.changes) == (None, None)
    assert list(edited.changes) == things.diff("a", 1, 2)
    assert (edited.changes[0].path, edited.changes[0].new) == ("$.n", 2.5)


def test_following_waits_for_more(db, name, before):
    """What others commit comes when they do; other threads go on meanwhile."""
    things = db.collection(name)

    def write():
        for number in range(5):
            time.sleep(0.05)
            things[f"k{number}"] = number

    writer = threading.Thread(target=write)
    with db.changes(before, follow=True, collection=name) as changes:
        writer.start()
        keys = []
        for change in changes:
            keys.append(change.key)
            if len(keys) == 5:
                break
        assert changes.csn == change.csn
        writer.join()
    assert keys == [f"k{number}" for number in range(5)]
    assert list(changes) == [], "it is closed"


def test_following_up_to_a_commit(db, name, before):
    """With `until` it waits for that commit, and ends."""
    things = db.collection(name)
    timer = threading.Timer(0.1, things.put, ("k", 1))
    made = db.newest_commit()
    timer.start()
    changes = list(db.changes(before, until=made + 1, follow=True))
    timer.join()
    assert changes[-1].csn == made + 1


@pytest.mark.parametrize("closed", ["the feed", "the database"])
def test_closing_ends_the_wait(db, name, before, closed):
    """Another thread closes what waits: the loop ends, at once."""
    db.collection(name)
    changes = db.changes(before, follow=True, collection=name)
    timer = threading.Timer(0.2, changes.close if closed == "the feed" else db.close)
    begun = time.monotonic()
    timer.start()
    assert list(changes) == []
    timer.join()
    assert 0.1 < time.monotonic() - begun < 5


def test_ctrl_c_ends_the_wait(db, name, before):
    """It is a KeyboardInterrupt; whoever asks again goes on, and misses nothing."""
    things = db.collection(name)
    changes = db.changes(before, follow=True, collection=name)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        next(changes)
    timer.join()
    things["k"] = 1
    assert next(changes).key == "k"
    changes.close()


def test_the_interpreter_is_free_while_it_waits(db, name, before):
    """A loop beside a wait is not held up."""
    db.collection(name)
    changes = db.changes(before, follow=True, collection=name)
    thread = threading.Thread(target=list, args=(changes,))
    thread.start()
    ticks, until = 0, time.monotonic() + 0.3
    while time.monotonic() < until:
        ticks += 1
        time.sleep(0.001)
    changes.close()
    thread.join(5)
    assert ticks > 20 and not thread.is_alive()


def test_what_cannot_be_followed_is_said_at_once(db, name):
    """No such collection, no such path, no such commit; and nothing over PostgreSQL's protocol."""
    with pytest.raises(anywhen.NotFoundError):
        db.changes(collection=name)
    with pytest.raises(anywhen.EditError):
        db.changes(path="counter")
    for wrong, error in ((-1, ValueError), ("1", TypeError), (True, TypeError), (1.0, TypeError)):
        with pytest.raises(error):
            db.changes(wrong)
        with pytest.raises(error):
            db.changes(until=wrong)
    changes = db.changes(until=0)
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(changes)
    db.close()
    with pytest.raises(anywhen.InterfaceError, match="closed"):
        db.changes()
    assert list(changes) == []


def test_documents_are_not_followed_over_sql(server):
    with anywhen.connect(server.postgres) as db:
        with pytest.raises(anywhen.NotSupportedError):
            db.changes()


def test_tables_of_documents_are_followed(db, name, before):
    """A row of a table is a document by the table's name, with who wrote it where SQL says so."""
    db.sql(f"CREATE TABLE {name} (id text PRIMARY KEY, doc jsonb) USING document")
    db.sql(f"INSERT INTO {name} VALUES ('a', '{{\"n\": 1}}')")
    db.sql(f"UPDATE {name} SET doc['n'] = '2' WHERE id = 'a'")
    first, second = db.changes(before, collection=name, diff=True)
    assert told([first, second]) == [("a", 1, False), ("a", 2, False)]
    assert [(change.path, change.new) for change in second.changes] == [("$.n", 2)]


def test_the_past_of_a_database_that_was_closed(tmp_path):
    """What is in no memory any more is found in the lists of versions, in the order of commits."""
    with anywhen.open(tmp_path / "data") as db:
        things = db.collection("things")
        for number in range(700):
            things[f"k{number % 70:02}"] = number
        then = [(change.csn, change.key, change.version) for change in db.changes()]
    with anywhen.open(tmp_path / "data") as db:
        again = [(change.csn, change.key, change.version) for change in db.changes()]
        assert again == then and len(then) == 700
        half = then[349][0]
        changes = db.changes(half)
        assert [(change.csn, change.key, change.version) for change in changes] == then[350:]


def test_a_server_that_comes_again(tmp_path):
    """A stream that is lost is an error; whoever asks again when the server is back misses nothing."""
    server = Server(tmp_path)
    try:
        with anywhen.connect(server.http) as db:
            things = db.collection("things")
            changes = db.changes(follow=True, collection="things")
            things["a"] = 1
            assert next(changes).key == "a"
            seen = changes.csn
            server.stop()
            with pytest.raises(anywhen.OperationalError) as caught:
                next(changes)
            assert caught.value.sqlstate == "08006" and changes.csn == seen
            with pytest.raises(anywhen.OperationalError):
                next(changes)
            server = Server(tmp_path, http=server.http.removeprefix("http://"))
            db.collection("things")["b"] = 1
            assert next(changes).key == "b" and changes.csn > seen
    finally:
        server.stop()


FORKED = """
import os, sys, anywhen
db, wire = anywhen.open(sys.argv[1]), anywhen.connect(sys.argv[2])
feeds = []
for each in (db, wire):
    before = each.newest_commit()
    each.collection("followed")["k"] = 1
    feeds.append(each.changes(before, follow=True, collection="followed"))
child = os.fork()
if child == 0:
    try:
        next(feeds[0])
    except anywhen.InterfaceError as error:
        assert "fork" in str(error)
    else:
        sys.exit(1)
    assert next(feeds[1]).key == "k"
    sys.exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert [next(feed).key for feed in feeds] == ["k", "k"]
print("well")
"""


def test_a_fork_follows_for_itself(tmp_path, server):
    """Over HTTP the child has a connection of its own; what is followed in this process stays with it."""
    done = subprocess.run(
        [sys.executable, "-c", FORKED, tmp_path / "data", server.http],
        capture_output=True, text=True, timeout=60, cwd=tmp_path,
    )
    assert (done.returncode, done.stdout) == (0, "well\n"), done.stderr
