"""Versions among processes: read, change and write again on a conflict loses nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from salience import Memory
from support.waiting import HANG_SECONDS

PROCESSES = 3
INCREMENTS = 12
FINDS_SUPPORT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
WORKER = """
import sys
from salience import Memory
from support.suite.versions import increment

with Memory.open(sys.argv[1], embedder=None) as memory:
    increment(memory, int(sys.argv[2]))
"""


@pytest.mark.deep
@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_no_increment_of_any_process_is_lost(
    store: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    file = f"sqlite:///{tmp_path / 'memory.db'}"
    url = file if store == "sqlite" else request.getfixturevalue("database")
    with Memory.open(url, embedder=None) as memory:
        memory.add("A counter", id="x", metadata={"n": 0})
        command = [sys.executable, "-c", WORKER, url, str(INCREMENTS)]
        running = [subprocess.Popen(command, env=FINDS_SUPPORT) for _ in range(PROCESSES)]
        assert [process.wait(HANG_SECONDS) for process in running] == [0] * PROCESSES
        record = memory["x"]
        assert record.metadata == {"n": PROCESSES * INCREMENTS}
        assert record.version == PROCESSES * INCREMENTS + 1
        assert memory.history("x").numbers[-1] == record.version
        assert memory.upkeep.verify()
