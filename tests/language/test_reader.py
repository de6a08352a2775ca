"""The reader of statements: what is told of the speaker, and what only looks as if."""

from __future__ import annotations

import numpy as np
import pytest

from salience.embedders.static import DIMENSIONS
from salience.language.linear import BUCKETS
from salience.language.reader import FORCES, HOLDERS, KEPT, SUBJECTS, WEIGHTS, read, read_text
from salience.language.reader import _model as model

TOLD = (
    "I have lived in Leeds since my divorce.",
    "My daughter Mia starts school in the fall.",
    "I'm allergic to bee stings.",
    "Ich wohne seit Mai in Bonn.",
    "Trabajo en un banco en Bilbao.",
    "Моему сыну Лёве пять лет.",
    "我在杭州的一家医院工作。",
    "妻は看護師です。",
)
NOT_TOLD = (
    "If I lived in Bergen I would own six umbrellas.",
    "I wish I had a piano.",
    "She said: I live in Rome.",
    'Translate into Dutch: "My brother is a baker."',
    "In the novel I'm writing, I am a widowed beekeeper.",
    "Suppose I had a peanut allergy.",
    "My neighbour is diabetic.",
    "Wenn ich in Graz wohnen würde, hätte ich einen Hund.",
    "Er sagte: „Ich bin Vegetarier.“",
    "Si j'étais riche, j'habiterais à Nice.",
    "如果我住在海边,我会天天游泳。",
)
FORGET = (
    "Please forget that I live in Leeds.",
    "Delete my address.",
    "Vergiss bitte meinen Geburtstag.",
    "Oublie mon adresse.",
)


@pytest.mark.parametrize("text", TOLD)
def test_what_is_told_of_oneself_is_claimed(text: str) -> None:
    [reading] = read_text(text)
    assert (reading.holder, reading.force) in {("user", "told"), ("user", "planned")}
    assert reading.told > 0.5


@pytest.mark.parametrize("text", NOT_TOLD)
def test_what_only_looks_like_it_is_not_claimed(text: str) -> None:
    assert max(reading.told for reading in read_text(text)) < 0.5


@pytest.mark.parametrize("text", FORGET)
def test_what_asks_to_be_forgotten_is_read_so(text: str) -> None:
    [reading] = read_text(text)
    assert reading.force == "forget"
    assert reading.forget > 0.3


def test_the_sentence_before_counts() -> None:
    alone, [told] = read(["I grew up on a boat."])[0], read(["I grew up on a boat."], ["Hi."])
    [quoted] = read(["I grew up on a boat."], ["The hero of my novel says:"])
    assert quoted.told < min(told.told, alone.told)


def test_a_batch_reads_as_one_by_one_to_the_bit() -> None:
    texts = [*TOLD, *NOT_TOLD, *FORGET, "", "?", "a" * 5_000, "\u200b", "1"]
    together = model().scores(texts)
    assert np.array_equal(together, np.concatenate([model().scores([text]) for text in texts]))
    assert np.isfinite(together).all()


def test_the_weights_are_one_text_within_its_size() -> None:
    assert WEIGHTS.stat().st_size <= 400_000
    heads = model().heads
    assert (heads["holder"], heads["force"], heads["kept"]) == (HOLDERS, FORCES, KEPT)
    assert heads["subject"] == SUBJECTS
    outputs = sum(map(len, heads.values()))
    body = "".join(WEIGHTS.read_text("ascii").partition("\n\n")[2].split())
    assert len(body) == outputs * (DIMENSIONS + BUCKETS)
