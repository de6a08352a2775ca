"""The processor time of programs that start, by turns, for several checkouts.

    python benchmarks/starting.py --rounds 7 --memories 10000 ../before ../now

Each program is a process of its own: the import of NumPy, that of Memory, `salience --help` and
`--version`, and a search of the command line in a file that no process has open. Prints the medians
in seconds, a column for each checkout.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from salience.evaluation.benchmark import Setup, bench, questions_about

PROGRAMS: Mapping[str, Sequence[str]] = {
    "import numpy": ("-c", "import numpy"),
    "from salience import Memory": ("-c", "from salience import Memory"),
    "salience --help": ("-m", "salience", "--help"),
    "salience --version": ("-m", "salience", "--version"),
}


def processor_time(arguments: Sequence[str], checkout: str) -> float:
    """The seconds of processor time that a process takes, with what it prints thrown away."""
    environment = {**os.environ, "PYTHONPATH": str(Path(checkout, "src").resolve())}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    silent = [(os.POSIX_SPAWN_OPEN, at, os.devnull, os.O_WRONLY, 0) for at in (1, 2)]
    process = os.posix_spawn(
        sys.executable, [sys.executable, *arguments], environment, file_actions=silent
    )
    _, status, used = os.wait4(process, 0)
    if status:
        raise SystemExit(f"{' '.join(arguments)} failed in {checkout}")
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkouts", nargs="+")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--memories", type=int, default=0, help="of the file that is searched")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="salience-") as folder:
        programs = dict(PROGRAMS)
        if given.memories:
            path = Path(folder, "memory.db")
            bench(Setup(given.memories, queries=1), keep=path)
            (name, text), *_ = questions_about(Setup(given.memories, queries=1))
            where = ("--db", f"sqlite:///{path}", "--namespace", name)
            programs["salience search"] = ("-m", "salience", *where, "search", text)
        took: dict[tuple[str, str], list[float]] = {}
        for turn in range(given.rounds + 1):
            for name, arguments in programs.items():
                for checkout in given.checkouts:
                    seconds = processor_time(arguments, checkout)
                    if turn:  # the first writes what the others read: compiled modules
                        took.setdefault((name, checkout), []).append(seconds)
        for name in programs:
            medians = [statistics.median(took[name, checkout]) for checkout in given.checkouts]
            print("".join(f"{median:8.3f}" for median in medians), "", name)


if __name__ == "__main__":
    main()
