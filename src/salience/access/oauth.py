"""OAuth: access tokens of another server, as JSON Web Tokens signed by keys that it publishes.

Needs the extra `oauth`. This server is a protected resource: it issues no token itself.
"""

from __future__ import annotations

import json
import logging
import time
import urllib.request
from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from salience.access.keyring import Refusal
from salience.access.principal import SCOPES, Principal, parse_patterns
from salience.errors import InvalidInput, SalienceError, shown
from salience.forks import by_proxy, is_here
from salience.lazily import dataclass
from salience.records.time_zone import time_zone
from salience.records.validation import elements, text
from salience.retrieval.plan import in_thread

if TYPE_CHECKING:
    from jwt import PyJWKClient

ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA"),
)
"""The algorithms of signatures by a private key: whoever checks a token cannot make one."""
_TYPES = frozenset({"jwt", "at+jwt", "application/at+jwt"})  # RFC 9068
_LEEWAY_SECONDS = 30.0  # by which clocks may differ
_FETCH_SECONDS = 5.0
_MAX_TOKEN_CHARACTERS = 16_384
_MAX_SUBJECT_CHARACTERS = 256
_WELL_KNOWN = "/.well-known/oauth-protected-resource"
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class OAuthSettings:
    """The server whose tokens are taken, and the claims that are read.

    issuer: the claim `iss` of its tokens, to the letter.
    audience: the address of this server, as clients name it as their `resource` (RFC 8707); the
        claim `aud` of a token has to hold it.
    jwks_url: where the issuer publishes its keys, by HTTPS (or by HTTP on this machine).
    algorithms: those of signatures, some of `ALGORITHMS`.
    namespaces_claim: the claim with the namespaces, a list of names and patterns as keys have
        them. A token without it has none.
    scope_claims: the claims with the scopes, a list or one text with spaces; the first that is
        there is read. Scopes that salience does not know are left out.

    Raises:
        InvalidInput: a setting is wrong.
    """

    issuer: str
    audience: str
    jwks_url: str
    algorithms: tuple[str, ...] = ("RS256", "ES256", "EdDSA")
    namespaces_claim: str = "salience_namespaces"
    scope_claims: tuple[str, ...] = ("scope", "scp")

    def __post_init__(self) -> None:
        for name in ("issuer", "audience", "jwks_url", "namespaces_claim"):
            if not isinstance(getattr(self, name), str) or not getattr(self, name).strip():
                raise InvalidInput(name, "is empty", "give it a value")
        for name in ("audience", "jwks_url"):
            parts = urlsplit(getattr(self, name))
            is_local = parts.hostname in ("localhost", "127.0.0.1", "::1")
            if parts.scheme != "https" and not (parts.scheme == "http" and is_local):
                raise InvalidInput(name, f"is {shown(getattr(self, name))}", "give an https:// URL")
        if not self.algorithms:
            raise InvalidInput("algorithms", "is empty", f"use some of {', '.join(ALGORITHMS)}")
        for algorithm in self.algorithms:
            if algorithm not in ALGORITHMS:
                remedy = f"use some of {', '.join(ALGORITHMS)}"
                raise InvalidInput("algorithms", f"has {shown(algorithm)}", remedy)

    @property
    def metadata_path(self) -> str:
        """The path of the metadata of this server (RFC 9728), with that of the audience behind."""
        return f"{_WELL_KNOWN}{urlsplit(self.audience).path.rstrip('/')}"


def _published_keys(url: str) -> PyJWKClient:
    """The keys at an address; this machine itself is asked by no proxy."""
    from jwt import PyJWKClient  # an extra

    class Keys(PyJWKClient):
        def fetch_data(self) -> Any:
            if not is_here(url):
                return super().fetch_data()
            request = urllib.request.Request(url, headers=self.headers)
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), NoRedirect)
            with opener.open(request, timeout=self.timeout) as answer:
                keys = json.load(answer)
            self._last_successful_fetch = time.monotonic()
            return keys

    class NoRedirect(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_: Any) -> None:
            return None

    return Keys(url, timeout=_FETCH_SECONDS)


class TokenVerifier:
    """Checks access tokens by the published keys of their issuer, which it keeps for minutes."""

    def __init__(self, settings: OAuthSettings) -> None:
        if find_spec("jwt") is None or find_spec("cryptography") is None:
            remedy = 'pip install "salience[oauth]"'
            raise SalienceError(f"tokens need PyJWT with its extra `crypto`; {remedy}")
        self.settings = settings
        self._keys = _published_keys(settings.jwks_url)

    @property
    def metadata_url(self) -> str:
        """The address of `metadata`."""
        parts = urlsplit(self.settings.audience)
        return f"{parts.scheme}://{parts.netloc}{self.settings.metadata_path}"

    def metadata(self) -> dict[str, Any]:
        """The document about this protected resource, as RFC 9728 describes it."""
        return {
            "resource": self.settings.audience,
            "resource_name": "salience",
            "authorization_servers": [self.settings.issuer],
            "scopes_supported": list(SCOPES),
            "bearer_methods_supported": ["header"],
        }

    def verify(self, token: str) -> Principal | Refusal:
        """Find the owner of a token, or say why it is refused.

        A token that cannot be checked, as the issuer does not answer, is "unknown"; a warning in
        the log says so.
        """
        import jwt

        if len(token) > _MAX_TOKEN_CHARACTERS or token.count(".") != 2:
            return "malformed"
        try:
            header = jwt.get_unverified_header(token)
            if header.get("alg") not in self.settings.algorithms:
                return "malformed"
            if str(header.get("typ", "jwt")).lower() not in _TYPES:
                return "malformed"
            key = self._keys.get_signing_key(header.get("kid", ""))
            if key.algorithm_name not in self.settings.algorithms:
                return "unknown"
            claims: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=list(self.settings.algorithms),
                issuer=self.settings.issuer,
                audience=self.settings.audience,
                leeway=_LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
            return self._principal(claims)
        except jwt.ExpiredSignatureError:
            return "expired"
        except (jwt.DecodeError, InvalidInput):
            return "malformed"
        except (jwt.PyJWKClientConnectionError, OSError, ValueError) as problem:
            by = by_proxy(self.settings.jwks_url)
            _log.warning("the keys of %s cannot be read: %s%s", self.settings.issuer, problem, by)
            return "unknown"
        except jwt.PyJWTError:
            return "unknown"

    async def averify(self, token: str) -> Principal | Refusal:
        """`verify` in a thread, as it may have to ask the issuer for its keys."""
        return await in_thread(self.verify, token)

    def _principal(self, claims: Mapping[str, Any]) -> Principal:
        """The owner of a token by its claims."""
        names = claims.get(self.settings.namespaces_claim) or ()
        granted = next((claims[each] for each in self.settings.scope_claims if each in claims), ())
        words = granted.split() if isinstance(granted, str) else elements("scope", granted, 1_000)
        scopes = frozenset(scope for scope in SCOPES if scope in words)
        subject = text("sub", claims["sub"], limit=_MAX_SUBJECT_CHARACTERS)
        zone = claims.get("zoneinfo")  # of OpenID Connect
        time_zone("zoneinfo", zone)
        return Principal(f"oauth:{subject}", parse_patterns(names), scopes, zone)
