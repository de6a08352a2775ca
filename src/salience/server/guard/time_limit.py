"""Time limits of operations."""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from salience.server.guard.request import operation_of
from salience.server.guard.settings import GuardSettings
from salience.server.problems import Problem, respond

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
