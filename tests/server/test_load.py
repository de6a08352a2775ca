"""The benchmark of the server runs, counts what happens, and `kill -9` loses nothing accepted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="the extra 'server' is not installed")

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "serve.py"


@pytest.mark.deep
def test_searches_are_answered_and_kill_9_loses_no_accepted_write(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    size = ("--memories", "300", "--seconds", "3", "--connections", "2")
    parts = ("--only", "sqlite", "writes", "kill")
    ran = subprocess.run(
        [sys.executable, str(BENCHMARK), *size, *parts, "--json", str(figures)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    searches, *turns, killed = json.loads(figures.read_text())
    assert searches["requests"] > 0
    assert searches["rss_mb"] > 0
    assert [turn["errors"] for turn in (searches, *turns)] == [{}] * 4
    assert all(turn["own_p50_ms"] > 0 for turn in turns[1:] if turn["requests"] > 1)
    assert killed["requests"] > 0  # accepted before the end,
    assert sum(killed["errors"].values()) == 8  # which every connection has seen
    assert (killed["missing"], killed["problems"]) == (0, 0)
