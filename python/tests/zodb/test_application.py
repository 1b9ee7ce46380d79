"""A small content management application, in several threads, as Plone and Zope would use the storage."""

import random
import threading
import time

import pytest
import transaction
import ZODB
from BTrees.IIBTree import IITreeSet
from BTrees.IOBTree import IOBTree
from BTrees.Length import Length
from BTrees.OOBTree import OOBTree
from persistent import Persistent
from ZODB.blob import Blob
from ZODB.POSException import ConflictError, ReadConflictError

STATES = ("draft", "pending", "published")


class Document(Persistent):
    """Content with a file."""

    def __init__(self, title, data):
        self.title = title
        self.state = STATES[0]
        self.file = Blob(data)


class Catalog(Persistent):
    """Indexes of documents, as a catalog has them."""

    def __init__(self):
        self.by_state = OOBTree({state: IITreeSet() for state in STATES})
        self.by_word = OOBTree()
        self.length = Length()

    def add(self, number, document):
        self.by_state[document.state].insert(number)
        for word in document.title.split():
            if word not in self.by_word:
                self.by_word[word] = IITreeSet()
            self.by_word[word].insert(number)
        self.length.change(1)

    def remove(self, number, document):
        self.by_state[document.state].remove(number)
        for word in set(document.title.split()):
            self.by_word[word].remove(number)
        self.length.change(-1)

    def move(self, number, document, state):
        self.by_state[document.state].remove(number)
        document.state = state
        self.by_state[state].insert(number)


def consistent(root):
    """Fails unless the indexes say what the documents are."""
    documents, catalog = root["documents"], root["catalog"]
    numbers = set(documents)
    assert catalog.length() == len(numbers)
    indexed = [number for state in STATES for number in catalog.by_state[state]]
    assert sorted(indexed) == sorted(numbers)
    for number, document in documents.items():
        assert number in catalog.by_state[document.state]
        for word in document.title.split():
            assert number in catalog.by_word[word]
        with document.file.open() as file:
            assert file.read() == document.title.encode() * 100
    words = {number for index in catalog.by_word.values() for number in index}
    assert words == numbers


def tries(db, change, seed):
    """Runs a change until it does not conflict; returns how often it did."""
    manager = transaction.TransactionManager()
    connection, conflicts = db.open(manager), 0
    try:
        while True:
            try:
                manager.begin()
                change(connection.root(), random.Random(f"{seed} {conflicts}"))
                manager.get().note(f"change {seed}")
                manager.commit()
                return conflicts
            except ConflictError:
                manager.abort()
                conflicts += 1
    finally:
        manager.abort()
        connection.close()


def add(root, chance):
    number = chance.randrange(1 << 30)
    document = Document(f"word{chance.randrange(20)} word{chance.randrange(20)}", b"")
    with document.file.open("w") as file:
        file.write(document.title.encode() * 100)
    root["documents"][number] = document
    root["catalog"].add(number, document)


def publish(root, chance):
    documents = root["documents"]
    if documents:
        number = chance.choice(list(documents.keys()))
        root["catalog"].move(number, documents[number], chance.choice(STATES))


def remove(root, chance):
    documents = root["documents"]
    if len(documents) > 10:
        number = chance.choice(list(documents.keys()))
        root["catalog"].remove(number, documents.pop(number))


@pytest.fixture
def site(db):
    """A database with an empty site."""
    with db.transaction() as connection:
        connection.root()["documents"] = IOBTree()
        connection.root()["catalog"] = Catalog()
    return db


def test_a_site_stays_consistent(site, opens, tmp_path):
    """Four threads change it, one reads it, one packs it; then all is undone that can be, and what is left is
    the same after a new start."""
    failures, over = [], threading.Event()

    def work(run):
        try:
            run()
        except Exception as error:
            failures.append(error)
            over.set()

    def write(name):
        for number in range(25):
            if over.is_set():
                return
            change = random.Random(f"{name} {number}").choice((add, add, publish, remove))
            tries(site, change, f"{name} {number}")

    def read():
        while not over.is_set():
            manager = transaction.TransactionManager()
            connection = site.open(manager)
            try:
                consistent(connection.root())
            except ReadConflictError:
                pass  # A pack was faster than this reader.
            manager.abort()
            connection.close()

    def pack():
        while not over.is_set():
            site.pack(time.time() - 0.2)
            time.sleep(0.05)

    writers = [threading.Thread(target=work, args=(lambda n=n: write(n),)) for n in range(4)]
    others = [threading.Thread(target=work, args=(each,)) for each in (read, pack)]
    for thread in (*writers, *others):
        thread.start()
    for thread in writers:
        thread.join(120)
    over.set()
    for thread in others:
        thread.join(30)
    if failures:
        raise failures[0]

    manager = transaction.TransactionManager()
    connection = site.open(manager)
    consistent(connection.root())
    for number in range(5):
        tries(site, add, f"late {number}")
    manager.begin()
    before = sorted(connection.root()["documents"])
    entries = [entry for entry in site.undoLog(0, 5) if entry["description"].startswith("change late")]
    assert len(entries) == 5
    site.undoMultiple([entry["id"] for entry in entries], manager.get())
    manager.commit()
    manager.begin()
    consistent(connection.root())
    assert len(connection.root()["documents"]) == len(before) - 5
    # Redo.
    site.undo(site.undoLog(0, 1)[0]["id"], manager.get())
    manager.commit()
    manager.begin()
    consistent(connection.root())
    assert sorted(connection.root()["documents"]) == before
    site.pack(time.time() + 1)
    manager.begin()
    consistent(connection.root())
    manager.abort()
    site.close()

    again = ZODB.DB(opens(blob_dir=tmp_path / "other-blobs"))
    root = again.open().root()
    consistent(root)
    assert sorted(root["documents"]) == before
    transaction.abort()
    again.close()


def test_an_older_state_can_be_looked_at(site):
    """By a historical connection."""
    tries(site, add, "one")
    first = site.lastTransaction()
    tries(site, add, "two")
    manager = transaction.TransactionManager()
    then = site.open(manager, at=first)
    consistent(then.root())
    assert len(then.root()["documents"]) == 1
    then.close()
    now = site.open(manager)
    assert len(now.root()["documents"]) == 2
    now.close()
