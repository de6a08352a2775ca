"""Measuring speed: how fast memories are written, opened and searched, and what that takes.

Writing and searching happen in a process of their own each, so that the time to a first result and
the memory used are those of a program that does nothing else.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from salience.engine import Memory
from salience.errors import InvalidInput, SalienceError, shown
from salience.ranking import profiles
from salience.ranking.profile import Profile
from salience.search.request import MAX_HITS

# Importing is timed, so nothing of the library may be imported before the clock starts.
_WORKER = (
    "import time; began = time.perf_counter(); "
    "from salience.evaluation import _bench_worker; _bench_worker.main(began)"
)

_MOST = {
    "memories": 1_000_000_000,
    "namespaces": 1_000_000_000,
    "queries": 1_000_000,
    "limit": MAX_HITS,
}
_WRITTEN = ("ingest_per_s", "ingest_s", "ingest_peak_rss_mb")
_TITLES = {"ingest": "writing", "search": "searching", "recall": "comparing with a full scan"}

Progress = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and how much there is."""


@dataclass(frozen=True)
class Setup:
    """What is measured: so many memories over so many namespaces, asked so many questions."""

    memories: int
    namespaces: int = 1
    queries: int = 200
    limit: int = 10

    def __post_init__(self) -> None:
        for name, most in _MOST.items():
            if not 1 <= getattr(self, name) <= most:
                given = shown(getattr(self, name))
                raise InvalidInput(name, f"is {given}", f"give a number from 1 to {most:,}")
        if self.namespaces > self.memories:
            raise InvalidInput("namespaces", "are more than there are memories", "give fewer")

    def namespace(self, number: int) -> str:
        """Where the memory of that number goes: namespaces take one stretch after another."""
        return f"bench-{number * self.namespaces // self.memories}"


def bench(
    setup: Setup,
    *,
    profile: str | Profile = "balanced",
    embedder: str = "default",
    keep: Path | None = None,
    url: str | None = None,
    clients: int = 1,
    check_recall: bool = False,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Measure; every figure by name, JSON-ready.

    Args:
        setup: what is measured.
        profile: how to rank.
        embedder: what makes the vectors.
        keep: a file to write to and leave; if it exists, what it holds is measured as it is, and
            the figures of writing are null.
        url: a database to write to and leave instead; likewise.
        clients: how many processes search at the same time.
        check_recall: also find the share of the first hits that an exact scan would have given.
        progress: told how far the work is.

    Raises:
        InvalidInput: the file kept holds something else.
        SalienceError: a measuring process failed.
    """
    told = progress or (lambda what, done, total: None)
    with tempfile.TemporaryDirectory(prefix="salience-") as folder:
        path = keep or Path(folder) / "bench.db"
        chosen = profiles.get(profile)
        found: dict[str, Any] = {**asdict(setup), "profile": chosen.name, "embedder": embedder}
        place = url or f"sqlite:///{path}"
        job = {
            "setup": asdict(setup),
            "url": place,
            "profile": chosen.to_dict(),
            "embedder": embedder,
        }
        if _matches(place, setup) if url or path.exists() else False:
            written = dict.fromkeys(_WRITTEN)
        else:
            written = _work("ingest", job, told)
        asked = _questions(setup)
        found |= written | _work("search", {**job, "asked": asked}, told)
        if clients > 1:
            found |= _crowd(clients, {**job, "asked": asked}, told)
        found["file_mb"] = _size(place)
        if check_recall:
            found |= _work("recall", {**job, "asked": asked}, told)
        return found


def _crowd(clients: int, job: dict[str, Any], told: Progress) -> dict[str, Any]:
    """How fast several processes search at the same time, which begin together."""
    begin = time.time() + 3.0 + 0.5 * clients  # when all of them are ready
    with ThreadPoolExecutor(clients) as pool:
        jobs = [{**job, "client": number, "begin": begin} for number in range(clients)]
        done = list(pool.map(lambda each: _work("search", each, told), jobs))
    took = [ms for each in done for ms in each["took_ms"]]
    spent = max(each["ended"] for each in done) - min(each["begun"] for each in done)
    middle, high = statistics.quantiles(took, n=20)[9], statistics.quantiles(took, n=20)[18]
    return {
        "clients": clients,
        "clients_searches_per_s": round(len(took) / spent, 1),
        "clients_ms": {"p50": round(middle, 3), "p95": round(high, 3)},
    }


def _matches(url: str, setup: Setup) -> bool:
    """Whether a store holds what is to be measured; False where it holds nothing."""
    with Memory.open(url, embedder=None) as memory:
        held = memory.stats(everywhere=True)
    if not held["memories"]:
        return False
    if held["memories"] != setup.memories or len(held["namespaces"]) != setup.namespaces:
        raise InvalidInput(
            "keep" if url.startswith("sqlite") else "db",
            f"holds {held['memories']:,} memories in {len(held['namespaces'])} namespaces",
            "ask for as many, or empty it",
        )
    return True


def _questions(setup: Setup) -> list[tuple[str, str]]:
    """Namespaces and questions about memories chosen at random: one to begin with, then the rest.

    The texts are made once more, since reading them back would load the store being measured.
    """
    import numpy as np

    from salience.evaluation.synthetic_chats import queries, realistic

    rng = np.random.default_rng(1)
    chosen = rng.integers(setup.memories, size=setup.queries + 1).tolist()
    wanted = set(chosen)
    items = {
        number: item for number, item in enumerate(realistic(setup.memories)) if number in wanted
    }
    return [
        (setup.namespace(number), queries(1, [items[number]], seed=seed)[0])
        for seed, number in enumerate(chosen)
    ]


def _size(url: str) -> float:
    """Millions of bytes on disk."""
    if not url.startswith("sqlite:///"):
        with Memory.open(url, embedder=None) as memory:
            return float(memory.stats(everywhere=True)["file_mb"])
    path = Path(url.removeprefix("sqlite:///"))
    parts = (path, Path(f"{path}-wal"))
    return round(sum(part.stat().st_size for part in parts if part.exists()) / 1e6, 3)


def _work(task: str, job: dict[str, Any], told: Progress) -> dict[str, Any]:
    """The result of a task in a fresh process, which reports progress and then its result."""
    with subprocess.Popen(
        [sys.executable, "-c", _WORKER, task],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            with suppress(BrokenPipeError, json.JSONDecodeError):  # it ended before its time
                process.stdin.write(json.dumps(job))
                process.stdin.close()
                for message in map(json.loads, process.stdout):
                    if "result" in message:
                        return dict(message["result"])
                    if "problem" in message:
                        raise SalienceError(message["problem"])
                    told(_TITLES[task], message["done"], message["total"])
        except BaseException:
            process.kill()
            raise
    raise SalienceError(f"{_TITLES[task]} ended without a result (exit {process.returncode})")


def chunks(setup: Setup, size: int) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """All memories of a setup, in lists of at most `size` for one namespace, with its name."""
    from salience.evaluation.synthetic_chats import realistic

    stream = enumerate(realistic(setup.memories))
    pending: list[dict[str, Any]] = []
    name = setup.namespace(0)
    for number, item in stream:
        here = setup.namespace(number)
        if here != name or len(pending) == size:
            yield name, pending
            name, pending = here, []
        pending.append(item)
    yield name, pending
