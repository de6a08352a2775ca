"""The longest time for which each method of AsyncMemory holds up its event loop.

    python benchmarks/heartbeat.py sqlite:///copy.db        a store that may be changed and erased

A task asks for the loop every millisecond while a method is awaited. The longest of its gaps is
what any other task would have waited. A gap counts as no longer than the processor time that this
process took in it, so that other programs on the machine do not count. Without memories in the
store, 100,000 are written first.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any

from salience import AsyncMemory
from salience.evaluation.synthetic_chats import realistic
from salience.testing import WordHashEmbedder

MEMORIES = 100_000
_ADDED_AT_ONCE = 10_000
_QUESTION = "What did Anna say about the garden in spring?"

Call = Callable[[], Awaitable[Any]]


def items(count: int, first: str) -> Iterator[dict[str, Any]]:
    """Turns of conversations, three of ten of them facts of a user instead."""
    for number, item in enumerate(realistic(count)):
        if number % 10 < 3:
            item = {"content": item["content"], "kind": "fact", "user_id": "ana"}
        yield {**item, "id": f"{first}{number}"}


async def longest_gap(call: Call) -> tuple[float, float]:
    """Milliseconds for which the loop stood still, and for which the call took."""
    gap, is_done = 0.0, False

    async def beat() -> None:
        nonlocal gap
        last, spent = time.perf_counter(), time.process_time()
        while not is_done:
            await asyncio.sleep(0.001)
            now, used = time.perf_counter(), time.process_time()
            gap = max(gap, min(now - last, used - spent))
            last, spent = now, used

    task = asyncio.create_task(beat())
    await asyncio.sleep(0.01)
    gap = 0.0
    began = time.perf_counter()
    await call()
    took = time.perf_counter() - began
    await asyncio.sleep(0.002)
    is_done = True
    await task
    return gap * 1e3, took * 1e3


def calls(memory: AsyncMemory) -> Iterator[tuple[str, Call]]:
    """Every method by its name, those that erase last."""
    profiles = ("balanced", "composite", "six_factor", "vitality", "activation", "multi_route")
    some = [f"i{number}" for number in range(0, 20_000, 10)]
    yield "search (first)", lambda: memory.search(_QUESTION)
    for name in profiles:
        yield f"search ({name})", partial(memory.search, _QUESTION, profile=name)
    yield "search (1,000 hits)", lambda: memory.search(_QUESTION, limit=1000)
    yield "search (filter)", lambda: memory.search(_QUESTION, filters={"kind": "fact"})
    yield "explain", lambda: memory.explain(_QUESTION, "i77")
    yield "compare", lambda: memory.inspect.compare(_QUESTION, profiles)
    yield "get_context", lambda: memory.get_context(_QUESTION)
    yield "get", lambda: memory.get("i7")
    yield "get_all", lambda: memory.get_all()
    yield "get_all (10,000)", lambda: memory.get_all(limit=10_000)
    yield "stats", lambda: memory.stats()
    yield "links", lambda: memory.links()
    yield "links(pending=True)", lambda: memory.links(pending=True)
    yield "history", lambda: memory.history("i7")
    yield "zones", lambda: memory.inspect.zones()
    yield "zone_shares", lambda: memory.inspect.zone_shares(points=5)
    yield "audit", lambda: memory.upkeep.audit()
    yield "consolidate", lambda: memory.upkeep.consolidate()
    yield "prune", lambda: memory.upkeep.prune()
    yield "verify", lambda: memory.upkeep.verify()
    yield "maintain", lambda: memory.upkeep.maintain()
    yield "search (as_of)", lambda: memory.search(_QUESTION, as_of="2025-06-01")
    yield "add", lambda: memory.add("Anna plants roses in the garden.")
    yield "add_many (2,000)", lambda: memory.add_many(items(2_000, "n"))
    yield "update", lambda: memory.update("i9", content="Anna has planted the roses.")
    yield "link", lambda: memory.link("i1", "i2", "supports")
    yield "touch", lambda: memory.touch(["i1"])
    yield "feedback", lambda: memory.feedback("i1", "useful")
    yield "archive (2,000)", lambda: memory.archive(some)
    yield "unarchive (2,000)", lambda: memory.unarchive(some)
    yield "prune (applied)", lambda: memory.upkeep.prune(apply=True, cap=2_000)
    yield "decay_all", lambda: memory.upkeep.decay()
    yield "flush", lambda: memory.upkeep.flush()
    yield "delete", lambda: memory.delete("i3")
    yield "delete_all (filter)", lambda: memory.delete_all({"kind": "fact"})
    yield "delete_all", lambda: memory.delete_all(namespace=memory.namespace)


async def main(url: str, *only: str) -> None:
    """Print the gap and the time of each method."""
    settings: dict[str, Any] = {"embedder": WordHashEmbedder(64), "namespace": "big"}
    async with await AsyncMemory.open(url, **settings) as memory:
        if not (await memory.stats())["memories"]:
            texts = list(items(MEMORIES, "i"))
            for start in range(0, MEMORIES, _ADDED_AT_ONCE):
                await memory.add_many(texts[start : start + _ADDED_AT_ONCE], dedup=False)
        for name, call in calls(memory):
            if not only or name in only:
                try:
                    gap, took = await longest_gap(call)
                except Exception as problem:
                    print(f"{name:24} {type(problem).__name__}: {problem}", flush=True)
                else:
                    print(f"{name:24} {gap:7.1f} ms of {took:9.1f} ms", flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
