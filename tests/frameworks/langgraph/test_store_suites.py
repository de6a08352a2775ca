"""LangGraph's own tests of its stores, run on `SalienceStore`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.suites import source_of

HERE = Path(__file__).parent


@pytest.mark.parametrize(
    ("package", "outcomes"),
    [
        ("langgraph-checkpoint", "117 passed"),
        ("langgraph-checkpoint-sqlite", "99 passed, 4 xfailed"),
    ],
)
def test_the_tests_of_langgraph_pass(package: str, outcomes: str) -> None:
    """Each passes, but those in `NOT_OURS`, which all have to fail."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "store_suites", "-o", "addopts="]
    ran = subprocess.run(
        [*command, "-p", "no:cacheprovider", "tests/test_store.py"],
        cwd=source_of(package),
        env={**os.environ, "PYTHONPATH": str(HERE)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert outcomes in ran.stdout.splitlines()[-1]
