"""Columns as filters read them: the same answers at a few places as everywhere, for as little."""

from typing import Any, cast
from unittest.mock import Mock

import numpy as np
import pytest

from salience.records.filters import Operator, folded, satisfies
from salience.stores.index import columns
from salience.stores.index.columns import CodedColumn, TextsColumn

VALUES = [None, "a", "b", "A", True, False, 0, 1, 1.0, 2.5, ["a"], ["a", 1], {"k": "a"}, ""]
OPERANDS: dict[str, list[Any]] = {
    "eq": [*VALUES, "not there"],
    "ne": [*VALUES, "not there"],
    "in": [["a", "b"], [None, "a"], [1, "a"], ["not there"], []],
    "nin": [["a", "b"], [None, "a"], [1, "a"], ["not there"], []],
    "contains": ["a", "", 1],
    "exists": [True, False],
    "gt": ["a", 0],
    "gte": ["a", 1],
    "lt": ["b", 2],
    "lte": ["b", 2.5],
}
CASES = [(name, operand) for name, operands in OPERANDS.items() for operand in operands]


@pytest.mark.parametrize(("operator", "operand"), CASES)
@pytest.mark.parametrize("share", [3, 40])
def test_a_mask_is_what_the_operator_says_of_each_value(
    operator: str, operand: Any, share: int
) -> None:
    compared = cast(Operator, operator)
    rng = np.random.default_rng(1)
    values = [VALUES[n] for n in rng.integers(len(VALUES), size=40)]
    column = CodedColumn()
    column.extend(values)
    at = rng.permutation(40)[:share]
    expected = [satisfies(compared, value, operand) for value in values]
    assert column.mask(compared, operand).tolist() == expected
    assert column.mask(compared, operand, at).tolist() == [expected[n] for n in at]
    assert CodedColumn().mask(compared, operand).tolist() == []


@pytest.mark.parametrize(
    ("operator", "operand"), [("eq", ("a",)), ("ne", ("a",)), ("in", [("a", "b"), ()])]
)
def test_a_mask_of_lists_of_texts(operator: Operator, operand: Any) -> None:
    values: list[Any] = [("A",), None, ("a", "b"), ("B",), (), ("a",)]
    column = TextsColumn()
    column.extend(values)
    expected = [satisfies(operator, folded(value or ()), operand) for value in values]
    assert column.mask(operator, operand).tolist() == expected
    assert column.mask(operator, operand, np.array([4, 2])).tolist() == [expected[4], expected[2]]


@pytest.mark.parametrize(
    ("operator", "operand", "asked"),
    [
        ("eq", None, 0), ("ne", "session 3", 0), ("ne", None, 0), ("exists", True, 0),
        ("nin", ["session 1"], 0), ("gt", "session 3", 3), ("contains", "3", 3),
    ],
)  # fmt: skip
def test_what_is_asked_at_a_few_places_does_not_grow_with_the_distinct_values(
    operator: Operator, operand: Any, asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    column = CodedColumn()
    column.extend([f"session {n}" for n in range(5_000)])
    counted = Mock(side_effect=satisfies)
    monkeypatch.setattr(columns, "satisfies", counted)
    column.mask(operator, operand, np.array([1, 7, 4_999, 7]))
    assert counted.call_count == asked
