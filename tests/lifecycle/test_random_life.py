"""A store over a random life: nothing gets lost, every run can be undone, verify holds.

The model is the set of memories that should be there. Runs of upkeep are undone at once or kept.
"""

from __future__ import annotations

import math
import tempfile
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from salience.records.events import JUDGEMENTS
from support.examples import examples
from support.served import opened
from support.suite.lifecycle import everything

START = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
ANGLES = st.sampled_from([0.0, 0.05, 0.1, 1.0, 2.0, 3.0])
PLACES = st.integers(0, 200)  # of the memories that are there, counted round


class Life(RuleBasedStateMachine):
    url = "ram://"

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.now = START
        url = self.url.format(folder=Path(self.folder.name))
        self.memory = opened(url, embedder=None, clock=lambda: self.now, entities=None)
        self.there: set[str] = set()
        self.added = 0

    def teardown(self) -> None:
        self.memory.close()
        self.folder.cleanup()

    def one(self, place: int) -> str:
        return sorted(self.there)[place % len(self.there)]

    def everything(self) -> tuple[dict[str, dict[str, Any]], Any]:
        return everything(self.memory), self.memory.links()

    def put(self, angle: float, **fields: Any) -> None:
        self.added += 1
        id = f"m{self.added:03}"
        vector = [math.cos(angle), math.sin(angle)]
        self.memory.add("Ana likes green tea.", id=id, vectors={"content": vector}, **fields)
        self.there.add(id)

    @initialize()
    def begin(self) -> None:
        for number in range(24):  # enough of one owner for a consolidation
            self.put(0.1 * (number % 4), kind="fact")

    @rule(angle=ANGLES, kind=st.sampled_from(["fact", "task", "turn"]), layer=st.booleans())
    def add(self, angle: float, kind: str, layer: bool) -> None:
        self.put(angle, kind=kind, layer="activity" if layer else None)

    @rule(days=st.sampled_from([0.1, 1.0, 8.0, 100.0, 400.0]))
    def wait(self, days: float) -> None:
        self.now += timedelta(days=days)

    @precondition(lambda self: self.there)
    @rule(place=PLACES, text=st.sampled_from(["Ana likes black tea.", "Ben drinks 2 coffees."]))
    def edit(self, place: int, text: str) -> None:
        self.memory.update(self.one(place), content=text)

    @precondition(lambda self: len(self.there) > 20)
    @rule(place=PLACES)
    def erase(self, place: int) -> None:
        id = self.one(place)
        assert self.memory.delete(id)
        self.there.remove(id)

    @precondition(lambda self: self.there)
    @rule(place=PLACES, what=st.sampled_from(["pin", "unpin"]))
    def judge(self, place: int, what: str) -> None:
        getattr(self.memory, what)(self.one(place))

    @precondition(lambda self: self.there)
    @rule(place=PLACES, verdict=st.sampled_from(JUDGEMENTS))
    def feedback(self, place: int, verdict: Any) -> None:
        self.memory.feedback(self.one(place), verdict)

    @precondition(lambda self: self.there)
    @rule(place=PLACES, utility=st.sampled_from([None, 0.8]))
    def use(self, place: int, utility: float | None) -> None:
        self.memory.touch([self.one(place)], utility=utility)

    @precondition(lambda self: self.there)
    @rule(source=PLACES, end=PLACES, type=st.sampled_from(["mentions", "supports"]))
    def link(self, source: int, end: int, type: str) -> None:
        if self.one(source) != self.one(end):
            self.memory.link(self.one(source), self.one(end), type)

    @rule(kept=st.booleans(), what=st.sampled_from(["prune", "consolidate", "maintain"]))
    def upkeep(self, kept: bool, what: str) -> None:
        before = self.everything()
        if what == "prune":
            runs = [self.memory.upkeep.prune(apply=True, cap=5).run]
        elif what == "consolidate":
            runs = [self.memory.upkeep.consolidate(apply=True).run]
        else:
            done = self.memory.upkeep.maintain(steps=("expire", "tasks", "links", "prune"))
            runs = [step.run for step in done.steps]
        made = set(self.everything()[0]) - self.there
        assert len(made) == 0 or what == "consolidate"
        if kept:
            self.there |= made
            return
        for run in reversed(runs):
            assert run is None or self.memory.undo(run).left == {}
        assert self.everything() == before

    @invariant()
    def nothing_is_lost(self) -> None:
        assert set(self.everything()[0]) == self.there

    @invariant()
    def what_there_is_follows_from_the_log(self) -> None:
        assert self.memory.upkeep.verify()


class LifeInAFile(Life):
    url = "sqlite:///{folder}/memory.db"


class LifeAtAServer(Life):
    url = "http"


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=examples(60), stateful_step_count=25, deadline=None)
TestLifeInAFile = LifeInAFile.TestCase
TestLifeInAFile.settings = settings(
    max_examples=examples(12), stateful_step_count=20, deadline=None
)
TestLifeAtAServer = pytest.mark.deep(LifeAtAServer.TestCase)
TestLifeAtAServer.settings = settings(
    max_examples=examples(5), stateful_step_count=20, deadline=None
)
