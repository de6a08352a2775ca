"""The entry: the host, the page and the owner of a request, and how many a key may send.

A page of any origin can send requests to a server on loopback, and a name of its own may lead there
(DNS rebinding). So both are checked on every route.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from math import ceil
from time import monotonic

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from salience.access.principal import Principal
from salience.lazily import dataclass
from salience.server.guard.request import (
    client_address,
    header,
    header_values,
    identity,
    path_of,
    state,
)
from salience.server.guard.settings import LOOPBACK_HOSTS, GuardSettings, Rate
from salience.server.principal import Denied, is_local
from salience.server.problems import Problem, Refused, respond

_NO_HOST = Problem("InvalidRequest", "a request needs one Host header")
_WRONG_HOST = Problem(
    "HostRefused",
    "the server does not answer for the host that the request names; ask it under its own name, or "
    "add this one to the allowed hosts",
)
_WRONG_ORIGIN = Problem(
    "OriginRefused",
    "the request comes from a web page of another origin; add it to the allowed origins if it is "
    "yours",
)


class Hosts:
    """The names that a server is asked under: "name", "name:port", "*.name", or "*" for any."""

    def __init__(self, names: Iterable[str]) -> None:
        names = {name.lower() for name in names}
        self._any = "*" in names
        self._exact = {name.encode() for name in names if not name.startswith("*")}
        self._suffixes = tuple(name[1:].encode() for name in names if name.startswith("*."))

    def __contains__(self, host: bytes) -> bool:
        host = host.lower()
        name = _without_port(host)
        return (
            name in self._exact
            or host in self._exact
            or self._any
            or any(each.endswith(self._suffixes) for each in (name, host))
        )


class CheckHosts:
    """Middleware that answers 421 for other hosts than the allowed ones."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str]) -> None:
        self.app = app
        self.hosts = Hosts((*LOOPBACK_HOSTS, *hosts))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        hosts = header_values(scope, b"host")
        if len(hosts) != 1 or not hosts[0]:
            await respond(scope, send, _NO_HOST)
        elif hosts[0] not in self.hosts:
            await respond(scope, send, _WRONG_HOST)
        else:
            await self.app(scope, receive, send)


class CheckOrigin:
    """Middleware that answers 403 to web pages of other origins than the allowed ones.

    The server's own origin is allowed, and so is a request without `Origin`, unless the browser
    says that another site made it (`Sec-Fetch-Site`); of those, only a link to a page that anybody
    may read is followed.
    """

    def __init__(self, app: ASGIApp, origins: Iterable[str], public_paths: Iterable[str]) -> None:
        self.app = app
        self.origins = frozenset(origin.lower().encode() for origin in origins)
        self.public_paths = frozenset(public_paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._allows(scope):
            await self.app(scope, receive, send)
        else:
            await respond(scope, send, _WRONG_ORIGIN)

    def _allows(self, scope: Scope) -> bool:
        origins = header_values(scope, b"origin")
        if len(origins) > 1:
            return False
        if origins and origins[0].lower() in self.origins:
            return True
        if origins and not _is_own(scope, origins[0].lower()):
            return False
        site = header(scope, b"sec-fetch-site")
        return site in (None, b"same-origin", b"none") or self._is_link(scope)

    def _is_link(self, scope: Scope) -> bool:
        return (
            scope["method"] == "GET"
            and header(scope, b"sec-fetch-mode") == b"navigate"
            and header(scope, b"sec-fetch-dest") == b"document"
            and path_of(scope) in self.public_paths
        )


def _is_own(scope: Scope, origin: bytes) -> bool:
    """Test whether an origin is that of the server itself, seen through a proxy with TLS or not."""
    host = (header(scope, b"host") or b"").lower()
    scheme, _, authority = origin.partition(b"://")
    schemes = (b"https",) if scope.get("scheme") == "https" else (b"http", b"https")
    return scheme in schemes and authority == host


def _without_port(host: bytes) -> bytes:
    name, colon, port = host.rpartition(b":")
    return name if colon and port.isdigit() else host


# Authentication: whose a request is, asked of a function that knows the keys

METRICS_PATHS = frozenset(("/metrics", "/v1/metrics"))

Authenticate = Callable[[Mapping[str, str], str | None, str], Awaitable[Principal | Denied]]
"""A function of the header fields, the client's address and the path with its query.

`salience.server.principal.Authenticator.authenticate` is one.
"""


class Authentication:
    """Middleware that puts the principal into the state of the request, or refuses it.

    The refusals of one address are limited, so that nobody can try keys, or fill the log, at will.
    """

    def __init__(self, app: ASGIApp, authenticate: Authenticate, settings: GuardSettings) -> None:
        self.app = app
        self.authenticate = authenticate
        self.public_paths = frozenset(settings.public_paths)
        self.metrics_access = settings.metrics_access
        rate = settings.refusal_rate
        self.refusals = None if rate is None else TokenBuckets(rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        client: str | None = (scope.get("client") or (None,))[0]
        if self._is_open(path_of(scope), headers, client):
            await self.app(scope, receive, send)
            return
        verdict = await self.authenticate(headers, client, _target(scope))
        if isinstance(verdict, Principal):
            state(scope)["principal"] = verdict
            await self.app(scope, receive, send)
            return
        state(scope)["denied"] = verdict
        problem = verdict.problem
        if self.refusals is not None:
            level = self.refusals.take(client_address(scope))
            problem = problem if level.is_allowed else too_many(level)
        await respond(scope, send, problem)

    def _is_open(self, path: str, headers: Headers, client: str | None) -> bool:
        if path not in METRICS_PATHS or self.metrics_access == "key":
            return path in self.public_paths
        return self.metrics_access == "open" or is_local(headers, client)


def _target(scope: Scope) -> str:
    return f"{scope['path']}?{scope['query_string'].decode('latin-1')}"


# Rate limits: token buckets, told in the fields `RateLimit` and `RateLimit-Policy`

MAX_BUCKETS = 16_384


@dataclass(frozen=True)
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

        async def with_limits(message: Message) -> None:
            if message["type"] == "http.response.start":
                fields = [*message.get("headers", ()), self.policy, (b"ratelimit", field)]
                message["headers"] = fields
            await send(message)

        if level.is_allowed:
            await self.app(scope, receive, with_limits)
        else:
            await respond(scope, with_limits, too_many(level))


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
