"""Files that cannot be used: a clear error that says what to do, and nothing lost."""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from salience import Memory
from salience.errors import InvalidInput, StoreError
from salience.stores import EmbeddedStore, access_queue, restore_backup
from salience.stores.sqlite import backup, connection
from salience.stores.sqlite.records import SqliteRecords
from salience.stores.sqlite.statements import checksum
from salience.testing import WordHashEmbedder
from salience.testing.conformance._case import search_ids


def opened(path: Path, options: str = "", **settings: Any) -> Memory:
    return Memory.open(f"sqlite:///{path}{options}", **{"embedder": WordHashEmbedder(), **settings})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def filled(path: Path) -> Path:
    with opened(path) as memory:
        memory.add_many({"id": f"m{i:03}", "content": f"apple {i} " * 20} for i in range(200))
    return path


def refused(path: Path, *signs: str, options: str = "") -> None:
    """Opening the file fails, and the error has its path and every sign in it."""
    with pytest.raises(StoreError) as caught:
        opened(path, options)
    message = str(caught.value)
    assert str(path) in message
    for sign in signs:
        assert sign in message


def test_a_text_file_is_refused_and_kept(path: Path) -> None:
    path.write_text("my shopping list\n" * 100)
    refused(path, "not a database", "give the path of a salience store")
    assert path.read_text() == "my shopping list\n" * 100


def test_the_file_of_another_program_is_refused_and_kept(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE mine (x)")
        db.execute("INSERT INTO mine VALUES (1)")
    db.close()
    before = path.read_bytes()
    refused(path, "another program")
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_an_empty_file_becomes_a_store(path: Path) -> None:
    path.touch()
    refused(path, "is empty", "write permission", options="?mode=ro")
    with opened(path) as memory:
        memory.add("apple", id="a")
    with opened(path) as memory:
        assert search_ids(memory, "apple") == ["a"]


def test_a_folder_is_refused(path: Path) -> None:
    path.mkdir()
    refused(path, "is a folder")


def test_a_missing_folder_is_named(path: Path) -> None:
    refused(path / "deeper" / "memory.db", f"there is no folder {path / 'deeper'}", "make it first")


def test_a_missing_file_cannot_be_read(path: Path) -> None:
    refused(path, "there is no such file", options="?mode=ro")
    assert not path.exists()


def test_a_newer_schema_is_refused_and_kept(filled: Path) -> None:
    with sqlite3.connect(filled) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    refused(filled, "newer salience", "schema 99", "upgrade")
    with sqlite3.connect(filled) as db:
        assert db.execute("SELECT count(*) FROM memories").fetchone() == (200,)
    db.close()


def test_a_file_whose_schema_was_raised_meanwhile_is_not_written(filled: Path) -> None:
    with Memory.open(f"sqlite:///{filled}", embedder=None) as memory:
        count = len(memory)
        with closing(sqlite3.connect(filled)) as db:
            db.execute("PRAGMA user_version = 99")
        for write in (lambda: memory.add("One more."), lambda: memory.delete("m001")):
            with pytest.raises(StoreError, match=r"schema 99.*nothing was written; upgrade"):
                write()
        assert len(memory) == count


@pytest.mark.parametrize("url", ["sqlite:///", "sqlite://m.db", "mysql://x", "", "sqlite:///m?a=b"])
def test_a_url_that_names_no_store_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Memory.open(url)
    assert caught.value.field == "url"


def test_damage_is_reported_and_never_silent(filled: Path) -> None:
    whole = filled.read_bytes()
    assert len(whole) > 40 * 4096
    reported: list[str] = []
    for page in range(1, 40, 3):
        damaged = bytearray(whole)
        damaged[page * 4096 : (page + 1) * 4096] = b"\xff" * 4096
        filled.write_bytes(damaged)
        try:
            with opened(filled) as memory:
                ids = sorted(record.id for record in memory.get_all(limit=1000))
                hits = memory.search("apple", limit=1000, touch=False)
                assert ids == [f"m{i:03}" for i in range(200)]
                assert len(hits) == 200
        except StoreError as problem:
            reported.append(str(problem))
    assert len(reported) > 5
    for message in reported:
        assert str(filled) in message
        assert "malformed; restore it from a backup" in message
    filled.write_bytes(whole)
    with opened(filled) as memory:
        assert memory.get_all().total == 200


def test_a_file_cut_short_is_reported(filled: Path) -> None:
    whole = filled.read_bytes()
    filled.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(StoreError, match="malformed; restore it"), opened(filled) as memory:
        memory.search("apple")


@pytest.mark.parametrize("damage", ["UPDATE counter SET value = 'x'", "DELETE FROM counter"])
def test_a_file_without_its_counter_is_refused(filled: Path, damage: str) -> None:
    db = sqlite3.connect(filled)
    db.execute(damage)
    db.commit()
    db.close()
    refused(filled, "counter is damaged; restore it from a backup")


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    "damage",
    [
        "memories SET metadata = '{'",
        "memories SET metadata = '[1]'",
        "memories SET tags = '5'",
        "memories SET content = x'ff00'",
        "memories SET created_at = 'x'",
        "memories SET created_at = 1e300",
        "memories SET accesses = x'01'",
        "memories SET features = x'00'",
        "memories SET features = x''",
        "memories SET importance = 'high'",
        "vectors SET vector = x'00'",
        "vectors SET vector = 'abc'",
        "vectors SET vector = substr(vector, 1, 2) WHERE row % 2",
        "events SET at = 'x'",
        "events SET payload = '[1]'",
        "links SET created_at = 'x'",
    ],
)
def test_a_damaged_value_is_reported(path: Path, damage: str) -> None:
    with opened(path) as memory:
        memory.add_many({"id": id, "content": f"apple {id}", "tags": ["x"]} for id in "abcd")
        memory.link("a", "b")
    db = sqlite3.connect(path)
    db.execute(f"UPDATE {damage}")
    db.commit()
    db.close()
    memory = opened(path)
    reported: list[str] = []
    found = memory.search("apple", profile="composite")
    left_out = [lack for lack in found.degraded if "salience doctor" in lack]
    assert left_out or set(found.ids) == {*"abcd"}
    damaged = memory.upkeep.doctor().findings
    for ask in (
        lambda: memory.get_all({"metadata.x": 1}),
        lambda: memory.get("a"),
        lambda: memory.history("a"),
        lambda: memory.upkeep.verify(),
        lambda: memory.links(),
        lambda: memory.update("a", importance=0.5),
        lambda: memory.add("pear", kind="fact"),
        lambda: memory.touch("a"),
        lambda: memory.close(),
    ):
        try:
            ask()
        except StoreError as problem:
            reported.append(str(problem))
    assert damaged
    assert reported or left_out or "features" in damage  # which are worked out of the texts
    for message in reported:
        assert str(path) in message
        assert "restore it from a backup" in message


def test_a_file_opened_for_reading_refuses_writes(filled: Path) -> None:
    with opened(filled, "?mode=ro") as memory:
        assert len(search_ids(memory, "apple")) == 200
        for write in (
            lambda: memory.add("x"),
            lambda: memory.update("m000", importance=0.5),
            lambda: memory.update("m000", content="x"),
            lambda: memory.delete("m000"),
            lambda: memory.delete_all({"id": "m000"}),
            lambda: memory.link("m000", "m001"),
            lambda: memory.touch("m000"),
        ):
            with pytest.raises(StoreError) as caught:
                write()
            assert f"{filled} is open for reading only" in str(caught.value)
        memory.search("apple")
        memory.upkeep.flush()
    with opened(filled) as memory:
        assert memory.get_all({"access_count": 0}).total == 200
        assert memory.get_all({"importance": None}).total == 200


def test_a_reader_sees_what_a_writer_commits(filled: Path) -> None:
    with opened(filled) as writer, opened(filled, "?mode=ro") as reader:
        assert search_ids(reader, "novelty") == []
        writer.add("a novelty", id="new")
        assert search_ids(reader, "novelty") == ["new"]
        writer.delete("new")
        assert search_ids(reader, "novelty") == []


class Interrupted:
    """A connection that Ctrl-C interrupts when it has run a statement."""

    def __init__(self, db: sqlite3.Connection, statement: str) -> None:
        self._db, self._statement = db, statement

    def execute(self, statement: str, *given: Any) -> sqlite3.Cursor:
        found = self._db.execute(statement, *given)
        if statement.startswith(self._statement):
            raise KeyboardInterrupt
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._db, name)


class Failing(Interrupted):
    """A connection to a file on a full disk, as far as one statement goes."""

    def execute(self, statement: str, *given: Any) -> sqlite3.Cursor:
        if statement.startswith(self._statement):
            raise sqlite3.OperationalError("database or disk is full")
        return self._db.execute(statement, *given)


@pytest.mark.parametrize("side", ["_writer", "_reader"])
@pytest.mark.parametrize("statement", ["BEGIN", "COMMIT"])
def test_an_interrupt_leaves_no_transaction_open(path: Path, side: str, statement: str) -> None:
    records = SqliteRecords(str(path))
    with Memory.open(EmbeddedStore(records), embedder=WordHashEmbedder()) as memory:
        memory.add("apple", id="a")
        whole = getattr(records, side)
        setattr(records, side, Interrupted(whole, statement))
        with pytest.raises(KeyboardInterrupt):
            memory.add("pear", id="b") if side == "_writer" else memory.history("a")
        setattr(records, side, whole)
        assert not whole.in_transaction
        other = sqlite3.connect(path, timeout=0, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        other.close()
        assert len(search_ids(memory, "pear")) == (side == "_writer" and statement == "COMMIT")
        whole.execute("BEGIN")  # what an interrupt leaves that comes while one is undone
        memory.add("plum", id="c", dedup={"similar": None, "contradictions": False})
        assert len(memory.history("c")) == 1
        assert search_ids(memory, "plum") == ["c"]


def deleted(path: Path) -> None:
    path.unlink()


def moved(path: Path) -> None:
    path.rename(path.with_name("moved.db"))


def replaced(path: Path) -> None:
    shutil.copy(path, path.with_name("other.db"))
    path.with_name("other.db").replace(path)


def without_folder(path: Path) -> None:
    shutil.rmtree(path.parent)


@pytest.mark.parametrize("lose", [deleted, moved, replaced, without_folder])
def test_a_file_that_is_not_there_any_more_acknowledges_no_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lose: Callable[[Path], None]
) -> None:
    monkeypatch.setattr(access_queue, "WRITE_DELAY_SECONDS", 3600.0)
    folder = tmp_path / "folder"
    folder.mkdir()
    path = folder / "memory.db"
    memory = opened(path)
    memory.add("apple", id="a")
    lose(path)
    assert memory.search("apple").ids == ("a",)
    for write in (
        lambda: memory.add("x"),
        lambda: memory.update("a", importance=0.5),
        lambda: memory.delete("a"),
        lambda: memory.upkeep.flush(),
    ):
        with pytest.raises(StoreError, match="deleted, moved or replaced"):
            write()
    with pytest.raises(StoreError, match="deleted, moved or replaced"):
        memory.close()  # a use of the apple is not counted
    memory.close()
    with pytest.raises(StoreError, match="closed"):
        memory.get("a")


def test_a_file_that_was_put_back_is_written_again(
    filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(filled.parent)
    elsewhere = filled.with_name("elsewhere.db")
    with opened(Path(filled.name)) as memory:
        monkeypatch.chdir("/")  # the path is that of the opening
        memory.add("pear", id="p")
        filled.rename(elsewhere)
        with pytest.raises(StoreError, match="Put it back"):
            memory.add("plum", id="q")
        elsewhere.rename(filled)
        memory.add("plum", id="q")
    with opened(filled) as memory:
        assert memory.get_all().total == 202


UNPRIVILEGED = """
import os, sys
from salience import Memory
from salience.errors import StoreError
from salience.stores import sqlite
from salience.testing import WordHashEmbedder
from salience.testing.conformance._case import search_ids
with Memory.open("sqlite:///:memory:", embedder=WordHashEmbedder()) as warm:
    warm.add("apple")
    warm.search("apple", profile="composite")
    warm.search("apple")
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
url, written = sys.argv[1], ""
memory = Memory.open(url, embedder=WordHashEmbedder())
assert len(search_ids(memory, "apple")) == 200
memory.search("apple")
try:
    memory.add("x")
except StoreError as problem:
    written = str(problem)
assert "reading only" in written or "readonly" in written, written
memory.close()
print("fine")
"""


@pytest.fixture
def readable() -> Iterator[Path]:
    """A folder that everybody can reach, which a test's own folder is not."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def as_nobody(path: Path, options: str = "") -> subprocess.CompletedProcess[str]:
    """The output of a process without any special rights."""
    return subprocess.run(
        [sys.executable, "-c", UNPRIVILEGED, f"sqlite:///{path}{options}"],
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
    )


@pytest.mark.one_in(4)
@pytest.mark.parametrize("options", ["", "?mode=ro"])
@pytest.mark.parametrize("folder_writable", [False, True])
def test_a_file_without_write_permission_can_be_read(
    readable: Path, filled: Path, options: str, folder_writable: bool
) -> None:
    path = readable / "memory.db"
    shutil.copy(filled, path)
    path.chmod(0o444)
    readable.chmod(0o777 if folder_writable else 0o555)
    before = path.read_bytes()
    ran = as_nobody(path, options)
    assert (ran.stdout, ran.stderr) == ("fine\n", "")
    assert path.read_bytes() == before


def test_a_file_in_a_folder_without_write_permission_is_not_made(readable: Path) -> None:
    path = readable / "memory.db"
    readable.chmod(0o555)
    reason = as_nobody(path).stderr.splitlines()[-1]
    assert f"StoreError: {path}: cannot be made: Permission denied; let {readable} be" in reason
    assert not path.exists()


def test_a_link_may_lead_to_a_file_that_is_to_be_made(path: Path, tmp_path: Path) -> None:
    path.symlink_to(tmp_path / "real.db")
    with opened(path) as memory:
        memory.add("apple", id="a")
    with opened(tmp_path / "real.db") as memory:
        assert memory["a"].content == "apple"
    assert path.is_symlink()


def test_a_file_without_read_permission_is_refused(readable: Path, filled: Path) -> None:
    path = readable / "memory.db"
    shutil.copy(filled, path)
    path.chmod(0)
    ran = as_nobody(path)
    assert f"StoreError: {path}: unable to open" in ran.stderr
    assert "check that its folder exists and may be read and written" in ran.stderr


def full(memory: Memory, path: Path) -> list[str]:
    """Write until the store is full; the ids that were acknowledged."""
    done: list[str] = []

    def fill() -> None:
        for i in range(100_000):
            done.extend(memory.add(f"filler{i} " + "long " * 400, id=f"f{i:05}").ids)

    with pytest.raises(StoreError) as caught:
        fill()
    message = str(caught.value)
    assert str(path) in message
    assert "full; free some room" in message
    return done


def still_good(memory: Memory, done: list[str]) -> None:
    expected = sorted(["first", *done])
    assert sorted(record.id for record in memory.get_all(limit=10_000)) == expected
    assert search_ids(memory, "apple") == ["first"]
    for i in (0, len(done) - 1):
        assert search_ids(memory, f"filler{i}") == [f"f{i:05}"]
    assert search_ids(memory, f"filler{len(done)}") == []


def test_a_full_file_loses_nothing(path: Path) -> None:
    records = SqliteRecords(str(path))
    with Memory.open(EmbeddedStore(records), embedder=WordHashEmbedder()) as memory:
        memory.add("apple", id="first")
        [pages] = records._writer.execute("PRAGMA page_count").fetchone()
        records._writer.execute(f"PRAGMA max_page_count = {pages + 30}")
        done = full(memory, path)
        still_good(memory, done)
        with pytest.raises(StoreError, match="free some room"):
            memory.add_many({"content": "much " * 1000} for _ in range(200))
        with pytest.raises(StoreError, match="free some room"):
            memory.update("first", content="apple " + "much " * 20_000)
        still_good(memory, done)
        memory.delete(done[-1])  # what is erased makes room
        memory.add("small", id=done[-1])
        records._writer.execute("PRAGMA max_page_count = 1000000")
        memory.add("room again", id="later")
    with opened(path) as memory:
        assert memory.get_all().total == len(done) + 2


def test_what_is_erased_is_not_reported_as_kept(path: Path) -> None:
    """The log that cannot be emptied just now is emptied after a later write."""
    records = SqliteRecords(str(path))
    with Memory.open(EmbeddedStore(records), embedder=WordHashEmbedder()) as memory:
        memory.add_many({"id": id, "content": f"SECRET-{id}"} for id in "ab")
        whole = records._writer
        records._writer = Failing(whole, "PRAGMA wal_checkpoint")  # type: ignore[assignment]
        assert memory.delete("a")
        records._writer = whole
        log = path.with_name(f"{path.name}-wal")
        assert b"SECRET-a" in log.read_bytes()
        memory.update("b", importance=0.5)
        assert b"SECRET-a" not in log.read_bytes() + path.read_bytes()


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a small file system can only be mounted with privileges")
    try:
        path = disk / "memory.db"
        memory = opened(path)
        memory.add("apple", id="first")
        done = full(memory, path)
        still_good(memory, done)
        memory.search("apple")
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        memory.add("room again", id="later")
        memory.delete("later")
        memory.close()
        with opened(path) as memory:
            still_good(memory, done)
            kept = memory.get("first")
            assert kept is not None
            assert kept.access_count >= 1
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


@pytest.mark.parametrize("options", ["", "?mode=ro"])
@pytest.mark.parametrize(
    ("name", "sign"),
    [
        ("a\0b", "NUL character"),
        ("\ud800", "characters that are none"),
        ("x" * 5_000, "too long|unable to open"),
        ("a/" * 5_000, "too long"),
        ("circle/a.db", "give another path"),
    ],
    ids=["NUL", "surrogate", "long", "deep", "circle"],
)
def test_a_path_that_no_file_can_have_is_refused(
    tmp_path: Path, name: str, sign: str, options: str
) -> None:
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    with pytest.raises(StoreError, match=sign):
        Memory.open(f"sqlite:///{tmp_path}/{name}{options}", embedder=None)


def test_an_interrupt_in_a_function_that_sqlite_calls_stays_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(connection, "checksum", interrupted)
    with closing(connection.connect(str(tmp_path / "m.db"), False)) as db:
        with pytest.raises(KeyboardInterrupt), connection.translate_errors("m.db"):
            db.execute("SELECT checksum(1)")
        with pytest.raises(StoreError), connection.translate_errors("m.db"):
            db.execute("SELECT nothing")


@pytest.mark.parametrize("call", ["doctor", "verify", "backup", "restore_backup", "open"])
def test_an_interrupt_of_a_long_check_is_no_finding(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.db"
    with Memory.open(path, embedder=None) as memory:
        memory.add_many([f"The cello of {n}." for n in range(50)])
        memory.backup(tmp_path / "b.db")
    calls: dict[str, Callable[[], object]] = {
        "doctor": lambda: memory.upkeep.doctor(),
        "verify": lambda: memory.upkeep.verify(),
        "backup": lambda: memory.backup(tmp_path / "c.db"),
        "restore_backup": lambda: restore_backup(tmp_path / "b.db", path, overwrite=True),
        "open": lambda: Memory.open(path, embedder=None),
    }
    count = 0

    def interrupted(*values: object) -> int:
        nonlocal count
        count += 1
        if count > 10:  # in the middle of a check
            raise KeyboardInterrupt
        return checksum(*values)

    with Memory.open(path, embedder=None) as memory:
        if call == "restore_backup":
            memory.close()
        for module in (connection, backup):
            monkeypatch.setattr(module, "checksum", interrupted)
        with pytest.raises(KeyboardInterrupt):
            calls[call]()
        monkeypatch.undo()
        if call != "restore_backup":
            assert memory.upkeep.doctor().healthy
    assert not [*tmp_path.glob("*.partial*")]
