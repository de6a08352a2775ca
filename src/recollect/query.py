"""A query: what is asked, of whom, when, and what could be read out of its words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from recollect.filters import Filter
from recollect.memory import Vector

_NO_FACTS: Mapping[str, float] = MappingProxyType({})
_NO_VECTORS: Mapping[str, Vector] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class When:
    """A date named in a query; the parts that were not named are None."""

    year: int | None = None
    month: int | None = None
    day: int | None = None


@dataclass(frozen=True, eq=False)
class Query:
    """One search, analysed. `now` is in seconds since 1970; `k` hits are wanted.

    `terms` are the stems for the lexical route, `vectors` the query's vector (empty when there is
    no embedder), `speakers` the participants it names, `when` the dates it names, and `facts`
    yes-or-no properties of its words ("first_person", "asks_when", "asks_present") as 0.0 or 1.0.
    """

    text: str
    namespaces: tuple[str, ...]
    now: float
    k: int = 10
    min_score: float | None = None
    where: Filter | None = None
    terms: tuple[str, ...] = ()
    vector: Vector | None = None
    speakers: frozenset[str] = frozenset()
    when: tuple[When, ...] = ()
    facts: Mapping[str, float] = field(default_factory=lambda: _NO_FACTS)
