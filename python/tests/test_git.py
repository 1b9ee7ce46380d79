"""The history of a file out of git becomes versions of a document, and goes on where it stopped."""

import os
import subprocess
from datetime import datetime, timezone

import pytest

import anywhen


class Repository:
    """A repository in a folder."""

    def __init__(self, folder):
        self.folder = folder
        self.seconds = 1_700_000_000
        self.git("init", "-q")

    def git(self, *words):
        self.seconds += 60
        moment = f"@{self.seconds} +0000"
        env = {**os.environ, "GIT_AUTHOR_DATE": moment, "GIT_COMMITTER_DATE": moment}
        settings = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", "-C", self.folder, *settings, *words], check=True, env=env)

    def commit(self, name, text, message):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)


def test_versions_come_with_author_time_and_message(db, name, tmp_path):
    """Commits that are no JSON are left out, those that change nothing are counted; again takes in what is new."""
    repository = Repository(tmp_path)
    repository.commit("x.json", '{"n": 1}', "one")
    repository.commit("x.json", "{broken", "mistake")
    repository.commit("x.json", '{"n": 1 }', "spaces")
    repository.git("mv", "x.json", "y.json")
    repository.git("commit", "-q", "-m", "renamed")
    repository.commit("y.json", '{"n": 2}', "two\n\nand more")
    things = db.collection(name)
    done = things.import_git(tmp_path, "y.json")
    assert (done.versions, done.unchanged, len(done.skipped)) == (2, 2, 1)
    versions = things.history("y.json")
    assert [one.message for one in versions] == ["two\n\nand more", "one"]
    assert {one.author for one in versions} == {"Ada <ada@example.org>"}
    assert versions[-1].authored == datetime(2023, 11, 14, 22, 16, 20, tzinfo=timezone.utc)
    assert things.import_git(tmp_path, "y.json") == anywhen.GitImport(0, 0, [])
    repository.commit("y.json", '{"n": 3}', "three")
    assert things.import_git(tmp_path, "y.json").versions == 1
    repository.git("rm", "-q", "y.json")
    repository.git("commit", "-q", "-m", "gone")
    assert things.import_git(tmp_path, "y.json").versions == 1 and "y.json" not in things
    values = things.node_history("y.json", "$.n")
    assert [(one.value, one.message) for one in values] == [(1, "one"), (2, "two\n\nand more"), (3, "three")]


def test_what_is_refused(db, name, tmp_path):
    """A folder, another form, a file that is never JSON, and a document with another history."""
    repository = Repository(tmp_path)
    for file, text in [("a/x.json", "1"), ("b.yaml", "n: 1"), ("c", "no JSON")]:
        repository.commit(file, text, file)
    things = db.collection(name)
    for path, why in [("a", "folder"), ("b.yaml", "YAML"), ("c", "not JSON in any version"), ("d", "knows no file")]:
        with pytest.raises(anywhen.DatabaseError, match=why):
            things.import_git(tmp_path, path)
    things["k"] = 1
    with pytest.raises(anywhen.EditError, match="has a history already"):
        things.import_git(tmp_path, "a/x.json", "k")
    assert list(things) == ["k"]
