"""The time of a search or an `add` in several versions of salience, by turns on one machine.

    python benchmarks/by_turns.py --memories 10000 --rounds 3 ../older ../newer
    python benchmarks/by_turns.py --memories 10000 --add note ../older ../newer

Each folder is a checkout. A process of each writes the memories of `salience bench` to a file and
opens it; then they ask its 200 questions, twenty at a time, one process after the other, so that
other work on the machine slows all of them alike. With --add they first add each question as a
memory of that kind ("note:alone" looks for no duplicates), and that is timed. Printed are
milliseconds of processor time: the median, the 95th percentile, and the median of the least that
each question took, which other work moves least; and their ratios to those of the first checkout.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

_QUESTIONS = 200
_TURN = 20  # questions
_WORKER = """
import json, sys, time
from pathlib import Path
from salience import Memory
from salience.evaluation import benchmark

path, memories = Path(sys.argv[1]), int(sys.argv[2])
setup = benchmark.Setup(memories, queries=1)
benchmark.bench(setup, keep=path)
asked = benchmark.questions_about(benchmark.Setup(memories))[1:]
with Memory.open(f"sqlite:///{path}") as memory:
    for name, text in asked:
        memory.for_namespace(name).search(text, touch=False)
    added = 0
    print("ready", flush=True)
    for line in sys.stdin:
        took = []
        for name, text in asked[int(line) :][: int(sys.argv[3])]:
            within, adding = memory.for_namespace(name), sys.argv[4]
            kind, _, way = adding.partition(":")
            added += 1
            started = time.process_time()
            if adding:
                within.add(f"{added}: {text}", kind=kind, dedup=False if way else None)
            else:
                within.search(text, limit=10)
            took.append((time.process_time() - started) * 1e3)
            if adding:
                within.search(text, limit=10)
        print(json.dumps(took), flush=True)
"""


class Version:
    """A process that searches, or adds, with the salience of a checkout."""

    def __init__(self, checkout: Path, file: Path, memories: int, adding: str) -> None:
        self.name = checkout.name
        self.took_ms: list[float] = []
        self._process = subprocess.Popen(
            [sys.executable, "-c", _WORKER, str(file), str(memories), str(_TURN), adding],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(checkout.resolve() / "src")},
        )
        if self._read() != "ready":
            raise SystemExit(f"{checkout} does not search; its error stands above")

    def ask(self, first: int) -> None:
        """Ask the questions of a turn, from one on."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{first}\n")
        self._process.stdin.flush()
        self.took_ms += json.loads(self._read())

    def close(self) -> None:
        """End the process."""
        self._process.communicate()

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


def main() -> None:
    """Measure the checkouts named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkouts", nargs="+", type=Path)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--add", default="", metavar="KIND")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="salience-") as folder:
        versions = [
            Version(checkout, Path(folder) / f"{place}.db", options.memories, options.add)
            for place, checkout in enumerate(options.checkouts)
        ]
        for _ in range(options.rounds):
            for first in range(0, _QUESTIONS, _TURN):
                for version in versions:
                    version.ask(first)
        for version in versions:
            version.close()
    of_first = _figures(versions[0].took_ms)
    for version in versions:
        figures = _figures(version.took_ms)
        shown = [f"{name} {ms:.2f} ({ms / of_first[name]:.2f})" for name, ms in figures.items()]
        print(f"{version.name}: {', '.join(shown)}")


def _figures(took_ms: Sequence[float]) -> dict[str, float]:
    """The figures of the times of all rounds, one round after the other."""
    p50, p95 = np.percentile(took_ms, (50, 95)).tolist()
    least = np.reshape(took_ms, (-1, _QUESTIONS)).min(axis=0)
    return {"p50": p50, "p95": p95, "least": float(np.median(least))}


if __name__ == "__main__":
    main()
