"""The base of every part of the suite: a store to open, a clock to set, short forms of calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from salience import Memory, Profile
from salience.ranking.expressions import Col
from salience.ranking.signals import similarity
from salience.ranking.stages import cut, retrieve, score
from salience.records.record import MemoryRecord
from salience.retrieval.operations import Op
from salience.retrieval.plan import ask, drive
from salience.retrieval.routes import Lexical, Vector
from salience.testing.embedder import WordHashEmbedder

START = datetime(2026, 3, 1, 12, 0, tzinfo=timezone.utc)

WORDS = Profile("words", retrieve(Lexical(), depth=None) >> score(Col("lexical.score")) >> cut())
"""Ranks by words alone."""

EVERYTHING = Profile("everything", retrieve(Vector(), depth=None) >> score(similarity()) >> cut())
"""Ranks by vectors alone, every memory that has one."""


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def pass_(self, **duration: float) -> datetime:
        """Advance the clock by a `timedelta(**duration)` and return the new time."""
        self.now += timedelta(**duration)
        return self.now


class StoreCase:
    """Tests of a store that a subclass opens."""

    persistent = True
    """True if a store that is closed and opened again still has its memories."""

    embedder = WordHashEmbedder()

    def open_memory(self, **settings: Any) -> Memory:
        """Open the store of this test with `Memory.open(..., **settings)`.

        The first call of a test makes an empty store; later calls open the same one again.
        """
        raise NotImplementedError("define how the store under test is opened")

    def reopen(self, memory: Memory, **settings: Any) -> Memory:
        """Close a memory and open its store again; the test is skipped if it is not persistent."""
        if not self.persistent:
            pytest.skip("this store loses its memories when it is closed")
        memory.close()
        return self.open_memory(embedder=self.embedder, **settings)

    @pytest.fixture
    def clock(self) -> Clock:
        """The clock of `memory`."""
        return Clock()

    @pytest.fixture
    def memory(self, clock: Clock) -> Iterator[Memory]:
        """The memory of an empty store."""
        memory = self.open_memory(embedder=self.embedder, clock=clock)
        yield memory
        memory.close()


def check_cases(cases: Iterable[Any], check: Callable[[Any], None]) -> None:
    """Check each row of a table on the same store; a failure names the rows that fail."""
    failures = []
    for case in cases:
        try:
            check(case)
        except Exception as error:
            failures.append(f"{case}: {type(error).__name__}: {error}")
    if failures:
        pytest.fail(f"{len(failures)} cases fail:\n" + "\n\n".join(failures), pytrace=False)


def perform(memory: Memory, operation: Op) -> Any:
    """The answer of the store to one operation."""
    return drive(ask(operation), memory._core.dispatcher.batch)


def search_ids(memory: Memory, query: str, **options: Any) -> list[str]:
    """The ids of the hits of a search by words, best first; no access is counted."""
    options = {"profile": WORDS, "limit": 1000, "touch": False, **options}
    return list(memory.search(query, **options).ids)


def list_ids(memory: Memory, filters: Any = None) -> list[str]:
    """The ids of the memories that pass a filter, newest first."""
    return [record.id for record in memory.get_all(filters, limit=10_000)]


def get_record(memory: Memory, id: str) -> MemoryRecord:
    """A memory that has to exist."""
    memory_record = memory.get(id)
    assert memory_record is not None, f"there is no memory {id!r}"
    return memory_record
