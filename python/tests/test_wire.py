"""Servers: tokens, passwords, encryption, and connections that are lost."""

import json
import socket
import subprocess
import threading

import pytest
from conftest import Server

import anywhen
from anywhen import _scram


def test_a_token_says_who_writes(tmp_path):
    """Nobody comes in without one; what is written is signed by its name; roles are kept to."""
    server = Server(tmp_path, "--http-auth")
    try:
        def token(name, roles):
            command = [server.process.args[0], "token", "create", name, "--role", roles, "--json"]
            told = subprocess.run(
                [*command, "--data", server.data], check=True, capture_output=True, text=True
            )
            return json.loads(told.stdout.splitlines()[0])["token"]

        with pytest.raises(anywhen.OperationalError) as caught:
            anywhen.connect(server.http).collections()
        assert caught.value.sqlstate == "28000"
        ada, eve = token("ada", "view,create,modify,delete"), token("eve", "view")
        with anywhen.connect(server.http, token=ada) as db:
            # A server that runs looks at its tokens within a second.
            for _ in range(100):
                try:
                    things = db.collection("things")
                    break
                except anywhen.OperationalError:
                    threading.Event().wait(0.05)
            things["k"] = 1
            assert things.history("k")[0].author == "ada"
            with pytest.raises(anywhen.ProgrammingError) as caught:
                things.put("k", 2, author="somebody else")
            assert caught.value.sqlstate == "42501"
        with anywhen.connect(server.http, token=eve) as db:
            assert db.collection("things")["k"] == 1
            with pytest.raises(anywhen.ProgrammingError):
                db.collection("things")["k"] = 2
    finally:
        server.stop()


def test_a_server_that_goes_away(tmp_path):
    """Every call says that there is no answer, and none waits for ever."""
    server = Server(tmp_path)
    web, postgres = anywhen.connect(server.http), anywhen.connect(server.postgres)
    web.collection("c")["k"] = 1
    session = postgres.session()
    assert session.sql("SELECT 1").scalar() == 1
    server.stop()
    with pytest.raises(anywhen.OperationalError) as caught:
        web.collection("c")["k"]
    assert caught.value.sqlstate == "08006"
    with pytest.raises(anywhen.OperationalError):
        session.sql("SELECT 1")
    with pytest.raises(anywhen.InterfaceError, match="closed"):
        session.sql("SELECT 1")
    with pytest.raises(anywhen.OperationalError, match="no connection"):
        postgres.sql("SELECT 1")
    web.close()
    postgres.close()


def test_a_server_that_says_nothing():
    """`timeout` ends the wait."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with anywhen.connect(url, timeout=0.2) as db:
            with pytest.raises(anywhen.OperationalError, match="no answer"):
                db.collections()


def test_an_idle_connection_that_the_server_has_closed(server):
    """It is found out about, and the question asked again on a new one."""
    with anywhen.connect(server.http) as db:
        things = db.collection("idle")
        things["k"] = 1
        for connection in db._store._free:
            connection.sock.shutdown(socket.SHUT_RDWR)
        assert things["k"] == 1


def test_passwords(server):
    """SCRAM, with a password that is not ASCII; a wrong one is refused, and so is none."""
    with anywhen.connect(server.postgres) as db:
        db.sql("DROP ROLE IF EXISTS ada")
        db.sql("CREATE ROLE ada LOGIN PASSWORD 'gehe\u00efm \u2460'")
    place = server.postgres.split("@")[1].split("/")[0]
    with anywhen.connect(f"postgres://ada:gehe%C3%AFm%20%E2%91%A0@{place}/postgres") as db:
        assert db.sql("SELECT current_user").scalar() == "ada" and "gehe" not in repr(db)


def test_the_proof_of_a_password():
    """The exchange of RFC 7677, section 3, word for word."""
    client = _scram.Client("pencil")
    client._nonce = "rOprNGfwEbeRWgbNEkqO"
    client._bare = "n=user,r=rOprNGfwEbeRWgbNEkqO"
    challenge = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    assert client.answer(challenge).endswith(b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
    client.check(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")
    with pytest.raises(anywhen.OperationalError):
        client.check(b"v=AAAA")
    with pytest.raises(anywhen.OperationalError):
        _scram.Client("x").answer(b"r=other,s=AAAA,i=1")
    # md5(md5("p" + "u") + salt), in hexadecimal digits.
    assert _scram.md5("u", "p", b"\x01\x02\x03\x04") == "md5facdc455923b0a58efea84a6d9ee0e76"


def test_addresses():
    """What is no address says what is wrong with it."""
    wrong = [
        "ftp://x",
        "data",
        "http://user:secret@x",
        "http://",
        "postgres://x?sslmode=maybe",
        "postgres://x?sslmode=verify-full",
        "postgres://x?colour=blue",
        "postgres://x:99999999/y",
    ]
    for url in wrong:
        with pytest.raises(anywhen.InterfaceError):
            anywhen.connect(url)
    with pytest.raises(anywhen.InterfaceError, match="password"):
        anywhen.connect("postgres://x", token="t")


def test_documents_are_not_reached_over_postgres(server):
    """SQL is; what is not says where it is."""
    with anywhen.connect(server.postgres) as db:
        for call in (db.collections, lambda: db.collection("c"), db.transaction):
            with pytest.raises(anywhen.NotSupportedError) as caught:
                call()
            assert caught.value.hint
