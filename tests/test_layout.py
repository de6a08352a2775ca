"""The map of the modules, in the package's docstring and in ARCHITECTURE.md, is the tree."""

from __future__ import annotations

import re
from pathlib import Path

import recollect

PACKAGE = Path(recollect.__file__).parent
ARCHITECTURE = Path(__file__).resolve().parents[1] / "ARCHITECTURE.md"
_ENTRY = re.compile(r"^(?P<indent> *)(?P<name>[\w./]+(?:\.py|/))(?:  +(?P<what>\S.*))?$")
_LONGEST = 100


def mapped(text: str) -> dict[str, str]:
    """The paths that a map lists, with what it says of each."""
    found: dict[str, str] = {}
    folder, outer = "", 0
    for line in text.splitlines():
        entry = _ENTRY.match(line)
        if entry is None:
            continue
        indent = len(entry["indent"])
        if indent <= outer:
            folder = ""
        path = folder + entry["name"]
        assert path not in found, f"{path} is listed twice"
        found[path] = entry["what"] or ""
        if entry["name"].endswith("/"):
            folder, outer = path, indent
    return found


def public_modules() -> set[str]:
    """Every module whose name has no underscore at its beginning."""
    paths = (path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))
    return {path for path in paths if not path.rpartition("/")[2].startswith("_")}


def test_the_docstring_lists_every_module() -> None:
    listed = mapped(recollect.__doc__ or "")
    assert {path for path in listed if path.endswith(".py")} == public_modules()
    for path in listed:
        assert (PACKAGE / path).exists(), path


def test_every_folder_is_listed() -> None:
    folders = {
        path.parent.relative_to(PACKAGE).as_posix() + "/" for path in PACKAGE.rglob("*/__init__.py")
    }
    listed = {path for path in mapped(recollect.__doc__ or "") if path.endswith("/")}
    # A folder that holds nothing but a package need not be named by itself.
    assert folders - {"serve/"} <= listed


def test_every_module_is_described_in_one_line() -> None:
    for path, what in mapped(recollect.__doc__ or "").items():
        assert what, path
    for line in (recollect.__doc__ or "").splitlines():
        assert len(line) <= _LONGEST


def test_the_architecture_shows_the_same_map() -> None:
    shown = re.findall(r"^```text\n(.*?)^```$", ARCHITECTURE.read_text("utf-8"), re.S | re.M)
    assert mapped(recollect.__doc__ or "") in [mapped(block) for block in shown]
