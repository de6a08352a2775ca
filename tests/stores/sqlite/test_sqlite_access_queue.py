import linecache
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from salience import Memory
from salience.errors import StoreError
from salience.stores import EmbeddedStore, access_queue
from salience.stores.sqlite import connection, dialect
from salience.stores.sqlite import records as sqlite
from salience.stores.sqlite.records import SqliteRecords
from salience.testing import WordHashEmbedder
from support.waiting import HANG_SECONDS, until

WRITING = {Path(str(module.__file__)) for module in (access_queue, sqlite, dialect, connection)}


class Watcher:
    """A connection of its own to the file: it sees what is committed and nothing else."""

    def __init__(self, path: Path) -> None:
        self.db = sqlite3.connect(path, timeout=30)

    def commits(self) -> int:
        return int(self.db.execute("PRAGMA data_version").fetchone()[0])

    def count(self, id: str = "a") -> int:
        found = self.db.execute("SELECT access_count FROM memories WHERE id = ?", (id,)).fetchone()
        return int(found[0])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def memory(path: Path) -> Iterator[Memory]:
    with Memory.open(f"sqlite:///{path}", embedder=WordHashEmbedder()) as memory:
        memory.add_many({"id": id, "content": f"apple {id}"} for id in "abc")
        yield memory


@pytest.fixture
def watcher(memory: Memory, path: Path) -> Iterator[Watcher]:
    watcher = Watcher(path)
    yield watcher
    watcher.db.close()


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written on its own during the test."""
    monkeypatch.setattr(access_queue, "WRITE_DELAY_SECONDS", 3600.0)


@pytest.mark.usefixtures("late")
def test_a_search_never_commits(memory: Memory, watcher: Watcher) -> None:
    before = watcher.commits()
    for _ in range(20):
        memory.search("apple")
        memory.search("apple", profile="composite", explain=True)
        memory.explain("apple", "a")
        memory.get("a")
        memory.get_all({"access_count": {"gt": 0}})
    assert watcher.commits() == before
    assert watcher.count() == 0
    kept = memory.get("a")
    assert kept is not None
    assert kept.access_count == 40


def test_accesses_are_written_on_their_own(memory: Memory, watcher: Watcher) -> None:
    memory.search("apple")
    until(lambda: watcher.count() == 1)
    memory.search("apple")
    until(lambda: watcher.count() == 2)


@pytest.mark.usefixtures("late")
@pytest.mark.parametrize(
    "write",
    [
        lambda memory: memory.add("another"),
        lambda memory: memory.update("b", importance=0.1),
        lambda memory: memory.update("b", content="new"),
        lambda memory: memory.delete("b"),
        lambda memory: memory.upkeep.flush(),
        lambda memory: memory.close(),
    ],
)
def test_accesses_are_written_before_the_next_write(
    memory: Memory, watcher: Watcher, write: Callable[[Memory], Any]
) -> None:
    memory.search("apple")
    memory.search("apple", filters={"id": "a"})
    write(memory)
    assert watcher.count() == 2
    [last] = watcher.db.execute("SELECT last_accessed FROM memories WHERE id = 'a'").fetchone()
    assert last is not None


@pytest.mark.usefixtures("late")
def test_the_log_is_read_while_somebody_else_writes(memory: Memory, watcher: Watcher) -> None:
    memory.search("apple", filters={"id": "a"})
    memory.touch("b", use="read")
    watcher.db.execute("BEGIN IMMEDIATE")
    try:
        told = [event for id in "abc" for event in memory.history(id)]
        types = [event.type for event in told]
        assert types == ["write", "retrieval", "write", "read", "write"]
        assert len({event.seq for event in told}) == len(told)
        assert memory.upkeep.verify()
        assert len(memory.search("apple", as_of=datetime.now(timezone.utc))) == 3
    finally:
        watcher.db.execute("ROLLBACK")
    memory.upkeep.flush()
    assert [event.type for id in "abc" for event in memory.history(id)] == types
    assert memory.upkeep.verify()


@pytest.mark.usefixtures("late")
def test_many_accesses_are_one_commit(memory: Memory, watcher: Watcher) -> None:
    for _ in range(50):
        memory.search("apple")
    before = watcher.commits()
    memory.upkeep.flush()
    assert watcher.commits() == before + 1
    assert [watcher.count(id) for id in "abc"] == [50] * 3
    memory.upkeep.flush()
    assert watcher.commits() == before + 1


@pytest.mark.usefixtures("late")
def test_an_access_of_an_erased_memory_is_forgotten(memory: Memory, path: Path) -> None:
    memory.search("apple")
    other = Memory.open(f"sqlite:///{path}", embedder=WordHashEmbedder())
    other.delete("a")
    other.close()
    memory.upkeep.flush()
    assert sorted(record.id for record in memory.get_all({"access_count": 1})) == ["b", "c"]


@pytest.mark.usefixtures("late")
def test_what_could_not_be_written_is_kept(path: Path) -> None:
    records = SqliteRecords(str(path))
    with Memory.open(EmbeddedStore(records), embedder=WordHashEmbedder()) as memory:
        memory.add("apple", id="a")
        memory.search("apple")
        db, records._writer = records._writer, sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        with pytest.raises(StoreError, match="readonly"):
            memory.upkeep.flush()
        memory.search("apple")
        kept = memory.get("a")
        assert kept is not None
        assert kept.access_count == 2
        records._writer.close()
        records._writer = db
        memory.upkeep.flush()
        watcher = Watcher(path)
        assert watcher.count() == 2
        watcher.db.close()
        assert len(memory.get_all({"access_count": 2})) == 1


@contextmanager
def interrupted(at: int) -> Iterator[None]:
    """A Ctrl-C before the `at`-th line that runs in the modules that write accesses."""
    lines = count()
    before = sys.gettrace()

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if Path(frame.f_code.co_filename) not in WRITING:
            return None
        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
        # Python itself lets none come while it leaves a `with`.
        if event == "line" and not line.startswith("with ") and next(lines) == at:
            raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


@pytest.mark.usefixtures("late")
@pytest.mark.parametrize("where", ["touch", "flush"])
def test_an_interrupt_neither_loses_an_access_nor_counts_it_twice(
    memory: Memory, watcher: Watcher, where: str
) -> None:
    for at in count():
        memory.touch("a")
        try:
            with interrupted(at):
                memory.touch("b") if where == "touch" else memory.upkeep.flush()
            break
        except KeyboardInterrupt:
            pass
        used = [memory.get("a"), memory.get("b")]
        memory.upkeep.flush()
        assert used == [memory.get("a"), memory.get("b")]  # what is read before says as much
        assert watcher.count() == at + 1
        assert memory.upkeep.verify()
    assert at > 5  # else nothing was interrupted


@pytest.mark.usefixtures("late")
def test_an_interrupt_right_after_the_commit_leaves_nothing_to_write(
    memory: Memory, watcher: Watcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = memory._core.dispatcher.store._records  # type: ignore[attr-defined]

    class Interrupted:
        """Raises what Python does when Ctrl-C comes while SQLite commits."""

        def __getattr__(self, name: str) -> Any:
            return getattr(writer, name)

        def execute(self, sql: str, *given: Any) -> Any:
            answer = writer.execute(sql, *given)
            if sql == "COMMIT":
                monkeypatch.undo()
                raise KeyboardInterrupt
            return answer

    writer = records._writer
    memory.touch("a")
    monkeypatch.setattr(records, "_writer", Interrupted())
    with pytest.raises(KeyboardInterrupt):
        memory.upkeep.flush()
    memory.touch("a")
    assert [event.type for event in memory.history("a")] == ["write", "reference", "reference"]
    memory.upkeep.flush()
    assert watcher.count() == 2
    assert memory.upkeep.verify()


def test_reading_while_accesses_are_written_never_counts_twice(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader between the commit and the end of the write sees each access once."""
    monkeypatch.setattr(access_queue, "WRITE_DELAY_SECONDS", 3600.0)
    records = SqliteRecords(str(path))
    committed, go_on = threading.Event(), threading.Event()
    write = records._write_batch

    def slow(batch: access_queue.Batch) -> None:
        write(batch)
        committed.set()
        assert go_on.wait(HANG_SECONDS)

    with Memory.open(EmbeddedStore(records), embedder=WordHashEmbedder()) as memory:
        memory.add("apple", id="a")
        memory.get_all({"access_count": 0})
        memory.search("apple")
        before = records.version()
        monkeypatch.setattr(records, "_write_batch", slow)
        flush = threading.Thread(target=memory.upkeep.flush)
        flush.start()
        assert committed.wait(HANG_SECONDS)
        now = records.version()
        assert (now.epoch, now.seq > before.seq) == (before.epoch, True)  # no news to its index
        for _ in range(2):
            assert len(memory.get_all({"access_count": 1})) == 1
            kept = memory.get("a")
            assert kept is not None
            assert kept.access_count == 1
        go_on.set()
        flush.join()
        assert len(memory.get_all({"access_count": 1})) == 1


def test_a_file_open_for_reading_counts_nothing(path: Path, memory: Memory) -> None:
    memory.close()
    reading = Memory.open(f"sqlite:///{path}?mode=ro", embedder=WordHashEmbedder())
    reading.search("apple")
    kept = reading.get("a")
    assert kept is not None
    assert (kept.access_count, kept.last_accessed) == (0, None)
    assert reading.get_all({"access_count": {"gt": 0}}).total == 0
    before = [(hit.id, hit.score) for hit in reading.search("apple", profile="composite")]
    assert [(hit.id, hit.score) for hit in reading.search("apple", profile="composite")] != []
    assert {id for id, _ in before} == {"a", "b", "c"}
    reading.close()


def test_accesses_are_written_when_the_program_ends_without_closing(tmp_path: Path) -> None:
    program = (
        "import sys; from salience import Memory; "
        "memory = Memory.open(sys.argv[1], embedder=None); "
        "memory.add('Green tea', id='a'); print(len(memory.search('tea')))"
    )
    path = tmp_path / "left.db"
    ran = subprocess.run(
        [sys.executable, "-c", program, f"sqlite:///{path}"], capture_output=True, text=True
    )
    assert (ran.stdout.strip(), ran.stderr) == ("1", "")
    watcher = Watcher(path)
    assert watcher.count() == 1
    watcher.db.close()


def test_where_no_thread_starts_an_access_is_written_at_once(
    memory: Memory, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(timer: threading.Timer) -> None:
        raise RuntimeError("can't start new thread")

    watcher = Watcher(path)
    monkeypatch.setattr(threading.Timer, "start", refuse)
    for times in (1, 2):
        assert memory.search("apple a", limit=1).ids == ("a",)
        assert watcher.count() == times
    watcher.db.close()
