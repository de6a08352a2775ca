"""Idempotency keys: a change that is sent again gets the answer of the first, and does nothing.

Answers quote memories. So those of reads are not kept, and an erasure drops those of its namespace
before it is answered, with those of requests that are running at that moment.
"""

from __future__ import annotations

import re
from hashlib import sha256

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from salience.server.guard.answers import Answer, KeptAnswers, KeptRequest
from salience.server.guard.body import UPLOADS, after
from salience.server.guard.request import (
    header,
    header_values,
    identity,
    operation_of,
    route_template,
    state,
)
from salience.server.problems import FieldProblem, Problem, respond

MAX_ANSWER_BYTES = 1 << 20
_KEY = re.compile(r"[\x21-\x7e]{1,255}")
_METHODS = frozenset(("POST", "PATCH", "DELETE"))
_RUNNING = Problem(
    "RequestInProgress",
    "the first request of this idempotency key is still running; ask again in a moment",
    headers=(("Retry-After", "1"),),
)
_NOT_KEPT = Problem(
    "RequestInProgress",
    "the first request of this idempotency key was done, and its answer is not kept: it was too "
    "large, or something was erased since",
)
_FIELD = "Idempotency-Key"
_REPLAYED = (b"idempotency-replayed", b"true")


class Idempotency:
    """Middleware that answers a repeated change as the first, with `Idempotency-Replayed: true`.

    A key counts for its principal, namespace and path. The same key with another body is refused
    (422), and so is one whose first request is still running (409). A refusal is not kept, as its
    cause may be gone next time, and neither is the answer of a read or one with a secret: the
    request is done again. That another version was there (412) stays so.
    """

    def __init__(self, app: ASGIApp, answers: KeptAnswers) -> None:
        self.app = app
        self.answers = answers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        keys = header_values(scope, b"idempotency-key")
        if not keys or scope["method"] not in _METHODS:
            await self.app(scope, receive, self._dropping(None, scope, send))
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
        named = header(scope, b"salience-namespace")
        namespace = "" if named is None else f"={named.decode('latin-1')}"
        name = "\n".join((identity(scope), namespace, operation_of(scope), key))
        whole = (scope["query_string"], header(scope, b"if-match") or b"", message.get("body", b""))
        fingerprint = sha256(b"\n".join(whole)).digest()
        first = await self.answers.begin(name, fingerprint)
        if first is None:
            sending = self._dropping(name, scope, send)
            await self._run(name, scope, after(message, receive), sending)
        else:
            await _repeat(first, fingerprint, scope, send)

    def _dropping(self, own: str | None, scope: Scope, send: Send) -> Send:
        """Send messages on, after dropping the answers that quote what a request has erased.

        Its `own` answer, by the name of the request, is a receipt, and stays.
        """

        async def dropping(message: Message) -> None:
            if message["type"] == "http.response.start" and "erased_in" in state(scope):
                await self.answers.drop_answers(state(scope)["erased_in"], own)
            await send(message)

        return dropping

    async def _run(self, name: str, scope: Scope, receive: Receive, send: Send) -> None:
        recording = _Recording(self.answers, name, scope, send)
        try:
            await self.app(scope, receive, recording.send)
        finally:
            if not recording.is_kept:
                await self.answers.abandon(name)


class _Recording:
    """An answer that is kept before its last part is sent."""

    def __init__(self, answers: KeptAnswers, name: str, scope: Scope, send: Send) -> None:
        self.is_kept = False
        self._scope = scope
        self._answers = answers
        self._name = name
        self._send = send
        self._start: Message = {}
        self._body = bytearray()
        self._is_too_large = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            # A copy: whoever sends it on adds fields that belong to this one answer.
            self._start = {**message, "headers": tuple(message.get("headers", ()))}
        elif not self._is_too_large:
            self._body += message.get("body", b"")
            if len(self._body) > MAX_ANSWER_BYTES:
                self._is_too_large = True
                self._body.clear()
        is_last = message["type"] != "http.response.start" and not message.get("more_body", False)
        is_final = self._start["status"] < 400 or self._start["status"] == 412
        facts = state(self._scope)
        if is_last and is_final and not facts.get("keeps_nothing"):
            status, headers = self._start["status"], self._start["headers"]
            place = (route_template(self._scope), facts.get("namespace", ""))
            answer = Answer(status, headers, bytes(self._body), *place)
            await self._answers.finish(self._name, None if self._is_too_large else answer)
            self.is_kept = True
        await self._send(message)


async def _repeat(first: KeptRequest, fingerprint: bytes, scope: Scope, send: Send) -> None:
    if first.fingerprint != fingerprint:
        await respond(scope, send, key_reused())
    elif not first.is_done:
        await respond(scope, send, _RUNNING)
    elif first.answer is None:
        await respond(scope, send, _NOT_KEPT)
    else:
        state(scope)["route"] = first.answer.route
        headers = [field for field in first.answer.headers if field[0] != _REPLAYED[0]]
        headers.append(_REPLAYED)
        status = first.answer.status
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": first.answer.body})


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
