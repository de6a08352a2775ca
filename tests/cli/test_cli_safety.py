"""The commands backup, restore-backup and doctor."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cli.conftest import Run


def test_a_store_is_backed_up_and_restored(notes: Run, tmp_path: Path) -> None:
    done = notes("--json", "backup", "backup.db")
    assert done.json["memories"] == 3
    again = notes("backup", "backup.db")
    assert again.code != 0
    assert "backup.db exists" in again.err
    assert notes("backup", "backup.db", "--overwrite").code == 0
    notes("delete", "river", "--yes")
    assert notes("restore-backup", "backup.db").code != 0
    notes("update", "bread", "--tag", "new")
    assert "2 memories" in notes("restore-backup", "backup.db", "--overwrite").out
    assert notes("get", "river").code != 0  # what was erased since does not come back
    assert "new" not in notes("get", "bread").out


def test_doctor_ends_with_1_where_something_is_left_to_mend(notes: Run, tmp_path: Path) -> None:
    assert notes("doctor").code == 0
    db = sqlite3.connect(tmp_path / "memory.db")
    db.execute("UPDATE memories SET content = 'Forged.' WHERE id = 'bread'")
    db.commit()
    db.close()
    found = notes("--json", "doctor")
    assert found.code == 1
    assert not found.json["healthy"]
    assert [each["check"] for each in found.json["findings"]] == ["memories"]
    assert "`salience doctor --fix`" in notes("doctor").out
    assert notes("doctor", "--fix").code == 0
    assert (tmp_path / "memory.db.damaged.jsonl").exists()
    assert notes("doctor").code == 0
