"""Figures with their intervals, runs that are kept and compared, and the page that shows them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from salience.cli import main
from salience.errors import InvalidInput
from salience.evaluation.comparison import (
    Judged,
    Outcome,
    compare_runs,
    read_run,
    run_to_json,
)
from salience.evaluation.page import page
from salience.retrieval.metrics import MEASURES, mean_intervals

TALKS = {
    "memories": [
        {"id": "m1", "text": "I baked rye bread.", "created_at": "2026-05-01"},
        {"id": "m2", "text": "The piano was tuned.", "created_at": "2026-05-02"},
        {"id": "m3", "text": "The ferry leaves at nine.", "created_at": "2026-05-03"},
    ],
    "queries": [
        {"id": "q1", "text": "What did I bake?", "category": "food", "relevant": ["m1"]},
        {"id": "q2", "text": "When does the ferry leave?", "relevant": ["m3"]},
    ],
}


def outcome(values: dict[str, list[float]], category: str | None = None) -> Outcome:
    """An outcome whose questions have one value for all measures, by conversation."""
    judged = [
        Judged(name, f"q{place}", category, dict.fromkeys(MEASURES, value))
        for name, measured in values.items()
        for place, value in enumerate(measured)
    ]
    return Outcome("talks", "balanced", "default", tuple(judged), 1.0)


def test_an_interval_is_that_of_the_normal_distribution_for_many_conversations() -> None:
    values = np.random.default_rng(1).random((400, 1))
    [(low, high)] = mean_intervals(values, [str(place) for place in range(400)])
    half = 1.96 * values.std(ddof=1) / 20  # sqrt(400)
    assert high - low == pytest.approx(2 * half, rel=0.03)
    assert (low + high) / 2 == pytest.approx(values.mean(), abs=0.002)


def test_what_is_alike_in_a_conversation_makes_an_interval_wider() -> None:
    values = np.repeat(np.random.default_rng(2).random((20, 1)), 30, axis=0)
    names = [str(place) for place in range(600)]
    [(low, high)] = mean_intervals(values, names)
    [(wide_low, wide_high)] = mean_intervals(values, [str(place // 30) for place in range(600)])
    assert (wide_high - wide_low) / (high - low) == pytest.approx(30**0.5, rel=0.1)


@pytest.mark.deep
def test_intervals_hold_as_often_as_they_say() -> None:
    draws = np.random.default_rng(3)
    hold = 0
    for _ in range(200):  # conversations of 5 to 14 questions, about a true mean of one half
        levels = draws.uniform(0.2, 0.8, 20)
        sizes = draws.integers(5, 15, 20)
        values = np.concatenate([draws.random(n) < p for n, p in zip(sizes, levels, strict=True)])
        names = np.repeat(np.arange(20).astype(str), sizes)
        [(low, high)] = mean_intervals(values.astype(float)[:, None], list(names))
        hold += low <= 0.5 <= high
    assert 180 <= hold <= 199


def test_of_one_conversation_the_questions_are_drawn_and_one_question_says_nothing() -> None:
    values = np.array([[0.0], [1.0], [1.0], [0.0]])
    assert mean_intervals(values, ["a"] * 4) == mean_intervals(values, ["a", "b", "c", "d"])
    assert mean_intervals(values[:1], ["a"]) == [(-1.0, 1.0)]


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=3),
        st.lists(st.floats(0.0, 1.0), min_size=1, max_size=4),
        min_size=1,
        max_size=4,
    )
)
def test_a_run_is_read_as_it_was_written_and_differs_nowhere_from_itself(
    tmp_path_factory: pytest.TempPathFactory, values: dict[str, list[float]]
) -> None:
    one = outcome(values, "kind")
    path = tmp_path_factory.mktemp("runs") / "run.json"
    path.write_text(run_to_json([one]), encoding="utf-8")
    assert read_run(path) == [one]
    changes = compare_runs([one], [one])
    assert {(change.category, change.measure) for change in changes} == {
        (category, measure) for category in (None, "kind") for measure in ("R@10", "MRR")
    }
    assert not any(change.fell or change.rose for change in changes)
    assert {change.before - change.after for change in changes} == {0.0}


def test_what_fell_everywhere_fell_and_what_fell_in_one_of_many_may_be_chance() -> None:
    values = {str(place): [0.5, 0.75, 1.0] for place in range(12)}
    before = outcome(values)
    lower = outcome({name: [value - 0.25 for value in of] for name, of in values.items()})
    assert all(change.fell for change in compare_runs([before], [lower]))
    assert all(change.rose for change in compare_runs([lower], [before]))
    once = outcome(values | {"3": [0.0, 0.75, 1.0]})
    [recall, _] = compare_runs([before], [once])
    assert recall.after < recall.before
    assert not recall.fell


def test_only_questions_of_both_runs_are_compared() -> None:
    before = outcome({"a": [0.5, 0.5], "b": [1.0]})
    after = outcome({"a": [0.5], "b": [1.0], "c": [0.0]})
    assert [change.queries for change in compare_runs([before], [after])] == [2, 2]
    with pytest.raises(InvalidInput, match="in common"):
        compare_runs([before], [replace(after, profile="composite")])
    with pytest.raises(InvalidInput, match="in common"):
        compare_runs([before], [outcome({"z": [1.0]})])


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"format": "salience.eval/2"}', '{"format": "salience.eval/1"}']
)
def test_a_file_that_is_no_run_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "run.json"
    with pytest.raises(InvalidInput, match=r"run\.json cannot be read"):
        read_run(path)
    path.write_text(text)
    with pytest.raises(InvalidInput, match=r"run\.json .* --save"):
        read_run(path)


def test_a_page_is_well_formed_and_names_everything() -> None:
    one = outcome({"a": [0.5, 0.25], "b": [1.0]}, "<kind> & more")
    text = page([one], compare_runs([one], [one]))
    for each in text.split("<svg")[1:]:
        drawing = ElementTree.fromstring("<svg" + each.partition("</svg>")[0] + "</svg>")
        assert len(drawing.findall("circle")) == 2
    assert "&lt;kind&gt; &amp; more (3)" in text
    assert "3 questions about 2 conversations" in text


@pytest.fixture
def talks(tmp_path: Path) -> Path:
    folder = tmp_path / "talks"
    folder.mkdir()
    for name in ("a", "b", "c"):
        (folder / f"{name}.json").write_text(json.dumps(TALKS))
    return folder


def run(capsys: pytest.CaptureFixture[str], *arguments: Any) -> tuple[int, str]:
    code = main([str(each) for each in arguments])
    return code, "".join(capsys.readouterr())


def test_a_gate_fails_when_a_figure_fell(
    talks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved, html = tmp_path / "run.json", tmp_path / "run.html"
    code, shown = run(capsys, "eval", talks, "--save", saved, "--page", html)
    assert code == 0
    assert "95 % intervals" in shown
    assert "rye" not in saved.read_text()
    assert html.read_text().startswith("<!doctype html>")
    code, shown = run(capsys, "eval", talks, "--gate", saved)
    assert code == 0
    assert "0 of 4 figures fell" in shown
    for name in ("a", "b", "c"):  # its answers are no longer there
        (talks / f"{name}.json").write_text(json.dumps(TALKS).replace('["m1"]', '["m2"]'))
    code, shown = run(capsys, "eval", talks, "--against", saved)
    assert code == 0
    code, shown = run(capsys, "--json", "eval", talks, "--gate", saved)
    assert code == 1
    assert "fell below those of" in shown
    document = json.loads(shown[: shown.rindex("}") + 1])
    assert {change["category"] for change in document["changes"] if change["fell"]} == {
        None,
        "food",
    }
    assert run(capsys, "eval", talks, "--save", tmp_path / "none" / "x.json")[0] == 2
    assert run(capsys, "eval", talks, "--gate", tmp_path / "none.json")[0] == 2
