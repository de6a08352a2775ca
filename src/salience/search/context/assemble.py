"""The context of a query: sections gathered, packed, written down, and what they came from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from salience.errors import InvalidInput, shown
from salience.records.filters import And, Filter, parse
from salience.records.validation import integer
from salience.retrieval.operations import Touch
from salience.retrieval.plan import Plan, ask
from salience.search.context.formats import FORMATS, Block, Format, messages
from salience.search.context.packing import Packed, Packing
from salience.search.context.sections import (
    Gathered,
    Section,
    SectionLike,
    gather,
    referred,
    sections_of,
)
from salience.search.request import MOST_HITS, SearchRequest

_HITS = 100  # of a search that fills a section


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a piece of the text comes from; `left_out` counts the tokens that were cut off it."""

    ref: str
    id: str
    namespace: str
    section: str
    score: float | None
    left_out: int

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Filled:
    """A section as it was filled: its cost, what it was allowed, and what found no room."""

    name: str
    tokens: int
    allowed: int
    ids: tuple[str, ...]
    cut: tuple[str, ...]
    without_room: int

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "name": self.name,
            "tokens": self.tokens,
            "allowed": self.allowed,
            "ids": list(self.ids),
            "cut": list(self.cut),
            "without_room": self.without_room,
        }


@dataclass(frozen=True, slots=True)
class Context:
    """What an agent is given to read: tokens = counter(text) <= max_tokens.

    `provenance` names the memories in the order of the text. `degraded` says what had to be done
    without. In the format "messages", `messages` are what `text` holds as JSON.
    """

    query: str
    text: str
    tokens: int
    max_tokens: int
    format: Format
    sections: tuple[Filled, ...]
    provenance: tuple[Provenance, ...]
    messages: tuple[Mapping[str, str], ...] = ()
    degraded: tuple[str, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the memories, in the order of the text."""
        return tuple(each.id for each in self.provenance)

    @property
    def truncated(self) -> tuple[str, ...]:
        """The ids of the memories that were cut to fit."""
        return tuple(each.id for each in self.provenance if each.left_out)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "query": self.query,
            "text": self.text,
            "tokens": self.tokens,
            "max_tokens": self.max_tokens,
            "format": self.format,
            "sections": [section.to_dict() for section in self.sections],
            "provenance": [each.to_dict() for each in self.provenance],
            "messages": [dict(message) for message in self.messages],
            "degraded": list(self.degraded),
        }

    def __str__(self) -> str:
        return self.text


def assemble(
    query: str,
    request: Callable[..., SearchRequest],
    *,
    max_tokens: int,
    format: Format,
    sections: Sequence[SectionLike] | None,
    counter: Callable[[str], int],
    filters: Mapping[str, Any] | Filter | None,
    references: bool,
    touch: bool,
    now: datetime,
    **ranking: Any,
) -> Plan[Context]:
    """The plan of a context: read the sections, pack them, touch what is given.

    `request` makes a checked search request of a query and its options, `ranking` among them.

    Raises:
        InvalidInput: an argument is wrong, or a section that has to be whole does not fit.
    """
    _check(format, counter)
    max_tokens = integer("max_tokens", max_tokens, 1)
    asked = [
        (section, request(query, **_asked(section, filters), now=now, touch=False, **ranking))
        for section in sections_of(sections)
    ]
    gathered: list[Gathered] = []
    for section, one in asked:
        gathered.append((yield from gather(section, one)))
    packing = Packing(referred(gathered), max_tokens, format, counter, references)
    packed = packing.pack()
    blocks = packing.blocks()
    rows = sorted(piece.item.row for block in blocks for piece in block.pieces)
    if touch and rows:
        yield from ask(Touch(np.array(rows, dtype=np.int64), now))
    return Context(
        query=query,
        text=packing.text(),
        tokens=packing.tokens,
        max_tokens=max_tokens,
        format=format,
        sections=tuple(_filled(each) for each in packed),
        provenance=tuple(source for block in blocks for source in _sources(block)),
        messages=tuple(messages(blocks, references)) if format == "messages" else (),
        degraded=tuple(dict.fromkeys(note for each in gathered for note in each.degraded)),
    )


def _check(format: Any, counter: Any) -> None:
    """Refuse arguments that no context can be made with."""
    if not isinstance(format, str) or format not in FORMATS:
        raise InvalidInput("format", f"is {shown(format)}", f"use one of {', '.join(FORMATS)}")
    if not callable(counter):
        raise InvalidInput(
            "counter", f"is {shown(counter)}", "give a function from text to a number"
        )


def _asked(section: Section, filters: Any) -> dict[str, Any]:
    """The options of a section's search: where it looks, for what, for how many."""
    path = f"sections.{section.name}.filters"
    both = [f for f in (parse(section.filters, path), parse(filters)) if f is not None]
    return {
        "limit": section.limit or (MOST_HITS if section.whole else _HITS),
        "filters": And(tuple(both)) if both else None,
        "namespaces": None if section.namespace is None else [section.namespace],
    }


def _sources(block: Block) -> list[Provenance]:
    return [
        Provenance(
            piece.item.ref,
            piece.item.record.id,
            piece.item.record.namespace,
            block.section.name,
            piece.item.score,
            piece.left_out,
        )
        for piece in block.ordered()
    ]


def _filled(packed: Packed) -> Filled:
    pieces = packed.block.ordered()
    return Filled(
        packed.block.section.name,
        packed.tokens,
        packed.allowed,
        tuple(piece.item.record.id for piece in pieces),
        tuple(piece.item.record.id for piece in pieces if piece.left_out),
        packed.without_room,
    )
