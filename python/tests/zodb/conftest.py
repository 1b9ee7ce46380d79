"""Storages and databases of ZODB: in a fresh folder each, and on a server under a fresh name each."""

import importlib.util
import uuid

import pytest

if importlib.util.find_spec("ZODB") is None:
    # `python/run` has an environment with it.
    collect_ignore_glob = ["test_*.py"]
else:
    import transaction
    import ZODB

    import anywhen.zodb
    from anywhen.zodb import _wire

    # ZODB's suites move Python's clock, and expect that tids follow.
    _wire.WireObjects.follows_clock = True


@pytest.fixture(params=["embedded", "server"])
def opens(request, tmp_path):
    """Opens storages by their names, also several times; a test that takes it runs here and over a server."""
    if request.param == "embedded":
        return lambda name="data", **options: anywhen.zodb.open(tmp_path / name, **options)
    return _opens_at(request.getfixturevalue("server").postgres)


@pytest.fixture
def served(server):
    """Opens storages of a server by their names."""
    return _opens_at(server.postgres)


@pytest.fixture
def opens_at():
    """Makes such a function for the address of a server."""
    return _opens_at


def _opens_at(address):
    """Opens storages at an address, under names that no other test has."""
    unique = uuid.uuid4().hex[:12]
    return lambda name="data", **options: anywhen.zodb.open(address, f"{name} {unique}", **options)


@pytest.fixture
def storage(opens, tmp_path):
    """A storage that keeps history."""
    opened = opens(blob_dir=tmp_path / "blobs")
    yield opened
    opened.close()


@pytest.fixture
def db(storage):
    """A database of objects over that storage."""
    opened = ZODB.DB(storage)
    yield opened
    transaction.abort()
    opened.close()
