"""The screens in the documentation are what the commands print."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.deep
def test_the_screens_are_those_of_today() -> None:
    ran = subprocess.run(
        [sys.executable, "tools/screens.py", "--check"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=ROOT,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
