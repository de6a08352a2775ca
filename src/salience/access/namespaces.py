"""Patterns of namespaces: exact names, all beneath a prefix (`ana/*`), or all (`*`)."""

from __future__ import annotations

from typing import Any

from salience.errors import InvalidInput, shown
from salience.records.validation import namespace_name, texts

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
        InvalidInput: one is no text, too long, or has a star that is no whole last segment.
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
