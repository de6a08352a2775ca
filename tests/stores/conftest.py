import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from salience.stores.postgres import PostgresStore
from salience.stores.postgres.wire.connection import Connections
from support.shared_postgres import Databases

WORKER = """
import json, sys
from salience import Memory
from salience.testing import WordHashEmbedder
memory = Memory.open(sys.argv[1], embedder=WordHashEmbedder())
print("ready", flush=True)
for line in sys.stdin:
    name, arguments, options = json.loads(line)
    try:
        answer = getattr(memory, name)(*arguments, **options)
        ids = getattr(answer, "ids", None)
        answer = list(ids) if ids is not None else answer
        if hasattr(answer, "to_dict"):
            answer = answer.to_dict()
    except Exception as problem:
        answer = {"error": f"{type(problem).__name__}: {problem}"}
    print(json.dumps(answer), flush=True)
memory.close()
"""


class Worker:
    """A memory in another process: `worker("add", "text", id="a")` is `memory.add(...)` there."""

    def __init__(self, url: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER, url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._line() == "ready"

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def ask(self, method: str, *arguments: Any, **options: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([method, arguments, options]) + "\n")
        self.process.stdin.flush()

    def answer(self) -> Any:
        return json.loads(self._line())

    def __call__(self, method: str, *arguments: Any, **options: Any) -> Any:
        self.ask(method, *arguments, **options)
        return self.answer()

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def workers() -> Iterator[Callable[[Path | str], Worker]]:
    """Starts processes with a memory in a file, or at a URL."""
    started: list[Worker] = []

    def start(place: Path | str) -> Worker:
        started.append(Worker(place if isinstance(place, str) else f"sqlite:///{place}"))
        return started[-1]

    yield start
    for worker in started:
        worker.close()


_LONG = {
    "test_a_call_that_is_killed_has_done_all_or_nothing",
    "test_no_answer_tells_of_another_namespace",
    "test_searching_while_everything_changes",
    "test_ten_thousand_memories",
}
"""The suite's longest tests: `make test` has them on a file, in RAM and on PostgreSQL."""
_PROFILES = {"test_every_profile_finds_the_same", "test_so_it_does_after_changes"}
"""The longest where an index is made for each batch."""
_KILLED = ("TestPostgres", "test_a_call_that_is_killed_has_done_all_or_nothing")
"""Longest of all on PostgreSQL, whose own transactions answer for it."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave what the suite tries on a store in two ways to `make deep` for one of them."""
    for item in items:
        if not isinstance(item, pytest.Function) or item.cls is None:
            continue
        store, name = item.cls.__name__, item.originalname
        again = {"TestSqliteInMemory": _LONG, "TestSqliteSnapshots": _LONG | _PROFILES}
        if name in again.get(store, ()) or (store, name) == _KILLED:
            item.add_marker("deep")


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[Databases]:
    """The databases of this process; where no server can start, the tests fail."""
    folder = tmp_path_factory.getbasetemp()
    if worker_id != "master":
        folder = folder.parent  # that of all workers
    with Databases(folder, worker_id) as databases:
        yield databases


@pytest.fixture(scope="session")
def cleaner(postgres: Databases) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="session")
def _pool(postgres: Databases) -> Iterator[Any]:
    store = PostgresStore(postgres.url)
    yield store.connections.pool()
    store.close()


@pytest.fixture
def shared_connections(_pool: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let stores share connections: to make these again costs as much as a case."""
    own_pool = Connections.pool
    monkeypatch.setattr(
        Connections, "pool", lambda self: _pool if self.database.is_open else own_pool(self)
    )


@pytest.fixture
def database(postgres: Databases, cleaner: psycopg.Connection[Any]) -> str:
    """The address of a database without memories."""
    tables = cleaner.execute(
        "SELECT tablename FROM pg_tables WHERE schemaname = 'salience'"
    ).fetchall()
    deletions = [f"DELETE FROM salience.{table}" for (table,) in tables if table != "meta"]
    if tables:
        deletions.append("DELETE FROM salience.meta WHERE key NOT IN ('schema', 'features')")
        cleaner.execute("; ".join(deletions).encode())
    return postgres.url
