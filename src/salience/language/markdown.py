"""Markdown: its `[[Name]]`, `[[Name#heading]]` and `[[Name|shown]]` links, its code, its words."""

from __future__ import annotations

import re
from collections.abc import Iterator

WIKI_LINK = re.compile(r"\[\[([^\[\]|#^\n]*)(?:[#^][^\[\]|\n]*)?(?:\|[^\[\]\n]*)?\]\]")
CODE = re.compile(
    r"^[ \t>]*(```+|~~~+).*?(?:^[ \t>]*\1|\Z)|(`+)[^\n]*?\2", re.DOTALL | re.MULTILINE
)
"""The code of a text in Markdown, in which nothing is a link."""
_ATTACHMENT = re.compile(
    r"\.(?:png|jpe?g|gif|svg|webp|avif|bmp|heic|tiff?|pdf|mp[34]|m4[av]|mov|wav|ogg|webm|zip|csv|xlsx?|"
    r"docx?|pptx?|canvas|base)$",
    re.IGNORECASE,
)


def linked_names(plain: str) -> Iterator[str]:
    """The names that a text without code links to, but for pictures, files and its headings."""
    for link in WIKI_LINK.finditer(plain):
        name = link[1].rstrip("\\").strip()  # in a table the bar is escaped
        name = name[:-3] if name.lower().endswith(".md") else name
        if name and not _ATTACHMENT.search(name):
            yield name


_MARKS = (
    (re.compile(r"^\s*(?:```|~~~).*$", re.MULTILINE), ""),
    (re.compile(r"^[ \t]*(?:>[ \t]?)+", re.MULTILINE), ""),
    (re.compile(r"^[ \t]*#{1,6}[ \t]+", re.MULTILINE), ""),
    (re.compile(r"^[ \t]*(?:[-*_][ \t]*){3,}$", re.MULTILINE), ""),
    (re.compile(r"^([ \t]*)[*+-][ \t]+(?:\[[ xX]\][ \t]+)?", re.MULTILINE), r"\1"),
    (re.compile(r"!?\[\[(?:[^\[\]|\n]*\|)?([^\[\]|\n]+)\]\]"), r"\1"),
    (re.compile(r"!?\[([^\[\]\n]*)\]\((?:<[^<>\n]*>|[^()\n]*)\)"), r"\1"),
    (re.compile(r"(\*\*\*|\*\*|\*|~~|==|`)(?=\S)([^\n]*?\S)\1"), r"\2"),
    (re.compile(r"(?<!\w)(___|__|_)(?=\S)([^\n]*?\S)\1(?!\w)"), r"\2"),
)


def words(source: str) -> str:
    """A text in Markdown without the marks of headings, lists, links, emphasis and code."""
    for mark, plain in _MARKS:
        source = mark.sub(plain, source)
    return source.strip()
