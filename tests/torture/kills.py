"""Kills of a writing process at random moments and before random statements, on SQLite.

A round plans some calls. They are first made undisturbed on a copy of the store, and the state
after each is kept. Then another process makes them on a second copy and is killed during one of
them. What is found there afterwards has to be the state after the last call that was acknowledged,
or after the one that was under way.
"""

from __future__ import annotations

import multiprocessing
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from random import Random
from shutil import copyfile
from typing import Any

from salience.errors import SalienceError
from salience.stores.embedded import EmbeddedStore
from salience.stores.sqlite.records import SqliteRecords
from torture.life import CALLS, LONG_AGO, do, found, opened
from torture.state import State, answers, first_difference, rebuilt, state
from torture.tally import Tally
from torture.victim import FOREIGN, Round, live

CALLS_A_ROUND = 5
_DEATH_SECONDS = 300.0
Planned = Sequence[tuple[int, int]]


def planned(random: Random) -> tuple[list[tuple[int, int]], int]:
    """The calls of a round with their seeds, and the place of the one to be killed in."""
    calls = [(random.randrange(len(CALLS)), random.randrange(2**32)) for _ in range(CALLS_A_ROUND)]
    return calls, random.randrange(CALLS_A_ROUND)


def undisturbed(url: Any, calls: Planned) -> tuple[list[State], list[float], list[int]]:
    """The states before and after each call, the seconds it took, and its written statements."""
    statements: list[int] = [0] * len(calls)
    seconds: list[float] = []
    records = SqliteRecords(str(url)) if isinstance(url, Path) else None
    with opened(url if records is None else EmbeddedStore(records)) as memory:
        states = [state(memory)]
        for n, (call, seed) in enumerate(calls):
            if records is not None:
                records._writer.set_trace_callback(_counter(statements, n))
            begun = time.perf_counter()
            do(CALLS[call], memory, seed)
            seconds.append(time.perf_counter() - begun)
            states.append(state(memory))
    return states, seconds, statements


def _counter(counts: list[int], place: int) -> Callable[[str], None]:
    def count(_: str) -> None:
        counts[place] += 1

    return count


class Victims:
    """Processes that are killed; each is a fork of one that has imported everything."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["torture.victim"])

    def kill(
        self, plan: Round, after: float, other: Callable[[], None] | None = None
    ) -> list[tuple[int, str]]:
        """Run a round, and kill it some seconds into its call; returns its reports.

        With `other`, that is called instead of killing the process, which then comes to its end.
        """
        receiver, sender = self._context.Pipe(duplex=False)
        process = self._context.Process(target=live, args=(plan, sender))
        process.start()
        sender.close()
        reports: list[tuple[int, str]] = []
        with suppress(EOFError):
            while receiver.poll(_DEATH_SECONDS):
                reports.append(receiver.recv())
                if plan.statement is None and reports[-1] == (plan.at, "begun"):
                    time.sleep(after)
                    (other or process.kill)()
        process.kill()
        process.join()
        receiver.close()
        return reports


def judge(
    tally: Tally, label: str, url: Any, states: list[State], reports: Any, plan: Round
) -> bool:
    """Compare what is left with what was acknowledged; True if all is right."""
    findings = len(tally.findings)
    for n, report in reports:
        if report.startswith(FOREIGN):
            tally.report("foreign", f"{label} call {n}: {report}")
    done = sum(report == "done" for _, report in reports)
    tally.acknowledged += done
    begun = max((n for n, _ in reports), default=-1)
    name = CALLS[plan.calls[begun][0]].name if begun >= done else "between calls"
    label = f"{label}, {name}"
    try:
        _judge_state(tally, label, url, states, (done, begun), plan)
    except SalienceError as problem:
        tally.report("broken", f"{label}: {type(problem).__name__}: {problem}")
    except Exception as problem:
        tally.report("foreign", f"{label}: {type(problem).__name__}: {problem}")
    return len(tally.findings) == findings


def _judge_state(
    tally: Tally, label: str, url: Any, states: list[State], ends: tuple[int, int], plan: Round
) -> None:
    done, begun = ends
    allowed = states[done : begun + 2]
    with opened(url) as memory:
        left = state(memory)
        if not memory.upkeep.verify():
            tally.report("verify", f"{label}: {memory.upkeep.verify()}")
        if answers(memory) != rebuilt(memory):
            tally.report("searches", f"{label}: differ from those of a rebuilt store")
        if left not in allowed and begun >= done and CALLS[plan.calls[begun][0]].in_steps:
            do(CALLS[plan.calls[begun][0]], memory, plan.calls[begun][1])  # goes on where it was
            left = state(memory)
        if left in allowed:
            pass
        elif left in states[:done]:
            tally.report("lost", f"{label}: acknowledged {done}, state {states.index(left)}")
        else:
            tally.report("half", f"{label}: {first_difference(left, allowed[-1])}")
        memory.add("The store goes on.", id="after")
        if "after" not in memory.search("Who goes on?", touch=False).ids:
            tally.report("searches", f"{label}: what is added afterwards is not found")


def on_sqlite(
    rounds: Sequence[int], seed: int, folder: Path, progress: Callable[[Tally], None]
) -> Tally:
    """Kill a process that writes to a file: half at any moment, half before a statement."""
    tally, victims = Tally("kills, SQLite", seed), Victims()
    first = folder / "first.db"
    with opened(first, LONG_AGO) as memory:
        found(memory)
    for number in rounds:
        random = Random(f"{seed}/{number}")
        calls, at = planned(random)
        paths = [folder / f"{name}.db" for name in ("whole", "killed")]
        for path in paths:
            remove(path)
            copyfile(first, path)
        states, seconds, statements = undisturbed(paths[0], calls)
        statement = random.randint(1, statements[at]) if number % 2 and statements[at] else None
        plan = Round(str(paths[1]), calls, at, statement)
        reports = victims.kill(plan, random.uniform(0.0, 1.3) * seconds[at])
        moment = "moment" if statement is None else f"statement {statement} of {statements[at]}"
        label = f"round {number}, {moment}"
        if judge(tally, label, paths[1], states, reports, plan):
            _check_file(tally, label, paths[1])
        tally.rounds += 1
        progress(tally)
    return tally


def remove(path: Path) -> None:
    """Remove a database with its log."""
    for ending in ("", "-wal", "-shm"):
        Path(f"{path}{ending}").unlink(missing_ok=True)


def _check_file(tally: Tally, label: str, path: Path) -> None:
    with closing(sqlite3.connect(path)) as file:
        [answer] = file.execute("PRAGMA integrity_check").fetchone()
    if answer != "ok":
        tally.report("file", f"{label}: {answer}")
