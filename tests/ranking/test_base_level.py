"""The base level of ACT-R: worked figures, an independent implementation, and its laws."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pyactup
import pytest
from hypothesis import given
from hypothesis import strategies as st

from salience.ranking.expressions import Constant
from salience.ranking.signals import DAY, BaseLevel, days_since, decay
from salience.records.record import ACCESSES_KEPT
from salience.retrieval.candidates import Candidates
from salience.retrieval.query import Query

NOW = 1.7e9
DECAYS = st.floats(0.0, 3.0, exclude_min=True)
AGES = st.lists(st.floats(0.0, 5_000.0), min_size=1, max_size=40)


def table(ages: Sequence[float], kept: int) -> Candidates:
    """One memory accessed so many days ago, of which the `kept` most recent times are known."""
    ages = sorted(ages)
    accesses = np.full((1, ACCESSES_KEPT), np.nan)
    accesses[0, : min(kept, len(ages))] = [NOW - age * DAY for age in ages[:kept]]
    columns = {
        "accesses": accesses,
        "access_count": np.array([len(ages) - 1.0]),
        "write_count": np.array([0.0]),
        "last_accessed": np.array([NOW - ages[0] * DAY]),
        "created_at": np.array([NOW - ages[-1] * DAY]),
    }
    return Candidates(np.array([1]), columns)


def base_level(
    ages: Sequence[float], d: float, kept: int = ACCESSES_KEPT, now: float = NOW
) -> float:
    query = Query("", ("test",), now)
    return float(BaseLevel(Constant(d)).evaluate(query, table(ages, kept))[0])


@pytest.mark.parametrize(
    ("d", "exact", "one_kept"),
    [
        (0.05, 1.472, 1.480),
        (0.5, 0.277, 0.349),
        (0.9, -0.725, -0.602),
        (1.0, -0.966, -0.833),
        (1.5, -2.122, -1.943),
    ],
)
def test_five_accesses_evenly_over_thirty_days(d: float, exact: float, one_kept: float) -> None:
    ages = [6.0, 12.0, 18.0, 24.0, 30.0]
    assert base_level(ages, d) == pytest.approx(exact, abs=5e-4)
    assert base_level(ages, d, kept=1) == pytest.approx(one_kept, abs=5e-4)
    assert base_level(ages, d) == pytest.approx(math.log(sum(age**-d for age in ages)))


def test_one_access_is_a_power_of_its_age() -> None:
    assert base_level([1.0], 0.5) == pytest.approx(0.0)  # ln 1^-0.5
    assert base_level([100.0], 0.5) == pytest.approx(-math.log(10.0))
    assert base_level([100.0], 0.5, kept=0) == pytest.approx(-math.log(10.0))  # last access only


def test_doubling_the_accesses_adds_ln_2() -> None:
    once = base_level([3.0, 7.0], 0.5)
    assert base_level([3.0, 3.0, 7.0, 7.0], 0.5) - once == pytest.approx(math.log(2.0))


def test_by_hand_beyond_the_kept_times() -> None:
    # 12 accesses, the last ten a day ago, the first 4 days ago, d = 0.5:
    # 10 * 1 + 2 * (4^0.5 - 1^0.5) / (0.5 * (4 - 1)) = 10 + 2 * 2/3
    ages = [1.0] * 10 + [2.0, 4.0]
    assert base_level(ages, 0.5) == pytest.approx(math.log(10.0 + 4.0 / 3.0))
    # d = 1: 10 + 2 * ln 4 / 3
    assert base_level(ages, 1.0) == pytest.approx(math.log(10.0 + 2.0 * math.log(4.0) / 3.0))
    # all at once: 12 * 2^-0.7
    assert base_level([2.0] * 12, 0.7) == pytest.approx(math.log(12.0 * 2.0**-0.7))


def test_the_shortest_form_fails_the_layers_that_fade_fastest() -> None:
    """ln(n / (1 - d)) - d ln L, of one use a day ago, has no value at d = 1 and beyond.

    With d held at 0.99 it is ln 100, a vitality of 0.99 where the slow layer (d = 0.05) has
    1 / (1 + 0.95) = 0.51. Here, 1^-d = 1 and ln 1 = 0 at any d; a week later the faster is lower.
    """

    def shortest(n: int, d: float, lifetime: float) -> float:
        return math.log(n / (1.0 - d)) - d * math.log(lifetime)

    def sigmoid(x: float) -> float:
        return 1.0 / (1.0 + math.exp(-x))

    assert sigmoid(shortest(1, 0.99, 1.0)) == pytest.approx(0.990, abs=5e-4)
    assert sigmoid(shortest(1, 0.05, 1.0)) == pytest.approx(1.0 / 1.95)
    for d in (0.05, 0.5, 1.0, 1.5):
        assert sigmoid(base_level([1.0], d)) == 0.5
        assert base_level([8.0], d) == pytest.approx(-d * math.log(8.0))


def by_pyactup(ages: Sequence[float], d: float) -> float:
    """The exact base level, from every access, by another implementation."""
    memory = pyactup.Memory(noise=0.0, temperature=1.0, decay=d)
    begin = max(ages)
    for age in sorted(ages, reverse=True):
        memory.advance(begin - age - memory.time)
        memory.learn({"fact": 1})
    memory.advance(begin - memory.time)
    memory.activation_history = []
    memory.retrieve({"fact": 1})
    return float(memory.activation_history[0]["base_level_activation"])


@given(
    ages=st.lists(st.floats(0.01, 5_000.0), min_size=1, max_size=ACCESSES_KEPT),
    d=st.floats(0.01, 0.99),
)
def test_it_is_exact_for_as_many_accesses_as_are_kept(ages: list[float], d: float) -> None:
    assert base_level(ages, d) == pytest.approx(by_pyactup(ages, d), abs=1e-6)


@given(gap=st.floats(0.1, 10.0), count=st.integers(11, 200), d=st.floats(0.01, 0.99))
def test_it_is_close_for_steady_use(gap: float, count: int, d: float) -> None:
    ages = [gap * (i + 1) for i in range(count)]
    assert base_level(ages, d) == pytest.approx(by_pyactup(ages, d), abs=0.03)


@given(ages=AGES, d=DECAYS, kept=st.integers(0, ACCESSES_KEPT))
def test_it_is_finite(ages: list[float], d: float, kept: int) -> None:
    assert math.isfinite(base_level(ages, d, kept))


@given(ages=AGES, d=DECAYS, later=st.floats(0.0, 1_000.0))
def test_it_never_grows_with_age(ages: list[float], d: float, later: float) -> None:
    before, after = base_level(ages, d), base_level(ages, d, now=NOW + later * DAY)
    assert after <= before + 1e-9


@given(ages=AGES, d=DECAYS, near=st.floats(0.0, 1e-6))
def test_it_is_steady_at_a_decay_of_one(ages: list[float], d: float, near: float) -> None:
    assert base_level(ages, 1.0 - near) == pytest.approx(base_level(ages, 1.0), abs=1e-4)


def test_the_future_counts_as_now_and_now_as_a_twentieth_of_a_second() -> None:
    now = base_level([0.0], 0.5)
    assert now == pytest.approx(-0.5 * math.log(0.05 / DAY))
    assert base_level([0.0], 0.5, now=NOW - 10 * DAY) == now


@given(
    rate=st.floats(0.0, 10.0),
    age=st.floats(0.0, 10_000.0),
    older=st.floats(0.0, 10_000.0),
)
def test_recency_never_grows_with_age(rate: float, age: float, older: float) -> None:
    recency = decay(rate, days_since("created_at"))
    columns = {"created_at": np.array([NOW - age * DAY, NOW - (age + older) * DAY])}
    young, old = recency.evaluate(Query("", ("test",), NOW), Candidates(np.array([1, 2]), columns))
    assert 0.0 <= old <= young <= 1.0
