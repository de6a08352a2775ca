"""Rankings of all profiles over the sample, compared with those of the store in memory.

The store in memory is the executable specification; another one may miss its scores by 1e-6, and
no more of its order than scores that close to each other leave open.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from salience import Memory
from salience.evaluation import sample
from salience.ranking.profiles import BUILT_IN
from salience.search.results import SearchResult
from salience.testing.conformance._case import Clock, StoreCase, check_cases

_NEAR = 1e-6
_ODD = (
    '"a phrase" of Sarah',
    "deploy* and mov* last week",
    "What did Sara say in March?",
    "who am I now",
    "Which food and how many sports does Sarah like?",
    "zzz",
)
CHUNKS: list[dict[str, Any]] = [
    {
        "id": f"chunk{i}",
        "kind": "turn_chunk" if i % 9 else "session_chunk",
        "content": f"user: Where is bicycle {i}? assistant: In shed {i % 4}.",
        "session_id": f"bicycles{i % 3}",
        "tags": ["bicycles", f"shed{i % 4}"],
        "vector_texts": {
            "user": f"Where is bicycle {i}?",
            "asst": f"In shed {i % 4}.",
            "next_user": "Thank you!",
            "facet_preferences": "likes bicycles",
        },
    }
    for i in range(24)
]
FILTERS: tuple[Any, ...] = (
    None,
    {"kind": "turn"},
    {"importance": {"gte": 0.5}},
    {"$not": {"kind": "turn"}},
    {"speaker": {"exists": True}, "created_at": {"gte": "2026-04-01"}},
)


class Rankings(StoreCase):
    """Every profile ranks as it does in memory."""

    @pytest.fixture
    def both(self, clock: Clock) -> Iterator[tuple[Memory, Memory]]:
        """The store under test and one in memory, with the sample in each."""
        stores = (
            self.open_memory(embedder=self.embedder, clock=clock),
            Memory.open("ram://", embedder=self.embedder, clock=clock),
        )
        for memory in stores:
            memory.add_many(sample.memories(), strict=True)
            for link in sample.links():
                memory.link(link["source"], link["target"], link["type"], link["weight"])
            memory.add_many(CHUNKS, strict=True)
        yield stores
        for memory in stores:
            memory.close()

    def test_every_profile_finds_the_same(self, both: tuple[Memory, Memory]) -> None:
        self._compare(both, [q["text"] for q in sample.questions()][::5])

    @pytest.mark.deep
    def test_so_it_does_after_changes(self, both: tuple[Memory, Memory], clock: Clock) -> None:
        ids = sorted(record.id for record in both[1].get_all(limit=10_000))
        for memory in both:
            chance = random.Random(7)
            for id in chance.sample(ids, 12):
                memory.update(id, content=f"changed to something about {id} and bicycles")
            for id in chance.sample(ids, 12):
                memory.update(id, importance=round(chance.random(), 3), metadata={"n": 1})
            memory.update(chance.choice(ids), status="archived")
            memory.delete_all({"id": {"in": chance.sample(ids, 25)}})
            memory.add("Sarah moved to Lisbon today.", id="new", speaker="Sarah", session_id="x")
        clock.pass_(days=3)
        for memory in both:
            memory.search("bicycles", limit=3)
        self._compare(both, [q["text"] for q in sample.questions()][2::9])

    def test_names_in_lower_case_are_found_where_memories_know_them(self, memory: Memory) -> None:
        items = {
            "a": ("Concerns about the timeline", ["Sarah", "migration"]),
            "b": ("It is scheduled for spring", ["React", "migration", "Q2"]),
            "c": ("Vue is better", ["Sarah", "Vue", "React"]),
            "d": ("He went by train", ["Will", "May", "New York", "Ålesund"]),
        }
        for id, (content, entities) in items.items():
            memory.add(content, id=id, entities=entities)
        memory.add("gone", id="e", entities=["Kortil"])
        memory.delete("e")

        def check(case: tuple[str, str]) -> None:
            question, overlaps = case
            hits = memory.search(question, profile="six_factor", explain=True, touch=False)
            found = {hit.id: hit.explanation.find("entity") for hit in hits if hit.explanation}
            values = [node.value for _, node in sorted(found.items()) if node is not None]
            assert values == [float(value) for value in overlaps.split()]

        cases = {
            "What does Sarah think about the React migration?": ".5 .5 1 0",
            "what does sarah think about the react migration?": ".5 .5 1 0",
            "What does sarah's boss think about react?": ".5 .5 1 0",
            "WHAT DOES SARAH THINK ABOUT REACT?": ".5 .5 1 0",
            "who went to new york?": "0 0 0 1",
            "who went to ålesund and asked sarah?": ".5 0 .5 .5",
            "where will it be in may?": "0 0 0 0",  # words that mean something else
            "what does kortil say of sarah?": "1 0 1 0",  # an erased memory knows nobody
            "nothing that is known": "0 0 0 0",
        }
        check_cases(cases.items(), check)

    def test_no_number_of_turns_pushes_whole_sessions_out(self, memory: Memory) -> None:
        turns = [
            {"content": f"bicycle {i}", "kind": "turn_chunk", "session_id": "s0"}
            for i in range(120)
        ]
        sessions = [
            {
                "id": f"s{i}",
                "content": f"{'the weather of that week ' * 9} and a bicycle",
                "kind": "session_chunk",
                "session_id": f"s{i}",
            }
            for i in range(12)
        ]
        memory.add_many([*turns, *sessions], dedup=False)
        hits = memory.search("bicycle", profile="multi_route", limit=10, explain=True)
        assert hits.ids == tuple(sorted(f"s{i}" for i in (0, 1, 10, 11, 2, 3, 4, 5, 6, 7)))
        assert all(hit.explanation and hit.explanation.value == hit.score for hit in hits)

    def _compare(self, both: tuple[Memory, Memory], questions: list[str]) -> None:
        chance = random.Random(1)
        for text in (*questions, *_ODD):
            for profile in BUILT_IN:
                options: dict[str, Any] = {
                    "profile": profile,
                    "limit": chance.choice((3, 10)),
                    "filters": chance.choice(FILTERS),
                    "now": "2026-10-01",
                    "touch": False,
                }
                tested, reference = (memory.search(text, **options) for memory in both)
                assert_alike(tested, reference)


def assert_alike(tested: SearchResult, reference: SearchResult) -> None:
    """Assert equal hits and scores; hits within 1e-6 may differ in order."""
    scores = [hit.score for hit in reference]
    assert [hit.score for hit in tested] == pytest.approx(scores, abs=_NEAR, rel=0)
    assert tested.degraded == reference.degraded
    assert tested.probability_model == reference.probability_model
    assert _probabilities(tested) == pytest.approx(_probabilities(reference), abs=_NEAR, rel=0)
    expected = {hit.id: hit for hit in reference}
    least = min(scores, default=0.0)
    for hit, other in zip(tested, reference, strict=True):
        if hit.id == other.id:
            assert hit.record.content == other.record.content
            continue
        if hit.id in expected:
            assert hit.score == pytest.approx(expected[hit.id].score, abs=_NEAR, rel=0)
        else:  # it stands in for one as good that was cut off
            assert hit.score == pytest.approx(least, abs=_NEAR, rel=0)


def _probabilities(result: SearchResult) -> list[float]:
    """Those of the result and of its hits; empty where the profile gives none."""
    likely = (result.probability, *(hit.probability for hit in result))
    return [each for each in likely if each is not None]
