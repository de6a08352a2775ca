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

from salience.engine import Memory
from salience.errors import SalienceError
from salience.ranking.profile import Profile
from salience.stores import build_indexes
from salience.stores.index import vector_index

_CHUNK = 16_384  # memories added with one call
_CLOCK = time.perf_counter


def _say(**message: Any) -> None:
    print(json.dumps(message), flush=True)


def _peak_mb() -> float:
    """The most memory this process has held, in millions of bytes."""
    try:
        # Linux hands ru_maxrss on to the processes one starts; VmHWM is a process's own.
        lines = Path("/proc/self/status").read_text().splitlines()
        [peak] = (line.split()[1] for line in lines if line.startswith("VmHWM"))
        return int(peak) * 1024 / 1e6
    except (OSError, ValueError):
        import resource

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most / 1e6 if sys.platform == "darwin" else most * 1024 / 1e6


def _open(job: dict[str, Any]) -> Memory:
    return Memory.open(
        job["url"], embedder=job["embedder"], profile=Profile.from_dict(job["profile"])
    )


def _ingest(job: dict[str, Any]) -> dict[str, Any]:
    # Imported here: a process that searches should not pay for making texts.
    from salience.evaluation.benchmark import Setup, chunks

    setup = Setup(**job["setup"])
    spent, done = 0.0, 0
    with _open(job) as memory:
        for name, items in chunks(setup, _CHUNK):
            started = _CLOCK()
            memory.within(name).add_many(items, strict=True)
            spent += _CLOCK() - started
            done += len(items)
            _say(done=done, total=setup.memories)
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
    [(first, opening), *asked], limit = job["asked"], job["setup"]["limit"]
    opened = _CLOCK()
    if "client" in job:  # one of several: each asks in an order of its own
        np.random.default_rng(job["client"]).shuffle(asked)
    with _open(job) as memory:
        memory.within(first).search(opening, limit=limit)
        cold = _CLOCK() - opened
        _settle(memory, [first, *(name for name, _ in asked)], opening, limit)
        settled = _CLOCK() - opened
        took: list[float] = []
        time.sleep(max(0.0, job.get("begin", 0.0) - time.time()))
        begun = time.time()
        for name, text in asked:
            within = memory.within(name)
            started = _CLOCK()
            within.search(text, limit=limit)
            took.append((_CLOCK() - started) * 1e3)
            if len(took) % 10 == 0:
                _say(done=len(took), total=len(asked))
        peak, ended = _peak_mb(), time.time()
    if "client" in job:
        return {"took_ms": took, "begun": begun, "ended": ended}
    middle, high, highest = np.percentile(took, (50, 95, 99)).tolist()
    return {
        "cold_open_s": round(cold, 4),
        "settled_s": round(settled, 4),
        "search_ms": {"p50": round(middle, 3), "p95": round(high, 3), "p99": round(highest, 3)},
        "peak_rss_mb": round(peak, 1),
    }


def _settle(memory: Memory, names: Sequence[str], text: str, limit: int) -> None:
    """Search each namespace once, and wait for what the store makes of that beside."""
    for name in sorted(set(names)):
        memory.within(name).search(text, limit=limit, touch=False)
    while memory.stats().get("being_read"):
        time.sleep(0.05)


def _recall(job: dict[str, Any]) -> dict[str, Any]:
    [(first, opening), *asked] = job["asked"]
    now = time.time()
    found: list[list[tuple[str, ...]]] = []
    with _open(job) as memory:
        memory.within(first).search(opening, touch=False)
        _settle(memory, [first, *(name for name, _ in asked)], opening, 10)
        # Up to EXACT_BELOW vectors an index scans them all, which the second round makes it do.
        for below in (vector_index.EXACT_BELOW, sys.maxsize):
            vector_index.EXACT_BELOW = below
            _compare_all(job["url"], below == sys.maxsize)
            lists = []
            for name, text in asked:
                within = memory.within(name)
                lists.append(within.search(text, limit=10, now=now, touch=False).ids)
                _say(done=len(found) * len(asked) + len(lists), total=2 * len(asked))
            found.append(lists)
    shares = [
        len(set(quick) & set(exact)) / len(exact)
        for quick, exact in zip(*found, strict=True)
        if exact
    ]
    return {"recall_at_10": round(sum(shares) / len(shares), 4) if shares else None}


def _compare_all(url: str, wanted: bool) -> None:
    """Let PostgreSQL do without its indexes of vectors."""
    if not url.startswith("sqlite"):
        from salience.stores.postgres.search.vector_search import VectorSearch

        VectorSearch.uses_indexes = not wanted


def main(began: float) -> None:
    """Do the task named on the command line; `began` is when the process started to import."""
    imported = time.perf_counter() - began
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # an interrupted benchmark just ends
    tasks = {"ingest": _ingest, "search": _search, "recall": _recall}
    task = sys.argv[1]
    try:
        result = tasks[task](json.load(sys.stdin))
    except SalienceError as problem:
        _say(problem=str(problem))
        return
    if task == "search":
        result = {"import_s": round(imported, 4), **result}
    _say(result=result)
