"""Of two that contradict each other, `balanced` puts the weaker one just after the stronger one."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from typing import Any

import pytest

from salience import Memory
from salience.testing import WordHashEmbedder

NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)
QUESTION = "Where is the spare key of the boat?"
TEXTS = {
    "strong": "A key hangs in the kitchen.",
    "weak": "The spare key of the boat is in the red tin.",
    "between": "The spare key is a secret.",
    "other": "The boat is blue.",
}


def put(memory: Memory, fields: Mapping[str, Mapping[str, Any]] | None = None) -> None:
    for id, text in TEXTS.items():
        memory.add(text, id=id, dedup=False, **((fields or {}).get(id, {})))


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open("ram://", embedder=WordHashEmbedder(), clock=lambda: NOW) as memory:
        yield memory


def found(memory: Memory, **options: Any) -> dict[str, float]:
    return {hit.id: hit.score for hit in memory.search(QUESTION, touch=False, **options)}


def test_the_weaker_one_stands_just_after_the_stronger_one(memory: Memory) -> None:
    put(memory, {"weak": {"confidence": 0.5}})
    before = found(memory)
    assert next(iter(before)) == "weak"
    memory.link("strong", "weak", "contradicts")
    after = found(memory)
    places = list(after)
    assert places.index("weak") == places.index("strong") + 1
    assert after["weak"] == pytest.approx(after["strong"] - 0.001, abs=1e-9)
    others = before.keys() - {"weak"}
    assert {id: before[id] for id in others} == {id: after[id] for id in others}


def test_one_that_is_after_the_stronger_one_stays_where_it_is(memory: Memory) -> None:
    put(memory, {"strong": {"confidence": 0.5}})
    before = found(memory)
    memory.link("strong", "weak", "contradicts")
    assert found(memory) == before


def test_nothing_moves_where_the_stronger_one_is_not_found(memory: Memory) -> None:
    put(memory, {"weak": {"confidence": 0.5}})
    options: dict[str, Any] = {"filters": {"id": {"ne": "strong"}}}
    before = found(memory, **options)
    memory.link("strong", "weak", "contradicts")
    assert found(memory, **options) == before


def test_of_equals_the_older_one_gives_way(memory: Memory) -> None:
    put(memory, {"weak": {"created_at": NOW - timedelta(days=3)}})
    memory.link("weak", "strong", "contradicts")
    assert list(found(memory)).index("weak") == list(found(memory)).index("strong") + 1


def test_what_is_judged_incorrect_gives_way(memory: Memory) -> None:
    put(memory, {"strong": {"confidence": 0.1}})
    memory.link("weak", "strong", "contradicts")
    memory.feedback("weak", "incorrect")
    order = list(found(memory))
    assert order.index("weak") > order.index("strong")


def test_one_that_gives_way_takes_along_what_gives_way_to_it(memory: Memory) -> None:
    put(memory, {"weak": {"confidence": 0.5}, "between": {"confidence": 0.2}})
    memory.link("strong", "weak", "contradicts")
    memory.link("between", "weak", "contradicts")
    scores = found(memory)
    chain = [scores[id] for id in ("strong", "weak", "between")]
    assert all(one > other for one, other in pairwise(chain))


def test_the_explanation_names_the_stronger_one(memory: Memory) -> None:
    put(memory, {"weak": {"confidence": 0.5}})
    memory.link("strong", "weak", "contradicts")
    [weak] = [h for h in memory.search(QUESTION, touch=False, explain=True) if h.id == "weak"]
    assert weak.explanation is not None
    assert weak.explanation.value == weak.score
    assert "contradicts what is stronger: strong" in str(memory.explain(QUESTION, "weak"))


def test_what_holds_stays_above_its_older_version(memory: Memory) -> None:
    memory.add("Ana lives in Porto.", id="old", kind="fact", created_at=NOW - timedelta(days=90))
    memory.add("Ana lives in Lisbon.", id="new", kind="fact", confidence=0.1)
    memory.link("old", "new", "contradicts")
    assert memory.search("Where does Ana live?", touch=False).ids[0] == "new"


def test_a_contradiction_counts_in_its_own_namespace_only(memory: Memory) -> None:
    other = memory.for_namespace("other")
    put(memory, {"weak": {"confidence": 0.5}})
    put(other, {"weak": {"confidence": 0.5}})
    other.link("strong", "weak", "contradicts")
    hits = memory.search(QUESTION, namespaces=["default", "other"], touch=False)
    order = [(hit.namespace, hit.id) for hit in hits]
    assert order[0] == ("default", "weak")
    assert order.index(("other", "weak")) > order.index(("other", "strong"))


@pytest.mark.parametrize("profile", ["composite", "six_factor", "vitality", "multi_route"])
def test_the_other_profiles_rank_both_as_before(memory: Memory, profile: str) -> None:
    put(memory, {"weak": {"confidence": 0.5}})
    before = found(memory, profile=profile)
    memory.link("strong", "weak", "contradicts")
    assert found(memory, profile=profile) == before
