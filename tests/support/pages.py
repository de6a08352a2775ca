"""The pages of the documentation and their fenced blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md"))
)
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
