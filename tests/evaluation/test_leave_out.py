"""Parts left out: the figures are those of searches with the weight 0."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from salience.errors import InvalidInput
from salience.evaluation.rankings import fold_of_each, leave_out
from salience.evaluation.runner import evaluate
from salience.ranking.expressions import Col
from salience.ranking.profile import Profile
from salience.ranking.signals import MaxScaled
from salience.ranking.stages import cut, retrieve, score
from salience.retrieval.routes import Lexical

TALK = [
    "The boiler was repaired by Ben.",
    "I think that the boiler, which is old, hums and rattles on most of the winter evenings.",
    "Who of all the people in this long street could repair a boiler before Monday morning?",
    "My cat sleeps.",
]


@pytest.fixture(scope="module")
def talks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("talks")
    for talk in range(4):
        memories = [
            {"id": f"{talk}-{place}", "text": text, "speaker": "Ana", "session": f"{place // 2}"}
            for place, text in enumerate(TALK[talk:] + TALK[:talk])
        ]
        relevant = [m["id"] for m in memories if m["text"] in TALK[: 1 + talk % 2]]
        queries = [{"text": "What happened to my boiler?", "relevant": relevant}]
        (folder / f"{talk}.json").write_text(json.dumps({"memories": memories, "queries": queries}))
    return folder


def test_each_change_is_that_of_a_search_with_the_weight_0(talks: Path) -> None:
    words = MaxScaled(Col("lexical.score")).default(0.0).named("words")
    length = (-0.1 * Col("content_words")).named("length")
    asks = Col("is_question").named("asks")
    formula = 1.0 * words + 1.0 * length + 2.0 * asks
    plain = Profile("plain", retrieve(Lexical()) >> score(formula) >> cut())
    names = list(plain.weights)
    profiles = [plain, *(plain.weighted({name: 0.0}) for name in names)]
    with_all, *without = evaluate([talks], profiles=profiles, embedders=["none"]).outcomes
    found = {each.measure: each for each in leave_out([talks], plain, "none")}
    assert set(found) == {"R@10", "MRR"}
    assert found["MRR"].questions == with_all.queries == 4
    for measure, each in found.items():
        assert each.with_all == pytest.approx(with_all.metrics[measure])
        for name, outcome in zip(names, without, strict=True):
            change = outcome.metrics[measure] - with_all.metrics[measure]
            assert each.changes[name][0] == pytest.approx(change)
    assert found["MRR"].changes["asks"][0] > 0.0  # the question came first
    assert len(found["MRR"].changes["asks"][1]) == 3


def test_folds_are_of_conversations_or_of_thirds_of_few() -> None:
    assert fold_of_each(["a", "a", "b", "c", "d", "a"]).tolist() == [0, 0, 1, 2, 0, 0]
    assert fold_of_each(["a"] * 4 + ["b"] * 2).tolist() == [0, 0, 1, 1, 2, 2]
    assert fold_of_each(["a"]).tolist() == [0]
    assert not fold_of_each([]).size
    assert np.unique(fold_of_each(["a"] * 10)).tolist() == [0, 1, 2]


def test_a_profile_without_weights_is_refused(talks: Path) -> None:
    bare = Profile("bare", retrieve(Lexical()) >> score(Col("lexical.score")) >> cut())
    with pytest.raises(InvalidInput, match="bare has no weighted parts"):
        leave_out([talks], bare, "none")
