"""Misspelt words: what they may be meant for, and how likely."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salience.embedders.static import known_words
from salience.language.query_analysis import analyze_query
from salience.language.spelling import (
    NO_DICTIONARY,
    Dictionary,
    Taken,
    cost,
    english_words,
    is_spelt,
    likely_slip,
    one_slip,
    respelt,
    slips,
    spelt_words,
    take,
    taken_notes,
)
from support.scoring import NOW

WORDS = st.text("abcdeky", min_size=4, max_size=9)


@pytest.mark.parametrize(
    ("word", "other", "expected"),
    [
        ("kayak", "kayak", 0.0),
        ("kayak", "kayka", 0.5),  # two letters swapped
        ("gallery", "galery", 0.5),  # a doubled letter
        ("kayak", "kayal", 0.7),  # k and l are side by side
        ("breed", "braed", 0.7),  # vowels sound alike
        ("kayak", "kaak", 0.8),  # a letter missing
        ("kayak", "kayat", 1.0),  # any other letter
        ("kayak", "ayak", 0.9),  # missing at the beginning: 0.8 + 0.1
        ("hiking", "biking", 1.15),  # h and b are near, but it is the first letter: 0.7 + 0.45
        ("accommodation", "acomodation", 1.0),  # two doubled letters
    ],
)
def test_the_cost_of_a_slip(word: str, other: str, expected: float) -> None:
    assert cost(word, other) == pytest.approx(expected)


@given(WORDS, WORDS)
def test_the_cost_is_symmetric_and_zero_for_the_same_word_alone(word: str, other: str) -> None:
    assert cost(word, other) == pytest.approx(cost(other, word))
    assert (cost(word, other) == 0.0) == (word == other)


@given(WORDS)
def test_slips_are_within_their_bounds(word: str) -> None:
    assert all(cost(word, other) <= 1.0 + 0.45 for other in one_slip(word))
    assert all(cost(word, other) <= 0.7 + 0.7 for other in likely_slip(word))
    first, *rest = slips(word)
    assert word not in first
    assert {other for other in one_slip(word) if is_spelt(other)} - {word} == set(first)
    assert bool(rest) == (len(word) >= 8)
    assert all(set(first).isdisjoint(others) and word not in others for others in rest)


@given(WORDS)
def test_every_word_one_slip_away_leads_back(word: str) -> None:
    assert all(word in set(one_slip(other)) for other in one_slip(word) if len(other) > 3)


def test_words_that_are_no_plain_words_are_left_alone() -> None:
    text = 'Did "Kayka Club" use mongod42 in src/kayka, snake_case, camelCase, a@kayka.de or NASA?'
    assert spelt_words(f"{text} Surely kyaak, naïve café-goers' Straße and 東京都庁.") == [
        "kyaak", "naive", "cafe", "goers", "strasse",
    ]  # fmt: skip


def test_alphabets_other_than_latin() -> None:
    assert is_spelt("москва")
    assert is_spelt("ελλαδα")
    assert not is_spelt("東京都庁")
    assert not is_spelt("москvа")
    assert not is_spelt("cat")
    assert "москва" in set(one_slip("мосвка"))
    assert take("мосвка", {"москва": 1}, {"москва"}, NO_DICTIONARY) == Taken(("москва",), 0.85)


def test_the_likeliest_words_are_taken_and_at_most_three() -> None:
    near = {"kayak": 1, "kaykas": 9, "kayla": 2}
    assert take("kayka", near, near, NO_DICTIONARY) == Taken(("kayak", "kayla"), 0.85)
    many = {"toad": 1, "load": 4, "road": 2, "goad": 2}
    taken = take("oadd", many, many, NO_DICTIONARY, is_english=False)
    assert taken is None  # two slips in a short word
    taken = take("oad", many, many, NO_DICTIONARY)
    assert taken is not None
    assert taken.words == ("load", "goad", "road")


def test_no_memory_writes_the_word() -> None:
    """Postings know "linely" by the stem of "line"; no memory that is read writes it so."""
    assert take("lonely", {"linely": 3}, {"line", "lines"}, NO_DICTIONARY) is None
    assert take("hikng", {"hiking": 3}, {"hikes"}, NO_DICTIONARY) is not None


def test_a_name_is_taken_for_a_name_alone() -> None:
    assert take("elise", {"else": 9}, {"else"}, NO_DICTIONARY) is not None
    assert take("elise", {"else": 9}, set(), NO_DICTIONARY, is_name=True) is None
    assert take("doulgas", {"douglas": 9}, {"douglas"}, NO_DICTIONARY, is_name=True) is not None


def test_the_list_of_english_words_lets_any_slip_of_a_wrong_one_pass() -> None:
    dictionary = Dictionary(english_words)
    near = {"work": 9, "life": 2, "books": 5}
    assert take("wxrk", near, near, dictionary) is not None  # 1.0
    assert take("xife", near, near, dictionary) is not None  # 1.45
    assert take("lke", {"like": 3}, {"like"}, dictionary) == Taken(("like",), 0.76)
    # In other languages and for names, of which no list is complete, only likely ones do.
    assert take("wxrk", near, near, dictionary, is_english=False) is None
    assert take("wxrk", near, near, dictionary, is_name=True) is None


def test_right_words_are_not_taken_for_others() -> None:
    dictionary = Dictionary(english_words)
    right = ("killer", "knee", "beers", "quilt", "pay", "sow", "colour", "favourite")
    assert all(map(dictionary.knows, right))
    assert not any(map(dictionary.knows, ("lke", "snw", "bok", "activitiess")))


def test_a_wrong_word_that_no_memory_holds_is_put_right_for_the_embedder() -> None:
    dictionary = Dictionary(english_words)
    assert take("saalry", {}, (), dictionary) == Taken(("salary",), 0.85)
    assert take("cibema", {}, (), dictionary) is not None
    assert take("saalry", {}, (), dictionary, is_name=True) is None


def test_a_right_word_that_no_memory_holds_keeps_others_away() -> None:
    dictionary = Dictionary(lambda: ("married", "hobbies"))
    assert dictionary.knows("married")
    assert dictionary.knows("hobbies")
    assert not dictionary.knows("marreid")
    hobbits = {"hobbits": 1}
    assert take("hobbeis", hobbits, hobbits, dictionary) == Taken(("hobbies",), 0.85)
    assert take("hobbjes", hobbits, hobbits, dictionary) == Taken(("hobbies",), 0.79)
    assert take("hobbjes", hobbits, hobbits, dictionary, is_english=False) is None
    assert take("janaury", {}, (), dictionary) == Taken(("january",), 0.85)


def test_the_embedder_knows_thousands_of_words() -> None:
    dictionary = Dictionary(known=known_words)
    assert all(map(dictionary.knows, ("married", "carried", "garden", "gardens")))
    assert not any(map(dictionary.knows, ("mongod", "typsecript", "kayka")))


def test_a_text_is_put_right() -> None:
    taken = {"kayka": Taken(("kayak", "kayla"), 0.85), "janaury": Taken(("january",), 0.85)}
    assert respelt("Kayka's trip, in Janaury?", taken) == "Kayak's trip, in January?"
    assert taken_notes({"mongod": ("mongo", "mongodb")}) == ["mongod: took mongo, mongodb"]


def test_taken_words_are_one_term_with_a_weight() -> None:
    taken = {"kayka": Taken(("kayak", "kayla"), 0.85)}
    analysis = analyze_query("red kayak", {}, now=NOW, taken=taken)
    weighted = dict(zip(analysis.terms, analysis.weights, strict=True))
    assert weighted == {("red",): 1.0, ("kayak", "kayla"): 0.85}
    assert analysis.taken == {"kayka": ("kayak", "kayla")}
    assert analyze_query("red kayak", {}, now=NOW).weights == ()
