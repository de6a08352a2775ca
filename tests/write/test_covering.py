"""A memory that is not in force, or not for as long, takes in nothing that is new."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from salience import Memory

NOW = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
DAY = timedelta(days=1)
PERMIT = "Mara's parking permit is valid."
THEN, AGAIN = (
    {"valid_from": f"{year}-12-24", "valid_to": f"{year}-12-27"} for year in ("2025", "2026")
)


@pytest.fixture(autouse=True)
def transport() -> None:
    """Not over HTTP: dozens of cases would open as many servers."""


@pytest.fixture(scope="module")
def store() -> Iterator[Memory]:
    with Memory.open("ram://", clock=lambda: NOW) as memory:
        yield memory


@pytest.mark.parametrize("dedup", [None, True])
@pytest.mark.parametrize("text", [PERMIT, f"{PERMIT[:-1]}, too."])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"expires_at": NOW - DAY}, {}),
        ({"expires_at": NOW - DAY}, {"expires_at": NOW + DAY}),
        ({"expires_at": NOW}, {}),
        ({"expires_at": NOW + DAY}, {}),
        ({"expires_at": NOW + DAY}, {"expires_at": NOW + 2 * DAY}),
        ({"valid_to": NOW - DAY}, {}),
        ({"valid_to": NOW + DAY}, {}),
        ({"created_at": "2025-12-24", **THEN}, {}),
        (THEN, AGAIN),
        ({}, AGAIN),
    ],
    ids=str,
)
def test_what_does_not_cover_an_item_is_kept_beside_it(
    store: Memory, old: dict[str, Any], new: dict[str, Any], text: str, dedup: bool | None
) -> None:
    memory = store.for_namespace(f"{old} {new} {text} {dedup}"[:256])
    memory.delete_all(namespace=memory.namespace)
    memory.add(PERMIT, kind="fact", id="old", **old)
    [added] = memory.add(text, kind="fact", dedup=dedup, **new)
    assert (added.outcome, memory.get_all().total) == ("ADDED", 2)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({}, {"expires_at": NOW + DAY}),
        ({"expires_at": NOW + 2 * DAY}, {"expires_at": NOW + DAY}),
        ({"expires_at": NOW + DAY}, {"expires_at": NOW + DAY}),
        ({"valid_from": NOW - DAY}, {}),
        (AGAIN, AGAIN),
    ],
    ids=str,
)
def test_what_lasts_as_long_takes_it_in(
    store: Memory, old: dict[str, Any], new: dict[str, Any]
) -> None:
    memory = store.for_namespace(f"{old} {new}"[:256])
    memory.delete_all(namespace=memory.namespace)
    memory.add(PERMIT, kind="fact", **old)
    assert memory.add(PERMIT, kind="fact", dedup=True, **new).items[0].outcome == "DUPLICATE"


@pytest.mark.parametrize("judgement", ["incorrect", "outdated"])
def test_what_was_judged_wrong_takes_in_nothing(store: Memory, judgement: str) -> None:
    memory = store.for_namespace(judgement)
    memory.delete_all(namespace=memory.namespace)
    memory.add(PERMIT, kind="fact", id="old")
    memory.feedback("old", judgement)
    assert memory.add(PERMIT, kind="fact", dedup=True).items[0].outcome == "ADDED"
    assert memory.add(PERMIT, kind="fact").items[0].outcome == "DUPLICATE"


def test_the_audit_leaves_what_is_not_covered() -> None:
    with Memory.open("ram://", clock=lambda: NOW) as memory:
        memory.add(PERMIT, kind="fact", id="a passing", expires_at=NOW + DAY)
        memory.add(PERMIT, kind="fact", id="b lasting")
        memory.add(PERMIT, kind="fact", id="c again", dedup=False)
        memory.upkeep.audit(mend=["duplicates"])
        assert [one.id for one in memory.get_all({"status": "archived"})] == ["c again"]


def test_a_denial_of_what_was_recalled_is_no_loop() -> None:
    said = "When the long winter is over Mara is allergic to the pollen of the birches in the park."
    with Memory.open("ram://", clock=lambda: NOW) as memory:
        memory.add(said)
        memory.search("pollen")
        denied = said.replace("is allergic", "is not allergic")
        assert memory.add(denied).items[0].outcome != "LOOP"
        assert memory.add(f"From memory: I recall that {said}").items[0].outcome == "LOOP"


def test_an_item_that_brings_an_id_is_a_memory_of_its_own(store: Memory) -> None:
    memory = store.for_namespace("own id")
    for id in ("one", "other"):
        assert memory.add(PERMIT, kind="fact", id=id).items[0].outcome == "ADDED"


def test_a_fact_that_begins_when_another_ends_does_not_contradict_it(store: Memory) -> None:
    memory = store.for_namespace("code")
    memory.add("The alarm code is 1234.", kind="fact", valid_to="2026-02-01")
    added = memory.add("The alarm code is 9876.", kind="fact", valid_from="2026-02-01")
    assert added.items[0].outcome == "ADDED"
