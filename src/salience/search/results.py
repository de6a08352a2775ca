"""The result of a search: hits, and how they were found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from salience.display.html import HtmlResult, facts, header, memory_cell, nothing, section, table
from salience.display.html import text as html_text
from salience.display.result import data_frame, field_names, field_readers, to_json, with_tuples
from salience.errors import InvalidInput, shown
from salience.language.analysis_types import TimeRange
from salience.language.spelling import taken_notes
from salience.ranking.explanation import Explanation, figure, tree_html
from salience.ranking.run import RankedRun
from salience.ranking.signals.vitality import ZONES, Zone, since_arrival, zone
from salience.ranking.stages import Score
from salience.records.record import ASSUMED, EMPTY, UNSET_SHARE, MemoryRecord
from salience.retrieval.candidates import Candidates
from salience.retrieval.routes import SearchType
from salience.search.passages import Passage

_COMPACT = (
    *("content", "score", "probability", "kind", "title", "speaker", "created_at"),
    *("session_id", "user_id", "tags", "metadata"),
)
BuildExplanation = Callable[[], Explanation | None]
"""Builds the explanation of a hit."""
LaterNumber = Callable[[], float]
"""Gives a number when it is first read."""


@dataclass(frozen=True, repr=False, init=False)  # made by `of`
class Hit(MemoryRecord):
    """A memory that a search returns: its fields, with its rank (from 1), score and evidence.

    `record` is the memory alone, and `assumed` names those of its fields that nobody has set, which
    are 0.5. `routes` gives its rank on each route, `similarity` max(0, cosine) with
    the query, None if the profile compares no vectors. `probability` is the chance that it answers
    the query, never above that of a hit ranked before it; None if the profile gives none. `details`
    are the reasons that the profile's stages left, such as the memory that it lost to; `neighbors`
    are the turns right before and after it, if the profile gives them. `zone` is that of its
    vitality, if the profile computes one: active, stale, fading or dormant, as `inspect.zones` says
    it; where the age of what was imported gives it another vitality than the rank, `details` has
    that as "zone.vitality", and "zone.why". `may_be_replaced_by` are later memories that are likely
    to have taken its place. `passages` are the parts of a long text that match, at most three, the
    best first. `explanation` is built when it is first read.
    """

    # The fields of the record stay in its dictionary, which a hit shares.
    __slots__ = (
        "_explanation", "details", "importance", "neighbors", "passages", "probability", "rank",
        "relevance_score", "routes", "score", "similarity", "zone",
    )  # fmt: skip
    _readers: ClassVar[Mapping[str, Any]] = {"details": with_tuples}
    _shown = ("rank", "score", "id", "content")

    _: KW_ONLY
    importance: float
    relevance_score: float
    score: float
    rank: int
    routes: Mapping[str, int]
    explanation: Explanation | None
    details: Mapping[str, Any]
    neighbors: tuple[MemoryRecord, ...]
    similarity: float | None
    zone: Zone | None
    probability: float | None
    passages: tuple[Passage, ...]

    def _sections(self) -> Iterator[str]:
        evidence = {"rank": self.rank, "score": figure(self.score), "routes": dict(self.routes)}
        if self.probability is not None:
            evidence["probability"] = f"{self.probability:.2f}"
        yield section("", _hit_cell(self))
        yield section("", facts(evidence))

    @classmethod
    def of(
        cls,
        record: MemoryRecord,
        score: float,
        rank: int,
        routes: Mapping[str, int],
        explanation: Explanation | BuildExplanation | None = None,
        details: Mapping[str, Any] = EMPTY,
        neighbors: tuple[MemoryRecord, ...] = (),
        similarity: float | None = None,
        zone: Zone | None = None,
        probability: float | LaterNumber | None = None,
        passages: tuple[Passage, ...] = (),
    ) -> Self:
        """The hit of a record."""
        hit, put = object.__new__(cls), object.__setattr__
        put(hit, "__dict__", record.__dict__)
        for name in ASSUMED:
            value = getattr(record, name)
            put(hit, name, UNSET_SHARE if value is None else value)
        put(hit, "score", score)
        put(hit, "rank", rank)
        put(hit, "routes", routes)
        put(hit, "_explanation", explanation)
        put(hit, "details", details)
        put(hit, "neighbors", neighbors)
        put(hit, "similarity", similarity)
        put(hit, "zone", zone)
        put(hit, "probability", probability)
        put(hit, "passages", passages)
        return hit

    @property
    def supporting_turn_count(self) -> int | None:
        """The number of turns that support a whole session; None if the profile counts none."""
        return self.details.get("turn_support.supporting_turn_count")

    @property
    def best_turn(self) -> str | None:
        """The id of the best of the turns that support a whole session."""
        return self.details.get("turn_support.best_turn")

    @property
    def best_turn_routes(self) -> Mapping[str, int]:
        """The rank of the best supporting turn on each route that found it."""
        return self.details.get("turn_support.best_turn_routes", EMPTY)

    @property
    def may_be_replaced_by(self) -> tuple[str, ...]:
        """The ids of later memories that are likely to have taken its place, the likeliest first.

        They are among those that the search looked at; the profile has to ask for them.
        """
        return self.details.get("change.marks", ())

    @property
    def record(self) -> MemoryRecord:
        """The memory alone, as `Memory.get` reads it."""
        return MemoryRecord.from_values(self.__dict__).in_effect()

    @property
    def assumed(self) -> tuple[str, ...]:
        """The fields that the memory has no value for: theirs is the one that is assumed."""
        return tuple(name for name in ASSUMED if self.__dict__[name] is None)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Restore the hit from the mapping of `to_dict`."""
        stored = {**values, **dict.fromkeys(values.get("assumed", ()))}
        readers, names = field_readers(cls), (*_EVIDENCE, *GIVEN_IF_ANY)
        evidence = {n: readers[n](values[n]) for n in names if n in readers and n in values}
        return cls.of(MemoryRecord.from_dict(stored), **evidence)

    def to_dict(self) -> dict[str, Any]:
        """A mapping of values that JSON has: the fields, and of the evidence what there is."""
        return {name: to_json(value) for name, value in self.values().items()}

    def values(self) -> dict[str, Any]:
        """The members of `to_dict`, those of the memory as they are, for a faster encoder."""
        values = {name: to_json(getattr(self, name)) for name in _EVIDENCE}
        values |= self.__dict__  # that of the record: its fields, in their order
        for name in ASSUMED:
            values[name] = getattr(self, name)
        for name in GIVEN_IF_ANY:
            value = getattr(self, name)
            if value is not None and value != () and value != {}:
                values[name] = to_json(value)
        return values


def _explanation(hit: Hit) -> Explanation | None:
    tree: Explanation | BuildExplanation | None = hit._explanation  # type: ignore[attr-defined]
    if callable(tree):
        tree = tree()
        _set_explanation(hit, tree)
    return tree


def _set_explanation(hit: Hit, tree: Explanation | None) -> None:
    object.__setattr__(hit, "_explanation", tree)


Hit.explanation = property(_explanation, _set_explanation)  # type: ignore[assignment]


def _read_later(kind: type, name: str) -> None:
    """Let a slot hold a function, which gives its value when it is first read."""
    slot = kind.__dict__[name]

    def read(owner: Any) -> Any:
        value = slot.__get__(owner)
        if callable(value):
            value = value()
            slot.__set__(owner, value)
        return value

    setattr(kind, name, property(read, slot.__set__))


_read_later(Hit, "probability")


def _row(hit: Hit) -> tuple[str, ...]:
    """A hit in a table: rank, score, probability if there is one, memory and reasons."""
    probability = () if hit.probability is None else (f"{hit.probability:.2f}",)
    return (str(hit.rank), figure(hit.score), *probability, _hit_cell(hit))


def _hit_cell(hit: Hit) -> str:
    cell = memory_cell(hit)
    if hit.explanation is None:
        return cell
    parts = hit.explanation.contributions().items()
    largest = sorted(parts, key=lambda part: -abs(part[1]))[:_REASONS]
    reasons = ", ".join(f"{name} {value:.2f}" for name, value in largest if value)
    return f'{cell}<div class="soft">{html_text(reasons)}</div>{tree_html(hit.explanation)}'


_REASONS = 2  # of a hit, in a notebook
_EVIDENCE = ("rank", "score", "similarity", "probability", "routes")
_STORED = field_names(MemoryRecord)
ALWAYS_GIVEN = (*_EVIDENCE, *_STORED)
GIVEN_IF_ANY = (
    "assumed", "zone", "may_be_replaced_by", "supporting_turn_count", "best_turn",
    "best_turn_routes", "details", "passages", "neighbors", "explanation",
)  # fmt: skip


@dataclass(frozen=True, slots=True, repr=False)
class SearchResult(HtmlResult):
    """The hits of a search, best first.

    `degraded` names everything that the search had to do without, and why; it is empty if nothing
    was missing. `timings_ms` gives milliseconds by step. `search_type` is "semantic" for a profile
    that compares vectors, "text" for one that compares words, "hybrid" for both; `min_score` is the
    lowest that a hit may have, if there is one, `during` the time that the search kept to, if any.
    `taken` names the words of the query that no memory holds and that are taken for others, each
    with the words that it is taken for. `probability` is the chance that at least one of the hits
    answers the query: at least the largest of theirs, at most their sum, and 0 for no hits.
    `probability_model` names the weights ("generic" for an embedder for which none were fitted).
    Both are None if the profile gives no probability. `approximate` is True where a namespace is
    too large for the process, so that the server brought candidates and others may be missing;
    `degraded` says why.
    """

    _shown = ("query", "profile", "hits", "degraded")

    query: str
    hits: tuple[Hit, ...]
    profile: str
    search_id: str
    degraded: tuple[str, ...] = ()
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    search_type: SearchType = "hybrid"
    min_score: float | None = None
    during: TimeRange | None = None
    taken: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    probability: float | None = None
    probability_model: str | None = None
    approximate: bool = False

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, index: int) -> Hit:
        return self.hits[index]

    def compact(self, fields: Sequence[str] = _COMPACT) -> dict[str, Any]:
        """A short JSON-ready form for APIs: query, probability and hits, without what is empty.

        Args:
            fields: the attributes of each hit; its `id` is always there.

        Raises:
            InvalidInput: a hit has no such field.
        """
        available = {*field_names(MemoryRecord), *_EVIDENCE}
        for name in fields:
            if name not in available:
                remedy = f"use some of {', '.join(sorted(available))}"
                raise InvalidInput("fields", f"a hit has no {shown(name)}", remedy)
        names = ("id", *(name for name in fields if name != "id"))
        hits = [
            {
                name: to_json(value)
                for name in names
                if (value := getattr(hit, name)) not in (None, (), {}, "")
            }
            for hit in self.hits
        ]
        members: dict[str, Any] = {
            "query": self.query,
            "probability": self.probability,
            "hits": hits,
        }
        if self.degraded:
            members["degraded"] = list(self.degraded)
        return {name: value for name, value in members.items() if value is not None}

    def to_pandas(self) -> Any:
        """A pandas DataFrame with a row for each hit: rank, score, similarity and its fields.

        Raises:
            SalienceError: pandas is not installed.
        """
        return data_frame(self.hits, ("rank", "score", "similarity", *field_names(MemoryRecord)))

    def _title(self) -> str:
        return self.query

    def _sections(self) -> Iterator[str]:
        count = f"{len(self.hits)} hit{'' if len(self.hits) == 1 else 's'}"
        notes = [*(f"without {lack}" for lack in self.degraded), *taken_notes(self.taken)]
        yield header(self.query, (count, f"profile {self.profile}", *notes))
        if not self.hits:
            yield nothing("No memory was found.")
            return
        probability = () if self.probability is None else ("probability",)
        head = ("#", "score", *probability, "memory")
        rows = [_row(hit) for hit in self.hits]
        yield section("", table(head, rows, numbers=range(len(head) - 1)))

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the hits, best first."""
        return tuple(hit.id for hit in self.hits)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return self._members([hit.to_dict() for hit in self.hits])

    def values(self) -> dict[str, Any]:
        """The members of `to_dict`, the hits with their `values`, for a faster encoder."""
        return self._members([hit.values() for hit in self.hits])

    def _members(self, hits: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "query": self.query,
            "profile": self.profile,
            "search_type": self.search_type,
            "min_score": self.min_score,
            "during": None if self.during is None else self.during.to_dict(),
            "probability": self.probability,
            "probability_model": self.probability_model,
            "search_id": self.search_id,
            "approximate": self.approximate,
            "degraded": list(self.degraded),
            "taken": {word: list(corrections) for word, corrections in self.taken.items()},
            "timings_ms": dict(self.timings_ms),
            "hits": hits,
        }


_read_later(SearchResult, "probability")


# The zones of hits: the age of what was imported counts from its arrival, as upkeep counts it

_ACTIVE = ZONES[0][0]  # the vitality of the liveliest zone; to be younger changes it no more


def zones_of(
    run: RankedRun, table: Candidates, records: Sequence[MemoryRecord | None]
) -> list[tuple[Zone | None, Mapping[str, Any]]]:
    """The zone of each row of a table, and notes where it goes by another figure than its rank.

    A rank goes by `created_at`, a zone by the arrival in the store. Where these give two figures,
    "zone.vitality" is that of the zone, and "zone.why" says why. None without vitality.
    """
    if "vitality" not in table.columns:
        return [(None, EMPTY)] * len(table)
    ranked = table.floats("vitality")
    values, added = ranked.copy(), _arrivals(ranked, records)
    stages = run.profile.pipeline.stages
    scoring = next((s for s in stages if isinstance(s, Score) and s.into == "vitality"), None)
    if added and scoring is not None and "accesses" in table.columns:
        imported = table.take(np.array([*added])).with_columns(added_at=np.array([*added.values()]))
        values[[*added]] = scoring.apply(run.query, since_arrival(imported)).floats("vitality")
    return [
        (zone(value), EMPTY if value == before or value != value else _notes(value, before))
        for value, before in zip(values.tolist(), ranked.tolist(), strict=True)
    ]


def _arrivals(
    vitality: np.ndarray[Any, Any], records: Sequence[MemoryRecord | None]
) -> dict[int, float]:
    """The times of arrival, by place, of memories that are older than that and not active."""
    return {
        place: record.added_at.timestamp()
        for place, (record, value) in enumerate(zip(records, vitality.tolist(), strict=True))
        if value < _ACTIVE and record is not None and record.added_at is not None
        if record.added_at > record.created_at
    }


def _notes(value: float, ranked: float) -> Mapping[str, Any]:
    why = f"age from its arrival; from created_at its vitality is {figure(ranked)}, and ranks it"
    return {"zone.vitality": value, "zone.why": why}
