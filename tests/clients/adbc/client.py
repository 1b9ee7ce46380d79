"""ADBC: Arrow in and out through the driver for PostgreSQL, which copies in binary both ways."""

import datetime as dt
import importlib.metadata
import uuid

import adbc_driver_postgresql.dbapi as adbc
import pyarrow as pa
from checks import KEEPS_THE_PAST, holds, part, refused, same, tell

UTC = dt.timezone.utc
# What the session of the runner says: host, port, role and schema come from the environment.
URI = "postgresql://"
ROWS = 20_000


def of(connection, query, parameters=None):
    with connection.cursor() as cursor:
        cursor.execute(query, parameters)
        return cursor.fetch_arrow_table()


def sales():
    """A table of all that the driver can bring in."""
    day, moment = dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 1, 2, 3, 4)
    return pa.table({
        "id": pa.array(range(ROWS), pa.int64()),
        "shop": pa.array((i % 7 if i % 11 else None for i in range(ROWS)), pa.int32()),
        "small": pa.array((i % 100 for i in range(ROWS)), pa.int16()),
        "price": pa.array((i / 4 for i in range(ROWS)), pa.float64()),
        "score": pa.array((i / 8 for i in range(ROWS)), pa.float32()),
        "is_paid": pa.array(i % 3 == 0 for i in range(ROWS)),
        "what": pa.array(f"häß {i % 50}" for i in range(ROWS)),
        "raw": pa.array((bytes([i % 256, 0]) for i in range(ROWS)), pa.binary()),
        "day": pa.array((day + dt.timedelta(days=i % 500) for i in range(ROWS)), pa.date32()),
        "at": pa.array((moment for _ in range(ROWS)), pa.timestamp("us")),
        "at_utc": pa.array((moment for _ in range(ROWS)), pa.timestamp("us", tz="UTC")),
        "parts": pa.array(([i, None, 3] for i in range(ROWS)), pa.list_(pa.int32())),
    })


@part
def values():
    with adbc.connect(URI) as db:
        found = of(db, """
            SELECT true AS yes, 1::int2 AS small, 2 AS middle, 3::int8 AS big, 0.5::float4 AS single,
                2.5::float8 AS double, 'a'::text AS word, 'b'::varchar AS short, 'c'::char(3) AS padded,
                '\\x00ff'::bytea AS raw, date '2024-02-29' AS day, time '01:02:03.000004' AS hour,
                timestamp '2024-02-29 01:02:03' AS at, timestamptz '2024-02-29 01:02:03+00' AS at_utc,
                1.50::numeric AS price, 'NaN'::numeric AS nan, array[1, NULL, 3] AS numbers,
                array['x', '']::text[] AS words, '{"a": 1}'::jsonb AS doc, NULL::int AS nothing,
                '00000000-0000-0000-0000-000000000007'::uuid AS id""")
        row = found.to_pylist()[0]
        wanted = {
            "yes": True, "small": 1, "middle": 2, "big": 3, "single": 0.5, "double": 2.5, "word": "a",
            "short": "b", "padded": "c  ", "raw": b"\0\xff", "day": dt.date(2024, 2, 29),
            "hour": dt.time(1, 2, 3, 4), "at": dt.datetime(2024, 2, 29, 1, 2, 3),
            "at_utc": dt.datetime(2024, 2, 29, 1, 2, 3, tzinfo=UTC), "price": "1.50", "nan": "nan",
            "numbers": [1, None, 3], "words": ["x", ""], "doc": '{"a": 1}', "nothing": None,
            "id": uuid.UUID(int=7),
        }
        for name, value in wanted.items():
            same((name, row[name]), (name, value))
        same(of(db, "SELECT $1::int + $2::int AS sum, $3::text AS word", (1, 2, "y")).to_pylist(),
             [{"sum": 3, "word": "y"}])


@part
def in_and_out():
    table = sales()
    with adbc.connect(URI) as db:
        with db.cursor() as cursor:
            same(cursor.adbc_ingest("sale", table, mode="create"), ROWS)
        db.commit()
        back = of(db, "SELECT * FROM sale ORDER BY id")
        same(back.num_rows, ROWS)
        for name in table.column_names:
            same((name, back.column(name).to_pylist()), (name, table.column(name).to_pylist()))
        with db.cursor() as cursor:
            same(cursor.adbc_ingest("sale", table.slice(0, 10), mode="append"), 10)
        same(of(db, "SELECT count(*) AS n FROM sale").to_pylist(), [{"n": ROWS + 10}])
        db.rollback()
        same(of(db, "SELECT count(*) AS n, count(shop) AS shops, max(price) AS most FROM sale").to_pylist(),
             [{"n": ROWS, "shops": ROWS - len(range(0, ROWS, 11)), "most": (ROWS - 1) / 4}])
        with db.cursor() as cursor:
            same(cursor.adbc_ingest("sale", table.slice(0, 100), mode="replace"), 100)
        db.commit()
        same(of(db, "SELECT count(*) AS n FROM sale").to_pylist(), [{"n": 100}])
        with db.cursor() as cursor:
            cursor.adbc_ingest("scratch", table.select(["id", "what"]), mode="create", temporary=True)
            cursor.executemany("INSERT INTO scratch VALUES ($1, $2)", table.select(["id", "what"]).slice(0, 7))
        same(of(db, "SELECT count(*) AS n FROM scratch").to_pylist(), [{"n": ROWS + 7}])


@part
def columns():
    """The same into a table in columns, and out of its past."""
    if not KEEPS_THE_PAST:
        return
    table = sales()
    with adbc.connect(URI) as db:
        with db.cursor() as cursor:
            cursor.execute("SET default_table_access_method = 'columnar'")
            same(cursor.adbc_ingest("sale_columns", table, mode="create"), ROWS)
        db.commit()
        then = of(db, "SELECT clock_timestamp()::text AS at").to_pylist()[0]["at"]
        db.commit()
        with db.cursor() as cursor:
            cursor.execute("DELETE FROM sale_columns WHERE shop = 3")
        db.commit()
        sums = "SELECT shop, count(*) AS n, sum(price) AS sum FROM sale_columns{} GROUP BY shop ORDER BY shop"
        now = of(db, sums.format(""))
        before = of(db, sums.format(f" FOR SYSTEM_TIME AS OF timestamptz '{then}'"))
        same(now.num_rows + 1, before.num_rows)
        same([row for row in before.to_pylist() if row["shop"] != 3], now.to_pylist())


@part
def catalog():
    with adbc.connect(URI) as db:
        with db.cursor() as cursor:
            cursor.execute("CREATE TABLE place (id bigint PRIMARY KEY, name text NOT NULL, at timestamptz)")
        db.commit()
        schema = db.adbc_get_table_schema("place")
        same([(field.name, str(field.type)) for field in schema],
             [("id", "int64"), ("name", "string"), ("at", "timestamp[us, tz=UTC]")])
        catalogs = db.adbc_get_objects(depth="all", table_name_filter="place").read_all().to_pylist()
        tables = [table for one in catalogs for known in one["catalog_db_schemas"] or []
                  for table in known["db_schema_tables"] or []]
        same([table["table_name"] for table in tables], ["place"])
        same([column["column_name"] for column in tables[0]["table_columns"]], ["id", "name", "at"])
        same([(one["constraint_type"], one["constraint_column_names"]) for one in tables[0]["table_constraints"]],
             [("PRIMARY KEY", ["id"])])
        with db.cursor() as cursor:
            schema = cursor.adbc_execute_schema("SELECT id, lower(name) AS low FROM place")
        same([field.name for field in schema], ["id", "low"])
        holds("table" in db.adbc_get_table_types())


@part
def errors():
    with adbc.connect(URI) as db:
        with refused("22012", "division by zero"):
            of(db, "SELECT 1 / 0")
        db.rollback()
        with refused("42P01"):
            of(db, "SELECT * FROM nowhere")
        db.rollback()
        with refused("23505"):
            with db.cursor() as cursor:
                cursor.execute("CREATE TABLE once (id bigint PRIMARY KEY)")
                cursor.adbc_ingest("once", pa.table({"id": pa.array([1, 1], pa.int64())}), mode="append")
        db.rollback()
        same(of(db, "SELECT 1 AS one").to_pylist(), [{"one": 1}])


tell(f"adbc-driver-postgresql {importlib.metadata.version('adbc-driver-postgresql')}")
