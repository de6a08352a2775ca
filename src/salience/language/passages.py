"""Passages: a long text split at its headings, code, lists, paragraphs and sentences.

A text of fewer than `LONG_WORDS` words is a passage of its own, and is not split. A longer one
gives passages of some 50 words: a heading begins a new one; a definition in code, a paragraph, an
item of a list or a sentence may. `MarkdownSplitter` knows Markdown, code and plain text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from salience.lazily import regex

LONG_WORDS = 160
"""The fewest words of a text that is split."""
PASSAGE_WORDS = 50
"""The words that a passage should have; see `LONGEST_PASSAGE`."""
LONGEST_PASSAGE = 75
"""The words that a passage has at most, but for those of a very long text."""
MAX_PASSAGES = 512
"""The most passages of a text; those of a text that would have more are longer."""
_VECTOR_PREFIX = "content#"

_MAX_EXCESS = LONGEST_PASSAGE / PASSAGE_WORDS
LONG_CHARACTERS = 2 * LONG_WORDS  # with spaces: no shorter text has that many words
_MAX_HEADING_CHARACTERS = 200
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
)
# In a script without spaces two characters count as a word.
_WORD = regex(rf"[{_UNSPACED}]{{1,2}}|[^\W{_UNSPACED}]+")
_LINE = regex(r"[^\n]*(?:\n|\Z)")
_FENCE = regex(r"[ \t]{0,3}(```+|~~~+)")
_HEADING = regex(r"[ \t]{0,3}(#{1,6})[ \t]+(\S.*?)[ \t]*#*[ \t]*$")
_UNDERLINE = regex(r"[ \t]{0,3}(=+|-+)[ \t]*$")
_LIST_ITEM = regex(r"(?:[-*+\u2022]|\d{1,3}[.)])[ \t]+\S")
_DEFINITION = regex(
    r"(?:@\w|(?:(?:export|public|private|protected|static|async|abstract|default|pub|final)\s+)*"
    r"(?:def|class|function|func|fn|interface|struct|impl|enum|trait|module|namespace|type)\s+\w)"
)
_SENTENCE_END = regex(
    r"[.!?\u2026][\"'\u201d\u2019)\]]*\s+|[\u3002\uff01\uff1f][\u300d\u300f\u201d]?"
)
_BLANK = regex(r"\s*")


class Span(NamedTuple):
    """A passage: the characters from `start` up to `end`, and the headings that it stands under."""

    start: int
    end: int
    heading: str = ""


def passage_text(span: Span, title: str | None, content: str) -> str:
    """The text that a passage is found by: the title, its headings and its own words."""
    text = content[span.start : span.end]
    return "\n".join(part for part in (title, span.heading, text) if part)


def vector_name(place: int) -> str:
    """The name of the vector of a passage, by its place in the text: content#0, content#1, ..."""
    return f"{_VECTOR_PREFIX}{place}"


def is_vector_name(name: str) -> bool:
    """Test whether a name is that of the vector of a passage."""
    return name.startswith(_VECTOR_PREFIX) and name[len(_VECTOR_PREFIX) :].isdecimal()


def place_of_vector(name: str) -> int:
    """The place of the passage whose vector has a name (see `vector_name`)."""
    return int(name[len(_VECTOR_PREFIX) :])


class Splitter(Protocol):
    """A pure function from a text to its passages.

    `version` names the rules: it is another one whenever a text may give other passages.
    """

    @property
    def version(self) -> str:
        """The name of the rules."""
        ...

    def split(self, text: str) -> tuple[Span, ...]:
        """The passages of a text in their order, apart from each other; () for a short text."""
        ...


class _Block(NamedTuple):
    """Lines that belong together; a heading has a level from 1 on."""

    start: int
    end: int
    level: int = 0
    title: str = ""
    is_code: bool = False


class MarkdownSplitter:
    """Splits Markdown, code and plain text; headings are in no passage, but in its `heading`."""

    version = "1"

    def split(self, text: str) -> tuple[Span, ...]:
        """See `Splitter.split`."""
        if len(text) < LONG_CHARACTERS:
            return ()
        words = _count(text)
        if words < LONG_WORDS:
            return ()
        size = max(PASSAGE_WORDS, -(-words // (MAX_PASSAGES // 3 - 1)))
        return tuple(_packed(text, _blocks(text), size))


def _packed(text: str, blocks: Iterable[_Block], size: int) -> Iterator[Span]:
    """Pieces of blocks put together to passages of about `size` words; a third on average at least.

    A section with fewer takes the next one in.
    """
    least = -(-size // 3)
    path: list[tuple[int, str]] = []
    heading = own_heading = ""
    start = end = words = 0
    is_section = begins_section = True  # whether the passage, and the next one, begins a section
    for block in blocks:
        if block.level:
            path = [above for above in path if above[0] < block.level]
            path.append((block.level, block.title))
            heading = " > ".join(title for _, title in path)[:_MAX_HEADING_CHARACTERS]
            if words and not (is_section and words < least):
                yield Span(start, end, own_heading)
                words = 0
            begins_section = True
            continue
        for first, last, count in _pieces(text, block, size):
            if words and words + count > size and (words > size // 2 or count > size // 2):
                yield Span(start, end, own_heading)
                words = 0
            if not words:
                start, own_heading, is_section = first, heading, begins_section
            begins_section = False
            end, words = last, words + count
    if words:
        yield Span(start, end, own_heading)


def _blocks(text: str) -> Iterator[_Block]:
    """The headings, paragraphs, items of lists and pieces of code of a text, in their order."""
    start = end = 0  # of the lines that make the next block
    fence = ""
    for match in _LINE.finditer(text):
        line, first, last = match.group().rstrip("\n"), match.start(), match.end()
        if first == last:
            break
        opening = _FENCE.match(line)
        if fence:
            is_end = opening is not None and line.strip() == opening[1] and opening[1] >= fence
            if _DEFINITION.match(line) and end > start:
                yield _Block(start, end, is_code=True)
                start = first
            end = last
            if is_end:
                yield _Block(start, end, is_code=True)
                start = end = last
                fence = ""
            continue
        if opening is not None:
            if end > start:
                yield _Block(start, end)
            start, end, fence = first, last, opening[1]
            continue
        heading = _HEADING.match(line)
        underline = _UNDERLINE.match(line) if end > start else None
        title = text[start:end].strip() if underline is not None else ""
        if heading is not None and len(heading[2]) <= _MAX_HEADING_CHARACTERS:
            if end > start:
                yield _Block(start, end)
            yield _Block(first, last, len(heading[1]), heading[2])
            start = end = last
        elif title and "\n" not in title and len(title) <= _MAX_HEADING_CHARACTERS:
            yield _Block(start, last, 1 if "=" in line else 2, title)
            start = end = last
        elif not line.strip():
            if end > start:
                yield _Block(start, end)
            start = end = last
        else:
            begins = _LIST_ITEM.match(line) or _DEFINITION.match(line)
            if begins and end > start:
                yield _Block(start, end)
                start = first
            end = last
    if end > start:
        yield _Block(start, end, is_code=bool(fence))


def _pieces(text: str, block: _Block, size: int) -> Iterator[tuple[int, int, int]]:
    """(start, end, words) of the parts of a block, none of much more than `size` words."""
    start, end = _stripped(text, block.start, block.end)
    words = _count(text[start:end])
    if not words:
        return
    if words <= size * _MAX_EXCESS:
        yield start, end, words
        return
    parts = _lines(text, start, end) if block.is_code else _sentences(text, start, end)
    for first, last in parts:
        count = _count(text[first:last])
        if count > size * _MAX_EXCESS:
            yield from _runs(text, first, last, size)
        elif count:
            yield first, last, count


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for match in _LINE.finditer(text, start, end):
        if match.group().strip():
            yield _stripped(text, match.start(), match.end())


def _sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    first = start
    for match in _SENTENCE_END.finditer(text, start, end):
        yield _stripped(text, first, match.end())
        first = match.end()
    if first < end:
        yield _stripped(text, first, end)


def _runs(text: str, start: int, end: int, size: int) -> Iterator[tuple[int, int, int]]:
    """Runs of `size` words, where nothing else tells where to split."""
    first, count = start, 0
    for match in _WORD.finditer(text, start, end):
        if count == size:
            yield *_stripped(text, first, match.start()), count
            first, count = match.start(), 0
        count += 1
    if count:
        yield *_stripped(text, first, end), count


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    """The borders without blanks at either end."""
    blank = _BLANK.match(text, start, end)
    assert blank is not None
    return blank.end(), blank.end() + len(text[blank.end() : end].rstrip())


def _count(text: str) -> int:
    return len(_WORD.findall(text))


SPLITTER: Splitter = MarkdownSplitter()
"""The splitter of every store."""


# Markdown: its `[[Name]]`, `[[Name#heading]]` and `[[Name|shown]]` links, its code, its words

WIKI_LINK = regex(r"\[\[([^\[\]|#^\n]*)(?:[#^][^\[\]|\n]*)?(?:\|[^\[\]\n]*)?\]\]")
CODE = regex(r"^[ \t>]*(```+|~~~+).*?(?:^[ \t>]*\1|\Z)|(`+)[^\n]*?\2", re.DOTALL | re.MULTILINE)
"""The code of a text in Markdown, where nothing is a link."""
_ATTACHMENT = regex(
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
    (regex(r"^\s*(?:```|~~~).*$", re.MULTILINE), ""),
    (regex(r"^[ \t]*(?:>[ \t]?)+", re.MULTILINE), ""),
    (regex(r"^[ \t]*#{1,6}[ \t]+", re.MULTILINE), ""),
    (regex(r"^[ \t]*(?:[-*_][ \t]*){3,}$", re.MULTILINE), ""),
    (regex(r"^([ \t]*)[*+-][ \t]+(?:\[[ xX]\][ \t]+)?", re.MULTILINE), r"\1"),
    (regex(r"!?\[\[(?:[^\[\]|\n]*\|)?([^\[\]|\n]+)\]\]"), r"\1"),
    (regex(r"!?\[([^\[\]\n]*)\]\((?:<[^<>\n]*>|[^()\n]*)\)"), r"\1"),
    (regex(r"(\*\*\*|\*\*|\*|~~|==|`)(?=\S)([^\n]*?\S)\1"), r"\2"),
    (regex(r"(?<!\w)(___|__|_)(?=\S)([^\n]*?\S)\1(?!\w)"), r"\2"),
)


def words(source: str) -> str:
    """A text in Markdown without the marks of headings, lists, links, emphasis and code."""
    for mark, plain in _MARKS:
        source = mark.sub(plain, source)
    return source.strip()
