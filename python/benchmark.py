#!/usr/bin/env python3
"""What a call costs: documents in this process, beside SQLite that keeps versions as JSON text.

Both write to a folder of their own on the same disk, and each write is on that disk before the call returns
(SQLite: WAL, synchronous=FULL). What is timed is what a program sees: from a dict to a dict, with everything
that Python does in between. SQLite has one row for each version, with author, message and time, by key and
version; for `update` a program reads, changes and writes the whole document, in one transaction.

Wants nothing but the wheel: python/run --wheel dist && pip install dist/*.whl && python python/benchmark.py
"""

import argparse
import json
import random
import sqlite3
import sys
import tempfile
import time
from pathlib import Path

# The module that is installed, not the folder beside this file: that has no native half.
sys.path = [path for path in sys.path if Path(path).resolve() != Path(__file__).resolve().parent]

import anywhen  # noqa: E402
from anywhen import dbapi  # noqa: E402

VERSIONS = 10


def document(number):
    """About 1 KB: what an order may look like."""
    return {
        "id": f"order-{number}",
        "customer": {"name": f"Customer {number % 97}", "city": "Aarhus", "vip": number % 7 == 0},
        "state": "new",
        "total": number * 1.25,
        "lines": [
            {"sku": f"sku-{number + at}", "quantity": at + 1, "price": 9.5 + at, "note": "as usual"}
            for at in range(10)
        ],
    }


class Anywhen:
    """Documents of a collection; for SQL a table beside them."""

    def __init__(self, folder):
        self.db = anywhen.open(folder / "anywhen")
        self.orders = self.db.collection("orders")
        self.connection = dbapi.connect(self.db)
        self.connection.autocommit = True
        self.cursor = self.connection.cursor()
        self.cursor.execute("CREATE TABLE lookup (id text PRIMARY KEY, doc jsonb)")

    def fill(self, documents):
        with self.connection.cursor() as cursor:
            for key, value in documents.items():
                cursor.execute("INSERT INTO lookup VALUES (%s, %s)", [key, value])
        self.orders.update(documents)

    def put(self, key, value):
        self.orders.put(key, value, message="put", author="ada")

    def update(self, key, number):
        self.orders.update(key, "$.lines[3].quantity", number, message="more", author="ada")

    def get(self, key):
        return self.orders[key]

    def at(self, key, version):
        return self.orders.at(version=version)[key]

    def history(self, key):
        return self.orders.history(key, VERSIONS)

    def select(self, key):
        return self.cursor.execute("SELECT doc FROM lookup WHERE id = %s", [key]).fetchone()[0]

    def close(self):
        self.connection.close()
        self.db.close()


class SQLite:
    """A row for each version, as JSON text; for SQL a table of the newest."""

    NEWEST = "SELECT version, doc FROM orders WHERE key = ? ORDER BY version DESC LIMIT 1"

    def __init__(self, folder):
        self.connection = sqlite3.connect(folder / "sqlite.db", isolation_level=None)
        for statement in (
            "PRAGMA journal_mode = WAL",
            "PRAGMA synchronous = FULL",
            "CREATE TABLE orders (key TEXT, version INTEGER, time REAL, author TEXT, message TEXT,"
            " doc TEXT, PRIMARY KEY (key, version)) WITHOUT ROWID",
            "CREATE TABLE lookup (id TEXT PRIMARY KEY, doc TEXT)",
        ):
            self.connection.execute(statement)

    def fill(self, documents):
        self.connection.execute("BEGIN")
        for key, value in documents.items():
            self._add(key, 1, value, "")
            self.connection.execute("INSERT INTO lookup VALUES (?, ?)", (key, json.dumps(value)))
        self.connection.execute("COMMIT")

    def _add(self, key, version, value, message):
        row = (key, version, time.time(), "ada", message, json.dumps(value))
        self.connection.execute("INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?)", row)

    def put(self, key, value):
        self.connection.execute("BEGIN IMMEDIATE")
        newest = self.connection.execute(self.NEWEST, (key,)).fetchone()
        self._add(key, newest[0] + 1 if newest else 1, value, "put")
        self.connection.execute("COMMIT")

    def update(self, key, number):
        self.connection.execute("BEGIN IMMEDIATE")
        version, text = self.connection.execute(self.NEWEST, (key,)).fetchone()
        value = json.loads(text)
        value["lines"][3]["quantity"] = number
        self._add(key, version + 1, value, "more")
        self.connection.execute("COMMIT")

    def get(self, key):
        return json.loads(self.connection.execute(self.NEWEST, (key,)).fetchone()[1])

    def at(self, key, version):
        found = self.connection.execute(
            "SELECT doc FROM orders WHERE key = ? AND version = ?", (key, version)
        )
        return json.loads(found.fetchone()[0])

    def history(self, key):
        return self.connection.execute(
            "SELECT version, time, author, message FROM orders WHERE key = ?"
            " ORDER BY version DESC LIMIT ?",
            (key, VERSIONS),
        ).fetchall()

    def select(self, key):
        found = self.connection.execute("SELECT doc FROM lookup WHERE id = ?", (key,))
        return json.loads(found.fetchone()[0])

    def close(self):
        self.connection.close()


def measure(stores, documents, calls, seed):
    """For each operation the times of its calls in each store, in microseconds. The stores take turns, so
    that whatever else the machine does meets all of them."""
    dice = random.Random(seed)
    keys = list(documents)
    aged = keys[: len(keys) // 10]
    for store in stores:
        store.fill(documents)
        for number in range(VERSIONS):
            for key in aged:
                store.update(key, number)
    operations = {
        "get": lambda at: ("get", dice.choice(keys)),
        "at(version=5)": lambda at: ("at", dice.choice(aged), 5),
        f"history of {VERSIONS}": lambda at: ("history", dice.choice(aged)),
        "SELECT by key": lambda at: ("select", dice.choice(keys)),
        "put": lambda at: ("put", f"new-{at}", document(at)),
        "update by path": lambda at: ("update", dice.choice(keys), 100 + at),
    }
    times = {}
    for operation, prepare in operations.items():
        times[operation] = taken = [[] for _ in stores]
        for at in range(calls):
            name, *arguments = prepare(at)
            for store, into in zip(stores, taken, strict=True):
                call = getattr(store, name)
                begun = time.perf_counter_ns()
                call(*arguments)
                into.append((time.perf_counter_ns() - begun) / 1000)
    return times


def check(ours, peer, key):
    """Both hold the same, or the figures say nothing."""
    for call in (lambda of: of.get(key), lambda of: of.at(key, 5), lambda of: of.select(key)):
        if call(ours) != call(peer):
            sys.exit(f"the two differ in {key}: {call(ours)} and {call(peer)}")


def main():
    summary, *rest = __doc__.split("\n\n")
    parser = argparse.ArgumentParser(
        description=summary,
        epilog="\n\n".join(rest),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--calls", type=int, default=2_000, help="calls of each kind (2000)")
    parser.add_argument("--documents", type=int, default=1_000, help="documents of 1 KB (1000)")
    parser.add_argument("--seed", type=int, default=1, help="which documents are asked for (1)")
    parser.add_argument("--folder", help="where to write (a temporary folder)")
    chosen = parser.parse_args()
    documents = {f"k{number:06}": document(number) for number in range(max(chosen.documents, 10))}
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        stores = [Anywhen(Path(folder)), SQLite(Path(folder))]
        times = measure(stores, documents, chosen.calls, chosen.seed)
        check(*stores, next(iter(documents)))
        for store in stores:
            store.close()
    print(f"anywhen {anywhen.__version__}, SQLite {sqlite3.sqlite_version}, microseconds\n")
    print(f"{'':16}{'anywhen':>18}{'SQLite':>20}")
    print(f"{'':16}{'p50':>9}{'p99':>9}{'p50':>11}{'p99':>9}")
    for operation, taken in times.items():
        figures = []
        for of in map(sorted, taken):
            figures += [of[len(of) // 2], of[len(of) * 99 // 100]]
        print("{:16}{:9.1f}{:9.1f}{:11.1f}{:9.1f}".format(operation, *figures))


if __name__ == "__main__":
    main()
