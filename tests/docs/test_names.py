"""The former name is gone, and docstrings say what a thing is or does."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
FORMER_NAME = "recol" + "lect"  # in two parts, or this file would hold it


def tracked_files() -> list[str]:
    """The paths of the files that belong to the project."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is not a checkout of the repository")
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [path for path in listing.stdout.split("\0") if path and (ROOT / path).is_file()]


def test_the_former_name_is_in_no_file_and_in_no_path() -> None:
    paths = tracked_files()
    assert "pyproject.toml" in paths
    name = FORMER_NAME.encode()
    holders = [
        path
        for path in paths
        if FORMER_NAME in path.lower() or name in (ROOT / path).read_bytes().lower()
    ]
    assert not holders


def test_nothing_tells_to_install_another_package() -> None:
    """Only `salience`, its extras, and a checkout (".")."""
    others = [
        f"{path}: {line.strip()}"
        for path in tracked_files()
        if path.startswith(("src/", "docs/", "README"))
        for line in (ROOT / path).read_text("utf-8", "replace").splitlines()
        if re.search(r"pip install (?![\"'`]?(?:salience\b|\.(?:\[|[\s.`]|$)))", line)
    ]
    assert not others
