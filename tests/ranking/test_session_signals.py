"""Signals of sessions against their laws written out in plain loops."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from salience.errors import InvalidInput
from salience.ranking.expressions import Col
from salience.ranking.signals import GroupMax, NeighborMass, SessionCover
from salience.retrieval.candidates import Candidates, CategoricalColumn, ColumnData
from salience.retrieval.query import Query

QUERY = Query(text="x", namespaces=("n",), now=1e9)
IDF = np.array([2.0, 0.5, 1.25])

Turn = tuple[str | None, int, float, tuple[bool, ...]]
turns = st.lists(
    st.tuples(
        st.sampled_from([None, "a", "b", "c"]),
        st.integers(0, 30),
        st.floats(0.0, 2.0),
        st.tuples(st.booleans(), st.booleans(), st.booleans()),
    ),
    min_size=1,
    max_size=25,
    unique_by=lambda turn: (turn[0], turn[1]),
)


def held(sessions: list[str | None], how: str) -> ColumnData:
    """A column of sessions in one of the forms in which stores give it."""
    if how == "objects":
        return np.array(sessions, dtype=object)
    distinct: list[str | None] = ["c", None, "unused", "a", "b"]
    if how == "none has a code":
        return CategoricalColumn(np.array([distinct.index(s) for s in sessions]), distinct, none=1)
    return CategoricalColumn(
        np.array([-1 if s is None else distinct.index(s) for s in sessions]), distinct
    )


@pytest.mark.parametrize("how", ["objects", "none has a code", "none is negative"])
@given(turns)
def test_the_laws_of_sessions(how: str, said: list[Turn]) -> None:
    sessions = [session for session, *_ in said]
    place = [position for _, position, *_ in said]
    x = [value for _, _, value, _ in said]
    matched = np.array([terms for *_, terms in said]) * IDF
    table = Candidates(
        np.arange(len(said)),
        {
            "session_id": held(sessions, how),
            "position": np.array(place, dtype=np.float64),
            "x": np.array(x),
            "lexical.matched": matched,
        },
    )

    def others(i: int) -> list[int]:
        """Of the session of i, without i; who has no session is alone."""
        return [j for j, s in enumerate(sessions) if j != i and s is not None and s == sessions[i]]

    best = [max(x[j] for j in [i, *others(i)]) for i in range(len(said))]
    assert GroupMax(Col("x")).evaluate(QUERY, table).tolist() == best
    nearby = [
        math.fsum(x[j] ** 2 * math.exp(-abs(place[i] - place[j]) / 4.0) for j in near)
        for i in range(len(said))
        for near in [_nearest(others(i), place, i, 8)]
    ]
    found = NeighborMass(Col("x"), 4.0, 8).evaluate(QUERY, table)
    assert found == pytest.approx(nearby, abs=1e-6)
    total = matched.max(axis=0).sum()
    cover = [
        matched[[i, *others(i)]].max(axis=0).sum() / total if total else 0.0
        for i in range(len(said))
    ]
    assert SessionCover().evaluate(QUERY, table) == pytest.approx(cover)


def _nearest(others: list[int], place: list[int], i: int, reach: int) -> list[int]:
    """The `reach` nearest before and after i."""
    before = sorted((j for j in others if place[j] < place[i]), key=lambda j: -place[j])
    after = sorted((j for j in others if place[j] > place[i]), key=lambda j: place[j])
    return before[:reach] + after[:reach]


@pytest.mark.parametrize("reach", [0, -1, 8e9, 8_000_000_000, True, 10**400])
def test_a_reach_that_no_table_has_room_for(reach: Any) -> None:
    with pytest.raises(InvalidInput, match=r"reach: is .*; give 1 to 100"):
        NeighborMass(Col("lexical.score"), reach=reach)


@pytest.mark.parametrize("tau", [0.0, -1.0, float("nan"), float("inf")])
def test_a_distance_that_is_none(tau: float) -> None:
    with pytest.raises(InvalidInput, match=r"tau: is .*; give a number above 0"):
        NeighborMass(Col("lexical.score"), tau=tau)
