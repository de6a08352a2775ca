"""Re-embedding while the store is in use: how long it takes, and what searches notice of it.

A process makes the new vectors; meanwhile this one searches with the old ones. The other process
is stopped and goes on by turns, so that searches with and without it are measured side by side.

    python benchmarks/reembed.py --memories 10000 --to minilm
    python benchmarks/reembed.py --memories 10000 --to default:64 --store postgresql://...

With `--store`, a run that was broken off goes on: the memories and vectors that are there are kept.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import signal
import statistics
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from salience import Memory
from salience.embedders import Embedder, EmbedderIdentity, Kind, Rows, StaticEmbedder, resolve
from salience.evaluation.synthetic_chats import queries, realistic
from salience.testing.postgres import PostgresServer

SEARCHES_A_TURN = 10


class Shortened:
    """The default model, of which the first dimensions are kept, at length one again."""

    def __init__(self, dimensions: int) -> None:
        self._whole = StaticEmbedder()
        name = f"first-{dimensions}"
        self.identity = EmbedderIdentity("wordllama", name, dimensions, "1")

    def embed(self, texts: Sequence[str], *, kind: Kind = "document") -> Rows:
        rows = self._whole.embed(texts, kind=kind)[:, : self.identity.dimensions]
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(rows / np.where(norms > 0, norms, 1), dtype=np.float32)


def embedder(name: str) -> Embedder | None:
    """An embedder by its name; `default:64` is the first 64 dimensions of the default one."""
    first, _, dimensions = name.partition(":")
    return Shortened(int(dimensions)) if first == "default" and dimensions else resolve(name)


def fill(url: str, name: str) -> None:
    """Make the vectors of an embedder beside those that are searched."""
    Memory.upkeep.reembedding(url, embedder(name), step="fill")


def searched(memory: Memory, asked: Sequence[str]) -> list[float]:
    """The milliseconds of each search."""
    times = []
    for query in asked:
        started = time.perf_counter()
        found = memory.search(query, touch=False)
        times.append((time.perf_counter() - started) * 1e3)
        assert not found.degraded, found.degraded
    return times


def measure(url: str, name: str, memories: int) -> dict[str, Any]:
    """The times of a whole re-embedding, in its order."""
    items = list(realistic(memories))
    asked = queries(400, items)
    with Memory.open(url) as memory:
        began = time.perf_counter()
        memory.add_many(items[memory.stats()["memories"] :])
        written = time.perf_counter() - began
        searched(memory, asked[:50])
        process = multiprocessing.get_context("spawn").Process(target=fill, args=(url, name))
        process.start()
        alone, during, stopped, turn = [], [], 0.0, 0
        started = time.perf_counter()
        while process.is_alive():
            part = [asked[(turn * SEARCHES_A_TURN + i) % 400] for i in range(SEARCHES_A_TURN)]
            during += searched(memory, part)
            began = time.perf_counter()
            os.kill(process.pid or 0, signal.SIGSTOP)
            try:
                alone += searched(memory, part)
            finally:
                os.kill(process.pid or 0, signal.SIGCONT)
            stopped += time.perf_counter() - began
            time.sleep(0.2)
            turn += 1
        seconds = time.perf_counter() - started - stopped
        assert process.exitcode == 0
        compared = Memory.upkeep.reembedding(url, embedder(name), step="compare").agreement
        assert compared is not None
        model = embedder(name)
        assert model is not None
        model.embed(["a text"])  # loaded before
        began = time.perf_counter()
        Memory.upkeep.reembedding(url, model, step="cut_over")
        cut_over = time.perf_counter() - began
        began = time.perf_counter()
        noticed = memory.search(asked[0], touch=False)
        assert noticed.degraded
        first = (time.perf_counter() - began) * 1e3
    with Memory.open(url) if name == "default" else Memory.open(url, embedder=model) as memory:
        searched(memory, asked[:50])
        after = searched(memory, asked)
    began = time.perf_counter()
    Memory.upkeep.reembedding(url, step="finish")
    finish = time.perf_counter() - began
    return {
        "memories": memories,
        "to": name,
        "store": url.partition(":")[0],
        "write_s": round(written, 1),
        "fill_s": round(seconds, 1),
        "searches": len(during),
        "p50_before_ms": round(statistics.median(alone), 2),
        "p50_during_ms": round(statistics.median(during), 2),
        "p95_before_ms": round(float(np.percentile(alone, 95)), 2),
        "p95_during_ms": round(float(np.percentile(during, 95)), 2),
        "agreement": compared.to_dict(),
        "cut_over_s": round(cut_over, 3),
        "first_search_of_a_stale_process_ms": round(first, 1),
        "p50_after_ms": round(statistics.median(after), 2),
        "p95_after_ms": round(float(np.percentile(after, 95)), 2),
        "finish_s": round(finish, 2),
    }


def main() -> None:
    """Measure one re-embedding, and print the figures as JSON."""
    parser = argparse.ArgumentParser(description="Measure a re-embedding.")
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--to", default="minilm", help="an embedder, or default:DIMENSIONS")
    parser.add_argument("--store", help="a store of its own; default: a new SQLite file")
    parser.add_argument("--postgres", action="store_true", help="a new PostgreSQL server instead")
    given = parser.parse_args()
    with ExitStack() as stack:
        url = given.store
        if given.postgres:
            url = stack.enter_context(PostgresServer()).url
        elif url is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            url = f"sqlite:///{Path(folder) / 'memory.db'}"
        print(json.dumps(measure(url, given.to, given.memories), indent=2))


if __name__ == "__main__":
    main()
