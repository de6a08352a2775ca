"""The benchmark: what it reports, on a few hundred memories; never how fast."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from salience.cli import main
from salience.engine.memory import Memory
from salience.errors import InvalidInput, SalienceError
from salience.evaluation.benchmark import Setup, bench, chunks

KEYS = {
    *("memories", "namespaces", "profile", "ingest_per_s", "cold_open_s", "search_ms"),
    *("peak_rss_mb", "file_mb", "queries", "limit", "embedder", "import_s", "ingest_s"),
    *("ingest_peak_rss_mb", "settled_s"),
}


@pytest.mark.deep
def test_figures_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--memories", "300", "--namespaces", "3", "--queries", "20", "--check-recall"]
    assert main(["bench", *asked, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {*KEYS, "recall_at_10"}
    assert set(found["search_ms"]) == {"p50", "p95", "p99"}
    assert (found["memories"], found["namespaces"], found["profile"]) == (300, 3, "balanced")
    assert found["recall_at_10"] == 1.0  # so few are always compared exactly
    figures = [found[name] for name in KEYS - {"profile", "embedder", "search_ms"}]
    assert all(figure > 0 for figure in [*figures, *found["search_ms"].values()])


@pytest.mark.deep
def test_a_kept_file_is_measured_again_but_not_written(tmp_path: Path) -> None:
    path = tmp_path / "kept.db"
    seen: list[tuple[str, int, int]] = []
    setup = Setup(60, queries=10)
    first = bench(setup, keep=path, progress=lambda *at: seen.append(at))
    assert ("writing", 60, 60) in seen
    again = bench(setup, keep=path, profile="composite")
    assert first["ingest_per_s"] > 0
    assert again["ingest_per_s"] is None
    assert again["profile"] == "composite"
    with pytest.raises(InvalidInput, match="holds 60 memories"):
        bench(Setup(61), keep=path)
    with Memory.open(f"sqlite:///{path}", namespace="bench-0") as memory:
        assert memory.stats()["memories"] == 60


def test_memories_are_spread_evenly_and_in_order() -> None:
    setup = Setup(1000, namespaces=7)
    parts = list(chunks(setup, 100))
    assert all(0 < len(items) <= 100 for _, items in parts)
    spread = Counter[str]()
    for name, items in parts:
        spread[name] += len(items)
    assert len(spread) == 7
    assert max(spread.values()) - min(spread.values()) <= 1
    assert [item["id"] for _, items in parts for item in items] == [f"t{i}" for i in range(1000)]


def test_a_problem_in_a_measuring_process_is_told(tmp_path: Path) -> None:
    with pytest.raises(SalienceError, match="there is no folder"):
        bench(Setup(10), keep=tmp_path / "none" / "x.db")


@pytest.mark.parametrize("name", ["memories", "namespaces", "queries", "limit"])
def test_setups_that_make_no_sense_are_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match=name):
        Setup(**{"memories": 10, name: 0})


def test_the_table_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--memories", "50", "--queries", "5", "--embedder", "none"]) == 0
    assert "peak rss mb" in capsys.readouterr().out
