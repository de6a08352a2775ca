"""Results: plain mappings as JSON has them, both ways, and a `repr` of one line."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, fields
from datetime import datetime
from functools import cache
from importlib import import_module
from types import UnionType
from typing import Annotated, Any, ClassVar, Self, Union, get_args, get_origin, get_type_hints

import numpy as np

from salience.errors import SalienceError
from salience.lazily import regex

MAX_REPR_CHARACTERS = 100
_MAX_SHOWN = 4  # items of a collection in a `repr`; more are counted
_TEXT_ROOMS = (48, 24)  # characters of a text in a `repr`, the most that fit


@dataclass(frozen=True, slots=True, repr=False)
class Result:
    """The base of everything that methods return; subclasses are dataclasses with `repr=False`.

    `to_dict` holds all fields and the properties named in `_computed`. `from_dict` reads each field
    by its annotation, or by its function in `_readers` where `to_dict` writes it in another form.
    `repr` shows the attributes named in `_shown` (all fields by default), as far as they have a
    value and fit into one line.
    """

    _computed: ClassVar[tuple[str, ...]] = ()
    _readers: ClassVar[Mapping[str, Any]] = {}
    _shown: ClassVar[tuple[str, ...]] = ()

    def to_dict(self) -> dict[str, Any]:
        """A mapping of values that JSON has: the fields, and what is computed from them."""
        names = (*field_names(type(self)), *self._computed)
        return {name: to_json(getattr(self, name)) for name in names}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Restore the result from the mapping of `to_dict`; other keys are ignored.

        A field that is left out has its default. Infinities come back as NaN.

        Raises:
            TypeError, ValueError, LookupError: it is no such mapping.
        """
        readers = field_readers(cls)
        return cls(**{name: readers[name](values[name]) for name in readers if name in values})

    def __repr__(self) -> str:
        names = self._shown or field_names(type(self))
        return short_repr(type(self).__name__, {name: getattr(self, name) for name in names})


def field_names(kind: type[Result]) -> tuple[str, ...]:
    """The names of the fields of a dataclass."""
    return tuple(field.name for field in fields(kind))


PLAIN_TYPES = frozenset({str, bool, int, type(None)})
"""The types whose values JSON has as they are."""


def to_json(value: Any) -> Any:
    """A value as JSON has it: times in ISO 8601, tuples as lists, no NaN, results as mappings."""
    kind = type(value)  # most values are exactly of one of these types
    if kind in PLAIN_TYPES:
        return value
    if kind is float:
        return value if math.isfinite(value) else None
    if kind is tuple or kind is list:
        return [to_json(item) for item in value]
    if kind is dict:
        return {key: to_json(item) for key, item in value.items()}
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    return _rare_to_json(value)


def _rare_to_json(value: Any) -> Any:
    """`to_json` of mappings, results, and what stands for a value of a plain type."""
    if isinstance(value, (str, int)):
        return value
    if isinstance(value, np.generic):
        return to_json(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: to_json(item) for key, item in value.items()}
    if isinstance(value, Set):  # which has another order in every process
        return sorted((to_json(item) for item in value), key=repr)
    if isinstance(value, Sequence):
        return [to_json(item) for item in value]
    return value.to_dict() if hasattr(value, "to_dict") else value


def field_readers(kind: type[Result]) -> Mapping[str, Callable[[Any], Any]]:
    """The function that reads each field of a class from its value in JSON."""
    return _field_readers(kind)  # type: ignore[arg-type]  # a class is hashable


@cache
def _field_readers(kind: type[Result]) -> Mapping[str, Callable[[Any], Any]]:
    hints = get_type_hints(kind)
    readers = {name: _or_none(read) for name, read in kind._readers.items()}
    return {name: readers.get(name) or json_reader(hints[name]) for name in field_names(kind)}


@cache
def json_reader(annotation: Any) -> Callable[[Any], Any]:
    """The inverse of `to_json` for values of an annotation."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return json_reader(arguments[0])
    if origin in (Union, UnionType):
        kinds = [kind for kind in arguments if kind is not type(None)]
        return _or_none(json_reader(kinds[0])) if len(kinds) == 1 else _as_it_is
    if origin is tuple:
        return _tuple_reader(*arguments)
    if origin is list:
        one = json_reader(arguments[0])
        return lambda values: [one(value) for value in values]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        read = json_reader(arguments[1])
        return lambda values: {key: read(value) for key, value in values.items()}
    if annotation is datetime:
        return datetime.fromisoformat
    if annotation is float:
        return lambda value: math.nan if value is None else float(value)
    if isinstance(annotation, type) and issubclass(annotation, Result):
        return annotation.from_dict
    return _as_it_is


def _tuple_reader(*kinds: Any) -> Callable[[Any], Any]:
    """The reader of a tuple: of one kind of elements and any length, or of one kind for each."""
    if kinds[-1] is ...:
        each = json_reader(kinds[0])
        return lambda values: tuple(map(each, values))
    readers = [json_reader(kind) for kind in kinds]
    return lambda values: tuple(read(v) for read, v in zip(readers, values, strict=True))


def with_tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values of any type by name, whose lists in JSON were tuples."""
    return {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}


def _or_none(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else read(value)


def _as_it_is(value: Any) -> Any:
    return value


def short_repr(name: str, values: Mapping[str, Any]) -> str:
    """The name with its values, in at most `MAX_REPR_CHARACTERS`; what is empty is left out.

    Texts are cut, long collections are counted; the last values are left out where room is short.
    """
    present = {key: value for key, value in values.items() if not _is_empty(value)}
    for room in _TEXT_ROOMS:
        parts = [f"{key}={_brief(item, room)}" for key, item in present.items()]
        if len(name) + 2 + len(", ".join(parts)) <= MAX_REPR_CHARACTERS:
            return f"{name}({', '.join(parts)})"
    while parts and len(name) + 5 + len(", ".join(parts)) > MAX_REPR_CHARACTERS:
        parts.pop()
    return f"{name}({', '.join([*parts, '…'])})"


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, (str, Mapping, Sequence, Set)) and not value)


def _brief(value: Any, room: int) -> str:
    if isinstance(value, str):
        return repr(value if len(value) <= room else f"{value[: room - 1]}…")
    if isinstance(value, (float, np.floating)):
        return f"{value:.4g}"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    if isinstance(value, (Mapping, Sequence, Set)):
        return _collection(value, room)
    if isinstance(value, Result):
        return f"<{type(value).__name__}>"
    text = repr(value)
    return text if len(text) <= room else f"{text[: room - 1]}…"


def _collection(value: Mapping[Any, Any] | Sequence[Any] | Set[Any], room: int) -> str:
    """A few texts or whole numbers as they are; anything else is counted."""
    plain = dict(value) if isinstance(value, Mapping) else list(value)
    items = plain.values() if isinstance(plain, dict) else plain
    if len(plain) <= _MAX_SHOWN and all(type(item) in (str, int) for item in items):
        text = repr(plain)
        if len(text) <= room:
            return text
    return f"<{len(plain)}>"


# Texts on a terminal: what would move its cursor, change its colours or turn a line is shown

# Controls but tabs and newlines; marks that turn the direction of a line.
_ACTING = regex("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def visible(text: str, escape: str = "") -> str:
    r"""A text with each control character as its escape: ``\x1b`` for the one that terminals obey.

    Tabs and newlines stay. A carriage return before a newline goes, as it ends the same line.
    `escape` is the form of every escape, as in "\\u{:04x}" for JSON.
    """
    if text.isascii() and text.isprintable():
        return text

    def escaped(match: re.Match[str]) -> str:
        code = ord(match[0])
        return (escape or ("\\x{:02x}" if code < 0x100 else "\\u{:04x}")).format(code)

    return _ACTING.sub(escaped, text.replace("\r\n", "\n"))


# Tables of pandas, which is looked for when one is asked for


def data_frame(rows: Sequence[Result], columns: Sequence[str]) -> Any:
    """A pandas DataFrame with a row for each result, and a column for each of its attributes.

    Raises:
        SalienceError: pandas is not installed.
    """
    try:
        pandas = import_module("pandas")
    except ImportError:
        raise SalienceError(
            "to_pandas needs pandas, which is not installed; pip install 'salience[pandas]'"
        ) from None
    return pandas.DataFrame({name: [getattr(row, name) for row in rows] for name in columns})
