"""Addresses of memories: those of resources, and those that a reader may follow."""

from __future__ import annotations

from urllib.parse import quote, unquote

from salience.display.for_models import one_line
from salience.records.record import MemoryRecord

PROFILE = "salience://profile"
_MEMORY = "salience://memory/"
TEMPLATE = f"{_MEMORY}{{id}}"
_WEB = ("https://", "http://")


def uri_of(id: str) -> str:
    """The address of the resource of a memory."""
    return _MEMORY + quote(id, safe="")


def id_of(uri: str) -> str | None:
    """The id in the address of a memory; None if it is none."""
    start, sign, rest = uri.partition(_MEMORY)
    return unquote(rest) if sign and not start and rest else None


def address_of(record: MemoryRecord) -> str:
    """The page that a memory comes from, if its source is one, else the address of its resource."""
    source = record.metadata.get("source")
    if isinstance(source, str) and source.startswith(_WEB):
        return one_line(source, 2_000)
    return uri_of(record.id)
