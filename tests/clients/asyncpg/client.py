"""asyncpg: a library of books, through the driver that asks the catalog for every type it meets."""

import asyncio
import datetime as dt
import io
import json
import uuid
from decimal import Decimal

import asyncpg
from checks import KEEPS_THE_PAST, holds, part, refused, same, tell

UTC = dt.timezone.utc


async def connect(**options):
    return await asyncpg.connect(**options)


@part
async def tables():
    db = await connect()
    await db.execute("""
        CREATE TYPE genre AS ENUM ('novel', 'poetry', 'far away');
        CREATE TYPE isbn AS (prefix text, number bigint);
        CREATE DOMAIN pages AS int CHECK (VALUE > 0);
        CREATE DOMAIN long_book AS pages CHECK (VALUE > 500);
        CREATE TYPE edition AS (code isbn, genres genre[], pages pages, at timestamptz);
        CREATE TABLE book (
            id bigserial PRIMARY KEY, title text NOT NULL, genre genre, isbn isbn, pages pages,
            genres genre[], isbns isbn[], data jsonb, price numeric(6, 2),
            added timestamptz DEFAULT now()
        );
    """)
    same(db.get_server_version().major, 17)
    same(db.get_settings().server_encoding, "UTF8")
    await db.close()


VALUES = [
    ("bool", True), ("int2", -5), ("int4", 2**31 - 1), ("int8", -2**63), ("float4", 0.5),
    ("float8", 1e-300), ("numeric", Decimal("1234567890123456789.000000001")),
    ("numeric", Decimal("-0.5")), ("numeric", Decimal("1E+20")),
    ("text", "häß \N{GRINNING FACE}"), ("varchar(9)", "nine"), ("char(4)", "ab  "), ("name", "n"),
    ('"char"', b"x"), ("bytea", b"\0\xff"), ("uuid", uuid.UUID(int=2**100)),
    ("date", dt.date(2024, 2, 29)), ("date", dt.date.max), ("date", dt.date.min),
    ("time", dt.time(1, 2, 3, 4)),
    ("timetz", dt.time(1, 2, 3, 4, dt.timezone(dt.timedelta(hours=-3)))),
    ("timestamp", dt.datetime(1, 1, 1)), ("timestamp", dt.datetime(2024, 2, 29, 1, 2, 3, 4)),
    ("timestamptz", dt.datetime(2024, 2, 29, 1, 2, 3, 4, UTC)),
    ("interval", dt.timedelta(days=40, seconds=3, microseconds=5)),
    ("interval", dt.timedelta(days=-1, microseconds=1)),
    ("json", '{"a": 1}'), ("jsonb", '{"a": [1, null]}'), ("oid", 4294967295),
    ("int4[]", [1, None, 3]), ("int4[]", [[1, 2], [3, 4]]), ("text[]", ["a", "", None, '"']),
    ("uuid[]", [uuid.UUID(int=1)]), ("timestamptz[]", [dt.datetime(2000, 1, 1, tzinfo=UTC)]),
    ("numeric[]", [Decimal("1.5"), None]), ("bytea[]", [b"", b"\1"]), ("bool[]", []),
    ("genre", "far away"), ("genre[]", ["novel", None, "poetry"]), ("pages", 7),
    ("isbn", ("978", 12345)), ("isbn", (None, None)), ("isbn[]", [("979", 1), None]),
    ("edition", (("978", 1), ["novel"], 3, dt.datetime(2000, 1, 1, tzinfo=UTC))),
    ("long_book", 501), ("tid", (7, 2)), ("jsonpath", '$."a"[*]'),
]


@part
async def values_there_and_back():
    """Every value in binary; types of our own after what the driver found of them."""
    db = await connect()
    for name, value in VALUES:
        got = await db.fetchval(f"SELECT $1::{name}", value)
        same((name, tuple(got) if isinstance(got, asyncpg.Record) else got), (name, value))
    same(await db.fetchval("SELECT ARRAY[[[1]]]::int[]"), [[[1]]])
    row = await db.fetchrow("SELECT ROW(1::int4, 'x'::text, NULL::date, 2::int8) AS r")
    same(tuple(row["r"]), (1, "x", None, 2))
    same(await db.fetchval("SELECT '1 year 2 mons'::interval"), dt.timedelta(days=425))
    same(await db.fetchval("SELECT 'infinity'::timestamptz"), dt.datetime.max)
    same((await db.fetchval("SELECT 'NaN'::numeric")).is_nan(), True)
    with refused("22003"):
        await db.fetchval("SELECT ($1::int2 + 1::int2)::int2", 32767)
    for name, bad in (("int4", "x"), ("int2", 40000), ("date", "2024"), ("uuid", "x")):
        try:
            await db.fetchval(f"SELECT $1::{name}", bad)
            holds(False, name)
        except asyncpg.DataError:
            holds(True)
    with refused("23514"):
        await db.fetchval("SELECT $1::pages", 0)
    with refused("22P02"):
        await db.fetchval("SELECT $1::genre", "drama")
    await db.close()


@part
async def statements():
    db = await connect()
    insert = await db.prepare("INSERT INTO book (title, genre, isbn, pages, genres, price)"
                              " VALUES ($1, $2, $3, $4, $5, $6) RETURNING id, isbn")
    same([kind.name for kind in insert.get_parameters()],
         ["text", "genre", "isbn", "int4", "genre[]", "numeric"])
    same([(kind.name, kind.type.name, kind.type.kind) for kind in insert.get_attributes()],
         [("id", "int8", "scalar"), ("isbn", "isbn", "composite")])
    row = await insert.fetchrow("Emma", "novel", ("978", 1), 474, ["novel"], Decimal("9.90"))
    same((row["id"], row["isbn"]["number"], list(row.keys())), (1, 1, ["id", "isbn"]))
    same(await db.fetchval("SELECT (isbn).prefix FROM book"), "978")
    await db.executemany("INSERT INTO book (title, pages) VALUES ($1, $2)",
                         [(f"Book {n}", n) for n in range(1, 501)])
    same(await db.fetchval("SELECT count(*) FROM book"), 501)
    with refused("23514"):
        await db.executemany("INSERT INTO book (title, pages) VALUES ($1, $2)",
                             [("Good", 1), ("Bad", 0)])
    same(await db.fetchval("SELECT count(*) FROM book"), 501)
    rows = await db.fetch("SELECT id, title FROM book WHERE id = any($1::int8[]) ORDER BY id",
                          [1, 3, 5])
    same([tuple(row) for row in rows], [(1, "Emma"), (3, "Book 2"), (5, "Book 4")])
    same(await db.execute("UPDATE book SET price = $1 WHERE pages < $2", Decimal(1), 11),
         "UPDATE 10")
    same(await db.fetchmany("UPDATE book SET price = $1 WHERE id = $2 RETURNING price",
                            [(Decimal("2.50"), 7), (Decimal("3.00"), 8)]),
         [(Decimal("2.50"),), (Decimal("3.00"),)])
    holds(await db.fetch("EXPLAIN SELECT * FROM book WHERE id = $1", 1))
    # What a prepared statement gives has changed: the driver asks again.
    read = await db.prepare("SELECT * FROM book WHERE id = $1")
    columns = len(await read.fetchrow(1))
    await db.execute("ALTER TABLE book ADD COLUMN shelf int")
    same(len(await db.fetchrow("SELECT * FROM book WHERE id = $1", 1)), columns + 1)
    with refused("0A000"):
        await read.fetchrow(1)
    same((await db.fetchrow("SELECT 1 AS a, 2 AS a")).get("a"), 2)
    with refused("42601"):
        await db.fetch("SELECT 1; SELECT $1::int", 1)
    same(await db.execute("SELECT 1; CREATE TABLE two (a int); INSERT INTO two VALUES (1), (2)"),
         "INSERT 0 2")
    await db.close()


@part
async def copying():
    db = await connect()
    await db.execute("CREATE TABLE loan (id int, reader text, day date, fee numeric, who uuid,"
                     " tags text[], genre genre, at timestamptz)")
    rows = [(n, f"reader {n}", dt.date(2024, 1, 1) + dt.timedelta(n), Decimal(n) / 10,
             uuid.UUID(int=n), ["a", f"{n}"], "poetry", dt.datetime(2024, 1, 1, tzinfo=UTC))
            for n in range(2000)]
    same(await db.copy_records_to_table("loan", records=rows), "COPY 2000")
    back = await db.fetch("SELECT * FROM loan ORDER BY id")
    same([tuple(row) for row in back] == rows, True)
    same(await db.copy_records_to_table("loan", records=[(None, "x")], columns=["id", "reader"]),
         "COPY 1")
    out = io.BytesIO()
    same(await db.copy_from_query("SELECT id, reader, day FROM loan WHERE id < $1 ORDER BY id", 3,
                                  output=out, format="csv", header=True), "COPY 3")
    same(out.getvalue().decode().splitlines(),
         ["id,reader,day", "0,reader 0,2024-01-01", "1,reader 1,2024-01-02",
          "2,reader 2,2024-01-03"])
    for form in ("text", "csv", "binary"):
        out = io.BytesIO()
        same(await db.copy_from_table("loan", output=out, format=form), "COPY 2001")
        await db.execute("CREATE TABLE again (LIKE loan)")
        out.seek(0)
        same(await db.copy_to_table("again", source=out, format=form), "COPY 2001")
        same(await db.fetchval("SELECT count(*) FROM (SELECT * FROM loan EXCEPT ALL"
                               " SELECT * FROM again) AS d"), 0)
        await db.execute("DROP TABLE again")
    with refused("23502"):
        await db.copy_records_to_table("book", records=[(None,)], columns=["title"])
    with refused("42P01"):
        await db.copy_records_to_table("nothing", records=[(1,)])
    same(await db.copy_records_to_table("loan", records=[(1, "x"), (2, "y")],
                                        columns=["id", "reader"], where="id > 1"), "COPY 1")

    async def rows_as_they_come():
        for n in range(5):
            await asyncio.sleep(0)
            yield (n, "late")

    same(await db.copy_records_to_table("loan", records=rows_as_they_come(),
                                        columns=["id", "reader"]), "COPY 5")
    await db.close()


@part
async def cursors():
    db = await connect()
    with_prefetch, total = 0, 0
    async with db.transaction():
        async for row in db.cursor("SELECT g FROM generate_series(1, $1::int) AS g", 500,
                                   prefetch=7):
            total += row["g"]
            with_prefetch += 1
        same((total, with_prefetch), (125250, 500))
        cursor = await db.cursor("SELECT g FROM generate_series(1, 20) AS g")
        same([row[0] for row in await cursor.fetch(3)], [1, 2, 3])
        same(await cursor.forward(10), 10)
        same((await cursor.fetchrow())[0], 14)
        same(len(await cursor.fetch(100)), 6)
        same(await cursor.fetchrow(), None)
    try:
        await db.cursor("SELECT 1")
        holds(False)
    except asyncpg.NoActiveSQLTransactionError:
        holds(True)
    await db.close()


@part
async def transactions():
    db, other = await connect(), await connect()
    async with db.transaction():
        await db.execute("INSERT INTO two VALUES (3)")
        try:
            async with db.transaction():
                await db.execute("INSERT INTO two VALUES (4)")
                raise KeyError
        except KeyError:
            pass
        async with db.transaction():
            await db.execute("INSERT INTO two VALUES (5)")
        same(await other.fetchval("SELECT count(*) FROM two"), 2)
        same(db.is_in_transaction(), True)
    same(await other.fetch("SELECT a FROM two ORDER BY a"), [(1,), (2,), (3,), (5,)])
    async with db.transaction(isolation="serializable", readonly=True, deferrable=True):
        same(await db.fetchval("SHOW transaction_isolation"), "serializable")
        same(await db.fetchval("SHOW transaction_read_only"), "on")
    with refused("25006"):
        async with db.transaction(readonly=True):
            await db.execute("DELETE FROM two")
    with refused("40001"):
        async with db.transaction(isolation="repeatable_read"):
            await db.fetch("SELECT * FROM two")
            await other.execute("UPDATE two SET a = a + 10 WHERE a = 1")
            await db.execute("UPDATE two SET a = a + 1")
    try:
        await db.fetch("SELECT * FROM book WHERE titel = 'x'")
    except asyncpg.UndefinedColumnError as error:
        same((error.sqlstate, error.position, error.hint),
             ("42703", "26", 'Perhaps you meant to reference the column "book.title".'))
    try:
        await db.execute("INSERT INTO book (id, title) VALUES (1, 'again')")
    except asyncpg.UniqueViolationError as error:
        same((error.schema_name, error.table_name, error.constraint_name, error.detail),
             ("asyncpg", "book", "book_pkey", "Key (id)=(1) already exists."))
    with refused("57014"):
        await db.execute("SET statement_timeout = 50; SELECT pg_sleep(10)")
    await db.execute("RESET statement_timeout")
    try:
        await db.fetch("SELECT pg_sleep(10)", timeout=0.2)
        holds(False)
    except asyncio.TimeoutError:
        holds(True)
    same(await db.fetchval("SELECT 1"), 1)
    await db.close()
    await other.close()


@part
async def messages():
    db, other = await connect(), await connect()
    got = asyncio.Queue()
    await db.add_listener("news", lambda _, pid, channel, payload: got.put_nowait(
        (pid, channel, payload)))
    await other.execute("NOTIFY news, 'one'")
    same(await asyncio.wait_for(got.get(), 5), (other.get_server_pid(), "news", "one"))
    await other.fetchval("SELECT pg_notify($1, $2)", "news", "x" * 7000)
    same(len((await asyncio.wait_for(got.get(), 5))[2]), 7000)
    notices = []
    db.add_log_listener(lambda _, message: notices.append((message.sqlstate, message.message)))
    await db.execute("DROP TABLE IF EXISTS nothing")
    await asyncio.sleep(0.05)
    same(notices, [("00000", 'table "nothing" does not exist, skipping')])
    raised = []
    db.add_log_listener(lambda _, message: raised.append(message.as_dict()))
    await db.execute("DO $$\nBEGIN\n  RAISE NOTICE 'here';\nEND $$")
    await asyncio.sleep(0.05)
    same([(one["message"], one["server_source_function"], "server_source_line" in one) for one in raised],
         [("here", "exec_stmt_raise", True)])
    await db.close()
    await other.close()


@part
async def codecs():
    db = await connect()
    for kind in ("json", "jsonb"):
        await db.set_type_codec(kind, encoder=json.dumps, decoder=json.loads, schema="pg_catalog")
        same(await db.fetchval(f"SELECT $1::{kind}", {"a": [1, {"b": None}]}),
             {"a": [1, {"b": None}]})
        same(await db.fetchval(f"SELECT $1::{kind}[]", [{"a": 1}, {}]), [{"a": 1}, {}])
    await db.set_type_codec("genre", encoder=str.lower, decoder=str.upper, schema="asyncpg")
    same(await db.fetchval("SELECT $1::genre", "NOVEL"), "NOVEL")
    await db.set_type_codec("numeric", encoder=str, decoder=float, schema="pg_catalog",
                            format="text")
    same(await db.fetchval("SELECT $1::numeric", 2.5), 2.5)
    await db.reset_type_codec("numeric", schema="pg_catalog")
    same(await db.fetchval("SELECT 2.5::numeric"), Decimal("2.5"))
    await db.set_type_codec(
        "interval", encoder=lambda d: (0, d.days, 0), decoder=lambda t: t, schema="pg_catalog",
        format="tuple")
    same(await db.fetchval("SELECT '1 mon 2 days 3 us'::interval"), (1, 2, 3))
    await db.close()


@part
async def a_pool():
    async def set_up(db):
        await db.set_type_codec("jsonb", encoder=json.dumps, decoder=json.loads,
                                schema="pg_catalog")

    async with asyncpg.create_pool(min_size=2, max_size=5, setup=set_up,
                                   server_settings={"application_name": "pool"}) as pool:
        async def work(n):
            async with pool.acquire() as db:
                await db.execute("SET work_mem = '9MB'")
                await db.execute("LISTEN pool")
                async with db.transaction():
                    await db.execute("UPDATE book SET data = $1 WHERE id = $2", {"n": n}, n)
                return await db.fetchval("SELECT data FROM book WHERE id = $1", n)

        same(await asyncio.gather(*(work(n) for n in range(1, 41))),
             [{"n": n} for n in range(1, 41)])
        async with pool.acquire() as db:
            # What the one before has set is gone.
            holds(await db.fetchval("SHOW work_mem") != "9MB")
            same(await db.fetchval("SHOW application_name"), "pool")
        holds(pool.get_size() <= 5)


@part
async def the_past():
    if not KEEPS_THE_PAST:
        return
    db = await connect()
    then = await db.fetchval("SELECT clock_timestamp()")
    await db.execute("UPDATE book SET pages = 475 WHERE id = 1")
    same(await db.fetchval("SELECT pages FROM book FOR SYSTEM_TIME AS OF $1 WHERE id = $2",
                           then, 1), 474)
    rows = await db.fetch("SELECT pages, _system_from, _system_to FROM book FOR SYSTEM_TIME ALL"
                          " WHERE id = 1 ORDER BY _system_from DESC LIMIT 2")
    same([row["pages"] for row in rows], [475, 474])
    same(rows[0]["_system_from"], rows[1]["_system_to"])
    await db.close()


tell(f"asyncpg {asyncpg.__version__}")
