"""Requests in flight: counted, so that a server stops when the last of them is answered."""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Receive, Scope, Send

from salience.server.problems import Problem, respond

_STOPPING = Problem(
    "Stopping",
    "the server is stopping; ask again, it or another will answer",
    headers=(("Retry-After", "1"), ("Connection", "close")),
)


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
