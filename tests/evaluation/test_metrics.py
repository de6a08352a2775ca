"""The measures against arithmetic done by hand."""

from __future__ import annotations

import sys
from math import log2

import pytest

from salience.errors import SalienceError
from salience.retrieval.metrics import MEASURES, difference, mean, per_query


def test_measures_of_a_tiny_run() -> None:
    relevant = {"q1": ["a", "b"], "q2": ["c"], "q3": ["d"], "none": []}
    ranked = {
        "q1": ["x", "a", "y", "z", "w", "b"],
        "q2": [f"m{i}" for i in range(14)] + ["c"],
    }
    found = per_query(relevant, ranked)
    ideal = 1 + 1 / log2(3)
    assert found == {
        "q1": {
            "R@5": 0.5,
            "R@10": 1.0,
            "R@20": 1.0,
            "Hit@1": 0.0,
            "Hit@10": 1.0,
            "MRR": 0.5,
            "nDCG@10": pytest.approx((1 / log2(3) + 1 / log2(7)) / ideal),
        },
        "q2": {
            "R@5": 0.0,
            "R@10": 0.0,
            "R@20": 1.0,
            "Hit@1": 0.0,
            "Hit@10": 0.0,
            "MRR": pytest.approx(1 / 15),
            "nDCG@10": 0.0,
        },
        "q3": dict.fromkeys(MEASURES, 0.0),
    }
    assert mean(list(found.values()))["R@10"] == pytest.approx(1 / 3)
    assert mean([]) == {}


def test_a_difference_is_the_second_minus_the_first() -> None:
    found = per_query({"a": ["x"], "b": ["x"]}, {"a": ["x"], "b": ["y", "x"]})
    by = difference(found["a"], found["b"])
    assert (by["Hit@1"], by["MRR"], by["R@10"]) == (-1.0, -0.5, 0.0)


def test_only_the_first_twenty_hits_count() -> None:
    ranked = {"q": [f"m{i}" for i in range(20)] + ["a"]}
    assert per_query({"q": ["a"]}, ranked) == {"q": dict.fromkeys(MEASURES, 0.0)}


def test_answers_that_do_not_exist_still_count() -> None:
    assert per_query({"q": ["a", "gone"]}, {"q": ["a"]})["q"]["R@10"] == 0.5


def test_hits_are_taken_in_the_order_they_were_returned() -> None:
    # By their ids alone these would tie, and be put in another order.
    for order, first in ((["a", "b"], 1.0), (["b", "a"], 0.5)):
        assert per_query({"q": ["a"]}, {"q": order})["q"]["MRR"] == first


def test_without_its_library_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    with pytest.raises(SalienceError, match=r"salience\[eval\]"):
        per_query({"q": ["a"]}, {"q": ["a"]})
