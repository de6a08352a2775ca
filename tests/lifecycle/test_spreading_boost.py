"""The boost of one memory is the same number in a plan as in the signal of a search."""

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from salience.lifecycle.spreading_boost import faded_boost, noisy_or
from salience.ranking.signals.vitality import spreading_boost
from salience.ranking.stages import score
from salience.records.record import BLANK
from salience.retrieval.candidates import Candidates
from salience.retrieval.query import Query
from salience.write.items import WriteContext

NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)
CONTEXT = WriteContext("default", False, None, None, NOW)
BOOST = score(spreading_boost(), into="faded")


@given(st.floats(0.0, 1.0), st.floats(-1.0, 3000.0))
def test_a_boost_fades_in_a_plan_as_in_a_search(boost: float, days: float) -> None:
    boosted_at = NOW - timedelta(days=days)
    table = Candidates(
        np.array([1]),
        {"boost": np.array([boost]), "boosted_at": np.array([boosted_at.timestamp()])},
    )
    signal = BOOST.apply(Query("", ("default",), NOW.timestamp()), table).floats("faded")[0]
    record = replace(BLANK, boost=boost, boosted_at=boosted_at)
    assert faded_boost(record, CONTEXT) == pytest.approx(signal, rel=1e-9, abs=1e-300)


def test_a_memory_without_a_boost_has_none() -> None:
    assert faded_boost(BLANK, CONTEXT) == 0.0


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_two_boosts_are_at_least_the_larger_and_at_most_one(one: float, other: float) -> None:
    assert max(one, other) - 1e-12 <= noisy_or(one, other) <= 1.0
