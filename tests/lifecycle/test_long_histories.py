"""A long history costs as much as it has events, and a page of it has no more than it asks for."""

from collections import Counter
from typing import Any

import pytest

from salience import Memory
from salience.engine.judgment_api import whole_history
from salience.records import events

EDITS = 300


@pytest.fixture
def memory() -> Memory:
    memory = Memory.open("ram://", embedder=None)
    memory.add("Version 0.", id="a")
    for number in range(1, EDITS + 1):
        memory.update("a", content=f"Version {number}.")
    return memory


def test_each_event_is_applied_once_and_followed_back_once(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: Counter[str] = Counter()
    for name in ("apply", "_contents_before"):
        function = getattr(events, name)

        def counted(*given: Any, name: str = name, function: Any = function) -> Any:
            seen[name] += 1
            return function(*given)

        monkeypatch.setattr(events, name, counted)
    history = memory.history("a")
    assert [v.record.content for v in history.versions] == [
        f"Version {number}." for number in range(EDITS + 1)
    ]
    assert seen == {"apply": EDITS + 1, "_contents_before": EDITS}


def test_a_page_makes_the_versions_that_it_has(memory: Memory) -> None:
    page = memory.history("a", limit=10)
    assert (len(page.events), len(page.versions)) == (10, 10)
    assert page.versions[-1].until is not None
    later = memory.history("a", limit=10, cursor=page.cursor)
    contents = [version.record.content for version in later.versions]
    assert contents == [f"Version {number}." for number in range(9, 20)][-len(contents) :]
    assert len(list(whole_history(memory, "a"))) == EDITS + 1
