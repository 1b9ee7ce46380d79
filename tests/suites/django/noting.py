"""Django's runner of tests, with the outcome of each test noted in a file (lib/notes.py)."""

import unittest

from django.test.runner import DiscoverRunner
from notes import deadline, note


class Result(unittest.TextTestResult):
    """Notes what comes of each test, and ends those that take too long."""

    def startTest(self, test):
        super().startTest(test)
        self.broken = []
        self.left = False
        self.limit = deadline()
        self.limit.__enter__()

    def stopTest(self, test):
        self.limit.__exit__(None, None, None)
        if self.broken:
            note(test.id(), "failed", self.broken[0])
        else:
            note(test.id(), "skipped" if self.left else "passed")
        super().stopTest(test)

    def addError(self, test, err):
        super().addError(test, err)
        self._break(test, err)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._break(test, err)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._break(test, err)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        if unittest.case._SubTest is not type(test):
            self.left = True
        if not hasattr(self, "broken"):
            self.broken = []

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.left = True

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.broken.append("the test was expected to fail")

    def _break(self, test, err):
        text = self._exc_info_to_string(err, test)[-6000:]
        if isinstance(test, unittest.suite._ErrorHolder):
            # The preparation of a class or module failed: none of its tests runs.
            note(test.id(), "failed", text)
        else:
            self.broken.append(text)


class Runner(DiscoverRunner):
    """The runner that settings.py names."""

    def get_resultclass(self):
        return Result
