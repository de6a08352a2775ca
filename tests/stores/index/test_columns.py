"""Columns as filters read them: the same answers at a few places as everywhere, for as little."""

import json
from typing import Any, cast
from unittest.mock import Mock

import numpy as np
import pytest

from salience.records.filters import Operator, folded, satisfies
from salience.records.record import ACCESSES_KEPT
from salience.retrieval.candidates import equality_key
from salience.stores import codec
from salience.stores.codec import pack_times
from salience.stores.index import columns
from salience.stores.index.columns import CodedColumn, NumberColumn, TextsColumn, TimesColumn

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


def test_a_column_works_out_each_distinct_value_once(monkeypatch: pytest.MonkeyPatch) -> None:
    worked_out = Mock(wraps=equality_key)
    monkeypatch.setattr(columns, "equality_key", worked_out)
    column = TextsColumn()
    values = [("a", "b"), None, (), ("A",)]
    column.extend(values * 1_000)
    assert worked_out.call_count <= 2 * len(values)
    assert column.at(np.arange(8)) == values * 2


def test_times_of_many_memories_are_those_of_each() -> None:
    values = [None, b"", pack_times([1.0]), pack_times(range(ACCESSES_KEPT + 3, 0, -1))] * 2
    together, one_by_one = TimesColumn(), TimesColumn()
    together.extend(values)
    one_by_one.extend([None] * len(values))
    for place, value in enumerate(values):
        one_by_one.set(place, value)
    ordinals = np.arange(len(values))
    np.testing.assert_array_equal(together.take(ordinals), one_by_one.take(ordinals))
    assert together.take(ordinals)[2, 0] == 1.0


def test_json_of_many_memories_is_parsed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parse = Mock(wraps=json.loads)
    monkeypatch.setattr(json, "loads", parse)
    stored = ['{"a": [1, "x"], "b": {"c": null}}', None, "", '{"a": "é, ]["}', '{"a": 1.0}']
    assert codec.metadata_values(stored * 100, "a") == [
        (1, "x"), None, None, "é, ][", 1.0,
    ] * 100  # fmt: skip
    assert codec.metadata_values(stored, "b.c") == [None] * 5
    assert parse.call_count == 2


@pytest.mark.parametrize("damaged", ["{", '{"a": 1}, {"a": 2}', '"', "]", '{"a": 1}]', 7, b"{}"])
def test_damaged_json_among_others_is_refused(damaged: Any) -> None:
    for place in range(3):
        stored: list[Any] = ['{"a": 1}', '{"a": 2}']
        stored.insert(place, damaged)
        with pytest.raises((ValueError, TypeError)):
            codec.metadata_values(stored, "a")


def test_a_column_of_numbers_that_nobody_has_set_takes_no_room() -> None:
    column = NumberColumn()
    column.extend([None] * 1_000)
    column.extend([None])
    column.set(3, None)
    assert (column.nbytes, len(column.values)) == (0, 1_001)
    assert np.isnan(column.values).all()
    assert column.mask("exists", True).sum() == column.mask("lt", 5.0).sum() == 0
    assert column.mask("eq", None, np.array([1, 2])).all()
    column.set(-1, 2.0)
    column.extend([None, 3.0])
    assert column.nbytes == 8 * 1_003
    assert column.mask("exists", True).nonzero()[0].tolist() == [1_000, 1_002]
    assert column.take(np.array([1_000, 0, 1_002])).tolist()[::2] == [2.0, 3.0]
