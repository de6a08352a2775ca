"""The settings of a server: from options of `salience serve` and SALIENCE_* in the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from salience.errors import InvalidInput, shown
from salience.server.guard import GuardSettings

DEFAULT_PORT = 8420
LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True)
class ServerSettings:
    """The settings of a server, the same in each of its workers.

    host, port: where it listens.
    db: the address of the store; SALIENCE_DB, else memory.db.
    embedder: the name of the embedder, or "none" for words only.
    profile: the name of the profile of searches that name none.
    namespace: the namespace of requests that name none.
    workers: the number of processes.
    allowed_hosts: names under which it may be asked, besides loopback.
    cors_origins: web pages that may ask it from a browser; none by default.
    """

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    db: str | None = None
    embedder: str = "default"
    profile: str = "balanced"
    namespace: str = "default"
    workers: int = 1
    allowed_hosts: tuple[str, ...] = ()
    cors_origins: tuple[str, ...] = ()

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
        given = {name: value for name, value in options.items() if value not in (None, (), [])}
        return cls(**(values | given))

    def to_environment(self) -> dict[str, str]:
        """The environment in which `from_environment` gives these settings."""
        values = {f"SALIENCE_{name.upper()}": value for name, value in vars(self).items()}
        return {
            name: ",".join(value) if isinstance(value, tuple) else str(value)
            for name, value in values.items()
            if value is not None
        }

    @property
    def guard(self) -> GuardSettings:
        """The limits that the guard keeps."""
        return GuardSettings(hosts=self.allowed_hosts, origins=self.cors_origins)

    @property
    def is_loopback(self) -> bool:
        """True if only this machine can reach it."""
        return self.host in LOOPBACK or self.host.startswith("127.")


def _parsed(name: str, text: str, default: Any) -> Any:
    """The value of a setting from its text."""
    if isinstance(default, tuple):
        return tuple(part.strip() for part in text.split(",") if part.strip())
    if not isinstance(default, int):
        return text
    try:
        return int(text)
    except ValueError:
        raise InvalidInput(name, f"is {shown(text)}", "give a whole number") from None
