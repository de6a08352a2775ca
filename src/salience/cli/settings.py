"""What every command is told, and what is given as text on the command line and means more."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from salience.engine import Memory
from salience.errors import InvalidInput, StoreError
from salience.ranking.profile import Profile

_SQLITE = "sqlite:///"


@dataclass(frozen=True)
class Settings:
    """What every command is told; None where nobody said.

    Raises:
        InvalidInput: one is empty, as a variable that was never set makes it.
    """

    db: str | None = None
    namespace: str | None = None
    embedder: str | None = None
    json: bool = False

    def __post_init__(self) -> None:
        for name in ("db", "namespace", "embedder"):
            if getattr(self, name) == "":
                raise InvalidInput(name, "is empty", "give it a value, or leave it out")

    def over(self, other: Settings) -> Settings:
        """These settings, and those of `other` where these say nothing."""
        said = {name: value for name, value in vars(self).items() if value}
        return replace(other, **said)

    @property
    def url(self) -> str:
        """The URL of the store; a path is one of a SQLite file."""
        given = self.db or "memory.db"
        return given if "://" in given else f"{_SQLITE}{given}"

    def require(self) -> None:
        """Refuse a file that does not exist."""
        if not self.url.startswith(_SQLITE):
            return
        path = self.url.removeprefix(_SQLITE).partition("?")[0]
        if path != ":memory:" and not Path(path).exists():
            raise StoreError(f"{path}: there is no such file; add memories first, or give --db")

    def open(
        self, *, profile: str | Profile = "balanced", embeds: bool = True, make: bool = False
    ) -> Memory:
        """The memory of the namespace; only with `make` may its file be a new one."""
        if not make:
            self.require()
        return Memory.open(
            self.url,
            namespace=self.namespace or "default",
            embedder=(self.embedder or "default") if embeds else None,
            profile=profile,
        )


def parsed(name: str, given: str | None, kind: type = dict) -> Any:
    """The JSON object (or list) given for an option; None for none.

    Raises:
        InvalidInput: it is no JSON, or something else in JSON.
    """
    if given is None:
        return None
    shape = "object" if kind is dict else "list"
    try:
        value = json.loads(given)
    except (ValueError, RecursionError) as problem:
        raise InvalidInput(name, f"is not JSON: {problem}", f"give a JSON {shape}") from None
    if not isinstance(value, kind):
        raise InvalidInput(name, f"is no JSON {shape}", "see --help")
    return value
