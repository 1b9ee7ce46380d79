"""Parameters of SQL: Python objects as the texts that PostgreSQL reads."""

from __future__ import annotations

import datetime
import math
import uuid
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from ._native import dumps
from .errors import InvalidValueError


class Json:
    """A value that goes to SQL as JSON, also where a parameter would be something else: a list, which is an
    array otherwise, a str, a number or None. A dict is JSON without being told."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"Json({self.value!r})"


def statement(text: str) -> str:
    """The text of a statement."""
    if not isinstance(text, str):
        raise TypeError(f"a statement of SQL is a str, not {type(text).__name__}")
    return _plain(text)


def copy_arrow(table: str, columns: Iterable[str] | None, schema: str | None) -> str:
    """The ``COPY`` that takes a stream of Arrow into a table."""
    if isinstance(columns, str):
        raise TypeError("columns= is a list of names, not a str")
    path = _quoted(table) if schema is None else f"{_quoted(schema)}.{_quoted(table)}"
    names = "" if columns is None else f" ({', '.join(map(_quoted, columns))})"
    return f"COPY {path}{names} FROM STDIN (FORMAT arrow)"


def _quoted(name: str) -> str:
    """A name between quotes."""
    if not isinstance(name, str):
        raise TypeError(f"a name is a str, not {type(name).__name__}")
    return '"' + _plain(name).replace('"', '""') + '"'


def to_texts(parameters: Iterable[Any]) -> list[str | None]:
    """The texts of parameters, None for NULL."""
    return [to_text(value) for value in parameters]


def to_text(value: Any) -> str | None:
    """The text of a parameter, None for NULL."""
    if value is None:
        return None
    if isinstance(value, str):
        return _plain(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        # As JSON has it: whatever the size, and whatever the class below int says of itself.
        return dumps(value).decode()
    if isinstance(value, float):
        if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        return "NaN" if math.isnan(value) else repr(float(value))
    if isinstance(value, Decimal):
        # Signalling NaNs are not known to SQL.
        return "NaN" if value.is_nan() else str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return "\\x" + bytes(value).hex()
    if isinstance(value, Json):
        return dumps(value.value).decode()
    if isinstance(value, dict):
        return dumps(value).decode()
    if isinstance(value, (list, tuple)):
        return _array(value)
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return f"{value.days} days {value.seconds} seconds {value.microseconds} microseconds"
    if isinstance(value, uuid.UUID):
        return str(value)
    raise TypeError(
        f"a parameter of SQL cannot be an object of type {type(value).__module__}."
        f"{type(value).__qualname__}; give its str"
    )


def _plain(text: str) -> str:
    if "\0" in text:
        raise InvalidValueError("a text of SQL cannot hold U+0000", "22021")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        message = "a str with half of a surrogate pair is no text and cannot be stored"
        raise InvalidValueError(message, "22021") from error
    return str(text)


def _array(values: list[Any] | tuple[Any, ...]) -> str:
    """`{1,NULL,"a b"}`, nested for lists of lists."""
    parts = []
    for value in values:
        if value is None:
            parts.append("NULL")
        elif isinstance(value, (list, tuple)):
            parts.append(_array(value))
        else:
            text = to_text(value) or ""
            parts.append('"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"')
    return "{" + ",".join(parts) + "}"
