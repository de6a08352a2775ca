"""Rate limits: token buckets, told in the fields `RateLimit` and `RateLimit-Policy`."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from time import monotonic

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from salience.server.guard.request import identity, state
from salience.server.guard.settings import Rate
from salience.server.problems import Problem, Refused, respond

MAX_BUCKETS = 16_384


@dataclass(frozen=True, slots=True)
class Level:
    """The state of a bucket after a request asked for a token."""

    is_allowed: bool
    remaining: int
    full_seconds: int
    retry_seconds: int


class TokenBuckets:
    """A bucket of `rate.quota` tokens for each name, filled again evenly in each window.

    So within any time t a name gets at most quota * (1 + t / window) tokens. Of more than
    `MAX_BUCKETS` names, the one that asked longest ago begins with a full bucket again.
    """

    def __init__(self, rate: Rate, clock: Callable[[], float] = monotonic) -> None:
        self.rate = rate
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, name: str) -> Level:
        """Take a token out of the bucket of a name, if it holds one."""
        quota, window = self.rate.quota, self.rate.window_seconds
        now = self._clock()
        tokens, filled_at = self._buckets.get(name, (float(quota), now))
        tokens = min(float(quota), tokens + (now - filled_at) * quota / window)
        is_allowed = tokens >= 1.0
        tokens -= is_allowed
        self._buckets[name] = (tokens, now)
        self._buckets.move_to_end(name)
        if len(self._buckets) > MAX_BUCKETS:
            self._buckets.popitem(last=False)
        return Level(
            is_allowed,
            int(tokens),
            ceil((quota - tokens) * window / quota),
            max(1, ceil((1.0 - tokens) * window / quota)),
        )


def too_many(level: Level, what: str = "requests") -> Problem:
    """The problem of a request for which no token was left."""
    seconds = str(level.retry_seconds)
    detail = f"too many {what}; ask again in {seconds} s, or have the limit raised"
    return Problem("RateLimited", detail, headers=(("Retry-After", seconds),))


class RateLimit:
    """Middleware that limits the requests of each key, or of each address without one."""

    def __init__(self, app: ASGIApp, rate: Rate) -> None:
        self.app = app
        self.buckets = TokenBuckets(rate)
        policy = f'"requests";q={rate.quota};w={rate.window_seconds}'
        self.policy = (b"ratelimit-policy", policy.encode())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        level = self.buckets.take(identity(scope))
        field = b'"requests";r=%d;t=%d' % (level.remaining, level.full_seconds)

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                fields = [*message.get("headers", ()), self.policy, (b"ratelimit", field)]
                message["headers"] = fields
            await send(message)

        if level.is_allowed:
            await self.app(scope, receive, told)
        else:
            await respond(scope, told, too_many(level))


class CountWrites:
    """Middleware that lets operations that write count theirs, for each key or address.

    Only they know that they write: a search is a POST, too, and the tools of MCP have one path.
    """

    def __init__(self, app: ASGIApp, rate: Rate) -> None:
        self.app = app
        self.buckets = TokenBuckets(rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        def count_write() -> None:
            level = self.buckets.take(identity(scope))
            if not level.is_allowed:
                raise Refused(too_many(level, "writes"))

        state(scope)["count_write"] = count_write
        await self.app(scope, receive, send)
