"""The settings of a server: from options of `salience serve` and SALIENCE_* in the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Self

from salience.access.oauth import OAuthSettings
from salience.errors import InvalidInput, shown
from salience.lazily import dataclass, fields
from salience.server import inspector
from salience.server.guard import GuardSettings
from salience.server.guard.settings import PUBLIC_PATHS

DEFAULT_PORT = 8420
LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True)
class ServerSettings:
    """The settings of a server, the same in each of its workers.

    host, port: where it listens.
    db: the address of the store; SALIENCE_DB, else memory.db.
    embedder: the name of the embedder, or "none" for words only.
    time_zone: the zone of requests whose key has none and that name none.
    profile: the name of the profile of searches that name none.
    namespace: the namespace of requests that name none.
    workers: the number of processes.
    allowed_hosts: names under which it may be asked, besides loopback.
    cors_origins: web pages that may ask it from a browser; none by default.
    read_only: nothing is written, whatever a key may do; without MCP and mem0's paths.
    oauth_issuer, oauth_audience, oauth_jwks_url: the server whose access tokens it takes besides
        keys, see `salience.access.oauth.OAuthSettings`; all three or none.
    """

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    db: str | None = None
    embedder: str = "default"
    time_zone: str | None = None
    profile: str = "balanced"
    namespace: str = "default"
    workers: int = 1
    allowed_hosts: tuple[str, ...] = ()
    cors_origins: tuple[str, ...] = ()
    read_only: bool = False
    oauth_issuer: str | None = None
    oauth_audience: str | None = None
    oauth_jwks_url: str | None = None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ, **options: Any) -> Self:
        """The settings that options give, else SALIENCE_<NAME> in the environment, else defaults.

        Lists are separated by commas in the environment.

        Raises:
            InvalidInput: a number is none.
        """
        values = {
            field.name: _parsed(field.name, environment[name], field.default)
            for field in fields(cls)
            if environment.get(name := f"SALIENCE_{field.name.upper()}")
        }
        chosen = {name: value for name, value in options.items() if value not in (None, (), [])}
        return cls(**(values | chosen))

    def to_environment(self) -> dict[str, str]:
        """The environment from which `from_environment` makes these settings."""
        values = {f"SALIENCE_{name.upper()}": value for name, value in vars(self).items()}
        return {
            name: ",".join(value) if isinstance(value, tuple) else str(value)
            for name, value in values.items()
            if value is not None
        }

    @property
    def guard(self) -> GuardSettings:
        """The limits that the guard keeps; its workers share the cores of the machine.

        Raises:
            InvalidInput: a limit in the environment is out of its range.
        """
        public_paths: tuple[str, ...] = (*PUBLIC_PATHS, *inspector.pages())
        if self.oauth is not None:
            public_paths = (*public_paths, self.oauth.metadata_path)
        return GuardSettings.from_environment(
            hosts=self.allowed_hosts,
            origins=self.cors_origins,
            public_paths=public_paths,
            heavy_slots=max(1, (os.cpu_count() or 1) // self.workers),
        )

    @property
    def oauth(self) -> OAuthSettings | None:
        """The server whose access tokens are taken, None for none.

        Raises:
            InvalidInput: one of its settings is missing or wrong.
        """
        values: dict[str, Any] = {"issuer": self.oauth_issuer, "audience": self.oauth_audience}
        values["jwks_url"] = self.oauth_jwks_url
        if not any(values.values()):
            return None
        for name, value in values.items():
            if not value:
                remedy = f"set SALIENCE_OAUTH_{name.upper()}"
                raise InvalidInput(f"oauth_{name}", "is missing", remedy)
        return OAuthSettings(**values)

    @property
    def is_loopback(self) -> bool:
        """True if only this machine can reach it."""
        return self.host in LOOPBACK or self.host.startswith("127.")


def _parsed(name: str, text: str, default: Any) -> Any:
    """The value of a setting from its text."""
    if isinstance(default, tuple):
        return tuple(part.strip() for part in text.split(",") if part.strip())
    if isinstance(default, bool):
        return text.lower() in ("1", "true", "yes")
    if not isinstance(default, int):
        return text
    try:
        return int(text)
    except ValueError:
        raise InvalidInput(name, f"is {shown(text)}", "give a whole number") from None
