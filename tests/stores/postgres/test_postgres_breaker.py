"""A server that is away: the first calls wait a short time, the next ones fail at once."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest

from salience import AsyncMemory, Memory
from salience.embedders import Kind, Rows
from salience.errors import InvalidInput, StoreClosed, StoreError
from salience.stores import access_queue, migrate
from salience.stores.postgres import PostgresStore
from salience.stores.postgres.wire import breaker
from salience.stores.postgres.wire.breaker import (
    WAIT_VARIABLE,
    Breaker,
    Breakers,
    wait_limit,
)
from salience.testing import WordHashEmbedder
from salience.testing.postgres import PostgresServer
from support.waiting import HANG_SECONDS

NODE = "connection to the remote node postgres@worker-2:5432 failed with the following error: no"


AT_ONCE = "is tried again every second"
OPTIONS: dict[str, Any] = {"embedder": WordHashEmbedder(), "namespace": "restarted"}


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_calls_wait_then_fail_at_once_and_one_a_second_tries() -> None:
    clock = Clock()
    breaker = Breaker(5.0, clock)
    assert breaker.admit() is False
    assert breaker.failed("refused") == 5.0
    clock.now += 2.0
    assert breaker.admit() is False  # it waits with the others
    assert breaker.failed("refused") == 3.0
    clock.now += 4.0
    assert breaker.admit() is True
    with pytest.raises(StoreError, match="refused; it has been away for 6 s and is tried again"):
        breaker.admit()
    assert breaker.failed("refused") == 0.0
    clock.now += 1.0
    assert breaker.admit() is True
    breaker.succeeded()
    assert breaker.admit() is False
    assert breaker.failed("refused") == 5.0  # the next outage is another one


def test_the_tenants_of_other_workers_go_on() -> None:
    clock = Clock()
    breakers = Breakers("db/salience", 5.0, clock)
    assert breakers.failed(NODE, ["ana"], of_worker=True) == 5.0
    clock.now += 6.0
    assert breakers.admit(["ana"]) is False  # the one that tries it: its connections are good
    with pytest.raises(StoreError, match=r"db/salience: .*worker-2:5432.*away for 6 s"):
        breakers.admit(["ana"])
    assert breakers.admit(["ben"]) is False
    assert breakers.failed(NODE, ["ben"], of_worker=True) == 0.0  # known to be away
    breakers.succeeded(["cem"])  # of another worker
    with pytest.raises(StoreError):
        breakers.admit(["ben"])
    clock.now += 1.0
    assert breakers.admit(["ben"]) is False
    breakers.succeeded(["ben"])
    for name in ("ana", "ben"):
        assert breakers.admit([name]) is False


@pytest.mark.parametrize(("value", "seconds"), [(None, 10.0), ("0", 0.0), ("2.5", 2.5)])
def test_the_wait_is_a_setting(
    value: str | None, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    if value is not None:
        monkeypatch.setenv(WAIT_VARIABLE, value)
    assert wait_limit() == seconds


@pytest.mark.parametrize("value", ["-1", "soon", "nan", "inf", ""])
def test_a_wait_that_is_none(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WAIT_VARIABLE, value)
    with pytest.raises(InvalidInput, match=f"{WAIT_VARIABLE}: is .*give a number of seconds"):
        wait_limit()


@pytest.fixture(scope="module")
def own_server() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
        migrate(server.url)
        yield server


def left_beside(before: set[threading.Thread]) -> set[threading.Thread]:
    """The threads that are new; one that was told to end has a moment to do so."""
    for thread in set(threading.enumerate()) - before:
        thread.join(timeout=HANG_SECONDS)
    return set(threading.enumerate()) - before


def refused(memory: Memory) -> str:
    with pytest.raises(StoreError) as caught:
        memory.search("apples")
    return str(caught.value)


def test_a_server_that_stops_and_comes_back(
    own_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(WAIT_VARIABLE, "1")
    store = PostgresStore(own_server.url)
    with Memory(store, embedder=WordHashEmbedder()) as memory, closing(store):
        memory.add("Ana likes apples.")
        assert memory.search("apples", touch=False)
        own_server.stop("immediate")
        with ThreadPoolExecutor(8) as pool:  # they wait together
            first = list(pool.map(refused, [memory] * 8))
        assert not any(AT_ONCE in problem for problem in first)
        with monkeypatch.context() as patch:
            patch.setattr(breaker, "PROBE_INTERVAL_SECONDS", 3600.0)
            later = [refused(memory) for _ in range(100)]  # one of them may still try the server
            assert sum(AT_ONCE in problem for problem in later) >= 99
        own_server.start()
        store.database.breakers.server._next_probe = 0.0  # a second later
        assert memory.search("apples", touch=False)
        memory.add("Ben likes pears.")
        assert memory.count() == 2


def test_a_short_restart_is_waited_for(
    own_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(WAIT_VARIABLE, "300")

    async def run() -> None:
        async with await AsyncMemory.open(own_server.url, **OPTIONS) as memory:
            await memory.add("Ana likes apples.")
            own_server.stop("immediate")
            searches = [asyncio.create_task(memory.search("apples")) for _ in range(4)]
            await asyncio.sleep(0.3)
            await asyncio.to_thread(own_server.start)
            assert [len(await search) for search in searches] == [1] * 4

    asyncio.run(run())


def test_closing_without_the_server_releases_all_and_says_what_is_lost(
    own_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(WAIT_VARIABLE, "0.5")
    monkeypatch.setattr(access_queue, "WRITE_DELAY_SECONDS", 600.0)
    before = set(threading.enumerate())
    memory = Memory.open(own_server.url, embedder=WordHashEmbedder())
    memory.add("Ana waters the fern.", id="fern")
    memory.touch("fern", "read")
    assert memory.search("fern", limit=1)
    own_server.stop("immediate")
    with pytest.raises(StoreError, match=r"^closed, but 2 accesses are not counted: .*server"):
        memory.close()
    memory.close()
    with pytest.raises(StoreClosed):
        memory.get("fern")
    own_server.start()
    assert not left_beside(before)
    with Memory.open(own_server.url, embedder=WordHashEmbedder()) as memory:
        record = memory.get("fern")
        assert record is not None
        assert record.access_count == 0


def test_closing_an_awaited_memory_without_the_server_does_so_too(
    own_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(WAIT_VARIABLE, "0.5")
    monkeypatch.setattr(access_queue, "WRITE_DELAY_SECONDS", 600.0)

    class Silent(WordHashEmbedder):
        """A model that is retried in the background, as it takes its time to fail."""

        def embed(self, texts: Sequence[str], *, kind: Kind = "document") -> Rows:
            time.sleep(0.2)
            raise TimeoutError

    async def run() -> None:
        memory = await AsyncMemory.open(own_server.url, embedder=Silent(), namespace="silent")
        await memory.add("Ana waters the palm.", id="palm")
        await memory.touch("palm", "read")
        assert "salience-recovery" in {thread.name for thread in threading.enumerate()}
        await asyncio.to_thread(own_server.stop, "immediate")
        with pytest.raises(StoreError, match=r"^closed, but 1 accesses are not counted"):
            await memory.close()
        assert "salience-recovery" not in {thread.name for thread in threading.enumerate()}
        await memory.close()
        assert len(asyncio.all_tasks()) == 1
        await asyncio.to_thread(own_server.start)

    before = set(threading.enumerate())
    asyncio.run(run())
    assert not left_beside(before)


SCRIPT = """
import sys
from salience import Memory
from salience.errors import StoreError
memory = Memory.open(sys.argv[1], embedder=None)
memory.add("Ana likes apples.")
print("ready", flush=True)
sys.stdin.readline()
for _ in range(3):
    try:
        memory.search("apples", touch=False)
    except StoreError as problem:
        print(type(problem).__name__, flush=True)
import os; os._exit(0)
"""


def test_nothing_is_printed_while_it_is_away(own_server: PostgresServer) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, own_server.url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"PATH": "", WAIT_VARIABLE: "0.5"},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    own_server.stop("immediate")
    out, err = process.communicate("\n", timeout=HANG_SECONDS)
    assert (out, err) == ("StoreError\n" * 3, "")
