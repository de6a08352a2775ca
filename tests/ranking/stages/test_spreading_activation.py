"""Spreading activation: the document's figures, and laws over any graph."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from salience.errors import InvalidInput
from salience.ranking.expressions import Col
from salience.ranking.stages import Spread
from salience.retrieval.candidates import Candidates
from support.world import World, column, query

Links = list[tuple[str, str, float, str]]
SEED = Col("seed")


def spread(
    seeds: dict[str, float], links: Links, order: list[str] | None = None, **options: Any
) -> dict[str, tuple[float, float, str | None]]:
    """Activation, hops and via by id; `order` gives the rows their numbers."""
    named = {end for link in links for end in link[:2]} | set(seeds)
    ids = dict(enumerate(order or sorted(named), 1))
    rows = [row for row, id in ids.items() if id in seeds]
    candidates = Candidates(
        np.array(rows, dtype=np.int64),
        {"id": column([ids[row] for row in rows]), "seed": column([seeds[ids[r]] for r in rows])},
    )
    found = World(ids, links).run(Spread(SEED, **options), query(), candidates)
    names = (f"activation{reason}" for reason in ("", ".hops", ".via"))
    values = (found[name].tolist() for name in names)
    return dict(zip([ids[r] for r in found.rows.tolist()], zip(*values, strict=True), strict=True))


def test_the_example_of_the_document() -> None:
    """A 0.8 -0.6-> B -0.5-> C: 0.8 * 0.6 * 0.5 = 0.24, then 0.24 * 0.5 * 0.5 = 0.06."""
    found = spread({"A": 0.8}, [("A", "B", 0.6, "supports"), ("B", "C", 0.5, "mentions")])
    assert found["A"] == (0.8, 0.0, None)
    assert found["B"][0] == pytest.approx(0.24, abs=1e-15)
    assert found["C"][0] == pytest.approx(0.06, abs=1e-15)
    assert found["B"][1:] == (1.0, "A")
    assert found["C"][1:] == (2.0, "B")


def test_links_are_followed_in_both_directions() -> None:
    there = spread({"A": 1.0}, [("A", "B", 0.6, "supports")])
    back = spread({"A": 1.0}, [("B", "A", 0.6, "supports")])
    assert there == back
    assert there["B"][0] == 1.0 * 0.6 * 0.5


def test_the_maximum_wins_over_the_sum_and_over_the_last() -> None:
    links = [("A", "C", 1.0, "supports"), ("B", "C", 1.0, "supports")]
    found = spread({"A": 0.4, "B": 0.9}, links)
    assert found["C"] == (0.9 * 0.5, 1.0, "B")


def test_a_seed_is_lifted_by_a_stronger_neighbour_and_passes_that_on() -> None:
    links = [("A", "B", 1.0, "supports"), ("B", "C", 1.0, "supports")]
    found = spread({"A": 1.0, "B": 0.1}, links)
    assert found["B"] == (0.5, 1.0, "A")
    assert found["C"] == (0.25, 2.0, "B")


def test_of_equally_good_ways_the_smallest_id_is_told() -> None:
    links = [("B", "X", 1.0, "supports"), ("A", "X", 1.0, "supports")]
    assert spread({"B": 0.5, "A": 0.5}, links)["X"] == (0.25, 1.0, "A")


def test_contradictions_carry_nothing() -> None:
    assert set(spread({"A": 1.0}, [("A", "B", 1.0, "contradicts")])) == {"A"}


def test_nothing_spreads_further_than_the_hops() -> None:
    chain = [(a, b, 1.0, "supports") for a, b in zip("ABCD", "BCDE", strict=True)]
    assert set(spread({"A": 1.0}, chain)) == {"A", "B", "C"}
    assert set(spread({"A": 1.0}, chain, hops=0)) == {"A"}
    assert spread({"A": 1.0}, chain, hops=4)["E"][0] == 0.5**4


def test_a_loop_and_a_link_of_weight_0_activate_nobody() -> None:
    links = [("A", "A", 1.0, "supports"), ("A", "B", 0.0, "supports")]
    assert spread({"A": 0.7}, links) == {"A": (0.7, 0.0, None)}


@pytest.mark.parametrize("options", [{"hops": -1}, {"hops": 1.5}, {"decay": 1.1}, {"decay": -0.1}])
def test_impossible_settings_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        Spread(SEED, **options)


IDS = "abcdefgh"
weights = st.floats(0.0, 1.0)
graphs = st.lists(
    st.tuples(
        st.sampled_from(IDS),
        st.sampled_from(IDS),
        weights,
        st.sampled_from(["supports", "mentions", "contradicts"]),
    ),
    max_size=20,
)
seeds = st.dictionaries(st.sampled_from(IDS), st.floats(0.001, 1.0), min_size=1)


@given(seeds, graphs, st.integers(0, 3), st.randoms())
def test_the_order_of_links_and_rows_changes_nothing(
    start: dict[str, float], links: Links, hops: int, shuffle: random.Random
) -> None:
    once = spread(start, links, list(IDS), hops=hops)
    rows, shuffled = list(IDS), list(links)
    shuffle.shuffle(rows)
    shuffle.shuffle(shuffled)
    assert spread(start, shuffled, rows, hops=hops) == once


@given(seeds, graphs, st.integers(0, 3))
def test_it_is_the_best_of_all_paths_and_never_above_the_best_seed(
    start: dict[str, float], links: Links, hops: int
) -> None:
    best, level = dict(start), dict(start)
    for _ in range(hops):
        reached: dict[str, float] = {}
        for a, b, weight, type in links:
            for source, target in ((a, b), (b, a)):
                if type != "contradicts" and source in level and source != target:
                    value = level[source] * weight * 0.5
                    reached[target] = max(reached.get(target, 0.0), value)
        level = {id: value for id, value in reached.items() if value > 0.0}
        for id, value in level.items():
            best[id] = max(best.get(id, 0.0), value)
    found = {id: value for id, (value, _, _) in spread(start, links, hops=hops).items()}
    assert found == best
    assert max(found.values()) == max(start.values())
