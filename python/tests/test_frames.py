"""Answers as columns, for whoever takes Arrow; and pictures. Needs requirements-frames.txt."""

import datetime
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
    block = next(block for block in blocks if "insert_arrow" in block)
    frame = polars.DataFrame({"cents": [350, None], "item": ["tea", "salt"]})
    with anywhen.open(None) as db, db.session() as session:
        db.sql("CREATE SCHEMA shop")
        for table in ("price", "shop.price"):
            db.sql(f"CREATE TABLE {table} (item text, cents int)")
        exec(block, {"frame": frame, "db": db, "session": session})
        rows = [("salt", None), ("tea", 350)]
        assert list(db.sql("SELECT item, cents FROM shop.price ORDER BY 1")) == rows
        assert list(db.sql("SELECT item, cents FROM price ORDER BY 1")) == [rows[0]] * 2 + [rows[1]] * 2


# --- frames into tables ------------------------------------------------------------------------------


def test_insert_arrow_takes_what_has_a_stream(sql, name):
    """Tables of pyarrow, frames of polars and pandas, readers and results come in with their values."""
    sql.sql(f"CREATE TABLE {name} (i int PRIMARY KEY, t text, d date, a int[], made bool DEFAULT true)")
    day = datetime.date(2026, 1, 2)
    rows = {"i": [1, 2], "t": ["one, which is longer than a view holds", None], "a": [[1, 2], []]}
    table = pyarrow.table({**rows, "d": pyarrow.array([day, None], pyarrow.date32())})
    assert sql.insert_arrow(name, table) == 2
    frame = polars.DataFrame({"i": [3, 4], "t": ["three", "and four, in a text of some length"]})
    assert sql.insert_arrow(name, frame.with_columns(d=polars.lit(day))) == 2
    assert sql.insert_arrow(name, pandas.DataFrame({"i": [5], "t": ["five"]})) == 1
    assert sql.insert_arrow(name, sql.sql("SELECT 6 AS i, 'six' AS t")) == 1
    kinds = pyarrow.array(["x", "y", "x"]).dictionary_encode()
    assert sql.insert_arrow(name, pyarrow.table({"t": kinds, "i": [7, 8, 9]})) == 3
    found = sql.sql(f"SELECT i, t, d, a, made FROM {name} ORDER BY i").rows
    assert found[:2] == [(1, rows["t"][0], day, [1, 2], True), (2, None, None, [], True)]
    assert found[3] == (4, "and four, in a text of some length", day, None, True)
    assert [row[:2] for row in found[4:]] == [(5, "five"), (6, "six"), (7, "x"), (8, "y"), (9, "x")]
    assert sql.insert_arrow(name, table.slice(0, 0)) == 0


def test_insert_arrow_cuts_large_batches(sql, name):
    """Slices of frames, and batches of many messages, come in once each, in one commit, with nested texts."""
    sql.sql(f"CREATE TABLE {name} (i bigint, t text, a text[], o jsonb)")
    many = polars.DataFrame({"i": range(100_000)}).with_columns(
        t=polars.format("a text of more than twelve bytes {}", "i"),
        o=polars.struct(polars.format("a text in an object, of number {}", "i").alias("x")),
        a=polars.concat_list(polars.format("a text in a list, of number {}", "i")),
    )
    assert sql.insert_arrow(name, many.slice(500, 99_000)) == 99_000
    wanted = "count(*), sum(i), count(DISTINCT t), bool_and(t LIKE '%s ' || i), bool_and(a[1] LIKE '%r ' || i)"
    (found,) = sql.sql(f"SELECT {wanted}, bool_and(o ->> 'x' LIKE '%r ' || i) FROM {name}").rows
    assert found == (99_000, sum(range(500, 99_500)), 99_000, True, True, True)
    assert sql.sql(f"SELECT count(DISTINCT _system_from) FROM {name} FOR SYSTEM_TIME ALL").scalar() == 1


def test_insert_arrow_chooses_columns_and_quotes_names(sql, name):
    """`columns` leaves out the others; names are taken as they are, in any schema."""
    odd = f'{name} "O"dd'
    quoted = '"' + odd.replace('"', '""') + '"'
    sql.sql(f"CREATE SCHEMA {name}")
    sql.sql(f'CREATE TABLE {name}.{quoted} ("A b" int, c text)')
    data = pyarrow.table({"A b": [1], "c": ["x"], "other": [2]})
    assert sql.insert_arrow(odd, data, columns=["A b", "c"], schema=name) == 1
    assert sql.sql(f"SELECT * FROM {name}.{quoted}").rows == [(1, "x")]
    with pytest.raises(TypeError, match="a list of names"):
        sql.insert_arrow(odd, data, columns="c", schema=name)


def test_insert_arrow_refuses(sql, name):
    """What does not fit is told by name, and the table stays as it was; the session goes on."""
    sql.sql(f"CREATE TABLE {name} (i int PRIMARY KEY, d date)")
    with sql.session() as session:

        def refused(data, state, text):
            with pytest.raises(anywhen.Error, match=text) as told:
                session.insert_arrow(name, data)
            assert told.value.sqlstate == state

        refused(pyarrow.table({"i": [1], "z": [2]}), "42703", 'column "z" of the data has no place')
        refused(pyarrow.table({"i": [1], "d": [2]}), "42804", 'column "d" is of type date')
        refused(pyarrow.table({"i": [1, 2**40]}), "22003", "integer out of range")
        refused(pyarrow.table({"i": [1, 1]}), "23505", "duplicate key")
        with pytest.raises(anywhen.Error, match="does not exist"):
            session.insert_arrow(name + "x", pyarrow.table({"i": [1]}))
        with pytest.raises(TypeError, match="__arrow_c_stream__"):
            session.insert_arrow(name, [{"i": 1}])
        assert session.sql(f"SELECT count(*) FROM {name}").scalar() == 0
        session.sql("BEGIN")
        assert session.insert_arrow(name, pyarrow.table({"i": [1]})) == 1
        session.sql("ROLLBACK")
        assert session.sql(f"SELECT count(*) FROM {name}").scalar() == 0


def test_insert_arrow_where_the_source_fails(sql, name):
    """A reader that fails in the middle is told about, and leaves nothing behind."""
    sql.sql(f"CREATE TABLE {name} (i bigint)")
    schema = pyarrow.schema([("i", pyarrow.int64())])

    def batches():
        yield pyarrow.record_batch({"i": [1, 2]}, schema)
        raise RuntimeError("the well is dry")

    with sql.session() as session:
        with pytest.raises(anywhen.Error, match="the well is dry") as told:
            session.insert_arrow(name, pyarrow.RecordBatchReader.from_batches(schema, batches()))
        assert told.value.sqlstate == "58030"
        assert session.sql(f"SELECT count(*) FROM {name}").scalar() == 0


def test_insert_arrow_in_the_db_api_and_over_http(name, server):
    """A connection of PEP 249 inserts within its transaction; over HTTP there is none, which is said."""
    from anywhen import dbapi

    with anywhen.open(None) as database:
        connection = dbapi.connect(database)
        connection.execute(f"CREATE TABLE {name} (i int)")
        connection.commit()
        assert connection.insert_arrow(name, pyarrow.table({"i": [1]})) == 1
        connection.rollback()
        assert database.sql(f"SELECT count(*) FROM {name}").scalar() == 0
        connection.close()
    with anywhen.connect(server.http) as database, pytest.raises(anywhen.NotSupportedError):
        database.insert_arrow(name, pyarrow.table({"i": [1]}))


def test_histories_and_changes_as_frames(articles):
    """What tells of versions is a list and a frame with a column for each field, also where it is empty."""
    history = articles.history("a1")
    frame = history.to_frame()
    assert list(frame.columns) == list(anywhen.Version._fields) and len(frame) == len(history) == 3
    assert list(frame["author"]) == [one.author for one in history]
    assert str(frame["time"].dtype).startswith("datetime64") and frame["time"].iloc[0] == history[0].time
    assert frame["version"].dtype.kind == "i" and frame["authored"].isna().all()
    values = articles.node_history("a1", "$.counter").to_frame()
    assert list(values["value"]) == [0, 1] and list(values["author"]) == ["ada", "ada"]
    changes = articles.diff("a1", 2, 3).to_frame()
    assert set(changes["op"]) == {"move", "insert"} and "history" in list(changes["new"])
    assert len(articles.diff("a1", 2, 2).to_frame()) == 0
    assert articles.blame("a1").to_frame()["version"].max() == 3


def test_notebooks_show_tables(articles, db):
    """Records, collections, documents and answers are tables of HTML, with what is dangerous escaped."""
    articles.put("<b>", {"x": "<script>"}, message="<i>")
    for shown in [articles.history("<b>"), articles, articles.document("<b>"), db.sql("SELECT '<script>' AS a")]:
        html = shown._repr_html_()
        assert "<table>" in html and "<script>" not in html and "&lt;" in html
    assert "50 of 60 rows" in db.sql("SELECT generate_series(1, 60)")._repr_html_()
