"""The settings of a memory at a server: its address, its key, and what its requests share."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import tzinfo
from typing import Any, Unpack
from urllib.parse import quote, urlsplit
from uuid import uuid4

from salience.api.operations import PREFIX
from salience.engine.options import SETTINGS, Settings, check_names
from salience.errors import InvalidInput
from salience.lazily import dataclass, field, replace
from salience.records.time_zone import own_zone, time_zone
from salience.records.validation import namespace_name, number
from salience.remote.calls import Call, Request, profile_to_wire
from salience.search.request import TimeZone
from salience.stores.address import Address, store_url
from salience.write.dedup import DedupPolicy

KEY_VARIABLE = "SALIENCE_API_KEY"
MAX_TIMEOUT_SECONDS = 86_400.0
_OWN = ("namespace", "profile", "dedup", "trace", "time_zone", "api_key", "timeout")
_PROFILED = ("search", "explain", "explain_many", "get_context")
_DEDUPED = ("add", "add_many")


@dataclass(frozen=True)
class RemoteSettings:
    """The address of a server, and what all requests of one memory share.

    `namespace` is None until it is known: without one the server chooses that of the key; `scopes`
    are empty until then. Without a `time_zone` the server takes that of the key, or its own.
    """

    url: str
    namespace: str | None
    api_key: str | None = field(repr=False)
    timeout: float | None
    profile: Any
    dedup: DedupPolicy | None
    trace: Callable[[str], object] | None
    scopes: tuple[str, ...] = ()
    time_zone: tzinfo | None = None

    @classmethod
    def of(cls, kind: str, address: Address | None, **settings: Unpack[Settings]) -> RemoteSettings:
        """The settings of an address, for the class named `kind`.

        Raises:
            InvalidInput: one is wrong, or is a setting of the server.
        """
        check_names(f"{kind}.open", settings, Settings)
        values: dict[str, Any] = {**SETTINGS, **settings}
        for name, value in settings.items():
            if name not in _OWN and value is not SETTINGS[name] and value != SETTINGS[name]:
                remedy = "leave it out, or open the store itself"
                raise InvalidInput(name, "is a setting of the server", remedy)
        namespace, profile = settings.get("namespace"), settings.get("profile")
        dedup, trace = values["dedup"], None
        if values["trace"]:
            from salience.engine.dispatcher import line_writer  # needed only when it is on

            trace = line_writer(values["trace"])
        return cls(
            _base_url(store_url(address)),
            None if namespace is None else namespace_name(namespace),
            _key(values["api_key"]),
            number("timeout", values["timeout"], MAX_TIMEOUT_SECONDS),
            None if profile is None else profile_to_wire("profile", profile),
            None if dedup is None else DedupPolicy.of(dedup, DedupPolicy()),
            trace,
            time_zone=own_zone(values["time_zone"]),
        )

    def greeted(self, answer: Mapping[str, Any]) -> RemoteSettings:
        """The same settings with what a server answers to `greeting`: scopes, and a namespace."""
        namespace = self.namespace or answer.get("namespace") or SETTINGS["namespace"]
        return replace(self.for_namespace(namespace), scopes=tuple(answer.get("scopes") or ()))

    def for_namespace(self, namespace: str, zone: TimeZone = None) -> RemoteSettings:
        """The same settings for another namespace, and for another time zone if one is given."""
        chosen = time_zone("time_zone", zone) or self.time_zone
        return replace(self, namespace=namespace_name(namespace), time_zone=chosen)

    def request(
        self, call: Call, arguments: Mapping[str, Any], namespace: str | None = None
    ) -> Request:
        """The request of a call; one that changes something has a key by which a server does
        it once.
        """
        values = dict(arguments)
        if self.profile is not None and call.operation.name in _PROFILED:
            values.setdefault("profile", self.profile)
        if self.dedup is not None and call.operation.name in _DEDUPED:
            values["dedup"] = DedupPolicy.of(values.get("dedup"), self.dedup)
        request = call.request(values)
        headers = {**request.headers, **self._own_headers(namespace)}
        if not request.repeatable:
            headers["Idempotency-Key"] = uuid4().hex
        return replace(request, headers=headers)

    def upload(self, call: Call, *, everywhere: bool) -> Request:
        """The request that sends a file, whose option is in the query."""
        query, headers = {"everywhere": "true"} if everywhere else {}, self._own_headers(None)
        return Request(call.operation.verb, PREFIX + call.operation.path, query, headers=headers)

    def with_namespace(self, request: Request) -> Request:
        """A request for the namespace of these settings."""
        return replace(request, headers={**request.headers, **self._own_headers(None)})

    def greeting(self) -> Request:
        """The request that opens a memory: what the key may do, and the namespace that it means."""
        return self.with_namespace(Request("GET", f"{PREFIX}/key", repeatable=True))

    def _own_headers(self, namespace: str | None) -> dict[str, str]:
        """The headers of the namespace, percent-encoded (a header is ASCII), and the time zone."""
        name = self.namespace if namespace is None else namespace_name(namespace)
        headers = {} if name is None else {"Salience-Namespace": quote(name)}
        return headers | ({"Salience-Time-Zone": str(self.time_zone)} if self.time_zone else {})


def _base_url(url: str) -> str:
    """The address of a server without a slash at its end."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as problem:
        raise InvalidInput("url", f"is no address: {problem}", "write http://host:port") from None
    if not host:
        raise InvalidInput("url", "names no host", "write http://host:port")
    if "@" in parts.netloc:
        raise InvalidInput("url", "has a user or password in it", "give the key as api_key")
    if parts.query or parts.fragment:
        raise InvalidInput("url", "has more than host, port and path", "write http://host:port")
    return url.rstrip("/").removesuffix(PREFIX)


def _key(key: Any) -> str | None:
    """The key of an argument, else of the environment."""
    key = os.environ.get(KEY_VARIABLE) if key is None else key
    if key is None:
        return None
    if not isinstance(key, str) or not key.isascii() or not key.isprintable() or not key.strip():
        raise InvalidInput(
            "api_key", "is not a key", "give the text that `salience keys create` gave"
        )
    return key.strip()
