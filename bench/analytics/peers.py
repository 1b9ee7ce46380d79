"""Runs the queries of the suite analytics in one engine that keeps columns; prints what it measured as JSON.

    peers.py ENGINE DATA FOLDER ROUNDS THREADS

ENGINE is duckdb-json, duckdb-variant, duckdb-struct, hyper or clickhouse. DATA is the CSV file of the suite. THREADS
lists numbers of threads: 1,2. The data are loaded once, with the first of these, then the queries are measured with
each. The output is {"load_s": 1.0, "bytes": 1, "ms": {"1": [1.0, null, ...], "2": [1.0, null, ...]}}, null for a query
that the engine has no types for.
"""

import json
import pathlib
import statistics
import sys
import time

COLUMNS = [
    ("id", "BIGINT"),
    ("created_at", "TIMESTAMP WITH TIME ZONE"),
    ("event_date", "DATE"),
    ("user_id", "BIGINT"),
    ("session_id", "TEXT"),
    ("amount", "NUMERIC(15, 4)"),
    ("price", "DOUBLE PRECISION"),
    ("quantity", "INTEGER"),
    ("duration_ms", "INTEGER"),
    ("score", "REAL"),
    ("country_code", "TEXT"),
    ("browser", "TEXT"),
    ("url", "TEXT"),
    ("is_mobile", "BOOLEAN"),
    ("event_type", "TEXT"),
    ("metadata", "TEXT"),
    ("tags", "TEXT"),
]

# What engines say differently.
QUERIES = [
    "SELECT count(*) FROM event",
    "SELECT sum(amount), avg(amount), sum(price), avg(price) FROM event",
    "SELECT country_code, count(*), avg(score) FROM event GROUP BY country_code ORDER BY count(*) DESC",
    "SELECT event_type, count(*), sum(amount), avg(duration_ms), {percentile} FROM event GROUP BY event_type "
    "ORDER BY event_type",
    "SELECT event_date, count(*), sum(amount), avg(price) FROM event "
    "WHERE event_date BETWEEN DATE '2024-01-01' AND DATE '2024-01-31' GROUP BY event_date ORDER BY event_date",
    "SELECT count(*), avg(amount) FROM event WHERE {os} = 'android'",
    "SELECT {campaign}, count(*), sum(amount) FROM event WHERE {has_campaign} GROUP BY 1 ORDER BY 3 DESC",
    "SELECT count(*), avg(price) FROM event WHERE {has_tag}",
    "SELECT count(*), sum(amount) FROM event WHERE url LIKE '/page/1%'",
    "SELECT browser, is_mobile, count(*), sum(amount), avg(amount), min(amount), max(amount), "
    "sum(price * quantity), avg(duration_ms), count(DISTINCT user_id), "
    "sum(CASE WHEN event_type = 'purchase' THEN amount END) FROM event GROUP BY browser, is_mobile "
    "ORDER BY browser, is_mobile",
]


def queries(**words: str | None) -> list[str | None]:
    """The queries in the words of an engine; None where it has no word for a part."""
    without = [name for name, word in words.items() if word is None]
    known = {name: word for name, word in words.items() if word is not None}
    lacks = lambda text: any("{" + name + "}" in text for name in without)
    return [None if lacks(text) else text.format(**known) for text in QUERIES]


def size(path: pathlib.Path) -> int:
    """Bytes of a file, or of all files in a folder."""
    files = [path] if path.is_file() else path.rglob("*")
    return sum(file.stat().st_size for file in files if file.is_file())


def measure(run, texts: list[str | None], rounds: int) -> list[float | None]:
    """The median milliseconds of each query, after one run to warm up."""
    medians = []
    for text in texts:
        if text is None:
            medians.append(None)
            continue
        run(text)
        times = []
        for _ in range(rounds):
            start = time.perf_counter()
            run(text)
            times.append((time.perf_counter() - start) * 1e3)
        medians.append(statistics.median(times))
    return medians


def duckdb_with(form: str, data: pathlib.Path, folder: pathlib.Path, rounds: int, counts: list[int]) -> dict:
    import duckdb

    file = folder / f"{form}.duckdb"
    fields = {"os": "VARCHAR", "version": "VARCHAR", "app": "VARCHAR", "campaign": "VARCHAR", "revenue": "DECIMAL(9,2)",
              "ab_group": "VARCHAR", "premium": "BOOLEAN"}
    structure = ", ".join(f'"{name}": "{kind}"' for name, kind in fields.items())
    metadata = {
        "json": "metadata::JSON",
        "variant": "metadata::JSON::VARIANT",
        "struct": "from_json(metadata::JSON, '{" + structure + "}')",
    }[form]
    names = {name: "'" + kind.replace("TEXT", "VARCHAR") + "'" for name, kind in COLUMNS}
    columns = "{" + ", ".join(f"'{name}': {kind}" for name, kind in names.items()) + "}"
    listed = ", ".join(name for name, _ in COLUMNS[:-2])
    connection = duckdb.connect(str(file), config={"threads": counts[0]})
    start = time.perf_counter()
    connection.execute(
        f"CREATE TABLE event AS SELECT {listed}, {metadata} AS metadata, "
        f"string_split(trim(tags, '{{}}'), ',') AS tags FROM read_csv('{data}', header = true, columns = {columns})"
    )
    connection.execute("CHECKPOINT")
    loaded = time.perf_counter() - start
    field = (lambda name: f"metadata->>'{name}'") if form == "json" else (lambda name: f"metadata.{name}::VARCHAR")
    texts = queries(
        percentile="quantile_disc(duration_ms, 0.95)",
        os=field("os"),
        campaign=field("campaign"),
        has_campaign=f"{field('campaign')} IS NOT NULL",
        has_tag="list_contains(tags, 'tag_5')",
    )
    ms = {}
    for threads in counts:
        connection.execute(f"SET threads = {threads}")
        ms[threads] = measure(lambda text: connection.execute(text).fetchall(), texts, rounds)
    connection.close()
    return {"load_s": loaded, "bytes": size(file), "ms": ms}


def hyper(data: pathlib.Path, folder: pathlib.Path, rounds: int, counts: list[int]) -> dict:
    from tableauhyperapi import Connection, CreateMode, HyperProcess, Telemetry

    file = folder / "event.hyper"
    columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS)
    texts = queries(
        percentile="percentile_disc(0.95) WITHIN GROUP (ORDER BY duration_ms)",
        os=None, campaign=None, has_campaign=None, has_tag=None,
    )
    loaded, ms = None, {}
    for threads in counts:
        # A process has one limit for its whole life.
        parameters = {"hard_concurrent_query_thread_limit": str(threads), "log_config": "",
                      "default_database_version": "4"}
        mode = CreateMode.CREATE_AND_REPLACE if loaded is None else CreateMode.NONE
        with HyperProcess(Telemetry.DO_NOT_SEND_USAGE_DATA_TO_TABLEAU, parameters=parameters) as process:
            with Connection(process.endpoint, file, mode) as connection:
                if loaded is None:
                    connection.execute_command(f"CREATE TABLE event ({columns})")
                    start = time.perf_counter()
                    connection.execute_command(f"COPY event FROM '{data}' WITH (FORMAT csv, HEADER, NULL '')")
                    loaded = time.perf_counter() - start
                ms[threads] = measure(connection.execute_list_query, texts, rounds)
    return {"load_s": loaded, "bytes": size(file), "ms": ms}


def clickhouse(data: pathlib.Path, folder: pathlib.Path, rounds: int, counts: list[int]) -> dict:
    from chdb.session import Session

    home = folder / "clickhouse"
    kinds = {"BIGINT": "Int64", "TIMESTAMP WITH TIME ZONE": "DateTime64(6, 'UTC')", "DATE": "Date32",
             "NUMERIC(15, 4)": "Decimal(15, 4)", "DOUBLE PRECISION": "Float64", "INTEGER": "Int32", "REAL": "Float32",
             "BOOLEAN": "Bool", "TEXT": "LowCardinality(String)"}
    kind = {name: kinds[kind] for name, kind in COLUMNS}
    kind |= {"session_id": "String", "metadata": "JSON", "tags": "Array(LowCardinality(String))"}
    columns = ", ".join(f"{name} {of}" for name, of in kind.items())
    read = ", ".join(f"{name} {'String' if name in ('metadata', 'tags') else of}" for name, of in kind.items())
    quoted = read.replace("'", "\\'")
    listed = ", ".join(name for name, _ in COLUMNS[:-2])
    session = Session(str(home))
    session.query(f"CREATE TABLE event ({columns}) ENGINE = MergeTree ORDER BY event_date")
    limit = lambda threads: f" SETTINGS max_threads = {threads}"
    start = time.perf_counter()
    session.query(
        f"INSERT INTO event SELECT {listed}, metadata::JSON, splitByChar(',', trim(BOTH '{{}}' FROM tags)) "
        f"FROM file('{data}', CSVWithNames, '{quoted}'){limit(counts[0])}, date_time_input_format = 'best_effort'"
    )
    session.query("OPTIMIZE TABLE event FINAL")
    loaded = time.perf_counter() - start
    texts = queries(
        percentile="quantileExact(0.95)(duration_ms)",
        os="metadata.os::String",
        campaign="metadata.campaign::String",
        has_campaign="metadata.campaign::String <> ''",
        has_tag="has(tags, 'tag_5')",
    )
    ms = {}
    for threads in counts:
        ms[threads] = measure(lambda text: session.query(text + limit(threads)), texts, rounds)
    parts = session.query("SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND table = 'event'", "CSV")
    session.close()
    return {"load_s": loaded, "bytes": int(str(parts).strip()), "ms": ms}


def main(engine: str, data: pathlib.Path, folder: pathlib.Path, rounds: int, counts: list[int]) -> None:
    if engine.startswith("duckdb-"):
        found = duckdb_with(engine.removeprefix("duckdb-"), data, folder, rounds, counts)
    else:
        found = {"hyper": hyper, "clickhouse": clickhouse}[engine](data, folder, rounds, counts)
    print(json.dumps(found))


if __name__ == "__main__":
    counts_of_threads = [int(threads) for threads in sys.argv[5].split(",")]
    main(sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]), int(sys.argv[4]), counts_of_threads)
