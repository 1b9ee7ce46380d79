"""Several documents as one commit: all of it happens, or none."""

import pytest

import anywhen


@pytest.fixture
def db():
    with anywhen.open(None, author="ada") as database:
        yield database


def test_a_block_is_one_commit(db):
    """What is done in several collections has one number, one author and one message."""
    with db.transaction(message="an order") as tx:
        stock, orders = tx.collection("stock"), tx.collection("orders")
        stock["apples"] = {"count": 5, "log": [1]}
        orders.put("o1", {"what": "apples"})
        assert stock["apples"]["count"] == 5 and "apples" in stock and stock.get("pears", 0) == 0
        stock.update("apples", "$.count", 4)
        stock.append("apples", "$.log", 3)
        stock.insert("apples", "$.log[0]", 2, where="after")
        stock.rename("apples", "$.log", "changes")
        stock.move("apples", "$.changes[0]", "$.changes", where="last")
        stock.delete("apples", "$.changes[0]")
        stock.update({"pears": 1, "plums": None})
        del stock["plums"]
        assert "apples" not in db.collection("stock"), "nobody else sees it"
    assert dict(db.collection("stock")) == {"apples": {"count": 4, "changes": [3, 1]}, "pears": 1}
    rows = [db.collection(name).history(key)[0] for name, key in
            (("stock", "apples"), ("stock", "pears"), ("orders", "o1"))]
    assert {(row.csn, row.author, row.message) for row in rows} == {(tx.csn, "ada", "an order")}
    assert rows[0].version == 1 and not tx.is_open
    with pytest.raises(KeyError):
        with db.transaction() as tx:
            tx.collection("stock")["none"]


def test_an_exception_takes_everything_back(db):
    """Also what was done before an edit that failed; and what is used after its end is refused."""
    with pytest.raises(RuntimeError, match="no"):
        with db.transaction() as tx:
            tx.collection("t")["a"] = 1
            raise RuntimeError("no")
    assert "a" not in db.collection("t") and not tx.is_open
    with pytest.raises(anywhen.InterfaceError, match="closed"):
        tx.collection("t")["a"] = 2
    with pytest.raises(anywhen.InterfaceError):
        tx.commit()
    tx.rollback()
    with pytest.raises(anywhen.InterfaceError):
        with tx:
            pass
    with db.transaction() as tx:
        tx.collection("t")["b"] = 1
        with pytest.raises(anywhen.InvalidValueError):
            tx.collection("t")["b"] = float("nan")
        tx.rollback()
    assert len(db.collection("t")) == 0


def test_the_first_to_change_a_document_wins(db):
    """Whoever comes later gets a conflict, and begins anew."""
    t = db.collection("t")
    t["k"] = 0
    late = db.transaction()
    assert late.collection("t")["k"] == 0
    t["k"] = 1
    assert late.collection("t")["k"] == 0, "it sees what was there when it began"
    with pytest.raises(anywhen.ConflictError) as caught:
        late.collection("t")["k"] = 2
    assert caught.value.sqlstate == "40001"
    late.rollback()


def test_a_serializable_transaction_could_have_run_alone(db):
    """Two that read what the other writes cannot both commit."""
    t = db.collection("t")
    t.update({"a": 1, "b": 1})
    one, two = db.transaction(serializable=True), db.transaction(serializable=True)
    assert one.collection("t")["a"] + one.collection("t")["b"] == 2
    assert two.collection("t")["a"] + two.collection("t")["b"] == 2
    one.collection("t")["a"] = 0
    two.collection("t")["b"] = 0
    one.commit()
    with pytest.raises(anywhen.ConflictError):
        two.commit()


def test_many_documents_at_once_are_one_commit(db):
    """`update` with a mapping; of one that fails nothing remains."""
    t = db.collection("t")
    t.update({"a": 1, "b": 2}, message="both")
    assert t.history("a")[0].csn == t.history("b")[0].csn
    with pytest.raises(TypeError):
        t.update({"c": 3, "d": object()})
    assert list(t) == ["a", "b"]


def test_reading_makes_no_collection(db, name):
    """In this process whoever read in a transaction made the collection, over HTTP not."""
    with db.transaction() as tx:
        things = tx.collection(name)
        assert things.get("k") is None and "k" not in things and name not in db.collections()
        things["k"] = 1
        assert name in db.collections()
    assert db.collection(name)["k"] == 1


def test_a_transaction_cannot_be_listed(db):
    """It has no keys to walk along; what cannot be done says so."""
    with db.transaction() as tx, pytest.raises(TypeError):
        list(tx.collection("t"))


@pytest.fixture
def far(server):
    with anywhen.connect(server.http, author="ada") as database:
        for name in database.collections():
            database.drop_collection(name)
        yield database


def test_over_http_a_block_is_one_commit(far):
    """What is done in several collections is sent together, and is one commit."""
    with far.transaction(message="an order") as tx:
        stock, orders = tx.collection("stock"), tx.collection("orders")
        stock["apples"] = {"count": 5, "log": [1]}
        orders.put("o1", {"what": "apples"})
        assert stock["apples"]["count"] == 5 and "apples" in stock and stock.get("pears", 0) == 0
        stock.update("apples", "$.count", 4)
        stock.append("apples", "$.log", 3)
        stock.insert("apples", "$.log[0]", 2, where="after")
        stock.rename("apples", "$.log", "changes")
        stock.move("apples", "$.changes[0]", "$.changes", where="last")
        stock.delete("apples", "$.changes[0]")
        with pytest.raises(anywhen.NotSupportedError):
            stock["apples"]
        stock.update({"pears": 1, "plums": None})
        del stock["plums"]
        assert "plums" not in stock
        assert "apples" not in far.collection("stock"), "nobody else sees it"
    assert dict(far.collection("stock")) == {"apples": {"count": 4, "changes": [3, 1]}, "pears": 1}
    rows = [far.collection(name).history(key)[0] for name, key in
            (("stock", "apples"), ("stock", "pears"), ("orders", "o1"))]
    assert {(row.csn, row.author, row.message) for row in rows} == {(tx.csn, "ada", "an order")}
    far.collection("stock").update({"a": 1, "b": 2}, message="both")
    assert far.collection("stock").history("a")[0].csn == far.collection("stock").history("b")[0].csn


def test_over_http_the_first_to_change_a_document_wins(far):
    """The slower one gets a conflict with its commit, and nothing of it has happened."""
    t = far.collection("t")
    t.update({"k": 0, "other": 0})
    with pytest.raises(anywhen.ConflictError) as caught:
        with far.transaction() as tx:
            late = tx.collection("t")
            assert late["k"] == 0
            t["k"] = 1
            assert late["k"] == 0, "it sees what was there when it began"
            late["other"], late["k"] = 2, 2
    assert caught.value.sqlstate == "40001"
    assert dict(t) == {"k": 1, "other": 0} and not tx.is_open
    with pytest.raises(RuntimeError, match="no"):
        with far.transaction() as tx:
            tx.collection("t")["k"] = 3
            raise RuntimeError("no")
    with pytest.raises(anywhen.NotFoundError):
        with far.transaction() as tx:
            tx.collection("t")["other"] = 3
            tx.collection("t").update("k", "$.none.such", 3)
    assert dict(t) == {"k": 1, "other": 0}
    with pytest.raises(anywhen.InterfaceError, match="closed"):
        tx.collection("t")["k"] = 4


def test_over_http_a_commit_has_a_size(far, monkeypatch):
    """The server takes so many operations; one more is refused here, before anything is sent, and says why."""
    monkeypatch.setattr("anywhen._http_transaction._OPERATIONS_MAX", 3)
    t = far.collection("t")
    t.update({"a": 1, "b": 2, "c": 3})
    with pytest.raises(anywhen.InvalidValueError, match="at most") as caught:
        t.update({str(number): number for number in range(4)})
    assert caught.value.sqlstate == "54000" and "several commits" in caught.value.hint
    assert list(t) == ["a", "b", "c"]


def test_over_http_the_size_is_that_of_the_server(far):
    """As many as are taken here are taken there."""
    t = far.collection("t")
    t.update({f"k{number:05}": number for number in range(10_000)})
    assert len(t) == 10_000


def test_not_over_http(server):
    """What there is not over the wire says so, and what helps."""
    with anywhen.connect(server.http) as db:
        calls = (db.session, db.checkpoint, db.compact, lambda: db.transaction(serializable=True))
        for call in calls:
            with pytest.raises(anywhen.NotSupportedError):
                call()
