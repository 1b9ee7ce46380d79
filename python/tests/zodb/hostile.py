#!/usr/bin/env python3
"""Processes that commit objects, one that packs, and a server that is killed again and again.

    hostile.py                            half a minute of it
    hostile.py --seconds 600 --kills 30   what a release should withstand
    hostile.py --seed 7                   the same choices again

    writer 0 ──┐  its own tree: entries come, change and go      kill -9: the server, or a writer
    ...        ├── anywhen serve ── one pack after the other ─────────┘
    writer 7 ──┘  one number that all of them raise

A writer notes what was acknowledged in a file of its own. After a lost answer it looks whether the commit
happened. In the end every acknowledged entry must be there, the number must be what all commits together
have made it, and every object that can be reached must be there: no POSKeyError. ANYWHEN names the command
of the server.
"""

import argparse
import logging
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SERVER = os.environ.get("ANYWHEN", "anywhen")
#: Entries of a tree that stay; older ones are removed, so that packs have something to do.
KEPT = 200


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--seconds", type=float, default=30)
    options.add_argument("--kills", type=int, default=3)
    options.add_argument("--writers", type=int, default=8)
    options.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    options.add_argument("--role", choices=["writer", "packer"], help=argparse.SUPPRESS)
    options.add_argument("--url", help=argparse.SUPPRESS)
    options.add_argument("--number", type=int, default=0, help=argparse.SUPPRESS)
    options.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    # A conflict whose old record was packed away cannot be resolved, which is no news here.
    logging.getLogger("ZODB.ConflictResolution").setLevel(logging.CRITICAL)
    if chosen.role == "writer":
        return writer(chosen)
    if chosen.role == "packer":
        return packer(chosen)
    print(f"seed {chosen.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="anywhen-objects-") as folder:
        return run(chosen, Path(folder))


def opened(url):
    """The storage and its database; waits for a server that is starting."""
    import ZODB

    import anywhen
    import anywhen.zodb

    for attempt in range(600):
        try:
            storage = anywhen.zodb.open(anywhen.connect(url), "site")
            return ZODB.DB(storage)
        except Exception:
            if attempt == 599:
                raise
            time.sleep(0.1)


# --- those who write -------------------------------------------------------------------------------


def writer(chosen):
    """Commits entries to a tree, until it is told to stop by a file."""
    import transaction
    from persistent.mapping import PersistentMapping

    notes = open(chosen.folder / f"acknowledged-{chosen.number}", "a", buffering=1)
    choices = random.Random(chosen.seed * 31 + chosen.number)
    own = f"tree-{chosen.number}"
    while not (chosen.folder / "stop").exists():
        db = opened(chosen.url)
        try:
            connection = db.open(transaction.TransactionManager(explicit=True))
            manager = connection.transaction_manager
            # What was not answered before is there, or is not.
            manager.begin()
            at = connection.root()["done"][own].value + 1
            manager.abort()
            while not (chosen.folder / "stop").exists():
                manager.begin()
                root = connection.root()
                tree, done = root[own], root["done"][own]
                tree[at] = PersistentMapping(n=at, text="x" * choices.randrange(600))
                if choices.random() < 0.3 and at > 3 and (at - 2) in tree:
                    tree[at - 2]["again"] = at
                for old in list(tree.keys(max=at - KEPT)):
                    del tree[old]
                done.change(1)
                root["all"].change(1)
                try:
                    manager.commit()
                except Exception as error:
                    manager.abort()
                    if "Conflict" in type(error).__name__:
                        continue
                    raise
                notes.write(f"{at}\n")
                at += 1
        except KeyError as error:
            # An object that should be there is not: that is what all this looks for.
            print(f"writer {chosen.number}: {type(error).__name__}: {error}", flush=True)
            (chosen.folder / f"broken-{chosen.number}").write_text(repr(error))
            return 1
        except Exception:
            time.sleep(0.05)
        finally:
            close(db)
    return 0


def close(db):
    try:
        db.close()
    except Exception:
        pass


def packer(chosen):
    """Packs one time after the other."""
    packs = 0
    while not (chosen.folder / "stop").exists():
        db = opened(chosen.url)
        try:
            while not (chosen.folder / "stop").exists():
                db.pack(time.time())
                packs += 1
                (chosen.folder / "packs").write_text(str(packs))
                time.sleep(0.3)
        except Exception:
            time.sleep(0.05)
        finally:
            close(db)
    return 0


# --- the whole -------------------------------------------------------------------------------------


class Server:
    def __init__(self, folder):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.folder = folder
        self.log = open(folder / "server.log", "ab")
        self.process = None

    @property
    def url(self):
        return f"postgres://postgres@127.0.0.1:{self.port}/postgres"

    def start(self):
        command = [SERVER, "serve", "--data", self.folder / "data", "--pg-listen", f"127.0.0.1:{self.port}"]
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL)

    def kill(self, how=signal.SIGKILL):
        self.process.send_signal(how)
        self.process.wait(60)


def run(chosen, folder):
    from BTrees.IOBTree import IOBTree
    from BTrees.Length import Length
    from persistent.mapping import PersistentMapping

    server = Server(folder)
    server.start()
    db = opened(server.url)
    with db.transaction() as connection:
        root = connection.root()
        root["all"], root["done"] = Length(), PersistentMapping()
        for number in range(chosen.writers):
            root[f"tree-{number}"] = IOBTree()
            root["done"][f"tree-{number}"] = Length()
    close(db)

    def child(role, number=0):
        command = [sys.executable, __file__, "--role", role, "--number", str(number), "--url", server.url]
        command += ["--folder", folder, "--seed", str(chosen.seed)]
        return subprocess.Popen([str(part) for part in command])

    writers = [child("writer", number) for number in range(chosen.writers)]
    packs = child("packer")
    choices = random.Random(chosen.seed)
    end = time.monotonic() + chosen.seconds
    for kill in range(chosen.kills):
        left = end - time.monotonic()
        time.sleep(max(0, left / (chosen.kills - kill + 1) * choices.uniform(0.8, 1.2)))
        if choices.random() < 0.25:
            number = choices.randrange(chosen.writers)
            if writers[number].poll() is None:
                writers[number].kill()
                writers[number].wait()
                writers[number] = child("writer", number)
        else:
            server.kill()
            server.start()
    time.sleep(max(0, end - time.monotonic()))
    (folder / "stop").touch()
    for process in (*writers, packs):
        process.wait(120)
    # As it is found by the next who starts it.
    server.kill(signal.SIGTERM)
    server.start()
    broken = check(chosen, folder, server.url)
    server.kill(signal.SIGTERM)
    return 1 if broken else 0


def check(chosen, folder, url):
    """Looks whether all promises were kept; returns what was not."""
    import transaction

    broken = [path.read_text() for path in folder.glob("broken-*")]
    db = opened(url)
    connection = db.open(transaction.TransactionManager())
    root = connection.root()
    total = 0
    for number in range(chosen.writers):
        notes = folder / f"acknowledged-{number}"
        lines = notes.read_text().split() if notes.exists() else []
        newest = max(map(int, lines), default=0)
        tree, done = root[f"tree-{number}"], root["done"][f"tree-{number}"].value
        total += done
        if done < newest:
            broken.append(f"writer {number}: {newest} was acknowledged, {done} entries were committed")
        wanted = range(max(1, done - KEPT + 1), done + 1)
        found = list(tree.keys())
        if found != list(wanted):
            broken.append(f"writer {number}: has {found[:3]}..{found[-3:]}, expected {wanted}")
        broken += [f"writer {number}: entry {n} is {dict(entry)}" for n, entry in tree.items() if entry["n"] != n]
    if root["all"].value != total:
        broken.append(f"all writers together have raised the number to {root['all'].value}, not to {total}")
    # Every object that is reached is there.
    from ZODB.serialize import referencesf
    from ZODB.utils import z64

    seen, to_do = {z64}, [z64]
    while to_do:
        data, _ = db.storage.load(to_do.pop())
        for oid in referencesf(data):
            if oid not in seen:
                seen.add(oid)
                to_do.append(oid)
    packs = (folder / "packs").read_text() if (folder / "packs").exists() else "0"
    close(db)
    for line in broken:
        print("BROKEN:", line)
    print(f"{total} commits, {packs} packs, {len(seen)} objects are reached")
    print(f"test result: {'FAILED' if broken else 'ok'}", flush=True)
    return broken


if __name__ == "__main__":
    sys.exit(main())
