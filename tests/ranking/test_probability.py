"""The probability that a memory answers: by hand arithmetic, and what a cut leaves."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from salience import Memory
from salience.errors import InvalidInput
from salience.evaluation.calibration import Examples, fit
from salience.language.analysis_types import QueryAnalysis
from salience.language.speakers import name_terms
from salience.ranking.evaluation import Evaluation
from salience.ranking.expressions import Col, Constant
from salience.ranking.probability import model_for
from salience.ranking.probability.signals import (
    AboveMedian,
    Asked,
    AtBest,
    Best,
    Coverage,
    NamesMissing,
)
from salience.retrieval.candidates import Candidates
from salience.retrieval.query import Query
from salience.search.cutoff import CUTOFFS

FACTS = [
    "Marta is allergic to walnuts.",
    "Leo is allergic to penicillin.",
    "The rent is due on the third.",
    "The wifi password of the cabin is blue-heron-77.",
]


def table() -> tuple[Query, Candidates]:
    """Three memories and three terms, of which nobody has the last."""
    weights = np.array([1.0, 2.0, 5.0])
    matched = np.array([[1.0, 2.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
    columns = {
        "lexical.matched": matched,
        "lexical.weights": np.broadcast_to(weights, (3, 3)),
        "session_id": np.array(["s", "t", "t"], dtype=object),
        "x": np.array([0.2, 0.6, 1.0]),
    }
    reading = QueryAnalysis(terms=(("rent",), ("third",), ("unicorn",)))
    return Query("?", ("n",), 0.0, reading=reading), Candidates(np.arange(3), columns)


def test_coverage_counts_what_nobody_has() -> None:
    query, candidates = table()
    of_memory = Coverage(Constant(0.0)).evaluate(query, candidates)
    assert of_memory.tolist() == [3 / 8, 1 / 8, 2 / 8]
    of_session = Coverage(Constant(0.0), among=Constant(1.0)).evaluate(query, candidates)
    assert of_session.tolist() == [3 / 8, 3 / 8, 3 / 8]
    of_those_that_count = Coverage(Constant(0.0), among=Col("x") - 0.6).evaluate(query, candidates)
    assert of_those_that_count.tolist() == [0.0, 2 / 8, 2 / 8]


def test_a_date_is_one_thing_and_weighs_the_mean() -> None:
    query, candidates = table()
    reading = QueryAnalysis(terms=query.reading.terms, features={"query_names_date": 1.0})
    dated = Query("?", ("n",), 0.0, reading=reading)
    mean = 8 / 3
    values = Coverage(Col("x")).evaluate(dated, candidates)
    expected = [(3 + 0.2 * mean) / (8 + mean), (1 + 0.6 * mean) / (8 + mean)]
    assert values[:2] == pytest.approx(expected, rel=1e-12)
    assert Asked().evaluate(dated, candidates)[0] == 2.0


def test_the_best_and_what_is_above_the_median() -> None:
    query, candidates = table()
    assert Best(Col("x")).evaluate(query, candidates).tolist() == [1.0] * 3
    none = Best(Col("x"), Constant(0.0))
    assert none.evaluate(query, candidates).tolist() == [0.0] * 3
    above = AboveMedian(Col("x")).evaluate(query, candidates)
    assert above.tolist() == [0.0, 0.0, 1.0]


def test_names_missing_counts_what_is_written_as_a_name() -> None:
    query, candidates = table()
    named = replace(query, text="Is the rent of the Unicorn due on the Third?")
    values = NamesMissing().evaluate(named, candidates)
    assert values.tolist() == [1 - 2 / 7, 1.0, 1 - 2 / 7]
    assert NamesMissing().evaluate(query, candidates).tolist() == [0.0] * 3


def test_at_best_takes_the_smallest_of_equals_that_count() -> None:
    query, candidates = table()
    values = AtBest(Col("x"), Constant(1.0), Constant(1.0)).evaluate(query, candidates)
    assert values.tolist() == [0.2] * 3
    largest = AtBest(Col("x"), Col("x"), 1.0 + -1.0 * Col("x")).evaluate(query, candidates)
    assert largest.tolist() == [0.6] * 3  # the last one does not count
    none = AtBest(Col("x"), Col("x"), Constant(0.0)).evaluate(query, candidates)
    assert none.tolist() == [0.0] * 3


@pytest.mark.parametrize(
    ("text", "word", "is_name"),
    [
        ("What is the budget of Lantern?", "lantern", True),
        ("What is the budget of Lantern?", "budget", False),
        ("what is the budget of lantern?", "lantern", False),
        ("May I travel in December?", "decemb", False),
        ("WHAT IS THE BUDGET OF LANTERN", "lantern", False),
        ("Wann ist die Probe im Theater?", "theater", False),
    ],
)
def test_a_capital_makes_a_name(text: str, word: str, is_name: bool) -> None:
    assert name_terms(text, [(word,)]) == (is_name,)


def test_the_same_question_about_another_is_less_likely_answered() -> None:
    with Memory.open("ram://") as memory:
        memory.add_many(FACTS)
        known = memory.search("Is Marta allergic to walnuts?").probability or 0.0
        other = memory.search("Is Tobias allergic to walnuts?").probability or 0.0
    assert other / (1.0 - other) < known / (1.0 - known) / 2.0  # less than half the odds


def test_the_probability_is_the_root_of_its_tree() -> None:
    with Memory.open("ram://") as memory:
        ids = memory.add_many(FACTS).ids
        result = memory.search("What is Leo allergic to?")
        report = memory.explain("What is Leo allergic to?", ids[1])
    assert report.probability is not None
    assert report.probability.value == result[0].probability
    assert result.probability is not None
    assert all(hit.probability is not None for hit in result)
    assert all(0.0 <= (hit.probability or 0.0) <= result.probability <= 1.0 for hit in result)


def test_a_cut_leaves_what_answers() -> None:
    with Memory.open("ram://") as memory:
        ids = memory.add_many(FACTS).ids
        for cut in ("careful", "auto", "greedy"):
            assert ids[1] in memory.search("What is Leo allergic to?", cut=cut).ids
        everything = memory.search("What is Leo allergic to?")
        assert len(everything) == len(FACTS)
        unknown = memory.search("Who won the chess tournament in Oslo?", cut="auto")
        assert unknown.ids == ()
        assert unknown.probability is not None
        assert unknown.probability < CUTOFFS["auto"].floor


def test_a_context_is_filled_unless_its_caller_cuts() -> None:
    query = "Who won the chess tournament in Oslo?"
    with Memory.open("ram://") as memory:
        memory.add_many(FACTS)
        context = memory.get_context(query)
        assert len(context.ids) == len(FACTS)
        assert "\n\nMemories (no direct answer; what is related):\n" in context.text
        assert context.probability == memory.search(query).probability
        cut = memory.get_context(query, cut="auto")
        assert (cut.text, cut.ids, cut.probability) == ("", (), context.probability)


def test_what_may_bear_on_a_request_is_kept() -> None:
    with Memory.open("ram://") as memory:
        memory.add_many(FACTS)
        assert len(memory.search("Greet the guests of the tournament.", cut="auto")) > 0


def test_a_context_that_answers_says_nothing_of_it() -> None:
    with Memory.open("ram://") as memory:
        memory.add_many(FACTS)
        context = memory.get_context("What is Leo allergic to?")
    assert "\n\nMemories:\n" in context.text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"cut": "sharp"}, "use one of auto, careful"),
        ({"options": {"min_probability": 1.5}}, "give a number from 0 to 1"),
        ({"options": {"min_probability": True}}, "give a number from 0 to 1"),
        ({"cut": "auto", "profile": "composite"}, "the profile composite gives no probability"),
        ({"options": {"min_probability": 0.1}, "profile": "composite"}, 'use "balanced"'),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, object], words: str) -> None:
    with Memory.open("ram://") as memory, pytest.raises(InvalidInput, match=words):
        memory.search("x", **options)  # type: ignore[arg-type]


def test_a_profile_without_evidence_gives_none() -> None:
    with Memory.open("ram://") as memory:
        memory.add_many(FACTS)
        result = memory.search("rent", profile="composite")
    assert result.probability is None
    assert result.probability_model is None
    assert [hit.probability for hit in result] == [None] * len(FACTS)


def test_each_embedder_has_its_model() -> None:
    assert model_for("wordllama/l2_supercat_256@mean-1 (256)").meaning == "cosine"
    assert model_for("onnx/all-MiniLM-L6-v2-int8@1 (384)").name == "onnx/all-MiniLM-L6-v2-int8"
    assert model_for("someone/else@1 (8)").name == "generic"
    assert model_for(None).name == "words"


@given(st.floats(-2.0, 2.0), st.floats(-3.0, 3.0))
def test_a_fit_finds_the_weights_that_made_the_answers(bias: float, slope: float) -> None:
    evidence = np.linspace(-3.0, 3.0, 41)[:, None]
    chance = 1.0 / (1.0 + np.exp(-(bias + slope * evidence[:, 0])))
    both = np.concatenate([evidence, evidence])
    answers = np.repeat([1.0, 0.0], 41)
    weights = np.concatenate([chance, 1.0 - chance]) + 1e-12
    fitted = fit(Examples(both, answers, weights), ("x",), penalty=1e-9)
    assert math.isclose(fitted["x"], slope, abs_tol=1e-3)
    assert math.isclose(fitted["bias"], bias, abs_tol=1e-3)


def test_an_evaluation_without_candidates_is_empty() -> None:
    query, _ = table()
    empty = Candidates.empty()
    assert len(Evaluation(query, empty).column(Best(Constant(1.0)))) == 0
