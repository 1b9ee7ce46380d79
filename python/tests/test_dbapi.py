"""The interface of PEP 249."""

import datetime

import pytest

import anywhen
from anywhen import dbapi


@pytest.fixture
def connection(sql, name):
    connection = dbapi.connect(sql)
    connection.cursor().execute(f"CREATE TABLE {name} (id int PRIMARY KEY, n numeric(8, 2), t text)")
    connection.commit()
    yield connection
    connection.close()


def test_the_module():
    """What PEP 249 wants to find."""
    assert (dbapi.apilevel, dbapi.threadsafety, dbapi.paramstyle) == ("2.0", 2, "pyformat")
    assert issubclass(dbapi.IntegrityError, dbapi.DatabaseError)
    assert issubclass(dbapi.DatabaseError, dbapi.Error) and issubclass(dbapi.Warning, Exception)
    assert dbapi.Date(2026, 1, 2) == datetime.date(2026, 1, 2) and dbapi.Binary(b"x") == b"x"
    assert dbapi.TimestampFromTicks(0).year in (1969, 1970)
    assert dbapi.DateFromTicks(0) == dbapi.TimestampFromTicks(0).date()
    assert dbapi.TimeFromTicks(0) == dbapi.TimestampFromTicks(0).time()
    assert 23 == dbapi.NUMBER and dbapi.NUMBER != 25 and 1184 == dbapi.DATETIME
    assert dbapi.STRING != dbapi.BINARY and len({dbapi.STRING, dbapi.ROWID}) == 2
    assert dbapi.Connection.IntegrityError is dbapi.IntegrityError is anywhen.IntegrityError


def test_placeholders(connection, name):
    """`%s` and `%(name)s` are sent beside the statement, never as a part of it."""
    cursor = connection.cursor()
    evil = "'; DROP TABLE x; --"
    cursor.execute(f"INSERT INTO {name} VALUES (%s, %s, %s)", (1, 2.5, evil))
    cursor.execute(
        f"SELECT t FROM {name} WHERE id = %(id)s AND %(id)s < 5 AND t LIKE '%%;%%'", {"id": 1, "x": 2}
    )
    assert cursor.fetchall() == [(evil,)]
    assert cursor.execute("SELECT '100%'").fetchone() == ("100%",)
    wrong = [
        ("SELECT %s", []),
        ("SELECT 1", [1]),
        ("SELECT %(a)s", {}),
        ("SELECT %s", {"a": 1}),
        ("SELECT %(a)s", [1]),
        ("SELECT 5 % 2 = %s", [1]),
        ("SELECT %d", [1]),
        ("SELECT %s", "text"),
    ]
    for text, parameters in wrong:
        with pytest.raises(dbapi.ProgrammingError):
            cursor.execute(text, parameters)
    assert cursor.execute("SELECT 1").fetchone() == (1,), "none of them was sent"


def test_rows(connection, name):
    """Description, counts, and the ways to fetch."""
    cursor = connection.cursor()
    assert cursor.description is None and cursor.rowcount == -1
    with pytest.raises(dbapi.ProgrammingError):
        cursor.fetchone()
    cursor.executemany(f"INSERT INTO {name} VALUES (%s, %s, %s)", ((i, i, "t") for i in range(10)))
    assert cursor.rowcount == 10
    with pytest.raises(dbapi.ProgrammingError):
        cursor.fetchall()
    cursor.execute(f"SELECT id, n, t FROM {name} ORDER BY id")
    assert [column[:2] for column in cursor.description] == [("id", 23), ("n", 1700), ("t", 25)]
    assert cursor.description[1][4:6] == (8, 2) and cursor.description[1][1] == dbapi.NUMBER
    assert all(len(column) == 7 for column in cursor.description) and cursor.rowcount == 10
    assert cursor.fetchone()[0] == 0 and [row[0] for row in cursor.fetchmany(3)] == [1, 2, 3]
    cursor.arraysize = 2
    assert [row[0] for row in cursor.fetchmany()] == [4, 5]
    assert [row[0] for row in cursor] == [6, 7, 8, 9]
    assert cursor.fetchone() is None and cursor.fetchall() == [] and cursor.fetchmany(5) == []
    assert len(cursor.execute(f"SELECT id FROM {name}").result) == 10
    cursor.setinputsizes([1])
    cursor.setoutputsize(1)
    cursor.close()
    with pytest.raises(dbapi.InterfaceError, match="cursor is closed"):
        cursor.execute("SELECT 1")


def test_transactions_begin_by_themselves(connection, sql, name):
    """Nothing is kept before `commit`, and nothing at all after `rollback`."""
    def seen():
        return sql.sql(f"SELECT count(*) FROM {name}").scalar()

    cursor = connection.cursor()
    cursor.execute(f"INSERT INTO {name} VALUES (1)")
    assert seen() == 0
    connection.commit()
    assert seen() == 1
    cursor.execute(f"INSERT INTO {name} VALUES (2)")
    connection.rollback()
    connection.rollback()
    assert seen() == 1
    with pytest.raises(dbapi.IntegrityError):
        cursor.execute(f"INSERT INTO {name} VALUES (1)")
    with pytest.raises(dbapi.InternalError) as caught:
        cursor.execute("SELECT 1")
    assert caught.value.sqlstate == "25P02"
    with pytest.raises(dbapi.InternalError):
        connection.commit()
    connection.commit()
    connection.autocommit = True
    cursor.execute(f"INSERT INTO {name} VALUES (3)")
    assert seen() == 2


def test_connections_are_context_managers(sql, name):
    """The block commits, or takes everything back, and closes."""
    with dbapi.connect(sql, autocommit=True) as connection:
        connection.execute(f"CREATE TABLE {name} (id int)")
    assert connection.closed
    with dbapi.connect(sql) as connection:
        connection.execute(f"INSERT INTO {name} VALUES (1)")
    with pytest.raises(RuntimeError):
        with dbapi.connect(sql) as connection:
            connection.execute(f"INSERT INTO {name} VALUES (2)")
            raise RuntimeError
    dbapi.connect(sql).execute(f"INSERT INTO {name} VALUES (3)").connection.close()
    assert sql.sql(f"SELECT id FROM {name}").fetchall() == [(1,)]
    for call in (connection.cursor, connection.commit, connection.rollback):
        with pytest.raises(dbapi.InterfaceError):
            call()
    connection.close()


def test_what_is_opened_here_is_closed_here(tmp_path, server):
    """A folder and a URL; over HTTP there is no DB-API."""
    for _ in range(2):
        with dbapi.connect(tmp_path / "data") as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS t (n int)")
    with dbapi.connect(server.postgres) as connection:
        assert connection.execute("SELECT 1").fetchall() == [(1,)]
    with pytest.raises(dbapi.NotSupportedError):
        dbapi.connect(server.http)
    with anywhen.open(None) as db, pytest.raises(dbapi.InterfaceError):
        dbapi.connect(db, timeout=1)
