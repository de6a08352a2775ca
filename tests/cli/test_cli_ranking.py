"""The commands that look behind a ranking."""

from __future__ import annotations

from inspect import signature
from io import StringIO
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from salience.cli import render, search
from salience.ranking import profiles
from support.kitchen import QUERY, kitchen

if TYPE_CHECKING:
    from cli.conftest import Run


@pytest.fixture
def console() -> Console:
    return Console(file=StringIO(), width=120)


def printed(console: Console) -> str:
    file = console.file
    assert isinstance(file, StringIO)
    return file.getvalue()


def test_a_reason_is_printed_whole(console: Console) -> None:
    reason = kitchen().explain(QUERY, "tea", profile="composite", limit=2)
    render.show_report(console, reason, full=True)
    assert printed(console) == f"{reason}\n"


def test_a_comparison_is_a_table(console: Console) -> None:
    found = kitchen().inspect.compare(QUERY, ["composite", "multi_route"], limit=3)
    render.show_comparison(console, found)
    text = printed(console)
    assert all(memory.id in text for memory in found)
    assert "↑" in text
    assert "multi_route shares" in text


def test_a_context_is_printed_with_its_cost(console: Console) -> None:
    found = kitchen().get_context(QUERY, 120)
    render.show_context(console, found)
    assert found.text in printed(console)
    assert f"{found.tokens} of 120 tokens" in printed(console)


def test_a_profile_is_shown_with_its_formula(console: Console) -> None:
    render.show_profile(console, profiles.composite)
    assert profiles.composite.formula(120) in printed(console)


def test_explain_takes_the_options_of_search(run: Run) -> None:
    """Each option of `search` that decides which memories are returned, `explain` has, too."""
    deciding = set(signature(search.search).parameters) - {"touch", "explain"}
    assert deciding <= set(signature(search.explain).parameters)
    run("add", "The key is with the neighbour.", "--id", "key")
    run("update", "key", "The key is in the drawer.")
    then = run("history", "key", "--json").json["events"][0]["at"]
    report = run("explain", "Where is the key?", "key", "--as-of", then, "--json")
    assert report.json["content"] == "The key is with the neighbour."
    report = run("explain", "Where is the key?", "key", "--option", "min_score=99", "--json")
    assert not report.json["found"]
