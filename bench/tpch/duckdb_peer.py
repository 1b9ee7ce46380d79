"""Runs the queries of TPC-H in DuckDB, on one thread; prints the median milliseconds of each as JSON.

    duckdb_peer.py QUERIES DATA DATABASE ROUNDS
"""

import json
import pathlib
import statistics
import sys
import time

import duckdb

TABLES = ["region", "nation", "part", "supplier", "partsupp", "customer", "orders", "lineitem"]


def main(queries: pathlib.Path, data: pathlib.Path, database: pathlib.Path, rounds: int) -> None:
    connection = duckdb.connect(str(database), config={"threads": 1})
    connection.execute((queries / "schema.sql").read_text())
    for table in TABLES:
        connection.execute(f"COPY {table} FROM '{data / table}.csv' (FORMAT csv, HEADER)")
    connection.execute("CHECKPOINT")
    medians = []
    for number in range(1, 23):
        sql = (queries / f"q{number:02}.sql").read_text()
        connection.execute(sql).fetchall()
        times = []
        for _ in range(rounds):
            start = time.perf_counter()
            connection.execute(sql).fetchall()
            times.append((time.perf_counter() - start) * 1e3)
        medians.append(statistics.median(times))
    print(json.dumps(medians))


if __name__ == "__main__":
    main(*(pathlib.Path(path) for path in sys.argv[1:4]), int(sys.argv[4]))
