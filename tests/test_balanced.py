"""What the default profile finds first in small stores."""

from collections.abc import Sequence
from typing import Any

import pytest

from recollect import Memory

Turns = Sequence[tuple[str | None, str]]

NOTES = (
    "Greta lives in Malmo.",
    "Greta works as a vet.",
    "Always send Greta a reminder one day before.",
    "Never park behind the shop.",
    "The till opens with the small key.",
    "Hugo would rather not open the till alone.",
)
CHAT = (
    ("user", "Always show me prices in euros."),
    ("assistant", "I will."),
    ("user", "The kettle cost nine pounds."),
    ("assistant", "That is cheap for a kettle."),
)


def first(turns: Turns, question: str, **options: Any) -> str:
    """The content that the default profile finds first."""
    with Memory.open("ram://") as memory:
        memory.add_many(
            [{"content": text, "speaker": speaker, **options} for speaker, text in turns]
        )
        return memory.search(question)[0].content


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Where does Greta live?", "Greta lives in Malmo."),
        ("What does Greta do for work?", "Greta works as a vet."),
        ("How should I open the till?", "The till opens with the small key."),
    ],
)
def test_a_note_of_nobody_is_no_instruction_or_wish(question: str, answer: str) -> None:
    assert first([(None, note) for note in NOTES], question) == answer


def test_a_user_s_instruction_comes_first() -> None:
    assert first(CHAT, "Show me the price of a kettle.") == "Always show me prices in euros."


def test_a_question_for_a_name_is_less_about_instructions() -> None:
    chat = (*CHAT, ("user", "Never buy anything at the shop of Ilse."),
            ("user", "The kettle is from the shop of Jost."))  # fmt: skip
    assert first(chat, "Which shop is the kettle from?") == "The kettle is from the shop of Jost."
