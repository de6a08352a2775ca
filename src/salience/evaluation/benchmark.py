"""The speed of writing, opening and searching, and the space that it takes.

Writing and searching run in a process each, so that the time to a first result and the memory used
are those of a program that does nothing else.
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
from pathlib import Path
from typing import Any

from salience.engine.memory import Memory
from salience.errors import InvalidInput, SalienceError, shown
from salience.lazily import asdict, dataclass
from salience.ranking import profiles
from salience.ranking.profile import Profile
from salience.search.request import MAX_HITS

# Importing is timed, so the library must not be imported before the clock starts.
_WORKER = (
    "import time; began = time.perf_counter(); "
    "from salience.evaluation import _bench_worker; _bench_worker.main(began)"
)

_MAXIMA = {
    "memories": 1_000_000_000,
    "namespaces": 1_000_000_000,
    "queries": 1_000_000,
    "limit": MAX_HITS,
}
_INGEST_FIGURES = ("ingest_per_s", "ingest_s", "ingest_peak_rss_mb")
_TITLES = {
    "ingest": "writing",
    "search": "searching",
    "recall": "comparing with a full scan",
}

Progress = Callable[[str, int, int], None]
"""Takes the step, how much of it is done, and how much there is."""


@dataclass(frozen=True)
class Setup:
    """The size of a benchmark; the memories are spread evenly over the namespaces."""

    memories: int
    namespaces: int = 1
    queries: int = 200
    limit: int = 10

    def __post_init__(self) -> None:
        for name, maximum in _MAXIMA.items():
            if not 1 <= getattr(self, name) <= maximum:
                value = shown(getattr(self, name))
                raise InvalidInput(name, f"is {value}", f"give a number from 1 to {maximum:,}")
        if self.namespaces > self.memories:
            raise InvalidInput("namespaces", "are more than there are memories", "give fewer")

    def namespace(self, number: int) -> str:
        """The namespace of the memory with that number; each holds a range of numbers."""
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
    """Measure; the figures by name, JSON-ready.

    Args:
        setup: the numbers of memories, namespaces, questions and hits.
        profile: the ranking profile.
        embedder: the embedder of memories and questions.
        keep: a file to write to and keep; if it exists, its memories are measured as they are,
            and the figures of writing are null.
        url: a database to write to and keep instead; likewise.
        clients: processes that search at the same time.
        check_recall: also measure the share of the first hits that an exact scan returns.
        progress: called with each step.

    Raises:
        InvalidInput: the file or the database holds other memories.
        SalienceError: a measuring process failed.
    """
    report_progress = progress or (lambda step, done, total: None)
    with tempfile.TemporaryDirectory(prefix="salience-") as folder:
        path = keep or Path(folder) / "bench.db"
        ranking = profiles.get(profile)
        figures: dict[str, Any] = {**asdict(setup), "profile": ranking.name, "embedder": embedder}
        place = url or f"sqlite:///{path}"
        job = {
            "setup": asdict(setup),
            "url": place,
            "profile": ranking.to_dict(),
            "embedder": embedder,
        }
        if _matches(place, setup) if url or path.exists() else False:
            ingest_figures = dict.fromkeys(_INGEST_FIGURES)
        else:
            ingest_figures = _run_task("ingest", job, report_progress)
        questions = questions_about(setup)
        figures |= ingest_figures | _run_task(
            "search", {**job, "asked": questions}, report_progress
        )
        if clients > 1:
            figures |= _concurrent_search(clients, {**job, "asked": questions}, report_progress)
        figures["file_mb"] = _size(place)
        if check_recall:
            figures |= _run_task("recall", {**job, "asked": questions}, report_progress)
        return figures


def _concurrent_search(
    clients: int, job: dict[str, Any], report_progress: Progress
) -> dict[str, Any]:
    """The speed of several processes that begin to search at the same moment."""
    begin = time.time() + 3.0 + 0.5 * clients  # when all of them are ready
    with ThreadPoolExecutor(clients) as pool:
        jobs = [{**job, "client": number, "begin": begin} for number in range(clients)]
        results = list(pool.map(lambda job: _run_task("search", job, report_progress), jobs))
    took_ms = [ms for result in results for ms in result["took_ms"]]
    elapsed = max(result["ended"] for result in results) - min(
        result["begun"] for result in results
    )
    p50, p95 = statistics.quantiles(took_ms, n=20)[9], statistics.quantiles(took_ms, n=20)[18]
    return {
        "clients": clients,
        "clients_searches_per_s": round(len(took_ms) / elapsed, 1),
        "clients_ms": {"p50": round(p50, 3), "p95": round(p95, 3)},
    }


def _matches(url: str, setup: Setup) -> bool:
    """True if a store holds the memories of a setup; False if it is empty."""
    with Memory.open(url, embedder=None) as memory:
        stats = memory.stats(everywhere=True)
    if not stats["memories"]:
        return False
    if stats["memories"] != setup.memories or len(stats["namespaces"]) != setup.namespaces:
        raise InvalidInput(
            "keep" if url.startswith("sqlite") else "db",
            f"holds {stats['memories']:,} memories in {len(stats['namespaces'])} namespaces",
            "ask for as many, or empty it",
        )
    return True


def questions_about(setup: Setup) -> list[tuple[str, str]]:
    """Namespaces and questions about memories chosen at random: the opening one, then the rest.

    The texts are generated again, because reading them would load the store being measured.
    """
    import numpy as np

    from salience.evaluation.synthetic_chats import queries, realistic

    rng = np.random.default_rng(1)
    numbers = rng.integers(setup.memories, size=setup.queries + 1).tolist()
    chosen = set(numbers)
    items = {
        number: item for number, item in enumerate(realistic(setup.memories)) if number in chosen
    }
    return [
        (setup.namespace(number), queries(1, [items[number]], seed=seed)[0])
        for seed, number in enumerate(numbers)
    ]


def _size(url: str) -> float:
    """Millions of bytes on disk."""
    if not url.startswith("sqlite:///"):
        with Memory.open(url, embedder=None) as memory:
            return float(memory.stats(everywhere=True)["file_mb"])
    path = Path(url.removeprefix("sqlite:///"))
    parts = (path, Path(f"{path}-wal"))
    return round(sum(part.stat().st_size for part in parts if part.exists()) / 1e6, 3)


def _run_task(task: str, job: dict[str, Any], report_progress: Progress) -> dict[str, Any]:
    """The result of a task in a new process, which writes its progress and then the result."""
    with subprocess.Popen(
        [sys.executable, "-c", _WORKER, task],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            with suppress(BrokenPipeError, json.JSONDecodeError):  # it ended early
                process.stdin.write(json.dumps(job))
                process.stdin.close()
                for message in map(json.loads, process.stdout):
                    if "result" in message:
                        return dict(message["result"])
                    if "problem" in message:
                        raise SalienceError(message["problem"])
                    report_progress(_TITLES[task], message["done"], message["total"])
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
