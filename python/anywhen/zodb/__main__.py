"""``python -m anywhen.zodb``: conversions to and from other storages, and packs."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
import threading
import time
from collections.abc import Iterator
from io import StringIO
from typing import Any, Literal

from ZODB.utils import readable_tid_repr

from . import open as open_storage
from ._copy import OVERLAP, Counts, compare, copy_transactions
from .uri import resolve

ABOUT = """\
ZODB storages in Anywhen databases: convert from and to other storages, compare, pack.

A STORAGE is one of

  data                                  a folder with an Anywhen database, storage "main"
  var/filestorage/Data.fs               a FileStorage: a name that ends in .fs, or an existing file
  anywhen+embedded:///srv/data?storage=main&blob_dir=/srv/blobs
  anywhen://site:secret@db.example.org:5433/postgres?storage=main
                                        a storage of a server
  file:///srv/Data.fs?blobstorage_dir=/srv/blobstorage
                                        any address of zodburi
  zodb.conf#source                      a ZConfig file, and the name of a storage section in it

"""

CONVERT = """\
Copies every transaction of SOURCE that DESTINATION does not have, with its tid, user, description and
extension, and every record byte for byte. SOURCE must not be written meanwhile.

A copy that was cut off (Ctrl-C, a full disk, a crash) goes on when the same command is given again: the last
transactions of DESTINATION are compared with SOURCE first. It fails where they differ, so a DESTINATION with
other contents is safe.

  python -m anywhen.zodb convert var/filestorage/Data.fs data --source-blobs var/blobstorage
  python -m anywhen.zodb convert data Copy.fs --destination-blobs copy-blobs --check
  python -m anywhen.zodb convert convert.conf

The file of the last example has two storages, named source and destination:

  %import anywhen.zodb
  <filestorage source>
      path var/filestorage/Data.fs
      blob-dir var/blobstorage
  </filestorage>
  <anywhen destination>
      path data
  </anywhen>

Exit codes: 0 done; 1 failed; 2 wrong arguments; 3 done, but SOURCE lacks blobs that its records need;
130 stopped by Ctrl-C.
"""

PACK = """\
Removes records that are older than --days and not current any more, and objects that cannot be reached from
the root object. Programs that have the same storage open go on. A folder can be open in one process only,
so pack a running site from its own process (ZMI, or db.pack()). A storage of a server is packed from anywhere.

  python -m anywhen.zodb pack data --days 7
  python -m anywhen.zodb pack 'anywhen://site@db.example.org/postgres?storage=main' --days 7
"""

# A line of progress on what is no terminal comes so often, in seconds.
_LINE_S = 10.0
_BAR_S = 0.1
_PACK_S = 0.5


class WrongArgumentsError(Exception):
    """The arguments name no storage; the text says why."""


def main(arguments: list[str] | None = None) -> int:
    """Runs a command; returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        code: int = options.run(options)
        return code
    except KeyboardInterrupt:
        print("\nstopped; give the same command again to go on", file=sys.stderr)
        return 130
    except WrongArgumentsError as error:
        print(f"anywhen.zodb: {error}", file=sys.stderr)
        return 2
    except Exception as error:
        print(f"anywhen.zodb: {type(error).__name__}: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m anywhen.zodb",
        description=ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    convert = commands.add_parser(
        "convert",
        help="copy a storage into another one, or go on with a copy",
        description=CONVERT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    convert.add_argument("source", metavar="SOURCE", help="a storage, or a ZConfig file with two")
    convert.add_argument("destination", metavar="DESTINATION", nargs="?", help="a storage; made if missing")
    convert.add_argument("--source-blobs", metavar="FOLDER", help="blobs of SOURCE, where it is a path")
    convert.add_argument(
        "--destination-blobs", metavar="FOLDER", help="blobs of DESTINATION, where it is a path"
    )
    convert.add_argument(
        "--without-blobs", action="store_true", help="copy only the records of blobs, and not their files"
    )
    convert.add_argument(
        "--overlap",
        metavar="COUNT",
        type=int,
        default=OVERLAP,
        help="transactions of DESTINATION that are compared before it goes on (%(default)s)",
    )
    convert.add_argument(
        "--check", action="store_true", help="compare all transactions and blobs at the end"
    )
    convert.add_argument("--quiet", action="store_true", help="show no progress")
    convert.set_defaults(run=_convert)

    pack = commands.add_parser(
        "pack",
        help="remove old records and unreachable objects",
        description=PACK,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    pack.add_argument("storage", metavar="STORAGE")
    pack.add_argument("--days", type=float, default=0.0, help="keep so much of the past (%(default)g)")
    pack.add_argument("--no-gc", action="store_true", help="keep objects that cannot be reached")
    pack.set_defaults(run=_pack)
    return parser


def _convert(options: argparse.Namespace) -> int:
    with contextlib.ExitStack() as opened:
        if options.destination is None:
            source, destination = (
                opened.enter_context(_from_config(options.source, name))
                for name in ("source", "destination")
            )
        else:
            source = opened.enter_context(_storage(options.source, "source", options.source_blobs))
            destination = opened.enter_context(
                _storage(options.destination, "destination", options.destination_blobs)
            )
        with _Shown("copied", source, options.quiet) as shown:
            counts = copy_transactions(
                source,
                destination,
                shown,
                overlap=max(options.overlap, 1),
                with_blobs=not options.without_blobs,
            )
        print(_summary("copied", counts))
        if options.check:
            with _Shown("compared", source, options.quiet) as shown:
                with_blobs = not options.without_blobs
                compared = compare(
                    source, destination, blobs=with_blobs, is_complete=True, progress=shown
                )
            print(_summary("compared", compared))
    if counts.missing_blobs:
        print(
            f"anywhen.zodb: SOURCE does not have {counts.missing_blobs} blobs that its records need",
            file=sys.stderr,
        )
        return 3
    return 0


def _pack(options: argparse.Namespace) -> int:
    from ZODB.serialize import referencesf

    with _storage(options.storage, "packed") as storage:
        before = len(storage), storage.getSize()
        pack_time = time.time() - options.days * 86400
        with _removals_shown(storage, before[0]):
            if options.no_gc:
                storage.pack(pack_time, referencesf, gc=False)
            else:
                storage.pack(pack_time, referencesf)
        print(
            f"packed: {before[0]:,} objects before, {len(storage):,} now; "
            f"{_size(before[1])} before, {_size(storage.getSize())} now"
        )
    return 0


# --- storages --------------------------------------------------------------------------------------


@contextlib.contextmanager
def _storage(
    place: str, use: Literal["source", "destination", "packed"], blob_dir: str | None = None
) -> Iterator[Any]:
    """The storage that an argument names, closed at the end. Only a destination is made where it is missing,
    and a source is opened read-only."""
    create, read_only = use == "destination", use == "source"
    config, hash_, name = place.rpartition("#")
    if hash_ and os.path.isfile(config):
        with _from_config(config, name) as storage:
            yield storage
        return
    if re.match(r"[a-z][a-z0-9+.-]+:", place):
        storage = _from_uri(place, create, read_only)
    elif place.endswith(".fs") or os.path.isfile(place):
        if not create and not os.path.exists(place):
            raise WrongArgumentsError(f"there is no file {place}")
        from ZODB.FileStorage import FileStorage

        storage = FileStorage(place, blob_dir=blob_dir, read_only=read_only)
    else:
        if not create and not os.path.isdir(place):
            raise WrongArgumentsError(f"there is no folder {place}")
        storage = open_storage(place, create=create, read_only=read_only, blob_dir=blob_dir)
    with contextlib.closing(storage):
        yield storage


def _from_uri(uri: str, create: bool, read_only: bool) -> Any:
    if uri.startswith("anywhen"):
        return resolve(uri, create=create, read_only=read_only)[0]()
    try:
        from zodburi import NoResolverForScheme, resolve_uri
    except ImportError:
        raise WrongArgumentsError(f"{uri} needs zodburi: pip install zodburi") from None
    try:
        return resolve_uri(uri)[0]()
    except NoResolverForScheme:
        raise WrongArgumentsError(f"{uri}: zodburi knows no such addresses") from None


@contextlib.contextmanager
def _from_config(path: str, name: str) -> Iterator[Any]:
    """The storage of a section of a ZConfig file."""
    import ZConfig

    schema = ZConfig.loadSchemaFile(
        StringIO(
            '<schema><import package="ZODB"/>'
            '<multisection type="ZODB.storage" name="*" attribute="storages"/></schema>'
        )
    )
    if not os.path.isfile(path):
        raise WrongArgumentsError(f"there is no file {path}")
    try:
        config, _ = ZConfig.loadConfig(schema, path)
    except (UnicodeDecodeError, ZConfig.ConfigurationError) as error:
        raise WrongArgumentsError(f"{path} is no ZConfig file with storages: {error}") from error
    for section in config.storages:
        if section.name == name:
            with contextlib.closing(section.open()) as storage:
                yield storage
            return
    raise WrongArgumentsError(f"{path} has no storage section named {name}")


# --- what is shown ---------------------------------------------------------------------------------


class _Shown:
    """Progress: a bar where the error output is a terminal, a line now and then where not."""

    def __init__(self, what: str, source: Any, quiet: bool) -> None:
        self._what, self._quiet = what, quiet
        self._is_terminal = sys.stderr.isatty()
        self._total = max(int(source.getSize()), 1)
        self._begun = self._next = time.monotonic()
        if not self._is_terminal:
            self._next += _LINE_S

    def __enter__(self) -> _Shown:
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_terminal and not self._quiet:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def __call__(self, counts: Counts) -> None:
        now = time.monotonic()
        if self._quiet or now < self._next:
            return
        self._next = now + (_BAR_S if self._is_terminal else _LINE_S)
        rate = counts.transactions / max(now - self._begun, 0.001)
        told = f"{counts.transactions:,} transactions, {_size(counts.bytes)}, {rate:,.0f}/s"
        if not self._is_terminal:
            print(f"{self._what} {told}, at {readable_tid_repr(counts.tid)}", file=sys.stderr, flush=True)
            return
        # The size of the source is an estimate, and has parts that are not copied.
        part = min(counts.bytes / self._total, 0.99)
        bar = ("#" * round(part * 30)).ljust(30, ".")
        print(f"\r\x1b[K[{bar}] {part:4.0%}  {told}", end="", file=sys.stderr, flush=True)


@contextlib.contextmanager
def _removals_shown(storage: Any, before: int) -> Iterator[None]:
    """Says, where the error output is a terminal, how many objects a pack has removed so far."""
    if not sys.stderr.isatty():
        yield
        return
    ended, begun = threading.Event(), time.monotonic()

    def show() -> None:
        while not ended.wait(_PACK_S):
            removed, seconds = max(before - len(storage), 0), time.monotonic() - begun
            told = f"{removed:,} of {before:,} objects removed, {seconds:.0f} s"
            print(f"\r\x1b[Kpacking: {told}", end="", file=sys.stderr, flush=True)

    shower = threading.Thread(target=show, daemon=True)
    shower.start()
    try:
        yield
    finally:
        ended.set()
        shower.join()
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _summary(what: str, counts: Counts) -> str:
    told = (
        f"{what} {counts.transactions:,} transactions, {counts.records:,} records, "
        f"{counts.blobs:,} blobs, {_size(counts.bytes)}"
    )
    return told if counts.transactions == 0 else f"{told}; the newest is {readable_tid_repr(counts.tid)}"


def _size(count: float) -> str:
    for unit in ("bytes", "KB", "MB", "GB"):
        if count < 1024:
            return f"{count:,.0f} {unit}" if unit == "bytes" else f"{count:,.1f} {unit}"
        count /= 1024
    return f"{count:,.1f} TB"


if __name__ == "__main__":
    sys.exit(main())
