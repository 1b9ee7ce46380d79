"""A server of HTTP for a client program, which asks for tokens where a client wants to show one.

    with served(folder, "--http-auth") as address:     HOST:PORT
        token = made(folder, "ada")                    a token with all rights
"""

import json
import os
import subprocess
from contextlib import contextmanager


@contextmanager
def served(folder, *options):
    """A server over the data in a folder; its address."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [os.environ["ANYWHEN"], "serve", "--json", "--data", folder / "data",
               "--pg-listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0", *options]
    with open(folder / "server.log", "wb") as log:
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)
    try:
        yield next(told["listening_http"] for told in map(json.loads, server.stdout)
                   if "listening_http" in told)
    finally:
        server.terminate()
        server.wait(30)


def made(folder, name):
    """A token with all rights, made for a name in the data of a server."""
    command = [os.environ["ANYWHEN"], "token", "create", name, "--json", "--data", folder / "data",
               "--role", "view,create,modify,delete"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)["token"]
