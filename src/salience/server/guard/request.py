"""Facts of a request, read from the scope that ASGI gives, and the parts around every answer."""

from __future__ import annotations

import asyncio
from ipaddress import IPv6Address, ip_address
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from salience.server.guard.settings import GuardSettings
from salience.server.problems import Problem, ProblemResponse, log_failure, request_id, respond

UNMATCHED = "unmatched"
_METHODS = frozenset(("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"))


def header(scope: Scope, name: bytes) -> bytes | None:
    """The first field of a name, which is given in lower case."""
    for key, value in scope["headers"]:
        if key == name:
            field: bytes = value
            return field
    return None


def header_values(scope: Scope, name: bytes) -> list[bytes]:
    """All fields of a name, which is given in lower case."""
    return [value for key, value in scope["headers"] if key == name]


def state(scope: Scope) -> dict[str, Any]:
    """The mapping that Starlette shows as `request.state`."""
    mapping: dict[str, Any] = scope.setdefault("state", {})
    return mapping


def path_of(scope: Scope) -> str:
    """The path below the place where the app is mounted."""
    path: str = scope["path"]
    root = scope.get("root_path", "")
    return path[len(root) :] if root and path.startswith(f"{root}/") else path


def operation_of(scope: Scope) -> str:
    """The method and the path, as "POST /v1/search"; HEAD counts as the GET that it runs."""
    method = "GET" if scope["method"] == "HEAD" else scope["method"]
    return f"{method} {path_of(scope)}"


def method_of(scope: Scope) -> str:
    """The method, or "other" for one that no operation has."""
    return scope["method"] if scope["method"] in _METHODS else "other"


def route_template(scope: Scope) -> str:
    """The path as the operation declares it, as "/v1/memories/{id}"; "unmatched" if none ran.

    The operation writes it into the state of the request: neither a log nor a metric may hold the
    path that was asked for.
    """
    template: str = state(scope).get("route", UNMATCHED)
    return template


def client_address(scope: Scope) -> str:
    """The address of the client, for limits; of IPv6 the network of its host, a /64."""
    client = scope.get("client")
    if not client:
        return "unknown"
    host: str = client[0]
    if ":" not in host:
        return host
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, IPv6Address) and address.ipv4_mapped is None:
        return f"{IPv6Address(int(address) >> 64 << 64)}/64"
    return host


def identity(scope: Scope) -> str:
    """The name under which limits count: the id of the key, else the address of the client."""
    principal = state(scope).get("principal")
    return f"address {client_address(scope)}" if principal is None else f"key {principal.key_id}"


# Errors that nothing else answered


class AnswerAborted(Exception):
    """An answer broke off after it had begun, so the connection must be closed."""


class AnswerFailures:
    """Middleware that answers an error by its problem, and logs it under the id of the request.

    The rest of an answer that has begun is not made up: the connection is closed instead, and the
    client sees that something is missing.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = complete = False

        async def watched(message: Message) -> None:
            nonlocal started, complete
            started = True
            complete = not (
                message["type"] == "http.response.start" or message.get("more_body", False)
            )
            await send(message)

        try:
            await self.app(scope, receive, watched)
        except ClientDisconnect:
            pass  # nobody waits for an answer
        except Exception as error:
            if not started:
                await ProblemResponse(error)(scope, receive, send)
                return
            log_failure(request_id(scope), error)
            if not complete:
                raise AnswerAborted(f"request {request_id(scope)}: see the log") from None


# Header fields of every answer, which tell browsers and caches to take no liberties with it

_ALWAYS = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_POLICY = b"content-security-policy"
_DATA_POLICY = (_POLICY, b"default-src 'none'; frame-ancestors 'none'")
_PAGE_POLICY = (_POLICY, b"frame-ancestors 'none'; base-uri 'none'; object-src 'none'")


class ResponseHeaders:
    """Middleware that adds these fields, except those that the answer has of its own."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def completed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = list(message.get("headers", ()))
                present = dict(headers)
                is_page = present.get(b"content-type", b"").startswith(b"text/html")
                added = (*_ALWAYS, _PAGE_POLICY if is_page else _DATA_POLICY)
                headers += [field for field in added if field[0] not in present]
                message["headers"] = headers
            await send(message)

        await self.app(scope, receive, completed)


# Requests in flight: counted, so that a server stops when the last of them is answered

_STOPPING = Problem(
    "Stopping",
    "the server is stopping; ask again, it or another will answer",
    headers=(("Retry-After", "1"), ("Connection", "close")),
)


STOPPING = "is_stopping"
"""The state of a request that a server which is to stop still answers."""


class InFlight:
    """The number of requests in flight; refuses new ones while it drains."""

    def __init__(self) -> None:
        self.count = 0
        self.is_draining = False
        self._none_left = asyncio.Event()

    def __enter__(self) -> None:
        self.count += 1

    def __exit__(self, *error: object) -> None:
        self.count -= 1
        if not self.count:
            self._none_left.set()

    async def drain(self, seconds: float) -> int:
        """Refuse new requests, wait for the others; the number of those still not answered."""
        self.is_draining = True
        if self.count:
            self._none_left.clear()
            try:
                async with asyncio.timeout(seconds):
                    await self._none_left.wait()
            except TimeoutError:
                return self.count
        return 0


class CountInFlight:
    """Middleware that counts requests, and answers 503 from when the drain began."""

    def __init__(self, app: ASGIApp, in_flight: InFlight) -> None:
        self.app = app
        self.in_flight = in_flight

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.in_flight.is_draining:
            await respond(scope, send, _STOPPING)
            return
        with self.in_flight:
            await self.app(scope, receive, send)


# Time limits of operations

_LATE = Problem(
    "TimeLimit",
    "the answer took too long and was given up; a write that was committed by then stays",
    headers=(("Retry-After", "5"),),
)


class TimeLimit:
    """Middleware that gives up an operation whose answer does not begin in time (503).

    The answer of a long operation has to end in time; the connection is closed on one that has
    begun and does not.
    """

    def __init__(self, app: ASGIApp, settings: GuardSettings) -> None:
        self.app = app
        self.seconds = settings.handling_seconds
        self.long_seconds = settings.long_seconds
        self.long_operations = frozenset(settings.long_operations)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_long = operation_of(scope) in self.long_operations
        is_begun = False

        async def timed(message: Message) -> None:
            nonlocal is_begun
            if not is_begun:
                is_begun = True
                if not is_long and not limit.expired():
                    limit.reschedule(None)
            await send(message)

        try:
            async with asyncio.timeout(self.long_seconds if is_long else self.seconds) as limit:
                await self.app(scope, receive, timed)
        except TimeoutError:
            if is_begun or not limit.expired():
                raise
            await respond(scope, send, _LATE)
