"""SQL: parameters in, rows out, here, over HTTP and over PostgreSQL's protocol."""

import datetime
import uuid
from decimal import Decimal

import pytest

import anywhen

UTC = datetime.timezone.utc

# A parameter, its type in SQL, and what comes back.
VALUES = [
    (None, "int", None),
    (True, "bool", True),
    (7, "int", 7),
    (2**62, "bigint", 2**62),
    (10**40, "numeric", Decimal(10**40)),
    (0.1, "float8", 0.1),
    (0.1, "float4", 0.1),
    (float("-inf"), "float8", float("-inf")),
    (Decimal("1.50"), "numeric(8,2)", Decimal("1.50")),
    ("it's \"ä\" \\ $1 %s", "text", "it's \"ä\" \\ $1 %s"),
    ("ab", "char(4)", "ab  "),
    (b"\x00\xff", "bytea", b"\x00\xff"),
    (datetime.date(2026, 11, 21), "date", datetime.date(2026, 11, 21)),
    (datetime.date(1, 1, 1), "date", datetime.date(1, 1, 1)),
    (datetime.time(23, 59, 59, 999999), "time", datetime.time(23, 59, 59, 999999)),
    (
        datetime.time(12, 0, tzinfo=datetime.timezone(datetime.timedelta(hours=-3, minutes=-30))),
        "timetz",
        datetime.time(12, 0, tzinfo=datetime.timezone(datetime.timedelta(hours=-3, minutes=-30))),
    ),
    (datetime.datetime(1969, 12, 31, 23, 0, 0, 1), "timestamp", datetime.datetime(1969, 12, 31, 23, 0, 0, 1)),
    (
        datetime.datetime(2026, 11, 21, 12, 0, tzinfo=datetime.timezone(datetime.timedelta(hours=2))),
        "timestamptz",
        datetime.datetime(2026, 11, 21, 10, 0, tzinfo=UTC),
    ),
    (datetime.timedelta(days=-3, seconds=1, microseconds=5), "interval",
     datetime.timedelta(days=-3, seconds=1, microseconds=5)),
    (uuid.UUID(int=42), "uuid", uuid.UUID(int=42)),
    ({"a": [1, 2.5, None]}, "jsonb", {"a": [1, 2.5, None]}),
    (anywhen.Json([1, "x"]), "json", [1, "x"]),
    (anywhen.Json("x"), "jsonb", "x"),
    ([1, None, 3], "int[]", [1, None, 3]),
    ([["a,b", 'c"d'], ["{}", "NULL"]], "text[]", [["a,b", 'c"d'], ["{}", "NULL"]]),
    ([], "text[]", []),
    ("0/16B3748", "pg_lsn", "0/16B3748"),
    ("pg_class", "regclass", "pg_class"),
]


@pytest.fixture(params=["embedded", "http", "postgres"])
def any_sql(request):
    """A database that runs single statements."""
    if request.param == "embedded":
        database = anywhen.open(None)
    else:
        server = request.getfixturevalue("server")
        database = anywhen.connect(getattr(server, request.param))
    with database:
        yield database


def test_values_there_and_back(any_sql):
    """Every type, as a parameter and as a result."""
    for given, ty, wanted in VALUES:
        result = any_sql.sql(f"SELECT $1::{ty} AS v", [given])
        (found,) = result[0]
        assert found == wanted and type(found) is type(wanted), (given, ty, found)
        if isinstance(wanted, datetime.datetime):
            assert found.tzinfo == wanted.tzinfo


def test_a_result_is_a_sequence_of_rows(any_sql):
    """Rows by position, by iteration, and fetched one after the other."""
    result = any_sql.sql("SELECT g AS n, 'x' || g AS t FROM generate_series(1, $1::int) g", [10_000])
    assert [column.name for column in result.columns] == ["n", "t"]
    assert [column.type for column in result.columns] == ["integer", "text"]
    assert len(result) == result.count == 10_000 and result.status == "SELECT 10000"
    assert result.fetchone() == (1, "x1") and result.fetchmany(2) == [(2, "x2"), (3, "x3")]
    assert result[-1] == (10_000, "x10000") and result[1:3] == [(2, "x2"), (3, "x3")]
    assert sum(n for n, _ in result) == 50_005_000
    assert len(result.fetchall()) == 9_997 and result.fetchone() is None
    assert result.scalar() == 1 and result.dicts()[0] == {"n": 1, "t": "x1"}
    assert (5, "x5") in result and "10000" in repr(result)
    none = any_sql.sql("SELECT 1 WHERE false")
    assert len(none) == 0 and none.scalar() is None and none.fetchall() == []


def test_changes_are_counted(any_sql, name):
    """Statements without rows say what they did, and how often."""
    assert any_sql.sql(f"CREATE TABLE {name} (id int PRIMARY KEY, n numeric(6, 2))").columns == ()
    done = any_sql.sql(f"INSERT INTO {name} VALUES (1, $1), (2, $2)", [Decimal("1.5"), None])
    assert done.count == 2 and len(done) == 0 and done.status.startswith("INSERT")
    assert any_sql.sql(f"UPDATE {name} SET n = 2 RETURNING n").fetchall() == [(Decimal("2.00"),)] * 2
    rows = any_sql.sql(f"SELECT n FROM {name} FOR SYSTEM_TIME ALL WHERE id = 1 ORDER BY 1")
    assert [n for (n,) in rows] == [Decimal("1.50"), Decimal("2.00")]


def test_errors_have_their_codes(any_sql, name):
    """The class follows from the SQLSTATE; detail, hint and place are told."""
    any_sql.sql(f"CREATE TABLE {name} (id int PRIMARY KEY)")
    any_sql.sql(f"INSERT INTO {name} VALUES (1)")
    refused = [
        (f"INSERT INTO {name} VALUES (1)", [], anywhen.IntegrityError, "23505"),
        ("SELECT 1 / $1::int", [0], anywhen.DataError, "22012"),
        ("SELECT $1::int", ["x"], anywhen.DataError, "22P02"),
        ("SELECT nothing", [], anywhen.ProgrammingError, "42703"),
        ("SELEC 1", [], anywhen.ProgrammingError, "42601"),
        ("SELECT 1; SELECT 2", [], anywhen.ProgrammingError, "42601"),
        (f"COPY {name} TO STDOUT", [], anywhen.NotSupportedError, "0A000"),
        (f"COPY {name} FROM STDIN", [], anywhen.DatabaseError, None),
    ]
    for text, parameters, error, state in refused:
        with pytest.raises(error) as caught:
            any_sql.sql(text, parameters)
        assert state is None or caught.value.sqlstate == state, text
    with pytest.raises(anywhen.ProgrammingError) as caught:
        any_sql.sql("SELECT nothing")
    assert caught.value.position == 8 and 'column "nothing"' in str(caught.value)
    with pytest.raises(anywhen.IntegrityError) as caught:
        any_sql.sql(f"INSERT INTO {name} VALUES (1)")
    assert caught.value.detail == "Key (id)=(1) already exists."
    assert any_sql.sql("SELECT 1").scalar() == 1, "it goes on"


def test_parameters_that_are_none(any_sql):
    """What SQL has no text for is refused before it is sent."""
    for value, error in ((object(), TypeError), ("a\0b", ValueError), ("\ud800", ValueError), (1j, TypeError)):
        with pytest.raises(error):
            any_sql.sql("SELECT $1", [value])


def test_what_python_has_no_date_for(any_sql):
    """It is said, and as text it can be had."""
    for text in ("'infinity'::date", "'10000-01-01'::timestamptz", "'24:00'::time", "'0001-01-01 BC'::date"):
        with pytest.raises(anywhen.DataError, match="cast it to text") as caught:
            any_sql.sql(f"SELECT {text}").fetchall()
        assert caught.value.sqlstate == "22008"
    assert any_sql.sql("SELECT 'infinity'::date::text").scalar() == "infinity"


def test_types_of_users_are_text(sql, name):
    """Enums and rows are shown as PostgreSQL shows them, arrays of them as lists."""
    sql.sql(f"CREATE TYPE {name} AS ENUM ('sad', 'glad')")
    result = sql.sql(f"SELECT 'glad'::{name}, ROW(1, 'x')")
    assert result.fetchall() == [("glad", "(1,x)")]
    if sql.is_embedded:
        listed = sql.sql(f"SELECT ARRAY['sad', NULL]::{name}[]")
        assert listed.scalar() == ["sad", None] and listed.columns[0].type == f"{name}[]"


def test_sessions_have_transactions_and_settings(sql, name):
    """What is set or begun in one lasts until it is closed, and is nobody else's."""
    with sql.session() as one, sql.session() as two:
        one.sql(f"CREATE TABLE {name} (id int)")
        one.sql("SET search_path = public")
        one.sql("BEGIN")
        one.sql(f"INSERT INTO {name} VALUES (1)")
        assert one.in_transaction and not two.in_transaction
        assert two.sql(f"SELECT count(*) FROM {name}").scalar() == 0
        one.sql("COMMIT")
        assert two.sql(f"SELECT count(*) FROM {name}").scalar() == 1
        assert one.sql("SHOW search_path").scalar() == "public"
        two.sql(f"DROP TABLE IF EXISTS {name}_not_there")
        assert any("does not exist" in text for _, text in two.notices()) and two.notices() == []
        two.sql("BEGIN")
        two.sql(f"DELETE FROM {name}")
    assert not one.is_open
    with pytest.raises(anywhen.InterfaceError, match="closed"):
        one.sql("SELECT 1")
    assert sql.sql(f"SELECT count(*) FROM {name}").scalar() == 1, "what was open was rolled back"


def test_copy(sql, name):
    """Data in and out in PostgreSQL's formats."""
    with sql.session() as session:
        session.sql(f"CREATE TABLE {name} (id int, t text)")
        data = b"".join(b"%d\tt%d\n" % (number, number) for number in range(20_000))
        assert session.copy_in(f"COPY {name} FROM STDIN", data) == 20_000
        assert session.copy_out(f"COPY (SELECT * FROM {name} ORDER BY id) TO STDOUT") == data
        assert session.copy_out(f"COPY (SELECT 1, NULL) TO STDOUT (FORMAT csv)") == b"1,\n"
        with pytest.raises(anywhen.DataError):
            session.copy_in(f"COPY {name} FROM STDIN", b"x\ty\n")
        with pytest.raises(anywhen.Error):
            session.copy_in("SELECT 1", b"")
        with pytest.raises(anywhen.Error):
            session.copy_out("SELECT 1")
        assert session.sql(f"SELECT count(*) FROM {name}").scalar() == 20_000


def test_a_result_outlives_its_database():
    """Rows and columns are there after the database is closed."""
    with anywhen.open(None) as db:
        db.sql("CREATE TYPE mood AS ENUM ('sad', 'glad')")
        result = db.sql("SELECT 'glad'::mood AS m, now() AS t, 'pg_class'::regclass AS c")
    assert result[0][0] == "glad" and result[0][2] == "pg_class"
    assert result[0][1].tzinfo is UTC


def test_documents_and_sql_share_a_database(tmp_path):
    """They are in one folder, and there after it is opened again."""
    for number in range(2):
        with anywhen.open(tmp_path / "data") as db:
            db.collection("c")[f"k{number}"] = number
            db.sql("CREATE TABLE IF NOT EXISTS t (n int)")
            db.sql("INSERT INTO t VALUES ($1)", [number])
            db.checkpoint()
    with anywhen.open(tmp_path / "data", create="never") as db:
        assert dict(db.collection("c")) == {"k0": 0, "k1": 1}
        assert db.sql("SELECT n FROM t ORDER BY n").fetchall() == [(0,), (1,)]
