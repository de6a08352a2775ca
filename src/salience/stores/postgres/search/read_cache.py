"""The cache of one search: what later operations are answered from without another round trip."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from salience.records.filters import Filter
from salience.retrieval.candidates import Floats, Rows
from salience.retrieval.operations import Edge
from salience.stores.index.words.bm25 import WordScores
from salience.stores.index.words.postings import Segment
from salience.stores.postgres.search.row_cache import RowCache
from salience.stores.postgres.search.snapshot import NamespaceSnapshot


@dataclass(eq=False)
class Neighborhood:
    """What was seen around memories that pass a filter, by row."""

    where: Filter | None = None
    linked: set[int] = field(default_factory=set)  # the rows all of whose links are among `edges`
    edges: list[Edge] = field(default_factory=list)
    beside: dict[int, tuple[int, int]] = field(default_factory=dict)  # before and behind, or -1


@dataclass(eq=False)
class SearchCache:
    """What was seen by the search that a thread runs at the moment."""

    known: dict[str, NamespaceSnapshot] = field(default_factory=dict)
    segments: dict[str, dict[str, list[Segment]]] = field(default_factory=dict)
    scores: dict[tuple[str, Any], WordScores] = field(default_factory=dict)
    seen: RowCache = field(default_factory=RowCache)
    around: Neighborhood = field(default_factory=Neighborhood)
    cosines: dict[tuple[str, str], tuple[Rows, Floats]] = field(default_factory=dict)
    """By namespace and vector name: rows, ascending, and their cosines, where all were compared."""
    kept: frozenset[str] = frozenset()
    """The namespaces that are answered about out of this process's memory."""
    begun: frozenset[str] = frozenset()
    """Those of them that were brought up to date for a search that is still to come."""

    def around_within(self, where: Filter | None) -> Neighborhood:
        """What was seen around memories that pass a filter."""
        if where != self.around.where:
            self.around = Neighborhood(where)
        return self.around
