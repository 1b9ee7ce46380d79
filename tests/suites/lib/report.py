"""Compares the outcomes on both servers, and tells the result: a table, and docs/suites.md.

Of the tests that pass on PostgreSQL those count that left-out.txt does not name. A test that does
not pass on Anywhen, for whatever reason (it fails, is skipped, or never ran because its class could
not be prepared), is a failure. reasons.txt says what a failure is for by what it said.
"""

import fnmatch
import re
from pathlib import Path

import sources

HERE = Path(__file__).resolve().parent.parent


def compare(outcomes):
    """{suite: what came of it} of {suite: {server: {test: [outcome, message]}}}."""
    left_out = [line.split(None, 2) for line in _lines(HERE / "left-out.txt")]
    results = {}
    for suite, servers in outcomes.items():
        ours, theirs = servers["anywhen"], servers["postgres"]
        passing = [test for test, (outcome, _) in theirs.items() if outcome == "passed"]
        skipped = {test: pattern[2] for test in passing for pattern in left_out
                   if pattern[0] == suite and fnmatch.fnmatchcase(test.split(" ", 1)[1], pattern[1])}
        counted = [test for test in passing if test not in skipped]
        failures = {}
        for test in counted:
            outcome, message = ours.get(test) or (None, None)
            if outcome != "passed":
                message = message or _of_class(test, ours) or f"the test {outcome or 'did not run'}"
                failures[test] = {"reason": reason(f"{test}\n{message}"), "message": message}
        results[suite] = {
            "package": sources.SOURCES[suite].replace("==", " ").replace("@", " "),
            "tests": len(theirs),
            "postgres_passed": len(passing),
            "left_out": skipped,
            "counted": len(counted),
            "anywhen_passed": len(counted) - len(failures),
            "failures": failures,
        }
    return results


def _of_class(test, outcomes):
    """What the preparation of a test's class, module or part said, where that has failed."""
    part, name = test.split(" ", 1)
    for other, (outcome, message) in outcomes.items():
        if outcome != "failed" or not other.startswith(f"{part} "):
            continue
        holder = other.split(" ", 1)[1]
        inner = re.search(r"\((.*)\)$", holder)
        if holder == "(preparation)" or (inner and name.startswith(f"{inner[1]}.")):
            return message
    return None


def reason(message):
    """The reason of a failure: the first line of reasons.txt that fits, or what the server said."""
    for line in _lines(HERE / "reasons.txt"):
        pattern, _, name = line.rpartition(" => ")
        if re.search(pattern, message):
            return name.strip()
    return said(message)


def said(message):
    """The error that a traceback ends with, without what differs from test to test."""
    found = re.findall(r"^(?:E +)?((?:[\w.]+\.)*\w*(?:Error|Exception|Object|Table|Column|Function|"
                       r"NotSupported|State|Definition|Parameter\w*)\b.*|.*ERROR: .*)$", message, re.M)
    lines = [line for line in message.strip().splitlines() if line.strip()]
    text = found[-1] if found else (lines[-1] if lines else "")
    text = re.sub(r"0x[0-9a-f]+|\d{3,}", "N", text)
    return text.strip()[:160]


def show(results):
    """Prints the reasons of failures, and the table."""
    for suite, result in results.items():
        if result["failures"]:
            print(f"--- {suite}: why tests fail")
            for name, tests in by_reason(result):
                print(f"{len(tests):>5}  {name}\n         {tests[0][:110]}")
    print(f"\n{'suite':<12} {'tests':>7} {'PostgreSQL':>11} {'left out':>9} {'counted':>8} "
          f"{'Anywhen':>8} {'ratio':>8}")
    for suite, result in results.items():
        print(f"{suite:<12} {result['tests']:>7} {result['postgres_passed']:>11} "
              f"{len(result['left_out']):>9} {result['counted']:>8} {result['anywhen_passed']:>8} "
              f"{ratio(result):>8}")


def publish(results, path):
    """Writes the page: the counts of both servers, the ratio, and the failures by reason."""
    lines = [
        "# Test suites of drivers and ORMs",
        "",
        "Drivers and ORMs come with tests of their own. `make suites` runs them against Anywhen and against "
        "PostgreSQL 17 at the same time, and writes this page. The ratio is the share of the tests that pass "
        "on Anywhen, of those that pass on PostgreSQL and are not left out. A test that is skipped on Anywhen "
        "has failed. The tests run unchanged, as the packages have them.",
        "",
        "Left out are tests that make functions or triggers of users (`CREATE FUNCTION`, `CREATE TRIGGER`), "
        "which Anywhen does not have; [left-out.txt](../tests/suites/left-out.txt) lists them. psycopg's "
        "package has no tests.",
        "",
        "| suite | tests | pass on PostgreSQL 17 | left out | counted | pass on Anywhen | ratio |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for suite, result in results.items():
        lines.append(f"| {result['package']} | {result['tests']:,} | {result['postgres_passed']:,} "
                     f"| {len(result['left_out']):,} | {result['counted']:,} "
                     f"| {result['anywhen_passed']:,} | {ratio(result)} |")
    for suite, result in results.items():
        if not result["failures"]:
            continue
        lines += ["", f"## {result['package']}", "", "| failures | reason | for example |", "|---:|---|---|"]
        for name, tests in by_reason(result):
            said = name.replace("|", "\\|").replace("`", "'")
            example = tests[0].split(" ", 1)[1].replace("|", "\\|")
            lines.append(f"| {len(tests):,} | {said} | `{example[:120]}` |")
    path.write_text("\n".join(lines) + "\n")


def by_reason(result):
    """[(reason, tests)], the most frequent first."""
    reasons = {}
    for test, failure in result["failures"].items():
        reasons.setdefault(failure["reason"], []).append(test)
    return sorted(reasons.items(), key=lambda entry: -len(entry[1]))


def ratio(result):
    """The share of tests, rounded down, so that 100 % means all."""
    if not result["counted"]:
        return "-"
    return f"{result['anywhen_passed'] * 10000 // result['counted'] / 100:.2f} %"


def _lines(path):
    return [line for line in path.read_text().splitlines() if line.strip() and line[0] != "#"]
