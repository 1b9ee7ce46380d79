"""The client for asyncio, on a server: the calls and the records of the other one."""

import asyncio

import pytest

import anywhen
import anywhen.aio


def run(server, work):
    """Runs work on a database of a server."""

    async def main():
        async with anywhen.aio.connect(server.http, author="ada") as db:
            return await work(db)

    return asyncio.run(main())


def test_documents_and_their_past_http(server, name):
    """Writes and reads answer with the same records as without asyncio."""

    async def work(db):
        things = await db.collection(name)
        first = await things.put("k", {"n": 1}, message="first")
        assert first.version == 1 and first.changed
        await things.update("k", "$.n", 2)
        await things.insert("k", "$", [1], name="list")
        await things.append("k", "$.list", 2)
        assert await things.get("k") == {"n": 2, "list": [1, 2]}
        assert await things.at(version=1).get("k") == {"n": 1}
        assert await things.get_node("k", "$.n") == 2 and await things.contains("k")
        versions = await things.history("k")
        assert [(one.version, one.author) for one in versions] == [(at, "ada") for at in (4, 3, 2, 1)]
        values = await things.node_history("k", "$.n")
        assert [(one.value, one.author, one.message) for one in values] == [(1, "ada", "first"), (2, "ada", "")]
        assert [change.op for change in await things.diff("k", 1, 2)] == ["update"]
        await things.update({"x": 1, "y": 2})
        assert await things.keys("x") == ["x"] and await things.keys(after="x") == ["y"]
        for key in "xy":
            await things.delete(key)
        await things.revert("k", 1)
        await things.delete("k")
        assert await things.keys() == [] and name in await db.collections()
        with pytest.raises(anywhen.NotFoundError):
            await things.get("k")
        with pytest.raises(anywhen.StaleError):
            await things.put("k", 1, if_version=3)
        assert await db.drop_collection(name)

    run(server, work)


def test_requests_run_at_the_same_time_http(server, name):
    """Fifty requests are under way together, and the loop goes on meanwhile."""

    async def work(db):
        things = await db.collection(name)
        await asyncio.gather(*(things.put(f"k{at}", at) for at in range(50)))
        assert sorted(await asyncio.gather(*(things.get(f"k{at}") for at in range(50)))) == list(range(50))
        slow = asyncio.create_task(db.sql("SELECT pg_sleep(0.5)"))
        turns = 0
        while not slow.done():
            await asyncio.sleep(0.01)
            turns += 1
        assert turns > 10 and (await db.sql("SELECT $1::int + 1", [1])).scalar() == 2

    run(server, work)


def test_changes_come_http(server, name):
    """They come while other requests run; what ends the loop ends the stream."""

    async def work(db):
        things = await db.collection(name)
        before = await db.newest_commit()
        seen = []

        async def follow():
            async for change in db.changes(after=before, follow=True, collection=name):
                seen.append((change.key, change.version, change.author))
                if len(seen) == 2:
                    return

        following = asyncio.create_task(follow())
        await things.put("a", 1)
        await things.put("a", 2)
        await asyncio.wait_for(following, 20)
        assert seen == [("a", 1, "ada"), ("a", 2, "ada")]

    run(server, work)


def test_what_is_closed_is_refused_http(server):
    """So is an address of another protocol."""

    async def main():
        db = anywhen.aio.connect(server.http)
        await db.close()
        with pytest.raises(anywhen.InterfaceError, match="closed"):
            await db.collections()

    asyncio.run(main())
    with pytest.raises(anywhen.InterfaceError, match="http"):
        anywhen.aio.connect("postgres://localhost")
