"""Answers as columns, for whoever takes Arrow; and pictures. Needs requirements-frames.txt."""

import datetime
import io
import pathlib
import re
from decimal import Decimal

import pytest

import anywhen

pyarrow = pytest.importorskip("pyarrow", reason="the first step of python/run has none of this")
pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
matplotlib = pytest.importorskip("matplotlib")

QUERY = """
    SELECT g AS i, g::bigint AS l, g / 2.0::float8 AS f, (g * 1.5)::numeric(12, 2) AS d, 'x' || g AS t,
           g % 2 = 0 AS b, date '2026-01-01' + g AS day,
           timestamptz '2026-01-01 00:00+00' + g * interval '1 hour' AS at,
           CASE WHEN g = 2 THEN NULL ELSE g END AS n, ARRAY[g, NULL] AS a,
           jsonb_build_object('g', g) AS j, decode('00ff', 'hex') AS y, 1e40::numeric AS wide
    FROM generate_series(1, 3) g"""


@pytest.fixture(params=["embedded", "http", "postgres"])
def result(request):
    if request.param == "embedded":
        database = anywhen.open(None)
    else:
        database = anywhen.connect(getattr(request.getfixturevalue("server"), request.param))
    with database:
        yield database.sql(QUERY)


def test_pyarrow(result):
    """Types and values; over HTTP a numeric has no scale, and is text."""
    table = result.arrow()
    assert table.num_rows == 3 and table.column_names[:3] == ["i", "l", "f"]
    types = {field.name: field.type for field in table.schema}
    assert (types["i"], types["l"], types["f"]) == (pyarrow.int32(), pyarrow.int64(), pyarrow.float64())
    assert types["t"] == pyarrow.string() and types["b"] == pyarrow.bool_()
    assert types["day"] == pyarrow.date32() and types["at"] == pyarrow.timestamp("us", "UTC")
    assert types["a"].value_type == pyarrow.int32() and types["y"] == pyarrow.binary()
    assert types["d"] in (pyarrow.decimal128(12, 2), pyarrow.string())
    assert types["wide"] == pyarrow.string()
    rows = table.to_pylist()
    assert rows[1]["n"] is None and rows[1]["t"] == "x2" and rows[0]["a"] == [1, None]
    assert Decimal(rows[0]["d"]) == Decimal("1.50") and rows[0]["day"] == datetime.date(2026, 1, 2)
    assert rows[0]["at"] == datetime.datetime(2026, 1, 1, 1, tzinfo=rows[0]["at"].tzinfo)
    assert rows[2]["j"] == '{"g": 3}'
    # The stream can be asked for again.
    assert pyarrow.table(result) == table and result.fetchall()[0][0] == 1


def test_pandas(result):
    """A data frame, with the types that belong to it."""
    frame = result.df()
    assert list(frame["i"]) == [1, 2, 3] and str(frame["i"].dtype) == "int32"
    assert frame["f"].sum() == 3.0 and frame["at"].dt.hour.tolist() == [1, 2, 3]
    assert frame["n"].isna().tolist() == [False, True, False]


def test_polars(result):
    """By the same stream, without pyarrow between."""
    frame = result.pl()
    assert frame.shape == (3, 13) and frame["i"].dtype == polars.Int32
    assert frame["t"].to_list() == ["x1", "x2", "x3"] and frame["n"].null_count() == 1
    assert frame["at"].dtype == polars.Datetime("us", "UTC")


def test_large_and_empty():
    """Many batches are one table; no rows still have columns; no columns are no rows."""
    with anywhen.open(None) as db:
        large = db.sql("SELECT g FROM generate_series(1, 200000) g")
        assert large.arrow().num_rows == 200_000 and large.pl()["g"].max() == 200_000
        empty = db.sql("SELECT 1 AS a, 'x' AS b WHERE false")
        assert empty.arrow().column_names == ["a", "b"] and empty.df().shape == (0, 2)
        assert db.sql("CREATE TABLE t (n int)").arrow().num_columns == 0
        bad = db.sql("SELECT 'infinity'::date")
        with pytest.raises(anywhen.DataError, match="no place in an Arrow column"):
            bad.arrow()


@pytest.fixture
def pyplot():
    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def drawn(axes, tmp_path):
    """The picture as SVG, in which the texts are texts."""
    matplotlib.rcParams["svg.fonttype"] = "none"
    axes.figure.savefig(tmp_path / "picture.svg")
    return (tmp_path / "picture.svg").read_text()


@pytest.mark.parametrize("by", ["time", "version"])
def test_numbers_are_steps(articles, pyplot, tmp_path, by):
    """One step for each value, a mark where it begins."""
    articles.update("a1", "$.counter", 5)
    axes = articles.plot_history("a1", "$.counter", by=by)
    marks = [line for line in axes.lines if line.get_marker() == "o"]
    assert list(marks[0].get_ydata()) == [0.0, 1.0, 5.0]
    if by == "version":
        assert list(marks[0].get_xdata()) == [1, 2, 4]
    text = drawn(axes, tmp_path)
    assert f"{articles.name}/a1   $.counter" in text and ">5<" in text


def test_other_values_are_bands(articles, pyplot, tmp_path):
    """A band for each value, named beside; what came back is in the row where it was."""
    for title in ("Everywhen", "Anywhen"):
        articles.update("a1", "$.title", title)
    axes = articles.document("a1").plot_history("$.title", by="version")
    assert [label.get_text() for label in axes.get_yticklabels()] == ["Anywhen", "Everywhen"]
    assert len(axes.patches) == 3 and "Everywhen" in drawn(axes, tmp_path)


def test_changes_are_bars(articles, pyplot, tmp_path):
    """Each version as high as the number of its changes, in the colours of what happened."""
    articles.delete("a1")
    _, given = pyplot.subplots()
    axes = articles.plot_history("a1", ax=given)
    assert axes is given
    heights = {label: [bar.get_height() for bar in bars]
               for bars, label in zip(axes.containers, axes.get_legend_handles_labels()[1])}
    assert heights["update"] == [0, 1, 0, 0] and heights["move"] == [0, 0, 1, 0]
    assert heights["insert"] == [1, 0, 1, 0] and heights["delete"] == [0, 0, 0, 1]
    text = drawn(axes, tmp_path)
    assert "first edit" in text and "tags" in text
    with pytest.raises(ValueError, match="colour"):
        articles.plot_history("a1", by="colour")


def test_a_frame_comes_in_as_the_guide_says():
    """The block of the guide that puts a frame into a table, as printed."""
    guide = pathlib.Path(__file__).parents[2] / "docs" / "guide" / "python.md"
    blocks = re.findall(r"```python\n(.*?)```", guide.read_text(), re.S)
    block = next(block for block in blocks if "write_ipc_stream" in block)
    frame = polars.DataFrame({"cents": [350, None], "item": ["tea", "salt"]})
    with anywhen.open(None) as db:
        db.sql("CREATE TABLE price (item text, cents int)")
        exec(block, {"io": io, "frame": frame, "db": db})
        assert list(db.sql("SELECT item, cents FROM price ORDER BY 1")) == [("salt", None), ("tea", 350)]
