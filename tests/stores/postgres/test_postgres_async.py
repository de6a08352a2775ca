"""AsyncMemory on PostgreSQL: many tasks of one event loop, any of which may be cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
import pytest

from salience import AsyncMemory
from salience.access import Keyring
from salience.access.plans import KeyText
from salience.errors import StoreClosed
from salience.stores.postgres import PostgresStore
from salience.testing import WordHashEmbedder
from support.waiting import until_awaited


def run(body: Callable[[AsyncMemory, PostgresStore], Awaitable[Any]], url: str) -> Any:
    async def opened() -> Any:
        store = PostgresStore(url)
        async with await AsyncMemory.open(store, embedder=WordHashEmbedder()) as memory:
            return await body(memory, store)

    return asyncio.run(opened())


def connections(database: str) -> set[int]:
    """The processes of the server behind the connections of stores to a database."""
    with psycopg.connect(database) as watching:
        processes = watching.execute(
            "SELECT pid FROM pg_stat_activity WHERE application_name = 'salience' "
            "AND datname = current_database()"
        ).fetchall()
    return {pid for (pid,) in processes}


def test_many_searches_at_once_share_eight_connections(database: str) -> None:
    before = connections(database)  # of other tests, which the server has not ended yet

    async def body(memory: AsyncMemory, store: PostgresStore) -> None:
        await memory.add_many(
            {"id": f"m{i:02}", "content": f"word{i} of topic{i % 5}", "speaker": "Ana"}
            for i in range(40)
        )
        alone = [(await memory.search(f"word{i}", touch=False)).ids for i in range(40)]
        both = await asyncio.gather(*(memory.search(f"word{i}", touch=False) for i in range(40)))
        assert [found.ids for found in both] == alone
        assert 1 <= len(connections(database) - before) <= 8

    run(body, database)


def locked(database: str, statement: str) -> psycopg.Connection[Any]:
    """A connection whose transaction holds a lock."""
    connection = psycopg.connect(database)
    connection.execute("SET search_path = salience, public")
    connection.execute(statement.encode())
    return connection


@pytest.mark.parametrize("times", [1, 12])
def test_a_search_that_is_cancelled_gives_its_connection_back(database: str, times: int) -> None:
    async def body(memory: AsyncMemory, store: PostgresStore) -> None:
        await memory.add("An apple.", id="one")
        await memory.search("apple", touch=False)
        with locked(database, "LOCK TABLE memories IN ACCESS EXCLUSIVE MODE"):
            for _ in range(times):  # more often than there are connections
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(memory.search("apple", touch=False), 0.05)
        found = await asyncio.gather(*(memory.search("apple", touch=False) for _ in range(20)))
        assert {each.ids for each in found} == {("one",)}

    run(body, database)


def test_a_write_that_is_cancelled_is_done_whole_or_not_at_all(database: str) -> None:
    async def body(memory: AsyncMemory, store: PostgresStore) -> None:
        await memory.add("An apple.", id="one")
        lock = "SELECT FROM spaces WHERE namespace = 'default' FOR UPDATE"
        waiting = "SELECT FROM pg_locks WHERE NOT granted"
        with locked(database, lock) as holder:
            write = asyncio.create_task(memory.add("A pear.", id="two"))
            await until_awaited(lambda: holder.execute(waiting).rowcount)
            write.cancel()
            with pytest.raises(asyncio.CancelledError):
                await write
        assert (await memory.add("A pear.", id="two", on_conflict="skip")).id == "two"
        assert {record.id for record in await memory.get_all()} == {"one", "two"}
        assert await memory.upkeep.verify()

    run(body, database)


def test_what_is_closed_says_so(database: str) -> None:
    async def body(memory: AsyncMemory, store: PostgresStore) -> None:
        await memory.add("An apple.", id="one")
        await memory.search("apple")
        await memory.close()
        with pytest.raises(StoreClosed):
            await memory.search("apple")

    run(body, database)
    with psycopg.connect(database) as watching:
        [count] = watching.execute(
            "SELECT sum(access_count) FROM salience.memories"
        ).fetchone() or (0,)
    assert count == 1


def test_every_event_loop_may_use_one_store(database: str) -> None:
    store = PostgresStore(database)

    async def one(text: str, id: str) -> tuple[str, ...]:
        memory = await AsyncMemory.open(store, embedder=WordHashEmbedder())
        await memory.add(text, id=id)
        return (await memory.search(text, touch=False)).ids

    assert asyncio.run(one("An apple.", "a")) == ("a",)
    assert "b" in asyncio.run(one("A pear.", "b"))
    store.close()


def test_keys_are_checked_by_tasks(database: str) -> None:
    async def body() -> str:
        store = PostgresStore(database)
        with Keyring(store, check_seconds=0) as keys:
            created = await asyncio.to_thread(keys.create, "ana", "memories:read")
            assert await keys.averify(str(KeyText.random(created.key.id))) == "unknown"
            assert await keys.aany_key()
            principal = await keys.acheck(created.text)
            assert principal is not None
            assert principal.key_id == created.key.id
        store.close()
        return created.key.id

    id = asyncio.run(body())
    with Keyring.open(database) as again:
        assert again.get(id).last_used is not None
