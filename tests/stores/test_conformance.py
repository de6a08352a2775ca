import asyncio
import contextvars
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from salience import Memory
from salience.retrieval.operations import Op
from salience.stores.postgres import PostgresStore
from salience.testing.conformance import StoreConformance
from salience.testing.conformance._durability import Concurrency
from salience.testing.conformance._events import EventLog, Judgments, TimeTravel
from salience.testing.conformance._keys import AccessKeys
from salience.testing.conformance._links import Notes
from salience.testing.conformance._rankings import Rankings
from salience.testing.conformance._reads import SessionTurns
from salience.testing.conformance._write_outcomes import IdempotencyKeys
from salience.testing.conformance._writes import Linking
from support.query_plans import reading_plans


class TestRam(StoreConformance):
    persistent = False

    def open_memory(self, **settings: Any) -> Memory:
        return Memory.open("ram://", **settings)


class TestSqliteFile(StoreConformance):
    """The plan of every statement is read: none may read all that a namespace has in a table."""

    @pytest.fixture(autouse=True)
    def place(self, tmp_path: Path) -> Iterator[None]:
        self.path = tmp_path / "memory.db"
        with reading_plans():
            yield

    def open_memory(self, **settings: Any) -> Memory:
        return Memory.open(f"sqlite:///{self.path}", **settings)


class TestSqliteInMemory(StoreConformance):
    persistent = False

    def open_memory(self, **settings: Any) -> Memory:
        return Memory.open("sqlite:///:memory:", **settings)


class TestPostgres(StoreConformance):
    @pytest.fixture(autouse=True)
    def place(self, database: str, shared_connections: None) -> None:
        self.url = database

    def open_memory(self, **settings: Any) -> Memory:
        return Memory.open(PostgresStore(self.url, memory=0), **settings)


class TestPostgresKept(StoreConformance):
    """Every namespace is searched in the process's memory from the first search on."""

    @pytest.fixture(autouse=True)
    def place(self, database: str, shared_connections: None) -> None:
        self.url = database

    def open_memory(self, **settings: Any) -> Memory:
        return Memory.open(PostgresStore(self.url, memory=1 << 30, at_once=True), **settings)


class Awaited:
    """A store whose every batch is awaited, in an event loop of its own."""

    def __init__(self, url: str, loop: asyncio.AbstractEventLoop) -> None:
        self._inner, self._loop = PostgresStore(url, memory=0), loop
        self._contexts = threading.local()
        self.embedder, self.flush = self._inner.embedder, self._inner.flush

    def batch(self, ops: Sequence[Op]) -> Sequence[Any]:
        # One context for all batches of a thread, as the batches of one task have.
        if not hasattr(self._contexts, "own"):
            self._contexts.own = contextvars.copy_context()
        return self._result(self._inner.abatch(ops), self._contexts.own)

    def close(self) -> None:
        self._result(self._inner.aclose(), contextvars.copy_context())

    def _result(self, work: Any, context: contextvars.Context) -> Any:
        async def inside() -> Any:
            return await asyncio.get_running_loop().create_task(work, context=context)

        return asyncio.run_coroutine_threadsafe(inside(), self._loop).result()


@pytest.fixture(scope="module")
def event_loop_elsewhere() -> Iterator[asyncio.AbstractEventLoop]:
    """An event loop that runs in a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield loop
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


class TestPostgresAwaited(
    Rankings,
    Concurrency,
    IdempotencyKeys,
    Linking,
    Judgments,
    EventLog,
    SessionTurns,
    Notes,
    TimeTravel,
    AccessKeys,
):
    """A sample of the suite that uses every operation: both ways run the same generators."""

    @pytest.fixture(autouse=True)
    def place(self, database: str, event_loop_elsewhere: asyncio.AbstractEventLoop) -> None:
        self.url, self.loop = database, event_loop_elsewhere

    def open_memory(self, **settings: Any) -> Memory:
        return Memory.open(Awaited(self.url, self.loop), **settings)
