"""The result of a search: hits, and how they were found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from salience.language.analysis_types import TimeRange
from salience.ranking.explanation import Explanation
from salience.ranking.signals.vitality import Zone, zone
from salience.records.record import MemoryRecord, to_json
from salience.retrieval.routes import SearchType


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory that a search returns, with its rank (from 1), its score, its rank on each route.

    `details` are the reasons that the profile's stages left, such as the memory that it lost to;
    `neighbors` are the turns right before and after it, if the profile gives them.
    `similarity` is max(0, cosine) with the query, None if the profile compares no vectors.
    """

    record: MemoryRecord
    score: float
    rank: int
    routes: Mapping[str, int]
    explanation: Explanation | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    neighbors: tuple[MemoryRecord, ...] = ()
    similarity: float | None = None

    @property
    def combined_score(self) -> float:
        """The score, under the name that the publication of "six_factor" gives it."""
        return self.score

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.record.id

    @property
    def content(self) -> str:
        """The memory's text."""
        return self.record.content

    @property
    def created_at(self) -> datetime:
        """The time that the memory is from."""
        return self.record.created_at

    @property
    def zone(self) -> Zone | None:
        """The zone of its vitality: active, stale, fading, archived; None if not computed."""
        return zone(self.details.get("vitality"))

    @property
    def tier(self) -> str | None:
        """The memory's tier: short, medium or long."""
        return self.record.tier

    @property
    def relevance_score(self) -> float | None:
        """The memory's stored relevance, moved by decay and feedback; not a part of the score."""
        return self.record.relevance_score

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The memory's metadata."""
        return self.record.metadata

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping: the record with score, rank, routes and everything else."""
        values: dict[str, Any] = {
            "rank": self.rank,
            "score": self.score,
            "combined_score": self.score,
            "similarity": self.similarity,
            "routes": dict(self.routes),
            **self.record.to_dict(),
        }
        if self.zone is not None:
            values["zone"] = self.zone
        if self.details:
            values["details"] = {name: to_json(value) for name, value in self.details.items()}
        if self.neighbors:
            values["neighbors"] = [neighbor.to_dict() for neighbor in self.neighbors]
        if self.explanation is not None:
            values["explanation"] = self.explanation.to_dict()
        return values


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The hits of a search, best first.

    `degraded` names everything that the search had to do without, and why; it is empty if nothing
    was missing. `timings_ms` gives milliseconds by step. `search_type` is "semantic" for a profile
    that compares vectors, "text" for one that compares words, "hybrid" for both; `threshold` is the
    minimum score of a hit, if there is one, `during` the time that the search kept to, if any.
    `read` says how many memories were read to find the best of all, and of how many; None if the
    profile does not rank all, or the store has them in memory.
    """

    query: str
    hits: tuple[Hit, ...]
    profile: str
    search_id: str
    degraded: tuple[str, ...] = ()
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    search_type: SearchType = "hybrid"
    threshold: float | None = None
    during: TimeRange | None = None
    read: tuple[int, int] | None = None

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, index: int) -> Hit:
        return self.hits[index]

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the hits, best first."""
        return tuple(hit.id for hit in self.hits)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "query": self.query,
            "profile": self.profile,
            "search_type": self.search_type,
            "threshold": self.threshold,
            "during": None if self.during is None else self.during.to_dict(),
            "read": None if self.read is None else {"memories": self.read[0], "of": self.read[1]},
            "search_id": self.search_id,
            "degraded": list(self.degraded),
            "timings_ms": dict(self.timings_ms),
            "hits": [hit.to_dict() for hit in self.hits],
        }
