"""Fetches the suites: each package as its registry has it, with its tests.

    Django, SQLAlchemy, asyncpg    source distributions                  target/suites/source
    pgx                            the module, copied so that it can be
                                   built where it lies                   target/suites/source
    the programs that run them     requirements.txt pins them            target/suites/python

psycopg's source distribution has no tests.
"""

import json
import os
import shutil
import sys
import tarfile
from functools import cache
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
FETCHED = HERE.parent.parent / "target/suites"
sys.path.insert(0, str(HERE.parent / "clients/lib"))

import machine  # noqa: E402  (found through the line above)

# Each suite's package and version.
SOURCES = {
    "django": "Django==5.2.19",
    "sqlalchemy": "SQLAlchemy==2.0.58",
    "asyncpg": "asyncpg==0.32.0",
    "pgx": "github.com/jackc/pgx/v5@v5.7.6",
}


def ready(suite):
    """Fetches what a suite needs, before threads ask for it."""
    module(suite) if suite == "pgx" else source(suite)


@cache
def python():
    """The interpreter of the virtual environment that the suites of Python run in."""
    wanted = (HERE / "requirements.txt").read_text()
    folder = FETCHED / "python"

    def fetch():
        machine.venv.create(folder, with_pip=True, clear=True)
        machine.told(folder / "bin/pip", "install", "--quiet", "--disable-pip-version-check",
                     "--requirement", HERE / "requirements.txt")

    return machine.once(folder, wanted, fetch) / "bin/python"


@cache
def source(suite):
    """The folder of a Python package's source distribution."""
    wanted = SOURCES[suite]
    folder = FETCHED / "source" / suite
    interpreter = python()

    def fetch():
        # What builds the package is in the environment: pip asks it for the package's name.
        machine.told(interpreter, "-m", "pip", "download", "--quiet", "--no-deps",
                     "--disable-pip-version-check", "--no-build-isolation",
                     "--no-binary", ":all:", "--dest", folder, wanted)
        for archive in folder.glob("*.tar.gz"):
            with tarfile.open(archive) as packed:
                packed.extractall(folder, filter="data")
            archive.unlink()

    machine.once(folder, wanted, fetch)
    return next(place for place in folder.iterdir() if place.is_dir())


@cache
def module(suite):
    """The folder of a Go module, a copy that can be written to."""
    if not shutil.which("go") and not (machine.apt("golang") and shutil.which("go")):
        raise machine.Missing("no Go here, and apt cannot install golang")
    wanted = SOURCES[suite]
    folder = FETCHED / "source" / suite

    def fetch():
        told = machine.subprocess.run(["go", "mod", "download", "-json", wanted], cwd=folder, text=True,
                                      stdout=machine.subprocess.PIPE, env=go_environment())
        if told.returncode != 0:
            raise machine.Missing(f"go mod download {wanted} failed")
        copy = folder / "module"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(json.loads(told.stdout)["Dir"], copy)
        for place in [copy, *copy.rglob("*")]:
            place.chmod(place.stat().st_mode | 0o200)

    return machine.once(folder, wanted, fetch) / "module"


def go_environment():
    """The environment of a `go` that fetches no other Go and looks for no repository."""
    return {**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "-buildvcs=false"}
