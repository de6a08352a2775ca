"""Measuring speed: how fast memories are written, opened and searched, and what that takes.

Writing and searching happen in a process of their own each, so that the time to a first result and
the memory used are those of a program that does nothing else.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from recollect import profiles
from recollect.engine import Memory
from recollect.errors import InvalidInput, RecollectError
from recollect.profile import Profile

# Importing is timed, so nothing of the library may be imported before the clock starts.
_WORKER = (
    "import time; began = time.perf_counter(); "
    "from recollect.evaluate import _bench_worker; _bench_worker.main(began)"
)

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
        for name, least in (("memories", 1), ("namespaces", 1), ("queries", 1), ("limit", 1)):
            if getattr(self, name) < least:
                raise InvalidInput(name, f"is {getattr(self, name)}", f"give at least {least}")
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
        check_recall: also find the share of the first hits that an exact scan would have given.
        progress: told how far the work is.

    Raises:
        InvalidInput: the file kept holds something else.
        RecollectError: a measuring process failed.
    """
    told = progress or (lambda what, done, total: None)
    with tempfile.TemporaryDirectory(prefix="recollect-") as folder:
        path = keep or Path(folder) / "bench.db"
        chosen = profiles.get(profile)
        found: dict[str, Any] = {**asdict(setup), "profile": chosen.name, "embedder": embedder}
        job = {
            "setup": asdict(setup),
            "url": f"sqlite:///{path}",
            "profile": chosen.to_dict(),
            "embedder": embedder,
        }
        if keep is not None and keep.exists():
            _matches(keep, setup)
            written = dict.fromkeys(("ingest_per_s", "ingest_s", "ingest_peak_rss_mb"))
        else:
            written = _work("ingest", job, told)
        asked = _questions(setup)
        searched = _work("search", {**job, "asked": asked}, told)
        found |= written | searched
        found["file_mb"] = round(_size(path) / 1e6, 3)
        if check_recall:
            found |= _work("recall", {**job, "asked": asked}, told)
        return found


def _matches(path: Path, setup: Setup) -> None:
    with Memory.open(f"sqlite:///{path}", embedder=None) as memory:
        held = memory.stats(everywhere=True)
    if held["memories"] != setup.memories or len(held["namespaces"]) != setup.namespaces:
        raise InvalidInput(
            "keep",
            f"{path} holds {held['memories']:,} memories in {len(held['namespaces'])} namespaces",
            "ask for as many, or remove the file",
        )


def _questions(setup: Setup) -> list[tuple[str, str]]:
    """Namespaces and questions about memories chosen at random: one to begin with, then the rest.

    The texts are made once more, since reading them back would load the store being measured.
    """
    import numpy as np

    from recollect.evaluate.texts import queries, realistic

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


def _size(path: Path) -> int:
    return sum(part.stat().st_size for part in (path, Path(f"{path}-wal")) if part.exists())


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
                        raise RecollectError(message["problem"])
                    told(_TITLES[task], message["done"], message["total"])
        except BaseException:
            process.kill()
            raise
    raise RecollectError(f"{_TITLES[task]} ended without a result (exit {process.returncode})")


def chunks(setup: Setup, size: int) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """All memories of a setup, in lists of at most `size` for one namespace, with its name."""
    from recollect.evaluate.texts import realistic

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
