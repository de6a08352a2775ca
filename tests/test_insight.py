"""The commands that look behind a ranking."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from kitchen import QUERY, kitchen
from rich.console import Console

from recollect import profiles
from recollect.serve.cli import insight


@pytest.fixture
def console() -> Console:
    return Console(file=StringIO(), width=120)


def printed(console: Console) -> str:
    file = console.file
    assert isinstance(file, StringIO)
    return file.getvalue()


def test_explain_prints_the_reason_and_writes_the_page(console: Console, tmp_path: Path) -> None:
    page = tmp_path / "why.html"
    reason = insight.explain(
        kitchen(), console, QUERY, "tea", html=page, profile="composite", limit=2
    )
    assert reason.verdict in printed(console)
    assert page.read_text(encoding="utf-8") == reason.to_html()


def test_compare_prints_a_table(console: Console) -> None:
    found = insight.compare(kitchen(), console, QUERY, ["composite", "multi_route"], limit=3)
    text = printed(console)
    assert all(memory.id in text for memory in found)
    assert "↑" in text
    assert "multi_route shares" in text


def test_context_is_a_preview(console: Console) -> None:
    memory = kitchen()
    found = insight.context(memory, console, QUERY, 60)
    memory.flush()
    assert found.text in printed(console)
    assert f"{found.tokens} of 60 tokens" in printed(console)
    assert all(record.access_count == 0 for record in memory.get_all())


def test_a_profile_is_shown_with_its_formula(console: Console) -> None:
    insight.show_profile(console, profiles.composite)
    assert profiles.composite.formula(120) in printed(console)
