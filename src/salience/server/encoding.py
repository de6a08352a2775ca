"""Answers as bytes: encoded once, from the mappings that results give."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Self

import msgspec
from starlette.datastructures import QueryParams
from starlette.responses import Response

from salience.display.result import to_json
from salience.errors import InvalidInput, shown
from salience.lazily import dataclass
from salience.records.record import MemoryRecord
from salience.search.listing import Page
from salience.search.results import ALWAYS_GIVEN, GIVEN_IF_ANY, SearchResult

JSON = "application/json"
NDJSON = "application/x-ndjson"
EVENTS = "text/event-stream"

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


IS_ONE = frozenset({"id", "content"})
"""The members by which a memory or a hit is told from other objects."""
OF_ONE = tuple(sorted({*ALWAYS_GIVEN, *GIVEN_IF_ANY}))
"""The names that `fields` of an answer may have."""


@dataclass(frozen=True)
class Wanted:
    """The parts of an answer that a request wants, by the parameters `fields` and `nulls`.

    `fields` are those of memories and hits, besides their id; empty for all.
    """

    fields: frozenset[str] = frozenset()
    nulls: bool = True

    @classmethod
    def of(cls, query: QueryParams) -> Self:
        """The wishes of a query.

        Raises:
            InvalidInput: there is no such field, `nulls` is neither true nor false, or one of them
                is there twice.
        """
        for wish in cls.__annotations__:
            if len(query.getlist(wish)) > 1:
                raise InvalidInput(wish, "is there twice", "give it once")
        names = frozenset(name.strip() for name in query.get("fields", "").split(",")) - {""}
        if unknown := names - {*OF_ONE}:
            remedy = f"use some of {', '.join(OF_ONE)}, with commas between them"
            raise InvalidInput("fields", f"has no {shown(min(unknown))}", remedy)
        if query.get("nulls", "true") not in ("true", "false"):
            raise InvalidInput("nulls", f"is {shown(query['nulls'])}", "use true or false")
        return cls(names, query.get("nulls") != "false")

    def cut(self, response: Response) -> Response:
        """An answer with the wanted fields alone."""
        if (not self.fields and self.nulls) or response.media_type != JSON:
            return response
        response.body = _encode(self._cut(msgspec.json.decode(response.body)))
        response.headers["Content-Length"] = str(len(response.body))
        return response

    def _cut(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._cut(item) for item in value]
        if not isinstance(value, dict):
            return value
        if self.fields and value.keys() >= IS_ONE:
            value = {name: value[name] for name in value if name in self.fields or name == "id"}
        return {
            name: self._cut(item) for name, item in value.items() if self.nulls or item is not None
        }


def nothing() -> Response:
    """The response without a body, for a call that is done."""
    return Response(status_code=204)
