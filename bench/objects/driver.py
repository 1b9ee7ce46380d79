"""Runs the operations of the suite objects on ZODB storages that take turns; prints what it measured.

    driver.py FOLDER [--postgres DSN] [--anywhen DSN] [--rounds N] [--quick] [--only ID,...] [STORAGE ...]

FOLDER is on the disk to measure. A DSN is a server in libpq's words, without a database. STORAGE is a name in
`storages.KINDS`; without one, all of them. Each line of the output is a JSON object:

    {"note": "zodb-pgjsonb is left out: ..."}
    {"step": "store one object"}
    {"measured": {"id": "store-1", "what": "store one object", "unit": "us",
                  "samples": {"anywhen": [90.1, ...], ...}}}

A sample is the mean of one slice of repetitions. Storages take turns slice by slice, and another one begins in
each round:

    round 0 (not counted)  anywhen  filestorage  relstorage  floor
    round 1                filestorage  relstorage  floor  anywhen
    round 2                relstorage  floor  anywhen  filestorage

The floor is what the disk allows: 160 bytes written into a file of zeroes, and one fdatasync.
"""

import argparse
import contextlib
import dataclasses
import gc
import json
import os
import pathlib
import time
import typing

import operations
import storages

_FLOOR_BYTES = 160
_FLOOR_RECORDS = 200_000


@dataclasses.dataclass
class Arguments:
    folder: pathlib.Path
    servers: storages.Servers
    rounds: int
    quick: bool
    only: set[str]
    names: list[str]


class Floor:
    """A file of zeroes, and records that are written into it durably, one after the other."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._file = os.open(folder / "floor", os.O_RDWR | os.O_CREAT)
        os.pwrite(self._file, bytes(_FLOOR_BYTES * _FLOOR_RECORDS), 0)
        os.fsync(self._file)
        self._at = 0

    def seconds_each(self, count: int) -> float:
        """The seconds that each of so many records takes."""
        record = os.urandom(_FLOOR_BYTES)
        start = time.perf_counter()
        for _ in range(count):
            os.pwrite(self._file, record, self._at * _FLOOR_BYTES)
            os.fdatasync(self._file)
            self._at = (self._at + 1) % _FLOOR_RECORDS
        return (time.perf_counter() - start) / count


def say(**words: typing.Any) -> None:
    print(json.dumps(words, ensure_ascii=False), flush=True)


def sample(work: typing.Callable[[], float]) -> float:
    """One sample, without pauses for garbage of the samples before."""
    gc.collect()
    gc.disable()
    try:
        return work()
    finally:
        gc.enable()


def take_turns(rounds: int, contenders: dict[str, typing.Callable[[], float]]) -> dict[str, list[float]]:
    """The samples of each contender; the first round is not counted."""
    names = list(contenders)
    samples: dict[str, list[float]] = {name: [] for name in names}
    for round_ in range(rounds + 1):
        for turn in range(len(names)):
            name = names[(round_ + turn) % len(names)]
            value = sample(contenders[name])
            if round_ > 0:
                samples[name].append(value)
    return samples


def available(arguments: Arguments) -> dict[str, storages.Storages]:
    """The storages that can be had here."""
    found = {}
    for name in arguments.names:
        try:
            found[name] = storages.KINDS[name](arguments.folder / name, arguments.servers)
        except storages.Unavailable as error:
            say(note=f"{name} is left out: {error}")
            continue
        (arguments.folder / name).mkdir()
    return found


def measure(
    operation: operations.Operation,
    kinds: dict[str, storages.Storages],
    floor: Floor,
    arguments: Arguments,
) -> None:
    """Runs one operation on all storages and prints its line."""
    count = operation.quick_count if arguments.quick else operation.count
    rounds = min(arguments.rounds, operation.rounds_max)
    say(step=operation.what)
    with contextlib.ExitStack() as stack:
        contenders = {}
        for name, kind in kinds.items():
            slice_ = stack.enter_context(operation.prepare(kind, operation.id, count))
            contenders[name] = lambda slice_=slice_: operation.figure(slice_())
        if operation.has_floor:
            contenders["floor"] = lambda: operation.figure(floor.seconds_each(count))
        samples = take_turns(rounds, contenders)
    measured = {"id": operation.id, "what": operation.what, "unit": operation.unit, "samples": samples}
    say(measured=measured)


def parsed() -> Arguments:
    parser = argparse.ArgumentParser(description="ZODB storages beside each other; one JSON object a line")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*", metavar="STORAGE", help=f"any of {', '.join(storages.KINDS)}")
    parser.add_argument("--postgres", metavar="DSN")
    parser.add_argument("--anywhen", metavar="DSN")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="")
    found = parser.parse_intermixed_args()
    unknown = set(found.names) - set(storages.KINDS)
    if unknown:
        parser.error(f"there is no storage {', '.join(sorted(unknown))}")
    return Arguments(
        folder=found.folder,
        servers=storages.Servers(postgres=found.postgres, anywhen=found.anywhen),
        rounds=found.rounds,
        quick=found.quick,
        only=set(filter(None, found.only.split(","))),
        names=found.names or list(storages.KINDS),
    )


def main() -> None:
    arguments = parsed()
    kinds = available(arguments)
    floor = Floor(arguments.folder)
    for operation in operations.ALL:
        if not arguments.only or operation.id in arguments.only:
            measure(operation, kinds, floor, arguments)


if __name__ == "__main__":
    main()
