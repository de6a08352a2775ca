"""Answers as bytes: encoded once, from the mappings that results give."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.responses import Response

JSON = "application/json"
NDJSON = "application/x-ndjson"

_encode = msgspec.json.Encoder().encode


def encoded(value: Any) -> bytes:
    """The JSON of a result, or of a value that JSON has."""
    return _encode(value.to_dict() if hasattr(value, "to_dict") else value)


def answer(value: Any, status: int = 200, etag: int | None = None) -> Response:
    """The response with the JSON of a value, and the version of a memory as its ETag."""
    headers = None if etag is None else {"ETag": f'"{etag}"'}
    return Response(encoded(value), status, headers, JSON)


def nothing() -> Response:
    """The response without a body, for what is done."""
    return Response(status_code=204)
