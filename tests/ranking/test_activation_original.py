"""The "activation" profile against the published original, openmem-engine, where they agree."""

from __future__ import annotations

import math
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openmem import Edge, MemoryEngine, ScoredMemory
from openmem import Memory as Original
from openmem.activation import spread_activation
from openmem.conflict import detect_and_resolve_conflicts
from openmem.scoring import compete

from salience import Memory
from salience.ranking import profiles
from salience.retrieval.candidates import Candidates
from salience.retrieval.query import Query
from support.scoring import NOW

WORDS = ("zumbrel", "kortil", "pandol", "wexam", "brivok", "dulmat")


@given(st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=8), min_size=3, max_size=30))
def test_the_seeds_are_those_of_the_original(contents: list[list[str]]) -> None:
    """BM25 of one word over the best one is the same, as its IDF cancels out.

    The IDF itself differs: SQLite's is ln((N - n + 0.5) / (n + 0.5)), and a millionth where that
    is negative, ours is ln(1 + ...), so that a word in most memories still counts.
    """
    original, memory = MemoryEngine(), Memory.open("ram://", embedder=None)
    for at, words in enumerate(contents):
        half = len(words) // 2
        text, gist = " ".join(words[: half + 1]), " ".join(words[half + 1 :])
        entities = [WORDS[at % len(WORDS)]]
        original.store.add_memory(Original(id=f"m{at:02}", text=text, gist=gist, entities=entities))
        memory.add(text, id=f"m{at:02}", gist=gist or None, entities=entities)
    for word in WORDS:
        theirs = dict(original.store.search_bm25(word, limit=400))
        found = memory.search(word, limit=100, profile="activation", touch=False)
        best = max(theirs.values(), default=1.0)
        seeds = {hit.id: hit.details["activation"] for hit in found}
        assert seeds == pytest.approx({id: value / best for id, value in theirs.items()})
    original.store.close()
    memory.close()


def test_one_hop_is_that_of_the_original_and_the_second_is_not() -> None:
    """The original charges 0.5^2 on top of 0.5 for the second hop: 0.24 * 0.5 * 0.25 = 0.03.

    Its document says 0.06, which is what we compute. It also visits a set in whatever order it
    comes and lets a level see its own results, so that ids decide; ours does not depend on them.
    """
    original = MemoryEngine()
    for id in "ABC":
        original.store.add_memory(Original(id=id, text=id))
    original.store.add_edge(Edge(source_id="A", target_id="B", weight=0.6))
    original.store.add_edge(Edge(source_id="B", target_id="C", weight=0.5))
    theirs = spread_activation({"A": 0.8}, original.store)
    assert theirs == pytest.approx({"A": 0.8, "B": 0.24, "C": 0.03})
    memory = Memory.open("ram://", embedder=None)
    for id, word in zip("ABC", WORDS, strict=False):
        memory.add(word, id=id)
    memory.link("A", "B", weight=0.6)
    memory.link("B", "C", weight=0.5)
    found = memory.search(WORDS[0], profile="activation", touch=False)
    ours = {hit.id: 0.8 * hit.details["activation"] for hit in found}
    assert ours == pytest.approx({"A": 0.8, "B": 0.24, "C": 0.06})
    original.store.close()
    memory.close()


def competitors(rows: list[tuple[float, float, float, str]]) -> tuple[list[Original], Candidates]:
    """The same memories for both: (activation, confidence, days since access, status)."""
    now = NOW.timestamp()
    theirs = [
        Original(
            id=f"m{at}",
            text=f"m{at}",
            confidence=confidence,
            created_at=now,
            last_accessed=now - days * 86_400,
            status=status,
        )
        for at, (_, confidence, days, status) in enumerate(rows)
    ]
    columns = {
        "id": np.array([m.id for m in theirs], dtype=object),
        "status": np.array([row[3] for row in rows], dtype=object),
        "activation": np.array([row[0] for row in rows]),
        "confidence": np.array([row[1] for row in rows]),
        "strength": np.ones(len(rows)),
        "last_accessed": np.array([m.last_accessed for m in theirs]),
        "created_at": np.array([m.created_at for m in theirs]),
        "conflict": np.ones(len(rows)),
    }
    return theirs, Candidates(np.arange(len(rows)), columns)


unit = st.floats(0.0, 1.0)
contenders = st.tuples(
    unit, unit, st.floats(0.0, 200.0), st.sampled_from(["active", "superseded", "contradicted"])
)


@given(st.lists(contenders, max_size=8))
def test_the_competition_is_that_of_the_original(
    rows: list[tuple[float, float, float, str]],
) -> None:
    """The original rescales activation and strength to 0-1 among the candidates, which its document
    does not say; with an activation of 0 and of 1 among them, and all of strength 1, it agrees.
    Its strength also rises with the accesses and falls with the age by itself.
    """
    rows = [(0.0, 0.5, 1.0, "active"), (1.0, 0.5, 1.0, "active"), *rows]
    theirs, candidates = competitors(rows)
    now = NOW.timestamp()
    activations = {m.id: row[0] for m, row in zip(theirs, rows, strict=True)}
    scored = compete(activations, {m.id: m for m in theirs}, now=now)
    ours = profiles.activation.signal.evaluate(Query("", (), now), candidates)
    assert dict(zip(candidates["id"], ours, strict=True)) == pytest.approx(
        {each.memory.id: each.score for each in scored}
    )


@given(st.lists(st.tuples(unit, st.floats(0.0, 60.0)), min_size=2, max_size=8, unique=True))
def test_conflicts_are_those_of_the_original(drawn: list[tuple[float, float]]) -> None:
    """For pairs that are not equally strong; the original lets the order of the ranking decide
    between equals, and whoever lost once takes part in no further conflict."""
    rows = [(0.5, confidence, days, "active") for confidence, days in drawn]
    theirs, _ = competitors(rows)
    now = NOW.timestamp()
    power = {m.id: c * math.exp(-0.05 * d) for m, (c, d) in zip(theirs, drawn, strict=True)}
    pairs = [
        (f"m{at}", f"m{at + 1}")
        for at in range(0, len(rows) - 1, 2)
        if abs(power[f"m{at}"] - power[f"m{at + 1}"]) > 1e-6
    ]
    original = MemoryEngine()
    memory = Memory.open("ram://", embedder=None, clock=lambda: NOW)
    for each in theirs:
        original.store.add_memory(each)
        assert each.last_accessed is not None
        at = NOW - timedelta(seconds=now - each.last_accessed)
        memory.add("zumbrel", id=each.id, confidence=each.confidence, created_at=at)
    for a, b in pairs:
        original.contradict(a, b)
        memory.link(a, b, "contradicts")
    scored = [ScoredMemory(each, 1.0, 1.0) for each in theirs]
    resolved = detect_and_resolve_conflicts(scored, original.store, now=now)
    found = memory.search("zumbrel", limit=100, profile="activation", touch=False)
    assert {hit.id: hit.details["conflict"] for hit in found} == {
        each.memory.id: each.score for each in resolved
    }
    original.store.close()
    memory.close()
