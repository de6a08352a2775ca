"""AsyncMemory is Memory, awaited."""

import asyncio
import gc
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from salience import AsyncMemory, Memory
from salience.embedders import EmbedderIdentity
from salience.errors import InvalidInput, NotFound, StoreClosed, VersionConflict
from salience.retrieval import turnstile
from salience.retrieval.turnstile import without_full_collections
from salience.testing import WordHashEmbedder
from salience.testing.conformance._case import WORDS
from support.doors import public_names
from support.waiting import HANG_SECONDS

ROOT = Path(__file__).resolve().parents[2]


def run(body: Callable[[AsyncMemory], Awaitable[Any]], url: str = "ram://") -> Any:
    async def opened() -> Any:
        async with await AsyncMemory.open(url, embedder=WordHashEmbedder()) as memory:
            return await body(memory)

    return asyncio.run(opened())


def test_the_same_methods() -> None:
    assert public_names(AsyncMemory) == public_names(Memory)
    assert {"add", "search", "inspect.zones", "labels.score"} <= public_names(Memory)


def test_memories_are_iterated_counted_and_got() -> None:
    async def body() -> None:
        async with await AsyncMemory.open("ram://", embedder=None) as memory:
            await memory.add_many({"id": f"m{i}", "content": f"Words {i}"} for i in range(5))
            assert [one.id async for one in memory] == ["m4", "m3", "m2", "m1", "m0"]
            iteration = memory.iterate(order="oldest", page_size=2)
            first = [await anext(iteration) for _ in range(3)]
            rest = [one async for one in memory.iterate(order="oldest", cursor=iteration.cursor)]
            assert [one.id for one in first + rest] == ["m0", "m1", "m2", "m3", "m4"]
            assert await memory.count({"id": "m1"}) == 1
            assert await memory.get_many(["m3", "nobody"]) == [await memory.get("m3"), None]
            assert (await memory.update("m1", importance=0.5, if_version=1)).version == 2
            with pytest.raises(VersionConflict):
                await memory.delete("m1", if_version=1)
            with pytest.raises(TypeError):
                len(memory)

    asyncio.run(body())


def test_a_round_of_everything(tmp_path: Path) -> None:
    async def body(memory: AsyncMemory) -> None:
        added = await memory.add("A red apple.", id="a", tags=["fruit"])
        assert added.id == "a"
        assert (await memory.add_many(["A pear.", {"id": "b", "content": "Plums."}])).ids[1] == "b"
        assert (await memory.search("apple", profile=WORDS)).ids == ("a",)
        record = await memory.get("a")
        assert record is not None
        assert record.access_count == 1
        assert (await memory.get_all({"tags": "fruit"})).total == 1
        assert (await memory.update("a", content="A green plum.")).content == "A green plum."
        assert (await memory.explain("plum", "a")).rank is not None
        await memory.link("a", "b", "supports")
        assert len(await memory.links("b")) == 1
        assert (await memory.stats())["memories"] == 3
        other = memory.for_namespace("other")
        await other.add("elsewhere")
        assert (await other.get_all()).total == 1
        await memory.upkeep.flush()
        assert await memory.delete("a")
        assert (await memory.delete_all({"id": "b"})).memories == 1
        assert memory.namespace == "default"

    run(body, f"sqlite:///{tmp_path / 'memory.db'}")


def test_errors_come_through() -> None:
    async def body(memory: AsyncMemory) -> AsyncMemory:
        with pytest.raises(InvalidInput, match="content"):
            await memory.add(" ")
        with pytest.raises(InvalidInput, match="limit"):
            await memory.search("x", limit=0)
        with pytest.raises(NotFound, match="nobody"):
            await memory.update("nobody", importance=0.5)
        with pytest.raises(NotFound, match="nobody"):
            await memory.explain("x", "nobody")
        return memory

    memory = run(body)
    with pytest.raises(StoreClosed, match="closed"):
        asyncio.run(memory.search("x"))


@pytest.mark.deep
@pytest.mark.parametrize("store", ["ram", pytest.param("sqlite", marks=pytest.mark.deep)])
def test_many_at_once(tmp_path: Path, store: str) -> None:
    async def body(memory: AsyncMemory) -> None:
        async def writer(who: int) -> None:
            for i in range(10):
                await memory.add(f"apple from{who} number{i}", id=f"w{who}-{i}")
                hits = await memory.search(f"from{who}", profile=WORDS, limit=50)
                assert f"w{who}-{i}" in hits.ids

        async def reader() -> None:
            for _ in range(10):
                hits = await memory.search("apple", limit=1000, explain=True)
                assert all(h.explanation and h.explanation.value == h.score for h in hits)

        await asyncio.gather(*(writer(who) for who in range(8)), *(reader() for _ in range(4)))
        assert (await memory.get_all(limit=1)).total == 80
        hits = await memory.search("apple", profile=WORDS, limit=1000, touch=False)
        assert len(hits) == 80
        assert len(await memory.search("from3", profile=WORDS, limit=50)) == 10

    run(body, "ram://" if store == "ram" else f"sqlite:///{tmp_path / 'memory.db'}")


def test_the_event_loop_does_not_wait_for_the_store() -> None:
    class Slow(WordHashEmbedder):
        """Answers a query only when the event loop has run meanwhile."""

        def __init__(self) -> None:
            super().__init__()
            self.loop: asyncio.AbstractEventLoop | None = None

        def embed(self, texts: Any, *, kind: Any = "document") -> Any:
            if kind == "query" and self.loop is not None:
                asyncio.run_coroutine_threadsafe(asyncio.sleep(0), self.loop).result(
                    timeout=HANG_SECONDS
                )
            return super().embed(texts, kind=kind)

    async def body() -> tuple[str, ...]:
        embedder = Slow()
        async with await AsyncMemory.open("ram://", embedder=embedder) as memory:
            await memory.add("apple", id="a")
            embedder.loop = asyncio.get_running_loop()
            return (await memory.search("apple")).ids

    assert asyncio.run(body()) == ("a",)


HEAVY = {
    "audit": lambda memory: memory.upkeep.audit(),
    "candidates": lambda memory: memory.inspect.candidates("apple"),
    "compare": lambda memory: memory.inspect.compare("apple", ["balanced", "vitality"]),
    "consolidate": lambda memory: memory.upkeep.consolidate(apply=True),
    "decay_all": lambda memory: memory.upkeep.decay(),
    "delete_all": lambda memory: memory.delete_all({"tags": "t"}),
    "explain": lambda memory: memory.explain("apple", "m1"),
    "get_all": lambda memory: memory.get_all(limit=1000),
    "get_context": lambda memory: memory.get_context("apple"),
    "history": lambda memory: memory.history("m1"),
    "links": lambda memory: memory.links(),
    "maintain": lambda memory: memory.upkeep.maintain(),
    "prune": lambda memory: memory.upkeep.prune(apply=True),
    "search": lambda memory: memory.search("apple", limit=1000),
    "score_questions": lambda memory: memory.labels.score(),
    "verify": lambda memory: memory.upkeep.verify(),
    "vitality": lambda memory: memory.inspect.vitality("m1"),
    "zone_shares": lambda memory: memory.inspect.zone_shares(),
    "zones": lambda memory: memory.inspect.zones(),
    "add_many": lambda memory: memory.add_many([f"pear {i}" for i in range(200)]),
}
"""Calls that handle many memories, by the method."""


def threads_of(url: str, call: Callable[[AsyncMemory], Awaitable[Any]]) -> tuple[int, set[int]]:
    """The thread of an event loop, and those in which the steps of a call's plan are done."""
    threads: set[int] = set()

    async def body() -> int:
        memory = await AsyncMemory.open(
            url, embedder=WordHashEmbedder(), trace=lambda _: threads.add(threading.get_ident())
        )
        async with memory:
            await memory.add_many([{"content": f"apple {i}", "id": f"m{i}"} for i in range(5)])
            threads.clear()
            await call(memory)
        return threading.get_ident()

    return asyncio.run(body()), threads


@pytest.mark.parametrize("name", HEAVY)
def test_what_handles_many_memories_leaves_the_loop(name: str) -> None:
    loop, threads = threads_of("ram://", HEAVY[name])
    assert threads
    assert loop not in threads


def test_no_plan_is_run_on_the_loop_of_a_store_that_cannot_be_awaited() -> None:
    for call in (
        lambda memory: memory.search("apple"),
        lambda memory: memory.add("A pear."),
        lambda memory: memory.update("m1", content="plum"),
        lambda memory: memory.get("m1"),
    ):
        loop, threads = threads_of("ram://", call)
        assert threads
        assert loop not in threads


def test_an_embedder_is_first_asked_who_it_is_in_a_thread() -> None:
    threads: list[int] = []

    class Asked(WordHashEmbedder):
        @property
        def identity(self) -> EmbedderIdentity:
            threads.append(threading.get_ident())
            return super().identity

    async def body() -> int:
        async with await AsyncMemory.open("ram://", embedder=Asked()) as memory:
            await memory.add("A pear.")
        return threading.get_ident()

    assert asyncio.run(body()) != threads[0]


def test_a_cancelled_plan_is_stopped_and_tidies_up() -> None:
    """The lock of maintenance is given back."""

    async def body(memory: AsyncMemory) -> None:
        loop, begun = asyncio.get_running_loop(), asyncio.Event()
        cancelled = threading.Event()

        def progress(step: str, done: int, total: int) -> None:
            loop.call_soon_threadsafe(begun.set)
            assert cancelled.wait(HANG_SECONDS)

        await memory.add("A red apple.")
        task = asyncio.create_task(memory.upkeep.maintain(progress=progress))
        await begun.wait()
        loop.call_later(0.05, cancelled.set)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await memory.upkeep.maintain()).changed == 0

    run(body)


def test_full_collections_wait_for_threads_and_come_back() -> None:
    usual = gc.get_threshold()
    seen: list[tuple[int, int, int]] = []

    async def body() -> None:
        trace = lambda _: seen.append(gc.get_threshold())  # noqa: E731
        async with await AsyncMemory.open("ram://", embedder=None, trace=trace) as memory:
            await memory.add("A red apple.")
            await asyncio.gather(memory.search("apple"), *(memory.upkeep.audit() for _ in range(3)))

    asyncio.run(body())
    assert {full for *_, full in seen} == {1_000_000}
    assert gc.get_threshold() == usual


@pytest.mark.parametrize(("longest", "full"), [(0.0, 1), (60.0, 0)])
def test_work_that_never_ends_does_not_keep_garbage_for_ever(
    monkeypatch: pytest.MonkeyPatch, longest: float, full: int
) -> None:
    monkeypatch.setattr(turnstile, "LONGEST_SECONDS", longest)
    collected: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start" and info["generation"] == 2:
            collected.append(1)

    with without_full_collections():
        time.sleep(0.001)
        gc.callbacks.append(note)
        try:
            with without_full_collections():
                pass
        finally:
            gc.callbacks.remove(note)
    assert len(collected) == full
