"""Packing: fill the sections of a context so that the whole text never exceeds its budget.

    tokens(text with all sections) <= max_tokens, counted on the very text that is returned

A section costs the tokens by which the text grows when it is added, so the costs of the sections
add up to the whole, however the counter counts. Sections are packed by priority, each within its
own budget and what earlier ones left of theirs. A section without a budget takes everything that is
not reserved for later ones, and no more is reserved for a section than it could fill. The fence
around memories is of no section's budget; the first one behind it is told with its tokens.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import tzinfo
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from typing import Literal

from salience.display.for_models import day, fence, is_plain, replaced_by
from salience.errors import InvalidInput, shown
from salience.language.english import ASSISTANT_NAMES, USER_NAMES
from salience.lazily import dataclass
from salience.search.context.sections import Gathered, Item, Section, references_of

MIN_PIECE_CHARACTERS = 24  # less of a memory says nothing


@dataclass(frozen=True)
class Packed:
    """A block, its tokens, the tokens it was allowed, and the number of memories without room."""

    block: Block
    tokens: int
    allowed: int
    without_room: int


class Packing:
    """The text as it grows; `blocks` by section, in their order, `tokens` so far.

    `costs` are the tokens by which each memory made it grow, None for one whose text was there, by
    section and key.
    """

    def __init__(
        self,
        gathered: Sequence[Gathered],
        max_tokens: int,
        format: Format,
        counter: Callable[[str], int],
        references: bool,
        zone: tzinfo,
    ) -> None:
        self.gathered = gathered
        self.max_tokens = max_tokens
        self.format: Format = format
        self.counter = counter
        self.references = references
        self.zone = zone
        self.refs = references_of(gathered)
        self.blocks = {part.section.name: Block(part.section) for part in gathered}
        self.costs: dict[tuple[str, tuple[str, str]], int | None] = {}
        self._packed_keys: set[tuple[str, str]] = set()
        self._packed_texts: set[str] = set()
        self.tokens = self.count("")
        if self.tokens > max_tokens:
            raise InvalidInput(
                "max_tokens", f"is {max_tokens}, and nothing at all counts as {shown(self.tokens)}"
            )
        self.fence_tokens = max(self.count(fence("")) - self.tokens, 0)

    def count(self, text: str) -> int:
        """The tokens of a text, by the counter.

        Raises:
            InvalidInput: the counter gives something else than a count.
        """
        tokens = self.counter(text)
        if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 0:
            raise InvalidInput(
                "counter", f"gave {shown(tokens)}", "it has to give whole numbers from 0"
            )
        return tokens

    def text(self, *changed: Block) -> str:
        """The text of all that was packed, with some sections changed."""
        blocks = {**self.blocks, **{block.section.name: block for block in changed}}
        return write([*blocks.values()], self.format, self.references)

    def pack(self) -> list[Packed]:
        """Pack every section by priority; the packed sections in the order of the text.

        Raises:
            InvalidInput: a section that must be whole does not fit; names the tokens it needs.
        """
        ordered = sorted(self.gathered, key=lambda part: -part.section.priority)
        budgets = self._budgets()
        reserved = {
            part.section.name: self._reserve(part, budgets[part.section.name]) for part in ordered
        }
        spare = 0
        packed: dict[str, Packed] = {}
        for part in ordered:
            name = part.section.name
            reserved[name] = 0
            allowed = self.max_tokens - self.tokens - sum(reserved.values())
            budget = budgets[name]
            around = 0 if self._packed_keys else self._fence_of(part)
            if budget is not None:
                allowed = min(allowed, budget + spare + around)
            before = self.tokens
            without_room = self._fill(part, before + allowed)
            cost = self.tokens - before
            if budget is not None:
                spare = max(budget + spare - max(cost - around, 0), 0)
            packed[name] = Packed(self.blocks[name], cost, allowed, without_room)
        return [packed[part.section.name] for part in self.gathered]

    def _budgets(self) -> dict[str, int | None]:
        """The budget of every section in tokens; their sum is at most `max_tokens`."""
        budgets = {p.section.name: _tokens(p.section, self.max_tokens) for p in self.gathered}
        total = sum(budget for budget in budgets.values() if budget is not None)
        if total > self.max_tokens:
            raise InvalidInput(
                "sections", f"have budgets of {total} tokens of {self.max_tokens}", "lower them"
            )
        return budgets

    def _reserve(self, gathered: Gathered, budget: int | None) -> int:
        """The tokens to reserve for a section: its budget, but not more than it could fill."""
        if budget is None or not gathered.items:
            return 0
        full = Block(gathered.section, tuple(map(self._piece, gathered.items)))
        alone = self.count(write([full], self.format, self.references)) - self.count("")
        # Beside others it also costs a gap, and a token if the counter rounds.
        tokens = alone - self._fence_of(gathered) + self.count("\n\n") + 1
        return max(0, min(budget, tokens))

    def _fence_of(self, gathered: Gathered) -> int:
        """The tokens of the fence around a section; turns as they were said have none."""
        in_turns = self.format == "messages" and gathered.section.source == "recent"
        return 0 if in_turns else self.fence_tokens

    def _fill(self, gathered: Gathered, max_tokens: int) -> int:
        """Add memories while the text fits; the number of those without room."""
        max_tokens = min(max_tokens, self.max_tokens)
        section = gathered.section
        fresh = [item for item in gathered.items if not self._is_packed(item)]
        if len(fresh) < len(gathered.items):
            repeated = {item.key for item in gathered.items} - {item.key for item in fresh}
            self.costs.update(((section.name, key), None) for key in repeated)
        for place, item in enumerate(fresh):
            if self._is_packed(item):  # the same text twice in one section
                self.costs[section.name, item.key] = None
                continue
            pieces = self._pieces_of(section, item, max_tokens)
            if any(self._add(section, piece, max_tokens) for piece in pieces):
                continue
            if section.whole:
                raise self._too_long(section, fresh, max_tokens)
            return len(fresh) - place - self._add_cut(section, item, max_tokens)
        return 0

    def _piece(self, item: Item, text: str | None = None, left_out: int = 0) -> Piece:
        """A memory as the context holds it, by default the whole of it."""
        date = day(item.record.created_at, self.zone)
        content = item.content if text is None else text
        return Piece(item, self.refs[item.key], date, content, left_out)

    def _pieces_of(self, section: Section, item: Item, max_tokens: int) -> Iterator[Piece]:
        """The whole of a memory; or of a long one, where it would take more than half of the room,
        the passages that match: all of them, then fewer."""
        if not item.passages or section.whole:
            yield self._piece(item)
            return
        tokens = self.count(item.content)
        if 2 * tokens <= max_tokens - self.tokens:
            yield self._piece(item)
        for count in range(len(item.passages), 0, -1):
            excerpt = item.excerpt(count)
            yield self._piece(item, excerpt, max(1, tokens - self.count(excerpt)))

    def _is_packed(self, item: Item) -> bool:
        """Test whether a memory, or one of the same text, is packed."""
        if not self._packed_keys:  # most gathered memories are never written
            return False
        return item.key in self._packed_keys or item.folded_text in self._packed_texts

    def _add(self, section: Section, piece: Piece, max_tokens: int) -> bool:
        """Add a piece if it fits; True if it does."""
        block = Block(section, (*self.blocks[section.name].pieces, piece))
        tokens = self.count(self.text(block))
        if tokens > max_tokens:
            return False
        self.costs[section.name, piece.item.key] = tokens - self.tokens
        self.blocks[section.name], self.tokens = block, tokens
        self._packed_keys.add(piece.item.key)
        self._packed_texts.add(piece.item.folded_text)
        return True

    def _add_cut(self, section: Section, item: Item, max_tokens: int) -> bool:
        """Add as much of a memory as fits, marked as cut; True if any of it fits."""
        text = item.excerpt(1) or item.content
        low, high = MIN_PIECE_CHARACTERS, len(text) - 1
        longest: Piece | None = None
        while low <= high:
            middle = (low + high) // 2
            piece = self._cut(item, text, middle)
            block = Block(section, (*self.blocks[section.name].pieces, piece))
            if self.count(self.text(block)) <= max_tokens:
                longest, low = piece, middle + 1
            else:
                high = middle - 1
        return longest is not None and self._add(section, longest, max_tokens)

    def _cut(self, item: Item, content: str, length: int) -> Piece:
        """The beginning of a text, up to a length, and to the end of a word if there is one."""
        text = content[:length]
        if not content[length].isspace():
            whole_words = text.rpartition(" ")[0]
            text = whole_words if len(whole_words) >= MIN_PIECE_CHARACTERS // 2 else text
        text = text.rstrip()
        return self._piece(item, text, max(1, self.count(item.content) - self.count(text)))

    def _too_long(self, section: Section, items: Sequence[Item], max_tokens: int) -> InvalidInput:
        """The error for a section that must be whole and does not fit."""
        tokens_without = self.count(self.text(Block(section)))
        full = Block(section, tuple(map(self._piece, items)))
        needed = self.count(self.text(full)) - tokens_without
        room = max(max_tokens - tokens_without, 0)
        return InvalidInput(
            "max_tokens",
            f"the section {shown(section.name)} is never cut and takes {needed} tokens, and "
            f"{room} are free for it",
            f"give {needed - room} more, or shorten its memories",
        )


def _tokens(section: Section, max_tokens: int) -> int | None:
    """The budget of a section in tokens."""
    if isinstance(section.budget, float):
        return int(section.budget * max_tokens)
    return section.budget


# The formats of a context: text, markdown, xml or chat messages

Format = Literal["text", "markdown", "xml", "messages"]
_NOT_XML = "[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"  # slow to compile, so late


@dataclass(frozen=True)
class Piece:
    """As much of a memory as the context holds: its reference, day, text, and tokens left out."""

    item: Item
    ref: str
    date: str
    text: str
    left_out: int

    @property
    def content(self) -> str:
        """The text, with a mark if some was left out."""
        if not self.left_out:
            return self.text
        return f"{self.text} [... {self.left_out} tokens left out]"

    @cached_property
    def line(self) -> str:
        """The lines of a list that it is."""
        return self._line("")

    @cached_property
    def line_with_reference(self) -> str:
        """The same, with its reference at the end."""
        return self._line(f" [m:{self.ref}]")

    @cached_property
    def is_plain(self) -> bool:
        """True if there is nothing to clean in its lines."""
        return is_plain(self.line_with_reference)

    def _line(self, ref: str) -> str:
        item = self.item
        speaker = f", {item.speaker}" if item.speaker else ""
        title = f"{item.title}: " if item.title else ""
        newer = f" ({replaced_by(item.newer)})" if item.newer else ""
        line = f"- {self.date}{speaker}: {title}{self.content}{newer}{ref}"
        return "\n  ".join(line.splitlines())


@dataclass(frozen=True)
class Block:
    """A section with its pieces, in the order of their packing."""

    section: Section
    pieces: tuple[Piece, ...] = ()

    @property
    def is_plain(self) -> bool:
        """True if there is nothing to clean in its lines."""
        return is_plain(self.section.heading) and all(map(attrgetter("is_plain"), self.pieces))

    @property
    def ordered(self) -> tuple[Piece, ...]:
        """The pieces in the order of the text: best first, or by time."""
        if self.section.source in ("search", "about_user"):
            return self.pieces
        by_time = attrgetter("item.record.created_at", "item.row")
        return tuple(sorted(self.pieces, key=by_time))


def write(blocks: Sequence[Block], format: Format, references: bool) -> str:
    """Write the blocks as one text in the fence, "" for no pieces; messages as JSON."""
    filled = [block for block in blocks if block.pieces]
    if not filled:
        return ""
    if format == "messages":
        return json.dumps(messages(filled, references), ensure_ascii=False)
    # Of the lines that were there before, none is looked at again each time a memory is added.
    is_known = format != "xml" and all(map(attrgetter("is_plain"), filled))
    return fence(_WRITERS[format](filled, references), is_plain=is_known)


def messages(blocks: Sequence[Block], references: bool) -> list[dict[str, str]]:
    """Chat messages: recent turns as they were said, what else is recalled in the fence.

    Sections between which nothing was said are one message, of the system.
    """
    chat: list[dict[str, str]] = []
    filled = (block for block in blocks if block.pieces)
    for in_turns, group in groupby(filled, lambda block: block.section.source == "recent"):
        if in_turns:
            pieces = (piece for block in group for piece in block.ordered)
            chat.extend(_turn(piece, references) for piece in pieces)
        else:
            recalled = fence(_plain([*group], references))
            chat.append({"role": "system", "content": recalled})
    return chat


def _turn(piece: Piece, references: bool) -> dict[str, str]:
    speaker = (piece.item.speaker or "").casefold()
    content = piece.content + (f" [m:{piece.ref}]" if references else "")
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
    line = attrgetter("line_with_reference" if references else "line")
    return [*map(line, block.ordered)]


def _xml(blocks: Sequence[Block], references: bool) -> str:
    # Imported here, because it imports the libraries of the network.
    from xml.sax.saxutils import escape, quoteattr

    def quoted(value: str) -> str:
        return quoteattr(re.sub(_NOT_XML, "", value))

    lines = ["<context>"]
    for block in blocks:
        lines.append(f"<section name={quoted(block.section.heading)}>")
        for piece in block.ordered:
            values = {
                "ref": piece.ref if references else None,
                "date": piece.date,
                "speaker": piece.item.speaker,
                "title": piece.item.title,
                "may_be_replaced_by": " ".join(piece.item.newer) or None,
            }
            attributes = "".join(f" {n}={quoted(v)}" for n, v in values.items() if v is not None)
            lines.append(
                f"<memory{attributes}>{escape(re.sub(_NOT_XML, '', piece.content))}</memory>"
            )
        lines.append("</section>")
    return "\n".join([*lines, "</context>"])


_WRITERS: Mapping[Format, Callable[[Sequence[Block], bool], str]] = {
    "text": _plain,
    "markdown": _markdown,
    "xml": _xml,
}
FORMATS: tuple[Format, ...] = (*_WRITERS, "messages")
