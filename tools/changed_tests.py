"""Print the tests of what has changed since the branch left main, for `make check`.

A module of a package belongs to the folder of tests with the longest name in common, a page to its
blocks and links, a file of tests to itself. `SHORTER` names what stands for the largest folders.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests"
PAGES = "tests/docs/test_docs.py::"
SHORTER = {
    "tests/stores": [
        "tests/stores/sqlite",
        "tests/stores/index",
        "tests/stores/test_conformance.py::TestSqliteFile",
    ],
    "tests/server": ["tests/server/test_serve.py", "tests/server/test_problems.py"],
    "tests/coding_agents": ["tests/coding_agents/test_recall.py"],
}


def changed_files() -> set[str]:
    """The files that differ from where the branch left main, with those not committed yet."""
    base = _git("merge-base", "HEAD", "main") or ["HEAD"]
    new = _git("ls-files", "--others", "--exclude-standard")
    return {*_git("diff", "--name-only", base[0]), *new}


def tests_of(file: str) -> list[str]:
    """The tests that a changed file asks for."""
    path = Path(file)
    if path.suffix == ".md":
        blocks = f"{PAGES}test_blocks_run_and_print_what_they_say[{file}]"
        links = f"{PAGES}test_links_lead_somewhere[{file}]"
        return [links] if file.startswith("docs/integrations/") else [blocks, links]
    if path.match("tests/**/test_*.py") and "frameworks" not in path.parts:
        return [file]
    for root in ("src/salience", "tests"):
        if path.is_relative_to(root):
            return _folder(path.relative_to(root).parent)
    return []


def _folder(place: Path) -> list[str]:
    """The deepest folder of tests on the way to a place."""
    for part in (place, *place.parents):
        if part.name and any((TESTS / part).glob("**/test_*.py")):
            name = f"tests/{part.as_posix()}"
            return SHORTER.get(name, [name])
    return []


def _git(*arguments: str) -> list[str]:
    """The lines of an answer of git; none where it fails."""
    ran = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return ran.stdout.splitlines() if ran.returncode == 0 else []


def main() -> None:
    """Print the tests, without those of a folder that is there as a whole."""
    files = [file for file in changed_files() if (ROOT / file).exists()]
    names = {name for file in files for name in tests_of(file)}
    print(*sorted(n for n in names if not any(n.startswith(f"{other}/") for other in names)))


if __name__ == "__main__":
    main()
