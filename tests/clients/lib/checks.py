"""How a client program in Python says what it checked.

    @part                      a piece of work; a failure in one does not end the others
    def copying(): ...
        same(got, wanted)      two values are equal
        with refused("23505"): the server refuses what is done inside, with this SQLSTATE
            ...
    tell("psycopg 3.3")        runs all parts, in the order in which they stand, and sums up

The last lines are `version:`, `held:` and `broken:`, which is what the runner reads.
"""

import asyncio
import inspect
import os
import sys
import traceback
from contextlib import contextmanager
from pathlib import Path

#: False where the server is PostgreSQL itself, whose answers the checks are held against: there
#: is no past to ask for, and it does what Anywhen refuses.
KEEPS_THE_PAST = os.environ.get("KEEPS_THE_PAST") == "yes"

_parts = []
_count = {"held": 0, "broken": 0}


def part(function):
    """Marks a function without arguments as a piece of work."""
    _parts.append(function)
    return function


def same(got, wanted):
    """Checks that two values are equal."""
    _note(got == wanted, f"got    {got!r}\nwanted {wanted!r}")


def holds(truth, told=""):
    """Checks that something is true; `told` is shown where it is not."""
    _note(truth, told or "it does not hold")


@contextmanager
def refused(state, message=None):
    """What is done inside is refused with this SQLSTATE, and this in the message."""
    try:
        yield
    except Exception as error:
        code, text = _state(error), str(error)
        _note(code == state and (message or "") in text, f"{code} {text!r}, wanted {state}")
    else:
        _note(False, f"nothing was refused, wanted {state}")


def _state(error):
    """The SQLSTATE of an error, however deep a library has wrapped it."""
    while error is not None:
        for name in ("sqlstate", "pgcode"):
            if getattr(error, name, None):
                return getattr(error, name)
        error = getattr(error, "orig", None) or error.__cause__
    return None


def _note(truth, told):
    _count["held" if truth else "broken"] += 1
    if not truth:
        # The line of the client program that asked.
        frames = [frame for frame in inspect.stack() if frame.filename.endswith("client.py")
                  or "clients" in Path(frame.filename).parts and "lib" not in frame.filename]
        where = frames[0] if frames else inspect.stack()[-1]
        line = (where.code_context or [""])[0].strip()
        name = Path(where.filename).name
        print(f"{name}:{where.lineno}: {line}\n    " + told.replace("\n", "\n    "))


def tell(version):
    """Runs all parts and says how they went."""
    for function in _parts:
        print(f"part: {function.__name__}")
        try:
            done = function()
            if inspect.iscoroutine(done):
                asyncio.run(done)
        except Exception:
            _count["broken"] += 1
            print(f"{function.__name__} ended early:\n{traceback.format_exc()}")
    print(f"version: {version}")
    print(f"held: {_count['held']}")
    print(f"broken: {_count['broken']}")
    sys.exit(1 if _count["broken"] else 0)
