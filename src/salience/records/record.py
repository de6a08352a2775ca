"""Records: a memory, a link between two, and a record about to be written with its vectors."""

# Annotations are evaluated here: they declare the fields.

import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import chain
from types import MappingProxyType
from typing import Annotated, Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from salience.display.html import HtmlResult, facts, memory_cell, section
from salience.display.result import Result
from salience.lazily import dataclass, field
from salience.records.limits import (
    CONTENT_TYPES,
    LAYERS,
    NATURES,
    REVIEWS,
    STATUSES,
    TIERS,
    Field,
)

Embedding = NDArray[np.float32]
Time = TypeVar("Time", float, datetime)
LINK_TYPES = (
    "mentions",
    "supports",
    "contradicts",
    "depends_on",
    "same_as",
    "supersedes",
    "consolidates",
    "may_replace",
)
OPPOSING_LINKS = frozenset(
    {"contradicts", "may_replace"}
)  # types that lend a memory neither life nor support
EMPTY: Mapping[str, Any] = MappingProxyType({})
_UNSAID: tuple[Any, ...] = (None, [], {}, 0)  # values that a notebook does not show
UNSET_SHARE = 0.5  # the effective importance, relevance and score of a memory without them
ASSUMED = ("importance", "relevance_score")  # the fields that are read as UNSET_SHARE without one
ACCESSES_KEPT = 10  # times of the most recent accesses, newest first


Share = Annotated[float | None, Field("number", patchable=True, maximum=1.0)]
Amount = Annotated[float | None, Field("number", patchable=True)]
Moment = Annotated[datetime | None, Field("time", patchable=True)]


@dataclass(frozen=True, repr=False)  # without slots, which take a search's records long to fill
class MemoryRecord(HtmlResult):
    """One memory as stored, and the only list of its fields: `FIELDS` is read off the annotations.

    Times are aware datetimes in UTC; a missing value is None. `importance` and `relevance_score`
    are read as 0.5 where none is set, which a filter tells as None. `accesses` are the most recent
    access times, newest first; being written counts as the first access there, but not in
    `access_count`, which counts how often it was retrieved, nor in `write_count`, which counts how
    often it was edited. `written_by` is the actor of its first write, which no edit changes; None
    if nobody was named. `version` is 1 at first, and one more with every change that moves
    `updated_at`.
    """

    _shown = ("id", "content", "kind", "tags")

    id: Annotated[str, Field("text", limit=512)]
    namespace: str
    content: Annotated[str, Field("text", lexical=True)]
    title: Annotated[str | None, Field("text", lexical=True, limit=2_000)] = None
    gist: Annotated[str | None, Field("text", lexical=True, limit=10_000)] = None
    kind: Annotated[str, Field("text", limit=64)] = "note"
    speaker: Annotated[str | None, Field("text", limit=256)] = None
    session_id: Annotated[str | None, Field("text", limit=512)] = None
    agent_id: Annotated[str | None, Field("text", limit=512)] = None
    user_id: Annotated[str | None, Field("text", limit=512)] = None
    written_by: Annotated[str | None, Field("text", patchable=True, limit=512)] = None
    status: Annotated[str, Field("text", patchable=True, choices=STATUSES)] = "active"
    tags: Annotated[tuple[str, ...], Field("list", lexical=True)] = ()
    entities: Annotated[tuple[str, ...], Field("list", lexical=True)] = ()
    metadata: Annotated[Mapping[str, Any], Field("json", patchable=True)] = field(
        default_factory=lambda: EMPTY
    )
    tier: Annotated[str | None, Field("text", patchable=True, choices=TIERS)] = None
    memory_nature: Annotated[str | None, Field("text", patchable=True, choices=NATURES)] = None
    content_type: Annotated[str | None, Field("text", patchable=True, choices=CONTENT_TYPES)] = None
    layer: Annotated[str | None, Field("text", patchable=True, choices=LAYERS)] = None
    importance: Share = None
    relevance_score: Share = None
    memory_score: Share = None
    confidence: Share = None
    strength: Share = None
    decayed_at: Moment = None  # when strength last decayed
    decay_rate: Amount = None  # per hour
    feedback_for: Amount = None  # sum of the weights of positive feedback
    feedback_against: Amount = None
    review: Annotated[str | None, Field("text", patchable=True, choices=REVIEWS)] = None
    outdated: Share = None  # 1 lets it fade twice as fast
    pinned: Share = None  # 1 keeps it from being archived
    boost: Share = None  # as it was at boosted_at
    boosted_at: Moment = None
    expires_at: Moment = None
    valid_from: Moment = None  # of what is said, not of the memory
    valid_to: Moment = None
    created_at: Annotated[datetime, Field("time")] = field(kw_only=True)
    updated_at: Annotated[datetime, Field("time", patchable=True)] = field(kw_only=True)
    added_at: Moment = None  # when it came into the store, however old it is
    last_accessed: Moment = None
    version: Annotated[int, Field("number", patchable=True, whole=True)] = 1
    access_count: Annotated[int, Field("number", patchable=True, whole=True)] = 0
    write_count: Annotated[int, Field("number", patchable=True, whole=True)] = 0
    accesses: Annotated[tuple[datetime, ...], Field("times", patchable=True)] = ()

    def _title(self) -> str:
        return self.title or self.id

    def _sections(self) -> Iterator[str]:
        yield section("", memory_cell(self))
        values = {name: value for name, value in self.to_dict().items() if value not in _UNSAID}
        yield section("", facts({n: v for n, v in values.items() if n not in ("id", "content")}))

    @classmethod
    def from_values(cls, values: dict[str, Any]) -> Self:
        """The record of a value for every field; it keeps the dictionary, unchecked."""
        record = object.__new__(cls)
        object.__setattr__(record, "__dict__", values)
        return record

    @property
    def effective_importance(self) -> float:
        """The importance, 0.5 where it is not set."""
        return UNSET_SHARE if self.importance is None else self.importance

    def in_effect(self) -> Self:
        """The same memory with the importance and relevance that count, 0.5 where none is set."""
        unset = [name for name in ASSUMED if self.__dict__[name] is None]
        return self.from_values({**self.__dict__, **dict.fromkeys(unset, UNSET_SHARE)})

    def with_entities(self, entities: tuple[str, ...]) -> Self:
        """The same memory with other entities."""
        return self.from_values({**self.__dict__, "entities": entities})

    def equals_except(self, names: Collection[str], other: Self) -> bool:
        """Test whether all fields but those of some names have the same values in another."""
        values, other_values = self.__dict__, other.__dict__
        return all(values[name] == other_values[name] for name in values if name not in names)

    def comparable(self, path: str) -> Any:
        """A field, or `metadata.<key>`, as filters compare it: times in seconds."""
        if path.startswith("metadata."):
            return value_at(self.metadata, path.removeprefix("metadata."))
        value = getattr(self, path)
        return value.timestamp() if isinstance(value, datetime) else value


BLANK = MemoryRecord("", "", "", created_at=datetime.min, updated_at=datetime.min)
"""A record with the defaults of all fields."""


@dataclass(frozen=True, repr=False)
class Link(Result):
    """A typed, weighted edge from one memory to another in the same namespace; weight in [0, 1]."""

    _shown = ("source", "type", "target", "weight")

    namespace: str
    source: str
    target: str
    type: str
    weight: float
    created_at: datetime

    @property
    def key(self) -> tuple[str, str, str]:
        """Source, target and type, by which a namespace tells its links."""
        return self.source, self.target, self.type


@dataclass(frozen=True)
class Draft:
    """A record about to be written, with its vectors by name (unit length, or empty).

    The `note` becomes part of the payload of its "write" event, or of the "edit" of a replacement.
    `known` are stored values that follow from its text, by name, as far as they are at hand.
    """

    record: MemoryRecord
    vectors: Mapping[str, Embedding]
    note: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    known: Mapping[str, Any] = field(default_factory=lambda: EMPTY, kw_only=True)


@dataclass(frozen=True)
class Edit(Draft):
    """A draft that takes the place of the memory of its id, which `was` so when it was read.

    The memory keeps each vector that the draft does not have and `stale` does not list.
    """

    was: MemoryRecord | None = None  # whatever it is
    stale: tuple[str, ...] = ()


def value_at(metadata: Mapping[str, Any], key: str) -> Any:
    """One value of metadata, lists as tuples; a dotted key goes into nested mappings."""
    value: Any = metadata
    if key in metadata:
        value = metadata[key]
    else:
        for part in key.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
    return tuple(value) if isinstance(value, list) else value


def recent(*times: Iterable[Time]) -> tuple[Time, ...]:
    """The `ACCESSES_KEPT` most recent access times of several series, newest first."""
    return tuple(sorted(chain(*times), reverse=True)[:ACCESSES_KEPT])


def new_id() -> str:
    """A random id of 32 hexadecimal digits."""
    return uuid.uuid4().hex
