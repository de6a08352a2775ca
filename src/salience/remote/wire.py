"""Arguments as JSON: times, arrays, filters, profiles and policies as a server reads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import fields
from datetime import date
from pathlib import PurePath
from typing import Any

import numpy as np

from salience.display.result import to_json
from salience.errors import InvalidInput, SalienceError, shown
from salience.ranking import profiles
from salience.ranking.profile import Profile
from salience.records.filters import And, Compare, Not, Or
from salience.records.json_values import JSON_INTEGERS
from salience.records.validation import finite, native, storable, timestamp
from salience.search.context import Section
from salience.write.dedup import DedupPolicy

MAX_DEPTH = 60  # levels of lists and mappings in an argument; a server takes 64 in a body


def to_wire(path: str, value: Any) -> Any:
    """The value of an argument in types that JSON has; `path` names it in errors.

    Raises:
        InvalidInput: names what cannot be sent.
    """
    try:
        return _plain(path, value, 0)
    except SalienceError:
        raise
    except Exception as problem:  # of any kind, in a type from outside
        raise InvalidInput(path, f"cannot be read: {type(problem).__name__}") from problem


def query_to_wire(query: Any) -> Any:
    """A question, with "?" for each half of a character."""
    query = native(query)
    if type(query) is str:
        return query.encode("utf-8", "replace").decode("utf-8")
    return to_wire("query", query)


def profile_to_wire(path: str, profile: Any) -> Any:
    """A profile: by its name, or as its JSON if it is an object or in a file on this machine."""
    if isinstance(profile, PurePath) or (isinstance(profile, str) and _is_file_name(profile)):
        profile = profiles.get(profile)  # type: ignore[arg-type]
    if isinstance(profile, Profile) and profiles.BUILT_IN.get(profile.name) is profile:
        return profile.name
    return to_wire(path, profile)


def _is_file_name(name: str) -> bool:
    return name.endswith(".json") or "/" in name or "\\" in name


def _plain(path: str, value: Any, depth: int) -> Any:
    value = native(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return storable(path, value)
    if isinstance(value, int | float):
        return _number(path, value)
    if isinstance(value, date):  # or a datetime
        return to_json(timestamp(path, value))
    if depth > MAX_DEPTH:
        raise InvalidInput(path, f"is nested more than {MAX_DEPTH} levels deep")
    if "metadata" not in path.split("."):  # which holds nothing that JSON does not have
        value = _written_out(value)
    elif not isinstance(value, Mapping | Sequence | Set):
        raise _unsendable(path, value)
    if isinstance(value, Mapping):
        return {
            _key(path, key): _plain(f"{path}.{key}", item, depth + 1) for key, item in value.items()
        }
    if isinstance(value, bytes | bytearray | memoryview) or not isinstance(value, Iterable):
        raise _unsendable(path, value)
    items = sorted(value) if isinstance(value, set | frozenset) else value
    return [_plain(path, item, depth + 1) for item in items]


def _written_out(value: Any) -> Any:
    """A profile, a filter, a policy, a section or an array in its JSON; anything else as it is."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Profile):
        return value.to_dict()
    if isinstance(value, Compare | And | Or | Not):
        return _condition(value)
    if isinstance(value, DedupPolicy | Section):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    return value


def _number(path: str, value: float) -> float:
    """A number that JSON has, and that every reader of JSON can be trusted with."""
    if isinstance(value, int) and value not in JSON_INTEGERS:
        raise InvalidInput(path, f"is {shown(value)}", "give a smaller number")
    if isinstance(value, float) and not finite(value):
        raise InvalidInput(path, f"is {shown(value)}", "give a finite number")
    return value


def _key(path: str, key: Any) -> str:
    key = native(key)
    if type(key) is not str:
        raise InvalidInput(path, f"has the key {shown(key)}", "keys are text")
    return storable(path, key)


def _condition(condition: Compare | And | Or | Not) -> dict[str, Any]:
    """A filter in its mapping form, with its parts as they are."""
    if isinstance(condition, Compare):
        return {condition.field: {condition.operator: condition.value}}
    if isinstance(condition, Not):
        return {"not": condition.part}
    return {"and" if isinstance(condition, And) else "or": list(condition.parts)}


def _unsendable(path: str, value: Any) -> InvalidInput:
    if callable(value):
        problem = "is a function, which cannot be sent to a server"
        return InvalidInput(path, problem, "leave it out, or open the store itself")
    kind = type(value).__name__
    return InvalidInput(path, f"is of the type {kind}, which cannot be sent to a server")
