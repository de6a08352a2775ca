"""The log of a SQLite file: older files get one, and uses wait to be written with the accesses."""

import sqlite3
from datetime import datetime, timezone
from pathlib import Path

import pytest

from salience import Memory
from salience.records.events import STATE, replay
from salience.records.fields import LEXICAL
from salience.records.record import ASSUMED
from salience.stores import access_queue
from salience.testing import WordHashEmbedder
from salience.testing.conformance._case import WORDS, get_record
from support.older_files import without_places
from support.suite.events import events, types_and_ids

ODD = datetime(2026, 3, 1, 12, 0, 0, 123457, tzinfo=timezone.utc)


def opened(path: Path) -> Memory:
    return Memory.open(f"sqlite:///{path}", embedder=WordHashEmbedder())


SINCE_VERSION_7 = (
    *("outdated", "added_at", "version", "attribute_key"),
    *("passages", "terms_passages", "written_by", "write_count", "derived_by"),
)
"""The columns of memories that the steps of the schema from the seventh on add."""


def without_last_steps(db: sqlite3.Connection) -> None:
    """Make a file what it was after the sixth step of the schema."""
    without_places(db)
    for table in ("access_keys", "erasures"):
        db.execute(f"DROP TABLE {table}")
    for index in ("memories_by_time", "memories_by_attribute", "memories_with_passages"):
        db.execute(f"DROP INDEX {index}")
    for column in SINCE_VERSION_7:
        db.execute(f"ALTER TABLE memories DROP COLUMN {column}")
    db.execute("PRAGMA user_version = 6")
    db.commit()


def without_log(path: Path) -> None:
    """Make a file what it would have been before there was a log."""
    db = sqlite3.connect(path)
    without_last_steps(db)
    for table in ("events", "former_vectors", "notes"):
        db.execute(f"DROP TABLE {table}")
    for index in ("memories_by_sequence", "memories_by_text"):
        db.execute(f"DROP INDEX {index}")
    for column in ("valid_from", "valid_to", "text_key"):
        db.execute(f"ALTER TABLE memories DROP COLUMN {column}")
    db.execute("PRAGMA user_version = 1")
    db.commit()
    db.close()


def test_the_log_of_an_older_file_begins_with_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with opened(path) as memory:
        memory.add("An apple.", id="a", created_at=ODD, importance=0.1 + 0.2, tier="long")
        memory.add("A pear.", id="b", pinned=True, expires_at="2030-01-01")
        memory.link("b", "a", "supports", 0.1 + 0.2)
        for i in range(3):
            memory.search("apple", profile=WORDS, now=ODD.timestamp() + i / 3)
        memory.update("b", content="A plum.")
    without_log(path)
    with opened(path) as memory:
        assert types_and_ids(events(memory)) == [("write", "a"), ("write", "b"), ("link", "b")]
        for id in "ab":
            kept, state = get_record(memory, id), replay(events(memory, id))[id]
            state |= {n: 0.5 for n in ASSUMED if state[n] is None}
            assert state == {n: getattr(kept, n) for n in STATE}
        assert events(memory)[-1].payload == {
            "target": "a",
            "link": "supports",
            "weight": 0.1 + 0.2,
        }
        assert memory.add("A PLUM.", expires_at="2030-01-01").items[0].outcome == "DUPLICATE"
        memory.add("A fig.", id="c")  # the numbers go on
        assert [event.id for event in events(memory)] == ["a", "b", "b", "b", "c"]


def test_the_words_of_an_older_file_are_worked_out_anew(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with opened(path) as memory:
        memory.add("我家的猫今年三岁。", id="a", title="HttpClient", tags=["Новый", "x y"])
        memory.add("A pear.", id="b", session_id="s", entities=["Pear", "12,500"], gist="Fruit.")
    db = sqlite3.connect(path)
    without_last_steps(db)
    told = "SELECT features, text_key, %s FROM memories ORDER BY row"
    terms = [f"terms_{name}" for name in LEXICAL]
    kept = db.execute(told % ", ".join(terms)).fetchall()
    for name in terms:
        db.execute(f"UPDATE memories SET {name} = NULL")
    db.execute("UPDATE memories SET text_key = 1, features = zeroblob(length(features))")
    db.execute("PRAGMA user_version = 5")
    db.commit()
    with opened(path) as memory:
        assert memory.search("猫", profile=WORDS).ids == ("a",)
    assert db.execute(told % ", ".join(terms)).fetchall() == kept
    db.close()


def test_the_facts_of_an_older_file_are_compared_with_new_ones(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with opened(path) as memory:
        memory.add("Ana lives in Berlin.", id="old", kind="fact")
        memory.add("Ana lives in Rome.", id="note")
    db = sqlite3.connect(path)
    without_last_steps(db)
    db.close()
    with opened(path) as memory:
        [outcome] = memory.add("Ana has moved to Lisbon.", kind="fact")
        assert (outcome.outcome, outcome.match) == ("CONFLICTS", "old")


def test_an_older_file_learns_from_its_log_what_is_outdated_and_when_all_came(
    tmp_path: Path,
) -> None:
    path = tmp_path / "memory.db"
    with opened(path) as memory:
        memory.add("An apple.", id="a", created_at=ODD)
        memory.add("A pear.", id="b")
        for kind in ("outdated", "incorrect"):
            memory.feedback("a", kind)
        memory.update("a", content="A plum.")
        before = [get_record(memory, id) for id in "ab"]
    db = sqlite3.connect(path)
    without_last_steps(db)
    db.close()
    with opened(path) as memory:
        assert [get_record(memory, id) for id in "ab"] == before
        assert before[0].outdated == 1.0
        assert memory.upkeep.verify()


def test_the_versions_of_an_older_file_are_the_number_of_its_changes(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with opened(path) as memory:
        memory.add("An apple.", id="a")
        memory.add("A pear.", id="b")
        memory.update("b", importance=0.5)
        memory.update("b", content="A plum.")
        memory.link("b", "a")
        memory.search("plum", profile=WORDS)
        before = memory.get_all().memories
        assert [record.version for record in before] == [3, 1]
    db = sqlite3.connect(path)
    without_last_steps(db)
    db.close()
    with opened(path) as memory:
        assert memory.get_all().memories == before
        assert memory.upkeep.verify()
        assert memory.update("b", importance=0.7, if_version=3).version == 4


def test_uses_that_could_not_be_written_wait_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access_queue, "WRITE_DELAY_SECONDS", 3600.0)
    path = tmp_path / "memory.db"
    with opened(path) as memory:
        memory.add("An apple.", id="a")
        memory.search("apple", profile=WORDS)
        store = memory._core.dispatcher.store
        records = store._records  # type: ignore[attr-defined]
        with monkeypatch.context() as broken:
            broken.setattr(records, "_write_batch", lambda batch: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                memory.upkeep.flush()
        memory.search("apple", profile=WORDS)
        assert types_and_ids(events(memory)) == [
            ("write", "a"),
            ("retrieval", "a"),
            ("retrieval", "a"),
        ]
        assert get_record(memory, "a").access_count == 2


def test_a_use_of_what_was_erased_meanwhile_is_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access_queue, "WRITE_DELAY_SECONDS", 3600.0)
    path = tmp_path / "memory.db"
    with opened(path) as memory, opened(path) as other:
        memory.add_many([{"id": id, "content": f"apple {id}"} for id in "ab"])
        memory.search("apple", profile=WORDS)
        other.delete("a")
        memory.upkeep.flush()
        kept = [("write", "b"), ("erase", None), ("retrieval", "b")]
        assert types_and_ids(events(memory)) == kept
