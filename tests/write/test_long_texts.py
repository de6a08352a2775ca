"""Texts of great length are compared as a whole, not word by word."""

from __future__ import annotations

import pytest

from salience import Memory
from salience.testing import WordHashEmbedder
from salience.write.dedup import sameness
from salience.write.dedup.sameness import MAX_COMPARED_CHARACTERS
from salience.write.dedup.written_words import WrittenText, written


@pytest.mark.parametrize(
    ("length", "compared", "outcomes"),
    [
        (MAX_COMPARED_CHARACTERS + 1, False, ["ADDED", "ADDED", "DUPLICATE"]),
        pytest.param(
            MAX_COMPARED_CHARACTERS // 2,
            True,
            ["ADDED", "MERGED", "DUPLICATE"],
            marks=pytest.mark.deep,
        ),
    ],
)
def test_words_of_long_texts_are_not_compared(
    monkeypatch: pytest.MonkeyPatch, length: int, compared: bool, outcomes: list[str]
) -> None:
    lengths: list[int] = []

    def reading(text: str) -> WrittenText:
        lengths.append(len(text))
        return written(text)

    monkeypatch.setattr(sameness, "written", reading)
    sameness._read.cache_clear()
    text = ("Ana " * length)[:length]
    with Memory.open("ram://", embedder=WordHashEmbedder()) as memory:
        added = [
            memory.add(each, kind="fact").items[0].outcome
            for each in (text, f"{text}. Ben sings.", f"{text}. Ben sings.")
        ]
        memory.search("ana sings")
        memory.add(f"{text} again", kind="fact")
    assert added == outcomes
    assert (sum(lengths) > 0) == compared
    assert all(each <= MAX_COMPARED_CHARACTERS for each in lengths)
