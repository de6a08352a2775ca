"""The processes of a benchmark: each reads its job from stdin and writes JSON lines to stdout."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from salience.engine.memory import Memory
from salience.errors import SalienceError
from salience.ranking.profile import Profile
from salience.stores import build_indexes
from salience.stores.index import vector_index

_BATCH_ROWS = 16_384  # memories added with one call
_CLOCK = time.perf_counter


def _write_message(**message: Any) -> None:
    print(json.dumps(message), flush=True)


def _peak_mb() -> float:
    """The peak resident memory of this process, in millions of bytes."""
    try:
        # On Linux a child inherits ru_maxrss from its parent; VmHWM is its own.
        lines = Path("/proc/self/status").read_text().splitlines()
        [peak] = (line.split()[1] for line in lines if line.startswith("VmHWM"))
        return int(peak) * 1024 / 1e6
    except (OSError, ValueError):
        import resource

        peak_rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak_rss / 1e6 if sys.platform == "darwin" else peak_rss * 1024 / 1e6


def _open(job: dict[str, Any]) -> Memory:
    return Memory.open(
        job["url"], embedder=job["embedder"], profile=Profile.from_dict(job["profile"])
    )


def _ingest(job: dict[str, Any]) -> dict[str, Any]:
    # Imported here, as a process that searches should not pay for generating texts.
    from salience.evaluation.benchmark import Setup, chunks

    setup = Setup(**job["setup"])
    spent, done = 0.0, 0
    with _open(job) as memory:
        for name, items in chunks(setup, _BATCH_ROWS):
            started = _CLOCK()
            memory.for_namespace(name).add_many(items, strict=True)
            spent += _CLOCK() - started
            done += len(items)
            _write_message(done=done, total=setup.memories)
    indexed: dict[str, float] = {}
    if not job["url"].startswith("sqlite"):
        began = _CLOCK()
        build_indexes(job["url"])
        indexed["index_s"] = round(_CLOCK() - began, 3)
    return {
        **indexed,
        "ingest_per_s": round(setup.memories / spent, 1),
        "ingest_s": round(spent, 3),
        "ingest_peak_rss_mb": round(_peak_mb(), 1),
    }


def _search(job: dict[str, Any]) -> dict[str, Any]:
    [(first, opening), *queries], limit = job["asked"], job["setup"]["limit"]
    opened = _CLOCK()
    if "client" in job:  # each client asks in an order of its own
        np.random.default_rng(job["client"]).shuffle(queries)
    with _open(job) as memory:
        memory.for_namespace(first).search(opening, limit=limit)
        cold = _CLOCK() - opened
        _settle(memory, [first, *(name for name, _ in queries)], opening, limit)
        settled = _CLOCK() - opened
        took_ms: list[float] = []
        time.sleep(max(0.0, job.get("begin", 0.0) - time.time()))
        begun = time.time()
        for name, text in queries:
            within = memory.for_namespace(name)
            started = _CLOCK()
            within.search(text, limit=limit)
            took_ms.append((_CLOCK() - started) * 1e3)
            if len(took_ms) % 10 == 0:
                _write_message(done=len(took_ms), total=len(queries))
        peak, ended = _peak_mb(), time.time()
    if "client" in job:
        return {"took_ms": took_ms, "begun": begun, "ended": ended}
    p50, p95, p99 = np.percentile(took_ms, (50, 95, 99)).tolist()
    return {
        "cold_open_s": round(cold, 4),
        "settled_s": round(settled, 4),
        "search_ms": {"p50": round(p50, 3), "p95": round(p95, 3), "p99": round(p99, 3)},
        "peak_rss_mb": round(peak, 1),
    }


def _settle(memory: Memory, names: Sequence[str], text: str, limit: int) -> None:
    """Search each namespace once, so that its index is loaded."""
    for name in sorted(set(names)):
        memory.for_namespace(name).search(text, limit=limit, touch=False)


def _recall(job: dict[str, Any]) -> dict[str, Any]:
    [(first, opening), *queries] = job["asked"]
    now = time.time()
    rounds: list[list[tuple[str, ...]]] = []
    with _open(job) as memory:
        memory.for_namespace(first).search(opening, touch=False)
        _settle(memory, [first, *(name for name, _ in queries)], opening, 10)
        # Indexes scan up to EXACT_BELOW vectors exactly; the second round makes them scan all.
        for below in (vector_index.EXACT_BELOW, sys.maxsize):
            vector_index.EXACT_BELOW = below
            lists = []
            for name, text in queries:
                within = memory.for_namespace(name)
                lists.append(within.search(text, limit=10, now=now, touch=False).ids)
                _write_message(done=len(rounds) * len(queries) + len(lists), total=2 * len(queries))
            rounds.append(lists)
    shares = [
        len(set(quick) & set(exact)) / len(exact)
        for quick, exact in zip(*rounds, strict=True)
        if exact
    ]
    return {"recall_at_10": round(sum(shares) / len(shares), 4) if shares else None}


def main(began: float) -> None:
    """Run the task named on the command line; `began` is the time before the first import."""
    imported = time.perf_counter() - began
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # an interrupted benchmark ends silently
    tasks = {"ingest": _ingest, "search": _search, "recall": _recall}
    task = sys.argv[1]
    try:
        result = tasks[task](json.load(sys.stdin))
    except SalienceError as problem:
        _write_message(problem=str(problem))
        return
    if task == "search":
        result = {"import_s": round(imported, 4), **result}
    _write_message(result=result)
