"""Filters as SQL: the meaning is `salience.records.filters.satisfies`, the values are parameters.

Where a condition is neither true nor false in SQL (NULL), the filter does not hold; "not" is
therefore IS NOT TRUE.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import Any

from salience.language.features import FEATURES
from salience.lazily import dataclass
from salience.records.fields import FIELDS
from salience.records.filters import (
    FOLDED_FIELDS,
    And,
    Compare,
    Filter,
    Not,
    Operator,
    Or,
    filter_fields,
    passes,
)

_ORDER_OPERATORS = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}


@dataclass(frozen=True)
class Condition:
    """A piece of SQL with the parameters in it."""

    sql: str
    parameters: tuple[Any, ...] = ()


_TRUE, _FALSE = Condition("TRUE"), Condition("FALSE")


def compile_filter(where: Filter | None, table: str = "memories") -> Condition:
    """A filter as a condition on a table that has the columns of `memories`."""
    if where is None:
        return _TRUE
    if isinstance(where, Compare):
        return _compare(where, table)
    if isinstance(where, Not):
        return _negate(compile_filter(where.part, table))
    parts = [compile_filter(part, table) for part in where.parts]
    if isinstance(where, And):
        return _combine(" AND ", parts, _TRUE)
    assert isinstance(where, Or)
    return _combine(" OR ", parts, _FALSE)


def _negate(part: Condition) -> Condition:
    return Condition(f"({part.sql}) IS NOT TRUE", part.parameters)


def _combine(word: str, parts: Sequence[Condition], empty: Condition) -> Condition:
    if not parts:
        return empty
    return Condition(
        "(" + word.join(part.sql for part in parts) + ")",
        tuple(value for part in parts for value in part.parameters),
    )


def _compare(compare: Compare, table: str) -> Condition:
    operator, operand = compare.operator, compare.value
    if operator in ("ne", "nin"):
        positive: Operator = "eq" if operator == "ne" else "in"
        return _negate(_compare(Compare(compare.field, positive, operand), table))
    if compare.field.startswith("metadata."):
        return _compare_json(
            _metadata_value(compare.field.removeprefix("metadata."), table), operator, operand
        )
    if compare.field in FOLDED_FIELDS:
        return _compare_list(f"{table}.{folded_column(compare.field)}", operator, operand)
    if compare.field == "personal":
        return _compare_scalar(_personal(table), "double precision", operator, operand)
    column = f"{table}.{compare.field}"
    kind = FIELDS[compare.field].type
    return _compare_scalar(
        column, "text" if kind == "text" else "double precision", operator, operand
    )


def _personal(table: str) -> str:
    """The feature of how much a memory tells about its speaker: 0 to 4 in single precision."""
    upper_bytes = f"substring({table}.features FROM {4 * FEATURES.index('personal') + 3} FOR 2)"
    numbers = enumerate((0.0, 1.0, 2.0, 3.0, 4.0))
    cases = (f"WHEN '\\x{struct.pack('<f', x)[2:].hex()}'::bytea THEN {n}" for n, x in numbers)
    return f"(CASE {upper_bytes} {' '.join(cases)} END)::double precision"


def _compare_scalar(column: str, kind: str, operator: Operator, operand: Any) -> Condition:
    """A comparison of text, a number or a time."""
    if operator == "exists":
        return Condition(f"{column} IS {'NOT ' if operand else ''}NULL")
    if operator == "in":
        values = [item for item in operand if item is not None]
        is_in = Condition(f"{column} = ANY(%s::{kind}[])", (values,))
        if len(values) == len(operand):
            return is_in
        return Condition(f"({is_in.sql} OR {column} IS NULL)", is_in.parameters)
    if operator == "eq":
        if operand is None:
            return Condition(f"{column} IS NULL")
        return Condition(f"{column} = %s::{kind}", (operand,))
    if operator == "contains":
        if kind != "text" or not isinstance(operand, str):
            return _FALSE
        return Condition(f"strpos(casefolded({column}), %s::text) > 0", (operand.casefold(),))
    return Condition(f"{column} {_ORDER_OPERATORS[operator]} %s::{kind}", (operand,))


def folded_column(field: str) -> str:
    """The column with the case-folded elements of a field: not every server folds as Python."""
    return f"folded_{field}"


def _compare_list(column: str, operator: Operator, operand: Any) -> Condition:
    """A comparison of a list of texts; an empty one is stored as NULL."""
    if operator == "eq":
        if operand == ():
            return Condition(f"{column} IS NULL")
        if not all(isinstance(item, str) for item in operand):
            return _FALSE
        return Condition(f"{column} = %s::text[]", (list(operand),))
    assert operator == "contains"
    return Condition(f"{column} @> %s::text[]", ([operand],))


def _metadata_value(key: str, table: str) -> Condition:
    """The value of a key of the metadata as jsonb, NULL where there is none or null."""
    column = f"{table}.metadata"
    parts = key.split(".")
    nested = Condition(column + " -> %s::text" * len(parts), tuple(parts))
    if len(parts) > 1:
        whole = f"{column} -> %s::text"
        nested = Condition(f"coalesce({whole}, {nested.sql})", (key, *nested.parameters))
    return Condition(f"nullif(({nested.sql})::jsonb, 'null'::jsonb)", nested.parameters)


def _compare_json(value: Condition, operator: Operator, operand: Any) -> Condition:
    """A comparison of a value of the metadata."""
    parameters = value.parameters
    if operator == "exists":
        return Condition(f"{value.sql} IS {'NOT ' if operand else ''}NULL", parameters)
    if operator == "in":
        parts = [_compare_json(value, "eq", item) for item in operand]
        return _combine(" OR ", parts, _FALSE)
    if operator == "eq":
        if operand is None:
            return Condition(f"{value.sql} IS NULL", parameters)
        equal = Condition(f"{value.sql} = %s::text::jsonb", (*parameters, _json_text(operand)))
        if isinstance(operand, list | tuple):
            return equal
        return _combine(" OR ", [equal, _json_has(value, operand)], _FALSE)
    if operator == "contains":
        return _json_contains(value, operand)
    word = _ORDER_OPERATORS[operator]
    if isinstance(operand, str):
        return Condition(
            f"(CASE jsonb_typeof({value.sql}) WHEN 'string' THEN ({value.sql} #>> '{{}}') "
            f'COLLATE "C" {word} %s::text END)',
            (*parameters, *parameters, operand),
        )
    if isinstance(operand, bool) or not isinstance(operand, int | float):
        return _FALSE
    return Condition(
        f"(CASE jsonb_typeof({value.sql}) WHEN 'number' THEN ({value.sql})::numeric {word} "
        "%s::text::numeric END)",
        (*parameters, *parameters, _json_text(operand)),
    )


def _json_contains(value: Condition, operand: Any) -> Condition:
    parameters, element = value.parameters, _json_has(value, operand)
    if not isinstance(operand, str):
        return element
    part = Condition(
        f"(CASE jsonb_typeof({value.sql}) WHEN 'string' THEN "
        f"strpos(casefolded({value.sql} #>> '{{}}'), %s::text) > 0 END)",
        (*parameters, *parameters, operand.casefold()),
    )
    return _combine(" OR ", [part, element], _FALSE)


def _json_has(value: Condition, operand: Any) -> Condition:
    """A condition that a list of the metadata has an element."""
    parameters = value.parameters
    return Condition(
        f"(CASE jsonb_typeof({value.sql}) WHEN 'array' THEN EXISTS (SELECT FROM "
        f"jsonb_array_elements({value.sql}) AS item WHERE item = %s::text::jsonb) END)",
        (*parameters, *parameters, _json_text(operand)),
    )


def _json_text(value: Any) -> str:
    """A value as JSON text; a whole number is written as one, so that 1.0 is 1."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, ensure_ascii=False)


_UNUSUAL_MEMORY = "(m.status <> 'active' OR m.expires_at IS NOT NULL)"
_USUAL_VALUES: dict[str, Any] = {"status": "active", "expires_at": None}


def split_filter(where: Filter | None) -> tuple[Filter | None, Filter | None]:
    """The parts of a filter that the usual memory (active, without an end) passes, and the rest."""
    if where is None:
        return None, None
    parts = where.parts if isinstance(where, And) else (where,)
    usual = tuple(
        part
        for part in parts
        if filter_fields(part) <= _USUAL_VALUES.keys() and passes(part, _USUAL_VALUES.__getitem__)
    )
    rest = tuple(part for part in parts if part not in usual)
    return (And(usual) if usual else None), (And(rest) if rest else None)


def row_condition(where: Filter | None, owner: str) -> Condition:
    """A filter as a condition on the `"row"` of a table whose alias is `owner`.

    Memories that fail the usual part are few, and have an index of their own.
    """
    usual, rest = split_filter(where)
    sql, parameters = "", ()
    memory = (
        f'SELECT FROM memories m WHERE m.namespace = {owner}.namespace AND m."row" = {owner}."row"'
    )
    if usual is not None:
        left_out = compile_filter(usual, "m")
        sql += f" AND NOT EXISTS ({memory} AND {_UNUSUAL_MEMORY} AND ({left_out.sql}) IS NOT TRUE)"
        parameters += left_out.parameters
    if rest is not None:
        passing = compile_filter(rest, "m")
        sql += f" AND EXISTS ({memory} AND {passing.sql})"
        parameters += passing.parameters
    return Condition(sql, parameters)
