"""The id and the trace of a request, and its line in the log: JSON without any text."""

from __future__ import annotations

import logging
import re
from datetime import UTC, datetime
from secrets import token_hex
from time import perf_counter
from typing import Any

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from salience.server.guard.request import header, method_of, route_template, state

_log = logging.getLogger("salience.server")
_ID = re.compile(rb"[A-Za-z0-9._\-]{1,128}")
_TRACEPARENT = re.compile(rb"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-..")
_CLOSED_BY_CLIENT = 499  # the usual number for an answer that nobody waits for


class RequestLog:
    """Middleware that gives each request an id, answers it as `X-Request-Id`, and logs the request.

    An id of the client is taken if it has at most 128 letters, digits, dots, dashes and underlines.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = perf_counter()
        id = _id(header(scope, b"x-request-id"))
        request_state = state(scope)
        request_state |= {
            "request_id": id,
            "trace_id": _trace(header(scope, b"traceparent")),
            "principal": None,
            "denied": None,
            "idempotency_key": None,
            "counts": {},
        }
        status, bytes_in, bytes_out = _CLOSED_BY_CLIENT, 0, 0

        async def counted_receive() -> Message:
            nonlocal bytes_in
            message = await receive()
            bytes_in += len(message.get("body", b""))
            return message

        async def counted_send(message: Message) -> None:
            nonlocal status, bytes_out
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", id.encode())]
            else:
                bytes_out += len(message.get("body", b""))
            await send(message)

        try:
            await self.app(scope, counted_receive, counted_send)
        finally:
            if _log.isEnabledFor(logging.INFO):
                milliseconds = (perf_counter() - started) * 1e3
                _log.info("%s", _line(scope, status, milliseconds, bytes_in, bytes_out))


def _line(scope: Scope, status: int, milliseconds: float, bytes_in: int, bytes_out: int) -> str:
    request_state = scope["state"]
    principal, denied = request_state["principal"], request_state["denied"]
    owner = principal or denied
    line: dict[str, Any] = {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "request_id": request_state["request_id"],
        "trace_id": request_state["trace_id"],
        "key": None if owner is None else owner.key_id,
        "denied": None if denied is None else denied.reason,
        "method": method_of(scope),
        "route": route_template(scope),
        "status": status,
        "ms": round(milliseconds, 3),
        "bytes_in": bytes_in,
        "bytes_out": bytes_out,
        "counts": {
            name: count
            for name, count in request_state["counts"].items()
            if isinstance(count, (int, float))  # never a text
        },
    }
    return msgspec.json.encode(line).decode()


def _id(field: bytes | None) -> str:
    if field is not None and _ID.fullmatch(field):
        return field.decode()
    return token_hex(16)


def _trace(field: bytes | None) -> str | None:
    form = None if field is None else _TRACEPARENT.match(field)
    return None if form is None else form[1].decode()
