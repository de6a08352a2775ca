"""The fields of a memory, declared once: records, filters, columns and schemas derive from here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from recollect.errors import InvalidInput

Type = Literal["text", "number", "time", "list", "json"]


@dataclass(frozen=True)
class Field:
    """One field: its type, whether its words are searched, whether it may change in place.

    `patchable` fields change without a new version of the memory: they carry no words, no vector
    and no place in a session.
    """

    name: str
    type: Type
    lexical: bool = False
    patchable: bool = False
    limit: int | None = None  # characters


_FIELDS = (
    Field("id", "text", limit=512),
    Field("content", "text", lexical=True, limit=1_000_000),
    Field("title", "text", lexical=True, limit=2_000),
    Field("kind", "text", limit=64),
    Field("speaker", "text", limit=256),
    Field("session_id", "text", limit=512),
    Field("agent_id", "text", limit=512),
    Field("user_id", "text", limit=512),
    Field("status", "text", limit=64, patchable=True),
    Field("tags", "list", lexical=True),
    Field("entities", "list", lexical=True),
    Field("metadata", "json", patchable=True),
    Field("importance", "number", patchable=True),
    Field("created_at", "time"),
    Field("updated_at", "time", patchable=True),
    Field("last_accessed", "time", patchable=True),
    Field("access_count", "number", patchable=True),
)
FIELDS: dict[str, Field] = {field.name: field for field in _FIELDS}
LEXICAL = tuple(field.name for field in _FIELDS if field.lexical)


def field_type(path: str) -> Type:
    """The type of a field, or of one key of the metadata written `metadata.<key>`.

    Raises:
        InvalidInput: no field has that name.
    """
    if path.startswith("metadata.") and len(path) > len("metadata."):
        return "json"
    if path in FIELDS and path != "metadata":
        return FIELDS[path].type
    raise InvalidInput(
        f"filters.{path}",
        "there is no such field",
        f"use one of {', '.join(sorted(set(FIELDS) - {'metadata'}))}, or metadata.<key>",
    )
