"""Questions without an answer: the notebook, exchanged names, the measures, the command."""

from __future__ import annotations

import json
from collections import Counter
from math import isnan
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salience.cli import main
from salience.evaluation import datasets, notebook
from salience.evaluation.abstention import evaluate, exchanged
from salience.evaluation.datasets import Conversation
from salience.importers import ImportProblem
from salience.importers.conversation import Query
from salience.ranking.profiles import get
from salience.retrieval.metrics import auroc, expected_calibration_error

CONFIDENCES = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def test_the_notebook_answers_half_of_its_questions() -> None:
    made = notebook.load()
    ids = [memory["id"] for memory in made.memories]
    assert len(set(ids)) == 60
    assert len({query.text for query in made.queries}) == 120
    answerable = [query for query in made.queries if query.relevant]
    assert len(answerable) == 60
    assert all(set(query.relevant) <= set(ids) for query in answerable)
    assert sum(len(query.relevant) > 1 for query in answerable) == 6
    categories = Counter(query.category for query in made.queries if not query.relevant)
    assert set(categories) == {"attribute", "other", "unrelated", "keywords"}
    assert all(memory["kind"] == "fact" for memory in made.memories)


def test_auroc_by_hand() -> None:
    """Of the six pairs, four are in order and one is a tie."""
    assert auroc([0.9, 0.5], [0.5, 0.1, 0.6]) == 4.5 / 6
    assert isnan(auroc([], [0.5]))


@given(CONFIDENCES, CONFIDENCES)
def test_auroc_is_the_share_of_pairs_in_order(right: list[float], wrong: list[float]) -> None:
    pairs = [(a > b) + (a == b) / 2 for a in right for b in wrong]
    assert auroc(right, wrong) == pytest.approx(sum(pairs) / len(pairs))
    assert auroc(right, wrong) + auroc(wrong, right) == pytest.approx(1)


def test_calibration_error_by_hand() -> None:
    """In the bin from 0.8 one of two is right, in that from 0.1 none of one, 1.0 is in the last."""
    error = expected_calibration_error([0.8, 1.0], [0.85, 0.1])
    assert error == pytest.approx((abs(1.65 - 1) + abs(0.1 - 0) + abs(1.0 - 1)) / 4)


@given(CONFIDENCES, CONFIDENCES)
def test_calibration_error_is_a_share(right: list[float], wrong: list[float]) -> None:
    assert 0 <= expected_calibration_error(right, wrong) <= 1


def talk(name: str, *speakers: str, question: str) -> Conversation:
    memories = [
        {"id": f"{name}{i}", "content": f"Turn {i}.", "kind": "turn", "speaker": speaker}
        for i, speaker in enumerate(speakers)
    ]
    return Conversation(name, tuple(memories), (Query("1", question, (f"{name}0",)),), None)


def test_names_are_exchanged_at_once() -> None:
    """Ana takes Ben's place and Ben Ana's, without either being renamed twice."""
    first = talk("a", "Ana Lund", "Ana Lund", "Ben", question="Did Annabel's aunt call Ben?")
    second = talk("b", "Ben", "Ben", "Ana Lund", question="Is Ben's or Ana's or Ana Lund's?")
    asked = {target.name: questions for target, questions in exchanged((first, second))}
    assert asked == {
        "a": ["Is Ana Lund's or Ben's or Ben's?"],
        "b": ["Did Annabel's aunt call Ana Lund?"],
    }


def test_one_conversation_has_nothing_to_exchange_with() -> None:
    assert exchanged((talk("a", "Ana", question="What?"),)) == []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "talks").mkdir()
    texts = {"one": ("Ana", "Ana's kayak is red."), "two": ("Ben", "Ben's cello is from 1890.")}
    for name, (speaker, text) in texts.items():
        document = {
            "memories": [{"id": name, "text": text, "speaker": speaker}],
            "queries": [{"text": text.replace(" is ", ": ") + "?", "relevant": [name]}],
        }
        (tmp_path / "talks" / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "one.json").write_text(
        json.dumps({"name": "one", "questions": ["When was the harbour built?"]}), encoding="utf-8"
    )
    return tmp_path


def test_folders_are_asked_what_they_cannot_answer(folder: Path) -> None:
    outcomes = evaluate(
        [folder / "talks"],
        unanswerable=folder / "none",
        profiles=[get("balanced")],
        embedder="none",
    )
    assert [
        (o.set, o.unanswerable, o.answerable_count, o.unanswerable_count) for o in outcomes
    ] == [
        ("talks", "names exchanged", 2, 2),
        ("talks", "none", 2, 1),
    ]
    assert outcomes[1].auroc == 1.0


def test_a_profile_without_a_probability_is_measured_by_its_scores(folder: Path) -> None:
    [outcome] = evaluate([folder / "talks"], profiles=[get("composite")], embedder="none")
    assert 0 <= outcome.auroc <= 1
    assert outcome.exact is outcome.calibration_error is None


@pytest.mark.deep
def test_the_command_measures_the_notebook(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "--abstention", "--json"]) == 0
    [outcome] = json.loads(capsys.readouterr().out)
    assert (outcome["answerable_count"], outcome["unanswerable_count"]) == (60, 60)
    assert outcome["auroc"] > 0.5  # better than the toss of a coin
    assert main(["eval", "--abstention", "--embedder", "none"]) == 0
    assert "AUROC" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["[]", "{}", '{"questions": [1]}', "no JSON"])
def test_a_file_without_questions_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "talk.json").write_text(text, encoding="utf-8")
    with pytest.raises(ImportProblem, match=r"talk\.json"):
        datasets.load_unanswerable(tmp_path)


def test_a_folder_without_files_is_named(tmp_path: Path) -> None:
    with pytest.raises(ImportProblem, match="no files of questions"):
        datasets.load_unanswerable(tmp_path)


def test_unanswerable_questions_belong_to_abstention(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["eval", str(folder / "talks"), "--unanswerable", str(folder / "none")]) == 2
    assert "--abstention" in capsys.readouterr().err
