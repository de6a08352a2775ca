"""Texts of great length are compared as a whole, not word by word."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from salience import Memory
from salience.language import tokens
from salience.testing import WordHashEmbedder
from salience.write.dedup import text_differences
from salience.write.dedup.text_differences import MAX_COMPARED_CHARACTERS


@pytest.mark.parametrize(
    ("length", "compared", "outcomes"),
    [
        (MAX_COMPARED_CHARACTERS + 1, False, ["ADDED", "ADDED", "DUPLICATE"]),
        (MAX_COMPARED_CHARACTERS // 2, True, ["ADDED", "MERGED", "DUPLICATE"]),
    ],
)
def test_words_of_long_texts_are_not_compared(
    monkeypatch: pytest.MonkeyPatch, length: int, compared: bool, outcomes: list[str]
) -> None:
    lengths: list[int] = []

    def words(text: str) -> Sequence[str]:
        lengths.append(len(text))
        return tokens.words(text)

    monkeypatch.setattr(text_differences, "words", words)
    text = ("Ana " * length)[:length]
    with Memory.open("ram://", embedder=WordHashEmbedder()) as memory:
        added = [
            memory.add(each, kind="fact").items[0].outcome
            for each in (text, f"{text} sings", f"{text} sings")
        ]
        memory.search("ana sings")
        memory.add(f"{text} again", kind="fact")
    assert added == outcomes
    assert (sum(lengths) > 0) == compared
    assert all(each <= MAX_COMPARED_CHARACTERS for each in lengths)
