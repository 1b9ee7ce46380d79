"""Prepared statements with binary values, several in one flight."""

import struct
import threading

import pytest

import anywhen
from anywhen._pipeline import (
    BOOL,
    BYTEA,
    BYTEA_ARRAY,
    INT8,
    INT8_ARRAY,
    Pipeline,
    Pool,
    Statement,
    boolean,
    bytea_array,
    int8,
    int8_array,
    int8_elements,
    number,
)


@pytest.fixture
def pool(server):
    with anywhen.connect(server.postgres) as db:
        pool = Pool(db._store, 2)
        yield pool
        pool.close()


@pytest.fixture
def connection(pool):
    connection = pool.new()
    yield connection
    connection.close()


def test_values_come_back_as_they_went(connection):
    """The smallest and the largest, NULL, nothing, and more than fits into one packet."""
    for kind, values in (
        (INT8, [int8(0), int8(-1), int8(1 << 62), b"\x80" + bytes(7), None]),
        (BYTEA, [b"", b"\0", bytes(range(256)), b"x" * 5_000_000, None]),
        (BOOL, [boolean(True), boolean(False), None]),
        (INT8_ARRAY, [int8_array(each) for each in ([], [int8(1)], [int8(-1), None, int8(3)], [None])]),
        (BYTEA_ARRAY, [bytea_array(each) for each in ([], [b""], [b"a" * 100_000, None, b"\0"])]),
    ):
        statement = Statement(f"echo {kind}", "SELECT $1, $2", (kind, INT8))
        for at, value in enumerate(values):
            ((found, told),) = connection.run(statement, (value, int8(at)))
            assert number(told) == at
            if kind in (INT8_ARRAY, BYTEA_ARRAY):
                # A server says whether there are NULLs.
                value, found = value[:4] + value[8:], found[:4] + found[8:]
            assert found == value
    oids = [int8(1), b"\xff" * 8]
    assert int8_elements(int8_array(oids)) == oids
    assert int8_elements(int8_array([])) == []
    count = Statement("elements", "SELECT cardinality($1), cardinality($2)", (INT8_ARRAY, BYTEA_ARRAY))
    ((one, other),) = connection.run(count, (int8_array(oids * 50), bytea_array([b"x", None] * 7)))
    assert [struct.unpack("!i", each)[0] for each in (one, other)] == [100, 14]


def test_each_call_of_a_flight_has_its_own_answer(connection):
    """Also its own error; the session goes on, and what could not be prepared is prepared another time."""
    halves = Statement("halves", "SELECT 100 / $1", (INT8,))
    wrong = Statement("wrong", "SELECT nothing")
    rows = Statement("rows", "SELECT g FROM generate_series(1::bigint, $1) g", (INT8,))
    for _ in range(2):
        connection.send(
            ((halves, (int8(2),)), (halves, (int8(0),)), (wrong, ()), (rows, (int8(3000),)))
        )
        assert number(connection.receive()[0][0]) == 50
        with pytest.raises(anywhen.DataError) as caught:
            connection.receive()
        assert caught.value.sqlstate == "22012"
        with pytest.raises(anywhen.ProgrammingError) as caught:
            connection.receive()
        assert caught.value.sqlstate == "42703"
        assert [number(row[0]) for row in connection.receive()] == list(range(1, 3001))
    connection.command("CREATE TEMP TABLE nothing_there (nothing int)")
    with pytest.raises(anywhen.ProgrammingError):
        connection.command("SELECT nothing")
    assert connection.run(Statement("none", "SELECT nothing FROM nothing_there")) == []


def test_notifications_come_between_answers_and_alone(pool, connection, name):
    """None is lost, and they are in order."""
    connection.command(f'LISTEN "{name}"')
    other = pool.new()
    one = Statement("one", "SELECT 1::bigint")
    told = []
    for number_ in range(50):
        other.command(f"NOTIFY \"{name}\", '{number_}'")
        if number_ % 2:
            connection.run(one)
    while len(told) < 50:
        told.extend(connection.notifications())
    assert told == [str(each) for each in range(50)]
    waiting = threading.Thread(target=lambda: pytest.raises(anywhen.OperationalError, connection.notifications))
    waiting.start()
    connection.interrupt()
    waiting.join(20)
    assert not waiting.is_alive()
    other.close()


def test_a_pool_keeps_some_connections(pool, monkeypatch):
    """Two of them; a call that fails gives its own back, and one that is lost does not come back."""
    one = Statement("one", "SELECT 1::bigint")
    taken = [pool.take() for _ in range(4)]
    assert all(is_new for _, is_new in taken)
    for connection, _ in taken:
        pool.give(connection)
    assert len(pool._idle) == 2
    assert [connection.is_open() for connection, _ in taken] == [True, True, False, False]
    with pytest.raises(anywhen.ProgrammingError):
        pool.rows(Statement("wrong", "SELECT nothing"))
    with pytest.raises(anywhen.ProgrammingError):
        pool.run(((Statement("wrong", "SELECT nothing"), ()), (one, ())))
    assert len(pool._idle) == 2
    for call in (lambda: pool.rows(one), lambda: pool.run(((one, ()),))[0]):
        for connection in pool._idle:
            connection.drop()
        assert number(call()[0][0]) == 1
    # An exception of a signal leaves half of an answer behind.
    with monkeypatch.context() as patched:
        patched.setattr(Pipeline, "_more", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            pool.rows(one)
    assert number(pool.rows(one)[0][0]) == 1
    pool.close()
    with pytest.raises(anywhen.InterfaceError, match="closed"):
        pool.rows(one)
