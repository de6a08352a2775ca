"""Conditions on the values of metadata, in the language that LangGraph and LangChain share."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from salience.records.json_values import JSON_INTEGERS

LARGEST = 1.7976931348623157e308  # finite number
_ORDERS = {"$gt": "gt", "$gte": "gte", "$lt": "lt", "$lte": "lte"}
_NEVER: dict[str, Any] = {"or": []}
_ALWAYS: dict[str, Any] = {"and": []}


def conditions(path: str, wanted: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The filters for what the values of keys below a path have to be: equal, or as operators say.

    Raises:
        ValueError: there is no such operator.
    """
    for key, operand in wanted.items():
        name = f"{path}.{key}"
        if not isinstance(operand, Mapping):
            yield _compared(name, "$eq", operand)
        elif any(str(operator).startswith("$") for operator in operand):
            for operator, value in operand.items():
                yield _compared(name, operator, value)
        else:
            yield {name: {"exists": True}}
            yield from conditions(name, operand)


def _compared(name: str, operator: str, operand: Any) -> dict[str, Any]:
    """The filter for one comparison. What JSON cannot hold equals nothing.

    Raises:
        ValueError: there is no such operator.
    """
    if operator in ("$eq", "$ne"):
        if not _is_kept(operand):
            return _NEVER if operator == "$eq" else _ALWAYS
        return {name: {operator.removeprefix("$"): operand}}
    if operator not in _ORDERS:
        raise ValueError(f"Unsupported operator: {operator}")
    if isinstance(operand, int | float) and not _is_kept(operand):
        operand = math.inf if operand > LARGEST else -math.inf if operand < -LARGEST else operand
        if math.isinf(operand) and (operand > 0) == operator.startswith("$l"):
            return {name: {"gte": -LARGEST, "lte": LARGEST}}  # any number
        if not math.isfinite(operand):
            return _NEVER
        operand = float(operand)
    return {name: {_ORDERS[operator]: operand}}


def _is_kept(operand: Any) -> bool:
    """Test whether a stored value can be equal to an operand."""
    if isinstance(operand, float):
        return math.isfinite(operand)
    if isinstance(operand, int):
        return operand in JSON_INTEGERS
    return not (isinstance(operand, str) and "\0" in operand)
