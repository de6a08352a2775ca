"""The former name is gone, and docstrings say what a thing is or does."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
_BLOCKS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
QUESTION_WORDS = {
    *("What", "Which", "Whose", "Whom", "Who", "Where", "When", "Whether", "Why", "How"),
}
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


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """The line and the text of each docstring, also of those after an assignment."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        for statement in node.body if isinstance(node, _BLOCKS) else ():
            value = statement.value if isinstance(statement, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield statement.lineno, value.value


def test_docstrings_begin_with_a_noun_or_a_verb() -> None:
    questions = [
        f"{path.relative_to(ROOT)}:{line}: {text.splitlines()[0]}"
        for folder in (SOURCE, ROOT / "benchmarks", ROOT / "tools", ROOT / "examples")
        for path in sorted(folder.rglob("*.py"))
        for line, text in docstrings(path)
        if re.split(r"\W", text.strip(), maxsplit=1)[0] in QUESTION_WORDS
    ]
    assert not questions, "\n".join(questions)


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
