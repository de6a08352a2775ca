"""A short form of the concurrent histories; `make torture` has ten minutes of them."""

from __future__ import annotations

import json
from pathlib import Path

from torture.histories import check, step
from torture.linearizability import Operation, is_linearizable
from torture.tally import table


def test_the_history_of_each_memory_is_linearizable(tmp_path: Path) -> None:
    for seconds in (1.5, 30.0):  # a busy machine needs the longer time
        url, kept = str(tmp_path / f"{seconds}.db"), tmp_path / f"{seconds}.jsonl"
        tally = check(url, "SQLite", seconds, processes=2, threads=3, seed=1, kept=kept)
        if tally.acknowledged > 20:
            break
    assert tally.acknowledged > 20
    lines = [json.loads(line) for line in kept.read_text().splitlines()]
    assert sum(len(line["calls"]) for line in lines) == tally.acknowledged
    assert tally, table([tally])


def test_a_lost_update_is_noticed() -> None:
    """Two judgements at once, of which one is gone."""
    history = [
        Operation(0, 1, "add", None, (1, 0.25, 0.0)),
        Operation(2, 5, "feedback", None, (2, 0.25, 1.0)),
        Operation(2, 5, "feedback", None, (2, 0.25, 1.0)),
        Operation(6, 7, "read", None, (2, 0.25, 1.0)),
    ]
    assert not is_linearizable(history, None, step)
    assert is_linearizable([*history[:2], history[3]], None, step)


def test_a_version_that_two_change_is_noticed() -> None:
    history = [
        Operation(0, 1, "add", None, (1, 0.25, 0.0)),
        Operation(2, 5, "update_if", (1, 0.5), (2, 0.5, 0.0)),
        Operation(2, 5, "update_if", (1, 0.7), (2, 0.7, 0.0)),
    ]
    assert not is_linearizable(history, None, step)
    assert is_linearizable(history[:2], None, step)
