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
