"""Log records: what happened is told under the package's name, and never what a memory says."""

from __future__ import annotations

import logging
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from salience import Memory
from salience.stores.migrations import migrations
from salience.testing import WordHashEmbedder

SECRET = "xyzzy"


class Gossip(WordHashEmbedder):
    """An embedder whose errors repeat what it was given."""

    fails = False

    def embed(self, texts: Any, *, kind: Any = "document") -> Any:
        if self.fails:
            raise ConnectionError(f"no answer to {list(texts)}")
        return super().embed(texts, kind=kind)


def messages(caplog: pytest.LogCaptureFixture, level: int) -> list[str]:
    return [
        f"{record.levelname} {record.name}: {record.getMessage()}"
        for record in caplog.records
        if record.name.startswith("salience") and record.levelno >= level
    ]


def live(memory: Memory, embedder: Gossip) -> None:
    """Do much with memories that hold the secret wherever one can."""
    fields: dict[str, Any] = {"tags": [f"{SECRET} tag"], "metadata": {SECRET: f"{SECRET} value"}}
    for number in range(3):
        memory.add(f"{SECRET} number {number}", id=f"{SECRET}-{number}", **fields)
    chat = [{"role": "user", "content": f"I like {SECRET}"}]
    memory.add_chat(chat, session_id=f"{SECRET} session")
    memory.search(f"{SECRET}?", filters={"tags": f"{SECRET} tag"}, explain=True)
    memory.explain(SECRET, f"{SECRET}-0")
    memory.get_context(f"What about {SECRET}?")
    embedder.fails = True
    memory.add(f"{SECRET} without a vector", id=f"{SECRET}-bare")
    memory.search(f"{SECRET} again")
    embedder.fails = False
    memory.add(f"{SECRET} with a vector again")
    memory.update(f"{SECRET}-1", content=f"{SECRET} edited")
    run = memory.archive([f"{SECRET}-0", f"{SECRET}-1"])
    memory.unarchive(f"{SECRET}-1")
    memory.undo(str(run))
    memory.upkeep.prune(apply=True)
    memory.upkeep.consolidate(apply=True, everything=True)
    memory.upkeep.maintain()
    memory.upkeep.verify(repair=True)
    memory.upkeep.audit()
    memory.delete(f"{SECRET}-2")
    memory.delete_all({"tags": f"{SECRET} tag"})


def test_no_words_of_a_memory_are_logged_above_debug(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "salience")
    embedder = Gossip()
    with Memory("ram://", embedder=embedder, namespace="n", slow_search_ms=0) as memory:
        live(memory, embedder)
    said = messages(caplog, logging.INFO)
    for part in (
        "WARNING salience.search: slow search: ",
        "WARNING salience.engine.recovery: Gossip does not answer (ConnectionError)",
        "INFO salience.engine.recovery: Gossip answers again",
        "INFO salience.upkeep: archive: 2 memories of the namespace 'n' (run archive-",
        "INFO salience.upkeep: undo: ",
        "INFO salience.upkeep: erase: ",
    ):
        assert any(line.startswith(part) for line in said), (part, said)
    assert not [line for line in said if SECRET in line]
    in_full = messages(caplog, logging.DEBUG)
    assert any(SECRET in line for line in in_full if line.startswith("DEBUG salience.search"))


def test_a_search_is_slow_from_its_threshold_on(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "salience")
    for threshold, count in ((None, 0), (60_000, 0), (0, 1)):
        caplog.clear()
        with Memory("ram://", embedder=None, slow_search_ms=threshold) as memory:
            memory.search("tea")
        slow = [line for line in messages(caplog, logging.INFO) if "slow search" in line]
        assert len(slow) == count


def test_an_older_schema_that_is_brought_up_to_date_is_logged(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caplog.set_level(logging.INFO, "salience")
    path, steps = tmp_path / "memory.db", migrations("sqlite")
    Memory(path, embedder=None).close()
    assert messages(caplog, logging.INFO) == []  # a new file is none
    old = tmp_path / "old.db"
    with sqlite3.connect(old) as db:
        db.executescript(steps[0])
        db.execute("PRAGMA user_version = 1")
        db.execute(f"PRAGMA application_id = {0x5245434C}")
    db.close()
    Memory(old, embedder=None).close()
    [line] = messages(caplog, logging.INFO)
    assert line.endswith(f"old.db: schema brought from version 1 to {len(steps)}")


def test_nothing_is_printed_unless_the_program_says_so() -> None:
    program = (
        "from salience import Memory\n"
        "with Memory('ram://', embedder=None, slow_search_ms=0) as memory:\n"
        "    memory.search('tea')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")
