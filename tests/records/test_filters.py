"""The meaning of every operator, one value at a time and over the columns of an index."""

from datetime import datetime, timezone
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from salience.errors import InvalidInput
from salience.records.filters import (
    And,
    Compare,
    Filter,
    Not,
    Operator,
    Or,
    filter_fields,
    parse_filter,
    satisfies,
)
from salience.records.filters import passes as is_found
from salience.stores.index.columns import CodedColumn, NumberColumn, TextsColumn, evaluate
from support.examples import examples

OPERATORS: tuple[Operator, ...] = get_args(Operator)


@pytest.mark.parametrize(
    ("value", "operator", "operand", "truth"),
    [
        ("a", "eq", "a", True),
        ("a", "eq", "A", False),
        (None, "eq", None, True),
        (None, "eq", "a", False),
        (1, "eq", 1.0, True),
        (1, "eq", True, False),
        (True, "eq", True, True),
        (0, "eq", False, False),
        ("1", "eq", 1, False),
        ((1, 2), "eq", [1, 2], True),
        ((1, 2), "eq", (2, 1), False),
        ({"a": 1}, "eq", {"a": 1}, True),
        ("a", "ne", "b", True),
        (None, "ne", "b", True),
        (None, "ne", None, False),
        ("a", "in", ("b", "a"), True),
        ("a", "in", (), False),
        (None, "in", ("a",), False),
        (None, "in", ("a", None), True),
        (1, "in", (True,), False),
        ("a", "nin", ("b",), True),
        (None, "nin", ("b",), True),
        (2, "gt", 1, True),
        (1, "gt", 1, False),
        (1, "gte", 1, True),
        (1, "lt", 1.5, True),
        (1.5, "lte", 1.5, True),
        (True, "gte", 1, False),
        (1, "gte", True, False),
        (True, "lte", True, False),
        (None, "gt", 1, False),
        (None, "lt", 1, False),
        ("b", "gt", "a", True),
        ("b", "gt", 1, False),
        (1, "lt", "a", False),
        (1, "gt", (0,), False),
        ((1,), "gt", (0,), False),
        ({"a": 1}, "gt", 0, False),
        ("Hello World", "contains", "lo wo", True),
        ("Straße", "contains", "STRASSE", True),
        ("Hello", "contains", 5, False),
        (("red", "Blue"), "contains", "red", True),
        (("red", "Blue"), "contains", "blue", False),
        ((1, True), "contains", True, True),
        ((1,), "contains", True, False),
        (5, "contains", 5, False),
        (None, "contains", "x", False),
        ({"a": 1}, "contains", "a", False),
        ("", "exists", True, True),
        (None, "exists", True, False),
        (None, "exists", False, True),
        (0, "exists", False, False),
    ],
)
def test_holds(value: Any, operator: Operator, operand: Any, truth: bool) -> None:
    assert satisfies(operator, value, operand) is truth


texts = st.sampled_from(["", "a", "A", "ab", "b", "Straße"])
numbers = st.one_of(st.integers(-2, 2), st.sampled_from([0.5, -0.5, 1.0, 1e300]))
scalars = st.one_of(texts, numbers, st.booleans(), st.none())
lists = st.lists(scalars, max_size=3).map(tuple)
anything = st.one_of(
    scalars,
    lists,
    st.dictionaries(texts, scalars, max_size=2),
    st.lists(lists.map(list), max_size=2).map(tuple),
)


@st.composite
def comparisons(draw: st.DrawFn, operands: st.SearchStrategy[Any]) -> Compare:
    operator = draw(st.sampled_from(OPERATORS))
    if operator == "exists":
        return Compare("x", operator, draw(st.booleans()))
    if operator in ("in", "nin"):
        return Compare("x", operator, tuple(draw(st.lists(operands, max_size=3))))
    return Compare("x", operator, draw(operands))


@settings(max_examples=examples(400))
@given(st.lists(anything, max_size=6), comparisons(anything))
def test_a_coded_column_agrees_with_holds(values: list[Any], comparison: Compare) -> None:
    column = CodedColumn()
    column.extend(values)
    mask = column.mask(comparison.operator, comparison.value)
    assert mask.tolist() == [satisfies(comparison.operator, v, comparison.value) for v in values]


@settings(max_examples=examples(300))
@given(
    st.lists(st.one_of(numbers, st.none()), max_size=6),
    comparisons(numbers).filter(lambda c: c.operator != "contains"),
)
def test_a_number_column_agrees_with_holds(values: list[Any], comparison: Compare) -> None:
    column = NumberColumn()
    column.extend(values)
    mask = column.mask(comparison.operator, comparison.value)
    assert mask.tolist() == [satisfies(comparison.operator, v, comparison.value) for v in values]


names = st.sampled_from(["a", "A", "Straße", "STRASSE", "σίσυφος", "Σίσυφος", "ﬁ", "fi", "b"])
name_lists = st.lists(names, max_size=3).map(tuple)


@settings(max_examples=examples(300))
@given(
    st.lists(st.lists(name_lists, max_size=4), min_size=1, max_size=2),
    st.sampled_from(["eq", "ne", "in", "nin"]),
    st.one_of(names, name_lists),
)
def test_lists_are_compared_case_folded(
    chunks: list[list[tuple[str, ...]]], operator: str, wanted: str | tuple[str, ...]
) -> None:
    condition = parse_filter({"tags": {operator: [wanted] if "in" in operator else wanted}})
    assert condition is not None
    assert parse_filter(condition) == condition
    column, values = TextsColumn(), list[tuple[str, ...]]()

    def holds(value: tuple[str, ...]) -> bool:
        own = [one.casefold() for one in value]
        if isinstance(wanted, str):
            equal = wanted.casefold() in own
        else:
            equal = own == [one.casefold() for one in wanted]
        return equal != (operator in ("ne", "nin"))

    for chunk in chunks:  # a column grows
        column.extend(chunk)
        values += chunk
        mask = evaluate(condition, lambda name: column, len(values))
        assert mask.tolist() == [holds(value) for value in values]
    assert mask.tolist() == [is_found(condition, {"tags": v}.__getitem__) for v in values]


filters: st.SearchStrategy[Filter] = st.recursive(
    comparisons(st.one_of(texts, st.none())),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda parts: And(tuple(parts))),
        st.lists(inner, max_size=3).map(lambda parts: Or(tuple(parts))),
        inner.map(Not),
    ),
    max_leaves=8,
)


def passes(condition: Filter, value: Any) -> bool:
    """A filter on one value, by the definition of each kind."""
    if isinstance(condition, Compare):
        return satisfies(condition.operator, value, condition.value)
    if isinstance(condition, Not):
        return not passes(condition.part, value)
    parts = [passes(part, value) for part in condition.parts]
    return all(parts) if isinstance(condition, And) else any(parts)


@settings(max_examples=examples(300))
@given(st.lists(st.one_of(texts, st.none()), max_size=6), filters)
def test_combinations_over_a_column(values: list[Any], condition: Filter) -> None:
    column = CodedColumn()
    column.extend(values)
    mask = evaluate(condition, lambda name: column, len(values))
    assert mask.tolist() == [passes(condition, value) for value in values]


@given(st.lists(anything, min_size=1, max_size=5), st.data())
def test_a_changed_value_is_seen(values: list[Any], data: st.DataObject) -> None:
    column = CodedColumn()
    column.extend(values)
    at, value = data.draw(st.integers(0, len(values) - 1)), data.draw(anything)
    column.set(at, value)
    values[at] = value
    for each in values:
        expected = [satisfies("eq", v, each) for v in values]
        assert column.mask("eq", each).tolist() == expected
    assert [type(v) for v in column.take(np.arange(len(values))).tolist()] == [
        type(v) for v in values
    ]


def test_the_mapping_form() -> None:
    assert parse_filter(None) is None
    assert parse_filter({}) == And(())
    assert parse_filter({"kind": "fact"}) == Compare("kind", "eq", "fact")
    assert parse_filter({"kind": {"$IN": ["a", "b"]}}) == Compare("kind", "in", ("a", "b"))
    assert parse_filter({"importance": {"gt": 0, "lte": 1}}) == And(
        (Compare("importance", "gt", 0.0), Compare("importance", "lte", 1.0))
    )
    assert parse_filter({"$not": {"kind": "a"}}) == Not(Compare("kind", "eq", "a"))
    assert parse_filter({"OR": [{"kind": "a"}, None, {"tags": "b"}]}) == Or(
        (Compare("kind", "eq", "a"), Compare("tags", "contains", "b"))
    )
    assert parse_filter({"metadata": {"a": 1, "b.c": {"gt": 2}}}) == And(
        (Compare("metadata.a", "eq", 1), Compare("metadata.b.c", "gt", 2))
    )
    moment = datetime(2026, 1, 1, tzinfo=timezone.utc)
    assert parse_filter({"created_at": {"gte": moment}}) == Compare(
        "created_at", "gte", moment.timestamp()
    )


def test_parsing_twice_is_parsing_once() -> None:
    spec = {
        "$or": [
            {"created_at": {"in": ["2026-01-01", 0]}},
            {"tags": {"nin": ["a", ["b"]], "exists": True}},
            {"$not": {"metadata.x": {"eq": [1, {"y": None}]}}},
        ],
        "importance": None,
    }
    parsed = parse_filter(spec)
    assert parsed is not None
    assert parse_filter(parsed) == parsed


@pytest.mark.parametrize(
    ("built", "field"),
    [
        (Compare("colour", "eq", 1), "filters.colour"),
        (Compare("row FROM memories; --", "eq", 1), "filters.row FROM memories; --"),
        (Compare("kind", "like", "x"), "filters.kind"),  # type: ignore[arg-type]
        (Compare("kind", "eq", 5), "filters.kind"),
        (Not(And((Compare("importance", "gt", "x"),))), "filters.importance"),
    ],
)
def test_a_filter_built_by_hand_is_checked_too(built: Filter, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_filter(built)
    assert caught.value.field == field


@pytest.mark.parametrize("field", ["tags", "entities"])
@pytest.mark.parametrize("operand", [[["a"]], {"eq": [["a"]]}, {"in": [[["a"]]]}, {"ne": [["a"]]}])
def test_a_list_is_compared_with_texts_not_with_lists_of_lists(field: str, operand: Any) -> None:
    with pytest.raises(InvalidInput, match="give text, or a list of texts") as caught:
        parse_filter({field: operand})
    assert caught.value.field == f"filters.{field}"


def test_the_fields_of_a_filter() -> None:
    assert filter_fields(None) == frozenset()
    assert filter_fields(And(())) == frozenset()
    condition = parse_filter({"$or": [{"kind": "a"}, {"$not": {"metadata.x": 1, "tags": "b"}}]})
    assert filter_fields(condition) == {"kind", "metadata.x", "tags"}


@pytest.mark.parametrize(
    "spec",
    [
        {"importance": "x" * 100_000},
        {"kind": 10**5_000},
        {"tags": [10**5_000]},
        {"kind": {10**5_000: "x"}},
        {10**5_000: "x"},
    ],
)
def test_a_wrong_value_is_shown_briefly(spec: Any) -> None:
    with pytest.raises(InvalidInput) as problem:
        parse_filter(spec)
    assert len(str(problem.value)) < 1_000
