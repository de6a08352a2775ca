"""The cache of one search: later operations are answered from it without another round trip."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.records.filters import Filter
from salience.retrieval.candidates import Floats, Rows
from salience.retrieval.operations import Edge
from salience.stores.index.words.bm25 import WordScores
from salience.stores.index.words.postings import Segment
from salience.stores.postgres.search.row_cache import RowCache
from salience.stores.postgres.search.snapshot import NamespaceSnapshot


@dataclass(eq=False)
class Neighborhood:
    """Links and session neighbors of rows, as far as they pass a filter."""

    where: Filter | None = None
    linked: set[int] = field(default_factory=set)  # the rows all of whose links are among `edges`
    edges: list[Edge] = field(default_factory=list)
    beside: dict[int, tuple[int, int]] = field(default_factory=dict)  # previous and next, or -1


@dataclass(eq=False)
class SearchCache:
    """All that the search of one thread or task has read."""

    snapshots: dict[str, NamespaceSnapshot] = field(default_factory=dict)
    segments: dict[str, dict[str, list[Segment]]] = field(default_factory=dict)
    """By namespace and field: segments of the inverted index, with the terms of the query alone."""
    segment_terms: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """By namespace: the terms that its segments have."""
    word_scores: dict[tuple[str, Any], WordScores] = field(default_factory=dict)
    rows: RowCache = field(default_factory=RowCache)
    neighborhood: Neighborhood = field(default_factory=Neighborhood)
    cosines: dict[tuple[str, str], tuple[Rows, Floats]] = field(default_factory=dict)
    """By namespace and vector name: rows, ascending, and their cosines, where all were compared."""
    passage_vectors: dict[int, list[tuple[int, NDArray[np.float32]]]] = field(default_factory=dict)
    """The vectors of the passages of rows by id, each with its place in the text."""
    in_memory: frozenset[str] | None = None
    """The namespaces that are answered about by the replicas of this process; None: not known."""
    advanced: frozenset[str] = frozenset()
    """The namespaces among them that were brought up to date for a search still to come."""

    def neighborhood_within(self, where: Filter | None) -> Neighborhood:
        """Links and neighbors that pass a filter; those of another filter are forgotten."""
        if where != self.neighborhood.where:
            self.neighborhood = Neighborhood(where)
        return self.neighborhood
