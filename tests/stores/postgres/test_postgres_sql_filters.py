"""Filters as SQL mean what `filters.holds` says, whatever they are built of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from salience import Memory
from salience.testing import WordHashEmbedder
from support.examples import examples

_TEXTS = ["Ana", "ana", "Straße", "STRASSE", "K", "山田", "a%b", "x'y", "", "é", "e\u0301"]
_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.5, -1.5, 2.0, 1e300, 1e-300])
    | st.sampled_from(_TEXTS),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    ),
    max_leaves=4,
)
_TEXT = st.sampled_from([text for text in _TEXTS if text])


def _memory(number: int, values: dict[str, Any]) -> dict[str, Any]:
    return {"id": f"m{number:02}", "content": f"content {values.get('title') or number}", **values}


_MEMORIES = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "title": _TEXT,
            "speaker": _TEXT,
            "kind": st.sampled_from(["note", "fact"]),
            "importance": st.sampled_from([0.0, 0.25, 0.5, 1.0]),
            "tags": st.lists(_TEXT, max_size=3),
            "created_at": st.sampled_from(["2026-01-01", "2026-02-01T12:00:00Z"]),
            "metadata": st.dictionaries(st.sampled_from(["a", "b", "a.b"]), _JSON, max_size=3),
        },
    ),
    min_size=5,
    max_size=12,
).map(lambda items: [_memory(number, values) for number, values in enumerate(items)])


def _order(value: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.sampled_from(["gt", "gte", "lt", "lte"]).flatmap(
        lambda operator: value.map(lambda operand: {operator: operand})
    )


def _plain(value: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return (
        st.none()
        | value
        | value.map(lambda each: {"ne": each})
        | st.lists(value | st.none(), max_size=3).map(lambda each: {"in": each})
        | st.lists(value, max_size=3).map(lambda each: {"nin": each})
        | st.booleans().map(lambda each: {"exists": each})
    )


_LEAF = st.one_of(
    st.sampled_from(["title", "speaker"]).flatmap(
        lambda name: (
            _plain(_TEXT) | _order(_TEXT) | st.sampled_from(_TEXTS).map(lambda t: {"contains": t})
        ).map(lambda condition: {name: condition})
    ),
    (_plain(st.sampled_from([0, 0.25, 1])) | _order(st.sampled_from([0, 0.3, 1]))).map(
        lambda condition: {"importance": condition}
    ),
    (_plain(_TEXT) | _TEXT.map(lambda t: {"contains": t}) | st.lists(_TEXT, max_size=2)).map(
        lambda condition: {"tags": condition}
    ),
    _order(st.sampled_from(["2026-01-01", "2026-01-15"])).map(
        lambda condition: {"created_at": condition}
    ),
    st.sampled_from(["a", "b", "a.b", "a.a", "c"]).flatmap(
        lambda key: (
            _plain(_JSON.filter(lambda v: not isinstance(v, dict)))
            | _order(st.integers(-2, 2) | st.sampled_from([0.5, True]) | _TEXT)
            | _JSON.filter(lambda v: v is not None).map(lambda v: {"contains": v})
        ).map(lambda condition: {f"metadata.{key}": condition})
    ),
)
_FILTERS = st.recursive(
    _LEAF,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda each: {"$and": each})
        | st.lists(inner, max_size=3).map(lambda each: {"$or": each})
        | inner.map(lambda each: {"$not": each})
    ),
    max_leaves=4,
)


@pytest.fixture
def both(database: str) -> Iterator[tuple[Memory, Memory]]:
    embedder = WordHashEmbedder()
    with (
        Memory.open(database, embedder=embedder) as tested,
        Memory.open("ram://", embedder=embedder) as known,
    ):
        yield tested, known


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_MEMORIES, st.lists(_FILTERS, min_size=4, max_size=12))
def test_a_filter_passes_the_same_memories(
    both: tuple[Memory, Memory], memories: list[dict[str, Any]], filters: list[Any]
) -> None:
    for memory in both:
        memory.delete_all(namespace="default")
        memory.add_many(memories, strict=True)
    for each in filters:
        tested, known = (
            sorted(record.id for record in memory.get_all(each, limit=100)) for memory in both
        )
        assert tested == known, each
