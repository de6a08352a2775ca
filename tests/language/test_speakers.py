"""The speakers that the words of a question name, misspelt or not, and their nicknames."""

from itertools import islice, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salience.language.query_analysis import analyze_query
from salience.language.speakers import (
    count_greetings,
    name_candidates,
    named_speakers,
    nicknames,
    rare_speakers,
    resolve_speakers,
    speakers_by_word,
    speakers_of,
    users_and_assistants,
)
from support.scoring import NOW

NAMES = {name: {name.title()} for name in ("akib", "melanie", "melody", "jo", "karin", "karina")}
LETTERS = st.text("abc", min_size=2, max_size=7)


def similar_names(word: str) -> set[str]:
    named = named_speakers([word], NAMES, {word})
    return {name.lower() for names in named.values() for name in names}


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
def test_an_unseen_word_stands_for_a_similar_name(word: str, name: str) -> None:
    assert similar_names(word) == ({name} if name else set())
    if word != "karinas":
        assert named_speakers([word], NAMES, set()) == {}


@given(word=LETTERS.filter(lambda word: len(word) > 2), names=st.sets(LETTERS, max_size=8))
def test_a_similar_name_is_the_first_that_begins_so_or_differs_by_one_slip(
    word: str, names: set[str]
) -> None:
    names -= {word, word.removesuffix("s")}
    similar = sorted(name for name in names if name.startswith(word) or is_one_slip(word, name))
    expected = {word: frozenset(similar[:1])} if similar else {}
    assert named_speakers([word], {name: {name} for name in names}, {word}) == expected


def is_one_slip(word: str, name: str) -> bool:
    """Try each possible slip."""
    misspelt = {word[:i] + word[i + 1 :] for i in range(len(word))}
    misspelt |= {word[:i] + c + word[i:] for i in range(len(word) + 1) for c in "abc"}
    misspelt |= {word[:i] + c + word[i + 1 :] for i in range(len(word)) for c in "abc"}
    misspelt |= {word[:i] + word[i : i + 2][::-1] + word[i + 2 :] for i in range(len(word))}
    return min(len(word), len(name)) >= 4 and name in misspelt


def test_many_unseen_words_are_compared_with_many_names() -> None:
    names = {"".join(chars): {"somebody"} for chars in islice(product("klmnop", repeat=6), 2_000)}
    words = ["".join(chars) for chars in islice(product("bcdfgh", repeat=6), 40_000)]
    assert named_speakers([*words, "kkkkkb"], names, {*words, "kkkkkb"}) == {"kkkkkb": {"somebody"}}


SPEAKERS = speakers_by_word(
    {"Bill", "Anna", "Mark", "Melanie", "Peter", "Carla", "Олег", "planner", "build server"}
)


def speakers(text: str) -> set[str]:
    """The speakers that a question names if no memory has any of its words."""
    candidates, proper, ordinary = name_candidates(text)
    return set().union(*named_speakers(candidates, SPEAKERS, proper, ordinary).values())


@pytest.mark.parametrize(
    ("text", "names"),
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
def test_the_speakers_of_a_question(text: str, names: set[str]) -> None:
    assert speakers(text) == names


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
    ("text", "names"),
    [
        ("What did Ana Costa say?", {"Ana Costa"}),
        ("Is that Rui Costa's bike?", {"Rui Costa"}),
        ("What did Ana say?", {"Ana Costa", "Ana Silva"}),
        ("Did Tom meet Ana Costa?", {"Tom Reis", "Ana Costa"}),
        ("Did Rui meet Silva?", {"Rui Costa", "Ana Silva"}),
    ],
)
def test_a_full_name_is_nobody_else_with_a_part_of_it(text: str, names: set[str]) -> None:
    candidates, proper, ordinary = name_candidates(text)
    named = named_speakers(candidates, RELATIVES, proper, ordinary)
    assert resolve_speakers(named) == names
    assert analyze_query(text, named, now=NOW).speakers == names


def test_the_name_of_a_rare_speaker_is_embedded_too() -> None:
    named = named_speakers(["ana", "costa", "rui"], RELATIVES, set())
    turns = {"Ana Costa": 2, "Ana Silva": 40, "Rui Costa": 90}

    def embedded(text: str, all_turns: int) -> str:
        here = {word: names for word, names in named.items() if word in text.lower()}
        rare = rare_speakers(turns, all_turns)
        return analyze_query(text, here, now=NOW, rare=rare).semantic_text

    assert embedded("What did Ana Costa say?", 199) == "What did say?"
    assert embedded("What did Ana Costa say?", 200) == "What did Ana Costa say?"
    assert embedded("What did Ana say?", 200) == "What did say?"
    assert embedded("What did Rui say?", 8_999) == "What did say?"


@pytest.mark.parametrize(
    ("counts", "speaker"),
    [
        ({"Katherine": 3}, "Katherine"),
        ({"Katherine": 2}, None),  # too seldom
        ({"Katherine": 7, "Tom": 2}, "Katherine"),
        ({"Katherine": 6, "Tom": 2}, None),  # of both
        ({None: 5}, None),
    ],
)
def test_a_name_that_is_nearly_always_said_to_one_speaker_is_a_nickname(
    counts: dict[str | None, int], speaker: str | None
) -> None:
    assert nicknames({"kate": counts}).get("kate") == speaker


def test_a_greeting_is_for_the_other_one_of_two() -> None:
    turns = [(1, "Ana"), (1, "Tom"), (1, "Ana"), (2, "Ana"), (2, "Tom"), (2, "Rui"), (3, "Ana")]
    greetings = [("tommy", 1, "Ana"), ("tommy", 1, "Ana"), ("annie", 1, "Tom"),
                 ("tommy", 2, "Ana"), ("tommy", 3, "Ana")]  # fmt: skip
    assert count_greetings(greetings, turns) == {"tommy": {"Tom": 2}, "annie": {"Ana": 1}}


def test_a_nickname_names_its_speaker_unless_it_is_a_name_itself() -> None:
    speakers = speakers_of({"Ana Costa": 3, "Tom": 4}, {"annie": "Ana Costa", "tom": "Ana Costa"})
    assert speakers.by_word == {
        "ana": {"Ana Costa"}, "costa": {"Ana Costa"}, "annie": {"Ana Costa"}, "tom": {"Tom"},
    }  # fmt: skip
    assert speakers.all_turns == 7


@pytest.mark.parametrize(
    ("turns", "users", "assistants"),
    [
        ({"User": 1, "assistant": 2}, {"User"}, {"assistant"}),
        ({"Ana": 1, "Tom": 3, "AI": 2}, {"Tom"}, {"AI"}),
        ({"Ana": 1, "Tom": 3}, set(), set()),
    ],
)
def test_users_and_assistants(turns: dict[str, int], users: set[str], assistants: set[str]) -> None:
    assert users_and_assistants(turns) == (frozenset(users), frozenset(assistants))
