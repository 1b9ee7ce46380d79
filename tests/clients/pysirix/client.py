"""pysirix, the Python client of SirixDB, against the routes of SirixDB: all that it does without JSONiq."""

import asyncio
import os
import sys
from contextlib import contextmanager
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path

import httpx
import pysirix
from pysirix import DBType, Insert, SirixServerError
from pysirix.constants import MetadataType

from checks import holds, part, same, tell
from http_server import made, served

WORK = Path(os.environ["WORK"]) / "pysirix"
DOCUMENT = {"foo": ["bar", None, 2.33], "bar": {"hello": "world"}, "baz": "hello"}


@contextmanager
def refused(status, text):
    """What is done inside is refused with this status, and this in the message."""
    try:
        yield
    except SirixServerError as error:
        code = error.response.status_code
        holds(code == status and text in error.response.text, f"{code} {error.response.text}")
    else:
        holds(False, f"nothing was refused, wanted {status}")


def opened():
    client = httpx.Client(base_url=f"http://{ADDRESS}")
    return pysirix.sirix_sync("ada", TOKEN, client)


@part
def login():
    """The name of a token and the token itself are user and password; both are compared."""
    for user, password in [("ada", "aw_wrong"), ("grace", TOKEN)]:
        try:
            pysirix.sirix_sync(user, password, httpx.Client(base_url=f"http://{ADDRESS}"))
            holds(False, f"{user} came in")
        except httpx.HTTPStatusError as error:
            same(error.response.status_code, 401)
    sirix = opened()
    # What its timer does before the time of the login is over.
    sirix._auth._refresh()
    same(sirix._auth._token_data["access_token"], TOKEN)
    same(sirix.get_info(), [])
    sirix.dispose()


@part
def documents():
    sirix = opened()
    database = sirix.database("first", DBType.JSON)
    database.create()
    resource = database.resource("r")
    same(resource.exists(), False)
    resource.create(DOCUMENT)
    same(resource.exists(), True)
    same(resource.read(None), DOCUMENT)
    same(resource.read(2), {"foo": DOCUMENT["foo"]})
    same(resource.read(None, max_level=2), {"foo": [], "bar": {}, "baz": "hello"})
    same(resource.read(None, top_level_limit=1), {"foo": DOCUMENT["foo"]})
    same(database.get_database_info(), {"resources": ["r"]})
    same(sirix.get_info(), [{"name": "first", "type": "json", "resources": ["r"]}])
    same(sirix.get_info(False), [{"name": "first", "type": "json"}])
    of_all = resource.read_with_metadata(None)
    same(of_all["metadata"]["type"], "OBJECT")
    holds(len(of_all["metadata"]["hash"]) == 16, str(of_all["metadata"]))
    keys = resource.read_with_metadata(None, meta_type=MetadataType.KEY)
    same(keys["metadata"], {"nodeKey": 1})
    counted = resource.read_with_metadata(None, meta_type=MetadataType.KEYAndCHILD)
    same(counted["metadata"], {"nodeKey": 1, "childCount": 3})
    sirix.dispose()


@part
def changes_and_the_past():
    sirix = opened()
    resource = sirix.database("past", DBType.JSON).resource("r")
    resource.create(DOCUMENT)
    first = datetime.now(timezone.utc).replace(tzinfo=None)
    resource.update(2, '"new"')
    same(resource.read(None)["foo"], ["new", "bar", None, 2.33])
    resource.update(3, '"beside"', Insert.RIGHT)
    resource.update(3, '"changed"', Insert.REPLACE)
    same(resource.read(None)["foo"], ["new", "changed", "beside", None, 2.33])
    resource.delete(3, None)
    same(resource.read(None)["foo"], ["new", "beside", None, 2.33])
    same(resource.read(None, 1), DOCUMENT)
    same(resource.read(None, first), DOCUMENT)
    both = resource.read(None, (1, 2))["sirix"]
    same([one["revisionNumber"] for one in both], [1, 2])
    same(both[0]["revision"], DOCUMENT)
    of_times = resource.read(None, (first, datetime.now(timezone.utc).replace(tzinfo=None)))
    same([one["revisionNumber"] for one in of_times["sirix"]], [1, 2, 3, 4, 5])
    told = resource.history()
    same([one["revision"] for one in told], [5, 4, 3, 2, 1])
    same({one["author"] for one in told}, {"ada"})
    insert = resource.diff(1, 2)[0]["insert"]
    same([insert["insertPosition"], insert["data"]], ["asFirstChild", "new"])
    same(len(resource.diff(first, 5)), len(resource.diff(1, 5)))
    same(resource.query("$.foo[*]"), {"rest": ["new", "beside", None, 2.33]})
    same(resource.query("$.foo[*]", 1, 2), {"rest": ["beside", None]})
    sirix.dispose()


@part
def tags_lock():
    """A tag that is not the newest one any more refuses the change, and nothing is written."""
    sirix = opened()
    resource = sirix.database("locks", DBType.JSON).resource("r")
    resource.create(DOCUMENT)
    tag = resource.get_etag(2)
    resource.update(2, "1", etag=tag)
    holds(resource.get_etag(2) != tag, tag)
    for change in [lambda: resource.update(2, "2", etag=tag), lambda: resource.delete(2, tag),
                   lambda: resource.delete(None, tag)]:
        with refused(412, "revision 2"):
            change()
    same(resource.read(None)["foo"], [1, "bar", None, 2.33])
    resource.delete(2, resource.get_etag(2))
    same(resource.read(None), {"bar": {"hello": "world"}, "baz": "hello"})
    resource.delete(None, None)
    same(resource.exists(), False)
    sirix.dispose()


@part
def what_is_not_there():
    """XML and JSONiq are refused by their names, and leave nothing behind."""
    sirix = opened()
    xml = sirix.database("xml", DBType.XML)
    with refused(415, "XML is not supported"):
        xml.create()
    with refused(415, "application/xml"):
        xml.resource("r").create("<a/>")
    same([one["name"] for one in sirix.get_info() if one["name"] == "xml"], [])
    store = sirix.database("store", DBType.JSON).json_store("r")
    store.create("[]")
    same(store.exists(), True)
    same(len(store.resource_history()), 1)
    for query in [lambda: store.insert_one({"a": 1}), lambda: store.find_all({"a": 1}),
                  lambda: store.history(1), lambda: sirix.query("1 + 1")]:
        with refused(501, "JSONiq"):
            query()
    with refused(404, "nowhere"):
        sirix.database("nowhere", DBType.JSON).get_database_info()
    sirix.dispose()


@part
async def without_blocking():
    """The same with asyncio."""
    async with httpx.AsyncClient(base_url=f"http://{ADDRESS}") as client:
        sirix = await pysirix.sirix_async("ada", TOKEN, client)
        database = sirix.database("async", DBType.JSON)
        await database.create()
        resource = database.resource("r")
        await resource.create(DOCUMENT)
        await resource.update(2, "1", etag=await resource.get_etag(2))
        same((await resource.read(None))["foo"], [1, "bar", None, 2.33])
        await resource.delete(2, None)
        same(len(await resource.history()), 3)
        await database.delete()
        same("async" in {one["name"] for one in await sirix.get_info()}, False)
        sirix.dispose()


@part
def drop_all():
    """One request drops all databases."""
    sirix = opened()
    holds(len(sirix.get_info()) > 2)
    sirix._client.delete_all()
    same(sirix.get_info(), [])
    sirix.dispose()


if __name__ == "__main__":
    with served(WORK, "--http-auth") as ADDRESS:
        TOKEN = made(WORK, "ada")
        # The server looks at the file of tokens once a second.
        asyncio.run(asyncio.sleep(1.2))
        tell(f"pysirix {version('pysirix')}, Python {sys.version.split()[0]}")
