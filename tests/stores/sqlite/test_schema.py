"""A new file has the schema that an old one has after its last step."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from salience import Memory
from salience.language.features import FEATURES_VERSION
from salience.stores.migrations import migrations
from salience.stores.sqlite import connection
from salience.stores.sqlite.row_checksums import checksum_of, renew_checksums
from salience.stores.sqlite.statements import checksum
from salience.write.chat import Mode
from support.older_files import without_last_columns


def schema(path: Path) -> dict[str, Any]:
    """What SQLite keeps of a file's schema, without comments and layout, and the rows in it."""
    with sqlite3.connect(path) as db:
        statements = {
            name: re.sub(r'--[^\n]*|\s|"', "", statement or "")
            for name, statement in db.execute("SELECT name, sql FROM sqlite_schema")
        }
        tables = [name for (name,) in db.execute("SELECT name FROM pragma_table_list")]
        state = {name: db.execute(f"PRAGMA {name}").fetchall() for name in (
            "user_version", "application_id", "page_size", "auto_vacuum", "encoding",
            "journal_mode",
        )}  # fmt: skip
        columns = {name: db.execute(f"PRAGMA table_xinfo({name})").fetchall() for name in tables}
        rows = {
            name: db.execute(f"SELECT count(*) FROM {name}").fetchone()
            for name in tables
            if not name.startswith("sqlite_")
        }
        counter = db.execute("SELECT value, length(state), length(previous_state) FROM counter")
        return {
            "statements": statements,
            "columns": columns,
            "state": state,
            "rows": rows,
            "counter": counter.fetchall(),
        }


def test_a_new_file_has_the_schema_of_a_migrated_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Memory.open(tmp_path / "new.db").close()
    monkeypatch.setattr(connection, "present_schema", lambda store: "".join(migrations(store)))
    Memory.open(tmp_path / "migrated.db").close()
    new, migrated = schema(tmp_path / "new.db"), schema(tmp_path / "migrated.db")
    for part, expected in migrated.items():
        assert new[part] == expected, f"{part}: the last step and sqlite.sql differ"


OTHER_SCHEMAS = {
    "ALTER TABLE links ADD COLUMN other TEXT": "the table links is not declared",
    "ALTER TABLE links RENAME COLUMN weight TO heft": "the table links is not declared",
    "DROP TABLE erasures; CREATE TABLE erasures AS SELECT * FROM notes": "erasures",
    "DROP INDEX links_by_target; CREATE INDEX links_by_target ON links (target)": "links_by",
    "DROP TRIGGER only_this_schema": "the trigger only_this_schema is missing",
}


@pytest.mark.parametrize("change", OTHER_SCHEMAS)
def test_a_check_compares_what_a_schema_means_and_not_how_its_steps_said_it(
    change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "migrated.db"
    with monkeypatch.context() as patch:
        patch.setattr(connection, "present_schema", lambda store: "".join(migrations(store)))
        with Memory.open(path, embedder=None) as memory:
            memory.add("Ana lives in Porto.")
    with Memory.open(path, embedder=None) as memory:
        assert memory.upkeep.doctor().findings == ()
    with sqlite3.connect(path) as db:
        db.executescript(change)
    db.close()
    with Memory.open(path, embedder=None) as memory:
        assert OTHER_SCHEMAS[change] in memory.upkeep.doctor().findings[0].problem


def test_the_last_step_that_computes_features_is_for_those_of_today(tmp_path: Path) -> None:
    computing = [step for step in migrations("sqlite") if "feature_bytes" in step]
    assert f"version {FEATURES_VERSION}" in computing[-1], "old files would keep other features"
    path = tmp_path / "memory.db"
    with Memory.open(path) as memory:
        memory.add("The concert is on Saturday.", id="old", created_at="2025-01-01")
        memory.add("The concert was called off.", id="new", created_at="2026-01-01")
    with sqlite3.connect(path) as db:
        db.create_function("checksum", -1, checksum, deterministic=True)
        db.execute("UPDATE memories SET features = zeroblob(length(features))")
        renew_checksums(db)
        without_last_columns(db)
        db.execute(f"PRAGMA user_version = {migrations('sqlite').index(computing[-1])}")
    with Memory.open(path) as memory:
        assert memory.search("When is the concert?")[0].id == "new"
        assert memory.upkeep.doctor().healthy


@pytest.mark.parametrize("mode", ["chunks", "hybrid"])
def test_a_chat_that_an_older_program_continued_is_no_use_of_it(tmp_path: Path, mode: Mode) -> None:
    path = tmp_path / "memory.db"
    with Memory.open(path, embedder=None) as memory:
        for day in range(1, 9):
            role = "user" if day % 2 else "assistant"
            said = {"role": role, "content": f"On day {day} we saw the heron."}
            memory.add_chat([said], session_id="s", mode=mode)
        memory.add("A draft.", id="draft")
        memory.update("draft", content="A draft, longer.")  # of what is no chat
        chunks = {each.id: len(each.accesses) for each in memory.get_all()}
    with closing(connection.connect(str(path), False)) as db:  # as it would have left them
        db.execute("UPDATE events SET payload = json_remove(payload, '$.continued')")
        db.execute(f"UPDATE events SET checksum = {checksum_of('events')}")
        db.execute(
            "UPDATE memories SET write_count = 7, accesses = zeroblob(24) "
            "WHERE sequence IN (SELECT memory FROM events WHERE payload LIKE '%heron%')"
        )
        without_last_columns(db)
        db.execute("PRAGMA user_version = 25")
    with Memory.open(path, embedder=None) as memory:
        assert {each.id: len(each.accesses) for each in memory.get_all()} == chunks
        counts = {each.id: each.write_count for each in memory.get_all()}
        assert counts.pop("draft") == 1
        assert {*counts.values()} == {0}
        assert memory.upkeep.doctor().healthy
