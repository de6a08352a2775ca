"""Principals: who makes a request, and what they may do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, get_args

from salience.api.operations import Scope
from salience.errors import InvalidInput, shown
from salience.lazily import dataclass
from salience.records.validation import namespace_name, texts

# Scopes: what a key may do

SCOPES: tuple[Scope, ...] = get_args(Scope)
"""All scopes: read, write and delete memories, upkeep, export and import, and keys."""


def parse_scopes(scopes: Any) -> tuple[Scope, ...]:
    """Scopes in the order of `SCOPES`, each once; one text is one of them.

    Raises:
        InvalidInput: there is no such scope, or none is given.
    """
    listed = texts("scopes", scopes)
    for scope in listed:
        if scope not in SCOPES:
            several = ", several as a list" if "," in scope else ""
            raise InvalidInput(
                "scopes", f"has no {shown(scope)}", f"use {', '.join(SCOPES)}{several}"
            )
    if not listed:
        raise InvalidInput("scopes", "is empty", f"give some of {', '.join(SCOPES)}")
    return tuple(scope for scope in SCOPES if scope in listed)


# Patterns of namespaces: exact names, all beneath a prefix (`ana/*`), or all (`*`)

EVERYTHING = "*"
_BENEATH = "/*"
_REMEDY = "give a name, a pattern as ana/* for all namespaces beneath ana/, or * for all"


def matches(pattern: str, namespace: str) -> bool:
    """Test whether a pattern covers a namespace, compared by code point as stores compare names.

    `ana/*` covers `ana/notes` and `ana/notes/old`, and neither `ana` nor `anabel`.
    """
    if pattern == EVERYTHING:
        return True
    if is_pattern(pattern):
        prefix = pattern[:-1]
        return len(namespace) > len(prefix) and namespace.startswith(prefix)
    return namespace == pattern


def includes(pattern: str, other: str) -> bool:
    """Test whether a pattern covers every namespace that another name or pattern covers."""
    if other == EVERYTHING:
        return pattern == EVERYTHING
    if is_pattern(other):
        beneath = is_pattern(pattern) and other.startswith(pattern[:-1])
        return pattern == EVERYTHING or beneath
    return matches(pattern, other)


def is_pattern(pattern: str) -> bool:
    """Test whether a text stands for several namespaces."""
    return pattern == EVERYTHING or pattern.endswith(_BENEATH)


def parse_patterns(patterns: Any) -> tuple[str, ...]:
    """Names and patterns in their order, each once; one text is one of them.

    Raises:
        InvalidInput: one is not text, too long, or has a star that is no whole last segment.
    """
    listed = texts("namespaces", patterns)
    if not listed:
        raise InvalidInput("namespaces", "is empty", _REMEDY)
    for pattern in listed:
        namespace_name(pattern, "namespaces")
        name = "" if pattern == EVERYTHING else pattern.removesuffix(_BENEATH)
        if EVERYTHING in name or (pattern.endswith(_BENEATH) and not name.strip()):
            raise InvalidInput("namespaces", f"has {shown(pattern)}", _REMEDY)
    return listed


DEFAULT_NAMESPACE = "default"


@dataclass(frozen=True)
class Principal:
    """The owner of a key or a token: its id, for logs and limits, its namespaces and scopes.

    `namespaces` are names or patterns (see `salience.access.principal`). `time_zone` is that of
    its requests, unless one has its own; None for that of the memory.
    """

    key_id: str
    namespaces: tuple[str, ...]
    scopes: frozenset[Scope]
    time_zone: str | None = None

    def may(self, scope: Scope) -> bool:
        """Test whether it has a scope; none includes another."""
        return scope in self.scopes

    def sees(self, namespace: str) -> bool:
        """Test whether it has a namespace."""
        return any(matches(pattern, namespace) for pattern in self.namespaces)

    def includes(self, namespaces: Iterable[str], scopes: Iterable[str]) -> bool:
        """Test whether a key with some names or patterns and some scopes may do nothing beyond."""
        return self.scopes.issuperset(scopes) and all(
            any(includes(pattern, name) for pattern in self.namespaces) for name in namespaces
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
"""The caller on the same machine while the store has no key."""
