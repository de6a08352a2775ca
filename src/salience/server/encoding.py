"""Answers as bytes: encoded once, from the mappings that results give."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.responses import Response

from salience.display.result import to_json
from salience.records.record import MemoryRecord
from salience.search.listing import Page
from salience.search.results import SearchResult

JSON = "application/json"
NDJSON = "application/x-ndjson"

_NATIVE = (MemoryRecord, Page)
"""Results that the encoder writes by itself as their `to_dict` is: by their fields alone."""


def _hook(value: Any) -> Any:
    """A value that the encoder does not know: a mapping that cannot be changed, as metadata."""
    return dict(value) if isinstance(value, Mapping) else to_json(value)


_encode = msgspec.json.Encoder(enc_hook=_hook).encode


def encoded(value: Any) -> bytes:
    """The JSON of a result, or of a value that JSON has: the same as that of `to_dict`."""
    if isinstance(value, SearchResult):
        return _encode(value.values())
    if type(value) in _NATIVE or not hasattr(value, "to_dict"):
        return _encode(value)
    return _encode(value.to_dict())


def answer(value: Any, status: int = 200, etag: int | None = None) -> Response:
    """The response with the JSON of a value, and the version of a memory as its ETag."""
    headers = None if etag is None else {"ETag": f'"{etag}"'}
    return Response(encoded(value), status, headers, JSON)


async def large_answer(value: Any) -> Response:
    """`answer`, made in a thread: for results that may be long, so that the loop goes on."""
    return await asyncio.to_thread(answer, value)


def nothing() -> Response:
    """The response without a body, for what is done."""
    return Response(status_code=204)
