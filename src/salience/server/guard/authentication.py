"""Authentication: whose a request is, asked of a function that knows the keys."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from salience.access.principal import Principal
from salience.server.guard.rate_limit import TokenBuckets, too_many
from salience.server.guard.request import client_address, path_of, state
from salience.server.guard.settings import GuardSettings
from salience.server.principal import Denied, is_local
from salience.server.problems import respond

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
