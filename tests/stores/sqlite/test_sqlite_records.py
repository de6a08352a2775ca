"""Contents of the one file, and what is not in it: erased text, the change feed, the embedder."""

import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from salience import Memory
from salience.errors import EmbedderMismatch, StoreError
from salience.stores import EmbeddedStore
from salience.stores.sqlite import dialect as sqlite
from salience.stores.sqlite.records import SqliteRecords
from salience.testing import WordHashEmbedder
from salience.testing.conformance._case import EVERYTHING, search_ids


def opened(path: Path, **settings: Any) -> Memory:
    return Memory.open(f"sqlite:///{path}", **{"embedder": WordHashEmbedder(), **settings})


def on_disk(path: Path) -> bytes:
    """Everything that is kept in the file and beside it."""
    return b"".join(each.read_bytes() for each in sorted(path.parent.glob(path.name + "*")))


def test_erased_text_is_gone_from_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    secret = {
        "id": "SECRET-ID-93",
        "content": "SECRET-CONTENT-17 " + "SECRET-LONG-55 " * 2000,
        "title": "SECRET-TITLE-4",
        "speaker": "SECRET-SPEAKER-8",
        "tags": ["SECRET-TAG-2"],
        "metadata": {"SECRET-KEY-6": "SECRET-VALUE-1"},
    }
    with opened(path) as memory:
        memory.add_many({"id": f"m{i}", "content": f"harmless {i} " * 30} for i in range(200))
        memory.add_many(
            [secret, {**secret, "id": "SECRET-ID-94"}, {**secret, "id": "SECRET-ID-95"}]
        )
        memory.link("SECRET-ID-93", "m0")
        memory.search("SECRET")
        memory.upkeep.flush()
        assert on_disk(path).count(b"SECRET") > 10
        memory.delete("SECRET-ID-93")
        memory.update("SECRET-ID-94", content="nothing", title=None, speaker=None)
        memory.delete("SECRET-ID-94")
        memory.delete_all({"id": "SECRET-ID-95"})
        assert b"SECRET" not in on_disk(path)
        assert memory.get_all().total == 200
    assert b"SECRET" not in on_disk(path)


def test_a_namespace_that_is_erased_leaves_no_text(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with opened(path) as memory:
        memory.add("kept")
        memory.for_namespace("tenant").add_many(
            {"content": f"SECRET-{i} " * 50} for i in range(300)
        )
        memory.delete_all(namespace="tenant")
        assert b"SECRET" not in on_disk(path)
        assert memory.stats(everywhere=True)["namespaces"] == {"default": 1}


def test_a_namespace_that_is_erased_leaves_no_name(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with (
        Memory.open(f"sqlite:///{path}", namespace="ana@example.com", embedder=None) as memory,
        Memory.open(f"sqlite:///{path}", namespace="ana@example.com", embedder=None) as other,
    ):
        memory.add_many([{"content": "Green tea", "id": "tea"}, {"content": "Coffee", "id": "c"}])
        memory.link("tea", "c")
        assert other.search("tea").ids == ("tea",)
        assert memory.delete_all(namespace="ana@example.com").memories == 2
        assert b"ana@example.com" not in on_disk(path)
        # Whoever knew it by its old number finds what it holds when it is begun again.
        memory.add("Black tea", id="black")
        assert other.search("tea").ids == memory.search("tea").ids == ("black",)
        other.add("White tea", id="white")
        assert set(memory.search("tea").ids) == {"black", "white"}
        other.delete_all(namespace="ana@example.com")
        assert memory.search("tea").ids == ()


def test_erased_text_goes_as_soon_as_nobody_reads_it_any_more(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with opened(path) as memory:
        memory.add("SECRET", id="a")
        reading = sqlite3.connect(path, isolation_level=None)
        reading.execute("BEGIN")
        assert reading.execute("SELECT count(*) FROM memories").fetchone() == (1,)
        assert memory.delete("a")  # a long look of somebody else does not hold it up
        reading.close()
        memory.add("harmless", id="b")
        assert b"SECRET" not in on_disk(path)


def test_the_vectors_of_another_embedder_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    early = opened(path, embedder=WordHashEmbedder(8))  # opened before there are any vectors
    with opened(path) as memory:
        memory.add("apple", id="a")
    with pytest.raises(EmbedderMismatch, match=r"word-hash.*\(32\).*word-hash.*\(8\).*reembed"):
        opened(path, embedder=WordHashEmbedder(8))
    with pytest.raises(EmbedderMismatch, match="reembed"):
        early.add("pear", id="b")
    assert [record.id for record in early.get_all()] == ["a"]
    early.close()
    with opened(path, embedder=None) as memory:  # words need no embedder
        memory.add("apple pie", id="c")
        assert sorted(search_ids(memory, "apple")) == ["a", "c"]
    with opened(path) as memory:
        assert search_ids(memory, "apple", profile=EVERYTHING) == ["a"]


def test_an_index_that_missed_too_much_is_loaded_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "CHANGES_KEPT", 20)
    path = tmp_path / "memory.db"
    reader, writer = opened(path), opened(path)
    writer.add_many({"id": f"m{i:03}", "content": f"apple number{i}"} for i in range(120))
    assert len(search_ids(reader, "apple")) == 120
    for i in range(100):
        if i % 2:
            writer.delete(f"m{i:03}")
        else:
            writer.update(f"m{i:03}", importance=i / 100)
        writer.add(f"late apple{i}", id=f"late{i:03}")
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT count(*) FROM changes").fetchone()[0] <= 60
    db.close()
    fresh = opened(path)
    asked: dict[str, Any] = {"limit": 1000, "touch": False, "now": "2026-06-01"}
    ranked = [(hit.id, hit.score) for hit in fresh.search("apple", **asked)]
    for each in (reader, writer):
        assert len(search_ids(each, "apple")) == 70
        assert [(hit.id, hit.score) for hit in each.search("apple", **asked)] == ranked
        assert each.get_all(limit=1).total == 170
        assert each.get_all({"importance": {"gte": 0.5}}).total == 25
        assert search_ids(each, "number7") == []
    fresh.close()
    reader.close()
    writer.close()


@pytest.mark.deep
def test_an_index_is_compacted_after_many_deletions(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with opened(path) as memory, opened(path) as other:
        memory.add_many(
            {"id": f"m{i:04}", "content": f"apple number{i}", "session_id": f"s{i // 10}"}
            for i in range(3000)
        )
        for each in (memory, other):
            assert len(search_ids(each, "apple", limit=1000)) == 1000
        sizes = [each.stats(everywhere=True)["index_mb"] for each in (memory, other)]
        for start in range(0, 2400, 300):  # in portions, some below the bound, all of it above
            ids = [f"m{i:04}" for i in range(start, start + 300)]
            assert memory.delete_all({"id": {"in": ids}}).memories == 300
            for each in (memory, other):
                assert search_ids(each, "apple", limit=1) == [f"m{start + 300:04}"]
        for each, size in zip((memory, other), sizes, strict=True):
            assert each.stats(everywhere=True)["index_mb"] < size / 2
            assert len(search_ids(each, "apple")) == 600
            assert search_ids(each, "number2999") == ["m2999"]
            assert search_ids(each, "number100") == []


def test_indexes_beyond_the_memory_limit_are_dropped_and_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SALIENCE_INDEX_BYTES", "1")
    store = EmbeddedStore(SqliteRecords(str(tmp_path / "memory.db")))
    with Memory.open(store, embedder=WordHashEmbedder()) as memory:
        names = [f"room{i}" for i in range(4)]
        for name in names:
            memory.for_namespace(name).add_many(
                {"id": f"{name}-{i}", "content": "apple pie"} for i in range(3)
            )
        for name in names * 2:
            assert len(search_ids(memory.for_namespace(name), "apple")) == 3
        for profile in ("balanced", "composite"):
            hits = memory.search("apple pie", namespaces=names, limit=50, profile=profile)
            assert len(hits) == 12
            assert sorted(hits.ids) == sorted(f"{n}-{i}" for n in names for i in range(3))
            assert all(hit.score > 0.0 for hit in hits)


def test_links_and_their_memory_are_one_transaction(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    records = SqliteRecords(str(path))
    with Memory.open(EmbeddedStore(records), embedder=WordHashEmbedder()) as memory:
        memory.add("x", id="a")
        records._writer.execute(
            "CREATE TEMP TRIGGER refuse BEFORE INSERT ON links "
            "BEGIN SELECT RAISE(ABORT, 'no links today'); END"
        )
        with pytest.raises(StoreError, match="no links today"):
            memory.add("y", id="b", links=[{"target": "a", "type": "mentions"}])
        records._writer.execute("DROP TRIGGER refuse")
        assert memory.get("b") is None
        assert search_ids(memory, "y") == []
        memory.add("y", id="b", links=[{"target": "a", "type": "mentions"}])
        assert len(memory.links("a")) == 1


def test_a_load_that_fails_leaves_no_half_of_an_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = SqliteRecords(str(tmp_path / "memory.db"))
    with Memory.open(EmbeddedStore(records), embedder=WordHashEmbedder()) as memory:
        memory.add_many({"id": f"m{i}", "content": "apple"} for i in range(5))
        assert len(search_ids(memory, "apple")) == 5
        memory.add("apple", id="late")
        vectors = records.vectors
        monkeypatch.setattr(records, "vectors", lambda *_: (_ for _ in ()).throw(StoreError("bad")))
        with pytest.raises(StoreError, match="bad"):
            memory.search("apple")
        monkeypatch.setattr(records, "vectors", vectors)
        for profile in (EVERYTHING, "balanced"):
            assert len(search_ids(memory, "apple", profile=profile)) == 6
        assert memory.get_all().total == 6


@pytest.mark.parametrize("loaded", [False, True])
@pytest.mark.parametrize(
    "moment", ["SELECT row FROM memories", "SELECT DISTINCT row, kind", "SELECT row, id, sequence"]
)
def test_a_commit_in_the_middle_of_a_look_is_seen_once(
    tmp_path: Path, loaded: bool, moment: str
) -> None:
    """Another process commits between two statements of the one that looks."""
    path = tmp_path / "memory.db"
    records = SqliteRecords(str(path))
    late = [f"late{i}" for i in range(3)]
    with Memory.open(EmbeddedStore(records), embedder=WordHashEmbedder()) as memory:
        other = opened(path)
        other.add_many({"id": f"m{i}", "content": "apple"} for i in range(5))
        if loaded:
            assert len(search_ids(memory, "apple")) == 5
        other.add("apple", id="m5")
        waiting = list(late)

        def commit(statement: str) -> None:
            if statement.startswith(moment) and waiting:
                other.add("apple", id=waiting.pop())
                other.update("m0", content="pear")

        records._reader.set_trace_callback(commit)
        for _ in range(4):
            ids = search_ids(memory, "apple")
            assert len(set(ids)) == len(ids)
        records._reader.set_trace_callback(None)
        gone = set(late) - set(waiting)
        expected = sorted({f"m{i}" for i in range(0 if not gone else 1, 6)} | gone)
        assert sorted(search_ids(memory, "apple")) == expected
        assert memory.get_all().total == 6 + len(gone)
        with opened(path) as fresh:
            asked = {"touch": False, "now": "2026-06-01", "limit": 50}
            hits, again = (m.search("apple", **asked) for m in (memory, fresh))  # type: ignore[arg-type]
            assert [(h.id, h.score) for h in hits] == [(h.id, h.score) for h in again]
        for id in late:
            other.delete(id)
        assert sorted(search_ids(memory, "apple")) == [id for id in expected if id not in late]
        other.close()


def test_opening_a_file_loads_no_importer(tmp_path: Path) -> None:
    code = (
        "import sys; from salience import Memory; Memory.open(sys.argv[1]).close();"
        "print([name for name in sys.modules if name.startswith('salience.importers')])"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "memory.db")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
