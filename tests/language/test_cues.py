"""The table of cues: each catches its example, and not its counterexample."""

from importlib import import_module
from pathlib import Path

import pytest

import salience
from salience.language.cues import CUES, Cue, read_table
from salience.language.languages import LANGUAGES
from salience.language.tokens import fold

for module in (
    "dates.grammar",
    "english",
    "entities",
    "speakers",
    "statements.cues",
):
    import_module(f"salience.language.{module}")

CODES = {*LANGUAGES, "en"}
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


PACKAGE = Path(salience.__file__).parent
TABLES = sorted(PACKAGE.rglob("tables/*.txt"))
LISTED = {
    *("stop_words", "marks", "framing", "endings", "others", "state_words"),
    *("months", "weekdays", "numbers", "phrases", "date_marks", "topics"),
}
"""Entries of languages that are lists of words, or are tested as a whole."""


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_an_entry_of_a_table_has_an_example_and_a_counterexample(path: Path) -> None:
    entries = read_table(path.stem, path.parent)
    assert len(path.read_text("utf-8").split("\n## ")) == len(entries) + 1
    for name, entry in entries.items():
        assert entry.lines, name
        if path.stem in CODES and (name in LISTED or name.startswith("wording ")):
            continue
        has_both = bool(entry.catches and entry.must_not_catch)
        assert has_both != name.startswith("_"), name


def test_a_line_of_a_table_has_no_blank_that_an_editor_would_strip() -> None:
    for path in TABLES:
        for line in path.read_text("utf-8").splitlines():
            assert line == line.rstrip(), (path, line)
