"""Records: a memory, a link between two, and the outcomes of a write."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from salience.records.fields import ACCESSES_KEPT, FIELDS

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
)
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)  # without slots, which take a search's records long to fill
class MemoryRecord:
    """One memory as stored. Times are aware datetimes in UTC; a missing value is None.

    `accesses` are the most recent access times, newest first; being written counts as the first
    access there, but not in `access_count`, which counts how often it was retrieved.
    """

    id: str
    namespace: str
    content: str
    created_at: datetime
    updated_at: datetime
    kind: str = "note"
    title: str | None = None
    speaker: str | None = None
    session_id: str | None = None
    agent_id: str | None = None
    user_id: str | None = None
    status: str = "active"
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    gist: str | None = None
    tier: str | None = None
    memory_nature: str | None = None
    content_type: str | None = None
    layer: str | None = None
    importance: float | None = None
    relevance_score: float | None = None
    memory_score: float | None = None
    confidence: float | None = None
    strength: float | None = None
    decayed_at: datetime | None = None
    decay_rate: float | None = None
    feedback_for: float | None = None
    feedback_against: float | None = None
    review: str | None = None
    pinned: float | None = None
    boost: float | None = None
    boosted_at: datetime | None = None
    expires_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    last_accessed: datetime | None = None
    access_count: int = 0
    accesses: tuple[datetime, ...] = ()

    @classmethod
    def holding(cls, values: dict[str, Any]) -> MemoryRecord:
        """The record of a value for every field, which it takes over as they are."""
        record = object.__new__(cls)
        object.__setattr__(record, "__dict__", values)
        return record

    def naming(self, entities: tuple[str, ...]) -> MemoryRecord:
        """The same memory with other entities."""
        return self.holding({**self.__dict__, "entities": entities})

    def same_but(self, names: Collection[str], other: MemoryRecord) -> bool:
        """Whether all fields but those named have the same values in another record."""
        mine, its = self.__dict__, other.__dict__
        return all(mine[name] == its[name] for name in FIELDS if name not in names)

    def comparable(self, path: str) -> Any:
        """A field, or `metadata.<key>`, as filters compare it: times in seconds."""
        if path.startswith("metadata."):
            return value_at(self.metadata, path.removeprefix("metadata."))
        value = getattr(self, path)
        return value.timestamp() if isinstance(value, datetime) else value

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping: every field by name, times in ISO 8601."""
        return {name: to_json(getattr(self, name)) for name in ("namespace", *FIELDS)}


BLANK = MemoryRecord("", "", "", datetime.min, datetime.min)
"""What a record has where nothing is given."""


@dataclass(frozen=True, slots=True)
class Link:
    """A typed, weighted edge from one memory to another in the same namespace; weight in [0, 1]."""

    namespace: str
    source: str
    target: str
    type: str
    weight: float
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Draft:
    """A record about to be written, with its vectors by name (unit length, or empty).

    The `note` goes into the event of its being written.
    """

    record: MemoryRecord
    vectors: Mapping[str, Embedding]
    note: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)


def value_at(metadata: Mapping[str, Any], key: str) -> Any:
    """One value of metadata, lists as tuples; a dotted key goes into nested mappings."""
    found: Any = metadata
    if key in metadata:
        found = metadata[key]
    else:
        for part in key.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
    return tuple(found) if isinstance(found, list) else found


def to_json(value: Any) -> Any:
    """A value as JSON has it: times in ISO 8601, tuples as lists, NumPy's numbers as Python's."""
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple):
        return [to_json(item) for item in value]
    if isinstance(value, Mapping):
        return dict(value)
    return value


def recent(*times: Iterable[Time]) -> tuple[Time, ...]:
    """The most recent access times out of several series, newest first."""
    return tuple(sorted(chain(*times), reverse=True)[:ACCESSES_KEPT])


def new_id() -> str:
    """A random id of 32 hexadecimal digits."""
    return uuid.uuid4().hex
