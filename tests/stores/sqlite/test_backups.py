"""Backups of a file in use, their restoration, and logs of other files."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from salience import Memory
from salience.errors import InvalidInput, StoreError
from support.waiting import until

ADDING = """
import sys
from salience import Memory
with Memory.open(sys.argv[1], embedder=None) as memory:
    print("open", flush=True)
    for i in range(100_000):
        memory.add(f"Written by another process, number {i}.", id=f"other{i}")
"""
BACKING_UP = """
import sys
from salience import Memory
with Memory.open(sys.argv[1], embedder=None) as memory:
    print("open", flush=True)
    while True:
        memory.backup(sys.argv[2], overwrite=True)
"""


def opened(path: Path) -> Memory:
    return Memory.open(path, embedder=None)


def filled(path: Path, count: int = 50) -> Memory:
    memory = opened(path)
    memory.add_many([{"id": f"m{i}", "content": f"Fact number {i}."} for i in range(count)])
    return memory


def started(script: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", script, *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    return process


def killed(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()


def test_a_backup_is_a_whole_store_of_its_owner_alone(tmp_path: Path) -> None:
    with filled(tmp_path / "memory.db") as memory:
        done = memory.backup(tmp_path / "backup.db")
        with pytest.raises(InvalidInput, match="exists; name another file"):
            memory.backup(tmp_path / "backup.db")
        memory.add("Later.", id="later")
        assert memory.backup(tmp_path / "backup.db", overwrite=True).memories == 51
        with pytest.raises(StoreError, match="is open in a program"):
            memory.backup(tmp_path / "memory.db", overwrite=True)
    assert done.memories == 50
    assert stat.S_IMODE((tmp_path / "backup.db").stat().st_mode) == 0o600
    assert sorted(os.listdir(tmp_path)) == ["backup.db", "memory.db"]
    with opened(tmp_path / "backup.db") as copy:
        assert len(copy) == 51
        assert copy.upkeep.verify()
        assert copy.upkeep.doctor()


def test_a_backup_while_others_write_is_of_one_moment(tmp_path: Path) -> None:
    with filled(tmp_path / "memory.db") as memory:
        writer = started(ADDING, tmp_path / "memory.db")
        thread = threading.Thread(target=lambda: [memory.search("fact") for _ in range(50)])
        thread.start()
        try:
            for i in range(5):
                memory.backup(tmp_path / f"backup{i}.db")
        finally:
            thread.join()
            killed(writer)
        for i in range(5):
            with opened(tmp_path / f"backup{i}.db") as copy:
                assert copy.upkeep.verify()
                others = len(copy) - 50
                assert all(f"other{n}" in copy for n in range(others))
    with opened(tmp_path / "memory.db") as memory:  # the log of a killed writer is its own
        assert memory.upkeep.verify()


def test_a_backup_that_is_killed_leaves_the_one_before(tmp_path: Path) -> None:
    filled(tmp_path / "memory.db").close()
    for _ in range(3):
        process = started(BACKING_UP, tmp_path / "memory.db", tmp_path / "backup.db")
        time.sleep(random.uniform(0.05, 0.2))
        killed(process)
        if (tmp_path / "backup.db").exists():
            with opened(tmp_path / "backup.db") as copy:
                assert len(copy) == 50
        with opened(tmp_path / "memory.db") as memory:
            assert memory.upkeep.doctor()


def test_a_backup_moved_over_an_open_file_is_not_destroyed(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    memory = filled(path)
    memory.backup(tmp_path / "backup.db")
    memory.add_many([{"id": f"later{i}", "content": f"Later fact {i}."} for i in range(50)])
    os.rename(path, tmp_path / "former.db")
    os.rename(tmp_path / "backup.db", path)
    with pytest.raises(StoreError, match=r"memory\.db-wal"):
        memory.add("Lost?")
    with pytest.raises(StoreError, match=r"write-ahead log .*-wal belongs to another file"):
        opened(path)
    memory.close()  # as the error says
    with opened(path) as restored, opened(tmp_path / "former.db") as former:
        assert (len(restored), len(former)) == (50, 100)
        assert restored.upkeep.doctor()
        assert former.upkeep.doctor()


@pytest.mark.parametrize("way", ["backup", "older copy"])
def test_the_log_of_a_killed_process_is_not_replayed_over_another_file(
    tmp_path: Path, way: str
) -> None:
    path, copy = tmp_path / "memory.db", tmp_path / "copy.db"
    with filled(path) as memory:
        if way == "backup":
            memory.backup(copy)
    if way == "older copy":
        copy.write_bytes(path.read_bytes())
        with opened(path) as memory:
            memory.add("Since the copy was made.")
    writer = started(ADDING, path)
    until(lambda: Path(f"{path}-wal").stat().st_size >= 200_000)
    killed(writer)
    os.replace(copy, path)
    with pytest.raises(StoreError, match="belongs to another file"):
        opened(path)
    for end in ("-wal", "-shm"):
        os.rename(f"{path}{end}", tmp_path / f"elsewhere{end}")
    with opened(path) as memory:
        assert len(memory) == 50
        assert memory.upkeep.doctor()


def test_a_backup_is_restored_where_nobody_has_the_store_open(tmp_path: Path) -> None:
    path, backup = tmp_path / "memory.db", tmp_path / "backup.db"
    with filled(path) as memory:
        memory.backup(backup)
        with pytest.raises(InvalidInput, match="exists"):
            Memory.restore_backup(backup, path)
        with pytest.raises(StoreError, match="is open in a program"):
            Memory.restore_backup(backup, path, overwrite=True)
    writer = started(ADDING, path)
    with pytest.raises(StoreError, match="is open in a program"):
        Memory.restore_backup(backup, path, overwrite=True)
    killed(writer)  # its log stays
    assert Path(f"{path}-wal").exists()
    assert Memory.restore_backup(backup, path, overwrite=True).memories == 50
    assert sorted(os.listdir(tmp_path)) == ["backup.db", "memory.db"]
    with opened(path) as memory:
        assert len(memory) == 50


def test_what_was_erased_since_a_backup_does_not_come_back(tmp_path: Path) -> None:
    path, backup = tmp_path / "memory.db", tmp_path / "backup.db"
    with opened(path) as memory:
        memory.add("Ana hides a key.", id="again")
        memory.delete("again")
        memory.add("Ana hides another key.", id="again")
        memory.add_many([{"id": f"m{i}", "content": f"Fact number {i}."} for i in range(4)])
        memory.add("Ana is allergic to nuts.", id="allergy", user_id="ana")
        memory.for_namespace("other").add("Fact number 1.", id="m1")
        memory.backup(backup)
        memory.delete("m1")
        memory.add("Fact number 1 again.", id="m1")
        memory.delete_many(["m2", "m3"])
        memory.delete_user("ana")
        memory.add("New since.", id="new")
        told = [event for event in memory.events() if event.type == "erase"]
    done = Memory.restore_backup(backup, path, overwrite=True)
    assert (done.memories, done.erased_again) == (3, 4)
    assert "delete_user" in done.note
    for gone in (b"allergic", b"Fact number 2."):
        assert gone in backup.read_bytes()
        assert gone not in path.read_bytes()
    with opened(path) as memory:
        assert {record.id for record in memory.get_all()} == {"again", "m0"}
        assert len(memory.for_namespace("other")) == 1
        assert [event for event in memory.events() if event.type == "erase"] == told
        memory.add("After that.", id="later")
        places = [event.seq for event in memory.events()]
        assert places == sorted(set(places))
        assert memory.upkeep.doctor()
    assert Memory.restore_backup(backup, path, overwrite=True).erased_again == 4
    assert Memory.restore_backup(backup, tmp_path / "new.db").erased_again == 0


def test_an_erased_namespace_does_not_come_back(tmp_path: Path) -> None:
    path, backup = tmp_path / "memory.db", tmp_path / "backup.db"
    with filled(path) as memory:
        memory.for_namespace("ana").add_many([f"Secret number {i}." for i in range(30)])
        memory.backup(backup)
        memory.delete_all(namespace="ana")
    assert Memory.restore_backup(backup, path, overwrite=True).erased_again == 30
    with opened(path) as memory:
        assert list(memory.stats(everywhere=True)["namespaces"]) == ["default"]
        assert [event.type for event in memory.for_namespace("ana").events()] == ["erase"]
    assert b"ana" not in path.read_bytes()


def test_what_was_erased_by_mistake_is_brought_back_when_asked_for(tmp_path: Path) -> None:
    path, backup = tmp_path / "memory.db", tmp_path / "backup.db"
    with filled(path) as memory:
        memory.backup(backup)
        memory.delete_all(namespace=memory.namespace)
    with pytest.raises(InvalidInput, match=r"all that .* was erased .*\(50\).*--with-erased"):
        Memory.restore_backup(backup, path, overwrite=True)
    with opened(path) as memory:
        assert len(memory) == 0
    for with_erased, left in ((False, 0), (True, 50)):
        done = Memory.restore_backup(backup, path, overwrite=True, with_erased=with_erased)
        assert (done.memories, done.erased_again) == (left, 50 - left)
    with opened(path) as memory:
        assert len(memory) == 50
        assert memory.upkeep.doctor()


def test_a_store_whose_erasures_cannot_be_read_is_restored_and_says_so(tmp_path: Path) -> None:
    path, backup = tmp_path / "memory.db", tmp_path / "backup.db"
    with filled(path) as memory:
        memory.backup(backup)
    path.write_bytes(b"x" * 5_000)
    done = Memory.restore_backup(backup, path, overwrite=True)
    assert (done.memories, done.erased_again) == (50, 0)
    assert "erase it again" in done.note


def test_what_is_damaged_or_no_store_is_not_restored(tmp_path: Path) -> None:
    path, backup = tmp_path / "memory.db", tmp_path / "backup.db"
    with filled(path) as memory:
        memory.backup(backup)
    content = backup.read_bytes()
    at = content.index(b"Fact number 7.")
    backup.write_bytes(content[: at + 1] + b"e" + content[at + 2 :])
    with pytest.raises(StoreError, match="damaged"):
        Memory.restore_backup(backup, tmp_path / "new.db")
    with sqlite3.connect(tmp_path / "other.db") as db:
        db.execute("CREATE TABLE mine (value)")
    with pytest.raises(StoreError, match="another program"):
        Memory.restore_backup(tmp_path / "other.db", tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists()


def test_a_store_in_memory_is_looked_at_and_backed_up_into_a_file(tmp_path: Path) -> None:
    with Memory.open("ram://", embedder=None) as memory:
        memory.add("Green tea", id="a")
        memory.search("tea")
        assert memory.upkeep.doctor(fix=True) == memory.upkeep.doctor()
        assert memory.backup(tmp_path / "backup.db").memories == 1
        with pytest.raises(InvalidInput, match="exists"):
            memory.backup(tmp_path / "backup.db")
    with Memory(tmp_path / "backup.db", embedder=None) as copy:
        assert (copy["a"].access_count, copy.search("tea").ids) == (1, ("a",))


def test_a_store_that_is_no_file_says_what_to_use() -> None:
    for url in ("ram://", "sqlite:///:memory:"):
        with pytest.raises(InvalidInput, match="is no file to restore; name a file"):
            Memory.restore_backup("backup.db", url)
    with pytest.raises(InvalidInput, match="pg_dump"):
        Memory.restore_backup("backup.db", "postgresql://localhost/none")
