"""pgbench: the banks of TPC-B, filled in its ways, worked on by eight clients, and balanced at the end.

Every run must end without a failed transaction, and money is neither made nor lost: what the
history says was moved is what tellers, branches and accounts have more or less.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from checks import holds, part, same, tell

PGBENCH = sys.argv[1]
SECONDS = "2"


def query(sql):
    """The rows of a query, as psql writes them."""
    done = subprocess.run(["psql", "-X", "-At", "-v", "ON_ERROR_STOP=1", "-c", sql], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.stdout.strip() or done.stderr.strip()


def pgbench(*arguments):
    """What pgbench says, after it ended well."""
    done = subprocess.run([PGBENCH, *arguments], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    holds(done.returncode == 0, f"pgbench {' '.join(arguments)}: {done.stdout[-2000:]}")
    return done.stdout


def work(*arguments):
    """Eight clients for a few seconds; returns how many transactions were done."""
    said = pgbench("-n", "-c", "8", "-j", "2", "-T", SECONDS, *arguments)
    failed = re.search(r"number of failed transactions: (\d+)", said)
    holds(failed and failed.group(1) == "0", said)
    done = re.search(r"transactions actually processed: (\d+)", said)
    holds(done and int(done.group(1)) > 8, said)
    return int(done.group(1)) if done else 0


def balanced():
    """Nothing was made, nothing was lost."""
    moved = "(SELECT coalesce(sum(delta), 0) FROM pgbench_history)"
    for table, column in (("accounts", "abalance"), ("tellers", "tbalance"),
                          ("branches", "bbalance")):
        same(query(f"SELECT sum({column}) = {moved} FROM pgbench_{table}"), "t")


@part
def filled_from_the_client():
    pgbench("-i", "-s", "1", "-q")
    same(query("SELECT count(*), min(aid), max(aid), sum(abalance) FROM pgbench_accounts"),
         "100000|1|100000|0")
    same(query("SELECT count(*) FROM pgbench_tellers"), "10")
    same(query("SELECT count(*) FROM pgbench_branches"), "1")
    same(query("SELECT count(*) FROM pg_constraint WHERE conrelid::regclass::text LIKE 'pgbench%'"),
         "3")


@part
def tpc_b_in_each_protocol():
    done = sum(work("-M", protocol) for protocol in ("simple", "extended", "prepared"))
    same(query("SELECT count(*) FROM pgbench_history"), str(done))
    balanced()


@part
def reading():
    for protocol in ("simple", "prepared"):
        work("-S", "-M", protocol)


@part
def without_tellers_and_branches():
    work("-N", "-M", "prepared")
    same(query("SELECT sum(abalance) = (SELECT sum(delta) FROM pgbench_history)"
               " FROM pgbench_accounts"), "t")


@part
def filled_by_the_server_with_foreign_keys():
    pgbench("-i", "-s", "1", "-I", "dtGvpf", "-q")
    same(query("SELECT count(*), sum(abalance) FROM pgbench_accounts"), "100000|0")
    same(query("SELECT count(*) FROM pg_constraint WHERE contype = 'f'"
               " AND conrelid::regclass::text LIKE 'pgbench%'"), "5")
    holds("violates foreign key constraint" in query("DELETE FROM pgbench_branches"))
    done = work("-M", "prepared")
    same(query("SELECT count(*) FROM pgbench_history"), str(done))
    balanced()


@part
def pipelines():
    script = Path(os.environ["WORK"]) / "pipeline.sql"
    script.write_text("""\
\\set aid random(1, 100000)
\\set delta random(-5000, 5000)
\\startpipeline
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = 1 + :aid % 10;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = 1;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)
    VALUES (1 + :aid % 10, 1, :aid, :delta, CURRENT_TIMESTAMP);
END;
\\endpipeline
SELECT abalance FROM pgbench_accounts WHERE aid = :aid \\gset
\\if :abalance > 5000 * 5000
SELECT 1 / 0;
\\endif
""")
    for protocol in ("extended", "prepared"):
        work("-M", protocol, "-f", str(script))
    balanced()


@part
def retried_where_transactions_meet():
    """At REPEATABLE READ some meet the same branch; pgbench begins those again."""
    os.environ["PGOPTIONS"] = r"-c default_transaction_isolation=repeatable\ read"
    said = pgbench("-n", "-c", "4", "-T", SECONDS, "--max-tries", "1000", "-M", "prepared")
    del os.environ["PGOPTIONS"]
    holds("number of failed transactions: 0 " in said, said)
    balanced()


tell(subprocess.run([PGBENCH, "--version"], text=True, stdout=subprocess.PIPE).stdout.strip())
