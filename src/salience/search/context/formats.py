"""The formats of a context: text, markdown, xml or chat messages."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from salience.language.english import ASSISTANT_NAMES, USER_NAMES
from salience.search.context.sections import Item, Section

Format = Literal["text", "markdown", "xml", "messages"]
_NOT_XML = "[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"  # slow to compile, so late


@dataclass(frozen=True, slots=True)
class Piece:
    """As much of a memory as the context holds, and the number of tokens left out of it."""

    item: Item
    text: str
    left_out: int = 0

    @property
    def content(self) -> str:
        """The text, with a mark if some was left out."""
        if not self.left_out:
            return self.text
        return f"{self.text} [... {self.left_out} tokens left out]"


@dataclass(frozen=True, slots=True)
class Block:
    """A section with its pieces, in the order in which they were packed."""

    section: Section
    pieces: tuple[Piece, ...]

    def ordered(self) -> tuple[Piece, ...]:
        """The pieces in the order of the text: best first, or by time."""
        if self.section.source in ("search", "about_user"):
            return self.pieces
        return tuple(sorted(self.pieces, key=lambda p: (p.item.record.created_at, p.item.row)))


def write(blocks: Sequence[Block], format: Format, references: bool) -> str:
    """Write the blocks as one text, "" for no pieces; messages as JSON."""
    filled = [block for block in blocks if block.pieces]
    return _WRITERS[format](filled, references) if filled else ""


def messages(blocks: Sequence[Block], references: bool) -> list[dict[str, str]]:
    """Chat messages: a system message for each section, but recent turns as they were said."""
    chat: list[dict[str, str]] = []
    for block in blocks:
        if block.section.source == "recent":
            chat.extend(_turn(piece, references) for piece in block.ordered())
        elif block.pieces:
            chat.append({"role": "system", "content": _plain([block], references)})
    return chat


def _turn(piece: Piece, references: bool) -> dict[str, str]:
    speaker = (piece.item.speaker or "").casefold()
    content = piece.content + (f" [m:{piece.item.ref}]" if references else "")
    if speaker in ASSISTANT_NAMES:
        return {"role": "assistant", "content": content}
    if speaker and speaker not in USER_NAMES:
        content = f"{piece.item.speaker}: {content}"
    return {"role": "user", "content": content}


def _plain(blocks: Sequence[Block], references: bool) -> str:
    return "\n\n".join(
        "\n".join((f"{block.section.heading}:", *_lines(block, references))) for block in blocks
    )


def _markdown(blocks: Sequence[Block], references: bool) -> str:
    return "\n\n".join(
        "\n".join((f"## {block.section.heading}", "", *_lines(block, references)))
        for block in blocks
    )


def _lines(block: Block, references: bool) -> list[str]:
    """Lines like `- 2026-05-31, Ana: I moved to Lisbon. [m:1f3a9c02]`, one for each piece."""
    lines = []
    for piece in block.ordered():
        item = piece.item
        speaker = f", {item.speaker}" if item.speaker else ""
        title = f"{item.title}: " if item.title else ""
        ref = f" [m:{piece.item.ref}]" if references else ""
        line = (
            f"- {item.record.created_at.date().isoformat()}{speaker}: {title}{piece.content}{ref}"
        )
        lines.append("\n  ".join(line.splitlines()))
    return lines


def _xml(blocks: Sequence[Block], references: bool) -> str:
    # Imported here, because it imports the libraries of the network.
    from xml.sax.saxutils import escape, quoteattr

    def quoted(value: str) -> str:
        return quoteattr(re.sub(_NOT_XML, "", value))

    lines = ["<context>"]
    for block in blocks:
        lines.append(f"<section name={quoted(block.section.heading)}>")
        for piece in block.ordered():
            record = piece.item.record
            values = {
                "ref": piece.item.ref if references else None,
                "date": record.created_at.date().isoformat(),
                "speaker": piece.item.speaker,
                "title": piece.item.title,
            }
            attributes = "".join(f" {n}={quoted(v)}" for n, v in values.items() if v is not None)
            lines.append(
                f"<memory{attributes}>{escape(re.sub(_NOT_XML, '', piece.content))}</memory>"
            )
        lines.append("</section>")
    return "\n".join([*lines, "</context>"])


def _json(blocks: Sequence[Block], references: bool) -> str:
    return json.dumps(messages(blocks, references), ensure_ascii=False)


_WRITERS: Mapping[str, Callable[[Sequence[Block], bool], str]] = {
    "text": _plain,
    "markdown": _markdown,
    "xml": _xml,
    "messages": _json,
}
FORMATS: tuple[Format, ...] = ("text", "markdown", "xml", "messages")
