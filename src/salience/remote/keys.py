"""`RemoteKeys`: the keys of the store of a server, as `Keyring` has those of a store at hand."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Self

from salience.access.plans import NewKey, check_overlap, no_key
from salience.api.operations import PREFIX
from salience.closing import Closing
from salience.records.access_key import AccessKey
from salience.records.validation import text
from salience.remote.calls import Request, segment, to_wire
from salience.remote.settings import RemoteSettings
from salience.remote.transport import Transport
from salience.stores.address import Address

_PATH = f"{PREFIX}/keys"


class RemoteKeys(Closing):
    """The keys that a key with the scope `keys` may manage: those that may do nothing beyond it."""

    def __init__(self, settings: RemoteSettings, transport: Transport) -> None:
        self._settings, self._transport = settings, transport

    @classmethod
    def open(cls, url: Address | None = None, **settings: Any) -> Self:
        """Open the keys at the address of a server; `api_key` and `timeout` as `Memory.open` has.

        Raises:
            InvalidInput: the address is not that of a server.
        """
        remote = RemoteSettings.of("RemoteKeys", url, **settings)
        return cls(remote, Transport(remote))

    def create(
        self,
        namespaces: Any,
        scopes: Any,
        *,
        expires_at: Any = None,
        name: str | None = None,
        time_zone: str | None = None,
    ) -> NewKey:
        """Create a key; only this answer has its text.

        If the answer is lost, so is the text: revoke the key, and make another.

        Raises:
            NotFound: the own key does not have one of the namespaces.
            AccessDenied: it lacks one of the scopes, or the scope `keys`.
        """
        values = {"namespaces": _listed(namespaces), "scopes": _listed(scopes)}
        optional = {"expires_at": expires_at, "name": name, "time_zone": time_zone}
        answer = self._send("", {**values, **optional})
        return _new_key(answer)

    def list(self) -> list[AccessKey]:
        """List the keys, the oldest first; revoked and expired ones, too.

        Raises:
            AccessDenied: the own key lacks the scope `keys`.
        """
        request = self._settings.with_namespace(Request("GET", _PATH, repeatable=True))
        return [_key(each) for each in self._transport.send(request)["keys"]]

    def get(self, id: str) -> AccessKey:
        """Get a key by its id; raises `NotFound` without it."""
        for key in self.list():
            if key.id == text("id", id):
                return key
        raise no_key(id)

    def rotate(
        self, id: str, *, overlap: timedelta = timedelta(), expires_at: Any = None
    ) -> NewKey:
        """Give a key a new secret; the old one stays valid during the overlap.

        Raises:
            NotFound: there is no such key.
            InvalidInput: an argument is wrong; or the key is revoked, or has expired and gets no
                later end.
        """
        check_overlap(overlap)
        values = {"overlap_seconds": overlap.total_seconds(), "expires_at": expires_at}
        return _new_key(self._send(f"/{segment(text('id', id))}/rotate", values))

    def revoke(self, id: str) -> AccessKey:
        """Revoke a key for good, with both of its secrets.

        Raises:
            NotFound: there is no such key.
        """
        return _key(self._send(f"/{segment(text('id', id))}/revoke", None, repeatable=True))

    def _send(
        self, path: str, values: Mapping[str, Any] | None, *, repeatable: bool = False
    ) -> Any:
        """The answer to a POST with the values that are not None."""
        body = None
        if values is not None:
            body = {n: to_wire(n, value) for n, value in values.items() if value is not None}
        request = Request("POST", _PATH + path, body=body, repeatable=repeatable)
        return self._transport.send(self._settings.with_namespace(request))

    def close(self) -> None:
        """Close the connections; the server goes on."""
        self._transport.close()


def _listed(value: Any) -> Any:
    """Several texts, of which one may stand alone."""
    return [value] if isinstance(value, str) else value


def _key(members: Mapping[str, Any]) -> AccessKey:
    """A key of an answer; the hashes of its secrets stay with the store."""
    return AccessKey.from_dict({**members, "digest": ""})


def _new_key(members: Mapping[str, Any]) -> NewKey:
    return NewKey(members["text"], _key(members["key"]))
