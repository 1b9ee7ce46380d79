"""The two servers of a run: Anywhen, and PostgreSQL 17 as tests/postgres/run finds or fetches it.

Both are superusers' servers of this machine over fresh folders, with what the suites ask for in
their own instructions: prepared transactions are allowed, and fsync is off in PostgreSQL, whose
data nobody needs later.
"""

import importlib.util
import json
import signal
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent.parent
# What both servers allow.
SETTINGS = {"max_prepared_transactions": "10", "max_connections": "200"}


def _program(path, name):
    """A program without the ending of Python, as a module."""
    loader = SourceFileLoader(name, str(ROOT / path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


def start_postgres(work):
    """PostgreSQL 17 over a fresh cluster; returns the process, its address and a signal to end it."""
    programs = _program("tests/postgres/run", "postgres_run")
    found = programs.found() or programs.fetched()
    if found is None:
        sys.exit("suites: no PostgreSQL 17 here, and npm cannot fetch it")
    work.mkdir()
    options = [word for name, value in SETTINGS.items() for word in ("-c", f"{name}={value}")]
    process, port = programs.serve(found, work, options)
    return process, f"127.0.0.1:{port}", signal.SIGINT


def start_anywhen(command, work):
    """Anywhen over a fresh folder; returns the process, its address and a signal to end it."""
    work.mkdir()
    log = open(work / "log", "wb")
    process = subprocess.Popen([command, "serve", "--json", "--data", work / "data",
                                "--pg-listen", "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=log)
    line = process.stdout.readline()
    if not line:
        sys.exit(f"suites: the server did not start\n{(work / 'log').read_text()}")
    return process, json.loads(line)["listening"], signal.SIGTERM
