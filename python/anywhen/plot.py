"""Pictures of history, by matplotlib, which is imported only when one is asked for. ::

    articles.plot_history("a1", "$.counter")     the values of one field, over time
    articles.plot_history("a1")                  what each version changed
    ax.figure.savefig("history.svg")

Numbers are steps, because a value holds until the next one comes; other values are bands with their text;
without a path each version is a bar, as high as the number of its changes.
"""

from __future__ import annotations

from datetime import datetime, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ._native import dumps
from .errors import NotFoundError
from .records import Change, NodeVersion, Version

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._collection import Collection

__all__ = ["plot_history"]

# Colours that people who see few colours tell apart (Okabe and Ito), by what happened.
_OPS = {
    "insert": "#009E73",
    "update": "#0072B2",
    "replace": "#56B4E9",
    "rename": "#CC79A7",
    "move": "#E69F00",
    "delete": "#D55E00",
}
_BANDS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
_INK, _FAINT = "#333333", "#BBBBBB"

# Versions of which the changes are counted one by one.
_VERSIONS_MAX = 500
# Labels that fit beside their bands and steps.
_LABELS_MAX = 25
_LABEL_CHARACTERS = 24


def plot_history(
    collection: Collection,
    key: str,
    path: str | int | None = None,
    *,
    by: str = "time",
    ax: Axes | None = None,
) -> Axes:
    """Draws the history of a document, or of the node of it at ``path``; returns the axes.

    ``by`` is what goes from left to right: ``time`` or ``version``. Without ``ax`` a figure is made.
    """
    if by not in ("time", "version"):
        raise ValueError(f"by={by!r} is neither time nor version")
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            "this needs matplotlib: pip install 'anywhen-db[plot]'", name="matplotlib"
        ) from error
    versions = collection.history(key)
    runs = None if path is None else collection.node_history(key, path)
    if runs is not None and not runs:
        raise NotFoundError(f"document {key!r} never had a node {path}", "02000")
    if ax is None:
        _, ax = pyplot.subplots(figsize=(9.0, 4.0), layout="constrained")
    if runs is None:
        _draw_changes(ax, collection, key, versions, by)
    elif all(_is_number(run.value) for run in runs):
        _draw_steps(ax, runs, versions, by)
    else:
        _draw_bands(ax, runs, versions, by)
    where = f"{collection.name}/{key}"
    ax.set_title(where if path is None else f"{where}   {path}", loc="left", color=_INK, fontsize=12)
    _dress(ax, by)
    return ax


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)


def _spans(runs: list[NodeVersion], versions: list[Version], by: str) -> list[tuple[Any, Any]]:
    """Where each run begins and ends, from left to right."""
    if by == "version":
        newest = versions[0].version
        return [
            (run.from_version, (newest if run.to_version is None else run.to_version) + 1)
            for run in runs
        ]
    end = max(datetime.now(timezone.utc), runs[-1].from_time)
    return [(run.from_time, end if run.to_time is None else run.to_time) for run in runs]


def _draw_steps(ax: Axes, runs: list[NodeVersion], versions: list[Version], by: str) -> None:
    spans = _spans(runs, versions, by)
    values = [float(run.value) for run in runs]
    colour = _OPS["update"]
    for at, ((start, end), value) in enumerate(zip(spans, values, strict=True)):
        ax.hlines(value, start, end, color=colour, linewidth=2.0, zorder=3)
        meets = at + 1 < len(spans) and spans[at + 1][0] == end
        if meets:
            low, high = sorted((value, values[at + 1]))
            ax.vlines(end, low, high, color=colour, linewidth=1.0, alpha=0.6)
    marks = [start for start, _ in spans]
    ax.plot(marks, values, "o", color=colour, markersize=5, markeredgecolor="white", zorder=4)
    if len(runs) <= _LABELS_MAX:
        for mark, run, value in zip(marks, runs, values, strict=True):
            ax.annotate(
                _text(run.value),
                (mark, value),
                xytext=(5, 5),
                textcoords="offset points",
                fontsize=8,
                color=_INK,
            )
    ax.margins(x=0.03, y=0.18)
    ax.set_ylabel("value", color=_INK)


def _draw_bands(ax: Axes, runs: list[NodeVersion], versions: list[Version], by: str) -> None:
    texts = [_text(run.value) for run in runs]
    rows = {text: row for row, text in enumerate(dict.fromkeys(texts))}
    few = len(rows) <= _LABELS_MAX
    for (start, end), text in zip(_spans(runs, versions, by), texts, strict=True):
        row = rows[text]
        ax.barh(
            row,
            end - start,
            left=start,
            height=0.6,
            color=_BANDS[row % len(_BANDS)],
            alpha=0.85,
            linewidth=0,
            zorder=3,
        )
        ax.plot([start], [row], "|", color=_INK, markersize=12, zorder=4)
    if few:
        ax.set_yticks(list(rows.values()), list(rows))
    else:
        ax.set_ylabel(f"{len(rows)} values, in the order in which they came", color=_INK)
        ax.set_yticks([])
    ax.invert_yaxis()
    ax.margins(x=0.03, y=0.12)


def _draw_changes(
    ax: Axes, collection: Collection, key: str, versions: list[Version], by: str
) -> None:
    shown = [version for version in reversed(versions) if version.kept][-_VERSIONS_MAX:]
    there = {version.version: not version.deleted for version in shown}
    bottoms = [0] * len(shown)
    counts = [_counted(collection, key, version, there) for version in shown]
    places = list(range(len(shown)))
    for op, colour in _OPS.items():
        heights = [count.get(op, 0) for count in counts]
        if any(heights):
            ax.bar(places, heights, bottom=bottoms, width=0.72, color=colour, label=op, zorder=3)
            bottoms = [bottom + height for bottom, height in zip(bottoms, heights, strict=True)]
    step = max(1, len(shown) // 12)
    ticks = places[::step]
    labels = [
        f"{shown[at].version}\n{_moment(shown[at].time)}" if by == "time" else f"{shown[at].version}"
        for at in ticks
    ]
    ax.set_xticks(ticks, labels)
    if len(shown) <= _LABELS_MAX:
        for place, top, version in zip(places, bottoms, shown, strict=True):
            said = _cut(version.message or version.author)
            ax.annotate(
                said,
                (place, top),
                xytext=(0, 4),
                textcoords="offset points",
                ha="center",
                fontsize=8,
                color=_INK,
            )
    ax.set_ylabel("changes", color=_INK)
    ax.margins(x=0.03, y=0.2)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False, ncols=len(_OPS), fontsize=8, loc="upper left", bbox_to_anchor=(0, 1.0))


def _counted(
    collection: Collection, key: str, version: Version, there: dict[int, bool]
) -> dict[str, int]:
    """How many changes of each kind a version made."""
    if version.deleted:
        return {"delete": 1}
    if not there.get(version.version - 1, False):
        return {"insert": 1}
    counts: dict[str, int] = {}
    change: Change
    for change in collection.diff(key, version.version - 1, version.version):
        counts[change.op] = counts.get(change.op, 0) + 1
    return counts


def _dress(ax: Axes, by: str) -> None:
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(_FAINT)
    ax.grid(axis="y", color=_FAINT, alpha=0.35, linewidth=0.8)
    ax.set_axisbelow(True)
    ax.tick_params(colors=_INK, labelsize=9, length=3)
    ax.set_xlabel("version" if by == "version" else "", color=_INK)
    if by == "version":
        ax.xaxis.get_major_locator().set_params(**_whole(ax))
        return
    from matplotlib.dates import AutoDateLocator

    locator = ax.xaxis.get_major_locator()
    if isinstance(locator, AutoDateLocator):
        ax.xaxis.set_major_formatter(_dates(locator))


def _dates(locator: Any) -> Any:
    from matplotlib import dates

    formatter: Any = dates.ConciseDateFormatter
    return formatter(locator, tz=timezone.utc)


def _whole(ax: Axes) -> dict[str, Any]:
    from matplotlib.ticker import MaxNLocator

    return {"integer": True} if isinstance(ax.xaxis.get_major_locator(), MaxNLocator) else {}


def _text(value: Any) -> str:
    return _cut(value if isinstance(value, str) else dumps(value).decode())


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LABEL_CHARACTERS else line[: _LABEL_CHARACTERS - 1] + "…"


def _moment(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d\n%H:%M")
