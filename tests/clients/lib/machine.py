"""What the clients need of the machine: found, or installed where that is possible.

    psql, pgbench    Debian's packages
    Python           a virtual environment, requirements.txt pins it     target/clients/python
                     others for pysirix and for generated clients        target/clients/pysirix, openapi-python
    Node             npm ci, package-lock.json pins it                   target/clients/node, drizzle, openapi
    Java             Maven, pom.xml pins the driver                      target/clients/pgjdbc
    Go               go.mod and go.sum pin the driver                    target/clients/pgx
    Rust             a project of its own, Cargo.lock pins it            target/clients/rust
    chromium, curl   Debian's packages

Each function gives the command that runs a client, or raises `Missing`, which says what is not
there and why. What was fetched once is used again until its list of versions changes.
"""

import os
import shutil
import subprocess
import sys
import venv
from functools import cache
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
FETCHED = HERE.parent.parent / "target/clients"


class Missing(Exception):
    """A client cannot run here; the text says why."""


def with_psql(program):
    """A program of the standard library alone that drives psql."""
    install_psql()
    return [sys.executable, program]


def with_pgbench(program):
    """A program that drives pgbench, which Debian packs with the server and not on the PATH."""
    return [sys.executable, program, *pgbench()]


def with_chromium(program):
    """A program of the standard library alone that drives Chromium and curl."""
    for needed in ("chromium", "curl"):
        if not shutil.which(needed) and not (apt(needed) and shutil.which(needed)):
            raise Missing(f"no {needed} here, and apt cannot install it")
    return [sys.executable, program]


@cache
def install_psql():
    """Every run needs psql: it makes the roles and the schemas."""
    if not shutil.which("psql") and not (apt("postgresql-client") and shutil.which("psql")):
        sys.exit("clients: psql is needed ('apt-get install postgresql-client')")


@cache
def pgbench():
    for again in (False, True):
        packed = sorted(Path("/usr/lib/postgresql").glob("*/bin/pgbench"))
        found = shutil.which("pgbench")
        if packed or found:
            return [str(packed[-1] if packed else found)]
        if not again and not apt("postgresql-contrib"):
            break
    raise Missing("no pgbench here, and apt cannot install postgresql-contrib")


def python(program):
    """A program for the virtual environment of requirements.txt."""
    return [environment() / "bin/python", program]


def python_with(program, name):
    """A program for a virtual environment of its own, which requirements.txt beside it pins."""
    return [environment(program.parent / "requirements.txt", name) / "bin/python", program]


@cache
def environment(requirements=HERE / "requirements.txt", name="python"):
    wanted = requirements.read_text()
    folder = FETCHED / name

    def fetch():
        try:
            venv.create(folder, with_pip=True, clear=True)
        except subprocess.CalledProcessError:
            # Debian has the part of Python that this needs in a package of its own.
            apt("python3-venv")
            venv.create(folder, with_pip=True, clear=True)
        told(folder / "bin/pip", "install", "--quiet", "--disable-pip-version-check",
             "--requirement", requirements)

    return once(folder, wanted, fetch)


def node(program):
    """A program for Node, beside which package.json and package-lock.json say what it uses."""
    if not shutil.which("npm") and not (apt("nodejs", "npm") and shutil.which("npm")):
        raise Missing("no Node here, and apt cannot install it")
    files = ("package.json", "package-lock.json")
    wanted = "".join((program.parent / name).read_text() for name in files)
    folder = FETCHED / program.parent.name

    def fetch():
        for name in files:
            shutil.copy(program.parent / name, folder)
        told("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", cwd=folder)

    modules = once(folder, wanted, fetch) / "node_modules"
    return ["env", f"NODE_PATH={modules}", "node", program]


def go(folder):
    """A Go module, built anew where it has changed; go.sum holds its driver fast."""
    if not shutil.which("go") and not (apt("golang") and shutil.which("go")):
        raise Missing("no Go here, and apt cannot install golang")
    program = FETCHED / "pgx/client"
    program.parent.mkdir(parents=True, exist_ok=True)
    told("go", "build", "-o", program, ".", cwd=folder,
         env={**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly -buildvcs=false"})
    return [program]


def rust(folder, name):
    """One program of a Cargo project that is no part of the workspace, built anew where it has
    changed."""
    if not shutil.which("cargo"):
        raise Missing("no cargo here")
    told("cargo", "fetch", "--quiet", "--locked", cwd=folder)
    target = FETCHED / "rust"
    build = ["cargo", "build", "--quiet", "--offline", "--locked", "--target-dir", target]
    if subprocess.run([*build, "--bin", name], cwd=folder).returncode != 0:
        sys.exit(f"clients: {name} does not compile")
    return [target / "debug" / name]


def java(program):
    """A Java program of one file, beside which pom.xml says which driver it uses."""
    if not shutil.which("javac") and not (apt("default-jdk-headless") and shutil.which("javac")):
        raise Missing("no Java here, and apt cannot install default-jdk-headless")
    wanted = (program.parent / "pom.xml").read_text()
    folder = FETCHED / "pgjdbc"

    def fetch():
        if not shutil.which("mvn") and not (apt("maven") and shutil.which("mvn")):
            raise Missing("no Maven here, and apt cannot install it")
        told("mvn", "--batch-mode", "--quiet", "--file", program.parent / "pom.xml",
             "dependency:copy-dependencies", f"-DoutputDirectory={folder}")

    jars = once(folder, wanted, fetch).glob("*.jar")
    return ["java", "-XX:TieredStopAtLevel=1", "--class-path", ":".join(map(str, jars)), program]


def once(folder, wanted, fetch):
    """Fetches into a folder, unless what it holds was fetched for the same list of versions."""
    mark = folder / "fetched-for"
    if not mark.exists() or mark.read_text() != wanted:
        folder.mkdir(parents=True, exist_ok=True)
        fetch()
        mark.write_text(wanted)
    return folder


def told(*command, **options):
    """Runs a command that fetches; what it said is the reason where it fails."""
    done = subprocess.run(command, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    if done.returncode != 0:
        lines = done.stdout.strip().splitlines()[-12:]
        raise Missing(f"{Path(command[0]).name} {command[1]} failed:\n  " + "\n  ".join(lines))


def apt(*packages):
    """Installs Debian's packages where that can be done; true where it was."""
    if not shutil.which("apt-get"):
        return False
    sudo = []
    if os.geteuid() != 0:
        sudo = ["sudo", "-n"]
        if not shutil.which("sudo") or subprocess.run([*sudo, "true"], capture_output=True).returncode:
            return False
    print(f"clients: installing {' '.join(packages)}", flush=True)
    quietly = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL,
               "env": {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}}
    update_lists(tuple(sudo))
    install = [*sudo, "apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages]
    return subprocess.run(install, **quietly).returncode == 0


@cache
def update_lists(sudo):
    subprocess.run([*sudo, "apt-get", "update", "-qq"],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
