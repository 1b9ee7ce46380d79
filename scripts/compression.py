#!/usr/bin/env python3
"""Tells how long answers of 250 KB take without compression and with each coding.

    scripts/compression.py ANYWHEN       the command to measure; a server on a folder of its own

For each coding the median of 200 requests on one connection, in milliseconds, and the bytes of the answer.
"""

import http.client
import json
import statistics
import subprocess
import sys
import tempfile
import time

TIMES = 200


def main(anywhen):
    names = ["title", "author", "price", "tags", "body"]
    rows = [{name: f"{name} of the row {row * 7919 % 10007}" for name in names} | {"row": row}
            for row in range(1_450)]
    text = json.dumps(rows)
    with tempfile.TemporaryDirectory() as folder:
        command = [anywhen, "serve", "--json", "--data", folder + "/data",
                   "--pg-listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            address = next(told["listening_http"] for told in map(json.loads, server.stdout)
                           if "listening_http" in told)
            measure(http.client.HTTPConnection(address), text)
        finally:
            server.terminate()
            server.wait(30)


def measure(connection, text):
    def ask(method, path, body=None, headers={}):
        begun = time.perf_counter()
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        body = answer.read()
        return (time.perf_counter() - begun) * 1_000, answer, body

    ask("PUT", "/c/r", text, {"Content-Type": "application/json"})
    print(f"an answer of {len(ask('GET', '/c/r')[2]):,} bytes")
    for coding in ["identity", "gzip", "br", "zstd"]:
        asked = [ask("GET", "/c/r", headers={"Accept-Encoding": coding}) for _ in range(TIMES)]
        took = statistics.median(ms for ms, _, _ in asked)
        print(f"{coding:<9} {took:6.2f} ms  {len(asked[-1][2]):>8,} bytes")


if __name__ == "__main__":
    main(sys.argv[1])
