"""Connections to the outside: each process has its own, and none to this machine takes a proxy.

A connection that a process shares with its copy would bring either the answers of the other.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Protocol
from urllib.parse import urlsplit
from weakref import WeakSet

from salience.errors import InvalidInput


class Forked(Protocol):
    """An object with connections, locks or threads of its process."""

    def after_fork(self) -> None:
        """Take connections, locks and threads of its own, in the copy of a process."""
        ...


_FORKED: WeakSet[Forked] = WeakSet()
_PARENTS: list[object] = []


def renew_after_fork(owner: Forked) -> None:
    """Call `owner.after_fork()` in each copy of this process, as long as there is an owner."""
    _FORKED.add(owner)


def leave_to_parent(connection: object) -> None:
    """Keep a connection of the parent, unused: freeing it might tell its server to close it."""
    _PARENTS.append(connection)


def _renew_all() -> None:
    for owner in list(_FORKED):
        owner.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)


# Proxies, which variables such as HTTP_PROXY name


def connected(kind: Callable[..., Any], httpx: Any, url: str, **options: Any) -> Any:
    """A client of httpx for an address; to this machine itself it goes by no proxy.

    Raises:
        InvalidInput: a variable names a proxy that cannot be used.
    """
    if is_here(url):
        if url.startswith("https:"):
            options["verify"] = httpx.create_ssl_context()  # with certificates of the environment
        return kind(trust_env=False, **options)
    try:
        return kind(**options)
    except (ImportError, ValueError, httpx.InvalidURL) as problem:
        proxies = _proxies()
        if not proxies:
            raise
        socks = {name for name, proxy in proxies.items() if proxy.startswith("socks")}
        name = min(socks or proxies)
        what = f"is {_public(proxies[name])}, and cannot be used ({problem})"
        remedy = 'install "httpx[socks]", or leave it out' if socks else "give http://host:port"
        raise InvalidInput(name, what, remedy) from None


def is_here(url: str) -> bool:
    """Test whether an address is of this machine itself."""
    host = (urlsplit(url).hostname or "").rstrip(".")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    from ipaddress import ip_address  # which most addresses do without

    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None) or address
    return bool(mapped.is_loopback or mapped.is_unspecified)


def by_proxy(url: str) -> str:
    """The words of an error for the proxy on the way to an address; "" without a proxy."""
    from urllib.request import proxy_bypass  # which most processes do without

    parts, proxies = urlsplit(url), _proxies()
    names = (f"{parts.scheme.upper()}_PROXY", "ALL_PROXY")
    name = next((name for name in names if name in proxies), None)
    if name is None or is_here(url) or proxy_bypass(parts.hostname or ""):
        return ""
    return f", asked by the proxy of {name}, {_public(proxies[name])}"


def _proxies() -> dict[str, str]:
    """The proxies of the environment, by the variables that name them."""
    from urllib.request import getproxies

    return {f"{k.upper()}_PROXY": proxy for k, proxy in getproxies().items() if k != "no"}


def _public(proxy: str) -> str:
    """A proxy without its password."""
    scheme, sign, rest = proxy.rpartition("://")
    return f"{scheme}{sign}{rest.rpartition('@')[2]}"
