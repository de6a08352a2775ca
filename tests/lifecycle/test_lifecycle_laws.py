"""Laws of upkeep over random stores: nothing is lost, what is protected stays, undo restores."""

from __future__ import annotations

import math
from datetime import datetime, timedelta, timezone
from typing import Any

import networkx as nx
from hypothesis import given, settings
from hypothesis import strategies as st

from salience import Memory
from salience.retrieval import operations
from salience.retrieval.plan import ask, drive
from support.examples import examples
from support.suite.lifecycle import everything

NOW = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
REVIVED_FOR = timedelta(days=14)
LAYERS = ("entity", "knowledge", "episodic", "activity")
FACT = st.fixed_dictionaries(
    {
        "layer": st.sampled_from(LAYERS),
        "age": st.integers(0, 400),
        "pinned": st.booleans(),
        "kind": st.sampled_from(["fact", "task", "turn"]),
        "status": st.sampled_from(["active", "active", "superseded"]),
        "angle": st.sampled_from([0.0, 0.1, 1.0, 1.1, 3.0]),
        "expires": st.one_of(st.none(), st.integers(-5, 5)),
    }
)
STORE = st.tuples(
    st.lists(FACT, min_size=1, max_size=30),
    st.lists(
        st.tuples(st.integers(0, 29), st.integers(0, 29), st.sampled_from([0, 13, 15, 90])),
        max_size=20,
    ),
)
Given = tuple[list[dict[str, Any]], list[tuple[int, int, int]]]  # and links, with their days


def filled(given: Given) -> Memory:
    facts, links = given
    clock = [NOW]
    memory = Memory.open("ram://", embedder=None, clock=lambda: clock[0], entities=None)
    for number, fact in enumerate(facts):
        expires = fact["expires"]
        clock[0] = NOW - timedelta(days=fact["age"])
        memory.add(
            "Ana likes green tea.",
            id=f"{number:02}",
            layer=fact["layer"],
            pinned=fact["pinned"],
            kind=fact["kind"],
            importance=0.5,
            vectors={"content": [math.cos(fact["angle"]), math.sin(fact["angle"])]},
            expires_at=None if expires is None else NOW + timedelta(days=expires),
        )
        if fact["status"] != "active":
            memory.update(f"{number:02}", status=fact["status"])
    clock[0] = NOW
    for source, target, age in links:
        if max(source, target) < len(facts):
            made_at = NOW - timedelta(days=age)
            memory.link(f"{source:02}", f"{target:02}", created_at=made_at)
    return memory


def log(memory: Memory) -> int:
    return len(drive(ask(operations.Events(memory.namespace)), memory._core.dispatcher.batch))


@given(STORE, st.integers(0, 12))
@settings(deadline=None, max_examples=examples(60))
def test_pruning_moves_what_has_faded_and_nothing_that_is_protected(given: Given, cap: int) -> None:
    with filled(given) as memory:
        before, links = everything(memory), memory.links()
        alive = {one.id: one.vitality for one in memory.inspect.zones()}
        drawn: nx.Graph[Any] = nx.Graph(
            [(e.source, e.target) for e in links if e.source != e.target]
        )
        report = memory.upkeep.prune(apply=True, cap=cap)
        after = everything(memory)
        moved = {id for id in before if after[id]["status"] != before[id]["status"]}
        assert set(after) == set(before)
        assert moved == {one.id for one in report.candidates}
        spared = len(report.pinned) + len(report.bridges) + len(report.revived)
        assert len(moved) == min(cap, report.faded - spared)
        assert not moved & {
            one.target
            for one in links
            if one.source != one.target and NOW - one.created_at < REVIVED_FOR
        }
        assert not moved & set(nx.articulation_points(drawn))
        for id in moved:
            assert after[id]["status"] == "archived"
            assert before[id]["pinned"] != 1.0
            assert alive[id] < 0.1
        assert memory.upkeep.verify()
        if report.run is not None:
            memory.undo(report.run)
        assert (everything(memory), memory.links()) == (before, links)
        assert memory.upkeep.verify()


@given(STORE)
@settings(deadline=None, max_examples=examples(60))
def test_consolidating_and_undoing_changes_nothing(given: Given) -> None:
    facts, links = given
    with filled(((facts * 30)[:40], links)) as memory:
        before, linked = everything(memory), memory.links()
        done = memory.upkeep.consolidate(apply=True)
        after = everything(memory)
        assert set(before) <= set(after)
        merged = {id for one in done.clusters for id in one.members}
        for id in before:
            expected = "consolidated" if id in merged else before[id]["status"]
            assert after[id]["status"] == expected
            assert id not in merged or (
                before[id]["kind"] != "turn" and before[id]["pinned"] != 1.0
            )
        assert memory.upkeep.verify()
        if done.run is not None:
            memory.undo(done.run)
        assert (everything(memory), memory.links()) == (before, linked)
        assert memory.upkeep.verify()


@given(STORE)
@settings(deadline=None, max_examples=examples(60))
def test_maintaining_twice_is_maintaining_once(given: Given) -> None:
    with filled(given) as memory:
        before = everything(memory)
        steps = ["expire", "tasks", "links", "consolidate"]
        looked = memory.upkeep.maintain(dry_run=True, steps=steps)
        assert everything(memory) == before
        done = memory.upkeep.maintain(steps=steps)
        assert done["expire"].ids == looked["expire"].ids
        assert done.changed == looked.changed
        after, events = everything(memory), log(memory)
        again = memory.upkeep.maintain(steps=steps)
        assert again.changed == 0
        assert (everything(memory), log(memory)) == (after, events)
        for step in reversed(done.steps):
            if step.run is not None:
                memory.undo(step.run)
        assert everything(memory) == before
