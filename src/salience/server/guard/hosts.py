"""The host that a request names, and the web page that it comes from.

A page of any origin can send requests to a server on loopback, and a name of its own may lead there
(DNS rebinding). So both are checked on every route.
"""

from __future__ import annotations

from collections.abc import Iterable

from starlette.types import ASGIApp, Receive, Scope, Send

from salience.server.guard.request import header, header_values, path_of
from salience.server.guard.settings import LOOPBACK_HOSTS
from salience.server.problems import Problem, respond

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
        named = header_values(scope, b"host")
        if len(named) != 1 or not named[0]:
            await respond(scope, send, _NO_HOST)
        elif named[0] not in self.hosts:
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
