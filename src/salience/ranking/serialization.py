"""Profiles written down: stages, routes and signals as JSON, and back with errors that say where.

    {"type": "Col", "name": "vector.score"}

A node is an object with its `type` and its fields; where a signal is due, a number stands for a
constant and a text for the column of that name.
"""

from __future__ import annotations

import math
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from salience.errors import InvalidInput, InvalidProfile, shown
from salience.ranking.expressions import Col, Constant, Signal
from salience.retrieval.routes import Route

_FORMER_TYPES = {
    "AtLeast": "MinValue",
    "BestOf": "GroupMax",
    "During": "TimeWindow",
    "Exact": "ExactMatch",
    "Fact": "QueryFlag",
    "Given": "WhenQuery",
    "Lapsed": "Expired",
    "Latest": "LatestFact",
    "Named": "NamedExpression",
    "Nearby": "NeighborMass",
    "OverMax": "MaxScaled",
    "Recall": "Retrieve",
    "Scan": "MatchAll",
}
"""The names that types had in files written before."""
_NAMES = {float: "a number", int: "a whole number", str: "text", bool: "true or false"}


def to_data(value: Any) -> Any:
    """A stage, route or signal (or a tuple of them) as JSON-ready data."""
    if is_dataclass(value) and not isinstance(value, type):
        kept = {f.name: to_data(getattr(value, f.name)) for f in fields(value)}
        return {"type": type(value).__name__, **kept}
    return [to_data(item) for item in value] if isinstance(value, tuple) else value


def from_data(value: Any, due: Any, path: str) -> Any:
    """What `to_data` gave, as the type that is due at a path.

    Raises:
        InvalidProfile: names the path of the wrong node and what would be right.
    """
    kinds = _kinds(due)
    if kinds:
        return _node(value, kinds, path)
    if get_origin(due) in (Union, types.UnionType):
        return _either(value, get_args(due), path)
    if get_origin(due) is tuple:
        return _tuple(value, get_args(due), path)
    if get_origin(due) is Literal:
        if value not in get_args(due):
            raise InvalidProfile(path, f"is {shown(value)}", _choose(value, get_args(due)))
        return value
    return _plain(value, due, path)


def _either(value: Any, dues: Sequence[Any], path: str) -> Any:
    if value is None and type(None) in dues:
        return None
    wanted = [due for due in dues if due is not type(None)]
    if len(wanted) == 1:
        return from_data(value, wanted[0], path)
    for due in wanted:
        try:
            return from_data(value, due, path)
        except InvalidProfile:
            continue
    raise InvalidProfile(path, f"is {_said(value)}", f"give {' or '.join(map(_name, wanted))}")


def _tuple(value: Any, dues: Sequence[Any], path: str) -> tuple[Any, ...]:
    if not isinstance(value, (list, tuple)):
        raise InvalidProfile(path, f"is {_said(value)}", "give a list")
    if dues[-1] is not Ellipsis and len(value) != len(dues):
        raise InvalidProfile(path, f"has {len(value)} items", f"give {len(dues)}")
    each = [dues[0]] * len(value) if dues[-1] is Ellipsis else dues
    return tuple(
        from_data(item, due, f"{path}[{i}]")
        for i, (item, due) in enumerate(zip(value, each, strict=True))
    )


def _plain(value: Any, due: Any, path: str) -> Any:
    if due is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    right = due is Any or (isinstance(value, due) and isinstance(value, bool) == (due is bool))
    if not right or (isinstance(value, float) and not math.isfinite(value)):
        raise InvalidProfile(path, f"is {_said(value)}", f"give {_name(due)}")
    return value


def _node(value: Any, kinds: Mapping[str, type], path: str) -> Any:
    """The stage, route or signal that an object describes."""
    if any(issubclass(kind, Signal) for kind in kinds.values()):
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return Constant(_plain(value, float, path))
        if isinstance(value, str):
            return Col(value)
    if not isinstance(value, Mapping):
        raise InvalidProfile(path, f"is {_said(value)}", 'give an object {"type": ...}')
    type_name = str(value.get("type"))
    kind = kinds.get(_FORMER_TYPES.get(type_name, type_name))
    if kind is None:
        problem = f"has the type {value['type']!r}" if "type" in value else "has no type"
        raise InvalidProfile(path, problem, _choose(value.get("type"), kinds))
    given, hints = {n: v for n, v in value.items() if n != "type"}, _hints(kind)
    for name in given:
        if name not in hints:
            raise InvalidProfile(
                f"{path}.{name}", f"is no part of {kind.__name__}", _choose(name, hints)
            )
    for field in fields(kind):
        if field.name not in given and field.default is field.default_factory is MISSING:
            raise InvalidProfile(
                path,
                f"is a {kind.__name__} without {field.name}",
                f"give {_name(hints[field.name])}",
            )
    built = {name: from_data(item, hints[name], f"{path}.{name}") for name, item in given.items()}
    try:
        return kind(**built)
    except InvalidInput as problem:
        raise InvalidProfile(f"{path}.{problem.field}", problem.problem, problem.remedy) from None
    except (TypeError, ValueError) as problem:
        raise InvalidProfile(path, str(problem)) from None


def _kinds(due: Any) -> dict[str, type]:
    """The node types that may stand where `due` is asked for, by name; none for plain values."""
    options = get_args(due) if get_origin(due) in (Union, types.UnionType) else (due,)
    if not all(isinstance(option, type) and is_dataclass(option) for option in options):
        return {}
    return {kind.__name__: kind for option in options for kind in _concrete(option)}


def _concrete(kind: type) -> Iterator[type]:
    """The public classes at the ends of a family: one with classes below it is no node itself."""
    subclasses: list[type] = kind.__subclasses__()
    below = [subclass for subclass in subclasses if not subclass.__name__.startswith("_")]
    if not below:
        yield kind
    for subclass in below:
        yield from _concrete(subclass)


@cache
def _hints(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _name(due: Any) -> str:
    if due in _NAMES:
        return _NAMES[due]
    if get_origin(due) is tuple:
        return "a list"
    if get_origin(due) in (Union, types.UnionType):
        return " or ".join(_name(each) for each in get_args(due) if each is not type(None))
    return "a signal" if due is Signal else "a route" if due is Route else "an object"


def _said(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"the object {value.get('type')}" if "type" in value else "an object"
    return "a list" if isinstance(value, (list, tuple)) else repr(value)


def _choose(given: Any, known: Any) -> str:
    close = get_close_matches(str(given), [str(each) for each in known], 1)
    names = ", ".join(str(each) for each in sorted(known, key=str))
    return f"did you mean {close[0]}? there are {names}" if close else f"use one of {names}"


def nodes(value: Any, path: str) -> Iterator[tuple[str, Signal]]:
    """Every signal in a stage, with its path, the outermost first."""
    if isinstance(value, Signal):
        yield path, value
    if isinstance(value, tuple):
        for i, item in enumerate(value):
            yield from nodes(item, f"{path}[{i}]")
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from nodes(getattr(value, field.name), f"{path}.{field.name}")


def misread(path: str, stage: Any, missing: str, known: Sequence[str]) -> InvalidProfile:
    """The error for a stage that reads a column which nothing provides: which node, what else."""
    wrong = [at for at, node in nodes(stage, path) if missing in node.columns()]
    return InvalidProfile(
        wrong[0] if wrong else path,
        f"{type(stage).__name__.lower()} reads {shown(missing)}, which no earlier stage writes "
        "and no memory has",
        _choose(missing, known),
    )
