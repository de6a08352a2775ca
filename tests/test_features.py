"""What is told of a memory once, when it is written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.features import FEATURES, features, greeted
from recollect.lexicon import INSTRUCTION, INSTRUCTION_SIGNS
from recollect.text import words


def told(content: str) -> dict[str, float]:
    return dict(zip(FEATURES, features(content, words(content)), strict=True))


# 1 for each feature that is a matter of yes or no
SAID = [
    ("is_question", "Is it raining?", "It is raining."),
    ("has_time", "We met at 6 pm.", "I am happy."),
    ("has_time", "We met last week.", "We met in the park."),
    ("has_number", "She has two cats.", "She has cats."),
    ("is_instruction", "Always answer in French.", "It always rains in Paris."),
    ("is_instruction", "WHEN I ASK for code, show it.", "When it rains, I read."),
    ("is_preference", "I LOVE hiking.", "They love hiking."),
]


@pytest.mark.parametrize(("name", "yes", "no"), SAID)
def test_what_a_text_says(name: str, yes: str, no: str) -> None:
    assert (told(yes)[name], told(no)[name]) == (1.0, 0.0)


def test_words_are_counted() -> None:
    # i, my and we are three of nine words: min(1, 5 * 3 / 9) = 1.
    found = told("I like my Sarah, and we like her too")
    assert found["first_person"] == 1.0
    # "Sarah" stands inside a sentence: 1 of at most 3.
    assert found["names"] == pytest.approx(1 / 3)
    assert found["content_words"] == 3.0  # like, sarah, like


def test_whom_a_text_greets() -> None:
    assert greeted("Hey Sarah, how are you?") == "sarah"
    assert greeted("Sarah says hello") is None


@given(st.from_regex(INSTRUCTION))
def test_every_instruction_has_one_of_its_signs(text: str) -> None:
    assert any(sign in text for sign in INSTRUCTION_SIGNS)
