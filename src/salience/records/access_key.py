"""Access keys as stores keep them: what a key may do and until when, and the hash of its secret."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Self

from salience.display.result import Result, field_names, to_json
from salience.lazily import dataclass

_HIDDEN = ("digest", "former_digest")  # nobody has to see the hashes of secrets
_COLUMNS = ("id", "version", "last_used")  # that stores keep beside the entry
_TIMES = ("created_at", "expires_at", "former_until", "revoked_at")
_LISTS = ("namespaces", "scopes")


@dataclass(frozen=True, repr=False)
class AccessKey(Result):
    """A key for the doors of a store, without its secret.

    `former_until` is when the secret before the last rotation ends. `last_used` is exact to a
    minute. `version` counts the changes, of `last_used` none. `time_zone` is that of its requests.
    """

    _shown = ("id", "name", "namespaces", "scopes", "expires_at")

    id: str
    digest: str  # SHA-256 of the secret, in hexadecimal digits
    namespaces: tuple[str, ...]
    scopes: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None = None
    name: str | None = None
    former_digest: str | None = None
    former_until: datetime | None = None
    revoked_at: datetime | None = None
    last_used: datetime | None = None
    version: int = 1
    time_zone: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """A mapping of values that JSON has, without the hashes of secrets."""
        return {name: to_json(getattr(self, name)) for name in self.visible()}

    @classmethod
    def visible(cls) -> tuple[str, ...]:
        """The names of the fields that may be shown: all but the hashes of secrets."""
        return tuple(name for name in field_names(cls) if name not in _HIDDEN)

    def entry(self) -> dict[str, Any]:
        """The fields that a change of the key replaces, as JSON has them."""
        names = (name for name in field_names(type(self)) if name not in _COLUMNS)
        values = {name: to_json(getattr(self, name)) for name in names}
        if self.time_zone is None:  # which earlier versions do not know
            del values["time_zone"]
        return values

    @classmethod
    def of(
        cls, id: str, version: int, last_used: datetime | None, entry: Mapping[str, Any]
    ) -> Self:
        """The key of an entry and what stores keep beside it."""
        values = dict(entry)
        for name in _TIMES:
            values[name] = None if values[name] is None else datetime.fromisoformat(values[name])
        for name in _LISTS:
            values[name] = tuple(values[name])
        return cls(id=id, version=version, last_used=last_used, **values)
