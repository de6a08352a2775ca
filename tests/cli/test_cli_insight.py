"""explain --html, compare, context, variants of search, and import --mode."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from salience.evaluation import datasets

if TYPE_CHECKING:
    from cli.conftest import Run


def test_explain_says_why_and_why_not(notes: Run, tmp_path: Path) -> None:
    page = tmp_path / "why.html"
    ran = notes("explain", "how high did the river rise?", "river", "--html", str(page))
    assert ran.code == 0
    assert "Hit 1" in ran.out or "rank 1" in ran.out
    assert "<html" in page.read_text(encoding="utf-8")
    missed = notes("explain", "how high did the river rise?", "bread", "-n", "1", "--json").json
    assert missed["found"] is False
    assert missed["why_not"]["stage"] == "cut"


def test_a_page_that_cannot_be_written_is_one_clear_line(notes: Run, tmp_path: Path) -> None:
    ran = notes("explain", "river", "river", "--html", str(tmp_path / "no" / "why.html"))
    assert ran.code == 2
    assert "html: " in ran.err
    assert "Traceback" not in ran.err


def test_compare_takes_two_profiles(notes: Run) -> None:
    found = notes(
        "compare", "who bakes bread?", "--profile", "balanced", "--profile", "composite", "--json"
    ).json
    assert found["profiles"] == ["balanced", "composite"]
    shown = notes("compare", "who bakes bread?", "--profile", "balanced", "--profile", "activation")
    assert shown.code == 0
    assert "bread" in shown.out


def test_context_keeps_the_budget_and_touches_nothing(notes: Run) -> None:
    found = notes("context", "who bakes bread?", "--max-tokens", "30", "--no-touch", "--json").json
    assert found["tokens"] <= 30
    assert notes("get", "bread", "--json").json["access_count"] == 0
    shown = notes("context", "who bakes bread?", "--format", "markdown")
    assert "rye" in shown.out


def test_search_within_a_token_budget(notes: Run) -> None:
    hits = notes("search", "bread and piano", "--option", "token_budget=12", "--json").json["hits"]
    assert 0 < sum(-(-len(hit["content"]) // 4) for hit in hits) <= 12


def test_an_unknown_variant_names_those_there_are(notes: Run) -> None:
    ran = notes("search", "Ana", "--profile", "vitality", "--option", "context=gossip")
    assert ran.code == 2
    assert "identity" in ran.err


def test_conversations_are_imported_as_questions_with_answers(run: Run, tmp_path: Path) -> None:
    turns = [
        {"content": "Where do I keep the passports?", "speaker": "user", "session_id": "s1"},
        {"content": "In the blue box on the shelf.", "speaker": "assistant", "session_id": "s1"},
    ]
    file = tmp_path / "turns.jsonl"
    file.write_text("\n".join(map(json.dumps, turns)), encoding="utf-8")
    assert run("import", str(file), "--mode", "hybrid", "--json").json["added"] == 2
    kinds = {record["kind"] for record in run("list", "--json").json["memories"]}
    assert len(kinds) == 2
    found = run("search", "passports", "--profile", "multi_route", "--json").json["hits"][0]
    assert "blue box" in found["content"]


def test_questions_are_labelled_measured_exported_and_dropped(notes: Run, tmp_path: Path) -> None:
    assert notes("questions").code == 1
    assert "salience questions add" in notes("questions", "score").err
    asked = "how high did the river rise?"
    ran = notes("questions", "add", asked, "--relevant", "river", "--not-relevant", "bread")
    id = ran.out.strip()
    again = notes("questions", "add", asked, "--relevant", "bread", "--id", id, "--json").json
    assert (again["id"], again["relevant"], again["not_relevant"]) == (id, ["bread"], [])
    notes("questions", "add", asked, "--relevant", "river", "--id", id)
    notes("questions", "add", "[bold]who[/bold] sings?", "--not-relevant", "river", "--id", "no")
    [kept] = [each for each in notes("questions", "--json").json["questions"] if each["id"] == id]
    assert (kept["query"], kept["relevant"]) == (asked, ["river"])
    shown = notes("questions").out
    assert "[bold]who[/bold] sings?" in shown
    assert id in shown
    measured = notes("questions", "score", "-p", "balanced", "-p", "composite", "--json").json
    assert [(one["profile"], one["questions"]) for one in measured["scores"]] == [
        ("balanced", 1),
        ("composite", 1),
    ]
    told = notes("questions", "score")
    assert "1.000 (0.000-1.000)" in told.out
    assert "few questions prove little" in told.err
    folder = tmp_path / "set"
    folder.mkdir()
    assert notes("export", "--format", "eval", str(folder / "own.json")).code == 0
    [member] = datasets.load(folder)
    assert [(query.text, query.relevant) for query in member.queries] == [(asked, ("river",))]
    assert {each["id"] for each in member.memories} >= {"river", "bread"}
    only = '{"id": "river"}'
    few = notes("export", "--format", "eval", "--filter", only, str(folder / "own.json"))
    assert few.out.strip() == "1 memories"
    lines = tmp_path / "all.jsonl"
    assert notes("export", str(lines)).code == 0
    other = ("--db", str(tmp_path / "other.db"))
    assert notes(*other, "import", str(lines)).code == 0
    assert len(notes(*other, "questions", "--json").json["questions"]) == 2
    assert notes("questions", "delete", "no").code == 0
    missing = notes("questions", "delete", "no")
    assert (missing.code, "salience questions lists them" in missing.err) == (1, True)
