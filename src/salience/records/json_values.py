"""Values of JSON: metadata and what it is compared with become exact built-in types here."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from salience.display.result import to_json
from salience.errors import InvalidInput, SalienceError, shown
from salience.records.limits import DEFAULT_LIMITS
from salience.records.record import EMPTY
from salience.records.validation import native, storable, text, timestamp

MAX_METADATA_DEPTH = 64  # levels of lists and mappings
MAX_KEY_CHARACTERS = 512
JSON_INTEGERS = range(-(2**63), 2**64)  # every JSON reader can be trusted with these
_VALUE_BYTES = 8  # that a number, a list or a mapping itself is counted as

_Path = tuple[Any, str]
"""The path of a value: that of what it is in, and its key; made into text only for an error."""


def metadata_mapping(value: Any, limit: int = DEFAULT_LIMITS.metadata) -> Mapping[str, Any]:
    """Metadata that JSON can hold: text keys, finite numbers, no NUL; of at most `limit` bytes."""
    if value is None:
        return EMPTY
    if not isinstance(value, Mapping):
        raise InvalidInput("metadata", f"must be a mapping, not {type(value).__name__}")
    mapping: Mapping[str, Any] = json_value("metadata", value, limit)
    return mapping


def json_value(
    name: str,
    value: Any,
    limit: int = DEFAULT_LIMITS.metadata,
    *,
    depth: int = MAX_METADATA_DEPTH,
) -> Any:
    """`value` in types that JSON has, of at most `limit` bytes and `depth` levels."""
    try:
        return _Reading(name, limit, depth).value(value, (None, name), 0)
    except SalienceError:
        raise
    except Exception as problem:  # of any kind, in a type from outside
        raise InvalidInput(name, f"cannot be read: {type(problem).__name__}") from problem


class _Reading:
    """The reading of one value; each part of it is counted as often as it is met."""

    def __init__(self, name: str, limit: int, max_depth: int) -> None:
        self.name, self.limit, self.max_depth = name, limit, max_depth
        self.left = limit

    def value(self, value: Any, path: _Path, depth: int) -> Any:
        """A value and all in it."""
        value = native(value)
        kind = type(value)
        if kind is str:
            return self.text(value, path)
        if value is None or kind is bool:
            self.count(_VALUE_BYTES)
            return value
        if kind is int or kind is float:
            self.count(_VALUE_BYTES)
            return _number(value, path)
        if isinstance(value, datetime):
            return self.text(to_json(timestamp(_written(path), value)), path)
        if depth > self.max_depth:
            problem = f"is nested more than {self.max_depth} levels deep"
            raise InvalidInput(_written(path), problem, "make it flatter")
        self.count(_VALUE_BYTES)
        if isinstance(value, Mapping):
            return {
                key: self.value(item, (path, key), depth + 1)
                for key, item in self.items(value, path)
            }
        if isinstance(value, set | frozenset):
            # A set comes in another order in every process.
            return sorted((self.value(item, path, depth + 1) for item in value), key=json.dumps)
        if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray, memoryview)):
            return [self.value(item, path, depth + 1) for item in value]
        raise InvalidInput(
            _written(path),
            f"{type(value).__name__} cannot be kept as JSON",
            "make it text, a number, a list or a mapping",
        )

    def text(self, value: str, path: _Path) -> str:
        """A text that every store can keep."""
        plain = value.isascii() and "\0" not in value
        self.count(len(value) if plain else len(storable(_written(path), value).encode()))
        return value

    def items(self, mapping: Mapping[Any, Any], path: _Path) -> Iterator[tuple[str, Any]]:
        """The items of a mapping, whose keys must be texts."""
        for key, item in mapping.items():
            name = native(key)
            if type(name) is not str or not name:
                raise InvalidInput(
                    _written(path), f"has the key {shown(key)}", "use non-empty text keys"
                )
            if len(name) > MAX_KEY_CHARACTERS or not name.isascii() or not name.isprintable():
                name = text(_written(path), name, limit=MAX_KEY_CHARACTERS)
            self.count(len(name))
            yield name, item

    def count(self, size: int) -> None:
        """Count some bytes."""
        self.left -= size
        if self.left < 0:
            problem = f"takes more than {self.limit:,} bytes as JSON"
            raise InvalidInput(self.name, problem, "keep what is large elsewhere")


def _number(value: int | float, path: _Path) -> int | float:
    """A number that JSON can hold."""
    if type(value) is int:
        if value not in JSON_INTEGERS:
            problem = "is a whole number of more than 64 bits"
            raise InvalidInput(_written(path), problem, "write it as text")
    elif not math.isfinite(value):
        raise InvalidInput(_written(path), f"is {value}", "use a finite number or None")
    return value


def _written(path: _Path) -> str:
    """A path as it is written: metadata.key.key."""
    keys: list[str] = []
    place: Any = path
    while place is not None:
        place, key = place
        keys.append(key)
    return ".".join(reversed(keys))
