"""The analysis of a query: its features, its terms and the question in a long text."""

import pytest

from salience.language.analysis_types import QueryAnalysis
from salience.language.query_analysis import MAX_PHRASES, analyze_query
from support.scoring import NOW


@pytest.mark.parametrize(
    ("feature", "text"),
    [
        ("query_asks_name", "Whose bike is this?"),
        ("query_asks_name", "Who's there?"),
        ("query_asks_name", "What books has Anna read?"),
        ("query_asks_present", "Where does Anna live at present?"),
        ("query_asks_present", "What is the latest version?"),
        ("query_asks_advice", "What film would Anna like?"),
    ],
)
def test_a_query_has_a_feature(feature: str, text: str) -> None:
    assert feature in analyze_query(text, {}, now=NOW).features


@pytest.mark.parametrize(
    ("feature", "text"),
    [
        ("query_asks_name", "Whole milk or oat milk?"),
        ("query_asks_name", "What gamepad do we have?"),
        ("query_asks_present", "What was Anna's birthday present?"),
        ("query_asks_present", "When is it due at the latest?"),
        ("query_asks_advice", "What would most likely happen?"),
    ],
)
def test_a_query_lacks_a_feature(feature: str, text: str) -> None:
    assert feature not in analyze_query(text, {}, now=NOW).features


@pytest.mark.parametrize(
    "text", ["Any tips on the order of Kim?", "What should I do in order to pay?"]
)
def test_an_order_is_no_sequence(text: str) -> None:
    features = analyze_query(text, {}, now=NOW).features.keys()
    assert {"query_asks_advice", "query_is_not_recall"} <= features


def test_a_sequence_is_no_advice() -> None:
    for text in (
        "Ideas I had, in order?",
        "My ideas: the order in which I had them?",
        "Tips: the order of events?",
    ):
        features = analyze_query(text, {}, now=NOW).features
        assert {"query_asks_advice", "query_is_not_recall"}.isdisjoint(features)


AROUND = (
    "We sat in the kitchen for a long time and talked about this and that, and when I came home I "
    "could not remember now what we had said on the matter last summer. "
)


def test_the_question_in_a_long_text_is_embedded_as_well_and_has_the_features() -> None:
    text = f"{AROUND}Who has the key of the boat? Tell me, please."
    analysis = analyze_query(text, {}, now=NOW)
    assert (analysis.semantic_text, analysis.question) == (text, "Who has the key of the boat?")
    assert "query_asks_name" in analysis.features
    others = {"query_is_first_person", "query_asks_when", "query_asks_present"}
    assert others.isdisjoint(analysis.features)


@pytest.mark.parametrize(
    "text",
    [
        "I was in the boat house. Who has the key of the boat?",  # not long
        f"{AROUND}Any ideas?",  # about what stands around it
        AROUND,
        f"Do you remember that {AROUND.rstrip(' .')}?",  # all of it
    ],
)
def test_a_text_without_a_separate_question_is_embedded_as_a_whole(text: str) -> None:
    assert analyze_query(text, {}, now=NOW).question == ""


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Wer hat den Schlüssel für das Boot?", ["schlussel", "boot"]),
        ("Où est la clé du bateau ?", ["cle", "bateau"]),
        ("¿Dónde está la llave del barco?", ["llave", "barco"]),
        ("Onde está a chave do barco?", ["chave", "barco"]),
        ("Dov'è la chiave della barca?", ["dov", "chiav", "barca"]),
        ("Waar is de sleutel van de boot?", ["sleutel", "boot"]),
        ("Where is the son of Die Zeit's editor?", ["son", "die", "zeit", "editor"]),
        ("Las Vegas in August", ["la", "vega", "august"]),
        ("Was, wann, wo?", ["wa", "wann", "wo"]),
    ],
)
def test_stop_words_of_a_language_are_not_searched_for(text: str, terms: list[str]) -> None:
    assert [term[0] for term in analyze_query(text, {}, now=NOW).terms] == terms


def test_a_query_of_nothing_but_phrases_has_few() -> None:
    def analysis(query: str) -> QueryAnalysis:
        return analyze_query(query, {}, now=NOW)

    phrases = analysis(" ".join(f'"tea {n}"' for n in range(1_000))).phrases
    assert phrases == tuple(f"tea {n}" for n in range(MAX_PHRASES))
    assert analysis('"green tea" ' * 1_000).phrases == ("green tea",)
    assert len(analysis(" ".join(f"tea{n}*" for n in range(1_000))).prefixes) == MAX_PHRASES


def test_an_english_question_for_the_past_asks_for_a_state() -> None:
    former = analyze_query("Where did I live before?", {}, now=NOW)
    assert former.features["query_asks_state"] == 1.0
    assert former.state == analyze_query("Where do I live?", {}, now=NOW).state
    any_time = analyze_query("Where did I live before I met Ana?", {}, now=NOW)
    assert "query_asks_state" not in any_time.features
