"""Principals: who asks, and what they may do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from salience.access.namespaces import EVERYTHING, includes, is_pattern, matches
from salience.access.scopes import SCOPES
from salience.api.operations import Scope

DEFAULT_NAMESPACE = "default"


@dataclass(frozen=True, slots=True)
class Principal:
    """The owner of a key or a token: its id, for logs and limits, its namespaces and scopes.

    `namespaces` are names or patterns (see `salience.access.namespaces`).
    """

    key_id: str
    namespaces: tuple[str, ...]
    scopes: frozenset[Scope]

    def may(self, scope: Scope) -> bool:
        """Test whether it has a scope; none includes another."""
        return scope in self.scopes

    def sees(self, namespace: str) -> bool:
        """Test whether it has a namespace."""
        return any(matches(pattern, namespace) for pattern in self.namespaces)

    def includes(self, namespaces: Iterable[str], scopes: Iterable[str]) -> bool:
        """Test whether a key with some names or patterns and some scopes may do nothing beyond."""
        return self.scopes.issuperset(scopes) and all(
            any(includes(own, name) for own in self.namespaces) for name in namespaces
        )

    @property
    def sees_everything(self) -> bool:
        """True if it has all namespaces."""
        return EVERYTHING in self.namespaces

    @property
    def default_namespace(self) -> str | None:
        """The namespace of a request that names none: its first name, else `default`.

        None if it has patterns alone that do not cover `default`: the request has to name one.
        """
        names = [name for name in self.namespaces if not is_pattern(name)]
        if names:
            return names[0]
        return DEFAULT_NAMESPACE if self.sees(DEFAULT_NAMESPACE) else None


LOCAL = Principal("local", (EVERYTHING,), frozenset(SCOPES))
"""Whoever asks from the same machine while the store has no key."""
