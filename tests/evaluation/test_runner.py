"""Evaluating conversations end to end: files, real stores, real search, the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from salience.cli import main
from salience.evaluation import datasets
from salience.evaluation.runner import Check, evaluate
from salience.importers import ImportProblem
from salience.ranking.explanation import Explanation
from salience.ranking.expressions import Col
from salience.ranking.profile import Profile
from salience.ranking.stages import cut, retrieve, score
from salience.records.record import MemoryRecord
from salience.records.validation import timestamp
from salience.retrieval.metrics import MEASURES
from salience.retrieval.routes import Vector
from salience.search.results import Hit, SearchResult

TURNS = (
    ("a1", "Ana", "I adopted a greyhound called Comet last week."),
    ("a2", "Ben", "Lovely! My sister moved to Lisbon in April."),
    ("a3", "Ana", "The plumber repaired our boiler on Tuesday."),
    ("a4", "Ben", "I am learning to play the accordion."),
)


def conversation(prefix: str = "") -> dict[str, Any]:
    memories = [
        {
            "id": prefix + id,
            "text": text,
            "speaker": speaker,
            "session": "s1",
            "created_at": f"2026-05-0{day}T10:00:00",
        }
        for day, (id, speaker, text) in enumerate(TURNS, start=1)
    ]
    queries = [
        {"id": "1", "text": "Who repaired the boiler?", "category": 1, "relevant": [f"{prefix}a3"]},
        {"id": "2", "text": "Which accordion?", "category": "b", "relevant": [f"{prefix}a4"]},
        {"id": "3", "text": "greyhound", "relevant": [f"{prefix}a1", "gone"]},
        {"id": "4", "text": "What has no answer?", "relevant": []},
    ]
    return {"memories": memories, "queries": queries}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "tiny"
    made.mkdir()
    for name in ("one", "two"):
        (made / f"{name}.json").write_text(json.dumps(conversation(name)), encoding="utf-8")
    (made / "README.md").write_text("Not a conversation.")
    return made


def test_a_set_is_read_with_its_answerable_questions(folder: Path) -> None:
    first, second = datasets.load(folder)
    assert (first.name, second.name) == ("one", "two")
    assert [query.id for query in first.queries] == ["1", "2", "3"]
    assert first.now == timestamp("now", "2026-05-04T10:00:00Z")


def test_memories_without_an_id_get_the_same_one_every_time(tmp_path: Path) -> None:
    text = {"memories": [{"text": "One."}], "queries": [{"text": "One?", "relevant": ["c:1"]}]}
    (tmp_path / "c.json").write_text(json.dumps(text), encoding="utf-8")
    [one] = datasets.load(tmp_path)
    assert [item["id"] for item in one.memories] == ["c:1"]
    assert one.now is None


def test_every_query_counts_equally(folder: Path) -> None:
    short = conversation("two")
    short["queries"] = short["queries"][2:]
    (folder / "two.json").write_text(json.dumps(short), encoding="utf-8")
    [outcome] = evaluate([folder], embedders=["none"]).outcomes
    assert (outcome.set, outcome.profile, outcome.embedder) == ("tiny", "balanced", "none")
    assert outcome.queries == 4
    assert outcome.metrics["R@10"] == pytest.approx((1 + 1 + 0.5 + 0.5) / 4)
    assert outcome.metrics["Hit@10"] == 1.0
    assert {name: count for name, (count, _) in outcome.categories.items()} == {"1": 1, "b": 1}
    assert outcome.categories["1"][1]["R@5"] == 1.0
    assert outcome.ms_per_query > 0


def test_turns_have_the_vectors_of_their_side_for_a_profile_that_compares_them(
    folder: Path,
) -> None:
    """Ana speaks first, so the boiler is on the user's side, and the accordion on the other."""
    route = Vector("asst", name="asst")
    answers = Profile("answers", retrieve(route, depth=None) >> score(Col("asst.score")) >> cut())
    [outcome] = evaluate([folder], profiles=[answers]).outcomes
    recall_of = {name: metrics["R@10"] for name, (_, metrics) in outcome.categories.items()}
    assert recall_of == {"1": 0.0, "b": 1.0}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("store", ["sqlite", "ram"])
def test_the_report_as_json(folder: Path, store: str, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--profile", "balanced", "--profile", "composite", "--store", store, "--json"]
    assert main(["eval", str(folder), *asked]) == 0
    report = json.loads(capsys.readouterr().out)
    assert set(report) == {"results"}
    assert [one["profile"] for one in report["results"]] == ["balanced", "composite"]
    for one in report["results"]:
        assert set(one) == {
            *("set", "profile", "embedder", "queries", "metrics", "intervals", "categories"),
            "ms_per_query",
        }
        assert tuple(one["metrics"]) == tuple(one["intervals"]) == MEASURES
        assert set(one["categories"]["1"]) == {"queries", *MEASURES, "intervals"}
        assert one["embedder"] == "default"


def test_check_compares_the_stores_and_the_explanations(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["eval", str(folder), "--check", "--json"]) == 0
    check = json.loads(capsys.readouterr().out)["check"]
    assert check["queries"] == 6
    assert check["hits"] >= 12
    assert check["scores_not_explained"] == check["queries_on_which_stores_differ"] == 0


def test_check_gives_memories_without_a_time_the_same_in_every_store(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    untimed = conversation()
    for memory in untimed["memories"]:
        del memory["created_at"]
    (tmp_path / "c.json").write_text(json.dumps(untimed), encoding="utf-8")
    assert main(["eval", str(tmp_path), "--profile", "composite", "--check"]) == 0
    assert "the check failed" not in capsys.readouterr().err


def test_a_check_that_fails_says_so(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Check, "passed", False)
    assert main(["eval", str(folder), "--check", "--embedder", "none"]) == 1
    assert "the check failed" in capsys.readouterr().err


def test_check_counts_what_is_broken() -> None:
    at = timestamp("at", 0)
    record = MemoryRecord("a", "n", "text", created_at=at, updated_at=at)

    def result(score: float, explained: float | None) -> SearchResult:
        tree = None if explained is None else Explanation("score", explained)
        return SearchResult("q", (Hit.of(record, score, 1, {}, tree),), "p", "s")

    check = Check()
    check.add(result(1.0, 1.0), result(1.0, 1.0))
    assert check.passed
    check.add(result(1.0, 1.0), result(1.0 + 1e-15, 1.0))
    assert (check.unexplained, check.stores_differ) == (1, 1)
    check.add(result(1.0, None), result(1.0, 1.0))
    assert (check.queries, check.hits, check.unexplained) == (3, 6, 2)
    assert not check.passed


def test_the_table_names_sets_and_categories(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["eval", str(folder), "--embedder", "none"]) == 0
    shown = capsys.readouterr().out
    assert "tiny · balanced · none" in shown
    assert "nDCG@10" in shown


def test_refused_memories_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    twice = conversation()
    twice["memories"].append(twice["memories"][0])
    (tmp_path / "c.json").write_text(json.dumps(twice), encoding="utf-8")
    assert main(["eval", str(tmp_path), "--embedder", "none", "--json"]) == 0
    captured = capsys.readouterr()
    assert "c: a1: the id is taken" in captured.err
    json.loads(captured.out)


def test_answers_that_are_no_memories_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = conversation()
    wrong["queries"][0]["relevant"].append("nowhere")
    (tmp_path / "c.json").write_text(json.dumps(wrong), encoding="utf-8")
    assert main(["eval", str(tmp_path), "--embedder", "none", "--db", "my postgres.db"]) == 0
    said = capsys.readouterr().err
    assert "names memories that do not exist: nowhere" in said
    assert "my postgres.db is not touched" in said
    assert not Path("my postgres.db").exists()


def test_a_file_that_is_no_conversation_is_named(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text("[1]", encoding="utf-8")
    with pytest.raises(ImportProblem, match=r"c\.json"):
        evaluate([tmp_path])
