"""The table of cues: each catches its example, and not its counterexample."""

from importlib import import_module

import pytest

from salience.language.cues import CUES, Cue
from salience.language.tokens import fold

for module in (
    "dates.cues",
    "english",
    "entities",
    "memory_cues",
    "query_cues",
    "speakers",
    "statements.cues",
):
    import_module(f"salience.language.{module}")

_CASE_SENSITIVE = {"greeting", "marked_entity", "maybe_capitalised", "capitalized_inside"}


@pytest.mark.parametrize("cue", CUES.values(), ids=CUES)
def test_a_cue_catches_its_example_and_not_its_counterexample(cue: Cue) -> None:
    assert cue.is_in(cue.catches)
    assert not cue.is_in(cue.must_not_catch)


@pytest.mark.parametrize("cue", CUES.values(), ids=CUES)
def test_a_cue_is_described_by_texts_as_it_sees_them(cue: Cue) -> None:
    assert cue.purpose
    for text in (cue.catches, cue.must_not_catch):
        assert cue.name in _CASE_SENSITIVE or text == fold(text)
