"""Plans of the statements: none reads all that a namespace has in a table, without statistics."""

import ast
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

import salience.stores
from salience import Memory
from salience.stores.copy import copy
from salience.stores.migrations import migrations
from salience.stores.sqlite import connection, dialect, snapshots
from salience.stores.tables.commands import worded
from salience.testing import WordHashEmbedder
from support.query_plans import (
    VERBS,
    LinearPlan,
    PlanReader,
    normal,
    reading_plans,
    use_tables,
)

PACKAGE = Path(salience.stores.__file__).parent
READ_WHOLE = ("backup", "checkup", "open_files", "row_checks", "row_checksums")
"""Modules that look through whole files: the doctor's, backups', and what migrations check."""


def literals() -> Iterator[str]:
    """The beginning of each statement that the sources hold."""
    paths = [*(PACKAGE / "sqlite").glob("*.py"), *(PACKAGE / "tables").glob("*.py")]
    for path in sorted(path for path in paths if path.stem not in READ_WHOLE):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.JoinedStr):
                node = node.values[0]
            text = getattr(node, "value", None)
            if isinstance(text, str) and text.startswith(tuple(f"{verb} " for verb in VERBS)):
                yield normal(worded(text.split("{rows}")[0]).sqlite)


def use_everything(folder: Path) -> None:
    """Let the store issue each of its statements."""
    url = f"sqlite:///{folder / 'memory.db'}"
    use_tables(url)
    copy(url, f"sqlite:///{folder / 'copy.db'}")
    Memory.upkeep.reembed(url, embedder=WordHashEmbedder(48))
    with Memory.open(url, embedder=WordHashEmbedder(48)) as memory:
        memory.search("fact", as_of=datetime.now(UTC))
        memory.delete_all({"id": "m8"})
        memory.delete_all(namespace="default")
        memory.add("The first of a new log.", id="first")
        memory.backup(folder / "backup.db")
        memory.delete("first")
    backup, path = folder / "backup.db", folder / "memory.db"
    Memory.restore_backup(backup, path, overwrite=True, with_erased=False)


def check_a_snapshot(path: str) -> None:
    """Let an index be written beside a store, and compare it with that."""
    with Memory.open(f"sqlite:///{path}", embedder=None) as memory:
        memory.add_many(f"Fact number {i}." for i in range(5))
    with Memory.open(f"sqlite:///{path}", embedder=None) as memory:
        memory.search("fact", touch=False)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("UPDATE memories SET tags = '[' WHERE row = (SELECT max(row) FROM memories)")
    with Memory.open(f"sqlite:///{path}", embedder=None) as memory:
        assert "is damaged" in str(memory.search("fact", touch=False).degraded)
    with closing(connection.connect(path, read_only=True)) as db:
        assert list(snapshots.damaged_snapshots(db, path)) == []


def test_the_plan_of_every_statement_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dialect, "CHANGES_KEPT", 10)
    monkeypatch.setattr(snapshots, "LEAST_MEMORIES", 3)
    with reading_plans():
        use_everything(tmp_path)
        check_a_snapshot(str(tmp_path / "indexed.db"))
    read = {text for text, _ in PlanReader.read}
    missing = [text for text in literals() if not any(each.startswith(text) for each in read)]
    assert not missing, missing


def test_a_statement_that_reads_a_whole_namespace_is_refused(tmp_path: Path) -> None:
    with (
        reading_plans(),
        Memory.open(f"sqlite:///{tmp_path / 'memory.db'}", embedder=None) as memory,
    ):
        memory.add("A fact.")
        db = sqlite3.connect(tmp_path / "memory.db")
        for statement in (
            "SELECT id FROM memories WHERE title = ?",
            "DELETE FROM events WHERE space = ? AND type = 'link'",
        ):
            with pytest.raises(LinearPlan, match="end to end"):
                db.execute(statement, ("x",))


FUNCTIONS_OF_MIGRATIONS = (
    *("text_key", "attribute_key", "feature_bytes", "term_bytes", "exact_json"),
    *("passage_borders", "passage_terms", "checksum", "composed"),
)


def test_a_migration_looks_up_each_memory_by_its_id(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "memory.db", embedder=None) as memory:
        memory.add("A fact.", idempotency_key="once")
    [script] = [each for each in migrations("sqlite") if "events_by_mention" in each]
    update = script[script.index("UPDATE events") :]
    with sqlite3.connect(tmp_path / "memory.db") as db:
        db.create_function("checksum", -1, lambda *values: 0)
        plan = [step for *_, step in db.execute(f"EXPLAIN QUERY PLAN {update}")]
    looked_up = [step for step in plan if "memories" in step]
    assert len(looked_up) == 1, plan
    assert re.search(r"SEARCH memories USING .*\(space=\? AND id=\?\)", looked_up[0]), plan


def test_no_migration_reads_a_namespace_for_each_of_its_rows() -> None:
    db = sqlite3.connect(":memory:")
    for name in FUNCTIONS_OF_MIGRATIONS:
        db.create_function(name, -1, lambda *values: None, deterministic=True)
    again = re.compile(r"SEARCH (\w+) USING .*\(space=\?\)$")
    for number, script in enumerate(migrations("sqlite"), start=1):
        for statement in connection._statements(script):
            if re.match(r"\s*(--.*\s*)*(UPDATE|DELETE|INSERT)", statement):
                plan = [step for *_, step in db.execute(f"EXPLAIN QUERY PLAN {statement}")]
                inner = (
                    [] if plan[:1] == ["SCAN spaces"] else plan[1:]
                )  # once for each is right there
                assert not [step for step in inner if again.match(step)], (number, plan)
            db.execute(statement)
