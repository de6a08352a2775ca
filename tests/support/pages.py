"""The pages of the documentation and their fenced blocks, which are run.

A ```python or ```bash block is run, in the order of its page and in one folder a page; a ```text
block right after it is what it prints ("..." stands for anything). A comment before a block says
what else to do with it:

    <!-- not run: why -->       leave it alone
    <!-- file: talks/a.json --> write it to that file

    python tests/support/pages.py docs/tour.md    runs the blocks of a page in a folder of its own
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ("*.md", "docs/**/*.md", "benchmarks/**/*.md", "examples/**/*.md")
    for path in ROOT.glob(pattern)
)
FRAMEWORK_PAGES = [name for name in PAGES if name.startswith("docs/integrations/")]
"""Pages whose blocks need a framework that is installed elsewhere."""
_SAME = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
BLOCK = re.compile(
    r"^(?:<!-- (?P<mark>not run|file|formula): (?P<what>[^\n]*) -->\n)?"
    r"```(?P<language>\w*)\n(?P<source>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Block:
    """One fenced block of a page; `expected` is what it has to print."""

    line: int
    language: str
    source: str
    mark: str | None
    what: str | None
    expected: str | None = None


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(name: str) -> Iterator[Block]:
    text = page(name)
    found = list(BLOCK.finditer(text))
    for this, following in zip_longest(found, found[1:]):
        expected = None
        if (
            following is not None
            and following["language"] == "text"
            and not text[this.end() : following.start()].strip()
        ):
            expected = following["source"]
        line = text.count("\n", 0, this.start("source"))
        yield Block(line, this["language"], this["source"], this["mark"], this["what"], expected)


def run_blocks(name: str) -> int:
    """Run the blocks of a page in the working folder; returns how many were run.

    Raises:
        AssertionError: one failed, or did not print what the page says.
    """
    known: dict[str, Any] = {"__name__": "documentation"}
    count = 0
    for block in blocks(name):
        if block.mark == "file":
            assert block.what is not None
            file = Path(block.what)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.source, encoding="utf-8")
        if block.mark is not None or block.language not in ("python", "bash"):
            continue
        where = f"{name}, line {block.line}"
        printed = (
            _python(block, where, known) if block.language == "python" else _bash(block, where)
        )
        if block.expected is not None:
            same = doctest.OutputChecker().check_output(block.expected, printed, _SAME)
            assert same, f"{where} prints\n{printed}"
        count += 1
    return count


def _python(block: Block, where: str, known: dict[str, Any]) -> str:
    printed = io.StringIO()
    code = compile("\n" * block.line + block.source, where, "exec", dont_inherit=True)
    with contextlib.redirect_stdout(printed):
        exec(code, known)
    return printed.getvalue()


def _bash(block: Block, where: str) -> str:
    ran = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block.source],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, f"{where} ends with {ran.returncode}\n{ran.stdout}{ran.stderr}"
    return ran.stdout


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            print(f"{argument}: {run_blocks(argument)} blocks run")
