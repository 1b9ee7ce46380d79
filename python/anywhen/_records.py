"""Lists of records as tables: for a notebook, and as data frames of pandas.

A :class:`Records` is a list in all else. Only :meth:`Records.to_frame` needs pandas.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from html import escape
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import pandas

_Row = TypeVar("_Row", bound=tuple[Any, ...])

# Rows that a notebook shows of a long list, and characters of a value.
_ROWS_SHOWN = 50
_CHARS_SHOWN = 120


class Records(list[_Row]):
    """Versions, changes, values of a node or lines of blame, in their order."""

    __slots__ = ("_names",)

    def __init__(self, of: Any, rows: Iterable[_Row] = ()) -> None:
        super().__init__(rows)
        self._names: tuple[str, ...] = of._fields

    def to_frame(self) -> pandas.DataFrame:
        """The records as a data frame of pandas, a column for each field; times are in UTC."""
        try:
            import pandas
        except ImportError as error:
            told = "this needs pandas: pip install 'anywhen-db[pandas]'"
            raise ImportError(told, name="pandas") from error
        frame = pandas.DataFrame([tuple(row) for row in self], columns=list(self._names), dtype=object)
        for name in self._names:
            if name in ("time", "authored", "from_time", "to_time"):
                frame[name] = pandas.to_datetime(frame[name], utc=True)
            elif name not in ("value", "old", "new"):
                frame[name] = frame[name].infer_objects()
        return frame

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)

    def _repr_html_(self) -> str:
        return table(self._names, self, len(self))


def table(names: Iterable[str], rows: Iterable[Iterable[Any]], count: int) -> str:
    """A table of HTML with the first rows of so many."""
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    lines = [f"<table><thead><tr>{head}</tr></thead><tbody>"]
    for row, _ in zip(rows, range(_ROWS_SHOWN), strict=False):
        cells = "".join(f"<td>{escape(_shown(value))}</td>" for value in row)
        lines.append(f"<tr>{cells}</tr>")
    lines.append("</tbody></table>")
    if count > _ROWS_SHOWN:
        lines.append(f"<p>{_ROWS_SHOWN} of {count:,} rows</p>")
    return "\n".join(lines)


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= _CHARS_SHOWN else text[:_CHARS_SHOWN] + "…"
