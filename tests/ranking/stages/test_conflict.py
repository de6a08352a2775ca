"""Conflict: who gives way to whom, why, and that no order matters."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from salience.ranking.expressions import Col
from salience.ranking.stages import Conflict
from salience.retrieval.candidates import Candidates
from support.world import World, query, table

STAGE = Conflict(Col("power"))


def resolved(
    powers: dict[str, float],
    pairs: list[tuple[str, str]],
    created: dict[str, float] | None = None,
    type: str = "contradicts",
) -> Candidates:
    ids = list(powers)
    times = [(created or {}).get(id, 0.0) for id in ids]
    candidates = table(ids, power=list(powers.values()), created_at=times)
    links = [(a, b, 0.5, type) for a, b in pairs]
    return World(dict(enumerate(ids, 1)), links).run(STAGE, query(), candidates)


def by_id(found: Candidates, name: str) -> dict[str, object]:
    return dict(zip(found["id"].tolist(), found[name].tolist(), strict=True))


def test_the_weaker_gives_way_and_both_know_to_whom_and_why() -> None:
    found = resolved({"a": 0.9, "b": 0.4, "c": 0.1}, [("a", "b")])
    assert by_id(found, "conflict") == {"a": 1.0, "b": 0.3, "c": 1.0}
    assert by_id(found, "conflict.by") == {"a": None, "b": ("a",), "c": None}
    assert by_id(found, "conflict.over") == {"a": ("b",), "b": None, "c": None}
    assert by_id(found, "conflict.why")["b"] == "0.4 against 0.9"


def test_of_equals_the_older_one_loses() -> None:
    # Equal within 1e-9, so the strength does not decide.
    found = resolved({"a": 0.5 + 1e-10, "b": 0.5}, [("b", "a")], {"a": 100.0, "b": 200.0})
    assert by_id(found, "conflict") == {"a": 0.3, "b": 1.0}
    assert by_id(found, "conflict.why")["a"] == "as strong as b, but older"


def test_of_equals_of_one_age_the_larger_id_loses() -> None:
    found = resolved({"b": 0.5, "a": 0.5}, [("b", "a")])
    assert by_id(found, "conflict") == {"a": 1.0, "b": 0.3}


def test_a_difference_beyond_1e_9_decides() -> None:
    found = resolved({"a": 0.5, "b": 0.5 + 2e-9}, [("a", "b")], {"a": 200.0, "b": 100.0})
    assert by_id(found, "conflict") == {"a": 0.3, "b": 1.0}


def test_losing_to_two_counts_twice_and_the_same_link_both_ways_once() -> None:
    found = resolved({"a": 0.9, "b": 0.8, "c": 0.1}, [("a", "c"), ("c", "a"), ("c", "b")])
    assert by_id(found, "conflict")["c"] == 0.3**2
    assert by_id(found, "conflict.by")["c"] == ("a", "b")


def test_only_contradictions_between_candidates_count() -> None:
    assert by_id(resolved({"a": 0.9, "b": 0.4}, [("a", "b")], type="supports"), "conflict") == {
        "a": 1.0,
        "b": 1.0,
    }
    candidates = table(["a"], power=[0.1], created_at=[0.0])
    world = World({1: "a", 2: "absent"}, [("a", "absent", 1.0, "contradicts")])
    assert by_id(world.run(STAGE, query(), candidates), "conflict") == {"a": 1.0}


ids = st.sampled_from("abcdef")


@given(
    st.dictionaries(ids, st.sampled_from([0.0, 0.5, 0.5 + 1e-10, 1.0]), min_size=1),
    st.lists(st.tuples(ids, ids)),
    st.randoms(),
)
def test_no_order_matters(
    powers: dict[str, float], pairs: list[tuple[str, str]], shuffle: random.Random
) -> None:
    pairs = [(a, b) for a, b in pairs if a in powers and b in powers]
    once = resolved(powers, pairs)
    mixed = list(powers.items())
    shuffle.shuffle(mixed)
    shuffle.shuffle(pairs)
    again = resolved(dict(mixed), [(b, a) for a, b in pairs])
    for name in ("conflict", "conflict.by", "conflict.over", "conflict.why"):
        assert by_id(once, name) == by_id(again, name)
