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
from salience.testing.conformance._durability import Concurrency, Durability
from salience.testing.conformance._filters import Filters
from salience.testing.conformance._writes import Adding, Deleting, Linking, Updating
from support.shared_postgres import Databases
from support.suite.atomicity import Atomicity
from support.suite.changes import Exports
from support.suite.erasure import ErasureReceipts, ForgettingUsers
from support.suite.events import EventLog, TimeTravel
from support.suite.listings import Listing
from support.suite.reads import Accesses
from support.suite.reembedding import Reembedding
from support.suite.versions import Versions
from support.suite.write_outcomes import IdempotencyKeys
from support.suite.writers import UndoingWriters

WORKER = """
import json, sys
from operator import attrgetter
from salience import Memory
from salience.testing import WordHashEmbedder
memory = Memory.open(sys.argv[1], embedder=WordHashEmbedder())
print("ready", flush=True)
for line in sys.stdin:
    name, arguments, options = json.loads(line)
    try:
        answer = attrgetter(name)(memory)(*arguments, **options)
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
    "test_every_memory_has_both_vectors_that_others_write_meanwhile",
    "test_no_answer_tells_of_another_namespace",
    "test_searching_while_everything_changes",
}
"""The suite's longest tests, which `make test` has on a file alone."""
_LONGEST = {
    "test_a_call_that_is_killed_has_done_all_or_nothing",
    "test_many_are_added_in_order_and_counted",
    "test_ten_thousand_memories",
}
"""Those that it has nowhere."""
_OWN_CODE: dict[str, set[type]] = {
    "TestPostgres": {
        *(Adding, Updating, Deleting, Linking, Filters, Durability, Concurrency),
        *(Listing, Accesses, EventLog, TimeTravel, Reembedding, Atomicity, IdempotencyKeys),
        *(Exports, Versions, ErasureReceipts, ForgettingUsers, UndoingWriters),
    },
    "TestSqliteInMemory": {Concurrency},
    "TestSqliteSnapshots": {Durability, Reembedding, Accesses, ForgettingUsers},
}
"""The parts of the suite for which a store has code of its own, by one case of each test.

The rest is `deep` there.
"""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave to `make deep` what the suite tries on one store by the code of another."""
    had: set[tuple[str, str]] = set()
    for item in items:
        if not isinstance(item, pytest.Function) or item.cls is None:
            continue
        store, name = item.cls.__name__, item.originalname
        own = _OWN_CODE.get(store)
        part = next(base for base in item.cls.__mro__ if name in vars(base))
        is_here = own is None or (part in own and name not in _LONG and (store, name) not in had)
        had.add((store, name))
        if not is_here or name in _LONGEST:
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
