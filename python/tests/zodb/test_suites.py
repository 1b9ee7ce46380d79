"""ZODB's own suites for storages hold, as ZODB ships them: nothing is replaced, emptied or skipped."""

import contextlib
import ctypes
import doctest
import io
import os
import sys
import unittest

import pytest
from ZODB.tests import (
    BasicStorage,
    ConflictResolution,
    HistoryStorage,
    IteratorStorage,
    MTStorage,
    PackableStorage,
    PersistentStorage,
    ReadOnlyStorage,
    RecoveryStorage,
    RevisionStorage,
    StorageTestBase,
    Synchronization,
    TransactionalUndoStorage,
    testblob,
    testMVCCMappingStorage,
)

import anywhen.zodb

#: Opens a storage by a name, in the folder of the test: here, or at the server that `at_a_server` has started.
OPENS = {"here": anywhen.zodb.open}


@pytest.fixture(scope="session")
def at_a_server(server):
    """Lets the suites open storages of a server. Each test has a folder of its own, which gives them names."""
    OPENS["server"] = lambda name, **options: anywhen.zodb.open(
        server.postgres, f"{os.getcwd()} {name}", **options
    )


class TestStorage(
    StorageTestBase.StorageTestBase,
    BasicStorage.BasicStorage,
    TransactionalUndoStorage.TransactionalUndoStorage,
    RevisionStorage.RevisionStorage,
    PackableStorage.PackableStorageWithOptionalGC,
    PackableStorage.PackableUndoStorage,
    Synchronization.SynchronizedStorage,
    ConflictResolution.ConflictResolvingStorage,
    ConflictResolution.ConflictResolvingTransUndoStorage,
    HistoryStorage.HistoryStorage,
    IteratorStorage.IteratorStorage,
    IteratorStorage.ExtendedIteratorStorage,
    PersistentStorage.PersistentStorage,
    MTStorage.MTStorage,
    ReadOnlyStorage.ReadOnlyStorage,
    testMVCCMappingStorage.MVCCTests,
):
    """A storage that keeps history, in a fresh folder."""

    # Extensions come back byte for byte.
    use_extension_bytes = True
    place = "here"

    def setUp(self):
        super().setUp()
        self.open()

    def open(self, **options):
        self._storage = OPENS[self.place]("data", **options)

    def _new_storage_client(self):
        return self._storage.new_instance()


class TestStorageWithoutHistory(
    StorageTestBase.StorageTestBase,
    BasicStorage.BasicStorage,
    Synchronization.SynchronizedStorage,
    ConflictResolution.ConflictResolvingStorage,
    PersistentStorage.PersistentStorage,
    MTStorage.MTStorage,
    ReadOnlyStorage.ReadOnlyStorage,
    testMVCCMappingStorage.MVCCTests,
):
    """A storage that keeps no history: the suites that ask for none."""

    place = "here"

    def setUp(self):
        super().setUp()
        self.open()

    def open(self, **options):
        self._storage = OPENS[self.place]("data", keeps_history=False, **options)

    def _new_storage_client(self):
        return self._storage.new_instance()


class TestRecovery(StorageTestBase.StorageTestBase, RecoveryStorage.RecoveryStorage):
    """Transactions are copied from one storage to another one."""

    place = "here"

    def setUp(self):
        super().setUp()
        self._storage = OPENS[self.place]("source")
        self._dst = OPENS[self.place]("destination")

    def tearDown(self):
        self._dst.close()
        super().tearDown()


@pytest.mark.usefixtures("at_a_server")
class TestServedStorage(TestStorage):
    """A storage of a server."""

    place = "server"


@pytest.mark.usefixtures("at_a_server")
class TestServedStorageWithoutHistory(TestStorageWithoutHistory):
    """A storage of a server that keeps no history."""

    place = "server"


@pytest.mark.usefixtures("at_a_server")
class TestServedRecovery(TestRecovery):
    """Transactions are copied from one storage of a server to another one."""

    place = "server"


def cases(suite, layer=None):
    """The test cases of a suite, each with the layer that it needs."""
    layer = getattr(suite, "layer", layer)
    for each in suite:
        if isinstance(each, unittest.TestSuite):
            yield from cases(each, layer)
        else:
            yield pytest.param(each, layer, id=each.id())


def blobs(name, place):
    def with_blobs(name, blob_dir):
        return OPENS[place](name, blob_dir=blob_dir)

    return testblob.storage_reusable_suite(
        name, with_blobs, test_blob_storage_recovery=True, test_packing=True, test_undo=True
    )


def external_gc(place):
    return unittest.TestSuite(
        [PackableStorage.IExternalGC_suite(lambda: OPENS[place]("data", pack_gc=False))]
    )


@contextlib.contextmanager
def read_only_also_for_root():
    """Files that are not writable cannot be opened for writing, which one of the documents shows. Root could,
    by two capabilities (1 and 2 of capabilities(7)), which this thread lays down meanwhile."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    version_3, this_thread = 0x20080522, 0
    header = (ctypes.c_uint32 * 2)(version_3, this_thread)
    # Effective, permitted, inheritable; capabilities below 32 come first.
    sets = (ctypes.c_uint32 * 6)()
    assert libc.capget(header, sets) == 0
    effective = sets[0]
    sets[0] = effective & ~0b110
    assert libc.capset(header, sets) == 0
    try:
        yield
    finally:
        sets[0] = effective
        assert libc.capset(header, sets) == 0


@pytest.mark.parametrize(("case", "layer"), [*cases(blobs("Anywhen", "here")), *cases(external_gc("here"))])
def test_blobs_and_external_gc(case, layer):
    """The suites of documents with examples, and those that ZODB makes for blobs."""
    check(case, layer)


@pytest.mark.usefixtures("at_a_server")
@pytest.mark.parametrize(
    ("case", "layer"), [*cases(blobs("Served", "server")), *cases(external_gc("server"))]
)
def test_served_blobs_and_external_gc(case, layer):
    """The same over a server."""
    check(case, layer)


def check(case, layer):
    result, output = unittest.TestResult(), io.StringIO()
    if isinstance(case, doctest.DocTestCase):
        case._dt_optionflags |= doctest.REPORT_NDIFF
    if layer is not None:
        layer.testSetUp()
    try:
        with read_only_also_for_root():
            case.run(result)
    finally:
        if layer is not None:
            layer.testTearDown()
    for _, trace in (*result.failures, *result.errors):
        output.write(trace)
    assert result.testsRun == 1
    assert not result.skipped
    assert not output.getvalue(), output.getvalue()
