"""The laws by which the probabilities of a result and of its hits hang together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from salience import Memory
from salience.ranking import profiles
from salience.rerankers import reranked
from salience.search.cutoff import DOUBTFUL, doubt, verdict
from salience.search.results import SearchResult
from support.asked import in_options

TEXTS = (
    "The rent is 900 euros.",
    "Ana likes green tea.",
    "The wifi password is blue-heron.",
    "The dentist is on March 18.",
    "Should I call Ana about the rent?",
    "Leo is allergic to penicillin.",
    "I never eat walnuts.",
    "We moved to Lisbon in May.",
)
QUERIES = (
    "What is the rent?",
    "rent",
    "Who likes tea?",
    "What should I cook for Leo?",
    "What happened on March 18?",
    "Who won the chess tournament in Oslo?",
)
SLACK = 1e-12


def backwards(query: str, texts: Sequence[str]) -> list[float]:
    return [float(len(text)) for text in texts]


STORES = st.lists(st.sampled_from(TEXTS), max_size=len(TEXTS), unique=True)
OPTIONS = st.fixed_dictionaries(
    {
        "limit": st.sampled_from((1, 2, 3, 20)),
        "cut": st.sampled_from((None, "none", "greedy", "auto", "careful")),
        "min_probability": st.sampled_from((None, 0.02, 0.2)),
    }
)
PROFILES = st.sampled_from((profiles.get("balanced"), reranked("balanced", backwards, share=1.0)))


def assert_coherent(result: SearchResult) -> None:
    likely = result.probability
    each = [hit.probability for hit in result]
    assert likely is not None
    known = [one for one in each if one is not None]
    assert len(known) == len(each)
    assert max(known, default=0.0) <= likely + SLACK
    assert likely <= sum(known) + SLACK
    assert known == sorted(known, reverse=True)
    assert 0.0 <= likely <= 1.0
    if len(known) == 1:
        assert known == [likely]


@settings(max_examples=60, deadline=None)
@given(STORES, st.sampled_from(QUERIES), OPTIONS, PROFILES)
def test_results_and_hits_hang_together(
    texts: list[str], query: str, options: dict[str, Any], profile: Any
) -> None:
    with Memory.open("ram://", embedder=None) as memory:
        memory.add_many(texts)
        result = memory.search(query, profile=profile, touch=False, **in_options(options))
        assert_coherent(result)
        everything = memory.search(query, profile=profile, touch=False, limit=20)
        assert_coherent(everything)
        by_id = {hit.id: hit.probability for hit in everything}
        assert all(hit.probability == by_id[hit.id] for hit in result)


def test_many_hits_hang_together_and_the_first_ten_have_all_of_it() -> None:
    with Memory.open("ram://") as memory:
        memory.add_many(
            [f"Flat {n} has a rent of {800 + n} euros." for n in range(40)], dedup=False
        )
        results = [memory.search("What is the rent?", limit=n) for n in (1, 5, 10, 40)]
    for result in results:
        assert_coherent(result)
    of_one, of_five, of_ten, of_all = (result.probability or 0.0 for result in results)
    assert of_one < of_five < of_ten == of_all


def test_a_hit_below_a_less_likely_one_says_why_it_is_capped() -> None:
    with Memory.open("ram://", embedder=None) as memory:
        memory.add("Rent: 900.", id="short")
        memory.add("A long text about the weather of the island when rent was due.", id="long")
        profile = reranked("balanced", backwards, share=1.0)
        result = memory.search("the rent", profile=profile)
        tree = memory.explain("the rent", "short", profile=profile).probability
    assert result.ids == ("long", "short")
    assert tree is not None
    assert tree.value == result[1].probability == result[0].probability
    assert "less likely" in tree.how
    assert tree.children[0].value > tree.value


def test_what_may_not_answer_is_said_only_of_the_clearly_unlikely() -> None:
    assert doubt(None) is None
    assert doubt(DOUBTFUL) is None
    assert doubt(0.249) == "What is found may not answer this (probability 0.25)."
    assert verdict(0.6) == "answered with probability 0.60"
