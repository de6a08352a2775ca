"""Filters: conditions on the fields of memories.

    {"user_id": "ana"}                                   equality
    {"importance": {"gte": 0.5, "lt": 0.9}}              ranges
    {"kind": {"in": ["fact", "note"]}}                   one of
    {"tags": ["work", "travel"]}                         all of these elements of a list
    {"tags": {"contains": "work"}}                       an element of a list, or a part of a text
    {"metadata.topic": "billing"}                        any key of the metadata
    {"states": "health"}                                 what its text tells of who says it
    {"person": "Ana"}                                    of this user, or said by this speaker
    {"$or": [{"speaker": "Ana"}, {"$not": {"kind": "turn"}}]}

Several conditions in one mapping must all hold. Operators may be written with or without `$`.
A missing value satisfies only `ne`, `nin`, `{"exists": false}` and equality with None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from datetime import tzinfo
from typing import Any, Literal

from salience.errors import InvalidInput, SalienceError, shown
from salience.lazily import dataclass
from salience.records.fields import FIELDS, field_type
from salience.records.filter_fields import registered_filter_field
from salience.records.json_values import JSON_INTEGERS, MAX_METADATA_DEPTH, json_value
from salience.records.limits import Type
from salience.records.time_zone import UTC, localized
from salience.records.validation import EXACT_SCALARS, composed, native, storable, timestamp

Operator = Literal["eq", "ne", "in", "nin", "gt", "gte", "lt", "lte", "contains", "exists"]
OPERATORS: tuple[Operator, ...] = (
    "eq", "ne", "in", "nin", "gt", "gte", "lt", "lte", "contains", "exists",
)  # fmt: skip
MAX_FILTER_DEPTH = 64  # levels of and, or, not
MAX_FILTER_VALUES = 100_000  # conditions, and values that fields are compared with
_MAX_COPIED_DEPTH = 2 * MAX_FILTER_DEPTH + MAX_METADATA_DEPTH  # a list of parts is a level, too


@dataclass(frozen=True)
class Compare:
    """One comparison of a field (or `metadata.<key>`) with a value."""

    field: str
    operator: Operator
    value: Any


@dataclass(frozen=True)
class And:
    """All parts hold; with no parts it always holds."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True)
class Or:
    """At least one part holds; with no parts it never holds."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True)
class Not:
    """The part does not hold."""

    part: Filter


Filter = Compare | And | Or | Not
_WALKED = (dict, list, tuple, Compare, And, Or, Not, Iterable)
FOLDED_FIELDS = frozenset(name for name, field in FIELDS.items() if field.type == "list")
"""The fields whose elements are compared in any case; what they are compared with is folded."""


STATES = "states"
STATED_KINDS = {"circumstance": 1.0, "preference": 2.0, "instruction": 3.0, "health": 4.0}
"""The values of the filter field `states`, as the stored feature `personal` has them.

See `salience.language.statements.personal`.
"""
STATED = Compare("personal", "gte", 1.0)
"""Memories about their speaker."""
PERSON = "person"
"""The filter field for the memories of a person; see `of_person`."""


def all_of(*filters: Filter | None) -> Filter:
    """The filter that several hold together; None among them stands for no filter."""
    return And(tuple([part for part in filters if part is not None]))


def of_person(name: str) -> Filter:
    """The filter of the memories of a person, to list, export or erase them.

    They have the name as `user_id`, or as speaker where they belong to no other user: what another
    user's memories tell in that name is of somebody whom that user calls so.
    """
    spellings = tuple(sorted({name, *(f(name) for f in (str.lower, str.upper, str.title))}))
    owned = Or((Compare("user_id", "eq", None), Compare("user_id", "in", spellings)))
    spoken = Compare("speaker", "in", spellings)
    return Or((Compare("user_id", "eq", name), And((spoken, owned))))


def parse_filter(
    spec: Mapping[str, Any] | Filter | None, path: str = "filters", *, zone: tzinfo = UTC
) -> Filter | None:
    """A filter from its mapping form; None for none. Times without a zone are of this one.

    Raises:
        InvalidInput: an unknown field or operator, or a value of the wrong type; names the path.
    """
    if spec is None:
        return None
    try:
        plain = _Copying(path).plain(spec, 0)
    except SalienceError:
        raise
    except Exception as problem:  # of any kind, in a type from outside
        raise InvalidInput(path, f"cannot be read: {type(problem).__name__}") from problem
    token = _ZONE.set(zone)
    try:
        return _parsed(plain, path, 0)
    finally:
        _ZONE.reset(token)


_ZONE: ContextVar[tzinfo] = ContextVar("zone", default=UTC)
"""The zone of the times of the filter that is being parsed, which all its parts share."""


class _Copying:
    """The copying of a filter with mappings as dicts, other collections as lists, exact values."""

    def __init__(self, path: str) -> None:
        self.path, self.left = path, MAX_FILTER_VALUES

    def plain(self, value: Any, depth: int) -> Any:
        """A part of a filter, and all in it."""
        self.left -= 1
        if self.left < 0:
            raise InvalidInput(
                self.path, f"has more than {MAX_FILTER_VALUES:,} values", "ask for fewer at a time"
            )
        if type(value) in EXACT_SCALARS:
            return value
        value = native(value)
        if type(value) is str or not isinstance(value, _WALKED):
            return value
        if depth > _MAX_COPIED_DEPTH:
            raise InvalidInput("filters", f"are nested more than {MAX_FILTER_DEPTH} levels deep")
        if type(value) is dict or isinstance(value, Mapping):
            items = value.items()
            return {native(key): self.plain(item, depth + 1) for key, item in items}
        if isinstance(value, Compare):
            operand = self.plain(value.value, depth + 1)
            return Compare(native(value.field), native(value.operator), operand)
        if isinstance(value, Not):
            return Not(self.plain(value.part, depth + 1))
        if isinstance(value, And | Or):
            parts = tuple(self.plain(part, depth + 1) for part in value.parts)
            return And(parts) if isinstance(value, And) else Or(parts)
        if isinstance(value, bytes | bytearray | memoryview):
            return value
        return [self.plain(item, depth + 1) for item in value]


def _parsed(spec: Mapping[str, Any] | Filter | None, path: str, depth: int) -> Filter | None:
    if spec is None:
        return None
    if depth > MAX_FILTER_DEPTH:
        raise InvalidInput("filters", f"are nested more than {MAX_FILTER_DEPTH} levels deep")
    if isinstance(spec, (Compare, And, Or, Not)):
        return _checked(spec, path, depth)
    if not isinstance(spec, Mapping):
        raise InvalidInput(path, f"must be a mapping, not {type(spec).__name__}")
    parts: list[Filter] = []
    for key, value in spec.items():
        if not isinstance(key, str):
            raise InvalidInput(path, f"has the key {shown(key)}", "field names are text")
        logic = key.removeprefix("$").lower()
        if logic in ("and", "or"):
            if not isinstance(value, Sequence) or isinstance(value, str):
                raise InvalidInput(f"{path}.{key}", "must be a list of filters")
            inner = tuple(
                parsed
                for i, item in enumerate(value)
                if (parsed := _parsed(item, f"{path}.{key}[{i}]", depth + 1)) is not None
            )
            parts.append(And(inner) if logic == "and" else Or(inner))
        elif logic == "not":
            negated = _parsed(value, f"{path}.{key}", depth + 1)
            parts.append(Not(negated if negated is not None else And(())))
        elif key == "metadata":
            if not isinstance(value, Mapping):
                raise InvalidInput(f"{path}.metadata", "must be a mapping of keys to conditions")
            for name, item in value.items():
                parts.extend(_conditions(f"metadata.{name}", item, path))
        else:
            parts.extend(_conditions(key, value, path))
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def _checked(condition: Filter, path: str, depth: int) -> Filter:
    """A filter built of objects, checked by the same rules as one in mapping form."""
    if depth > MAX_FILTER_DEPTH:
        raise InvalidInput("filters", f"are nested more than {MAX_FILTER_DEPTH} levels deep")
    if not isinstance(condition, Compare | And | Or | Not):
        raise InvalidInput(path, f"has {shown(condition)} for a part", "use Compare, And, Or, Not")
    if isinstance(condition, Compare):
        if condition.field == STATED.field:  # of a filter that was parsed before
            return condition
        if type(condition.field) is not str:
            raise InvalidInput(path, f"compares {shown(condition.field)}", "field names are text")
        if condition.operator not in OPERATORS:
            raise InvalidInput(
                f"{path}.{condition.field}",
                f"{shown(condition.operator)} is not an operator",
                f"use one of {', '.join(OPERATORS)}",
            )
        name, operator = composed("field", condition.field), condition.operator
        return _compare(name, _type(name, path), operator, condition.value, path)
    if isinstance(condition, Not):
        return Not(_checked(condition.part, path, depth + 1))
    return type(condition)(tuple(_checked(part, path, depth + 1) for part in condition.parts))


def _type(name: str, path: str) -> Type:
    storable(path, name)
    if name in (STATES, PERSON):
        return "text"
    try:
        return field_type(name)
    except InvalidInput as problem:
        extension = registered_filter_field(name)
        if extension is not None:
            return extension.type
        raise InvalidInput(f"{path}.{name}", problem.problem, problem.remedy) from None


def _conditions(name: str, value: Any, path: str) -> list[Filter]:
    name = composed("field", name)
    kind = _type(name, path)
    if not isinstance(value, Mapping):
        if kind == "list" and isinstance(value, list) and value:  # all of these
            _operand(name, kind, "eq", value, path)
            return [_compare(name, kind, "contains", each, path) for each in value]
        return [_compare(name, kind, "eq", value, path)]
    if not value:
        raise InvalidInput(f"{path}.{name}", "has no condition")
    conditions: list[Filter] = []
    for key, operand in value.items():
        operator = key.removeprefix("$").lower() if isinstance(key, str) else ""
        if operator not in OPERATORS:
            raise InvalidInput(
                f"{path}.{name}",
                f"{shown(key)} is not an operator",
                f"use one of {', '.join(OPERATORS)}",
            )
        conditions.append(_compare(name, kind, operator, operand, path))
    return conditions


def _compare(name: str, kind: Type, operator: Operator, value: Any, path: str) -> Filter:
    """One comparison; of a list with single values, in terms of the elements of the list."""
    if name == STATES:
        return _stating(operator, value, path)
    if name == PERSON:
        return _of_persons(operator, value, path)
    if kind != "list":
        operand = _operand(name, kind, operator, value, path)
        return Compare(_stored_path(name), operator, operand)
    if operator in ("gt", "gte", "lt", "lte"):
        raise InvalidInput(f"{path}.{name}", f"{operator} needs an order", "use contains or in")
    if operator in ("ne", "nin"):
        return Not(_compare(name, kind, "eq" if operator == "ne" else "in", value, path))
    if operator == "contains" and isinstance(value, (list, tuple)):
        raise InvalidInput(
            f"{path}.{name}",
            "contains takes one element, not a list",
            f'give one; where several have to be in it, {{"{name}": ["...", "..."]}}',
        )
    operand = _operand(name, kind, operator, value, path)
    if name in FOLDED_FIELDS and operator in ("eq", "contains") and operand is not None:
        operand = operand.casefold() if isinstance(operand, str) else folded(operand)
    if operator == "in":
        return Or(tuple(_compare(name, kind, "eq", item, path) for item in operand))
    if operator == "exists":  # a list that was not given is empty
        empty = Compare(name, "eq", ())
        return Not(empty) if operand else empty
    if operator == "eq" and operand is None:
        return Compare(name, "eq", ())
    return Compare(name, "eq" if isinstance(operand, tuple) else "contains", operand)


def _stating(operator: Operator, value: Any, path: str) -> Filter:
    """A comparison of what a text says about its speaker, in terms of the stored feature."""
    if operator not in ("eq", "ne", "in", "nin", "exists"):
        raise InvalidInput(f"{path}.{STATES}", f"{operator} needs an order", "use eq, in or exists")
    operand = _operand(STATES, "text", operator, value, path)
    if operator == "exists":
        return STATED if operand else Not(STATED)
    for kind in operand if isinstance(operand, tuple) else (operand,):
        if kind not in STATED_KINDS:
            remedy = f"use one of {', '.join(STATED_KINDS)}"
            raise InvalidInput(f"{path}.{STATES}", f"is never {shown(kind)}", remedy)
    if isinstance(operand, tuple):
        return Compare(STATED.field, operator, tuple(map(STATED_KINDS.__getitem__, operand)))
    return Compare(STATED.field, operator, STATED_KINDS[operand])


def _of_persons(operator: Operator, value: Any, path: str) -> Filter:
    """A comparison of whose memories they are, in terms of the user and the speaker."""
    if operator not in ("eq", "ne", "in", "nin"):
        remedy = "use eq, ne, in or nin"
        raise InvalidInput(f"{path}.{PERSON}", f"{operator} needs a value of its own", remedy)
    operand = _operand(PERSON, "text", operator, value, path)
    names = operand if isinstance(operand, tuple) else (operand,)
    if None in names:
        raise InvalidInput(f"{path}.{PERSON}", "is None", "give the name of a person")
    owners = Or(tuple(map(of_person, names)))
    return Not(owners) if operator in ("ne", "nin") else owners


def _stored_path(name: str) -> str:
    """The path of a field in a memory: that in the metadata for a field from outside."""
    if name in FIELDS or name.startswith("metadata."):
        return name
    extension = registered_filter_field(name)
    return name if extension is None else f"metadata.{extension.key}"


def _operand(name: str, kind: Type, operator: Operator, value: Any, path: str) -> Any:
    """The right-hand side of a comparison: times as seconds, lists as tuples."""
    where = f"{path}.{name}"
    if operator == "exists":
        if not isinstance(value, bool):
            raise InvalidInput(where, "exists takes true or false")
        return value
    if operator in ("in", "nin"):
        if not isinstance(value, list):
            raise InvalidInput(where, f"{operator} takes a list")
        return tuple(_operand(name, kind, "eq", item, path) for item in value)
    if value is None:
        if operator in ("eq", "ne"):
            return None
        raise InvalidInput(where, f"{operator} needs a value", "use exists to ask for missing ones")
    if kind == "time":
        return timestamp(where, localized(value, _ZONE.get())).timestamp()
    if kind == "number":
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
            raise InvalidInput(where, f"is compared with {shown(value)}", "give a number")
        if isinstance(value, int) and value not in JSON_INTEGERS:
            raise InvalidInput(where, "is compared with too large a number")
        return float(value)
    if kind == "text":
        if not isinstance(value, str):
            raise InvalidInput(where, f"is compared with {shown(value)}", "give text")
        value = composed(name, storable(where, value))
    closed = kind == "text" and name in FIELDS and operator in ("eq", "ne")
    choices = FIELDS[name].choices if closed else ()
    if choices and value not in choices:
        raise InvalidInput(where, f"is never {shown(value)}", f"use one of {', '.join(choices)}")
    if kind == "json":
        value = json_value(where, value)
    if kind == "list":
        is_list = isinstance(value, (list, tuple))
        value = [_element(where, e) for e in value] if is_list else _element(where, value)
    return tuple(value) if isinstance(value, list) else value


def _element(where: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidInput(
            where, f"is compared with {shown(value)}", "give text, or a list of texts"
        )
    return composed("element", storable(where, value))


def folded(texts: Iterable[str]) -> tuple[str, ...]:
    """A list of texts as filters compare it: case-folded."""
    return tuple(text.casefold() for text in texts)


def satisfies(operator: Operator, value: Any, operand: Any) -> bool:
    """Test whether one stored value satisfies one comparison; this defines every operator."""
    if operator == "exists":
        return (value is not None) == operand
    if operator in ("ne", "nin"):
        return not satisfies("eq" if operator == "ne" else "in", value, operand)
    if operator == "eq":
        return _equal(value, operand) or _has_element(value, operand)
    if operator == "in":
        return any(satisfies("eq", value, item) for item in operand)
    if value is None:
        return False
    if operator == "contains":
        if isinstance(value, str):
            return isinstance(operand, str) and operand.casefold() in value.casefold()
        return isinstance(value, (list, tuple)) and any(_equal(item, operand) for item in value)
    texts = isinstance(value, str) and isinstance(operand, str)
    if not texts and not (_is_number(value) and _is_number(operand)):
        return False
    order: dict[Operator, Callable[[Any, Any], bool]] = {
        "gt": lambda a, b: a > b,
        "gte": lambda a, b: a >= b,
        "lt": lambda a, b: a < b,
        "lte": lambda a, b: a <= b,
    }
    return order[operator](value, operand)


def passes(condition: Filter | None, value_of: Callable[[str], Any]) -> bool:
    """Test whether a memory passes a filter; `value_of` gives its fields, times in seconds."""
    if condition is None:
        return True
    if isinstance(condition, Compare):
        value = value_of(condition.field)
        if condition.field in FOLDED_FIELDS:
            value = folded(value)
        return satisfies(condition.operator, value, condition.value)
    if isinstance(condition, Not):
        return not passes(condition.part, value_of)
    results = (passes(part, value_of) for part in condition.parts)
    return all(results) if isinstance(condition, And) else any(results)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _has_element(value: Any, operand: Any) -> bool:
    """Test whether a list has a single value in it; None is that of a missing one."""
    if operand is None or isinstance(operand, (list, tuple)):
        return False
    return isinstance(value, (list, tuple)) and any(_equal(item, operand) for item in value)


def _equal(value: Any, operand: Any) -> bool:
    if isinstance(value, (list, tuple)) and isinstance(operand, (list, tuple)):
        return len(value) == len(operand) and all(map(_equal, value, operand))
    if isinstance(value, Mapping) and isinstance(operand, Mapping):
        return value.keys() == operand.keys() and all(_equal(value[k], operand[k]) for k in value)
    if isinstance(value, bool) != isinstance(operand, bool):
        return False
    return bool(value == operand)


def filter_fields(condition: Filter | None) -> frozenset[str]:
    """The names of all fields that a filter compares."""
    if condition is None:
        return frozenset()
    if isinstance(condition, Compare):
        return frozenset({condition.field})
    if isinstance(condition, Not):
        return filter_fields(condition.part)
    return frozenset().union(*(filter_fields(part) for part in condition.parts))
