"""A Python client that openapi-python-client makes of the server's description: it is made without a complaint,
and works."""

import json
import os
import subprocess
import sys
import urllib.request
from importlib.metadata import version
from pathlib import Path

from checks import holds, part, same, tell
from http_server import made, served

WORK = Path(os.environ["WORK"]) / "openapi-python"
# The one answer that such a client cannot read: lines of JSON, as they come.
UNREADABLE = "Unsupported content_type application/x-ndjson"


@part
def generation():
    description = WORK / "openapi.json"
    with urllib.request.urlopen(f"http://{ADDRESS}/openapi.yaml?form=json") as answer:
        description.write_bytes(answer.read())
    folder = Path(sys.executable).parent
    made = subprocess.run(
        [folder / "openapi-python-client", "generate", "--path", description, "--output-path",
         WORK / "books", "--meta", "none"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
    same(made.returncode, 0)
    complaints = [text for text in made.stdout.split("WARNING parsing")[1:] if UNREADABLE not in text]
    same(complaints, [])
    operations = sum(map(len, json.loads(description.read_text())["paths"].values()))
    modules = list((WORK / "books/api").glob("*/[!_]*.py"))
    same(len(modules), operations)
    subprocess.run([sys.executable, "-m", "compileall", "-q", WORK / "books"], check=True)
    sys.path.insert(0, str(WORK))


@part
def work():
    from books import AuthenticatedClient
    from books.api.sirix import get_resource, put_resource
    from books.api.v1 import (
        get_document, get_document_diff, get_node_history, list_versions, put_document, run_sql,
        run_transaction, set_node)
    from books.models import Committed, Operation, OperationOp, Problem, Statement, Transaction

    client = AuthenticatedClient(base_url=f"http://{ADDRESS}", token=TOKEN)
    place = ("books", "b1")
    done = put_document.sync(*place, client=client, body={"title": "Anywhen"}, message="first")
    holds(isinstance(done, Committed), repr(done))
    same((done.revision, done.changed), (1, True))
    same(set_node.sync(*place, client=client, body="Another", path="$.title").revision, 2)
    same(set_node.sync(*place, client=client, body=7, path="$.n").revision, 3)
    same(get_document.sync(*place, client=client, revision=1), {"title": "Anywhen"})
    versions = list_versions.sync(*place, client=client).versions
    same([(one.revision, one.author, one.message) for one in versions],
         [(3, "ada", ""), (2, "ada", ""), (1, "ada", "first")])
    holds(versions[0].time >= versions[1].time, repr(versions))
    values = get_node_history.sync(*place, client=client, path="$.title").versions
    same([one.value for one in values], ["Anywhen", "Another"])
    same(values[1].to_revision, None)
    same(get_document_diff.sync(*place, client=client, from_=2, to=3).changes[0].path, "$.n")
    rows = run_sql.sync(client=client, body=Statement(sql="SELECT 1 AS one"))
    # The token stands for no role of SQL.
    holds(isinstance(rows, Problem) and rows.status == 403, repr(rows))
    operation = Operation(op=OperationOp.PUT, collection="books", key="b2", value=[1])
    done = run_transaction.sync(client=client, body=Transaction(operations=[operation]))
    same(done.results[0].key, "b2")
    missing = get_document.sync(*("books", "none"), client=client)
    holds(isinstance(missing, Problem) and missing.status == 404, repr(missing))
    same(put_resource.sync("books", "b3", client=client, body=[1]), [1])
    same(get_resource.sync("books", "b3", client=client), [1])


if __name__ == "__main__":
    with served(WORK, "--http-auth") as ADDRESS:
        TOKEN = made(WORK, "ada")
        tell(f"openapi-python-client {version('openapi-python-client')}, Python {sys.version.split()[0]}")
