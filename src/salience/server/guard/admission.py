"""Admission: only so many operations of a kind run at once, and the others wait in turn."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from time import perf_counter
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from salience.server.guard.fair_queue import Slots, Turn, Waiter
from salience.server.guard.metrics import Metrics
from salience.server.guard.request import identity, operation_of, state
from salience.server.guard.settings import GuardSettings
from salience.server.problems import Problem, respond

_ID = re.compile(r"(?<=/memories/)[^/]+(?=/history/?$)")
_BUSY = Problem(
    "Busy",
    "too many requests wait for the server; ask again in a moment",
    headers=(("Retry-After", "1"),),
)


class Kind:
    """A kind of operations with slots of its own.

    A slot is held until the answer begins, or with `until_end` until it has ended, because such an
    answer is made while it is sent.
    """

    def __init__(self, name: str, slots: Slots, metrics: Metrics, until_end: bool) -> None:
        self.slots = slots
        self.until_end = until_end
        self._taken = metrics.slots(name)
        self._queue = metrics.queue(name)

    def measure(self) -> None:
        """Tell the metrics how many slots are taken and how many requests wait."""
        self._taken.set(self.slots.taken)
        self._queue.set(len(self.slots.queue))


class Admission:
    """Middleware that lets operations begin as slots become free, in turn between principals.

    Whoever waits too long, or finds the queue full, gets 503. A client that goes away while it
    waits leaves the queue.
    """

    def __init__(self, app: ASGIApp, settings: GuardSettings, metrics: Metrics) -> None:
        self.app = app
        self.queue_seconds = settings.queue_seconds
        heavy = Slots(settings.heavy_slots, settings.queue_length)
        long = Slots(settings.long_slots, settings.queue_length)
        self.kinds = {
            **_each(settings.heavy_operations, Kind("heavy", heavy, metrics, until_end=False)),
            **_each(settings.long_operations, Kind("long", long, metrics, until_end=True)),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        operation = _ID.sub("{id}", operation_of(scope))
        kind = self.kinds.get(operation)
        if kind is None:
            await self.app(scope, receive, send)
            return
        state(scope)["route"] = operation.partition(" ")[2]  # for a refusal
        name = identity(scope)
        waiter = kind.slots.enter(name)
        kind.measure()
        inbox = _Inbox(receive)
        try:
            if waiter is not None and not await self._wait(kind, name, waiter, inbox, scope, send):
                return
            await self._run(kind, name, scope, inbox.receive, send)
        finally:
            await inbox.close()

    async def _wait(
        self, kind: Kind, name: str, waiter: Waiter, inbox: _Inbox, scope: Scope, send: Send
    ) -> bool:
        """Wait for a slot; tell whether there is one. If not, the request is answered."""
        started = perf_counter()
        try:
            async with asyncio.timeout(self.queue_seconds):
                turn = await inbox.unless_gone(waiter)
        except TimeoutError:
            turn = Turn.QUEUE_FULL
        except BaseException:
            self._leave(kind, name, waiter)
            raise
        if turn is Turn.YOURS:
            state(scope)["counts"]["queued_ms"] = round((perf_counter() - started) * 1e3, 3)
            return True
        self._leave(kind, name, waiter)
        if turn is not None:
            await respond(scope, send, _BUSY)
        return False

    def _leave(self, kind: Kind, name: str, waiter: Waiter) -> None:
        kind.slots.leave(name, waiter)
        kind.measure()

    async def _run(self, kind: Kind, name: str, scope: Scope, receive: Receive, send: Send) -> None:
        is_held = True

        def release() -> None:
            nonlocal is_held
            if is_held:
                is_held = False
                kind.slots.release(name)
                kind.measure()

        async def released(message: Message) -> None:
            if not kind.until_end:
                release()
            await send(message)

        try:
            await self.app(scope, receive, released)
        finally:
            release()


class _Inbox:
    """The messages of a client, some of which may have come while nobody asked for them."""

    def __init__(self, receive: Receive) -> None:
        self._source = receive
        self._messages: deque[Message] = deque()
        self._pending: asyncio.Future[Message] | None = None

    async def receive(self) -> Message:
        if self._messages:
            return self._messages.popleft()
        if self._pending is not None:
            pending, self._pending = self._pending, None
            return await pending
        return await self._source()

    async def unless_gone(self, waiter: Waiter) -> Turn | None:
        """Wait for a turn; None if the client goes away before."""
        is_watching = True
        while not waiter.done():
            if is_watching and self._pending is None:
                self._pending = asyncio.ensure_future(self._source())
            watched: list[asyncio.Future[Any]] = [waiter]
            watched += [] if self._pending is None else [self._pending]
            await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
            if self._pending is not None and self._pending.done():
                message, self._pending = self._pending.result(), None
                self._messages.append(message)
                if message["type"] == "http.disconnect" and not waiter.done():
                    return None
                is_watching = not message.get("more_body", False)  # the rest is for the operation
        return waiter.result()

    async def close(self) -> None:
        """Stop listening."""
        if self._pending is not None:
            self._pending.cancel()
            with suppress(asyncio.CancelledError):
                await self._pending


def _each(operations: Iterable[str], kind: Kind) -> dict[str, Kind]:
    return dict.fromkeys(operations, kind)
