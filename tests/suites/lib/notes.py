"""Writes the outcome of each test to a file, for pytest and for unittest.

    note("test_a", "passed")                     one line of JSON in the file that RESULTS names
    note("test_b", "failed", "error text")
    with deadline(): ...                         raises TimeoutError in a test that takes too long

As a plugin (`pytest -p notes`) it notes each test of pytest. The outcomes are passed, failed and
skipped. A test with several phases or subtests has failed if one of them has. The runner of the
suites reads the file, also where the program that wrote it was ended.
"""

import json
import os
import re
import signal
from contextlib import contextmanager

# How long one test may take, in seconds.
PATIENCE_S = int(os.environ.get("TEST_PATIENCE_S", "60"))

# What SQLAlchemy adds to the name of a class: the driver and the version of the server.
_SERVER = re.compile(r"_postgresql\+\w+_\d+_\d+")


def note(test, outcome, message=""):
    """Appends one outcome."""
    with open(os.environ["RESULTS"], "a") as file:
        file.write(json.dumps({"test": test, "outcome": outcome, "message": message}) + "\n")


@contextmanager
def deadline():
    """Ends what takes longer than a test may take."""

    def late(_signal, _frame):
        # Once more, for code that catches the first one.
        signal.alarm(5)
        raise TimeoutError(f"the test took longer than {PATIENCE_S} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(PATIENCE_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


try:
    import pytest
except ImportError:
    pytest = None

if pytest is not None:

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(item):
        with deadline():
            yield

    def pytest_runtest_logreport(report):
        test = _SERVER.sub("", report.nodeid)
        text = report.longreprtext if report.failed else ""
        if report.failed:
            note(test, "failed", text[-6000:])
        elif report.when == "call" or report.skipped:
            # An expected failure that came counts as a skipped test: it says nothing of the server.
            note(test, "skipped" if report.skipped else "passed")

    def pytest_collectreport(report):
        if report.failed:
            note(_SERVER.sub("", report.nodeid), "failed", report.longreprtext[-6000:])
