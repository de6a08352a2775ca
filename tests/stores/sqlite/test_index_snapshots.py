"""The snapshot of an index: never wrong, never in the way, and gone with what is erased."""

from __future__ import annotations

import errno
import fcntl
import math
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from salience import Memory
from salience.errors import StoreError
from salience.language.tokens import stem, term_ids
from salience.stores.index import snapshot
from salience.stores.index.memory_table import MemoryTable
from salience.stores.sqlite import snapshots
from salience.testing import WordHashEmbedder
from support.waiting import HANG_SECONDS, until

TEXTS = (
    "Ana moved to Lisbon in March.",
    "Ben plays the cello on Sundays.",
    "The river rose by two metres.",
    "Clara said: hi Ben, the cello is old.",
    "Dora repairs bicycles in Mill Lane.",
    "The key is under the mat.",
)
QUESTIONS = ("Where does Ana live?", "Who plays the cello?", "river", "bicycles in the lane")


@pytest.fixture(autouse=True)
def least(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "LEAST_MEMORIES", 3)
    monkeypatch.setattr(snapshots, "_MAX_CHANGED_SHARE", 100.0)
    monkeypatch.setattr(snapshots, "_REWRITTEN_SECONDS", math.inf)  # when it is closed alone


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of memories each time that an index is loaded from the file."""
    counts: list[int] = []
    append = MemoryTable._append

    def counted(table: MemoryTable, rows: Any, until: int) -> None:
        append(table, rows, until)
        if rows is None:
            counts.append(len(table))

    monkeypatch.setattr(MemoryTable, "_append", counted)
    return counts


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store whose snapshot was written."""
    path = tmp_path / "memory.db"
    with opened(path) as memory:
        memory.add_many(
            [
                {"content": text, "id": f"m{n}", "session_id": f"s{n // 2}", "speaker": text[:3]}
                for n, text in enumerate(TEXTS)
            ]
        )
    answers(path)
    assert files(path) == ["memory.db-index-1"]
    return path


def opened(path: Path | str, **settings: Any) -> Memory:
    return Memory.open(path, embedder=settings.pop("embedder", WordHashEmbedder()), **settings)


def files(path: Path) -> list[str]:
    return sorted(f.name for f in path.parent.iterdir() if "-index-" in f.name)


def asked(memory: Memory) -> list[Any]:
    return [
        [(hit.id, hit.score, hit.rank) for hit in memory.search(text, now="2026-06-01").hits]
        for text in QUESTIONS
    ]


def answers(path: Path) -> list[Any]:
    with opened(path) as memory:
        return asked(memory)


def without_snapshot(path: Path) -> list[Any]:
    """The answers of a copy of the file alone."""
    copy = path.with_name("copy.db")
    with sqlite3.connect(path) as source, sqlite3.connect(copy) as target:
        source.backup(target)
    told = answers(copy)
    for file in path.parent.glob("copy.db*"):
        file.unlink()
    return told


def test_an_index_is_made_of_its_snapshot_and_answers_to_the_bit(
    path: Path, loads: list[int]
) -> None:
    told = answers(path)
    assert loads == []
    assert told == without_snapshot(path)
    assert loads == [len(TEXTS)]


def test_what_came_since_is_read_from_the_file(path: Path, loads: list[int]) -> None:
    with opened(path) as memory:
        memory.add("Ana lives in Porto now.", id="new", session_id="s0")
        memory.update("m1", content="Ben plays the violin.")
        memory.update("m2", importance=0.9)
        memory.link("m4", "m5", "supports")
        told = asked(memory)
    assert answers(path) == told == without_snapshot(path)
    assert loads == [7]  # that of the copy


def test_accesses_of_this_process_before_the_index_is_there_are_counted(path: Path) -> None:
    with opened(path) as memory:
        memory.touch(["m1"])
        memory.upkeep.flush()
        memory.touch(["m1", "m2"])
        told = [
            memory.search("cello", profile=profile, now="2027-01-01", touch=False).to_dict()["hits"]
            for profile in ("balanced", "vitality", "composite")
        ]
    (path.parent / "memory.db-index-1").unlink()
    with opened(path) as memory:
        assert told == [
            memory.search("cello", profile=profile, now="2027-01-01", touch=False).to_dict()["hits"]
            for profile in ("balanced", "vitality", "composite")
        ]


def test_one_that_is_too_old_is_written_again(
    path: Path, loads: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "_MAX_CHANGED_SHARE", 0.1)
    before = (path.parent / "memory.db-index-1").read_bytes()
    with opened(path) as memory:
        memory.add("Ana lives in Porto now.", id="new")
    answers(path)
    assert loads[-1] == 7
    assert (path.parent / "memory.db-index-1").read_bytes() != before
    answers(path)
    assert loads[-1:] == [7]


def damage(change: Callable[[bytearray], Any]) -> Callable[[Path], None]:
    def damaged(file: Path) -> None:
        content = bytearray(file.read_bytes())
        change(content)
        file.write_bytes(bytes(content))

    return damaged


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    "spoil",
    [
        damage(lambda b: b.__delitem__(slice(len(b) // 2, None))),
        damage(lambda b: b.__delitem__(slice(len(b) - 1, None))),
        damage(lambda b: b.clear()),
        damage(lambda b: b.__setitem__(0, b[0] ^ 1)),
        damage(lambda b: b.__setitem__(len(b) - 60, b[-60] ^ 1)),
        damage(lambda b: b.__setitem__(len(b) - 20, b[-20] ^ 1)),
        damage(lambda b: b.__setitem__(slice(0, None), bytes(len(b)))),
        damage(lambda b: b.extend(b"more")),
        lambda file: file.write_text("notes of somebody"),
        lambda file: file.unlink(),
        lambda file: (file.unlink(), file.mkdir()),
        lambda file: file.chmod(0),
    ],
)
def test_a_damaged_one_is_not_used(
    path: Path, spoil: Callable[[Path], Any], loads: list[int]
) -> None:
    expected = without_snapshot(path)
    loads.clear()
    spoil(path.parent / "memory.db-index-1")
    assert answers(path) == expected
    assert loads == [6] or os.geteuid() == 0  # who may read all files


def test_every_byte_of_the_arrays_is_checked_once_the_file_was_touched(path: Path) -> None:
    """A flipped bit in any page leaves the answers as they are."""
    expected, file = without_snapshot(path), path.parent / "memory.db-index-1"
    sound = file.read_bytes()
    for at in range(3, len(sound), 4_096 * 7):
        spoilt = bytearray(sound)
        spoilt[at] ^= 0x10
        file.write_bytes(bytes(spoilt))
        assert answers(path) == expected
        file.write_bytes(sound)


def test_one_of_another_namespace_file_or_embedder_is_not_used(
    path: Path, tmp_path: Path, loads: list[int]
) -> None:
    with opened(path, namespace="other") as memory:
        memory.add_many(["The cello.", "A viola.", "A lute."])
        memory.search("cello", now="2026-06-01")
    first, second = (path.parent / f"memory.db-index-{n}" for n in (1, 2))
    second_name = next(name for name in files(path) if name != first.name)
    second = path.parent / second_name
    expected = without_snapshot(path)
    kept = first.read_bytes()
    shutil.copy(second, first)
    assert answers(path) == expected
    first.write_bytes(kept)

    other = tmp_path / "other" / "memory.db"
    other.parent.mkdir()
    with opened(other) as memory:
        memory.add_many(["One.", "Two.", "The cello."])
        told = asked(memory)
    shutil.copy(first, other.parent / first.name)
    assert answers(other) == told

    Memory.upkeep.reembed(path, embedder=WordHashEmbedder(dimensions=32))
    with opened(path, embedder=WordHashEmbedder(dimensions=32)) as memory:
        told = asked(memory)
    loads.clear()
    with opened(path, embedder=WordHashEmbedder(dimensions=32)) as memory:
        assert asked(memory) == told
    assert loads == []


def test_one_that_is_newer_than_a_restored_backup_is_not_used(path: Path, loads: list[int]) -> None:
    file = path.parent / "memory.db-index-1"
    backup = path.with_name("backup.db")
    with opened(path) as memory:
        memory.backup(backup)
    file.unlink()
    with opened(path) as memory:
        memory.add("Ana lives in Porto now.", id="new")
        memory.search("Ana", now="2026-06-01")
    newer = file.with_name("kept")
    with opened(path) as memory:
        memory.search("Ana", now="2026-06-01")
    shutil.copy(file, newer)
    Memory.restore_backup(backup, path, overwrite=True)
    assert files(path) == []
    with opened(path) as memory:  # until the numbers are beyond those of the snapshot
        for n in range(40):
            memory.add(f"Note {n} on the weather.")
        told = asked(memory)
    shutil.copy(newer, file)
    loads.clear()
    assert answers(path) == told == without_snapshot(path)
    assert loads == [46, 46]


def test_an_older_one_of_a_backup_that_is_put_in_place_is_right(path: Path) -> None:
    """The file knows its own, whoever copied both."""
    for file in list(path.parent.iterdir()):
        shutil.copy(file, path.parent / f"kept-{file.name}")
    with opened(path) as memory:
        memory.update("m1", content="Ben plays the violin.")
        memory.search("Ben", now="2026-06-01")
    for file in path.parent.glob("memory.db*"):
        file.unlink()
    for file in list(path.parent.glob("kept-*")):
        file.rename(path.parent / file.name.removeprefix("kept-"))
    assert answers(path) == without_snapshot(path)


@pytest.mark.parametrize(
    "erase",
    [
        lambda memory: memory.delete("m1"),
        lambda memory: memory.delete_all({"session_id": "s0"}),
        lambda memory: memory.delete_all(namespace="default"),
        lambda memory: memory.delete_user("Ana"),
    ],
)
def test_erasing_removes_it_before_the_receipt(path: Path, erase: Callable[[Memory], Any]) -> None:
    with opened(path) as memory:
        memory.search("cello")
        assert files(path)
        erase(memory)
        assert files(path) == []
    with opened(path) as memory:
        assert memory.upkeep.doctor().findings == ()


LONG = "\n\n".join(
    f"Part {n}: the {word} of the house is old. " * 30
    for n, word in enumerate(("roof", "cellar", "garden", "kitchen", "attic"))
)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("loaded", [True, False])
@pytest.mark.parametrize(
    "erase",
    [
        lambda memory: memory.delete("m1"),
        lambda memory: memory.delete_all({"session_id": "s0"}),
        lambda memory: memory.delete_user("Ana"),
        lambda memory: [memory.delete(id) for id in ("long", "m5", "m0")],
        lambda memory: [memory.delete("m3"), memory.add("More.", id="x"), memory.delete("x")],
        lambda memory: [memory.update("m1", content="Ben sold it."), memory.delete("m2")],
    ],
)
def test_one_of_what_is_left_takes_its_place_when_the_file_is_closed(
    path: Path, erase: Callable[[Memory], Any], loaded: bool, loads: list[int]
) -> None:
    """So a store that erases daily opens fast; nothing of what was erased is in the new one."""
    with opened(path) as memory:
        memory.add_many(
            [{"content": LONG, "id": "long", "tags": ["house"]}, {"content": LONG[::-1], "id": "o"}]
        )
    with opened(path) as memory:
        if loaded:
            memory.search("cello")
        loads.clear()
        erase(memory)
        assert files(path) == []
    assert files(path) == ["memory.db-index-1"]
    with opened(path) as memory:
        told = asked(memory)
        assert memory.upkeep.doctor().findings == ()
    assert loads == []
    assert told == without_snapshot(path)
    with opened(path) as memory:
        memory.add("Ana came back to Lisbon.", session_id="s1")
        told = asked(memory)
    assert told == without_snapshot(path)


def test_nothing_of_what_was_erased_is_in_the_new_one(path: Path) -> None:
    secret = {"content": "Zoltan hides xylophones.", "id": "secret", "speaker": "Zoltan"}
    with opened(path) as memory:
        memory.add_many([{**secret, "session_id": "hidden"}])
    (path.parent / "memory.db-index-1").unlink()
    answers(path)
    file = path.parent / "memory.db-index-1"
    words = [term_ids([stem(word)]).tobytes() for word in ("zoltan", "xylophones")]
    told = [b"secret", b"Zoltan", b"hidden", *words]
    before = file.read_bytes()
    assert all(word in before for word in told)
    with opened(path) as memory:
        memory.delete("secret")
    after = file.read_bytes()
    assert not [word for word in told if word in after]


def test_one_that_is_cut_short_under_a_process_does_not_end_it(path: Path) -> None:
    program = (
        "import sys\nfrom salience import Memory\nfrom salience.testing import WordHashEmbedder\n"
        f"memory = Memory.open({str(path)!r}, embedder=WordHashEmbedder())\n"
        "memory.search('cello', touch=False)\nprint('ready', flush=True)\nsys.stdin.readline()\n"
        f"for text in {QUESTIONS!r}: print(len(memory.search(text, touch=False).hits) > 0)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=-1, stdout=-1, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        os.truncate(path.parent / "memory.db-index-1", 100)
        told, _ = process.communicate("\n")
    assert (process.returncode, told) == (0, "True\n" * len(QUESTIONS))


def test_one_that_is_cut_short_while_it_is_read_is_not_used(
    path: Path, loads: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, read = path.parent / "memory.db-index-1", snapshot.SnapshotFile.read

    def cut(own: snapshot.SnapshotFile) -> Any:
        os.truncate(file, 5_000)
        return read(own)

    expected = without_snapshot(path)
    loads.clear()
    monkeypatch.setattr(snapshot.SnapshotFile, "read", cut)
    assert answers(path) == expected
    assert loads == [6]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has none")
def test_a_pipe_in_its_place_is_not_waited_for(path: Path) -> None:
    expected, file = without_snapshot(path), path.parent / "memory.db-index-1"
    file.unlink()
    os.mkfifo(file)
    assert answers(path) == expected
    assert file.is_file()


def test_an_erasure_of_another_namespace_leaves_it(path: Path) -> None:
    with opened(path, namespace="other") as memory:
        memory.add("The cello.", id="a")
        memory.delete("a")
    assert files(path) == ["memory.db-index-1"]


def test_one_that_is_being_written_while_a_memory_is_erased_does_not_appear(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever the erasure comes, nothing of the memory is left when it returns."""
    file = path.parent / "memory.db-index-1"
    write = snapshot.write
    for moment in ("before", "during", "after"):
        file.unlink(missing_ok=True)
        reached, go_on = threading.Event(), threading.Event()

        def slow(*arguments: Any, moment: str = moment, r: Any = reached, g: Any = go_on) -> str:
            if moment != "after":
                r.set()
                g.wait(HANG_SECONDS)
            digest = write(*arguments)
            if moment == "after":
                r.set()
                g.wait(HANG_SECONDS)
            return digest

        monkeypatch.setattr(snapshots, "write", slow)
        with opened(path) as memory:
            memory.add("The lute is erased.", id="gone")
        with opened(path) as memory:
            memory.search("lute")
            assert reached.wait(HANG_SECONDS)
            memory.delete("gone")
            assert files(path) == []
            go_on.set()
        assert b"gone" not in file.read_bytes()  # that of what is left
        with opened(path) as memory:
            assert memory.upkeep.doctor().findings == ()


@pytest.mark.parametrize("erase", ["delete", "delete_all", "delete_many"])
def test_a_process_that_is_killed_after_an_erasure_has_left_another(
    path: Path, erase: str, loads: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "_REWRITTEN_SECONDS", 3_600.0)
    file = path.parent / "memory.db-index-1"
    memory = opened(path)
    calls: dict[str, Callable[[], object]] = {
        "delete": lambda: memory.delete("m1"),
        "delete_all": lambda: memory.delete_all({"id": "m1"}),
        "delete_many": lambda: memory.delete_many(["m1", "m5"]),
    }
    calls[erase]()
    own = memory._core.dispatcher.store._records.snapshots  # type: ignore[attr-defined]
    until(lambda: not own.lost)
    copied = shutil.copytree(path.parent, path.parent / "killed") / path.name  # as a kill leaves it
    memory.close()
    assert b"m1" not in file.read_bytes()
    loads.clear()
    with opened(copied) as again:
        assert "m1" not in again.search("Who plays the cello?").ids
        assert again.upkeep.doctor().healthy
    assert loads == []


def test_many_erasures_write_few_snapshots(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "_REWRITTEN_SECONDS", 3_600.0)
    monkeypatch.setattr(snapshots, "_REWRITTEN_ERASURES", 10)
    saved: list[int] = []
    save = snapshots.Snapshots.save

    def counted(own: snapshots.Snapshots, table: MemoryTable) -> None:
        saved.append(len(table))
        save(own, table)

    monkeypatch.setattr(snapshots.Snapshots, "save", counted)
    with opened(path) as memory:
        memory.add_many([{"id": f"n{n}", "content": f"The number {n}."} for n in range(40)])
        memory.search("number")
        saved.clear()
        for n in range(35):
            memory.delete(f"n{n}")
            for writer in memory._core.dispatcher.store._records.snapshots._writers:  # type: ignore[attr-defined]
                writer.join()
    assert 4 <= len(saved) <= 5  # the first, three of ten erasures each, and the last
    assert files(path) == ["memory.db-index-1"]


def test_a_rewritten_file_has_none(path: Path) -> None:
    (path.parent / "memory.db-index-77").write_text("left over")
    with opened(path) as memory:
        memory.delete_all({"session_id": "s0"}, rewrite=True)
        assert files(path) == []


def test_the_doctor_names_and_removes_what_is_none_of_the_file(path: Path) -> None:
    file, other = path.parent / "memory.db-index-1", path.parent / "memory.db-index-99"
    other.write_bytes(file.read_bytes())
    content = bytearray(file.read_bytes())
    content[10] ^= 1
    file.write_bytes(bytes(content))
    with opened(path) as memory:
        found = memory.upkeep.doctor().findings
        assert {finding.check for finding in found} == {"snapshots"}
        assert sorted(finding.problem for finding in found) == [
            f"{file} is damaged",
            f"{other} is none of this file",
        ]
        assert all(finding.fixed for finding in memory.upkeep.doctor(fix=True).findings)
        assert files(path) == []
        assert memory.upkeep.doctor().healthy


def test_the_doctor_finds_ids_of_erased_memories(path: Path) -> None:
    with sqlite3.connect(path) as db:  # as no erasure of salience does it
        db.execute("DELETE FROM memories WHERE id = 'm3'")
    with opened(path) as memory:
        problems = [f.problem for f in memory.upkeep.doctor().findings if f.check == "snapshots"]
    assert problems == [f"{path}-index-1 has ids of memories that were erased"]


def test_its_permissions_are_those_of_the_store(path: Path) -> None:
    file = path.parent / "memory.db-index-1"
    assert stat.S_IMODE(file.stat().st_mode) == stat.S_IMODE(path.stat().st_mode) == 0o600
    file.unlink()
    path.chmod(0o640)
    answers(path)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_a_full_disk_leaves_nothing_and_is_no_error(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (path.parent / "memory.db-index-1").unlink()
    expected = without_snapshot(path)

    def full(*_: Any) -> str:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(snapshots, "write", full)
    assert answers(path) == expected
    assert files(path) == []


def test_a_disk_with_little_room_gets_none(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (path.parent / "memory.db-index-1").unlink()
    monkeypatch.setattr(snapshots, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 9, 1))
    answers(path)
    assert files(path) == []


def test_one_that_cannot_be_removed_stops_the_receipt(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(name: str) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    with opened(path) as memory:
        monkeypatch.setattr(os, "unlink", refuse)
        with pytest.raises(StoreError, match=r"memory\.db-index-1: .*remove it"):
            memory.delete("m1")
        monkeypatch.undo()


def test_a_store_in_memory_or_for_reading_writes_none(path: Path, loads: list[int]) -> None:
    with opened(f"sqlite:///{path}?mode=ro") as memory:
        memory.search("cello")
    assert loads == []
    (path.parent / "memory.db-index-1").unlink()
    with opened(f"sqlite:///{path}?mode=ro") as memory:
        memory.search("cello")
    assert loads == [6]
    assert files(path) == []
    with opened("ram://") as memory:
        memory.add_many(list(TEXTS))
        memory.search("cello")


def test_what_is_added_to_a_mapped_index_leaves_the_file_as_it_is(path: Path) -> None:
    file = path.parent / "memory.db-index-1"
    before = file.read_bytes()
    with opened(path) as memory:
        memory.search("cello")
        for n in range(60):  # more than there is room for
            memory.add(f"Note {n} on the weather.", id=f"n{n}")
        memory.update("m0", importance=1.0)
        told = asked(memory)
    assert file.read_bytes() == before
    assert told == without_snapshot(path)


def test_one_that_another_process_writes_is_left_to_it(path: Path) -> None:
    (path.parent / "memory.db-index-1").unlink()
    other = path.parent / "memory.db-index-1.abc.partial"
    with open(other, "wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        answers(path)
        assert files(path) == [other.name]
    answers(path)  # it ended before it was complete
    assert files(path) == ["memory.db-index-1"]


def test_threads_that_write_at_once_leave_a_sound_one(path: Path) -> None:
    (path.parent / "memory.db-index-1").unlink()
    together = [threading.Thread(target=answers, args=(path,)) for _ in range(4)]
    for thread in together:
        thread.start()
    for thread in together:
        thread.join()
    with opened(path) as memory:
        assert memory.upkeep.doctor().findings == ()
    assert answers(path) == without_snapshot(path)


@pytest.fixture(autouse=True)
def ended() -> Iterator[None]:
    yield
    assert not [t for t in threading.enumerate() if t.name.startswith("salience-snapshot")]
