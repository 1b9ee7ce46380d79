"""Storages and databases of ZODB, in a fresh folder each."""

import importlib.util

import pytest

if importlib.util.find_spec("ZODB") is None:
    # `python/run` has an environment with it.
    collect_ignore_glob = ["test_*.py"]
else:
    import transaction
    import ZODB

    import anywhen.zodb


@pytest.fixture
def storage(tmp_path):
    """A storage that keeps history."""
    opened = anywhen.zodb.open(tmp_path / "data", blob_dir=tmp_path / "blobs")
    yield opened
    opened.close()


@pytest.fixture
def db(storage):
    """A database of objects over that storage."""
    opened = ZODB.DB(storage)
    yield opened
    transaction.abort()
    opened.close()
