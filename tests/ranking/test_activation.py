"""The "activation" profile: its document's figures by hand, and its laws."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from salience import AsyncMemory, Memory
from salience.errors import InvalidInput, NotFound
from salience.ranking import profiles
from salience.ranking.profile import Profile
from salience.ranking.stages import Retrieve
from salience.retrieval.query import Query
from salience.search.results import SearchResult
from support.asked import in_options
from support.scoring import DAY, NOW, check_tree, each_store, opened


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with opened("ram", tmp_path, None, profile="activation") as memory:
        yield memory


def ask(memory: Memory, query: str = "zumbrel", **more: Any) -> SearchResult:
    return memory.search(query, touch=False, explain=True, **in_options(more))


def scores(found: SearchResult) -> dict[str, float]:
    return {hit.id: hit.score for hit in found}


def test_the_weights_are_those_of_the_document() -> None:
    weights = {"activation": 0.5, "recency": 0.2, "strength": 0.2, "confidence": 0.1}
    assert profiles.activation.weights == weights
    assert Profile.from_json(profiles.activation.to_json()) == profiles.activation


@pytest.mark.parametrize("k", [1, 5, 100])
def test_four_candidates_are_fetched_per_hit(k: int) -> None:
    [recall] = (s for s in profiles.activation.pipeline.stages if isinstance(s, Retrieve))
    assert recall.depth is not None
    assert not isinstance(recall.depth, int)
    assert recall.depth.rows(Query("", (), 0.0, k=k)) == 4 * k


def test_activation_spreads_over_links(memory: Memory) -> None:
    """A is the best hit, 1.0; B 1.0 * 0.6 * 0.5 = 0.3; C 0.3 * 0.5 * 0.5 = 0.075."""
    for id, content in {"A": "zumbrel", "B": "kortil", "C": "pandol", "D": "wexam"}.items():
        memory.add(content, id=id)
    memory.link("A", "B", "supports", 0.6)
    memory.link("C", "B", "mentions", 0.5)
    memory.link("C", "D", "mentions", 1.0)
    found = ask(memory)
    # Fresh, strong and sure: 0.2 + 0.2 + 0.1 besides the activation.
    assert found.ids == ("A", "B", "C")
    assert [hit.score for hit in found] == pytest.approx(
        [0.5 * 1.0 + 0.5, 0.5 * 0.3 + 0.5, 0.5 * 0.075 + 0.5]
    )
    assert [hit.details.get("activation.via") for hit in found] == [None, "A", "B"]
    assert [hit.details["activation.hops"] for hit in found] == [0.0, 1.0, 2.0]
    assert [dict(hit.routes) for hit in found] == [{"lexical": 1}, {}, {}]
    for hit in found:
        assert hit.explanation is not None
        assert hit.explanation.value == hit.score
        check_tree(hit.explanation)


@pytest.mark.parametrize(
    ("type", "carried"),
    [("mentions", True), ("supports", True), ("depends_on", True), ("same_as", True),
     ("contradicts", False)],
)  # fmt: skip
def test_every_link_but_a_contradiction_carries_support(
    memory: Memory, type: str, carried: bool
) -> None:
    memory.add_many([{"id": "A", "content": "zumbrel"}, {"id": "B", "content": "kortil"}])
    memory.link("B", "A", type, 0.6)
    assert ask(memory).ids == (("A", "B") if carried else ("A",))


def test_text_gist_and_entities_are_searched(memory: Memory) -> None:
    memory.add("nothing here", id="gist", gist="a zumbrel")
    memory.add("nothing there", id="entity", entities=["Zumbrel"])
    memory.add("the zumbrel", id="text")
    memory.add("nothing at all", id="title", title="zumbrel")
    assert set(ask(memory).ids) == {"gist", "entity", "text"}


@pytest.mark.parametrize(
    ("days", "recency"), [(0, 1.0), (1, 0.951), (14, 0.497), (30, 0.223), (60, 0.050)]
)
def test_recency_halves_in_about_14_days(memory: Memory, days: int, recency: float) -> None:
    memory.add("zumbrel", created_at=NOW - days * DAY)
    [hit] = ask(memory)
    assert hit.explanation is not None
    node = hit.explanation.find("recency")
    assert node is not None
    assert hit.score == pytest.approx(0.5 + 0.2 * math.exp(-0.05 * days) + 0.2 + 0.1)
    assert math.exp(-0.05 * days) == pytest.approx(recency, abs=5e-4)


def test_strength_and_confidence_are_used_as_they_are(memory: Memory) -> None:
    memory.add("zumbrel", id="a", strength=0.4, confidence=0.25)
    # 0.5 * 1 + 0.2 * 1 + 0.2 * 0.4 + 0.1 * 0.25
    assert scores(ask(memory))["a"] == pytest.approx(0.805)


@pytest.mark.parametrize(
    ("status", "penalty"), [("active", 1.0), ("superseded", 0.5), ("contradicted", 0.3)]
)
def test_a_status_multiplies_the_score(memory: Memory, status: str, penalty: float) -> None:
    memory.add("zumbrel", id="a")
    memory.update("a", status=status)
    [hit] = ask(memory)
    assert hit.score == pytest.approx(1.0 * penalty)


def test_other_statuses_and_the_deleted_are_never_recalled(memory: Memory) -> None:
    for id in ("archived", "deleted", "erased", "kept"):
        memory.add("zumbrel", id=id)
    memory.update("archived", status="archived")
    memory.update("deleted", status="deleted")
    memory.delete("erased")
    assert ask(memory).ids == ("kept",)
    assert memory.search("zumbrel", profile="balanced", touch=False).ids == ("kept",)


def test_nothing_spreads_through_what_a_filter_or_a_status_keeps_out(memory: Memory) -> None:
    for id, user in {"A": "ana", "B": "bob", "C": "ana"}.items():
        memory.add("zumbrel" if id == "A" else f"kortil {id}", id=id, user_id=user)
    memory.link("A", "B")
    memory.link("B", "C")
    assert ask(memory).ids == ("A", "B", "C")
    assert ask(memory, filters={"user_id": "ana"}).ids == ("A",)
    memory.update("B", status="archived")
    assert ask(memory).ids == ("A",)


def test_what_is_erased_takes_its_links_along(memory: Memory) -> None:
    for id in "ABC":
        memory.add("zumbrel" if id == "A" else f"kortil {id}", id=id)
    memory.link("A", "B")
    memory.link("B", "C")
    memory.link("B", "B")
    memory.delete("B")
    assert ask(memory).ids == ("A",)
    assert memory.links() == []
    memory.add("kortil again", id="B")
    assert ask(memory).ids == ("A",)


def test_nothing_spreads_into_another_namespace(memory: Memory) -> None:
    memory.add("zumbrel", id="A")
    memory.add("kortil", id="B")
    other = memory.for_namespace("other")
    other.add("zumbrel", id="A")
    other.add("pandol", id="C")
    memory.link("A", "B")
    other.link("A", "C")
    assert ask(memory).ids == ("A", "B")
    both = ask(memory, namespaces=["default", "other"])
    assert sorted((hit.record.namespace, hit.id) for hit in both) == [
        ("default", "A"),
        ("default", "B"),
        ("other", "A"),
        ("other", "C"),
    ]


def test_the_weaker_of_two_that_contradict_each_other_gives_way(memory: Memory) -> None:
    """Strength * confidence * recency: a 1 * 0.9 * 1, b 1 * 0.5 * 1."""
    memory.add("zumbrel", id="a", confidence=0.9)
    memory.add("zumbrel", id="b", confidence=0.5)
    memory.link("b", "a", "contradicts")
    found = ask(memory)
    assert scores(found) == pytest.approx({"a": 0.99, "b": 0.95 * 0.3})
    a, b = found
    assert (a.details["conflict.over"], b.details["conflict.by"]) == (("b",), ("a",))
    assert b.details["conflict.why"] == "0.5 against 0.9"
    assert b.explanation is not None
    node = b.explanation.find("conflict_penalty")
    assert node is not None
    assert (node.value, "by a" in node.note) == (0.3, True)


def test_of_equally_strong_ones_the_older_gives_way(memory: Memory) -> None:
    # Of the same recency, as both count from the same last access.
    memory.add("zumbrel", id="a", created_at=NOW - 2 * DAY)
    memory.add("zumbrel", id="b", created_at=NOW - DAY)
    memory.link("a", "b", "contradicts")
    memory.search("zumbrel")
    found = ask(memory)
    assert found.ids == ("b", "a")
    assert found[1].details["conflict.why"] == "as strong as b, but older"


def test_of_equally_strong_and_old_ones_the_larger_id_gives_way(memory: Memory) -> None:
    memory.add_many([{"id": id, "content": "zumbrel"} for id in ("b", "a")])
    memory.link("a", "b", "contradicts")
    assert scores(ask(memory)) == pytest.approx({"a": 1.0, "b": 0.3})


def test_strength_is_reinforced_and_decays_and_confidence_stays(memory: Memory) -> None:
    """1 at first, exp(-0.01 * 10.536) = 0.9 once faded, then + 0.1 each, at most 1."""
    memory.add("zumbrel", id="a", confidence=0.5, created_at=NOW - 10.5360516 * DAY)
    for _ in range(4):
        memory.upkeep.decay()
    values = []
    for _ in range(3):
        record = memory.get("a")
        assert record is not None
        assert record.confidence == 0.5
        values.append(record.strength)
        memory.feedback("a", "reinforce")
    assert values == pytest.approx([0.9, 1.0, 1.0])


def test_superseding_links_and_marks(memory: Memory) -> None:
    memory.add("zumbrel at Google", id="old")
    memory.add("zumbrel at Microsoft", id="new")
    memory.supersede("old", "new")
    record = memory.get("old")
    assert record is not None
    assert record.status == "superseded"
    assert [(link.source, link.target, link.type) for link in memory.links()] == [
        ("new", "old", "supersedes")
    ]
    assert memory.search("zumbrel", profile="balanced", touch=False).ids == ("new",)
    assert ask(memory).ids == ("new", "old")
    with pytest.raises(NotFound):
        memory.supersede("old", "absent")
    with pytest.raises(NotFound):
        memory.link("absent", "old", "contradicts")


def test_the_budget_holds(memory: Memory) -> None:
    """Fresh memories of the same word rank by length: BM25 favours short ones."""
    for id, words in {"a": 2, "b": 60, "c": 3}.items():
        memory.add(" ".join(["zumbrel"] + ["kortil"] * (words - 1)), id=id)
    sizes = {"a": 4, "b": 105, "c": 6}  # 14, 420 and 21 characters
    for id, size in sizes.items():
        record = memory.get(id)
        assert record is not None
        assert math.ceil(len(record.content) / 4) == size
    assert ask(memory).ids == ("a", "c", "b")
    found = ask(memory, token_budget=10)
    assert found.ids == ("a", "c")
    assert [hit.details["pack.tokens"] for hit in found] == [4.0, 6.0]
    assert ask(memory, token_budget=9).ids == ("a",)
    assert ask(memory, token_budget=110).ids == ("a", "c")  # b would need 105 of 100
    assert ask(memory, token_budget=0).ids == ()
    assert ask(memory, token_budget=115, limit=1).ids == ("a",)
    assert set(ask(memory, token_budget=10, profile="balanced").ids) == {"a", "c"}


def test_tokens_may_be_counted_otherwise(tmp_path: Path) -> None:
    memory = opened("ram", tmp_path, None, count_tokens=lambda text: len(text.split()))
    memory.add("zumbrel one two", id="a")
    [hit] = memory.search("zumbrel", options={"token_budget": 3}, profile="activation")
    assert hit.details["pack.tokens"] == 3.0
    assert memory.search("zumbrel", options={"token_budget": 2}, profile="activation").ids == ()


@pytest.mark.parametrize("budget", [-1, 1.5, True, "ten"])
def test_an_impossible_budget_is_refused(memory: Memory, budget: Any) -> None:
    with pytest.raises(InvalidInput, match="token_budget"):
        memory.search("zumbrel", options={"token_budget": budget})


@pytest.mark.parametrize(
    "query", ["zumbrel\0", '"zumbrel', "zumbrel AND", "NEAR(zumbrel", "zumbrel* OR ) - :"]
)
def test_any_query_is_safe(memory: Memory, query: str) -> None:
    memory.add("zumbrel", id="a")
    assert ask(memory, query).ids == ("a",)


def test_a_query_that_no_word_answers_finds_nothing(memory: Memory) -> None:
    memory.add("zumbrel", id="a")
    assert ask(memory, "kortil").ids == ()
    assert ask(memory, "...").ids == ask(memory, "''").ids == ()


def test_only_what_is_returned_is_touched(memory: Memory) -> None:
    memory.add("zumbrel", id="a")
    memory.add("zumbrel kortil", id="b")
    memory.search("zumbrel", limit=1)
    memory.upkeep.flush()
    counts = {record.id: record.access_count for record in memory.get_all()}
    assert counts == {"a": 1, "b": 0}


def test_searching_twice_and_on_either_store_is_the_same(tmp_path: Path) -> None:
    chance = random.Random(4)
    with each_store(tmp_path, None, profile="activation") as stores:
        words = ["zumbrel", "kortil", "pandol", "wexam"]
        for at in range(60):
            content = " ".join(chance.choices(words, k=chance.randint(1, 9)))
            age = chance.randint(0, 90) * DAY
            for memory in stores:
                memory.add(content, id=f"m{at}", created_at=NOW - age)
        for _ in range(120):
            a, b = chance.sample(range(60), 2)
            type = chance.choice(["supports", "mentions", "contradicts"])
            for memory in stores:
                memory.link(f"m{a}", f"m{b}", type, 0.5)
        for query in ("zumbrel", "kortil wexam"):
            once, *others = (
                [(hit.id, hit.score, dict(hit.details)) for hit in ask(memory, query)]
                for memory in [*stores, *stores]
            )
            assert all(other == once for other in others)


def test_async_search_is_the_same() -> None:
    async def run() -> tuple[str, ...]:
        memory = await AsyncMemory.open(
            "ram://", embedder=None, profile="activation", clock=lambda: NOW
        )
        for id in ("a", "b"):
            await memory.add("zumbrel" if id == "a" else "kortil", id=id)
        await memory.link("a", "b")
        await memory.link("a", "b", "contradicts")
        await memory.supersede("b", "a")
        found = await memory.search("zumbrel", options={"token_budget": 100})
        await memory.close()
        return found.ids

    assert asyncio.run(run()) == ("a", "b")
