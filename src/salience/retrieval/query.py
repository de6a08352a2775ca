"""A query: what is asked, of whom, when, and what could be read out of its words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from salience.language.analysis_types import QueryAnalysis
from salience.language.entities import NO_ALIASES, Aliases
from salience.language.tokens import count_tokens
from salience.records.filters import Filter
from salience.records.record import Embedding
from salience.retrieval.candidates import Candidates, Floats


@dataclass(frozen=True, eq=False)
class Query:
    """One search, analysed: where to look, for what time, for how many.

    `now` is in seconds since 1970, `k` hits are wanted, `vector` is None without an embedder. With
    a `token_budget`, what is returned takes no more of it, as `count_tokens` counts. `entities` are
    the keys (see `Aliases.key`) of what its words name. `around` says what its profile asks of what
    is around memories (see `Stage.around`), so that a store may read it with them. With `hits_only`
    nobody looks afterwards at what is no hit, so it need not be read.
    """

    text: str
    namespaces: tuple[str, ...]
    now: float
    k: int = 10
    min_score: float | None = None
    where: Filter | None = None
    vector: Embedding | None = None
    embedder: str | None = None  # identity of what made the vector, where that is known
    reading: QueryAnalysis = field(default_factory=QueryAnalysis)
    entities: frozenset[str] = frozenset()
    aliases: Aliases = NO_ALIASES
    token_budget: int | None = None
    count_tokens: Callable[[str], int] = count_tokens
    around: frozenset[str] = frozenset()
    hits_only: bool = False


class Formula(Protocol):
    """What ranks candidates: a signal."""

    def evaluate(self, query: Query, candidates: Candidates) -> Floats:
        """The value for every candidate, shape (candidates,)."""
        ...
