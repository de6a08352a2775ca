"""Whom the words of a question name, misspelt or not."""

from itertools import islice, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salience.language.query_analysis import analyze_query
from salience.language.speakers import (
    name_candidates,
    named_speakers,
    rare_speakers,
    speakers_by_word,
)

NAMES = {name: {name.title()} for name in ("akib", "melanie", "melody", "jo", "karin", "karina")}
LETTERS = st.text("abc", min_size=2, max_size=7)


def whom(word: str) -> set[str]:
    return {who.lower() for each in named_speakers([word], NAMES, {word}).values() for who in each}


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("aqib", "akib"),  # changed
        ("melonie", "melanie"),
        ("akb", ""),  # too short to have lost a letter
        ("melanne", "melanie"),  # changed
        ("melnie", "melanie"),  # missing
        ("mellanie", "melanie"),  # added
        ("mealnie", "melanie"),  # swapped
        ("mel", "melanie"),  # the first that begins so
        ("karni", "karin"),
        ("karinas", "karina"),
        ("karinna", "karina"),
        ("joo", ""),
        ("moleny", ""),  # two slips
    ],
)
def test_a_strange_word_names_who_it_is_nearest_to(word: str, name: str) -> None:
    assert whom(word) == ({name} if name else set())
    if word != "karinas":
        assert named_speakers([word], NAMES, set()) == {}


@given(word=LETTERS.filter(lambda word: len(word) > 2), names=st.sets(LETTERS, max_size=8))
def test_it_is_the_first_that_begins_with_it_or_differs_by_one_slip(
    word: str, names: set[str]
) -> None:
    names -= {word, word.removesuffix("s")}
    alike = sorted(name for name in names if name.startswith(word) or one_slip(word, name))
    expected = {word: frozenset(alike[:1])} if alike else {}
    assert named_speakers([word], {name: {name} for name in names}, {word}) == expected


def one_slip(word: str, name: str) -> bool:
    """By trying each slip there is."""
    found = {word[:i] + word[i + 1 :] for i in range(len(word))}
    found |= {word[:i] + c + word[i:] for i in range(len(word) + 1) for c in "abc"}
    found |= {word[:i] + c + word[i + 1 :] for i in range(len(word)) for c in "abc"}
    found |= {word[:i] + word[i : i + 2][::-1] + word[i + 2 :] for i in range(len(word))}
    return min(len(word), len(name)) >= 4 and name in found


def test_many_strange_words_are_looked_up_among_many_names() -> None:
    names = {"".join(each): {"somebody"} for each in islice(product("klmnop", repeat=6), 2_000)}
    words = ["".join(each) for each in islice(product("bcdfgh", repeat=6), 40_000)]
    assert named_speakers([*words, "kkkkkb"], names, {*words, "kkkkkb"}) == {"kkkkkb": {"somebody"}}


SPEAKERS = speakers_by_word(
    {"Bill", "Anna", "Mark", "Melanie", "Peter", "Carla", "Олег", "planner", "build server"}
)


def speakers(text: str) -> set[str]:
    """Whom a question names whose words were never said before."""
    asked, proper, ordinary = name_candidates(text)
    return set().union(*named_speakers(asked, SPEAKERS, proper, ordinary).values())


@pytest.mark.parametrize(
    ("text", "who"),
    [
        ("What did Bill say?", {"Bill"}),
        ("What mark did Mark get?", {"Mark"}),
        ("What did anna say?", {"Anna"}),  # no other meaning
        ("what did anna say?", {"Anna"}),
        ("What did the planner decide?", {"planner"}),
        ("What did the build server report?", {"build server"}),
        ("What did Mel say?", {"Melanie"}),
        ("Melonie's bike?", {"Melanie"}),
        ("что сказал Олег?", {"Олег"}),
        ("Что сказал Олгг?", {"Олег"}),
    ],
)
def test_whom_a_question_names(text: str, who: set[str]) -> None:
    assert speakers(text) == who


@pytest.mark.parametrize(
    "text",
    [
        "What did the heating bill cost?",
        "Are the bills paid?",
        "Bill 4711?",
        "exam mark",
        "Why do we need a bigger server?",
        "Car trouble?",
        "pet names",
    ],
)
def test_a_common_word_names_nobody(text: str) -> None:
    assert speakers(text) == set()


RELATIVES = speakers_by_word({"Ana Costa", "Ana Silva", "Rui Costa", "Tom Reis"})


@pytest.mark.parametrize(
    ("text", "who"),
    [
        ("What did Ana Costa say?", {"Ana Costa"}),
        ("Is that Rui Costa's bike?", {"Rui Costa"}),
        ("What did Ana say?", {"Ana Costa", "Ana Silva"}),
        ("Did Tom meet Ana Costa?", {"Tom Reis", "Ana Costa"}),
        ("Did Rui meet Silva?", {"Rui Costa", "Ana Silva"}),
    ],
)
def test_a_full_name_means_nobody_else_who_shares_a_part_of_it(text: str, who: set[str]) -> None:
    asked, proper, ordinary = name_candidates(text)
    names = named_speakers(asked, RELATIVES, proper, ordinary)
    assert analyze_query(text, names, this_year=2026).speakers == who


def test_the_name_of_one_of_many_is_looked_for_by_meaning_as_well() -> None:
    names = named_speakers(["ana", "costa", "rui"], RELATIVES, set())
    turns = {"Ana Costa": 2, "Ana Silva": 40, "Rui Costa": 90}

    def meaning(text: str, all_turns: int) -> str:
        asked = {word: who for word, who in names.items() if word in text.lower()}
        few = rare_speakers(turns, all_turns)
        return analyze_query(text, asked, this_year=2026, rare=few).semantic_text

    assert meaning("What did Ana Costa say?", 199) == "What did say?"
    assert meaning("What did Ana Costa say?", 200) == "What did Ana Costa say?"
    assert meaning("What did Ana say?", 200) == "What did say?"
    assert meaning("What did Rui say?", 8_999) == "What did say?"
