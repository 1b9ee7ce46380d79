"""Conversions, configuration and the command: nothing is lost on the way, and a cut costs nothing."""

import itertools
import time

import pytest
import transaction
import ZODB
import ZODB.config
import zodburi
from BTrees.OOBTree import OOBTree
from ZODB.blob import Blob
from ZODB.FileStorage import FileStorage
from ZODB.POSException import ReadOnlyError
from ZODB.tests.ConflictResolution import PCounter
from ZODB.utils import p64, u64

import anywhen
import anywhen.zodb
from anywhen.zodb import __main__ as command
from anywhen.zodb._copy import compare, copy_transactions
from anywhen.zodb.uri import resolve


#: How many transactions `fill` makes.
ALL = 30


def fill(storage):
    """Transactions of every kind: many objects, extensions, undo and redo, a deletion, blobs."""
    db = ZODB.DB(storage)
    manager = transaction.TransactionManager()
    connection = db.open(manager)

    def step(note, change=lambda root: None):
        with manager as current:
            current.note(note)
            current.setUser("ada")
            current.setExtendedInfo("ticket", [note, {"n": 1}])
            change(connection.root())

    step("tree", lambda root: root.update(tree=OOBTree({n: str(n) for n in range(500)})))
    for number in range(20):
        step(f"change {number}", lambda root, n=number: root["tree"].update({n: "changed"}))
    step("counter", lambda root: root.update(counter=PCounter()))
    step("count", lambda root: root["counter"].inc())
    for _ in range(3):
        with manager as current:
            db.undo(db.undoLog(0, 1)[0]["id"], current)
    step("blob", lambda root: root.update(blob=Blob(b"first")))

    def write(root):
        with root["blob"].open("w") as file:
            file.write(b"second" * 20_000)

    step("blob again", write)
    with manager as current:
        db.undo(db.undoLog(0, 1)[0]["id"], current)
    step("ünïcode \N{SNOWMAN}")
    db.close()


def kinds(tmp_path, kind, name="x", **options):
    """A storage of one of the two kinds."""
    if kind == "anywhen":
        return anywhen.zodb.open(tmp_path / name, blob_dir=tmp_path / f"{name}-blobs", **options)
    return FileStorage(str(tmp_path / f"{name}.fs"), blob_dir=str(tmp_path / f"{name}-fs-blobs"))


@pytest.mark.parametrize(
    ("one", "other"), [("file", "anywhen"), ("anywhen", "file"), ("anywhen", "anywhen")]
)
def test_a_copy_is_equal_byte_for_byte(tmp_path, one, other):
    """Tids, status, users, descriptions, extensions, records, what an undo points to, and blobs."""
    fill(kinds(tmp_path, one, "source"))
    source, destination = kinds(tmp_path, one, "source"), kinds(tmp_path, other, "destination")
    counts = copy_transactions(source, destination)
    assert counts.transactions == ALL
    assert counts.blobs == 3
    assert counts.missing_blobs == 0
    for theirs, ours in zip(source.iterator(), destination.iterator(), strict=True):
        for what in ("tid", "status", "user", "description", "extension_bytes", "extension"):
            assert getattr(theirs, what) == getattr(ours, what)
        # Two storages need not have the records of a transaction in one order.
        expected, found = (
            sorted((record.oid, record.tid, record.data, record.data_txn) for record in each)
            for each in (theirs, ours)
        )
        assert expected == found
    compare(source, destination, blobs=True, is_complete=True)
    # There is nothing left to do.
    assert copy_transactions(source, destination).transactions == 0
    source.close()
    destination.close()
    db = ZODB.DB(kinds(tmp_path, other, "destination"))
    root = db.open().root()
    assert root["tree"][3] == "changed"
    with root["blob"].open() as file:
        assert file.read() == b"first"
    # It can be gone on with: new objects, and undo of what was copied.
    root["new"] = OOBTree()
    transaction.commit()
    db.undo(db.undoLog(0, 1)[0]["id"])
    transaction.commit()
    assert "new" not in db.open().root()
    db.close()


@pytest.mark.parametrize("other", ["anywhen", "file"])
def test_a_copy_that_was_cut_off_goes_on(tmp_path, other):
    """At any transaction; what is there already is compared with the source."""
    fill(kinds(tmp_path, "file", "source"))
    source, destination = kinds(tmp_path, "file", "source"), kinds(tmp_path, other, "destination")

    class Cut(Exception):
        pass

    def cut(after):
        def progress(counts):
            if counts.transactions == after:
                raise Cut

        return progress

    for after in (1, 5, 9):
        with pytest.raises(Cut):
            copy_transactions(source, destination, cut(after))
    assert copy_transactions(source, destination).transactions == ALL - 15
    assert compare(source, destination, blobs=True, is_complete=True).transactions == ALL
    source.close()
    destination.close()


def test_a_cut_within_a_transaction_leaves_nothing_of_it(tmp_path):
    """A blob that cannot be read, for example; the copy can be begun again."""
    fill(kinds(tmp_path, "file", "source"))
    source, destination = kinds(tmp_path, "file", "source"), kinds(tmp_path, "anywhen", "destination")
    load = source.loadBlob
    source.loadBlob = lambda oid, tid: str(tmp_path / "gone")
    with pytest.raises(FileNotFoundError):
        copy_transactions(source, destination)
    assert len(list(destination.iterator())) == 27
    source.loadBlob = load
    copy_transactions(source, destination)
    compare(source, destination, blobs=True, is_complete=True)
    source.close()
    destination.close()


def test_a_destination_with_other_contents_is_left_alone(tmp_path):
    """Its newest transaction is not one of the source."""
    fill(kinds(tmp_path, "file", "source"))
    source, destination = kinds(tmp_path, "file", "source"), kinds(tmp_path, "anywhen", "destination")
    ZODB.DB(destination).close()
    destination = kinds(tmp_path, "anywhen", "destination")
    before = destination.lastTransaction()
    with pytest.raises(anywhen.zodb.DifferenceError, match="is it another database"):
        destination.copyTransactionsFrom(source)
    assert destination.lastTransaction() == before
    source.close()
    destination.close()


def test_a_changed_record_in_the_overlap_is_found(tmp_path):
    """Also where its transaction has the same tid."""
    fill(kinds(tmp_path, "file", "source"))
    source, destination = kinds(tmp_path, "file", "source"), kinds(tmp_path, "anywhen", "destination")
    for each in itertools.islice(source.iterator(), 3):
        destination.tpc_begin(each, each.tid, each.status)
        for record in each:
            destination.restore(record.oid, record.tid, record.data + b".", "", None, each)
        destination.tpc_vote(each)
        destination.tpc_finish(each)
    with pytest.raises(anywhen.zodb.DifferenceError, match="object"):
        copy_transactions(source, destination)
    source.close()
    destination.close()


def test_a_destination_that_was_packed_can_be_gone_on_with(tmp_path):
    """What it has packed away is not missed."""
    fill(kinds(tmp_path, "file", "source"))
    source, destination = kinds(tmp_path, "file", "source"), kinds(tmp_path, "anywhen", "destination")
    copy_transactions(source, destination)
    destination.pack(time.time() + 1, None)
    source.close()
    db = ZODB.DB(kinds(tmp_path, "file", "source"))
    with db.transaction() as connection:
        connection.root()["later"] = 1
    assert copy_transactions(db.storage, destination).transactions == 1
    db.close()
    destination.close()


def test_tids_out_of_order_are_moved(tmp_path):
    """A clock that went back left such files; every record is copied, with a later tid."""
    source = kinds(tmp_path, "anywhen", "source")
    first = ZODB.DB(source)
    first.close()
    source = kinds(tmp_path, "anywhen", "source")
    (one,) = source.iterator()

    class Twice:
        def iterator(self, start=None, stop=None):
            return iter([one, one])

    destination = kinds(tmp_path, "anywhen", "destination")
    assert copy_transactions(Twice(), destination).transactions == 2
    assert [each.tid for each in destination.iterator()] == [one.tid, p64(u64(one.tid) + 1)]
    source.close()
    destination.close()


# --- the command -----------------------------------------------------------------------------------


def run(capsys, *arguments):
    """The exit code, the output and the error output of the command."""
    code = command.main([str(argument) for argument in arguments])
    return code, *capsys.readouterr()


def test_the_command_converts_there_and_back(tmp_path, capsys):
    """By paths and by addresses, with a check."""
    fill(kinds(tmp_path, "file", "source"))
    code, out, err = run(
        capsys,
        *("convert", tmp_path / "source.fs", tmp_path / "data", "--check"),
        *("--source-blobs", tmp_path / "source-fs-blobs"),
    )
    assert (code, err) == (0, "")
    assert out.startswith(f"copied {ALL} transactions, ")
    assert f"compared {ALL} transactions, " in out
    code, out, _ = run(
        capsys,
        *("convert", f"anywhen+embedded://{tmp_path}/data?storage=main&blob_dir={tmp_path}/cache"),
        *(f"file://{tmp_path}/back.fs?blobstorage_dir={tmp_path}/back-blobs", "--check"),
    )
    assert code == 0
    assert f"compared {ALL} transactions" in out
    code, _, err = run(capsys, "convert", tmp_path / "data", tmp_path / "again.fs")
    assert code == 1
    assert "destination was opened without a folder" in err


def test_the_command_goes_on_after_ctrl_c(tmp_path, capsys, monkeypatch):
    """With the same arguments."""
    fill(kinds(tmp_path, "file", "source"))
    arguments = (
        *("convert", tmp_path / "source.fs", tmp_path / "data"),
        *("--source-blobs", tmp_path / "source-fs-blobs"),
    )

    def stop(_, counts):
        if counts.transactions == 7:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(command._Shown, "__call__", stop)
        code, _, err = run(capsys, *arguments)
    assert code == 130
    assert "same command again" in err
    code, out, err = run(capsys, *arguments)
    assert (code, err) == (0, "")
    assert f"copied {ALL - 7} transactions" in out


def test_blobs_are_not_lost_by_mistake(tmp_path, capsys):
    """Where the folder of the source was forgotten, nothing of that transaction is copied; where a file is
    gone, that is told at the end."""
    fill(kinds(tmp_path, "file", "source"))
    convert = ("convert", tmp_path / "source.fs")
    code, _, err = run(capsys, *convert, tmp_path / "data")
    assert code == 1
    assert "source was opened without a folder" in err
    blobs = tmp_path / "source-fs-blobs"
    code, out, err = run(capsys, *convert, tmp_path / "data", "--source-blobs", blobs, "--check")
    assert (code, err) == (0, "")
    assert f"compared {ALL} transactions" in out
    code, out, _ = run(capsys, *convert, tmp_path / "other", "--without-blobs", "--check")
    assert code == 0
    assert "0 blobs" in out
    next(blobs.rglob("*.blob")).unlink()
    code, _, err = run(capsys, *convert, tmp_path / "third", "--source-blobs", blobs)
    assert code == 3
    assert "1 blobs" in err


def test_the_command_reads_zconfig_files(tmp_path, capsys):
    """With two storages, or one that an argument names."""
    fill(kinds(tmp_path, "file", "source"))
    config = tmp_path / "convert.conf"
    config.write_text(
        f"""
        %import anywhen.zodb
        <filestorage source>
            path {tmp_path}/source.fs
            blob-dir {tmp_path}/source-fs-blobs
        </filestorage>
        <anywhen destination>
            path {tmp_path}/data
            storage site
            blob-dir {tmp_path}/cache
            blob-cache-size 10MB
        </anywhen>
        """
    )
    code, out, err = run(capsys, "convert", config, "--check")
    assert (code, err) == (0, "")
    code, out, err = run(capsys, "pack", f"{config}#destination")
    assert (code, err) == (0, "")
    assert out.startswith("packed: ")
    code, out, err = run(capsys, "pack", tmp_path / "source.fs", "--days", "1")
    assert (code, err) == (0, "")
    code, _, err = run(capsys, "pack", f"{config}#nothing")
    assert code == 2
    assert "no storage section named nothing" in err


def test_wrong_arguments_are_told(tmp_path, capsys):
    """With exit code 2, and nothing is made."""
    for arguments in (
        ("convert", tmp_path / "missing.fs", tmp_path / "data"),
        ("convert", tmp_path / "missing", tmp_path / "data"),
        ("convert", tmp_path / "missing.conf"),
        ("pack", tmp_path / "missing"),
        ("pack", "nonsense://x"),
    ):
        code, out, err = run(capsys, *arguments)
        assert (code, out) == (2, "")
        assert err.startswith("anywhen.zodb: ")
    assert not list(tmp_path.iterdir())
    kinds(tmp_path, "file", "source").close()
    code, _, err = run(capsys, "convert", tmp_path / "source.fs")
    assert code == 2
    assert "no ZConfig file" in err


def test_the_help_teaches(capsys):
    """Each command shows an example."""
    for arguments in (["--help"], ["convert", "--help"], ["pack", "--help"]):
        with pytest.raises(SystemExit):
            command.main(arguments)
        assert "data" in capsys.readouterr().out


# --- configuration ---------------------------------------------------------------------------------


def test_a_zconfig_section_opens_a_storage(tmp_path):
    """With every option; read-only afterwards."""
    text = """
        %import anywhen.zodb
        <zodb main>
            cache-size 100
            <anywhen>
                path {folder}/data
                storage site
                keep-history off
                cache-size 1MB
                blob-dir {folder}/blobs
                blob-cache-size 10MB
                pack-gc off
                {more}
            </anywhen>
        </zodb>
    """
    db = ZODB.config.databaseFromString(text.format(folder=tmp_path, more=""))
    with db.transaction() as connection:
        connection.root()["a"] = 1
    shared = db.storage._shared
    assert (shared.keeps_history, shared.pack_gc, shared.read_only) == (False, False, False)
    assert shared.cache._bytes_max == 1 << 20
    assert db.storage.temporaryDirectory() == str(tmp_path / "blobs/tmp")
    assert db.getName().endswith("data#site")
    db.close()
    db = ZODB.config.databaseFromString(text.format(folder=tmp_path, more="read-only on"))
    connection = db.open()
    assert connection.root()["a"] == 1
    connection.root()["a"] = 2
    with pytest.raises(ReadOnlyError):
        transaction.commit()
    transaction.abort()
    db.close()


def test_an_address_opens_a_storage(tmp_path):
    """Through zodburi, with arguments for the storage and for the database."""
    uri = (
        f"anywhen+embedded://{tmp_path}/data?storage=site&keeps_history=no&cache_bytes=2MB"
        "&connection_pool_size=3&database_name=main"
    )
    factory, arguments = zodburi.resolve_uri(uri)
    assert (arguments["pool_size"], arguments["database_name"]) == (3, "main")
    storage = factory()
    assert storage.getName().endswith("data#site")
    assert not storage.supportsUndo()
    storage.close()
    for wrong in ("anywhen+embedded://host/data", "anywhen+embedded:", f"{uri}&create=perhaps"):
        with pytest.raises(ValueError, match="."):
            resolve(wrong)
    with pytest.raises(KeyError):
        zodburi.resolve_uri(f"{uri}&colour=red")
