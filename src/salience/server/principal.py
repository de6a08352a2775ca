"""Authentication: from the header fields of a request to a principal, or a refusal."""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import ip_address
from typing import TYPE_CHECKING, Literal
from urllib.parse import unquote_plus

from salience.access import LOCAL, Keyring, Principal, Refusal
from salience.access.plans import PREFIX, KeyText
from salience.lazily import dataclass
from salience.server.problems import Problem

if TYPE_CHECKING:
    from salience.access.oauth import TokenVerifier

_SCHEMES = frozenset({"bearer", "token"})
_KEY_PARAMETER = re.compile(
    rf"[?&](?:x-)?(?:api[-_]?key|access_token|authorization)=|\b{PREFIX}_\w{{8}}_\w{{43}}_", re.I
)
_FORWARDED = frozenset({"forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via"})
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
_REMEDY = "send a valid key as `Authorization: Bearer KEY`; `salience keys create` makes one"
_URL_REMEDY = (
    "a URL ends up in logs: send the key as `Authorization: Bearer KEY`, and rotate this one"
)


@dataclass(frozen=True)
class Denied:
    """The refusal of a request; the reason and the id of the key are for the log alone."""

    reason: Refusal | Literal["missing", "in_url"]
    key_id: str | None = None
    resource_metadata: str | None = None

    @property
    def problem(self) -> Problem:
        """The answer: the same for every key that is not valid, and for none."""
        if self.reason == "in_url":
            return Problem("InvalidRequest", f"the URL holds a key; {_URL_REMEDY}")
        challenge = 'Bearer realm="salience"'
        if self.resource_metadata is not None:
            challenge += f', resource_metadata="{self.resource_metadata}"'
        headers = (("WWW-Authenticate", challenge),)
        return Problem("KeyRequired", f"there is no valid key; {_REMEDY}", headers=headers)


class Authenticator:
    """Finds the principal of each request by its key, or by a token of an OAuth server.

    Without any key in the store, and without `tokens`, a client on this machine that asks for a
    name of this machine, and through no proxy, may do everything; nobody else anything.
    """

    def __init__(self, keyring: Keyring, tokens: TokenVerifier | None = None) -> None:
        self._keyring = keyring
        self._tokens = tokens

    async def authenticate(
        self, headers: Mapping[str, str], client: str | None, target: str = ""
    ) -> Principal | Denied:
        """Find the principal of a request.

        Args:
            headers: the header fields; their names may be in any case.
            client: the address of the client, None if it is not known.
            target: the path with its query, in which no key may be.
        """
        if _KEY_PARAMETER.search(unquote_plus(target)):
            return Denied("in_url")
        fields = [(name.lower(), value) for name, value in headers.items()]
        presented = {_presented(name, value) for name, value in fields} - {None}
        if not presented:
            is_open = self._tokens is None and is_local(dict(fields), client)
            if is_open and not await self._keyring.aany_key():
                return LOCAL
            return self._denied("missing")
        if len(presented) > 1:  # several keys: none is meant for sure
            return self._denied("malformed")
        [credential] = presented
        assert credential is not None
        if self._tokens is not None and not credential.startswith(f"{PREFIX}_"):
            verdict = await self._tokens.averify(credential)
        else:
            verdict = await self._keyring.averify(credential)
        if isinstance(verdict, Principal):
            return verdict
        text = KeyText.parse(credential)
        return self._denied(verdict, None if text is None else text.id)

    def _denied(self, reason: Refusal | Literal["missing"], key_id: str | None = None) -> Denied:
        metadata = None if self._tokens is None else self._tokens.metadata_url
        return Denied(reason, key_id, metadata)


def _presented(name: str, value: str) -> str | None:
    """The key or token in a header field; None if it is no field for one."""
    if name == "x-api-key":
        return value.strip()
    if name != "authorization":
        return None
    scheme, _, credential = value.strip().partition(" ")
    return credential.strip() if scheme.lower() in _SCHEMES else ""


def is_local(headers: Mapping[str, str], client: str | None) -> bool:
    """Test whether a client on this machine asks for a name of this machine, through no proxy."""
    if client is None or not _FORWARDED.isdisjoint(headers):
        return False
    host = headers.get("host", "")
    name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    try:
        address = ip_address(client.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None) or address
    return mapped.is_loopback and name.lower() in _LOOPBACK_NAMES
