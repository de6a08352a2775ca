"""Searches with writes in between: the figures of every way, and that nothing of them stays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mixed_load import main
from salience.engine.memory import Memory
from salience.evaluation.benchmark import Setup, bench


@pytest.mark.deep
def test_searches_with_writes_in_between(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "kept.db"
    bench(Setup(60, namespaces=2, queries=1), keep=path)
    main([str(path), "--memories", "60", "--namespaces", "2", "--queries", "40"])
    found = json.loads(capsys.readouterr().out)
    awaited = [f"awaited_{number}" for number in (1, 8, 32)]
    assert [*found] == ["threads_1", "threads_4", *awaited]
    times = {"searches_per_s", "p50_ms", "p95_ms", "p99_ms", "write_p50_ms", "write_p95_ms"}
    for way in found:
        gaps = {"gap_p99_ms", "gap_max_ms"} if way in awaited else set()
        assert set(found[way]) == times | gaps
        assert all(found[way][name] > 0 for name in times)
        assert found[way]["p50_ms"] <= found[way]["p95_ms"] <= found[way]["p99_ms"]
    with Memory.open(f"sqlite:///{path}") as memory:  # what was added is gone
        assert memory.stats(everywhere=True)["memories"] == 60
