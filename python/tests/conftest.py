"""Databases for the tests: in this process, and on a server that is started from the built command.

ANYWHEN names the command. A test that takes ``db`` runs twice, with documents here and over HTTP; one that
takes ``sql`` runs with SQL here and over PostgreSQL's protocol.
"""

import json
import os
import shutil
import signal
import subprocess
import uuid
from pathlib import Path

import pytest

import anywhen

# What starts these tests in the background may have SIGINT ignored, and that is inherited.
signal.signal(signal.SIGINT, signal.default_int_handler)


class Server:
    """`anywhen serve` over a fresh folder."""

    def __init__(self, folder, *options, http="127.0.0.1:0", postgres="127.0.0.1:0"):
        command = os.environ.get("ANYWHEN") or shutil.which("anywhen")
        if not command:
            pytest.fail("ANYWHEN names the command to test, and does not: python/run sets it")
        self.data = Path(folder) / "data"
        self.log = open(Path(folder) / "server.log", "wb")
        arguments = ["serve", "--json", "--data", str(self.data), "--pg-listen", postgres]
        self.process = subprocess.Popen(
            [command, *arguments, "--http-listen", http, *options],
            stdout=subprocess.PIPE,
            stderr=self.log,
        )
        told = {}
        for line in (self.process.stdout.readline() for _ in range(2)):
            if not line:
                pytest.fail("the server did not start:\n" + (Path(folder) / "server.log").read_text())
            told.update(json.loads(line))
        self.http = "http://" + told["listening_http"]
        self.address = told["listening"]
        self.postgres = f"postgres://postgres@{self.address}/postgres"

    def stop(self):
        self.process.terminate()
        self.ended()

    def kill(self):
        self.process.kill()
        self.ended()

    def ended(self):
        self.process.wait(timeout=30)
        self.process.stdout.close()
        self.log.close()


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("server"))
    yield server
    server.stop()


@pytest.fixture
def start(tmp_path_factory):
    """Starts a server of the test's own; it is stopped at the end."""
    servers = []

    def started(folder=None, *options, **places):
        server = Server(folder or tmp_path_factory.mktemp("server"), *options, **places)
        servers.append(server)
        return server

    yield started
    for server in servers:
        if server.process.poll() is None:
            server.stop()


@pytest.fixture(params=["embedded", "http"])
def db(request):
    """A database with documents."""
    if request.param == "embedded":
        database = anywhen.open(None)
    else:
        database = anywhen.connect(request.getfixturevalue("server").http)
    with database:
        yield database


@pytest.fixture(params=["embedded", "postgres"])
def sql(request):
    """A database with sessions of SQL."""
    if request.param == "embedded":
        database = anywhen.open(None)
    else:
        database = anywhen.connect(request.getfixturevalue("server").postgres)
    with database:
        yield database


@pytest.fixture
def name():
    """A name that nobody has used, for a collection or a table."""
    return "t" + uuid.uuid4().hex[:12]


@pytest.fixture
def articles(db, name):
    """A collection with one document of three versions."""
    articles = db.collection(name)
    articles.put("a1", {"title": "Anywhen", "counter": 0, "tags": ["draft", "db"]}, author="ada")
    articles.update("a1", "$.counter", 1, message="first edit", author="ada")
    articles.put(
        "a1",
        {"title": "Anywhen", "counter": 1, "tags": ["db", "draft", "history"]},
        message="tags",
        author="grace",
    )
    return articles
