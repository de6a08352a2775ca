"""Kinds of things that questions ask for, and the words of what belongs to them."""

from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salience.language.english import instance_wordings
from salience.language.query_analysis import analyze_query
from salience.language.tokens import fold, stem, words
from support.scoring import NOW

LINES = [
    line.split(": ")
    for line in resources.files("salience.language")
    .joinpath("kinds.txt")
    .read_text("utf-8")
    .splitlines()
    if not line.startswith("#")
]


def instances(question: str) -> set[str]:
    """The single words that a question looks for besides its own."""
    return {
        form for [forms, *more] in instance_wordings(fold(question)) if not more for form in forms
    }


@pytest.mark.parametrize(
    ("question", "instance"),
    [
        ("Which sports does Ana do?", "judo"),
        ("What are Ana's hobbies?", "knitting"),
        ("What kind of pets has Ana had?", "kitten"),
        ("How many countries did they visit?", "portugal"),
        ("And what healthy food does she like?", "salad"),
        ("Tell me what instruments he plays", "cello"),
        ("What places has she been to?", "lisbon"),
    ],
)
def test_a_question_asks_for_things_of_a_kind(question: str, instance: str) -> None:
    assert stem(instance) in instances(question)
    assert "query_asks_kind" in analyze_query(question, {}, now=NOW).features


@pytest.mark.parametrize(
    "question",
    [
        "Where does Ana live?",
        "What did Ana buy at the store?",
        "What happened in the city?",
        "When did she take up a sport?",
        "She plays an instrument.",
        "Welche Sprache spricht er?",
        "",
    ],
)
def test_a_question_asks_for_no_kind(question: str) -> None:
    analysis = analyze_query(question, {}, now=NOW)
    assert "kind" not in analysis.wordings
    assert "query_asks_kind" not in analysis.features


def test_what_a_question_names_itself_is_no_instance() -> None:
    assert stem("tennis") in instances("What sports does she do?")
    assert stem("tennis") not in instances("What sports besides tennis does she do?")


def test_words_of_one_instance_stand_together() -> None:
    assert (("hot",), ("dog",)) in instance_wordings("what food did she eat?")


@given(
    st.text(max_size=60)
    | st.lists(st.sampled_from("what which how many kinds of sports".split())).map(" ".join)
)
def test_any_text_has_well_formed_wordings(text: str) -> None:
    wordings = instance_wordings(fold(text))
    own = {*map(stem, words(fold(text)))}
    assert all(wording and all(term and all(term) for term in wording) for wording in wordings)
    assert own.isdisjoint(form for wording in wordings if len(wording) == 1 for form in wording[0])
    assert wordings == instance_wordings(fold(text))


def test_each_line_lists_a_kind_and_distinct_instances() -> None:
    names = [name for listed, _ in LINES for name in listed.split()]
    assert len(names) == len(set(names)) == len({stem(name) for name in names})
    for _, listed in LINES:
        things = listed.split()
        assert len(things) == len(set(things))
        assert {thing[1:] for thing in things if thing.startswith("@")} <= set(names)
        assert listed == fold(listed)
