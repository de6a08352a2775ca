"""What may have taken the place of an earlier memory: outcomes, links, searches, contexts."""

from collections.abc import Iterator
from typing import Any

import pytest

from salience import AddResult, Memory
from salience.search.context.packing import Format

WORK = "I work at Acme."
MOVED = "I quit Acme, I'm at Globex."
ASKED = "2026-05-20"


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory("ram://") as memory:
        yield memory


def tell(memory: Memory, text: str, id: str, at: str, **fields: Any) -> AddResult:
    return memory.add(text, id=id, created_at=at, session_id=id, **{"speaker": "user"} | fields)


def told(memory: Memory) -> AddResult:
    tell(memory, WORK, "old", "2025-09-01")
    tell(memory, "I saw a heron on the canal.", "heron", "2025-10-01")
    return tell(memory, MOVED, "new", "2026-04-01")


def test_a_write_says_what_it_may_replace(memory: Memory) -> None:
    [added] = told(memory)
    assert (added.outcome, added.may_replace) == ("ADDED", "old")
    assert added.chance is not None
    assert 0.3 <= added.chance < 1.0
    assert added.keep_both == 'memory.link("new", "old", "may_replace", weight=0)'
    [link] = memory.links()
    assert (link.source, link.target, link.type) == ("new", "old", "may_replace")
    old = memory.get("old")
    assert old is not None
    assert old.status == "active"


def test_the_newer_leads_for_the_present_and_the_older_for_the_past(memory: Memory) -> None:
    told(memory)
    for question in ("Where do I work?", "Where do I work now?"):
        found = memory.search(question, now=ASKED, touch=False)
        assert found.ids[:2] == ("new", "old")
        assert [hit.may_be_replaced_by for hit in found][:2] == [(), ("new",)]
    assert memory.search("Where did I work before?", now=ASKED, touch=False).ids[0] == "old"
    then = memory.search("Where did I work in October 2025?", now=ASKED, touch=False)
    assert then.ids.index("old") < then.ids.index("new")


@pytest.mark.parametrize(
    ("format", "mark"),
    [("text", '(may be replaced by "new")'), ("xml", 'may_be_replaced_by="new"')],
)
def test_a_context_marks_the_older_one(memory: Memory, format: Format, mark: str) -> None:
    told(memory)
    text = str(memory.get_context("Where do I work?", format=format, now=ASKED))
    [line] = [line for line in text.splitlines() if "at Acme" in line]
    assert mark in line
    assert text.count("replaced") == 1


def test_a_link_of_weight_0_takes_it_back(memory: Memory) -> None:
    told(memory)
    memory.link("new", "old", "may_replace", weight=0)
    found = memory.search("Where do I work?", now=ASKED, touch=False)
    assert not any(hit.may_be_replaced_by for hit in found)


def test_what_was_declared_is_not_guessed(memory: Memory) -> None:
    tell(memory, WORK, "old", "2025-09-01")
    [added] = tell(memory, MOVED, "new", "2026-04-01", supersedes="old")
    assert (added.outcome, added.may_replace) == ("SUPERSEDES", None)


@pytest.mark.parametrize("fields", [{"speaker": "assistant"}, {"speaker": "Ana"}, {"user_id": "b"}])
def test_only_what_one_owner_said_is_compared(memory: Memory, fields: dict[str, str]) -> None:
    tell(memory, WORK, "old", "2025-09-01")
    [added] = tell(memory, MOVED, "new", "2026-04-01", **fields)
    assert added.may_replace is None
    assert not memory.links()


def test_an_earlier_one_told_later_replaces_nothing(memory: Memory) -> None:
    tell(memory, WORK, "old", "2026-05-01")
    [added] = tell(memory, MOVED, "new", "2026-04-01")
    assert added.may_replace is None


def test_one_write_has_both(memory: Memory) -> None:
    items = [
        {"content": text, "id": id, "created_at": at, "speaker": "user", "session_id": id}
        for text, id, at in ((WORK, "old", "2025-09-01"), (MOVED, "new", "2026-04-01"))
    ]
    assert [added.may_replace for added in memory.add_many(items)] == [None, "old"]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I have a daughter, Anya.", "I have a son, Pavel."),
        ("I'm allergic to peanuts.", "Bees make me swell up like a balloon."),
        ("I live in Boston.", "I'm in Berlin for a fair this week."),
    ],
)
def test_near_ones_hold_both(memory: Memory, older: str, newer: str) -> None:
    tell(memory, older, "old", "2025-09-01")
    [added] = tell(memory, newer, "new", "2026-04-01")
    assert added.may_replace is None
