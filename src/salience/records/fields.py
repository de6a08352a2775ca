"""The fields of a memory, declared once: records, filters, columns and schemas derive from here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from salience.errors import InvalidInput

Type = Literal["text", "number", "time", "list", "json", "times"]
GRAPH = ("in_degree", "is_cut_vertex", "newest_link")  # columns that the links tell
ACCESSES_KEPT = 10  # times of the most recent accesses, newest first

STATUSES = (
    "active", "superseded", "contradicted", "archived", "consolidated", "completed", "deleted",
)  # fmt: skip


@dataclass(frozen=True)
class Field:
    """One field: its type, whether its words are searched, whether it may change in place.

    `patchable` fields change without a new version of the memory: they carry no words, no vector
    and no place in a session. A number is at least 0.
    """

    name: str
    type: Type
    lexical: bool = False
    patchable: bool = False
    limit: int | None = None  # characters
    choices: tuple[str, ...] = ()  # the only texts allowed, where there are some
    most: float | None = None  # the largest number allowed


_FIELDS = (
    Field("id", "text", limit=512),
    Field("content", "text", lexical=True, limit=1_000_000),
    Field("title", "text", lexical=True, limit=2_000),
    Field("gist", "text", lexical=True, limit=10_000),
    Field("kind", "text", limit=64),
    Field("speaker", "text", limit=256),
    Field("session_id", "text", limit=512),
    Field("agent_id", "text", limit=512),
    Field("user_id", "text", limit=512),
    Field("status", "text", patchable=True, choices=STATUSES),
    Field("tags", "list", lexical=True),
    Field("entities", "list", lexical=True),
    Field("metadata", "json", patchable=True),
    Field("tier", "text", patchable=True, choices=("short", "medium", "long")),
    Field("memory_nature", "text", patchable=True, choices=("episodic", "semantic")),
    Field(
        "content_type",
        "text",
        patchable=True,
        choices=("text", "conversation", "document", "event", "fact"),
    ),
    Field("layer", "text", patchable=True, choices=("episodic", "knowledge", "activity", "entity")),
    Field("importance", "number", patchable=True, most=1.0),
    Field("relevance_score", "number", patchable=True, most=1.0),
    Field("memory_score", "number", patchable=True, most=1.0),
    Field("confidence", "number", patchable=True, most=1.0),
    Field("strength", "number", patchable=True, most=1.0),
    Field("decayed_at", "time", patchable=True),  # when strength last decayed
    Field("decay_rate", "number", patchable=True),  # per hour
    Field("feedback_for", "number", patchable=True),  # sum of the weights of positive feedback
    Field("feedback_against", "number", patchable=True),
    Field("review", "text", patchable=True, choices=("outdated", "incorrect")),
    Field("pinned", "number", patchable=True, most=1.0),  # 1 keeps it from being archived
    Field("boost", "number", patchable=True, most=1.0),  # as it was at boosted_at
    Field("boosted_at", "time", patchable=True),
    Field("expires_at", "time", patchable=True),
    Field("valid_from", "time", patchable=True),  # of what is said, not of the memory
    Field("valid_to", "time", patchable=True),
    Field("created_at", "time"),
    Field("updated_at", "time", patchable=True),
    Field("last_accessed", "time", patchable=True),
    Field("access_count", "number", patchable=True),
    Field("accesses", "times", patchable=True),
)
FIELDS: dict[str, Field] = {field.name: field for field in _FIELDS}
LEXICAL = tuple(field.name for field in _FIELDS if field.lexical)
_UNFILTERED = {"metadata", "accesses"}


def field_type(path: str) -> Type:
    """The type of a field, or of one key of the metadata written `metadata.<key>`.

    Raises:
        InvalidInput: no field has that name.
    """
    if path.startswith("metadata.") and len(path) > len("metadata."):
        return "json"
    if path in FIELDS and path not in _UNFILTERED:
        return FIELDS[path].type
    raise InvalidInput(
        f"filters.{path}",
        "there is no such field",
        f"use one of {', '.join(sorted(set(FIELDS) - _UNFILTERED))}, or metadata.<key>",
    )


SESSION_CHUNK = "session_chunk"
TURN_CHUNK = "turn_chunk"
