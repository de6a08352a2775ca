"""Several processes add the same at once, to a file and to a database."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from salience import Memory
from salience.testing import WordHashEmbedder

PROCESSES = 3
ROUNDS = 8


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_the_same_facts_of_several_processes_are_one_memory_each(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    workers: Callable[[Path | str], Any],
    kind: str,
) -> None:
    url = f"sqlite:///{tmp_path}/a.db" if kind == "sqlite" else request.getfixturevalue("database")
    with Memory.open(url, embedder=WordHashEmbedder()) as memory:
        crowd = [workers(url) for _ in range(PROCESSES)]
        for number in range(ROUNDS):
            for worker in crowd:
                worker.ask("add", f"Ana has bought {number} apples.", tags=[f"round {number}"])
                worker.ask("add", f"Ben lives in town{number}.", kind="fact", user_id=f"u{number}")
        added: Counter[int] = Counter()
        for worker in crowd:
            for place in range(2 * ROUNDS):
                added[place] += len(worker.answer())
        assert added == dict.fromkeys(range(2 * ROUNDS), 1)
        records = memory.get_all(limit=100)
        assert records.total == 2 * ROUNDS
        assert {record.access_count for record in records} == {PROCESSES - 1}
        assert memory.upkeep.verify()
