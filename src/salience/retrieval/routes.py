"""Routes: where candidates come from. Plain data; each kind of store answers each of them.

A route writes two columns, `<name>.score` and `<name>.rank` (from 1; NaN for a candidate that only
another route found). Its score is exact for every candidate.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Literal

from salience.errors import InvalidInput, shown
from salience.lazily import dataclass
from salience.records.fields import FIELDS, LEXICAL

SearchType = Literal["semantic", "text", "hybrid"]
"""The features by which candidates are compared: vectors, words or both."""


@dataclass(frozen=True)
class Route:
    """One way to find candidates. Every route has a field `name`, by default that of its kind.

    `search_type` says whether it compares vectors ("semantic"), words ("text") or nothing (None).
    A route that is `newest_first` returns rows by age instead of by score.
    """

    if TYPE_CHECKING:  # no field of this class: it would come before those of each route

        @property
        def name(self) -> str: ...

    search_type: ClassVar[Literal["semantic", "text"] | None] = "text"
    newest_first: ClassVar[bool] = False

    @property
    def entity_fields(self) -> tuple[str, ...]:
        """The fields that it compares with the entities that the query names."""
        return ()

    @property
    def rank_notes(self) -> Mapping[str, float]:
        """Settings of the route that an explanation shows beside the rank, by name."""
        return {}


@dataclass(frozen=True)
class Lexical(Route):
    """score = sum_t idf(t) * tf * (k1 + 1) / (tf + k1 * (1 - b + b * dl / avgdl)), BM25.

    tf and dl add up over `fields`, tf weighted; idf(t) = ln(1 + (N - df + 0.5) / (df + 0.5)) over
    the namespace. For a turn of a conversation, the same formula on the nearest 40 words of the
    turns right before and after it in its session is added with the weights `before` and `after`.

    With `operators`, a "phrase" in quotation marks has to occur as such (otherwise the score is 0),
    and `term*` stands for all words with that beginning, as if they were forms of one word.

    With `spelling`, a word that no memory holds counts for the words of memories that it is likely
    meant for (see `salience.language.spelling`), with idf times a weight from 0.58 to 0.85.

    With `measure` "ts_rank" it is PostgreSQL's, for the words of the query joined by OR: the mean
    over them of (sum_j w_j / j^2 + (1 - 1 / m^2) * max(w)) / (pi^2 / 6), where w_j is the weight of
    the field of the j-th occurrence, in the order of `fields`, and m the first with the largest.
    The rarity of words and the length of memories do not count, and there is no `before` or
    `after`. Weights of PostgreSQL's classes A to D are 1, 0.4, 0.2 and 0.1.

    With `passages`, a long memory has the score of its best passage where that is higher than its
    own. A passage has its words and those of its title and headings; its length is compared with
    the most that a passage should have, 75 words. idf counts memories, and avgdl a long memory as
    one for each 50 words.

    Source: Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009 (BM25, BM25F);
    PostgreSQL, Controlling Text Search (ts_rank).
    """

    fields: tuple[tuple[str, float], ...] = (("content", 1.0), ("title", 1.0))
    before: float = 0.0
    after: float = 0.0
    k1: float = 1.2
    b: float = 0.75
    operators: bool = False
    measure: str = "bm25"
    spelling: bool = False
    name: str = "lexical"
    passages: bool = False

    def __post_init__(self) -> None:
        if self.measure not in ("bm25", "ts_rank"):
            raise InvalidInput("measure", f"is {shown(self.measure)}", "use bm25 or ts_rank")
        if self.measure == "ts_rank" and (self.before or self.after):
            raise InvalidInput("before", "has no part in ts_rank", "leave before and after at 0")
        if self.measure == "ts_rank" and self.spelling:
            raise InvalidInput("spelling", "has no part in ts_rank", "use bm25, or leave it out")
        if self.measure == "ts_rank" and self.passages:
            raise InvalidInput("passages", "have no part in ts_rank", "leave them out, or use bm25")
        for field, _ in self.fields:
            if field not in LEXICAL:
                remedy = f"use {', '.join(LEXICAL)}"
                raise InvalidInput("fields", f"the words of {shown(field)} are not kept", remedy)


LABELS = Lexical((("entities", 1.0), ("tags", 1.0)), name="labels")
"""The words of a memory's labels, by which nothing is searched."""


@dataclass(frozen=True)
class Vector(Route):
    """score = cosine(query, memory) = q . m for unit vectors, in [-1, 1]; 0 for a zero vector.

    `vector` is the name of the memories' vectors that are compared; a memory without one is no
    candidate, nor is one below `min_similarity`. Without a query vector, or with a zero one, no
    memory is nearer than another: there are no candidates within a depth, and without a depth all
    memories are candidates. With `passages`, a long memory has the cosine of its best passage where
    that is higher than that of the whole.
    """

    vector: str = "content"
    min_similarity: float = -1.0
    name: str = "vector"
    passages: bool = False
    search_type = "semantic"

    def __post_init__(self) -> None:
        if self.passages and self.vector != "content":
            raise InvalidInput(
                "passages", f"have no vectors {shown(self.vector)}", 'use the vectors "content"'
            )

    @property
    def rank_notes(self) -> Mapping[str, float]:
        return {"min_similarity": self.min_similarity} if self.min_similarity > -1.0 else {}


@dataclass(frozen=True)
class Trigram(Route):
    """score = |A n B| / |A u B| over three-letter windows (pg_trgm), best of the fields.

    With `entities`, the entities in the query are compared, too, and the best counts. A memory
    below `min_similarity` is no candidate.
    """

    fields: tuple[str, ...] = ("title", "speaker")
    min_similarity: float = 0.3
    entities: bool = False
    name: str = "trigram"

    def __post_init__(self) -> None:
        _check_texts(self.fields)

    @property
    def entity_fields(self) -> tuple[str, ...]:
        return self.fields if self.entities else ()


@dataclass(frozen=True)
class MatchAll(Route):
    """score = 0: every memory that passes the filters is a candidate, newest row first."""

    name: str = "scan"
    search_type = None
    newest_first = True


@dataclass(frozen=True)
class ExactMatch(Route):
    """score = 1 where a field equals the query or an entity in it; no other memory is a candidate.

    The whole query and each of its entities are compared with the value (or the values of a list),
    folded, aliases being equal.
    """

    fields: tuple[str, ...] = ("id", "title", "speaker", "user_id", "entities")
    name: str = "exact"

    def __post_init__(self) -> None:
        _check_texts(self.fields)

    @property
    def entity_fields(self) -> tuple[str, ...]:
        return self.fields


@dataclass(frozen=True)
class TimeWindow(Route):
    """score = 1 for every memory from the time that the query names, newest row first.

    Without such a time there are no candidates. A search over this route keeps to that time on all
    of its routes.
    """

    name: str = "during"
    search_type = None
    newest_first = True


def _check_texts(names: tuple[str, ...]) -> None:
    """Refuse the names of fields without texts."""
    for name in names:
        is_text = name in FIELDS and FIELDS[name].type in ("text", "list")
        if not is_text and not name.startswith("metadata."):
            raise InvalidInput(
                "fields", f"{shown(name)} holds no text", "use such as title or speaker"
            )


def check_depth(depth: int | None) -> None:
    """Refuse a depth that is not a positive number of rows or None (all of them)."""
    if depth is not None and depth < 1:
        raise InvalidInput("depth", f"is {depth}", "give a positive number or None for all")
