"""Wiki links: `[[Name]]`, `[[Name#heading]]` and `[[Name|shown]]` in a note."""

from __future__ import annotations

import re
from collections.abc import Iterator

WIKI_LINK = re.compile(r"\[\[([^\[\]|#^\n]*)(?:[#^][^\[\]|\n]*)?(?:\|[^\[\]\n]*)?\]\]")
CODE = re.compile(r"^[ \t]*(```+|~~~+).*?(?:^[ \t]*\1|\Z)|(`+)[^\n]*?\2", re.DOTALL | re.MULTILINE)
"""The code of a text in Markdown, in which nothing is a link."""


def linked_names(plain: str) -> Iterator[str]:
    """The names that a text without code links to, but for headings of the text itself."""
    for link in WIKI_LINK.finditer(plain):
        name = link[1].rstrip("\\").strip()  # in a table the bar is escaped
        name = name[:-3] if name.lower().endswith(".md") else name
        if name:
            yield name
