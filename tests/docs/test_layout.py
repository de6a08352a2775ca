"""ARCHITECTURE.md has one line for each package, and some figures only fall.

They are the number of modules, those under 40 lines, and the code that runs in one search.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType

import salience
from salience import Memory, arithmetic
from salience.evaluation import sample

PACKAGE = Path(salience.__file__).parent
ROOT = Path(__file__).resolve().parents[2]

MODULES = 470
"""The most modules: one that is added takes the place of another, or the figure says why not."""
RUN_BY_A_SEARCH = Counter(frames=1_125, functions=534, files=78)
"""The most code of the package that runs in the second search of a file, with kernels in C."""
WITHOUT_KERNELS = Counter(frames=100, functions=17, files=2)
"""What runs in their place."""
SMALL_LINES = 40
SMALL = {
    "__main__.py": "`python -m salience` needs a module of this name",
    "closing.py": "stands below every package that closes something",
    "integrations/_extra.py": "imported before a framework that may be missing",
    "language/secrets.py": "what writes, audits and hooks take for a secret",
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


def run_by_a_second_search(path: Path) -> Counter[str]:
    """The calls of the package, and of how many functions in how many files they are."""
    called: Counter[CodeType] = Counter()

    def seen(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            called[frame.f_code] += 1

    first, second, *_ = (question["text"] for question in sample.questions())
    with Memory(path) as memory:
        memory.add_many(sample.memories())
        memory.search(first)
        sys.setprofile(seen)
        try:
            memory.search(second)
        finally:
            sys.setprofile(None)
    own = [code for code in called if Path(code.co_filename).is_relative_to(PACKAGE)]
    files = {code.co_filename for code in own}
    return Counter(frames=sum(called[code] for code in own), functions=len(own), files=len(files))


def test_a_search_of_a_file_runs_no_more_code_than_it_did(tmp_path: Path) -> None:
    run_by_a_second_search(tmp_path / "warm.db")  # reads the tables of the language
    run = run_by_a_second_search(tmp_path / "memory.db")
    most = RUN_BY_A_SEARCH + (Counter() if arithmetic.native else WITHOUT_KERNELS)
    assert run <= most, run
