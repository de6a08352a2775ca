"""Plain language: short sentences, and no words that a native speaker would not write."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PATTERNS = ("*.md", "docs/**/*.md", "examples/**/*.md", "benchmarks/*.md")
PAGES = sorted(path for pattern in PATTERNS for path in ROOT.glob(pattern))
MAX_MEAN_WORDS = 16  # of the sentences of a page

# The word, and what to write instead.
ON_PAGES = {
    r"anew": "again, or a verb with re-: rebuild, reload",
    r"beside": "next to, besides, compared with",
    r"as ever": "as before, or nothing",
    r"mended": "fixed, repaired",
    r"most hits to": "maximum number of hits",
    r"nothing possible": "no single change",
    r"cannot hold beside": "contradicts",
    r"from afar": "over the network",
}
IN_CODE = ("anew", "as ever", "most hits to", "nothing possible", "cannot hold beside")


def prose(page: str) -> str:
    """The text of a page without blocks, code, tables, headings and the targets of links."""
    text = re.sub(r"<!--.*?-->|^```.*?^```", "", page, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^(\||#).*", "", text, flags=re.MULTILINE)
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "x", text))


def sentences(page: str) -> list[list[str]]:
    """The words of each sentence; an item of a list is one, a colon ends one."""
    items = re.split(r"\n\s*\n", re.sub(r"(?m)^\s*(?:[-*]|\d+\.) ", "\n\n", prose(page)))
    parts = [part for item in items for part in re.split(r"(?<=[.!?:;])\s+", item)]
    return [words for part in parts if len(words := re.findall(r"[\w'-]+", part)) > 2]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pages_are_short_sentences_of_plain_words(page: Path) -> None:
    text = page.read_text("utf-8")
    lengths = [*map(len, sentences(text))]
    assert sum(lengths) <= MAX_MEAN_WORDS * max(1, len(lengths))
    found = {
        word: use for word, use in ON_PAGES.items() if re.search(rf"(?i)\b{word}\b", prose(text))
    }
    assert not found


def test_docstrings_and_messages_are_of_plain_words() -> None:
    pattern = re.compile(rf"(?i)\b({'|'.join(IN_CODE)})\b")
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {match[0]}"
        for path in sorted((ROOT / "src").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if (match := pattern.search(node.value))
    ]
    assert not found


def test_a_page_of_long_sentences_or_odd_words_is_found() -> None:
    assert sentences("A first one. `code` is no word:\n\n- an item of it\n") == [
        ["A", "first", "one"],
        ["x", "is", "no", "word"],
        ["an", "item", "of", "it"],
    ]
    assert re.search(r"(?i)\banew\b", prose("Built\nanew. ```\n"))
