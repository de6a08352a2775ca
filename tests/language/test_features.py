"""Features of a text, computed when it is written."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from salience.language.english import INSTRUCTION, NUMBER, TEMPORAL
from salience.language.features import FEATURES, features, greeted
from salience.language.languages import language_of
from salience.language.statements.personal import STATED
from salience.language.tokens import words


def features_of(content: str) -> dict[str, float]:
    return dict(zip(FEATURES, features(content, words(content)), strict=True))


# A feature, a text that has it, a text that does not
EXAMPLES = [
    ("is_question", "Is it raining?", "It is raining."),
    ("has_time", "We met at 6 pm.", "I am happy."),
    ("has_time", "We met last week.", "We met in the park."),
    ("has_number", "She has two cats.", "She has cats."),
]


@pytest.mark.parametrize(("name", "text", "other"), EXAMPLES)
def test_a_feature_is_1_or_0(name: str, text: str, other: str) -> None:
    assert (features_of(text)[name], features_of(other)[name]) == (1.0, 0.0)


def test_words_are_counted() -> None:
    # i, my and we are three of nine words: min(1, 5 * 3 / 9) = 1.
    values = features_of("I like my Sarah, and we like her too")
    assert values["first_person"] == 1.0
    # "Sarah" stands inside a sentence: 1 of at most 3.
    assert values["proper_nouns"] == pytest.approx(1 / 3)
    assert values["content_words"] == 3.0  # like, sarah, like


def test_characters_are_counted_once_and_not_their_pairs_as_well() -> None:
    assert features_of("我家的猫今年三岁。")["content_words"] == 6.0  # without 我 and 的
    assert features_of("茶")["content_words"] == 1.0


def test_the_name_that_a_text_greets() -> None:
    assert greeted("Hey Sarah, how are you?") == "sarah"
    assert greeted("Sarah says hello") is None


PIECES = st.sampled_from(
    ["week", "weeks", "two", "2", "3 pm", "10:30", "1st", "2019", "_", " ", ". ", "é", "\u0301",
     "²", "™", "٣", "Always", "never ", "when I ask", "i need you to never", "in future",
     "be sure to", "in", "never in", "? ", "don\u2019t ever"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=8).map("".join))
def test_a_letter_beyond_ascii_changes_no_feature(text: str) -> None:
    plain, other = features_of(f"{text}\nOK."), features_of(f"{text}\nOK\u00e9.")
    for name in ("has_time", "has_number"):
        assert plain[name] == other[name]


@given(
    st.lists(PIECES, max_size=8).map("".join)
    | st.from_regex(INSTRUCTION.pattern)
    | st.from_regex(TEMPORAL.pattern)
    | st.from_regex(NUMBER.pattern)
    | st.sampled_from([cue for _, cue in STATED]).flatmap(lambda cue: st.from_regex(cue.pattern))
)
def test_a_feature_holds_just_if_its_pattern_matches(text: str) -> None:
    assume(language_of(words(text)) is None)  # else its table says
    low, values = text.lower().replace("\u2019", "'"), features_of(text)
    short = len(words(text)) <= 40
    assert values["has_time"] == float(TEMPORAL.search(low) is not None)
    assert values["has_number"] == float(NUMBER.search(low) is not None)
    instructs = short and INSTRUCTION.search(low) is not None
    if "?" not in low and "\uff1f" not in low:  # questions state nothing
        told = next((kind for kind, cue in STATED if cue.search(low)), 0.0)
        assert values["personal"] == max(told, 3.0 * instructs)
