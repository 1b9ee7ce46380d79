"""The errors, and the next step of the caller.

The classes are those of PEP 249, so that code written for any database of Python can handle them; what
documents need beside has classes of its own below them::

    Error                       sqlstate, detail, hint, position
    ├── InterfaceError          the interface was not used as it can be: something is closed, or was forked
    └── DatabaseError
        ├── DataError
        │   └── InvalidValueError       no JSON value: NaN, half a surrogate pair, too deep; no time (a ValueError)
        ├── OperationalError            the server is gone, the disk is full, a folder is in use
        │   ├── ConflictError           another was faster: begin anew
        │   │   └── StaleError          the document is not at the version that was expected
        │   └── ForgottenError          that version is not kept any more
        ├── IntegrityError              a constraint
        ├── InternalError               a bug
        │   └── DamagedError            stored data are not what was once written: restore a backup
        ├── ProgrammingError            it does not parse, or names what is not there
        │   ├── NotFoundError           no such document, node, version or collection (a KeyError)
        │   └── EditError               a path, a key, a number or an edit that cannot be (a ValueError)
        └── NotSupportedError
"""

from __future__ import annotations

import builtins

__all__ = [
    "ConflictError",
    "DamagedError",
    "DataError",
    "DatabaseError",
    "EditError",
    "Error",
    "ForgottenError",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "InvalidValueError",
    "NotFoundError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "StaleError",
    "Warning",
]


class Warning(builtins.Exception):  # noqa: A001  (the name that PEP 249 gives it)
    """Something that is worth knowing, and is no error."""


class Error(builtins.Exception):
    """Anything that went wrong."""

    #: The SQLSTATE, such as ``23505``; None where the database was not asked.
    sqlstate: str | None = None
    #: A second sentence that tells more.
    detail: str | None = None
    #: Advice about what to do.
    hint: str | None = None
    #: The place in the text of the statement, in characters from 1.
    position: int | None = None

    def __init__(
        self,
        message: str = "",
        sqlstate: str | None = None,
        detail: str | None = None,
        hint: str | None = None,
        position: int | None = None,
    ) -> None:
        super().__init__(message, sqlstate, detail, hint, position)
        self.message = message
        self.sqlstate = sqlstate
        self.detail = detail
        self.hint = hint
        self.position = position

    def __str__(self) -> str:
        lines = [self.message]
        if self.detail:
            lines.append(f"DETAIL: {self.detail}")
        if self.hint:
            lines.append(f"HINT: {self.hint}")
        return "\n".join(lines)


class InterfaceError(Error):
    """The interface was not used as it can be."""


class DatabaseError(Error):
    """The database says no."""


class DataError(DatabaseError):
    """A value that is out of range, or none of its type."""


class OperationalError(DatabaseError):
    """Nobody's fault that programs: the server, the disk, a lock, another transaction."""


class IntegrityError(DatabaseError):
    """A constraint does not hold."""


class InternalError(DatabaseError):
    """A bug of the database, or a transaction that has failed before."""


class ProgrammingError(DatabaseError):
    """The request does not parse, or names an object that does not exist."""


class NotSupportedError(DatabaseError):
    """It is understood, and cannot be had here."""


class InvalidValueError(DataError, ValueError):
    """A value that has no place in a document."""


class DamagedError(InternalError):
    """Stored data are not what was once written. Nothing was guessed: restore the newest backup."""


class ConflictError(OperationalError):
    """Another transaction was faster. Nothing was changed: begin anew."""


class StaleError(ConflictError):
    """The document is not at the version that the writer expected. Read it again, and decide again."""


class ForgottenError(OperationalError):
    """The collection's history does not reach back that far any more."""


class NotFoundError(ProgrammingError, KeyError):
    """There is no such document, node, version or collection."""

    __str__ = Error.__str__


class EditError(ProgrammingError, ValueError):
    """A path that does not parse, a key or another argument that cannot be, an edit that the document does not
    allow."""


_KINDS: dict[str, type[Error]] = {
    "conflict": ConflictError,
    "edit": EditError,
    "forgotten": ForgottenError,
    "interface": InterfaceError,
    "missing": NotFoundError,
    "stale": StaleError,
    "value": InvalidValueError,
}

# SQLSTATEs with a class of their own.
_STATES: dict[str, type[Error]] = {
    "40001": ConflictError,
    "40P01": ConflictError,
    "XX001": DamagedError,
    "XX002": DamagedError,
}

# Classes of SQLSTATEs, by their first two letters.
_CLASSES: dict[str, type[Error]] = {
    "08": OperationalError,
    "0A": NotSupportedError,
    "20": ProgrammingError,
    "21": ProgrammingError,
    "22": DataError,
    "23": IntegrityError,
    "24": InternalError,
    "25": InternalError,
    "26": ProgrammingError,
    "28": OperationalError,
    "2B": InternalError,
    "2D": InternalError,
    "2F": InternalError,
    "34": ProgrammingError,
    "3B": InternalError,
    "3D": ProgrammingError,
    "3F": ProgrammingError,
    "40": OperationalError,
    "42": ProgrammingError,
    "44": ProgrammingError,
    "53": OperationalError,
    "54": OperationalError,
    "55": OperationalError,
    "57": OperationalError,
    "58": OperationalError,
    "P0": ProgrammingError,
    "XX": InternalError,
}


def make(
    kind: str,
    sqlstate: str | None,
    message: str,
    detail: str | None = None,
    hint: str | None = None,
    position: int | None = None,
) -> Error:
    """The error of a kind, or of a SQLSTATE where the kind is ``sql``."""
    found = _KINDS.get(kind)
    if found is None:
        state = sqlstate or ""
        found = _STATES.get(state) or _CLASSES.get(state[:2], DatabaseError)
    return found(message, sqlstate or None, detail, hint, position)
