"""Writes records.txt: records that ZODB itself made, with what a reader must find in them.

    pip install ZODB BTrees persistent zodbpickle pytz
    python make_records.py > records.txt

Each line has five fields with tabs between them: a name, the record in hexadecimal, the class, the
references that `ZODB.serialize.referencesf` returned (each once, in order), and the JSON of the
state. The JSON is not that of the crate: `view` below makes it from the live objects.
"""
import base64
import collections
import datetime
import decimal
import io
import json
import math
import pickle
import sys
import types
import uuid
import zoneinfo

import persistent
import persistent.list
import persistent.mapping
import persistent.wref
import pytz
import transaction
import ZODB
import ZODB.serialize
import zodbpickle
import zodbpickle.pickle
from BTrees.fsBTree import fsBTree
from BTrees.IIBTree import IITreeSet
from BTrees.IOBTree import IOBTree
from BTrees.Length import Length
from BTrees.LLBTree import LLSet
from BTrees.OOBTree import OOBTree, OOBucket, OOSet, OOTreeSet
from ZODB.MappingStorage import MappingStorage

sample = types.ModuleType("sample")
sys.modules["sample"] = sample


def in_sample(cls):
    """Makes the class importable from the module `sample`."""
    cls.__module__ = "sample"
    setattr(sample, cls.__name__, cls)
    return cls


@in_sample
class Document(persistent.Persistent):
    """A plain persistent object."""


@in_sample
class Point:
    """A plain object inside a record."""

    def __init__(self, x, y):
        self.x, self.y = x, y


@in_sample
class Named(persistent.Persistent):
    """References to it have no class, and its own record has arguments."""

    def __new__(cls, name="?"):
        return super().__new__(cls)

    def __getnewargs__(self):
        return ("a name",)


# The JSON of a state ----------------------------------------------------------------------------

def text(value):
    if "\0" in value or any(0xD800 <= ord(c) < 0xE000 for c in value):
        return {"@su": base64.b64encode(value.encode("utf-8", "surrogatepass")).decode()}
    return value


BARE = "\x7f"


def number(value):
    """A string that `line` turns into a number with all digits; json.dumps would use exponents."""
    digits = format(decimal.Decimal(repr(value)), "f")
    return BARE + (digits if "." in digits else digits + ".0") + BARE


def real(value):
    if math.isnan(value):
        return {"@f": "nan"}
    if math.isinf(value):
        return {"@f": "inf" if value > 0 else "-inf"}
    if value == 0 and math.copysign(1, value) < 0:
        return {"@f": "-0.0"}
    if value != 0 and not 1e-30 <= abs(value) < 1e31:
        return {"@f": repr(value).replace("e+", "e")}
    return number(value)


def reference(target, jar):
    oid = target._p_oid.hex()
    cls = type(target)
    name = None if hasattr(cls, "__getnewargs__") else f"{cls.__module__}.{cls.__name__}"
    if target._p_jar is not jar:
        return {"@xref": [target._p_jar.db().database_name, oid] + ([name] if name else [])}
    return {"@ref": [oid, name] if name else oid}


def zone(value, view):
    tz = value.tzinfo
    if isinstance(tz, zoneinfo.ZoneInfo):
        return {"@tz": {"zoneinfo": tz.key}}
    if tz is not None and hasattr(tz, "zone") and tz.zone not in (None, "UTC"):
        args = tz.__reduce__()[1]
        return {"@tz": {"pytz": [view(arg) for arg in args], "name": tz.zone}}
    if isinstance(tz, datetime.timezone) and len(tz.__getinitargs__()) == 2:
        return {"@tz": {"name": tz.tzname(None)}}
    return {}


def view(value, jar=None):
    """The JSON of a value, as Python's json module takes it."""
    def inner(value):
        return view(value, jar)
    if isinstance(value, persistent.wref.WeakRef):
        oid = value.oid.hex()
        return {"@wref": oid if value.dm is jar else [oid, value.database_name]}
    if isinstance(value, persistent.Persistent):
        return reference(value, jar)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, type):
        return {"@cls": [value.__module__, value.__name__]}
    kind = type(value)
    if kind is int:
        return value if -2**63 <= value < 2**63 else {"@bi": str(value)}
    if kind is float:
        return real(value)
    if kind is str:
        return text(value)
    if kind in (bytes, bytearray, zodbpickle.binary):
        return {"@b": base64.b64encode(value).decode()}
    if kind is list:
        return [inner(item) for item in value]
    if kind is tuple:
        return {"@t": [inner(item) for item in value]}
    if kind is set:
        return {"@set": [inner(item) for item in value]}
    if kind is frozenset:
        return {"@fset": [inner(item) for item in value]}
    if kind is dict:
        if all(type(key) is str and key[:1] != "@" and text(key) is key for key in value):
            return {key: inner(item) for key, item in value.items()}
        return {"@d": [[inner(key), inner(item)] for key, item in value.items()]}
    if kind is datetime.datetime:
        naive = "pytz" in str(type(value.tzinfo)) and value.tzinfo is not pytz.utc
        naive = naive or isinstance(value.tzinfo, zoneinfo.ZoneInfo)
        iso = (value.replace(tzinfo=None) if naive else value).isoformat()
        return {"@dt": iso} | zone(value, inner)
    if kind is datetime.date:
        return {"@date": value.isoformat()}
    if kind is datetime.time:
        return {"@time": value.isoformat()} | zone(value, inner)
    if kind is datetime.timedelta:
        return {"@td": [value.days, value.seconds, value.microseconds]}
    if kind is decimal.Decimal:
        return {"@dec": str(value)}
    if kind is uuid.UUID:
        return {"@uuid": str(value)}
    if kind is Point:
        return {"@cls": ["sample", "Point"], "@s": inner(value.__dict__)}
    if kind in (collections.OrderedDict, collections.defaultdict, collections.deque,
                collections.Counter):
        function, args, _, items, pairs = (value.__reduce__() + (None, None, None))[:5]
        call = {"callable": inner(function), "args": inner(args)}
        if items := [inner(item) for item in items or ()]:
            call["items"] = items
        if pairs := [[inner(key), inner(item)] for key, item in pairs or ()]:
            call["kv"] = pairs
        return {"@reduce": call}
    raise TypeError(kind)


def flat(target, jar):
    """The JSON of the state of a BTree or one of its parts."""
    state = target.__getstate__()
    name = type(target).__name__
    has_values = name.endswith(("BTree", "Bucket"))
    def bucket(state):
        entries = [view(entry, jar) for entry in state[0]]
        if has_values:
            out = {"@kv": [list(pair) for pair in zip(entries[::2], entries[1::2])]}
        else:
            out = {"@ks": entries}
        if len(state) > 1:
            out["@next"] = view(state[1], jar)
        return out
    if state is None:
        return None
    if name.endswith(("BTree", "TreeSet")):
        if len(state) == 1:
            return bucket(state[0][0])
        children = [view(child, jar) for child in state[0]]
        return {"@children": children, "@first": view(state[1], jar)}
    return bucket(state)


# The records --------------------------------------------------------------------------------------

def line(name, record, cls, references, state):
    references = ",".join(dict.fromkeys(oid.hex() for oid in references))
    shown = json.dumps(state, separators=(",", ":"), ensure_ascii=False)
    shown = shown.replace(f'"{BARE}', "").replace(f'{BARE}"', "")
    print(name, record.hex(), f"{cls.__module__}.{cls.__name__}", references, shown, sep="\t")


def stored(name, target):
    """A line for a stored object."""
    jar = target._p_jar
    record, _ = jar.db().storage.load(target._p_oid)
    target._p_activate()
    if isinstance(target, Length):
        state = target.__getstate__()
    elif type(target).__module__.startswith("BTrees."):
        state = flat(target, jar)
    else:
        state = view(target.__getstate__(), jar)
    line(name, record, type(target), ZODB.serialize.referencesf(record), state)


def two_pickles(pickler, cls, state):
    """A record that a pickler other than ZODB's own makes."""
    out = io.BytesIO()
    pickler = pickler(out)
    pickler.dump(cls)
    pickler.dump(state)
    return out.getvalue()


def main():
    databases = {}
    db = ZODB.DB(MappingStorage("main"), databases=databases, database_name="main", xrefs=True)
    ZODB.DB(MappingStorage("other"), databases=databases, database_name="other")
    connection = db.open()
    root = connection.root()
    far = connection.get_connection("other").root()
    far["mapping"] = persistent.mapping.PersistentMapping()
    far["named"] = Named()
    transaction.commit()
    stored("an empty root", root)

    for count in (0, 1, 100, 1000):
        root[f"oobtree {count}"] = OOBTree({f"key {i:04}": i for i in range(count)})
    root["iobtree"] = IOBTree({i - 5: f"value {i}" for i in range(10)})
    root["fsbtree"] = fsBTree({b"ab": b"sixoct"})
    root["bucket"] = OOBucket({"a": None, "b": 1.0})
    root["set"] = OOSet(["a", "b"])
    root["treeset"] = OOTreeSet(range(100))
    root["empty treeset"] = OOTreeSet()
    root["iitreeset"] = IITreeSet(range(300))
    root["llset"] = LLSet([-2**63, 0, 2**63 - 1])
    root["length"] = Length(5)
    root["list"] = persistent.list.PersistentList([1, [2], (3,)])
    root["named"] = Named()
    document = root["document"] = Document()
    document.title = "Ubergabe \u00dc \u20ac \U0001f600 \"quoted\" \\ \n\t\x01"
    document.parent = root
    document.tags = ("a", "b")
    document.point = Point(1, Point(2.5, [Point(0, None)]))
    document.cls = Point
    document.nothing, document.yes, document.no = None, True, False
    document.marker = {"@t": [1], "plain": 1}
    document.keys = {1: "a", (1, 2): "b", None: "c", b"x": "d"}
    document.strings = ["", "a\0b", "\ud800x", "caf\u00e9"]
    document.bytes = [b"", b"\x00\xff", bytearray(b"abc"), zodbpickle.binary(b"\x01\x02")]
    document.weak = persistent.wref.WeakRef(root["list"])
    document.far = far["mapping"]
    document.far_named = far["named"]
    document.far_weak = persistent.wref.WeakRef(far["mapping"])
    document.again = [root["list"], root["named"], root["list"]]
    numbers = root["numbers"] = Document()
    numbers.ints = [0, -1, 255, 256, 65535, 65536, 2**31 - 1, -2**31, 2**31, 2**63 - 1, -2**63,
                    2**63, -2**63 - 1, 2**64, -2**64, 10**100, -10**100]
    numbers.floats = [0.0, -0.0, 1.0, 1.5, 0.1, 1e16, 1e22, 1e30, 1e31, 1e300, 5e-324, 1e-7, 1e-30,
                      9e-31, -123456789.125, math.nan, math.inf, -math.inf]
    times = root["times"] = Document()
    utc = datetime.timezone.utc
    offset = datetime.timezone(datetime.timedelta(hours=2, minutes=30))
    moment = datetime.datetime(2025, 1, 2, 3, 4, 5, 678)
    times.plain = [moment, moment.replace(microsecond=0), datetime.datetime.min,
                   datetime.datetime.max]
    times.zones = [
        moment.replace(tzinfo=utc),
        moment.replace(tzinfo=offset),
        moment.replace(tzinfo=datetime.timezone(-datetime.timedelta(hours=5, seconds=7), "odd")),
        pytz.utc.localize(moment),
        pytz.timezone("Europe/Vienna").localize(moment),
        pytz.timezone("Etc/GMT+1").localize(moment),
    ]
    times.dates = [datetime.date(2025, 1, 2), datetime.date.max]
    times.times = [datetime.time(1, 2), datetime.time(1, 2, 3, 4), datetime.time(1, tzinfo=utc)]
    times.deltas = [datetime.timedelta(1, 2, 3), -datetime.timedelta(hours=5)]
    known = root["known"] = Document()
    known.decimals = [decimal.Decimal("1.50"), decimal.Decimal("NaN"), decimal.Decimal("-1E+400")]
    known.uuids = [uuid.UUID(int=5), uuid.UUID(int=2**128 - 1), uuid.UUID(int=2**63)]
    known.sets = [set(), {1}, {"a"}, {1, 2, 3}, frozenset(), frozenset({(1, 2)})]
    known.ordered = collections.OrderedDict([("b", 1), ("a", 2)])
    known.default = collections.defaultdict(list, a=[1])
    known.queue = collections.deque([1, 2, 3], 5)
    known.counter = collections.Counter("abca")
    transaction.commit()

    for name in root:
        stored(f"root[{name!r}]", root[name])
    stored("a root with everything", root)
    for name in ("oobtree 100", "iitreeset"):
        child = root[name].__getstate__()[1]
        stored(f"the first bucket of root[{name!r}]", child)
        stored(f"the second bucket of root[{name!r}]", child.__getstate__()[1])

    state = {
        "text": "caf\u00e9 \u20ac \U0001f600 \\ \n '", "ascii": "plain", "bytes": b"\x00ab\xff",
        "empty": [b"", "", (), [], {}, None], "ints": [0, 1, -1, 255, 256, 65536, 2**31, -2**40, 2**70],
        "flags": [True, False], "floats": [1.5, -2.25e-5, math.inf],
        "sets": [{1, 2}, frozenset({3})], "tuples": [(1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)],
        "array": bytearray(b"\x00\x80"), "object": Point(1, {"a": 2}),
        "moment": moment.replace(tzinfo=utc), "decimal": decimal.Decimal("0.10"),
        "uuid": uuid.UUID(int=2**100), "long": ["x" * 300, b"y" * 300],
        "ordered": collections.OrderedDict([("b", 1), ("a", 2)]),
    }
    for protocol in range(6):
        record = two_pickles(lambda out: pickle.Pickler(out, protocol), Document, state)
        line(f"protocol {protocol} of pickle", record, Document, [], view(state))
    # zodbpickle cannot pickle these; Python's pickler names the method in two ways.
    for protocol in (3, 4):
        zoned = [moment.replace(tzinfo=zoneinfo.ZoneInfo("Europe/Vienna"))]
        record = two_pickles(lambda out: pickle.Pickler(out, protocol), Document, zoned)
        line(f"zoneinfo in protocol {protocol}", record, Document, [], view(zoned))
    for protocol in range(4):
        record = two_pickles(
            lambda out: zodbpickle.pickle.Pickler(out, protocol), Document, state)
        line(f"protocol {protocol} of zodbpickle", record, Document, [], view(state))


if __name__ == "__main__":
    main()
