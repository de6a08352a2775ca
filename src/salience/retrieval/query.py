"""A query: its text and analysis, where to search, and what is wanted."""

from __future__ import annotations

from collections.abc import Callable

from salience.language.analysis_types import QueryAnalysis
from salience.language.entities import NO_ALIASES, Aliases
from salience.language.tokens import count_tokens
from salience.lazily import dataclass, field
from salience.records.filters import Filter
from salience.records.record import Embedding


@dataclass(frozen=True, eq=False)
class Query:
    """One search of some namespaces, with the analysis of its text.

    `now` is in seconds since 1970, `k` hits are wanted, `vector` is None without an embedder. With
    a `token_budget`, the texts of the hits take at most so many tokens as `count_tokens` counts
    them. `entities` are the keys (see `Aliases.key`) of the entities in its text. `known` is how
    far the embedder knows the text, in [0, 1], and `knows` how far it knows a script; None where it
    does not say. `evidence` are columns of all candidates that are read besides those of the
    profile. `memories` is how many the namespaces hold. `names` is what routes over
    names compare; the text itself by default.
    """

    text: str
    namespaces: tuple[str, ...]
    now: float
    k: int = 10
    min_score: float | None = None
    where: Filter | None = None
    vector: Embedding | None = None
    embedder: str | None = None  # identity of the vector's embedder, None if unknown
    reading: QueryAnalysis = field(default_factory=QueryAnalysis)
    entities: frozenset[str] = frozenset()
    aliases: Aliases = NO_ALIASES
    token_budget: int | None = None
    count_tokens: Callable[[str], int] = count_tokens
    known: float = 1.0
    knows: Callable[[str], float] | None = None
    evidence: frozenset[str] = frozenset()
    memories: int = 0
    names: str = ""

    @property
    def name_text(self) -> str:
        """The text that routes over names compare."""
        return self.names or self.text
