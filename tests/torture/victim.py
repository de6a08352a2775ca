"""The process that is killed: makes the calls of a round, and says when each begins and is done."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection

from salience.errors import SalienceError
from salience.stores.embedded import EmbeddedStore
from salience.stores.sqlite.records import SqliteRecords
from torture.life import CALLS, do, opened

FOREIGN = "foreign"


@dataclass(frozen=True, slots=True)
class Round:
    """The calls of a round as (number in `CALLS`, seed), and when to die.

    The process ends itself before the n-th statement of call `at`, if `statement` is n; otherwise
    it is killed from outside.
    """

    url: str
    calls: Sequence[tuple[int, int]]
    at: int
    statement: int | None = None


def live(plan: Round, pipe: Connection) -> None:
    """Make the calls up to one that fails, and report (number, what happened) over the pipe."""
    store: EmbeddedStore | str = plan.url
    if plan.statement is not None:
        records = SqliteRecords(plan.url)
        store = EmbeddedStore(records)
    with opened(store) as memory:
        for n, (call, seed) in enumerate(plan.calls):
            if n == plan.at and plan.statement is not None:
                die_before_statement(records, plan.statement)
            pipe.send((n, "begun"))
            try:
                do(CALLS[call], memory, seed)
            except SalienceError as problem:
                pipe.send((n, f"{type(problem).__name__}: {problem}"))
                return
            except Exception as problem:
                pipe.send((n, f"{FOREIGN} {type(problem).__name__}: {problem}"))
                return
            pipe.send((n, "done"))


def die_before_statement(records: SqliteRecords, statement: int) -> None:
    """Kill this process as the n-th statement of the writing connection is about to run."""
    left = statement

    def count(_: str) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    records._writer.set_trace_callback(count)
