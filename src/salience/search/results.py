"""What a search returns."""

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
    """One memory found: its rank (from 1), its score, and its rank on each route that found it.

    `details` are the reasons that the profile's stages left, such as whom a memory lost to;
    `neighbors` what was said right before and after it, where the profile gives that.
    `similarity` is max(0, cosine) with the query, None where the profile compares no vectors.
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
        """The score, by the name that the document of the "six_factor" profile gives it."""
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
        """When the memory is from."""
        return self.record.created_at

    @property
    def zone(self) -> Zone | None:
        """How alive the memory is: active, stale, fading or archived; None if it was not asked."""
        return zone(self.details.get("vitality"))

    @property
    def tier(self) -> str | None:
        """The memory's tier: short, medium or long."""
        return self.record.tier

    @property
    def relevance_score(self) -> float | None:
        """The memory's stored relevance, which decay and feedback move; no part of the score."""
        return self.record.relevance_score

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The memory's metadata."""
        return self.record.metadata

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping: the record with score, rank, routes and what else there is."""
        found: dict[str, Any] = {
            "rank": self.rank,
            "score": self.score,
            "combined_score": self.score,
            "similarity": self.similarity,
            "routes": dict(self.routes),
            **self.record.to_dict(),
        }
        if self.zone is not None:
            found["zone"] = self.zone
        if self.details:
            found["details"] = {name: to_json(value) for name, value in self.details.items()}
        if self.neighbors:
            found["neighbors"] = [neighbor.to_dict() for neighbor in self.neighbors]
        if self.explanation is not None:
            found["explanation"] = self.explanation.to_dict()
        return found


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The hits of a search, best first.

    `degraded` names everything the search had to do without, and why; it is empty when nothing
    was missing. `timings_ms` gives milliseconds by step. `search_type` is "semantic" for a profile
    that compares vectors, "text" for one that compares words, "hybrid" for both; `threshold` is the
    least score that was asked for, `during` the time that the search kept to, if any. `read` says
    how many memories were read to find the best of all, and of how many; None where the profile
    does not rank all, or the store has them at hand.
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
