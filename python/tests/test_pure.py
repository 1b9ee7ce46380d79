"""The module without its native half: it connects to servers, and says what it has not."""

import datetime
import uuid
from decimal import Decimal

import pytest

import anywhen
from anywhen import _pure


def test_the_native_half_is_not_there():
    """What embeds a database says what to install; importing the module needs nothing."""
    assert anywhen._native is _pure and anywhen.__version__ != "0"
    with pytest.raises(anywhen.NotSupportedError, match="needs the native module") as refused:
        anywhen.open(None)
    assert "anywhen.connect" in refused.value.hint
    with pytest.raises(anywhen.NotSupportedError, match="stream of Arrow"):
        _pure.answer_from_texts([("n", 23, -1)], [["1"]], "SELECT 1").__arrow_c_stream__()


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ("true", True),
        ("7::int8", 7),
        ("1.50::numeric(6,2)", Decimal("1.50")),
        ("0.1::float4", 0.1),
        ("'nan'::float8 = 'nan'", True),
        ("'a\"b,{}'::text", 'a"b,{}'),
        (r"'\x00ff'::bytea", b"\x00\xff"),
        ("date '2026-11-28'", datetime.date(2026, 11, 28)),
        ("time '10:20:30.5'", datetime.time(10, 20, 30, 500000)),
        ("timestamp '2026-11-28 10:20:30.5'", datetime.datetime(2026, 11, 28, 10, 20, 30, 500000)),
        (
            "timestamptz '2026-11-28 10:20:30+02'",
            datetime.datetime(2026, 11, 28, 8, 20, 30, tzinfo=datetime.timezone.utc),
        ),
        ("interval '1 year 2 mons -3 days 04:05:06.5'", datetime.timedelta(days=422, seconds=14706.5)),
        ("interval '-1 hour'", datetime.timedelta(hours=-1)),
        ("uuid '6b1f0c52-9d5a-4a9c-9c0e-111111111111'", uuid.UUID("6b1f0c52-9d5a-4a9c-9c0e-111111111111")),
        ("""'{"a": [1.50, null, "x"]}'::jsonb""", {"a": [Decimal("1.50"), None, "x"]}),
        ("ARRAY[1, NULL, 3]", [1, None, 3]),
        ("ARRAY[ARRAY['a', 'NULL'], ARRAY['b,c', 'd\"e\\f']]", [["a", "NULL"], ["b,c", 'd"e\\f']]),
        ("'{}'::int[]", []),
        ("'[0:1]={5,6}'::int[]", [5, 6]),
        ("NULL::int", None),
    ],
)
@pytest.mark.parametrize("way", ["http", "postgres"])
def test_values_of_sql(server, way, literal, value):
    """Each type has the values that the native half makes of it."""
    with anywhen.connect(getattr(server, way)) as db:
        found = db.sql(f"SELECT {literal}").scalar()
    assert found == value and isinstance(found, type(value))


def test_a_date_that_python_has_not(server):
    """It is refused, as the native half refuses it."""
    with anywhen.connect(server.http) as db:
        for literal in ["date '4000-01-01 BC'", "timestamp 'infinity'", "date '20000-01-01'"]:
            with pytest.raises(anywhen.DataError, match="beyond what Python's datetime holds"):
                db.sql(f"SELECT {literal}").scalar()


def test_times_of_people():
    """A moment says in which time zone it is."""
    assert _pure.parse_time("2026-11-21 10:00:00+00") == 1795255200000000
    assert _pure.parse_time("@1.5") == 1_500_000
    for bad in ["2026-11-21 10:00:00", "soon", "1969-01-01 00:00:00+00"]:
        with pytest.raises(anywhen.InvalidValueError):
            _pure.parse_time(bad)
