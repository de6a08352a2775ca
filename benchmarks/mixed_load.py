"""Searches with writes in between, as agents run: from threads, and awaited on an event loop.

salience bench --memories 100000 --keep bench.db
python mixed_load.py bench.db --memories 100000 --queries 400
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from salience.engine.async_memory import AsyncMemory
from salience.engine.memory import Memory
from salience.evaluation.benchmark import Setup, questions_about
from salience.evaluation.synthetic_chats import realistic

SEARCHES_PER_WRITE = 4
THREADS = (1, 4)
IN_FLIGHT = (1, 8, 32)  # awaited at the same time
_BEAT_SECONDS = 0.001
_CLOCK = time.perf_counter

Question = tuple[str, str]
"""A namespace, and a question to it."""

Step = tuple[Question, dict[str, Any] | None]
"""A question, and the arguments of an `add` after it, or None."""


@dataclass
class _Load:
    """The questions that are still to be asked and the facts to be added, and what they took."""

    questions: Sequence[Question]
    limit: int
    search_ms: list[float] = field(default_factory=list)
    write_ms: list[float] = field(default_factory=list)
    gap_ms: list[float] = field(default_factory=list)
    added: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def split(self, parts: int) -> list[Iterator[Step]]:
        """The steps of so many threads or tasks, each with its share of the writes."""
        texts = realistic(len(self.questions) // SEARCHES_PER_WRITE, seed=1)
        steps: list[Step] = []
        for number, question in enumerate(self.questions, 1):
            item = None if number % SEARCHES_PER_WRITE else next(texts)
            if item is not None:
                id = f"mixed-{number}"  # with an id of its own it is never taken for a duplicate
                item = {"content": item["content"], "id": id, "kind": "fact"}
                self.added[question[0]].append(id)
            steps.append((question, item))
        borders = [len(steps) * part // parts for part in range(parts + 1)]
        return [iter(steps[start:end]) for start, end in pairwise(borders)]

    def figures(self, seconds: float) -> dict[str, float]:
        """Searches a second and percentiles of milliseconds."""
        parts = {
            "": (self.search_ms, (50, 95, 99)),
            "write_": (self.write_ms, (50, 95)),
            "gap_": (self.gap_ms, (99, 100)),
        }
        numbers = {"searches_per_s": round(len(self.search_ms) / seconds, 1)}
        for prefix, (took_ms, shares) in parts.items():
            for share in shares if took_ms else ():
                name = "max" if share == 100 else f"p{share}"
                numbers[f"{prefix}{name}_ms"] = round(float(np.percentile(took_ms, share)), 3)
        return numbers


def in_threads(
    memory: Memory, questions: Sequence[Question], limit: int, threads: int
) -> dict[str, float]:
    """Figures of threads that share a memory; what they add is erased afterwards."""
    load = _Load(questions, limit)

    def work(part: Iterator[Step]) -> None:
        for (namespace, text), item in part:
            within = memory.for_namespace(namespace)
            started = _CLOCK()
            within.search(text, limit=limit)
            load.search_ms.append((_CLOCK() - started) * 1e3)
            if item is not None:
                started = _CLOCK()
                within.add(**item)
                load.write_ms.append((_CLOCK() - started) * 1e3)

    parts = load.split(threads)
    with ThreadPoolExecutor(threads) as pool:
        began = _CLOCK()
        list(pool.map(work, parts))
        seconds = _CLOCK() - began
    for namespace, ids in load.added.items():
        memory.for_namespace(namespace).delete_many(ids)
    return load.figures(seconds)


async def awaited(
    memory: AsyncMemory, questions: Sequence[Question], limit: int, in_flight: int
) -> dict[str, float]:
    """`in_threads` for tasks of an event loop; also the gaps in which no task of it ran."""
    load = _Load(questions, limit)

    async def timed(call: Awaitable[Any], took_ms: list[float]) -> None:
        started = _CLOCK()
        await call
        took_ms.append((_CLOCK() - started) * 1e3)

    async def work(part: Iterator[Step]) -> None:
        for (namespace, text), item in part:
            within = memory.for_namespace(namespace)
            await timed(within.search(text, limit=limit), load.search_ms)
            if item is not None:
                await timed(within.add(**item), load.write_ms)

    parts = load.split(in_flight)
    async with _heartbeat(load.gap_ms):
        began = _CLOCK()
        await asyncio.gather(*map(work, parts))
        seconds = _CLOCK() - began
    for namespace, ids in load.added.items():
        await memory.for_namespace(namespace).delete_many(ids)
    return load.figures(seconds)


@asynccontextmanager
async def _heartbeat(gap_ms: list[float]) -> AsyncIterator[None]:
    """Note how much later than asked for the loop comes back to a task that only sleeps."""

    async def beat() -> None:
        while True:
            started = _CLOCK()
            await asyncio.sleep(_BEAT_SECONDS)
            gap_ms.append((_CLOCK() - started - _BEAT_SECONDS) * 1e3)

    task = asyncio.create_task(beat())
    try:
        yield
    finally:
        task.cancel()


def measure(
    settings: dict[str, Any],
    questions: Sequence[Question],
    limit: int,
) -> dict[str, Any]:
    """The figures of every way to search, each with a memory reopened; its caches are empty.

    `settings` are those of `Memory`, with its URL. The first question opens each namespace.
    """
    figures: dict[str, Any] = {}
    opening, *rest = questions
    for threads in THREADS:
        with Memory(**settings) as memory:
            for namespace in sorted({name for name, _ in questions}):
                memory.for_namespace(namespace).search(opening[1], limit=limit, touch=False)
            figures[f"threads_{threads}"] = in_threads(memory, rest, limit, threads)

    async def run(in_flight: int) -> dict[str, float]:
        async with AsyncMemory(**settings) as memory:
            for namespace in sorted({name for name, _ in questions}):
                await memory.for_namespace(namespace).search(opening[1], limit=limit, touch=False)
            return await awaited(memory, rest, limit, in_flight)

    for in_flight in IN_FLIGHT:
        figures[f"awaited_{in_flight}"] = asyncio.run(run(in_flight))
    return figures


def main(arguments: list[str] | None = None) -> None:
    """Print the figures of each way as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", help="what `salience bench --keep` has kept, or the URL of a store")
    parser.add_argument("--memories", type=int, default=10_000, help="of that file")
    parser.add_argument("--namespaces", type=int, default=1, help="of that file")
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--limit", type=int, default=10)
    parser.add_argument("--profile", default="balanced")
    parser.add_argument("--embedder", default="default")
    asked = parser.parse_args(arguments)
    setup = Setup(asked.memories, asked.namespaces, asked.queries, asked.limit)
    settings = {"url": asked.file, "embedder": asked.embedder, "profile": asked.profile}
    print(json.dumps(measure(settings, questions_about(setup), setup.limit), indent=2))


if __name__ == "__main__":
    main()
