"""Facts of a request, read from the scope that ASGI gives."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address
from typing import Any

from starlette.types import Scope

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
