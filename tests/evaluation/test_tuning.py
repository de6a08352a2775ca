"""Tuning: weights that questions pay for, and a refusal of those that others would pay for."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from salience import Memory
from salience.errors import InvalidInput
from salience.evaluation.tuning import (
    Question,
    cross_validate,
    fit,
    leave_one_out,
    quality,
    read_questions,
    tunable,
    tune,
)
from salience.ranking.profile import Profile
from salience.ranking.profiles import get

PARTS = 3


def questions(seed: int, count: int = 40, noise: float = 0.5) -> list[Question]:
    """Lists of twelve, whose best by x0 + 2 x1 with some noise answers; x2 tells nothing."""
    random = np.random.default_rng(seed)
    made = []
    for number in range(count):
        parts = random.random((12, PARTS)).astype(np.float32)
        worth = parts @ np.array([1.0, 2.0, 0.0]) + noise * random.normal(size=12)
        relevant = worth == worth.max()
        place = number % 4
        made.append(Question(f"set {place % 2}", f"talk {place}", parts, np.zeros(12), relevant, 1))
    return made


def test_quality_by_hand() -> None:
    parts = np.array([[3.0], [2.0], [1.0]], dtype=np.float32)
    first = Question("s", "c", parts, np.zeros(3), np.array([False, True, True]), 4)
    second = Question("s", "c", parts, np.array([0.0, 0.0, 9.0]), np.array([0, 0, 1], bool), 1)
    measured = quality([first, second], np.array([1.0]))
    assert measured.recall == (2 / 4 + 1.0) / 2  # two of four found; one of one
    assert measured.mrr == (1 / 2 + 1.0) / 2
    assert measured.questions == 2


def test_weights_move_to_what_tells_answers_apart() -> None:
    lists = questions(0, count=400)
    start = np.ones(PARTS)
    weights = fit(lists, start, 0.003)
    assert weights[1] > 1.5 * weights[0] > 0.0
    assert abs(weights[2]) < 0.25
    assert quality(questions(1), weights).mrr > quality(questions(1), start).mrr + 0.05


@given(st.integers(0, 20), st.floats(0.1, 3.0))
def test_a_penalty_without_end_leaves_the_weights(seed: int, weight: float) -> None:
    start = np.full(PARTS, weight)
    assert fit(questions(seed, count=8), start, 1e9) == pytest.approx(start, abs=1e-4)


@given(st.integers(0, 20))
def test_the_fit_is_a_maximum(seed: int) -> None:
    """A part that is the same for all candidates, or for none, cannot move."""
    lists = [
        replace(each, parts=np.where([True, True, False], each.parts, 1).astype(np.float32))
        for each in questions(seed, count=20)
    ]
    assert fit(lists, np.ones(PARTS), 0.1)[2] == pytest.approx(1.0)


def test_folds_are_whole_conversations_and_nothing_is_learned_from_itself() -> None:
    lists = questions(2)
    folds = list(cross_validate(lists, np.ones(PARTS), 0.03, 0))
    assert sum(fold.before.questions for fold in folds) == len(lists)
    out = {fold.set: fold for fold in leave_one_out(lists, np.ones(PARTS), 0.03)}
    own = [each for each in lists if each.set == "set 0"]
    weights = fit([each for each in lists if each.set == "set 1"], np.ones(PARTS), 0.03)
    assert out["set 0"].after == quality(own, weights)
    with pytest.raises(InvalidInput, match="one conversation"):
        list(cross_validate([lists[0]], np.ones(PARTS), 0.03, 0))


COLORS = ("red", "green", "blue", "grey")  # said of one topic they are no versions of it


def folder(path: Path, *, by_length: bool) -> Path:
    """Two conversations; the answer of each question is its longest memory, or one at random."""
    random = np.random.default_rng(3)
    path.mkdir()
    for talk in range(4):
        memories, queries = [], []
        for number in range(6):
            ids = [f"{talk}-{number}-{place}" for place in range(4)]
            best = int(random.integers(4))
            for place, id in enumerate(ids):
                is_long = place == best if by_length else random.random() < 0.5
                words = " and more of it each day" if is_long else ""
                memories.append({"id": id, "text": f"Topic{number} in {COLORS[place]}{words}."})
            queries.append({"text": f"What is topic{number}?", "relevant": [ids[best]]})
        document = {"memories": memories, "queries": queries}
        (path / f"{talk}.json").write_text(json.dumps(document))
    return path


def test_the_parts_that_are_read_give_the_scores_of_the_search(tmp_path: Path) -> None:
    profile = get("balanced")
    names = list(tunable(profile))
    assert {"current_version", "sunk"}.isdisjoint(names)
    path = folder(tmp_path / "set", by_length=True)
    weights = np.array(list(tunable(profile).values()))
    for question in read_questions([path], profile, "none", names):
        assert question.parts.shape == (len(question.rest), len(names))
        assert question.rest == pytest.approx(np.zeros(len(question.rest)), abs=1e-5)
        assert np.isfinite(question.parts @ weights).all()


def test_what_is_learned_is_kept_where_no_fold_is_worse(tmp_path: Path) -> None:
    path = folder(tmp_path / "set", by_length=True)
    tuned = tune([path], get("balanced"), "none", parts=["length", "lexical"])
    assert tuned.is_kept
    assert tuned.weights["length"] > tuned.before["length"]
    assert all(fold.after.mrr >= fold.before.mrr for fold in tuned.folds)
    read = Profile.from_json(tuned.profile.to_json())
    assert read == tuned.profile
    assert read.fitted["command"] == "salience tune set"
    assert read.weights["length"] == tuned.weights["length"]


def test_a_part_that_cannot_be_learned_is_refused() -> None:
    with pytest.raises(InvalidInput, match="parts"):
        tunable(get("balanced"), ["sunk"])


def test_the_labelled_questions_of_a_namespace_are_learned_from(tmp_path: Path) -> None:
    store = tmp_path / "notes.db"
    with Memory(store, embedder=None, namespace="ana") as memory:
        for thing in ("cello", "boiler", "kayak"):
            memory.add(f"The {thing} is here.", id=thing)
            memory.labels.add(f"Where is the {thing}?", relevant=thing)
        memory.labels.add("Where is the moon?")  # nothing answers: no example to learn from
    profile = get("balanced")
    read = read_questions([], profile, "none", ["lexical"], url=store, namespace="ana")
    assert [(each.set, each.answers) for each in read] == [("labelled", 1)] * 3
    tuned = tune([], profile, "none", parts=["lexical"], url=store, namespace="ana")
    assert [fold.before.questions for fold in tuned.folds] == [1, 1, 1]
    with pytest.raises(InvalidInput, match=r"none is labelled in the namespace 'ben'"):
        tune([], profile, "none", parts=["lexical"], url=store, namespace="ben")
