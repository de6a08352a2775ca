"""Bodies: their type, size, depth and time of arrival."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import numpy as np
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from salience.server.guard.request import header, header_values, operation_of
from salience.server.guard.settings import GuardSettings
from salience.server.problems import FieldProblem, Problem, respond

UPLOADS = frozenset(("POST /v1/load",))
"""The operations whose body is lines of JSON, which are passed on as they arrive."""

JSON = "application/json"
LINES = "application/x-ndjson"

_LINGER_SECONDS = 1.0
_CLOSE = ("Connection", "close")
_METHODS_WITH_BODY = frozenset(("POST", "PUT", "PATCH", "DELETE"))
_ENCODED = Problem(
    "UnsupportedMediaType",
    "a body with a Content-Encoding is not taken; send it as it is",
    headers=(("Accept-Encoding", "identity"), _CLOSE),
)
_BAD_LENGTH = Problem(
    "InvalidRequest", "Content-Length has to be one whole number", headers=(_CLOSE,)
)
_LATE = Problem(
    "BodyTimeout", "the body did not arrive in time; send it again, faster", headers=(_CLOSE,)
)
_TOO_DEEP = Problem(
    "InvalidInput",
    "the body is nested too deep",
    (FieldProblem("body", "is nested too deep", "send fewer levels of lists and objects", "#"),),
)
_BRACKETS = b"[]{}"
_STEPS = bytes.maketrans(_BRACKETS, bytes((1, 255, 1, 255)))  # as int8: one down, one up
_NO_BRACKETS = bytes(set(range(256)) - set(_BRACKETS))


def json_depth(body: bytes) -> int:
    """The deepest nesting of lists and objects in JSON text, without reading the rest of it."""
    unescaped = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    outside = b"".join(unescaped.split(b'"')[::2])
    steps = np.frombuffer(outside.translate(_STEPS, _NO_BRACKETS), dtype=np.int8)
    return max(0, int(np.cumsum(steps, dtype=np.int64).max(initial=0)))


class CheckBody:
    """Middleware that refuses bodies before anything reads them.

    The body of an upload is counted while it streams; every other is passed on once it is whole.
    """

    def __init__(self, app: ASGIApp, settings: GuardSettings) -> None:
        self.app = app
        self.settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        lengths = header_values(scope, b"content-length")
        is_declared = header(scope, b"transfer-encoding") is not None or lengths not in ([], [b"0"])
        if not is_declared and scope["method"] not in _METHODS_WITH_BODY:
            await self.app(scope, receive, send)
            return
        is_upload = operation_of(scope) in UPLOADS
        limit = self.settings.import_bytes if is_upload else self.settings.body_bytes
        refusal = _refusal(scope, lengths, limit)
        if refusal is None and (is_declared or is_upload):
            refusal = _wrong_type(scope, LINES if is_upload else JSON)
        arrival = _Arrival(receive, limit, self.settings.body_seconds, each_part=is_upload)
        if refusal is not None:
            await _refuse(refusal, arrival, scope, receive, send)
        elif is_upload:
            await self._pass_stream(arrival, scope, receive, send)
        else:
            await self._pass_whole(arrival, scope, receive, send)

    async def _pass_whole(
        self, arrival: _Arrival, scope: Scope, receive: Receive, send: Send
    ) -> None:
        parts: list[bytes] = []
        while not arrival.is_complete:
            message = await arrival.receive()
            if message["type"] == "http.disconnect":
                if arrival.refusal is not None:
                    await _refuse(arrival.refusal, arrival, scope, receive, send)
                return
            parts.append(message.get("body", b""))
        body = parts[0] if len(parts) == 1 else b"".join(parts)
        refusal = _wrong_type(scope, JSON) if body else None
        if refusal is None and json_depth(body) > self.settings.json_depth:
            refusal = _TOO_DEEP
        if refusal is not None:
            await respond(scope, send, refusal)
            return
        complete: Message = {"type": "http.request", "body": body, "more_body": False}
        await self.app(scope, after(complete, receive), send)

    async def _pass_stream(
        self, arrival: _Arrival, scope: Scope, receive: Receive, send: Send
    ) -> None:
        is_begun = False

        async def sent(message: Message) -> None:
            nonlocal is_begun
            if arrival.refusal is None:
                is_begun = True
                await send(message)

        try:
            await self.app(scope, arrival.receive, sent)
        except Exception:
            if arrival.refusal is None:
                raise
        if arrival.refusal is not None and not is_begun:
            await _refuse(arrival.refusal, arrival, scope, receive, send)


class _Arrival:
    """A body that is counted while it arrives, in a time for all of it or for each part.

    Once it is refused, its reader is told that the client has gone.
    """

    def __init__(self, receive: Receive, limit: int, seconds: float, each_part: bool) -> None:
        self.refusal: Problem | None = None
        self.is_complete = False
        self._receive = receive
        self._limit = limit
        self._seconds = seconds
        self._each_part = each_part
        self._size = 0
        self._deadline: float | None = None

    async def receive(self) -> Message:
        if self.refusal is not None:
            return {"type": "http.disconnect"}
        if self.is_complete:
            return await self._receive()  # waits for the client to go
        if self._deadline is None or self._each_part:
            self._deadline = asyncio.get_running_loop().time() + self._seconds
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
        except TimeoutError:
            self.refusal = _LATE
            return {"type": "http.disconnect"}
        self._size += len(message.get("body", b""))
        self.is_complete = not message.get("more_body", False)
        if self._size > self._limit:
            self.refusal = _too_large(self._limit)
            return {"type": "http.disconnect"}
        return message


def after(message: Message, receive: Receive) -> Receive:
    """Give a message, and then those of another source."""
    first: Message | None = message

    async def messages() -> Message:
        nonlocal first
        if first is None:
            return await receive()
        current, first = first, None
        return current

    return messages


def _refusal(scope: Scope, lengths: list[bytes], limit: int) -> Problem | None:
    """The problem of what the header fields say of a body."""
    if len(lengths) > 1 or not all(length.isdigit() for length in lengths):
        return _BAD_LENGTH
    if (header(scope, b"content-encoding") or b"identity").lower() != b"identity":
        return _ENCODED
    return _too_large(limit) if lengths and int(lengths[0]) > limit else None


def _wrong_type(scope: Scope, expected: str) -> Problem | None:
    field = (header(scope, b"content-type") or b"").decode("latin-1").lower()
    kind, _, parameters = field.partition(";")
    charset = parameters.replace(" ", "").replace('"', "")
    if kind.strip() == expected and charset in ("", "charset=utf-8"):
        return None
    detail = f"the body has to be {expected} in UTF-8, and Content-Type has to say so"
    return Problem("UnsupportedMediaType", detail, headers=(("Accept", expected), _CLOSE))


def _too_large(limit: int) -> Problem:
    detail = f"the body has more than {limit:,} bytes; send it in parts"
    return Problem("BodyTooLarge", detail, headers=(_CLOSE,))


async def _refuse(
    problem: Problem, arrival: _Arrival, scope: Scope, receive: Receive, send: Send
) -> None:
    """Answer, and read on for a moment before the connection is closed.

    A connection that is closed while its client still sends loses the answer on the way.
    """
    if arrival.is_complete:
        await respond(scope, send, problem)
        return

    async def unfinished(message: Message) -> None:
        is_body = message["type"] == "http.response.body"
        await send({**message, "more_body": True} if is_body else message)

    await respond(scope, unfinished, problem)
    with suppress(TimeoutError):
        async with asyncio.timeout(_LINGER_SECONDS):
            while (await receive()).get("more_body", False):
                pass
    await send({"type": "http.response.body", "body": b""})
