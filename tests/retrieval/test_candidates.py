"""The table of candidates: order, ranks, and columns that are held in a cheaper form."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from salience.retrieval import candidates
from salience.retrieval.candidates import (
    Candidates,
    CategoricalColumn,
    LazyRanks,
    best_first,
    best_places,
    union,
)

few_values = st.sampled_from([-0.5, 0.0, 0.25, 1.0, float("nan")])
tables = st.lists(st.tuples(few_values, st.text("abc", max_size=3)), max_size=200)


def in_order(rows: list[tuple[float, str]]) -> list[int]:
    """The places of the rows that have a score, by score descending, then id."""
    there = [at for at, (score, _) in enumerate(rows) if score == score]
    return sorted(there, key=lambda at: (-rows[at][0], rows[at][1], at))


@given(tables, st.one_of(st.none(), st.integers(0, 20)), st.sampled_from([0, 3, 4_096]))
def test_the_best_come_first(
    rows: list[tuple[float, str]], k: int | None, sorted_at_once: int
) -> None:
    scores = np.array([score for score, _ in rows], dtype=np.float64)

    def keys(at: NDArray[np.intp]) -> list[str]:
        return [rows[place][1] for place in at.tolist()]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "_SORTED_AT_ONCE", sorted_at_once)
        found = best_first(scores, keys, k)
        if k and rows:
            places = best_places(scores, keys, k).tolist()
    expected = in_order(rows)
    if k and rows:
        assert len(places) == min(k, len(rows))
        assert sorted(expected[:k]) == [at for at in places if scores[at] == scores[at]]
    wanted = len(rows) if k is None else min(k, len(rows))
    assert len(found) == wanted
    assert found.tolist()[: len(expected)] == expected[:wanted]


@given(tables, st.data())
def test_ranks_are_places_in_that_order(rows: list[tuple[float, str]], data: st.DataObject) -> None:
    scores = np.array([score for score, _ in rows], dtype=np.float64)
    ids = CategoricalColumn(np.arange(len(rows)), [id for _, id in rows])
    expected = np.full(len(rows), np.nan)
    expected[in_order(rows)] = np.arange(1, len(in_order(rows)) + 1)
    ranks = LazyRanks(
        scores, Candidates(np.arange(len(rows)), {"id": ids}).tie_keys, np.arange(len(rows))
    )
    asked = data.draw(st.permutations(range(len(rows))))
    some = np.array(asked[: data.draw(st.integers(0, len(rows)))], dtype=np.intp)
    assert np.array_equal(np.asarray(ranks), expected, equal_nan=True)
    assert np.array_equal(np.asarray(ranks[some]), expected[some], equal_nan=True)
    for at in some[:3].tolist():
        assert ranks[at] == expected[at] or np.isnan(expected[at])


def test_a_coded_column_is_the_objects_it_stands_for() -> None:
    column = CategoricalColumn(np.array([1, 0, -1, 1]), ["ana", "ben"])
    table = Candidates(np.arange(4), {"speaker": column, "score": np.arange(4.0)})
    assert table["speaker"].tolist() == ["ben", "ana", None, "ben"]
    assert (table["speaker"] == "ben").tolist() == [True, False, False, True]
    assert column[2] is None
    assert column[0] == "ben"
    assert table.take(np.array([2, 1]))["speaker"].tolist() == [None, "ana"]
    gone = np.array([True, False, False, False])
    assert column.without(gone).tolist() == [None, "ana", None, "ben"]
    joined = table.joined(Candidates(np.array([9]), {"score": np.array([4.0])}))
    assert joined["speaker"].tolist() == ["ben", "ana", None, "ben", None]


@pytest.mark.parametrize(
    ("rankings", "rows"),
    [([[1, 3]], [1, 3]), ([[1, 2], [1, 2]], [1, 2]), ([[2, 5], [], [2, 9]], [2, 5, 9]), ([[]], [])],
)
def test_the_union_of_rankings(rankings: list[list[int]], rows: list[int]) -> None:
    given_rows = [np.array(ranking, dtype=np.int64) for ranking in rankings]
    assert union(given_rows).tolist() == rows
