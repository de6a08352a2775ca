"""ARCHITECTURE.md has one line for each package, and no folder holds more than it can show."""

from __future__ import annotations

import re
from pathlib import Path

import salience

PACKAGE = Path(salience.__file__).parent
ROOT = Path(__file__).resolve().parents[2]


def test_architecture_has_a_line_for_each_package() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert packages == set(re.findall(r"^ {2}(\w+)/ +\S", text, re.M))


def test_no_folder_has_more_than_fifteen_modules() -> None:
    for folder in {path.parent for path in PACKAGE.rglob("*.py")}:
        modules = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
        assert len(modules) <= 15, folder


def test_every_path_that_architecture_names_is_there() -> None:
    """A name alone, such as `topics.py`, is in the folder of the path before it in its line."""
    for line in (ROOT / "ARCHITECTURE.md").read_text("utf-8").splitlines():
        before = PACKAGE
        for name in re.findall(r"`([\w./-]+(?:/|\.(?:py|md|sql|txt|toml)))`", line):
            folders = (PACKAGE, ROOT, before, before.parent)
            path = next((folder / name for folder in folders if (folder / name).exists()), None)
            assert path is not None, f"{name} in {line!r}"
            before = path
