"""psql: each script of this folder, and the text that PostgreSQL 17 answers it with.

`NAME.sql` is run with every line echoed, and what comes is compared with `NAME.out`, comment by
comment: a comment of the script that stands at the beginning of a line opens a check. How psql
lays out its tables differs between its versions; the texts are those of the version below, and
another one is compared by what does not differ: that it says no word of an internal error, and
refuses what is refused.
"""

import difflib
import os
import re
import subprocess
from pathlib import Path

from checks import holds, part, tell

HERE = Path(__file__).resolve().parent
#: The psql whose layout the texts show: Debian 12's.
LAYOUT = 15


def said_by(script):
    """What psql says to a script, errors where they happen."""
    done = subprocess.run(
        ["psql", "-X", "-a", "-q", "-f", script], cwd=os.environ["WORK"], text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    said = re.sub(r"^psql:.*?/(\w+\.sql):", r"psql:\1:", done.stdout, flags=re.M)
    return re.sub(r"(server process with PID) \d+", r"\1 ...", said)


def blocks(text):
    """A text, cut before each comment."""
    return [block for block in re.split(r"^(?=-- )", text, flags=re.M) if block]


def states(text):
    """The errors in a text, wherever they stand."""
    return re.findall(r"(?:ERROR|FATAL|PANIC):.*", text)


def compare(script):
    said = said_by(script)
    kept = script.with_suffix(".out")
    if os.environ["REWRITE"] == "yes":
        kept.write_text(said)
    wanted = kept.read_text()
    if VERSION != LAYOUT:
        holds(states(said) == states(wanted), f"{script.name}: other errors:\n{said}")
        return
    ours, theirs = blocks(said), blocks(wanted)
    holds(len(ours) == len(theirs), f"{script.name}: it ended early:\n{said[-2000:]}")
    for got, want in zip(ours, theirs):
        lines = difflib.unified_diff(
            want.splitlines(), got.splitlines(), "wanted", "got", lineterm="", n=3)
        holds(got == want, f"{script.name}: " + "\n".join(lines))


BANNER = subprocess.run(["psql", "--version"], text=True, stdout=subprocess.PIPE).stdout
VERSION = int(re.search(r"\d+", BANNER).group())


@part
def scripts():
    for script in sorted(HERE.glob("*.sql")):
        compare(script)


if VERSION != LAYOUT:
    print(f"psql {VERSION} lays out tables otherwise than {LAYOUT}: only errors were compared")
tell("psql " + BANNER.split()[2])
