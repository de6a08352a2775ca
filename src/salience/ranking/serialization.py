"""Profiles written down: stages, routes and signals as JSON, and back with errors that say where.

    {"type": "Col", "name": "vector.score"}

A node is an object with its `type`, the name of its class, and its fields; in place of a signal, a
number stands for a constant and a text for the column of that name. A type from outside the package
is known once its class was imported; one that is not known is looked for among the entry points
`salience.signals`, `salience.stages` and `salience.routes`.
"""

from __future__ import annotations

import math
import types
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, fields, is_dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from salience.errors import InvalidInput, InvalidProfile, shown
from salience.extensions import load_entry_point
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
"""The present name of each type that files written by earlier versions name."""
_FORMER_FIELDS = {
    "Depth": {"least": "min_rows"},
    "MinValue": {"least": "minimum"},
    "QueryFlag": {"name": "feature"},
    "SessionFirst": {"most": "max_support"},
    "WhenQuery": {"fact": "feature"},
}
"""The present name of each field that files written by earlier versions name, by type."""
_FORMER_FEATURES = {
    "about_assistant": "query_is_about_assistant",
    "about_self": "query_is_first_person",
    "asks_advice": "query_asks_advice",
    "asks_name": "query_asks_name",
    "asks_number": "query_asks_number",
    "asks_present": "query_asks_present",
    "asks_when": "query_asks_when",
    "looks_ahead": "query_is_not_recall",
    "names_date": "query_names_date",
    "names_one": "query_names_one_speaker",
    "roles": "namespace_has_user",
    "wants_summary": "query_asks_summary",
}
"""The present name of each feature of a query that files written by earlier versions name."""
_FORMER_COLUMNS = {"names": "proper_nouns", "previous.names": "previous.proper_nouns"}
"""The present name of each column that files written by earlier versions name."""
_NAMES = {float: "a number", int: "a whole number", str: "text", bool: "true or false"}


def to_data(value: Any) -> Any:
    """A stage, route or signal (or a tuple of them) as JSON-ready data."""
    if is_dataclass(value) and not isinstance(value, type):
        values = {field.name: to_data(getattr(value, field.name)) for field in fields(value)}
        return {"type": type(value).__name__, **values}
    return [to_data(item) for item in value] if isinstance(value, tuple) else value


def from_data(data: Any, wanted: Any, path: str) -> Any:
    """The value of the type `wanted` that `to_data` wrote, at a path."""
    kinds = _kinds(wanted)
    if kinds:
        return _node(data, kinds, wanted, path)
    if get_origin(wanted) in (Union, types.UnionType):
        return _union(data, get_args(wanted), path)
    if get_origin(wanted) is tuple:
        return _tuple(data, get_args(wanted), path)
    if get_origin(wanted) is Literal:
        if data not in get_args(wanted):
            raise InvalidProfile(path, f"is {shown(data)}", _remedy(data, get_args(wanted)))
        return data
    return _plain(data, wanted, path)


def _union(data: Any, options: Sequence[Any], path: str) -> Any:
    if data is None and type(None) in options:
        return None
    options = [option for option in options if option is not type(None)]
    if len(options) == 1:
        return from_data(data, options[0], path)
    for option in options:
        try:
            return from_data(data, option, path)
        except InvalidProfile:
            continue
    names = " or ".join(_type_name(option) for option in options)
    raise InvalidProfile(path, f"is {_described(data)}", f"give {names}")


def _tuple(data: Any, types: Sequence[Any], path: str) -> tuple[Any, ...]:
    if not isinstance(data, (list, tuple)):
        raise InvalidProfile(path, f"is {_described(data)}", "give a list")
    if types[-1] is not Ellipsis and len(data) != len(types):
        raise InvalidProfile(path, f"has {len(data)} items", f"give {len(types)}")
    wanted = [types[0]] * len(data) if types[-1] is Ellipsis else types
    return tuple(
        from_data(item, of, f"{path}[{i}]")
        for i, (item, of) in enumerate(zip(data, wanted, strict=True))
    )


def _plain(data: Any, wanted: Any, path: str) -> Any:
    if wanted is float and isinstance(data, int) and not isinstance(data, bool):
        with suppress(OverflowError):  # more digits than any float has
            data = float(data)
    is_bool = isinstance(data, bool)
    right = wanted is Any or (isinstance(data, wanted) and is_bool == (wanted is bool))
    if not right or (isinstance(data, float) and not math.isfinite(data)):
        raise InvalidProfile(path, f"is {_described(data)}", f"give {_type_name(wanted)}")
    return data


def _node(data: Any, kinds: Mapping[str, type], wanted: Any, path: str) -> Any:
    """The stage, route or signal that an object describes."""
    if any(issubclass(kind, Signal) for kind in kinds.values()):
        if isinstance(data, (int, float)) and not isinstance(data, bool):
            return Constant(_plain(data, float, path))
        if isinstance(data, str):
            return Col(_FORMER_COLUMNS.get(data, data))
    if not isinstance(data, Mapping):
        raise InvalidProfile(path, f"is {_described(data)}", 'give an object {"type": ...}')
    name = str(data.get("type"))
    kind = kinds.get(_FORMER_TYPES.get(name, name)) or _extension(name, wanted)
    if kind is None:
        problem = f"has the type {data['type']!r}" if "type" in data else "has no type"
        raise InvalidProfile(path, problem, _remedy(data.get("type"), kinds))
    former = _FORMER_FIELDS.get(kind.__name__, {})
    arguments = {str(key): item for key, item in data.items() if key != "type"}
    values = {former.get(key, key): item for key, item in arguments.items()}
    if isinstance(feature := values.get("feature"), str):
        values["feature"] = _FORMER_FEATURES.get(feature, feature)
    if kind is Col and isinstance(column := values.get("name"), str):
        values["name"] = _FORMER_COLUMNS.get(column, column)
    _check_fields(kind, values, path)
    hints = _hints(kind)
    values = {key: from_data(item, hints[key], f"{path}.{key}") for key, item in values.items()}
    try:
        return kind(**values)
    except InvalidInput as problem:
        raise InvalidProfile(f"{path}.{problem.field}", problem.problem, problem.remedy) from None
    except (TypeError, ValueError) as problem:
        raise InvalidProfile(path, str(problem)) from None


def _check_fields(kind: type, values: Mapping[str, Any], path: str) -> None:
    """Refuse fields that a node does not have, and the lack of one without a default."""
    hints = _hints(kind)
    for name in values:
        if name not in hints:
            problem = f"is not a part of {kind.__name__}"
            raise InvalidProfile(f"{path}.{name}", problem, _remedy(name, hints))
    for field in fields(kind):
        if field.name not in values and field.default is field.default_factory is MISSING:
            raise InvalidProfile(
                path,
                f"is a {kind.__name__} without {field.name}",
                f"give {_type_name(hints[field.name])}",
            )


def _families(wanted: Any) -> tuple[type, ...]:
    """The classes of nodes that a type allows; none for a plain type."""
    options = get_args(wanted) if get_origin(wanted) in (Union, types.UnionType) else (wanted,)
    if all(isinstance(option, type) and is_dataclass(option) for option in options):
        return options
    return ()


def _kinds(wanted: Any) -> dict[str, type]:
    """The kinds of nodes that a type allows, by name; none for a plain type."""
    kinds: dict[str, type] = {}
    for family in _families(wanted):
        below = list(_subclasses(family))
        kinds.update((kind.__name__, kind) for kind in below or [family])
    return kinds


def _subclasses(family: type) -> Iterator[type]:
    """The public dataclasses below a class, and other public classes with none below them."""
    subclasses: list[type] = family.__subclasses__()
    for kind in subclasses:
        if kind.__name__.startswith("_"):
            continue
        if "__dataclass_fields__" in vars(kind) or not kind.__subclasses__():
            yield kind
        yield from _subclasses(kind)


def _extension(name: str, wanted: Any) -> type | None:
    """The class of a node from the entry point of its name, None for none."""
    for family in _families(wanted):
        kind = load_entry_point(f"{family.__name__.lower()}s", name)
        if isinstance(kind, type) and issubclass(kind, family):
            return kind
    return None


@cache
def _hints(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _type_name(wanted: Any) -> str:
    if wanted in _NAMES:
        return _NAMES[wanted]
    if get_origin(wanted) is tuple:
        return "a list"
    if get_origin(wanted) in (Union, types.UnionType):
        options = (option for option in get_args(wanted) if option is not type(None))
        return " or ".join(_type_name(option) for option in options)
    return "a signal" if wanted is Signal else "a route" if wanted is Route else "an object"


def _described(data: Any) -> str:
    if isinstance(data, Mapping):
        return f"the object {data.get('type')}" if "type" in data else "an object"
    return "a list" if isinstance(data, (list, tuple)) else shown(data)


def _remedy(name: Any, options: Any) -> str:
    close = get_close_matches(str(name), [str(option) for option in options], 1)
    names = ", ".join(str(option) for option in sorted(options, key=str))
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


def unknown_column(path: str, stage: Any, column: str, columns: Sequence[str]) -> InvalidProfile:
    """The error for a stage that reads a column which nothing provides: which node, what else."""
    readers = [at for at, node in nodes(stage, path) if column in node.columns()]
    return InvalidProfile(
        readers[0] if readers else path,
        f"{type(stage).__name__.lower()} reads {shown(column)}, which no earlier stage writes "
        "and no memory has",
        _remedy(column, columns),
    )
