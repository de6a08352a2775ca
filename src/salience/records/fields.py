"""The fields of a memory, read off `MemoryRecord`; filters, columns and schemas use them."""

from __future__ import annotations

from salience.errors import InvalidInput
from salience.records.limits import Field, Type
from salience.records.record import MemoryRecord

FIELDS: dict[str, Field] = {
    name: annotation.__metadata__[0]
    for name, annotation in MemoryRecord.__annotations__.items()
    if name != "namespace"
}
LEXICAL = tuple(name for name, field in FIELDS.items() if field.lexical)
GRAPH = ("in_degree", "is_cut_vertex", "newest_link")  # columns derived from the links
CHUNK = "chunk"  # kinds of the memories that a chat is divided into
SESSION_CHUNK = "session_chunk"
TURN_CHUNK = "turn_chunk"
CHAT_CHUNKS = frozenset({SESSION_CHUNK, TURN_CHUNK})
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
