"""Runs the queries of TPC-H in DuckDB; prints its answers and the median milliseconds of each query as JSON.

    duckdb_peer.py QUERIES DATA DATABASE ROUNDS THREADS

THREADS lists numbers of threads: 1,2. The data are loaded once, then the queries are measured with each of them. The
output is {"answers": [[["text", null, ...], ...], ...], "ms": {"1": [1.0, ...], "2": [1.0, ...]}}; the answers are
those of the first number of threads.
"""

import json
import pathlib
import statistics
import sys
import time

import duckdb

TABLES = ["region", "nation", "part", "supplier", "partsupp", "customer", "orders", "lineitem"]


def texts(rows: list[tuple]) -> list[list[str | None]]:
    """The rows of an answer, each value as text, None for NULL."""
    return [[None if value is None else str(value) for value in row] for row in rows]


def measure(connection: duckdb.DuckDBPyConnection, sql: str, rounds: int) -> float:
    """The median milliseconds of a query that has run before."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        connection.execute(sql).fetchall()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def main(
    queries: pathlib.Path, data: pathlib.Path, database: pathlib.Path, rounds: int, counts: list[int]
) -> None:
    connection = duckdb.connect(str(database), config={"threads": counts[0]})
    connection.execute((queries / "schema.sql").read_text())
    for table in TABLES:
        connection.execute(f"COPY {table} FROM '{data / table}.csv' (FORMAT csv, HEADER)")
    connection.execute("CHECKPOINT")
    answers, ms = [], {}
    for threads in counts:
        connection.execute(f"SET threads = {threads}")
        ms[threads] = []
        for number in range(1, 23):
            sql = (queries / f"q{number:02}.sql").read_text()
            rows = connection.execute(sql).fetchall()
            if threads == counts[0]:
                answers.append(texts(rows))
            ms[threads].append(measure(connection, sql, rounds))
    connection.close()
    print(json.dumps({"answers": answers, "ms": ms}))


if __name__ == "__main__":
    main(
        *(pathlib.Path(path) for path in sys.argv[1:4]),
        int(sys.argv[4]),
        [int(threads) for threads in sys.argv[5].split(",")],
    )
