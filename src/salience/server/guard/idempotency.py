"""Idempotency keys: which there may be, and what is asked while the first request still runs.

That a change was made is told by the store: see `salience.write.idempotency`.
"""

from __future__ import annotations

import re
from hashlib import sha256

from starlette.types import ASGIApp, Receive, Scope, Send

from salience.server.guard.body import UPLOADS, after
from salience.server.guard.request import header, header_values, identity, operation_of, state
from salience.server.problems import FieldProblem, Problem, respond

_KEY = re.compile(r"[\x21-\x7e]{1,255}")
_METHODS = frozenset(("POST", "PATCH", "DELETE"))
_RUNNING = Problem(
    "RequestInProgress",
    "the first request of this idempotency key is still running; ask again in a moment",
    headers=(("Retry-After", "1"),),
)
_FIELD = "Idempotency-Key"


class Idempotency:
    """Middleware that passes the key of a change on, one request of each at a time.

    A key counts for its principal, namespace and path. While a request runs, another one with its
    key is refused: 409, or 422 if it has another body.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._running: dict[str, bytes] = {}  # the hash of each request, by its name

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        keys = header_values(scope, b"idempotency-key")
        if not keys or scope["method"] not in _METHODS:
            await self.app(scope, receive, send)
            return
        key = _parse(keys)
        if isinstance(key, Problem):
            await respond(scope, send, key)
            return
        if operation_of(scope) in UPLOADS:
            await respond(scope, send, _refused("is not taken with an upload", "leave it out"))
            return
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        state(scope)["idempotency_key"] = key
        field = header(scope, b"salience-namespace")
        namespace = "" if field is None else f"={field.decode('latin-1')}"
        name = "\n".join((identity(scope), namespace, operation_of(scope), key))
        parts = (scope["query_string"], header(scope, b"if-match") or b"", message.get("body", b""))
        fingerprint = sha256(b"\n".join(parts)).digest()
        first = self._running.setdefault(name, fingerprint)
        if first is not fingerprint:
            await respond(scope, send, _RUNNING if first == fingerprint else key_reused())
            return
        try:
            await self.app(scope, after(message, receive), send)
        finally:
            del self._running[name]


def _parse(fields: list[bytes]) -> str | Problem:
    """The key, which may be in quotes, as the draft of the IETF has it."""
    key = fields[0].decode("latin-1").strip()
    if len(key) > 1 and key[0] == key[-1] == '"':
        key = key[1:-1]
    if len(fields) > 1 or not _KEY.fullmatch(key):
        return _refused("is no single key", "give up to 255 visible ASCII characters, no space")
    return key


def key_reused() -> Problem:
    """The problem of a key that comes with another request than before."""
    return _refused("belongs to another request", "make a new key", "KeyReused")


def _refused(problem: str, remedy: str, code: str = "InvalidRequest") -> Problem:
    detail = f"{_FIELD}: {problem}; {remedy}"
    return Problem(code, detail, (FieldProblem(_FIELD, problem, remedy),))
