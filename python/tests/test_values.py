"""Values: what goes in comes out, and what has no place in JSON is refused with the place in the value."""

import copy
import enum
import json
import math
import pickle
from decimal import Decimal

import pytest

import anywhen
from anywhen._native import dumps, loads


def back(db, name, value):
    things = db.collection(name)
    things["k"] = value
    return things["k"]


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        0,
        -1,
        2**63,
        -(10**30),
        10**5000,
        0.1,
        -0.0,
        1e16,
        1e-300,
        1.7976931348623157e308,
        5e-324,
        "",
        "ä\u0001\ud7ff\U0001f600\n\"\\",
        [],
        {},
        [[[]]],
        {"": {"ä\"": [None, {"b": 1.5}]}},
        Decimal("0.1234567890123456789012345"),
        Decimal("1E+400"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_goes_in_comes_out(db, name, value):
    """Equal, and of the same type."""
    found = back(db, name, value)
    assert found == value and type(found) is type(value)
    if isinstance(value, float):
        assert math.copysign(1, found) == math.copysign(1, value)


@pytest.mark.parametrize("value", ["a\0b", {"\0": 1}, Decimal("1E+131072")], ids=["string", "name", "number"])
def test_what_no_document_holds(db, name, value):
    """SQL could read neither such a document nor its neighbours."""
    with pytest.raises(anywhen.DataError, match="no document can hold"):
        back(db, name, value)


def test_what_comes_out_as_something_else(db, name):
    """Tuples are arrays; subclasses are what they stand for; exact numbers are floats where these hold them."""

    class Level(enum.IntEnum):
        HIGH = 3

    class Name(str):
        pass

    assert back(db, name, (1, (2,))) == [1, [2]]
    found = back(db, name, {Name("a"): Level.HIGH, "b": Name("x")})
    assert found == {"a": 3, "b": "x"} and type(found["a"]) is int and type(found["b"]) is str
    assert back(db, name, Decimal("12.50")) == 12.5
    assert type(back(db, name, Decimal("12.5"))) is float
    assert type(back(db, name, Decimal("7"))) is int


def test_numbers_as_they_are_wanted():
    """`numbers=` says what a number with a fraction is."""
    text = b"[0.1, 12.50, 0.1234567890123456789, 1e400, 7]"
    exact, decimal = loads(text, "exact"), loads(text, "decimal")
    names = ["float", "WrittenFloat", "Decimal", "WrittenDecimal", "int"]
    assert [type(value).__name__ for value in exact] == names
    assert str(exact[2]) == "0.1234567890123456789"
    assert [str(value) for value in decimal] == ["0.1", "12.50", "0.1234567890123456789", "1E+400", "7"]
    assert loads(b"[0.1234567890123456789]", "float") == [0.12345678901234568]
    with pytest.raises(anywhen.InvalidValueError, match="too large for a float"):
        loads(b"1e400", "float")
    with pytest.raises(anywhen.InvalidValueError, match="Decimal"):
        loads(b"1e99999999999999999999", "exact")
    with anywhen.open(None, numbers="decimal") as db:
        assert repr(back(db, "t", Decimal("12.50"))) == "Decimal('12.50')"
    for function in (anywhen.open, anywhen.connect):
        with pytest.raises(ValueError, match="numbers"):
            function("http://nowhere", numbers="some")


WRITTEN = '[1.10, 1E5, -0, -0.0, 0.00001, 1e+16, 1e400, 0.10e-5, 100.0, 12345678901234567890.50, 0e7, 2.0]'


@pytest.mark.parametrize("numbers", ["exact", "decimal"])
def test_what_was_read_is_put_back_unchanged(numbers):
    """1.10 became 1.1 and 1E5 became 100000.0: a version that nobody had made, and whose it was in `blame`."""
    assert dumps(loads(WRITTEN, numbers)).decode() == WRITTEN.replace(" ", "")
    with anywhen.open(None, numbers=numbers) as db:
        things = db.collection("t")
        db.sql("CREATE TABLE d (id text PRIMARY KEY, doc jsonb) USING document")
        things.put("k", loads(WRITTEN, "exact"), author="ada")
        assert dumps(things["k"]).decode() == WRITTEN.replace(" ", "")
        assert not things.put("k", things["k"], author="bob").changed
        with db.transaction(author="bob") as tx:
            tx.collection("t")["k"] = tx.collection("t")["k"]
        things["copy"] = pickle.loads(pickle.dumps(copy.deepcopy(things["k"])))
        assert dumps(things["copy"]) == dumps(things["k"])
        assert things.version("k") == 1 and {line.author for line in things.blame("k")} == {"ada"}


def test_what_was_read_is_put_back_unchanged_over_http(server, name):
    """The same, and where a transaction keeps it until the commit."""
    with anywhen.connect(server.http) as db:
        things = db.collection(name)
        things.put("k", loads(WRITTEN, "exact"))
        assert not things.put("k", things["k"]).changed
        with db.transaction() as tx:
            into = tx.collection(name)
            into["copy"] = into["k"]
            into["k"] = into["copy"]
        assert things.version("k") == 1 and dumps(things["copy"]) == dumps(things["k"])


def test_written_numbers_are_numbers():
    """They compare, count and print as what they are; what is computed of them is a plain number."""
    price, huge = loads("[1.10, 1e400]", "exact")
    assert isinstance(price, float) and (price, repr(price), price.written) == (1.1, "1.1", "1.10")
    assert hash(price) == hash(1.1) and type(price * 2) is float and json.dumps(price) == "1.1"
    assert isinstance(huge, Decimal) and (huge, huge.written) == (Decimal("1E+400"), "1e400")
    assert type(huge + 1) is Decimal
    assert dumps(anywhen.WrittenFloat(" 1_0.5 ")) == b"10.5", "no text of JSON is made of another"


@pytest.mark.parametrize("value", [0.1, 1 / 3, 2**53 + 0.0, 123456789.12345678, 9007199254740993.0])
def test_floats_are_what_python_shows(value):
    """The shortest text of a float comes back as that float, never as a Decimal."""
    for text in (repr(value), dumps(value).decode(), json.dumps(value)):
        assert type(loads(text, "exact")) is float and loads(text, "exact") == value


def nested(levels):
    value = 0
    for _ in range(levels):
        value = [value]
    return value


def test_what_has_no_place_is_refused(db, name):
    """Nothing is written, and the error says where in the value it stands."""
    itself = []
    itself.append(itself)
    things = db.collection(name)
    refused = [
        (math.nan, ValueError, r"nan \(at \$\)"),
        ({"a": [math.inf]}, anywhen.InvalidValueError, r"inf \(at \$\.a\[0\]\)"),
        (Decimal("sNaN"), anywhen.InvalidValueError, "JSON has no"),
        ("\ud800", anywhen.DataError, "surrogate"),
        ({"\udfff": 1}, anywhen.InvalidValueError, "surrogate"),
        ({"x y": {7: 1}}, TypeError, r'names of an object are str, not int \(at \$\["x y"\]\)'),
        ([{1, 2}], TypeError, r"type set.*at \$\[0\]"),
        (b"bytes", TypeError, "type bytes"),
        (nested(513), anywhen.InvalidValueError, "512 levels"),
        (itself, anywhen.InvalidValueError, "512 levels"),
    ]
    for value, error, text in refused:
        with pytest.raises(error, match=text):
            things["k"] = value
        with pytest.raises(error):
            things.update("k", "$.a", value)
    assert "k" not in things
    with pytest.raises(anywhen.InvalidValueError, match="512 levels"):
        things["k"] = nested(512)
    things["k"] = nested(511)
    assert things["k"] == nested(511)


def test_json_that_is_none():
    """Texts that do not parse are refused, as documents are."""
    for text in ("", "[1,", "nul", "[1] 2", '"\\ud800"', "01", b"\xff", "NaN"):
        with pytest.raises(anywhen.InvalidValueError):
            loads(text, "exact")
    assert loads('{"a": 1, "b": 2, "a": 3}', "exact") == {"a": 3, "b": 2}
