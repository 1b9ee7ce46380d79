"""What a server must bear: passers-by who say garbage and go, and giants who ask for too much.

    passers-by ── nothing, noise, halves, lies about lengths, made-up cancels ── closed or reset
    wrong      ── whole messages that are wrong ── an error must come, with a SQLSTATE
    web        ── the same over HTTP
    giants     ── values, texts, depths and results far beyond reason ── the right answer or an error
"""

import json
import struct
import time

from wire import (HOST, Client, Lost, Nonsense, Refused, message, reach, refusal, reset, startup,
                  text)

MIB = 1 << 20

# How long a passer-by waits for the answer to a wrong message, and a giant for his.
PATIENCE_S = 30
GIANT_PATIENCE_S = 120

SYNC = message(b"S")


def parse(name, sql):
    return message(b"P", text(name) + text(sql) + b"\0\0")


def bind(statement, formats=(), values=(), formats_told=None, values_told=None):
    """A Bind that may lie about how many formats and values there are."""
    body = b"\0" + text(statement)
    body += struct.pack("!H", len(formats) if formats_told is None else formats_told)
    body += struct.pack(f"!{len(formats)}H", *formats)
    body += struct.pack("!H", len(values) if values_told is None else values_told)
    for value in values:
        body += struct.pack("!i", len(value)) + value
    return message(b"B", body + b"\0\0")


def execute(portal=""):
    return message(b"E", text(portal) + struct.pack("!i", 0))


# ---- whole messages that are wrong: the first answer that counts is an error ---------------------

ONE = parse("", "SELECT $1::int")

WRONG = {
    "a statement that is not there": bind("nobody") + execute() + SYNC,
    "too many values": ONE + bind("", values=[b"1"] * 9) + execute() + SYNC,
    "too few values": ONE + bind("") + execute() + SYNC,
    "more values told than sent": ONE + bind("", values=[b"1"], values_told=65535) + SYNC,
    "more formats told than sent": ONE + bind("", [1], [b"1"], formats_told=40000) + SYNC,
    "formats for other values": ONE + bind("", [0, 0, 0], [b"1"]) + execute() + SYNC,
    "a format that is not there": ONE + bind("", [7], [b"1"]) + execute() + SYNC,
    "a number of three bytes": ONE + bind("", [1], [b"123"]) + execute() + SYNC,
    "a value with a length of -2": ONE + message(b"B", b"\0\0\0\0\0\1\xff\xff\xff\xfe\0\0") + SYNC,
    "Execute before Bind": execute() + SYNC,
    "Describe of nothing": message(b"D", b"Snobody\0") + SYNC,
    "Describe of what is not there": message(b"D", b"xa\0") + SYNC,
    "a text without an end": message(b"Q", b"SELECT 1"),
    "a text that ends twice": message(b"Q", b"SELECT 1\0SELECT 2\0"),
    "an empty Parse": message(b"P") + SYNC,
    "an empty Bind": message(b"B") + SYNC,
    "no UTF-8": message(b"Q", b"SELECT '\xff\xfe\xc0\x80'\0"),
    "no UTF-8 in a value": parse("", "SELECT $1::text") + bind("", [0], [b"a\xf0\x28"])
                           + execute() + SYNC,
    "a zero in a value": parse("", "SELECT $1::text") + bind("", [0], [b"a\0b"]) + execute() + SYNC,
    "an unknown message": message(b"!", b"what") + SYNC,
    "a message of the server": message(b"Z", b"I") + SYNC,
    "a length of 0": b"Q\0\0\0\0",
    "a length of 3": b"Q\0\0\0\3",
    "a negative length": b"Q\xff\xff\xff\xff",
    "the largest length": b"Q\x7f\xff\xff\xff",
}


def wrong(port, random):
    """Says something wrong in a right session; an error must come, and then the next answer."""
    name = random.choice(sorted(WRONG))
    client = Client(port, PATIENCE_S)
    try:
        client.send(WRONG[name])
        while (got := client.receive())[0] in b"12ntTS":
            pass
        if got[0] != b"E":
            raise Nonsense(f"{name}: answered with {got[0]!r}")
        refusal(got[1])
        # Some of them end the session, which is as good.
        try:
            client.answers()
            client.query("SELECT 1")
        except (Lost, Refused):
            pass
    finally:
        client.drop()


# ---- passers-by, who want no answer --------------------------------------------------------------

def say(port, data, random, session=False):
    """Says something, waits a little or not, and goes, politely or not."""
    line = reach(port, 10)
    try:
        line.sendall(startup() + data if session else data)
        if random.random() < 0.3:
            line.settimeout(random.uniform(0.01, 0.5))
            line.recv(4096)
    except OSError:
        pass  # The server has every right to close.
    reset(line) if random.random() < 0.5 else line.close()


def noise(random):
    return random.randbytes(int(random.expovariate(1 / 2000)))


def half_a_startup(random):
    whole = startup("x" * random.choice([1, 60, 5000]))
    return whole[:random.randrange(len(whole))]


def first_length_lies(random):
    return struct.pack("!ii", random.choice([0, 3, 7, -1, 10001, 2**31 - 1]), 3 << 16) + noise(random)


def tls_then_noise(random):
    return struct.pack("!ii", 8, 80877103) + b"\x16\x03\x01" + noise(random)


def made_up_cancel(random):
    return struct.pack("!ii", 16, 80877102) + random.randbytes(8)


def cut_short(random):
    """A right message, or a wrong one, of which the end does not come."""
    whole = random.choice(sorted(WRONG.values()))
    return whole[:random.randrange(1, len(whole))]


def a_lying_length(random):
    length = random.choice([0, 1, 2, 3, -1, -2**31, 2**31 - 1, 2**30, random.randrange(2**20)])
    return random.choice([b"Q", b"P", b"B", b"E", b"d", b"\0", b"\xff"]) + struct.pack("!i", length)


def copy_data_from_nowhere(random):
    return message(b"d", noise(random)) + message(b"c") + message(b"f", b"x")


def left_alone(random):
    """A question that takes long, and nobody waits for its answer."""
    return message(b"Q", text("SELECT count(*) FROM generate_series(1, 3000000)"))


SHORT = [lambda random: b"", noise, half_a_startup, first_length_lies, tls_then_noise,
         made_up_cancel]
LONG = [cut_short, a_lying_length, copy_data_from_nowhere, noise, left_alone]


def pass_by(port, random):
    """One passer-by; true where he said any garbage."""
    lot = random.random()
    if lot < 0.3:
        wrong(port, random)
        return True
    if lot < 0.65:
        garbage = random.choice(SHORT)(random)
        say(port, garbage, random)
    else:
        garbage = random.choice(LONG)(random)
        say(port, garbage, random, session=True)
    return bool(garbage)


# ---- the same over HTTP --------------------------------------------------------------------------

def head(method, path, length):
    return (f"{method} {path} HTTP/1.1\r\nhost: {HOST}\r\ncontent-type: application/json\r\n"
            f"content-length: {length}\r\n\r\n").encode()


def endless_head(random):
    return b"GET / HTTP/1.1\r\n" + b"x-more: and more\r\n" * random.randrange(100, 20000)


def deep_json(random):
    body = b"[" * 1_000_000 + b"]" * random.choice([0, 1_000_000])
    return head("PUT", "/hostile/deep", len(body)) + body


def body_that_stops(random):
    return head("PUT", "/hostile/half", 100_000) + b'{"a": [' + b"1, " * random.randrange(9000)


def wrong_length(random):
    return head("POST", "/v1/sql", random.choice([-1, 3, 2**70, "many"])) + b'{"sql":"SELECT 1"}'


def wrong_chunks(random):
    return (b"PUT /hostile/chunks HTTP/1.1\r\nhost: localhost\r\n"
            b"content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
            + random.choice([b"fffffffffffffffff\r\n", b"-1\r\n\r\n", b"5\r\n{\r\n", b"zz\r\n"]))


def odd_line(random):
    return random.choice([
        b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\r\n" * 5000, b"A" * 100_000,
        b"GET /" + b"%ff%00" * 3000 + b" HTTP/1.1\r\nhost: localhost\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\x04\0\0\0\0\0" + random.randbytes(500),
    ])


def knock(port, random):
    """One passer-by at the HTTP server; true where he said any garbage."""
    say(port, random.choice([noise, endless_head, deep_json, body_that_stops, wrong_length,
                             wrong_chunks, odd_line])(random), random)
    return True


# ---- giants: each gives what was answered and what is right --------------------------------------

def long_text(client, random):
    size = random.randrange(64, 300) * MIB
    return client.extended("SELECT length($1::text)", ["x" * size]), [(str(size),)]


def long_bytes(client, random):
    size = random.randrange(64, 300) * MIB
    return client.extended("SELECT octet_length($1)", [bytes(size)]), [(str(size),)]


def long_query(client, random):
    return client.query(f"SELECT length('{'x' * 50 * MIB}')"), [(str(50 * MIB),)]


def most_parameters(client, random):
    asked = ",".join(f"${number}::int" for number in range(1, 65536))
    return client.extended(f"SELECT cardinality(ARRAY[{asked}])", ["1"] * 65535), [("65535",)]


def one_parameter_too_many(client, random):
    return client.extended("SELECT $65536::int", ["1"]), None


def deep_jsonb(client, random):
    deep = "[" * 1_000_000 + "]" * 1_000_000
    return client.extended("SELECT jsonb_typeof($1::jsonb)", [deep]), [("array",)]


def many_digits(client, random):
    sql = "SELECT length(($1::numeric)::text)"
    return client.extended(sql, ["7" * 200_000]), [("200000",)]


def wide_array(client, random):
    wide = "{" + ",".join(map(str, range(1_000_000))) + "}"
    return client.extended("SELECT cardinality($1::int[])", [wide]), [("1000000",)]


def repeated(client, random):
    sql = "SELECT length(repeat('x', 2000000000))"
    return client.query(sql), [("2000000000",)]


def cross_join(client, random):
    client.query(f"SET query_mem_max = '{random.choice([0, 64, 256])}MB'")
    return client.query(
        "SELECT count(DISTINCT a::text || repeat('x', 300) || b) "
        "FROM generate_series(1, 3000) a, generate_series(1, 1000) b"), [("3000000",)]


def gathered(client, random):
    client.query(f"SET query_mem_max = '{random.choice([0, 64, 256])}MB'")
    return client.query(
        "SELECT cardinality(array_agg(a || repeat('x', 300))) FROM generate_series(1, 10000000) a"
    ), [("10000000",)]


def large_sort(client, random):
    # 1999993 is a prime: the products are all numbers below it, each once.
    sql = ("SELECT x FROM (SELECT g * 7919::bigint % 1999993 AS x, repeat('y', 30) "
           "FROM generate_series(1, 1999992) g) s ORDER BY x OFFSET 1999990")
    return client.query(sql), [("1999991",), ("1999992",)]


def without_end(client, random):
    client.query(f"SET statement_timeout = '{random.choice([1, 3])}s'")
    union = random.choice(["UNION", "UNION ALL"])
    return client.query(f"WITH RECURSIVE r(n) AS (SELECT 1::bigint {union} SELECT n + 1 FROM r) "
                        "SELECT count(*) FROM r"), None


DEEP = {
    "parentheses": lambda n: "SELECT " + "(" * n + "1" + ")" * n,
    "a chain of AND": lambda n: "SELECT 1 WHERE true" + " AND true" * n,
    "a chain of OR": lambda n: "SELECT 1 WHERE false" + " OR 1 = 1" * n,
    "a sum": lambda n: "SELECT 1 WHERE 0 < 1" + " + 1" * n,
    "NOT NOT": lambda n: "SELECT 1 WHERE" + " NOT" * (2 * (n // 2)) + " true",
    "minus minus": lambda n: "SELECT" + " -" * (2 * (n // 2)) + " 1",
    "arrays": lambda n: "SELECT cardinality(" + "ARRAY[" * n + "1" + "]" * n + ")",
    "subqueries": lambda n: "SELECT (" * n + "SELECT 1" + ")" * n,
    "CASE": lambda n: "SELECT " + "CASE WHEN true THEN " * n + "1" + " END" * n,
    "UNION ALL": lambda n: "SELECT max(x) FROM (SELECT 1 AS x" + " UNION ALL SELECT 1" * n + ") t",
    "joins": lambda n: "SELECT 1 FROM (SELECT 1) t0" + "".join(
        f" JOIN (SELECT 1) t{i} ON true" for i in range(1, n // 20)),
    "a list": lambda n: "SELECT 1 WHERE 7 IN (7" + ", 7" * n + ")",
    "casts": lambda n: "SELECT 1" + "::int" * n,
}


def deep_text(client, random):
    form = random.choice(sorted(DEEP))
    sql = DEEP[form](random.choice([1000, 20_000, 100_000]))
    return client.query(sql), [("1",)]


def unread(client, random):
    """A result of 200 MB that nobody reads for a while, and then nobody at all."""
    client.send_query("SELECT repeat('x', 1000000) FROM generate_series(1, 200)")
    time.sleep(random.uniform(1, 4))
    return None, None


def called_off(client, random):
    """A question without end that is cancelled."""
    client.send_query("SELECT count(*) FROM generate_series(1, 100000000000)")
    time.sleep(random.uniform(0, 1))
    client.cancel()
    return client.answers()[0], None


GIANTS = [long_text, long_bytes, long_query, most_parameters, one_parameter_too_many, deep_jsonb,
          many_digits, wide_array, repeated, cross_join, gathered, large_sort, without_end,
          deep_text, unread, called_off]


def meet(giant, port, random):
    """Meets one giant; returns the SQLSTATE that he got, or None for the right answer."""
    client = Client(port, GIANT_PATIENCE_S)
    try:
        client.query("SET statement_timeout = '20s'")
        got, right = giant(client, random)
        if got != right:
            raise Nonsense(f"answered {json.dumps(got)[:200]}, right is {right}")
        return None
    except Refused as refused:
        return refused.state
    finally:
        client.drop()
