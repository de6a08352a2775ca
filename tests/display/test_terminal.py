"""No text of a memory acts on a terminal."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salience import Memory
from salience.cli import main
from salience.display.result import visible

HOSTILE = "red \x1b[31m title \x1b]0;owned\x07 up \x1b[2A \x9b31m turned \u202e back\r over \x7f"
_ACTS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def test_controls_are_shown() -> None:
    assert visible("a\x1b[31mb\x9bc\u202ed\rx") == r"a\x1b[31mb\x9bc\u202ed\x0dx"
    assert visible("two\r\nlines\tand a tab") == "two\nlines\tand a tab"
    assert visible("naïve 記憶 🙂") == "naïve 記憶 🙂"


@given(st.text())
def test_nothing_acts_and_shown_text_stays(text: str) -> None:
    shown = visible(text)
    assert not _ACTS.search(shown)
    assert visible(shown) == shown


@pytest.mark.parametrize(
    "command",
    [
        ["get", "hostile"],
        ["list"],
        ["search", "title"],
        ["search", "title", "--json"],
        ["explain", "title", "hostile"],
        ["context", "title"],
        ["history", "hostile"],
        ["delete", "nothing\x1b[31m"],
    ],
    ids=" ".join,
)
def test_no_command_prints_what_acts(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Memory.open(tmp_path / "memory.db", embedder=None) as memory:
        memory.add(HOSTILE, id="hostile", speaker="Ana\x1b[1m", tags=["t\x1b[5m"])
    main([*command, "--embedder", "none", "--db", str(tmp_path / "memory.db")])
    ran = capsys.readouterr()
    assert ran.out or ran.err
    for printed in ran:
        assert not _ACTS.search(printed), printed
    if "--json" in command:
        assert json.loads(ran.out)["hits"][0]["content"] == HOSTILE
