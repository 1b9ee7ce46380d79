"""The history of a JSON file out of a git repository, as versions of a document.

Every commit that changed the file becomes a version, with its author, message and time, across renames. What is no
JSON is left out. An import of the same file again takes in the commits since.
"""

from __future__ import annotations

import os
import subprocess
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from ._native import loads
from .errors import DataError, EditError, InvalidValueError, NotFoundError
from .records import moment_of

if TYPE_CHECKING:
    from ._collection import Collection

__all__ = ["GitImport", "import_git"]


class GitImport(NamedTuple):
    """The result of an import."""

    #: New versions of the document.
    versions: int
    #: Commits whose document was equal to the one before.
    unchanged: int
    #: Commits in which the file was no JSON, with the reason.
    skipped: list[str]


class _Entry(NamedTuple):
    commit: str
    author: str
    authored: datetime
    message: str
    #: The name of the content; None where the commit removed the file.
    blob: str | None


def import_git(
    collection: Collection,
    repository: str | os.PathLike[str],
    path: str,
    key: str | None = None,
    *,
    first_parent: bool = False,
) -> GitImport:
    """See :meth:`anywhen.Collection.import_git`."""
    key = path if key is None else key
    entries = _log(repository, path, first_parent)
    known = _known(collection, key)
    start, is_there = 0, False
    if known is not None:
        start, is_there = _position(repository, entries, known, collection, key) + 1, not known.deleted
    versions, unchanged, skipped = 0, 0, []
    is_known = known is not None
    for entry in entries[start:]:
        said: dict[str, Any] = {
            "author": entry.author, "message": entry.message, "authored": entry.authored,
        }  # fmt: skip
        if entry.blob is None:
            if is_there:
                collection.delete(key, **said)
                versions, is_there = versions + 1, False
            continue
        try:
            value = loads(_git(repository, "cat-file", "blob", entry.blob), "exact")
        except InvalidValueError as error:
            skipped.append(f"{entry.commit[:10]}: {error}")
            continue
        done = collection.put(key, value, **said)
        versions, unchanged = versions + done.changed, unchanged + (not done.changed)
        is_there = is_known = True
    if not is_known and skipped:
        raise DataError(f"{path!r} is not JSON in any version: {skipped[0]}", "22032")
    return GitImport(versions, unchanged, skipped)


def _known(collection: Collection, key: str) -> Any:
    try:
        return collection.history(key, 1)[0]
    except NotFoundError:
        return None


def _position(
    repository: str | os.PathLike[str],
    entries: list[_Entry],
    known: Any,
    collection: Collection,
    key: str,
) -> int:
    """Where the newest version stands among the commits: by author, time and message, and where several have the
    same, by the document."""
    wanted = (known.author, known.authored, known.message, known.deleted)
    same = [
        at for at, entry in enumerate(entries)
        if (entry.author, entry.authored, entry.message, entry.blob is None) == wanted
    ]  # fmt: skip
    if not same:
        raise EditError(
            f"document {key!r} has a history already, whose newest version is not a commit of this file",
            "22023",
            hint="import it under another key",
        )
    if len(same) > 1 and not known.deleted:
        now = collection[key]
        for at in reversed(same):
            try:
                if loads(_git(repository, "cat-file", "blob", entries[at].blob or ""), "exact") == now:
                    return at
            except InvalidValueError:
                continue
    return same[-1]


def _git(repository: str | os.PathLike[str], *words: str) -> bytes:
    try:
        done = subprocess.run(
            ["git", "-C", os.fspath(repository), *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
        )  # fmt: skip
    except OSError as error:
        raise EditError(f"git cannot be run: {error}", "22023") from error
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").splitlines() or ["git failed"]
        raise EditError(said[0].removeprefix("fatal: "), "22023")
    return done.stdout


def _log(repository: str | os.PathLike[str], path: str, first_parent: bool) -> list[_Entry]:
    """The commits that changed the file, oldest first."""
    for ending, form in (("yaml", "YAML"), ("yml", "YAML"), ("toml", "TOML"), ("xml", "XML")):
        if path.lower().endswith("." + ending):
            raise EditError(f"{path!r} is {form}: only JSON files can be imported", "22023")
    words = ["log", "--follow", "--raw", "-z", "--no-abbrev", "-M", "--diff-merges=first-parent"]
    words += ["--first-parent"] if first_parent else []
    # A byte of 1 begins a commit; fields end in a byte of 0. Neither can be in what stands between them.
    words += ["--format=tformat:%x01%H%x00%an <%ae>%x00%at%x00%B%x00", "--", path]
    text = _git(repository, *words).decode(errors="replace")
    entries = []
    for told in text.split("\x01")[1:]:
        commit, author, seconds, message, change = told.split("\0", 4)
        blob = change[change.index(":") + 1 :].replace("\0", " ").split(" ")[3]
        moment = moment_of(max(0, int(seconds)) * 1_000_000)
        gone = not blob.strip("0")
        entries.append(_Entry(commit, author, moment, message.strip(), None if gone else blob))
    if not entries:
        raise NotFoundError(f"git knows no file {path!r} in {os.fspath(repository)}", "02000")
    try:
        kind = _git(repository, "cat-file", "-t", f"HEAD:./{path}")
    except EditError:
        kind = b""
    if kind.startswith(b"tree"):
        raise EditError(f"{path!r} is a folder: name one JSON file in it", "22023")
    entries.reverse()
    return entries
