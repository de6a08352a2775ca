"""The commands that look behind a ranking."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from salience.cli import render_explain
from salience.ranking import profiles
from support.kitchen import QUERY, kitchen


@pytest.fixture
def console() -> Console:
    return Console(file=StringIO(), width=120)


def printed(console: Console) -> str:
    file = console.file
    assert isinstance(file, StringIO)
    return file.getvalue()


def test_a_reason_is_printed_whole(console: Console) -> None:
    reason = kitchen().explain(QUERY, "tea", profile="composite", limit=2)
    render_explain.show_report(console, reason)
    assert printed(console) == f"{reason}\n"


def test_a_comparison_is_a_table(console: Console) -> None:
    found = kitchen().compare(QUERY, ["composite", "multi_route"], limit=3)
    render_explain.show_comparison(console, found)
    text = printed(console)
    assert all(memory.id in text for memory in found)
    assert "↑" in text
    assert "multi_route shares" in text


def test_a_context_is_printed_with_its_cost(console: Console) -> None:
    found = kitchen().get_context(QUERY, 60)
    render_explain.show_context(console, found)
    assert found.text in printed(console)
    assert f"{found.tokens} of 60 tokens" in printed(console)


def test_a_profile_is_shown_with_its_formula(console: Console) -> None:
    render_explain.show_profile(console, profiles.composite)
    assert profiles.composite.formula(120) in printed(console)
