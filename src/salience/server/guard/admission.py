"""Admission: a limited number of operations of a kind run at once; the others wait in turn."""

from __future__ import annotations

import asyncio
import re
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from time import perf_counter
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from salience.server.guard.request import identity, operation_of, state
from salience.server.guard.settings import GuardSettings
from salience.server.guard.telemetry import Metrics
from salience.server.problems import Problem, respond

_ID = re.compile(r"(?<=/memories/)[^/]+(?=/history/?$)")
_HITS_OF_A_SLOT = 500  # this many more take about as long as another request
_HITS_OF_AN_EXPLANATION = 30  # take as long as one
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
        inbox = _Inbox(receive)
        cost = 1 if kind.until_end else await _cost(scope, inbox)
        waiter = kind.slots.enter(name, cost)
        kind.measure()
        try:
            is_given = waiter.done() and waiter.result() > 0
            if not is_given and not await self._wait(kind, name, waiter, inbox, scope, send):
                return
            await self._run(kind, name, waiter, scope, inbox.receive, send)
        finally:
            await inbox.close()

    async def _wait(
        self, kind: Kind, name: str, waiter: Waiter, inbox: _Inbox, scope: Scope, send: Send
    ) -> bool:
        """Wait for a slot; True if there is one. If not, the request is answered."""
        started = perf_counter()
        try:
            async with asyncio.timeout(self.queue_seconds):
                slots = await inbox.unless_gone(waiter)
        except TimeoutError:
            slots = 0
        except BaseException:
            self._leave(kind, name, waiter)
            raise
        if slots:
            state(scope)["counts"]["queued_ms"] = round((perf_counter() - started) * 1e3, 3)
            return True
        self._leave(kind, name, waiter)
        if slots is not None:
            await respond(scope, send, _BUSY)
        return False

    def _leave(self, kind: Kind, name: str, waiter: Waiter) -> None:
        kind.slots.leave(name, waiter)
        kind.measure()

    async def _run(
        self, kind: Kind, name: str, waiter: Waiter, scope: Scope, receive: Receive, send: Send
    ) -> None:
        is_held = True

        def release() -> None:
            nonlocal is_held
            if is_held:
                is_held = False
                kind.slots.release(name, waiter)
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
    """The messages of a client; some may have come before anybody read them."""

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

    async def peek(self) -> bytes:
        """The first part of the body, which stays the first to be received."""
        self._messages.append(await self.receive())
        return self._messages[-1].get("body", b"")

    async def unless_gone(self, waiter: Waiter) -> int | None:
        """Wait for slots, and return their number; None if the client goes away before."""
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


_LONG = 10  # digits of a limit that no operation takes


class _Wanted(msgspec.Struct):
    """The fields of a body that say how much is wanted."""

    limit: Any = None
    explain: Any = None


async def _cost(scope: Scope, inbox: _Inbox) -> int:
    """The slots that a request is worth: one, and one more for so many hits that it asks for."""
    if scope["method"] in ("GET", "HEAD"):
        wished = _Wanted(dict(parse_qsl(scope["query_string"].decode("latin-1"))).get("limit"))
    else:
        try:
            wished = msgspec.json.decode(await inbox.peek(), type=_Wanted)
        except (msgspec.MsgspecError, UnicodeDecodeError):  # the operation refuses it
            return 1
    limit = str(wished.limit)
    hits = int(limit) if limit.isdecimal() and len(limit) < _LONG else 0  # refused by the operation
    return 1 + hits * (_HITS_OF_AN_EXPLANATION if wished.explain is True else 1) // _HITS_OF_A_SLOT


def _each(operations: Iterable[str], kind: Kind) -> dict[str, Kind]:
    return dict.fromkeys(operations, kind)


# Slots that a few may hold at once, and a queue for them that is fair between names


class Waiter(asyncio.Future[int]):
    """Somebody who wants slots; the number of those that he has got, 0 if the queue is full."""

    def __init__(self, cost: int = 1) -> None:
        super().__init__(loop=asyncio.get_running_loop())
        self.cost = cost


class FairQueue:
    """Waiters in the order of service: one of each name in turn.

    Among the waiters of one name, the first to come is the first to be served.
    """

    def __init__(self) -> None:
        self._names: OrderedDict[str, deque[Waiter]] = OrderedDict()
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def count(self, name: str) -> int:
        """The number of waiters of a name."""
        return len(self._names.get(name, ()))

    def push(self, name: str, waiter: Waiter) -> None:
        """Add the last waiter of a name."""
        self._names.setdefault(name, deque()).append(waiter)
        self._length += 1

    def pop(self, may: Callable[[str], bool] = lambda name: True) -> tuple[str, Waiter] | None:
        """Remove the waiter whose turn it is of those that may have one, or None."""
        name = next(filter(may, self._names), None)
        if name is None:
            return None
        waiter = self._names[name].popleft()
        self._names.move_to_end(name)
        self._removed_from(name)
        return name, waiter

    def longest(self) -> str:
        """The name that has most waiters."""
        return max(self._names, key=self.count)

    def pop_last(self, name: str) -> Waiter:
        """Remove the last waiter of a name."""
        waiter = self._names[name].pop()
        self._removed_from(name)
        return waiter

    def discard(self, name: str, waiter: Waiter) -> bool:
        """Remove a waiter; True if it was still there."""
        if waiter not in self._names.get(name, ()):
            return False
        self._names[name].remove(waiter)
        self._removed_from(name)
        return True

    def _removed_from(self, name: str) -> None:
        self._length -= 1
        if not self._names[name]:
            del self._names[name]


class Slots:
    """A number of slots, one more for names that hold none, and a queue of bounded length for them.

    So a name with none does not wait for those who hold all others, however slow they are. What
    costs more than one takes as many as are free, so that its name runs less at once. If the queue
    is full, the last waiter of the name with most waiters has to go: one busy name cannot keep
    others out.
    """

    def __init__(self, capacity: int, queue_length: int) -> None:
        self.queue = FairQueue()
        self._held: Counter[str] = Counter()
        self._capacity = capacity
        self._queue_length = queue_length

    @property
    def taken(self) -> int:
        """The number of slots that are held."""
        return self._held.total()

    def enter(self, name: str, cost: int = 1) -> Waiter:
        """Take slots, or begin to wait for them: at most `cost`.

        Whoever has got some calls `release` in the end. Whoever stops waiting calls `leave`.
        """
        waiter = Waiter(cost)
        if self._may_begin(name):  # then nobody waits who may
            self._give(name, waiter)
            return waiter
        self.queue.push(name, waiter)
        if len(self.queue) > self._queue_length:
            # Of names with equally many, the newcomer's gives way.
            longest = self.queue.longest()
            loser = name if self.queue.count(name) >= self.queue.count(longest) else longest
            self.queue.pop_last(loser).set_result(0)
        return waiter

    def leave(self, name: str, waiter: Waiter) -> None:
        """Stop waiting; slots that were given meanwhile go on to the next."""
        if not self.queue.discard(name, waiter) and waiter.result():
            self.release(name, waiter)

    def release(self, name: str, waiter: Waiter) -> None:
        """Give slots of a name back, for the next waiter that may have them."""
        self._held[name] -= waiter.result()
        self._held += Counter()  # only names that hold some are kept
        while (following := self.queue.pop(self._may_begin)) is not None:
            self._give(*following)

    def _give(self, name: str, waiter: Waiter) -> None:
        slots = max(1, min(waiter.cost, self._capacity - self.taken))
        self._held[name] += slots
        waiter.set_result(slots)

    def _may_begin(self, name: str) -> bool:
        return self.taken < self._capacity + (name not in self._held)
