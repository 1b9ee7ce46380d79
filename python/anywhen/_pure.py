"""The functions of the native half for servers, in Python alone: values of JSON and of SQL, and times.

::

    anywhen/__init__ ── _native, where this installation has it
                    └── this module else: `connect` works, `open` says what is missing

A module that stands in for the native half has its names. Rules of numbers are those of `src/numbers.rs`: nothing
of their digits is lost unasked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn
from uuid import UUID

from ._numbers import WrittenDecimal, WrittenFloat
from .errors import DataError, InvalidValueError, NotSupportedError, OperationalError

#: True of this module, and not of the native half.
IS_PURE = True

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?\Z")
# Levels of nested values that a document can have.
_DEPTH_MAX = 512
# Characters of a number that an error shows.
_SHOWN = 40


def _forked() -> None:
    """Nothing here belongs to a process."""


def _missing(what: str) -> NoReturn:
    raise NotSupportedError(
        f"{what} needs the native module, which this installation does not have",
        "0A000",
        hint="pip install anywhen-db on a platform that it is built for, or anywhen.connect to a server",
    )


# --- JSON ------------------------------------------------------------------------------------------


def _float_text(value: float) -> str:
    """The shortest text that is this float, with an exponent as Anywhen writes it: 1e16, 1e-7."""
    text = repr(value)
    if "e" not in text:
        return text
    mantissa, exponent = text.split("e")
    return f"{mantissa}e{int(exponent)}"


def _integer_text(value: int) -> str:
    # Python writes no more than 4,300 digits of an int.
    return str(int(value)) if abs(value) < 10**4000 else str(Decimal(int(value)))


def _bad(text: str, steps: list[str]) -> InvalidValueError:
    return InvalidValueError(f"{text} (at {_place(steps)})", "22032")


def _place(steps: list[str]) -> str:
    return "$" + "".join(steps[:12]) + ("..." if len(steps) > 12 else "")


def _step(name: str) -> str:
    is_plain = bool(name) and not name[0].isdigit() and all(c.isalnum() or c == "_" for c in name)
    return f".{name}" if is_plain else f"[{json.dumps(name, ensure_ascii=False)}]"


def _string(text: str, steps: list[str]) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        told = "a str with half of a surrogate pair is no text and cannot be stored"
        raise _bad(told, steps) from None
    return json.dumps(str(text), ensure_ascii=False)


def _write(value: Any, out: list[str], steps: list[str]) -> None:
    if isinstance(value, str):
        out.append(_string(value, steps))
    elif isinstance(value, bool):
        out.append("true" if value else "false")
    elif isinstance(value, int):
        out.append(_integer_text(value))
    elif isinstance(value, (float, Decimal)):
        written = getattr(value, "written", "") if type(value) in (WrittenFloat, WrittenDecimal) else ""
        is_finite = value.is_finite() if isinstance(value, Decimal) else abs(value) < float("inf")
        if not is_finite:
            raise _bad(f"JSON has no {value!r}", steps)
        text = str(value) if isinstance(value, Decimal) else _float_text(float(value))
        out.append(written if _NUMBER.match(written) else text)
    elif value is None:
        out.append("null")
    elif isinstance(value, (dict, list, tuple)):
        if len(steps) >= _DEPTH_MAX:
            told = f"the value is nested deeper than {_DEPTH_MAX} levels, or holds itself"
            raise _bad(told, steps)
        # One frame of Python a level, so that documents of all depths fit.
        is_object = isinstance(value, dict)
        items: list[Any] = list(value.items() if isinstance(value, dict) else value)
        out.append("{" if is_object else "[")
        for at, item in enumerate(items):
            if at:
                out.append(",")
            if is_object:
                name, item = item
                out.append(_name(name, steps))
                steps.append(_step(name))
            else:
                steps.append(f"[{at}]")
            _write(item, out, steps)
            steps.pop()
        out.append("}" if is_object else "]")
    else:
        of = type(value)
        name = of.__qualname__ if of.__module__ == "builtins" else f"{of.__module__}.{of.__qualname__}"
        raise TypeError(
            f"a document cannot hold an object of type {name}: only dict, list, tuple, str, int, float, "
            f"Decimal, bool and None (at {_place(steps)})"
        )


def _name(name: Any, steps: list[str]) -> str:
    """The name of a field and its colon."""
    if not isinstance(name, str):
        told = f"the names of an object are str, not {type(name).__qualname__}"
        raise TypeError(f"{told} (at {_place(steps)})")
    return _string(name, steps) + ":"


def dumps(value: Any) -> bytes:
    """A value as compact JSON."""
    out: list[str] = []
    try:
        _write(value, out, [])
    except RecursionError:
        raise InvalidValueError("the value is nested too deep, or holds itself", "22032") from None
    return "".join(out).encode()


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _integer(text: str) -> Any:
    if text == "-0":
        return None
    return int(text) if len(text) < 4000 else int(Decimal(text))


def _parts(text: str) -> tuple[str, int]:
    """A number as its significant digits and the power of ten of the first of them."""
    mantissa, _, exponent = text.lower().lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = whole + fraction
    significant = digits.lstrip("0")
    first = len(whole) - (len(digits) - len(significant))
    significant = significant.rstrip("0")
    return (significant, first + int(exponent or 0)) if significant else ("", 0)


def _decimal(text: str) -> Decimal:
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise InvalidValueError(f"{_cut(text)} is beyond what Python's Decimal holds", "22032") from None
    return WrittenDecimal(text) if "e" in text.lower() and str(number) != text else number


def _exact(text: str) -> Any:
    value, has_exponent = float(text), "e" in text.lower()
    is_short = len(text) <= 16 and not has_exponent
    is_held = is_short or (abs(value) < float("inf") and _parts(text) == _parts(repr(value)))
    if not is_held:
        return _decimal(text)
    return value if _float_text(value) == text else WrittenFloat(text)


def _as_float(text: str) -> float:
    value = float(text)
    if abs(value) == float("inf"):
        raise InvalidValueError(
            f"{_cut(text)} is too large for a float",
            "22032",
            hint='numbers="exact" gives a Decimal for what no float holds',
        )
    return value


_READERS: dict[str, Callable[[str], Any]] = {"exact": _exact, "float": _as_float, "decimal": _decimal}


def _constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no value of JSON")


def loads(text: bytes | str, numbers: str) -> Any:
    """The value of a text of JSON."""
    try:
        read = _READERS[numbers]
    except KeyError:
        raise ValueError(f"numbers={numbers!r} is none of exact, float, decimal") from None

    def integer(digits: str) -> Any:
        return read(digits) if digits == "-0" else _integer(digits)

    try:
        found = text.decode() if isinstance(text, bytes) else text
        return json.loads(found, parse_float=read, parse_int=integer, parse_constant=_constant)
    except InvalidValueError:
        raise
    except RecursionError:
        raise InvalidValueError("the value is nested too deep for Python", "22032") from None
    except ValueError as error:
        raise InvalidValueError(str(error), "22032") from None


def parse_time(text: str) -> int:
    """Microseconds since 1970 of an instant as people write it, such as ``2026-11-21 10:00:00+00``."""
    plain = text.strip()
    if re.fullmatch(r"@[0-9]+(\.[0-9]{1,6})?", plain):
        return int(Decimal(plain[1:]) * 1_000_000)
    try:
        moment = datetime.fromisoformat(plain)
    except ValueError:
        told = f"{json.dumps(text)} is no time such as 2026-11-21 10:30:00+01:00"
        raise InvalidValueError(told, "22007") from None
    if moment.tzinfo is None:
        told = f"{json.dumps(text)} has no time zone: add one, such as +00 for UTC, or +01:00"
        raise InvalidValueError(told, "22007")
    us = (moment - _EPOCH) // timedelta(microseconds=1)
    if us < 0:
        raise InvalidValueError(f"{json.dumps(text)} is before 1970", "22007")
    return us


# --- SQL -------------------------------------------------------------------------------------------

# The types that have a class of their own in Python: name, number, number of their array.
_TYPES = [
    ("boolean", 16, 1000), ("bytea", 17, 1001), ("bigint", 20, 1016), ("smallint", 21, 1005),
    ("integer", 23, 1007), ("text", 25, 1009), ("oid", 26, 1028), ("json", 114, 199),
    ("real", 700, 1021), ("double precision", 701, 1022), ("character", 1042, 1014),
    ("character varying", 1043, 1015), ("date", 1082, 1182), ("time without time zone", 1083, 1183),
    ("timestamp without time zone", 1114, 1115), ("timestamp with time zone", 1184, 1185),
    ("interval", 1186, 1187), ("time with time zone", 1266, 1270), ("numeric", 1700, 1231),
    ("uuid", 2950, 2951), ("jsonb", 3802, 3807), ("name", 19, 1003), ("\"char\"", 18, 1002),
]  # fmt: skip
_NAMES = {oid: name for name, oid, _ in _TYPES} | {array: f"{name}[]" for name, _, array in _TYPES}
_OIDS = {name: oid for oid, name in _NAMES.items()}
_ELEMENTS = {array: oid for _, oid, array in _TYPES}
_JSON_OIDS = (114, 3802)


def _unfit(text: str, oid: int) -> DataError:
    name = _NAMES.get(oid, "value")
    return DataError(f"{name} {text} is beyond what Python's datetime holds; cast it to text", "22008")


def _moment(text: str, oid: int) -> Any:
    """A date or time; short offsets such as +00 are those that PostgreSQL writes."""
    if text.endswith(" BC") or "infinity" in text:
        raise _unfit(text, oid)
    of: Any = {1082: date, 1083: time, 1266: time}.get(oid, datetime)
    try:
        found = of.fromisoformat(text)
    except ValueError:
        raise _unfit(text, oid) from None
    return found.astimezone(timezone.utc) if oid == 1184 else found


def _interval(text: str) -> timedelta:
    if "infinity" in text:
        raise _unfit(text, 1186)
    days = 0
    for number, unit in re.findall(r"([+-]?\d+) (year|mon|day)s?", text):
        days += int(number) * {"year": 365, "mon": 30, "day": 1}[unit]
    clock = re.search(r"([+-]?)(\d+):(\d\d):(\d\d)(\.\d+)?", text)
    us = 0
    if clock:
        sign, hours, minutes, seconds, fraction = clock.groups()
        us = (int(hours) * 3600 + int(minutes) * 60 + int(seconds)) * 1_000_000
        us += int(Decimal(fraction or 0) * 1_000_000)
        us = -us if sign == "-" else us
    try:
        return timedelta(days=days, microseconds=us)
    except OverflowError:
        raise _unfit(text, 1186) from None


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text[2:])


_SIMPLE: dict[int, Callable[[str], Any]] = {
    16: lambda text: text == "t",
    17: _bytes,
    20: int,
    21: int,
    23: int,
    26: int,
    700: float,
    701: float,
    1186: _interval,
    1700: Decimal,
    2950: UUID,
}
_MOMENTS = (1082, 1083, 1114, 1184, 1266)


def _value(text: str | None, oid: int, numbers: str) -> Any:
    """The value of Python that a text of SQL is."""
    if text is None:
        return None
    if oid in _SIMPLE:
        return _SIMPLE[oid](text)
    if oid in _MOMENTS:
        return _moment(text, oid)
    if oid in _JSON_OIDS:
        return loads(text, numbers)
    if oid in _ELEMENTS:
        return _array(text, _ELEMENTS[oid], numbers)
    return text


_TOKEN = re.compile(r'[{},]|"((?:[^"\\]|\\.)*)"|[^{},"]+', re.S)


def _array(text: str, element: int, numbers: str) -> list[Any]:
    """The values of an array, the first dimension outermost."""
    body = text.partition("=")[2] if text.startswith("[") else text
    root: list[Any] = []
    open_: list[list[Any]] = [root]
    for token in _TOKEN.finditer(body):
        found = token[0]
        if found == "{":
            inner: list[Any] = []
            open_[-1].append(inner)
            open_.append(inner)
        elif found == "}":
            open_.pop()
        elif found != ",":
            quoted = found.startswith('"')
            plain = re.sub(r"\\(.)", r"\1", token[1], flags=re.S) if quoted else found
            is_null = not quoted and plain.upper() == "NULL"
            open_[-1].append(_value(None if is_null else plain, element, numbers))
    return list(root[0]) if root else []


class Answer:
    """The answer to a statement."""

    def __init__(
        self,
        columns: list[tuple[str, str, int, tuple[int, int] | None]],
        rows: list[list[str | None]],
        tag: str,
        count: int | None,
    ) -> None:
        self._columns = columns
        self._texts = rows
        #: What was done, such as `INSERT 0 1`.
        self.tag = tag
        #: How many rows that were, where the command counts them.
        self.count = count

    def columns(self) -> list[tuple[str, str, int, tuple[int, int] | None]]:
        """Name, name and number of the type, and precision and scale of a `numeric` that has them."""
        return self._columns

    def __len__(self) -> int:
        return len(self._texts)

    def rows(self, start: int, stop: int, numbers: str) -> list[tuple[Any, ...]]:
        """The rows from `start` up to `stop`, as tuples."""
        oids = [oid for _, _, oid, _ in self._columns]
        return [
            tuple(_value(text, oid, numbers) for text, oid in zip(row, oids, strict=True))
            for row in self._texts[start:stop]
        ]

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        _missing("a stream of Arrow")


def answer_from_texts(
    columns: list[tuple[str, int, int]], rows: list[list[str | None]], tag: str
) -> Answer:
    """The answer that a server gave as texts: columns as name, number of the type and modifier."""
    told = []
    for name, oid, modifier in columns:
        is_numeric = oid == 1700 and modifier >= 4
        digits = ((modifier - 4) >> 16 & 0xFFFF, (modifier - 4) & 0x7FF) if is_numeric else None
        told.append((name, _NAMES.get(oid, "text"), oid, digits))
    last = tag.rsplit(" ", 1)[-1]
    return Answer(told, rows, tag, int(last) if last.isdigit() else None)


def answer_from_http(body: bytes) -> Answer:
    """The answer of `POST /v1/sql`."""
    # Numbers stay the texts that they are until the type of their column is known.
    told = json.loads(body, parse_float=_Text, parse_int=_Text)
    try:
        columns: list[tuple[str, str, int, tuple[int, int] | None]] = [
            (column["name"], column["type"], _OIDS.get(column["type"], 25), None)
            for column in told["columns"]
        ]
        rows = [
            [_sql_text(value, column[2]) for value, column in zip(row, columns, strict=True)]
            for row in told["rows"]
        ]
        command, count = told["command"], told["count"]
    except (KeyError, TypeError, ValueError) as error:
        raise OperationalError("this is no answer of /v1/sql", "08P01") from error
    counted = "INSERT 0" if command == "INSERT" else command
    tag = command if count is None else f"{counted} {count}"
    return Answer(columns, rows, tag, None if count is None else int(count))


class _Text(str):
    """The digits of a number of JSON."""


def _sql_text(value: Any, oid: int) -> str | None:
    # A NULL of SQL, or one of JSON: over HTTP they look alike.
    if value is None:
        return None
    if oid in _JSON_OIDS:
        return _again(value)
    if isinstance(value, bool):
        return "t" if value else "f"
    return str(value)


def _again(value: Any) -> str:
    """The text of a value of JSON whose numbers are texts."""
    if isinstance(value, _Text):
        return str(value)
    if isinstance(value, dict):
        fields = (f"{json.dumps(name)}:{_again(field)}" for name, field in value.items())
        return "{" + ",".join(fields) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_again, value)) + "]"
    return json.dumps(value)


# --- what is native alone --------------------------------------------------------------------------


class ArrowIn:
    """Data of Arrow on their way into a table."""

    def __init__(self, data: Any) -> None:
        _missing("insert_arrow()")


class Feed:
    """Changes of a database in this process."""

    def __init__(self, *wanted: Any) -> None:
        _missing("a database in this process")


class Database:
    """A database in this process."""

    @staticmethod
    def open(*wanted: Any) -> NoReturn:
        """Says what is missing."""
        _missing("anywhen.open()")


class Transaction:
    """A transaction in this process: there is none."""


class Session:
    """A session in this process: there is none."""


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    for name in ("anywhen-client", "anywhen-db"):
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return "0"


__version__ = _version()
