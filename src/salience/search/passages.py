"""The passages of a long memory that match a query."""

from __future__ import annotations

from collections.abc import Sequence

from salience.display.result import Result
from salience.lazily import dataclass
from salience.ranking.passages import best_passages, find_passages, passage_route
from salience.ranking.profile import Profile
from salience.records.record import MemoryRecord
from salience.retrieval.candidates import Rows
from salience.retrieval.operations import FoundPassage
from salience.retrieval.plan import Plan
from salience.retrieval.query import Query


@dataclass(frozen=True, repr=False)
class Passage(Result):
    """A part of a memory that matches: its characters from `start` up to `end`, and its headings.

    score = (BM25 / the largest BM25 of a passage of the memory + max(0, cosine)) / 2, in [0, 1].
    `number` is its place among the passages of the text, from 1, and `of` how many these are.
    """

    _shown = ("number", "of", "heading", "text", "score")

    start: int
    end: int
    text: str
    heading: str
    score: float
    number: int
    of: int


def excerpt(passages: Sequence[Passage]) -> str:
    """Passages of one text, each under its headings, in the order of the text."""
    parts, heading = [], ""
    for passage in sorted(passages, key=lambda passage: passage.start):
        headings = [passage.heading] if passage.heading not in ("", heading) else []
        parts.append("\n".join((*headings, passage.text)))
        heading = passage.heading
    return "\n[...]\n".join(parts)


def matching_passages(
    profile: Profile, query: Query, rows: Rows, records: Sequence[MemoryRecord | None]
) -> Plan[list[tuple[Passage, ...]]]:
    """The plan of finding the passages of hits that match, the best first; () for short texts."""
    contents = [None if record is None else record.content for record in records]
    passage_lists = yield from find_passages(passage_route(profile.routes), query, rows, contents)
    return [
        _best(content or "", passages) if passages else ()
        for content, passages in zip(contents, passage_lists, strict=True)
    ]


def _best(content: str, passages: Sequence[FoundPassage]) -> tuple[Passage, ...]:
    """The passages of a text that match, the best first."""
    return tuple(
        Passage(
            passages[place].start,
            passages[place].end,
            content[passages[place].start : passages[place].end],
            passages[place].heading,
            score,
            place + 1,
            len(passages),
        )
        for place, score in best_passages(content, passages)
    )
