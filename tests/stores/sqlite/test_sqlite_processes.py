import json
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from salience import Memory
from salience.testing import WordHashEmbedder
from salience.testing.conformance._case import WORDS

Start = Callable[[Path], Any]

WRITER = """
import sys
from salience import Memory
from salience.testing import WordHashEmbedder
url, who, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
with Memory.open(url, embedder=WordHashEmbedder()) as memory:
    for i in range(rounds):
        memory.add(f"apple from{who}", id=f"{who}-{i}")
        assert memory.search(f"from{who}", limit=100, profile="composite").ids
    memory.add_many({"id": f"{who}-bulk{i}", "content": f"bulk from{who}"} for i in range(100))
    memory.delete(f"{who}-0")
    memory.update(f"{who}-1", content=f"changed by{who}")
"""

ENDLESS = """
import itertools, json, sys
from salience import Memory
from salience.testing import WordHashEmbedder
memory = Memory.open(sys.argv[1], embedder=WordHashEmbedder())
items = ({"id": f"m{i:07}", "content": f"number{i} apple"} for i in itertools.count())
memory.add_many(items, progress=lambda done: print(done, flush=True))
"""


def opened(path: Path) -> Memory:
    return Memory.open(f"sqlite:///{path}", embedder=WordHashEmbedder())


def integrity(path: Path) -> str:
    db = sqlite3.connect(path)
    try:
        return str(db.execute("PRAGMA integrity_check").fetchone()[0])
    finally:
        db.close()


def test_each_process_sees_what_another_committed(tmp_path: Path, workers: Start) -> None:
    path = tmp_path / "memory.db"
    first, second = workers(path), workers(path)
    with opened(path) as memory:
        memory.add("a red apple", id="a")
        assert first("search", "apple") == second("search", "apple") == ["a"]
        second("add", "a green apple", id="b")
        assert sorted(memory.search("apple").ids) == ["a", "b"]
        assert first("get", "b")["content"] == "a green apple"
        first("update", "a", content="a blue plum")
        assert memory.search("apple", profile=WORDS).ids == ("b",)
        assert second("search", "plum", limit=1) == ["a"]
        first("update", "b", status="archived")
        assert memory.search("apple").ids == ("a",)
        assert second("delete", "a") == 1
        assert memory.search("apple plum").ids == ()
        assert first("delete", "a") == 0
        assert memory.get("a") is None
        assert first("add", "again", id="a") == ["a"]
        assert "IdTaken: id" in second("add", "too late", id="a")["error"]


def test_accesses_of_several_processes_add_up(tmp_path: Path, workers: Start) -> None:
    path = tmp_path / "memory.db"
    with opened(path) as memory:
        memory.add("apple", id="a")
        crowd = [workers(path) for _ in range(3)]
        for _ in range(10):
            for worker in crowd:
                worker.ask("search", "apple")
            memory.search("apple")
            assert [worker.answer() for worker in crowd] == [["a"]] * 3
        for worker in crowd:
            worker("upkeep.flush")
        kept = memory.get("a")
        assert kept is not None
        assert kept.access_count == 40
        assert len(memory.get_all({"access_count": 40})) == 1


@pytest.mark.deep
def test_concurrent_writers_lose_nothing(tmp_path: Path) -> None:
    path, names, rounds = tmp_path / "memory.db", "abcd", 8
    processes = [  # the file does not exist yet: all of them try to make it
        subprocess.Popen(
            [sys.executable, "-c", WRITER, f"sqlite:///{path}", who, str(rounds)],
            stderr=subprocess.PIPE,
            text=True,
        )
        for who in names
    ]
    problems = [process.communicate()[1] for process in processes]
    assert problems == [""] * len(names)
    with opened(path) as memory:
        for who in names:
            expected = {f"{who}-{i}" for i in range(1, rounds)} | {
                f"{who}-bulk{i}" for i in range(100)
            }
            kept = {r.id for r in memory.get_all(limit=10_000) if r.id.startswith(who)}
            assert kept == expected
            assert memory.search(f"by{who}", limit=1, touch=False).ids == (f"{who}-1",)
    assert integrity(path) == "ok"


def test_a_killed_writer_leaves_whole_chunks(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    writer = subprocess.Popen(
        [sys.executable, "-c", ENDLESS, f"sqlite:///{path}"], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    acknowledged = [int(writer.stdout.readline()) for _ in range(2)][-1]
    writer.send_signal(signal.SIGKILL)
    acknowledged = max([acknowledged, *map(int, writer.stdout.read().split())])
    assert writer.wait() == -signal.SIGKILL
    writer.stdout.close()

    assert integrity(path) == "ok"
    with opened(path) as memory:
        total = memory.get_all(limit=1).total
        assert total >= acknowledged
        assert total % 2048 == 0  # a chunk is there whole or not at all
        ids = {record.id for record in _all(memory)}
        assert ids == {f"m{i:07}" for i in range(total)}
        assert memory.search(f"number{acknowledged - 1}", limit=1).ids == (
            f"m{acknowledged - 1:07}",
        )
        memory.add("after the crash", id="after")
        assert memory.search("crash", limit=1).ids == ("after",)


def _all(memory: Memory) -> list[Any]:
    records: list[Any] = []
    cursor = None
    while True:
        page = memory.get_all(limit=10_000, cursor=cursor)
        records += page
        cursor = page.cursor
        if cursor is None:
            return records


def test_a_process_that_dies_while_another_waits_does_not_hold_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with opened(path) as memory:
        memory.add("before", id="a")
        holder = subprocess.Popen(
            [
                sys.executable,
                "-c",
                "import sqlite3, sys\n"
                "db = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
                "db.execute('BEGIN IMMEDIATE')\n"
                "db.execute('DELETE FROM memories')\n"
                "print('held', flush=True)\n"
                "sys.stdin.read()\n",
                str(path),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert holder.stdout.readline() == "held\n"
        assert memory.search("before").ids == ("a",)  # a search waits for no writer
        holder.kill()
        holder.wait()
        holder.stdout.close()
        holder.stdin.close()
        memory.add("after", id="b")
        assert json.dumps(sorted(r.id for r in memory.get_all())) == '["a", "b"]'


FORKING = """
import os, signal, sys, threading
from salience import Memory
from salience.errors import StoreError
memory = Memory.open(sys.argv[1], embedder=None)
memory.add("Green tea", id="a")
memory.search("tea")
held, let_go = threading.Event(), threading.Event()
def hold():
    store = memory._core.dispatcher.store
    with store._lock, store._records._accesses._lock, store._records._write_lock:
        held.set()
        let_go.wait()
holder = threading.Thread(target=hold)
holder.start()
held.wait()
child = os.fork()
if child == 0:
    signal.alarm(60)
    for ask in (lambda: memory.search("tea"), lambda: memory.add("x"), memory.upkeep.flush):
        try:
            ask()
        except StoreError as problem:
            print(problem, flush=True)
    memory.close()
    with Memory.open(sys.argv[1], embedder=None) as own:
        own.add("Black tea", id="b")
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
let_go.set()
holder.join()
memory.close()
"""


def test_a_forked_process_has_to_open_the_file_for_itself(tmp_path: Path) -> None:
    path = tmp_path / "forked.db"
    # Newer Pythons warn of any fork beside a thread, which is what this is about.
    quiet = ("-W", "ignore::DeprecationWarning")
    program = [sys.executable, *quiet, "-c", FORKING, f"sqlite:///{path}"]
    ran = subprocess.run(program, capture_output=True, text=True, check=False)
    said = "the store was opened before a fork; open it again in this process\n"
    assert (ran.stdout, ran.stderr, ran.returncode) == (said * 3, "", 0)
    with opened(path) as memory:
        assert sorted(record.id for record in memory.get_all()) == ["a", "b"]
        assert [event.type for event in memory.history("a")] == ["write", "retrieval"]


APART = """
import os, sys
from salience import Memory
url = sys.argv[1]
memory = Memory.open(url, embedder=None)
memory.add("Green tea", id="a")
to_parent, to_child = os.pipe(), os.pipe()
child = os.fork()
if child == 0:
    own = Memory.open(url, embedder=None)
    own.add("Black tea", id="b")
    os.write(to_parent[1], b"x")
    os.read(to_child[0], 1)
    own.add("White tea", id="c")
    own.close()
    os._exit(0)
os.read(to_parent[0], 1)
memory.close()
with Memory.open(url, embedder=None) as memory:
    memory.add("Red tea", id="d")
os.write(to_child[1], b"x")
assert os.waitpid(child, 0)[1] == 0
"""


def test_a_forked_process_and_its_parent_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "apart.db"
    subprocess.run([sys.executable, "-c", APART, f"sqlite:///{path}"], check=True)
    with opened(path) as memory:
        assert sorted(record.id for record in memory.get_all()) == ["a", "b", "c", "d"]
