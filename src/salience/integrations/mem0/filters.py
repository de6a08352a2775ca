"""Filters of mem0, as filters of salience; and the ids that say whose memories are meant.

A filter of salience holds all of its conditions, so whatever a filter asks for beside an id of the
user is asked of the memories of that user alone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from salience.errors import InvalidInput, shown
from salience.integrations.mem0.shapes import ValidationError, expires_at

_log = logging.getLogger(__name__)

ENTITIES = ("user_id", "agent_id", "app_id", "run_id")
"""The ids that say whose a memory is."""
ANY = "*"
_PATHS: Mapping[str, tuple[str, ...]] = {
    "user_id": ("user_id",),
    "agent_id": ("agent_id",),
    "app_id": ("metadata.app_id",),
    # A turn is of the session of its run. A fact has no session: those of a session are not
    # compared with each other.
    "run_id": ("session_id", "metadata.run_id"),
    "actor_id": ("speaker",),
    "categories": ("tags",),
    "id": ("id",),
    "memory_ids": ("id",),
    "memory": ("content",),
    "data": ("content",),
    "keywords": ("content",),
    "created_at": ("created_at",),
    "updated_at": ("updated_at",),
    "expiration_date": ("expires_at",),
}
"""The fields of a filter that are no keys of the metadata, and where salience has them."""
_OPERATORS = {
    **{name: name for name in ("eq", "in", "gt", "gte", "lt", "lte", "contains")},
    "icontains": "contains",
}
_NEGATED = {"ne": "eq", "nin": "in"}
_LOGIC = {"AND": "and", "OR": "or", "NOT": "not", "$and": "and", "$or": "or", "$not": "not"}

Conditions = dict[str, Any]


def checked_id(value: Any, name: str) -> str | None:
    """An id as text without spaces around it; None for None.

    Raises:
        InvalidInput: it is empty, or has spaces within.
    """
    if value is None:
        return None
    text = str(value).strip()
    if not text or any(character.isspace() for character in text):
        problem = "has spaces within" if text else "is empty"
        raise InvalidInput(name, f"{problem}: {shown(value)}", "give an id without spaces")
    return text


def owner(ids: Mapping[str, Any]) -> dict[str, str]:
    """The ids of a memory that is added, those that are given.

    Raises:
        ValidationError: none is.
        InvalidInput: one is empty, has spaces, or is "*", which filters take as any id.
    """
    owners = {name: id for name in ENTITIES if (id := checked_id(ids.get(name), name)) is not None}
    if not owners:
        raise ValidationError(
            "user_id",
            "no id says whose memory it is",
            f"give at least one of {', '.join(ENTITIES)}",
            "VALIDATION_001",
            {"provided_ids": dict.fromkeys(ENTITIES)},
        )
    for name, id in owners.items():
        if id == ANY:
            raise InvalidInput(name, 'is "*", which stands for any id', "give another")
    return owners


def conditions(filters: Mapping[str, Any] | None) -> Conditions:
    """The filter of salience for one of mem0, which has to name an id.

    Raises:
        InvalidInput: it names no id, or has an unknown operator or a wrong value.
    """
    if filters is not None and not isinstance(filters, Mapping):
        raise InvalidInput("filters", f"is {shown(filters)}", "give a mapping")
    if not names_entity(filters or {}):
        raise InvalidInput(
            "filters",
            f"must contain at least one of: {', '.join(ENTITIES)}",
            "for example filters={'user_id': 'u1'}",
        )
    return _all(filters or {})


def names_entity(filters: Any) -> bool:
    """Test whether a filter says anything about an id."""
    if isinstance(filters, Mapping):
        return any(
            key in ENTITIES or (key in _LOGIC and names_entity(value))
            for key, value in filters.items()
        )
    return isinstance(filters, list | tuple) and any(map(names_entity, filters))


def entity_filter(ids: Mapping[str, Any]) -> dict[str, Any]:
    """A filter of the ids that are given."""
    return {name: ids[name] for name in ENTITIES if ids.get(name) is not None}


def without_identity(metadata: Any, where: str) -> dict[str, Any]:
    """Metadata without the ids of the owners of a memory; each one left out is logged."""
    if not isinstance(metadata, Mapping):
        raise InvalidInput("metadata", f"is {shown(metadata)}", "give a mapping")
    ids = {*ENTITIES, "actor_id"}
    for name in sorted(ids & metadata.keys()):
        _log.warning("%s: metadata[%r] is left out: it does not set whose a memory is", where, name)
    return {name: value for name, value in metadata.items() if name not in ids}


def _all(filters: Mapping[str, Any]) -> Conditions:
    return _joined("$and", [_part(key, value) for key, value in filters.items()])


def _joined(logic: str, parts: Iterable[Conditions]) -> Conditions:
    several = list(parts)
    return several[0] if len(several) == 1 else {logic: several}


def _part(key: Any, value: Any) -> Conditions:
    """The conditions of one entry of a filter."""
    if not isinstance(key, str):
        raise InvalidInput("filters", f"has the key {shown(key)}", "names of fields are text")
    logic = _LOGIC.get(key)
    if logic is None:
        if key == "metadata" and isinstance(value, Mapping):
            return _joined("$and", [_field(f"metadata.{n}", v) for n, v in value.items()])
        return _field(key, value)
    is_list = isinstance(value, list | tuple)
    if not is_list or (logic != "and" and not value):
        kind = "a list" if logic == "and" else "a non-empty list"
        raise InvalidInput(f"filters.{key}", f"operator requires {kind} of conditions")
    for part in value:
        if not isinstance(part, Mapping):
            raise InvalidInput(f"filters.{key}", f"has {shown(part)}", "give a list of filters")
    parts = [_all(part) for part in value]
    return {"$not": {"$or": parts}} if logic == "not" else {f"${logic}": parts}


def _field(name: str, condition: Any) -> Conditions:
    """The conditions on one field: a value, a list of values, or values by operators."""
    if isinstance(condition, list | tuple):
        condition = {"in": list(condition)}
    elif not isinstance(condition, Mapping):
        condition = {"eq": condition}
    if not condition:
        raise InvalidInput(f"filters.{name}", "has no condition", "give a value")
    return _joined("$and", [_compared(name, *each) for each in condition.items()])


def _compared(name: str, operator: Any, value: Any) -> Conditions:
    """One comparison. As in mem0, a memory without the field is not unequal to anything."""
    key = str(operator).removeprefix("$")
    if key not in _OPERATORS and key not in _NEGATED:
        raise InvalidInput(
            f"filters.{name}",
            f"Unsupported filter operator: {shown(operator)}",
            f"use one of {', '.join((*_OPERATORS, *_NEGATED))}",
        )
    paths = _PATHS.get(name) or (name if name.startswith("metadata.") else f"metadata.{name}",)
    if name in ENTITIES:
        value = _each(value, lambda id: checked_id(id, name))
    elif name == "expiration_date" and value != ANY:
        value = _each(value, lambda day: (end := expires_at(day)) and end.isoformat())
    if value == ANY and key in ("eq", "ne"):
        exists = _on(paths, {"exists": True})
        return exists if key == "eq" else {"$not": exists}
    if key in _OPERATORS:
        return _on(paths, {_OPERATORS[key]: value})
    return {"$and": [_on(paths, {"exists": True}), {"$not": _on(paths, {_NEGATED[key]: value})}]}


def _each(value: Any, read: Callable[[Any], Any]) -> Any:
    """A value as it is read, or each one of a list."""
    return [read(each) for each in value] if isinstance(value, list | tuple) else read(value)


def _on(paths: tuple[str, ...], condition: Conditions) -> Conditions:
    """A condition that one of the places of a field has to meet."""
    return _joined("$or", [{path: condition} for path in paths])
