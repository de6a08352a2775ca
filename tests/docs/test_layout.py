"""ARCHITECTURE.md has one line for each package, and three figures that only fall.

They are the number of modules, those under 40 lines, and the files that run in one search.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import FrameType

import salience
from salience import Memory

PACKAGE = Path(salience.__file__).parent
ROOT = Path(__file__).resolve().parents[2]

MODULES = 465
"""The most modules: one that is added takes the place of another, or the figure says why not."""
FILES_OF_A_SEARCH = 76
"""The most files of the package whose code runs in a search of a memory that is loaded."""
SMALL_LINES = 40
SMALL = {
    "__main__.py": "`python -m salience` needs a module of this name",
    "api/docstrings.py": "read by faces that need no table of operations",
    "closing.py": "stands below every package that closes something",
    "integrations/_extra.py": "imported before a framework that may be missing",
    "language/statements/cues.py": "the names of a table, for seven modules",
    "records/fields.py": "derived from the record, for nearly fifty modules",
}
"""Modules of fewer lines, and why each stands alone."""


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def test_architecture_has_a_line_for_each_package() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert packages == set(re.findall(r"^ {2}(\w+)/ +\S", text, re.M))


def test_the_files_that_the_pages_on_the_inside_name_are_there() -> None:
    pages = [ROOT / "ARCHITECTURE.md", *(ROOT / "docs" / "internals").glob("*.md")]
    named = {
        name
        for page in pages
        for name in re.findall(r"`([\w/.]+\.(?:py|txt|sql|html))`", page.read_text("utf-8"))
    }
    assert len(named) > 50
    places = [ROOT, PACKAGE, *(path for path in PACKAGE.rglob("*") if path.is_dir())]
    gone = {name for name in named if not any((place / name).exists() for place in places)}
    folders = set(re.findall(r"`([\w/.]+/)`", pages[0].read_text("utf-8")))
    gone |= {name for name in folders if not any((place / name).is_dir() for place in places[:2])}
    assert not gone


def test_there_are_no_more_modules_than_there_were() -> None:
    assert len(modules()) <= MODULES


def test_no_module_is_small_without_a_reason() -> None:
    small = {
        path.relative_to(PACKAGE).as_posix()
        for path in modules()
        if path.name != "__init__.py" and len(path.read_text("utf-8").splitlines()) < SMALL_LINES
    }
    assert small <= SMALL.keys(), small - SMALL.keys()


def test_a_search_runs_through_no_more_files_than_it_did() -> None:
    files: set[str] = set()

    def seen(frame: FrameType, event: str, argument: object) -> None:
        files.add(frame.f_code.co_filename)

    with Memory("ram://") as memory:
        memory.add_many(["Ana moved to Lisbon in March.", "Ben has a cello."])
        memory.search("Where does Ana live?")
        sys.setprofile(seen)
        try:
            memory.search("Where does Ben live?")
        finally:
            sys.setprofile(None)
    of_the_package = {file for file in files if Path(file).is_relative_to(PACKAGE)}
    assert len(of_the_package) <= FILES_OF_A_SEARCH, sorted(of_the_package)
