"""Writes of others while a search or a write is under way, or have written since the last one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from salience import Memory
from salience.embedders import EmbedderIdentity
from salience.embedders.protocol import Kind, Rows
from salience.errors import EmbedderMismatch
from salience.records.record import MemoryRecord
from salience.retrieval.erasure import Erasure
from salience.retrieval.operations import Op, ReadRecords
from salience.retrieval.plan import drive
from salience.search.results import SearchResult
from salience.search.search import search
from salience.stores.embedded import EmbeddedStore
from salience.testing import WordHashEmbedder
from salience.write.reading import read_record


@pytest.fixture
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return getattr(request, "param", None) or f"sqlite:///{tmp_path}/a.db"


@pytest.fixture
def memory(url: str) -> Iterator[Memory]:
    with Memory.open(url, embedder=None) as opened:
        yield opened


@pytest.fixture
def other(url: str) -> Iterator[Memory]:
    with Memory.open(url, embedder=None) as opened:
        yield opened


def between_ranking_and_reading(
    memory: Memory, happens: Callable[[], object], **asked: Any
) -> SearchResult:
    """A search of the memory during which something happens once it has ranked."""
    once = iter([True])

    def batch(ops: Sequence[Op]) -> Sequence[Any]:
        if any(isinstance(op, ReadRecords) for op in ops) and next(once, False):
            happens()
        return memory._core.dispatcher.batch(ops)

    return drive(search(memory._core.request("green tea", **asked)), batch)


def test_a_memory_edited_between_ranking_and_reading_is_returned_as_it_is_now(
    memory: Memory, other: Memory
) -> None:
    memory.add_many(
        [
            {"id": "tea", "content": "The green tea is in the cupboard"},
            {"id": "pot", "content": "The tea pot is green"},
            {"id": "cup", "content": "A green cup for tea"},
        ]
    )

    def happens() -> None:
        other.update("pot", content="The tea pot is blue now")
        other.delete("cup")

    result = between_ranking_and_reading(memory, happens)
    found = {hit.id: hit.content for hit in result}
    assert found == {
        "tea": "The green tea is in the cupboard",
        "pot": "The tea pot is blue now",
    }
    assert [hit.rank for hit in result] == [1, 2]
    memory.upkeep.flush()
    assert [other.get(id).access_count for id in found] == [1, 1]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "change",
    [
        {"user_id": "ben"},
        {"metadata": {"of": {"team": "b"}}, "content": "Green tea, again"},
        {"created_at": "2027-01-01", "content": "Green tea, again"},
        {"tags": ["cold"]},
    ],
)
def test_what_no_longer_passes_the_filter_is_not_returned(
    memory: Memory, other: Memory, change: dict[str, Any]
) -> None:
    given: dict[str, Any] = {"user_id": "ana", "tags": ["hot"], "metadata": {"of": {"team": "a"}}}
    memory.add("Green tea", id="x", created_at="2026-01-01", **given)
    filters = {
        "user_id": "ana",
        "metadata.of.team": "a",
        "created_at": {"lt": "2026-06-01"},
        "$or": [{"tags": {"contains": "hot"}}, {"$not": {"title": None}}],
    }
    kept = between_ranking_and_reading(
        memory, lambda: other.update("x", content="Green tea!"), filters=filters
    )
    assert [hit.content for hit in kept] == ["Green tea!"]
    gone = between_ranking_and_reading(memory, lambda: other.update("x", **change), filters=filters)
    assert not gone.hits


def test_another_namespace_has_no_part_in_what_was_erased_in_one(
    memory: Memory, other: Memory
) -> None:
    memory.add("Green tea of Ana", id="x")
    memory.for_namespace("team").add("A secret of the team", id="x")
    asked = {"namespaces": ["default", "team"], "limit": 1}
    assert not between_ranking_and_reading(memory, lambda: other.delete("x"), **asked).hits


def test_a_namespace_that_was_erased_and_begun_anew_is_the_new_one(
    memory: Memory, other: Memory
) -> None:
    memory.add("Old", id="old")
    assert memory.get("old")
    other.delete_all(namespace="default")
    other.add_many([{"content": "New", "id": "new"}, {"content": "Newer", "id": "newer"}])
    assert memory.get("new")
    assert memory.add("New", kind="note").items[0].outcome == "DUPLICATE"
    assert memory.feedback("new", "useful")
    memory.upkeep.decay()
    assert memory.history("new").events
    assert memory.delete("newer")
    assert memory.delete_all(namespace="default").memories == 1
    assert other.get("new") is None


def before_erasing(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]
) -> None:
    store = memory._core.dispatcher.store
    assert isinstance(store, EmbeddedStore)
    once, delete = iter([True]), store._records.delete

    def late(*given: Any, **named: Any) -> Erasure:
        if next(once, False):
            happens()
        return delete(*given, **named)

    monkeypatch.setattr(store._records, "delete", late)


@pytest.mark.parametrize("how", ["id", "filter"])
def test_what_is_edited_just_then_is_erased_all_the_same(
    memory: Memory, other: Memory, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    memory.add("A secret of Ana", id="x", user_id="ana")
    before_erasing(memory, monkeypatch, lambda: other.update("x", content="Ana's secret, edited"))
    if how == "id":
        assert memory.delete("x")
    else:
        assert memory.delete_all({"user_id": "ana"}).memories == 1
    assert other.get("x") is None


@pytest.mark.parametrize("url", ["ram://", None], indirect=True)
def test_what_no_longer_passes_the_filter_just_then_is_not_erased(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.add_many({"id": id, "content": id, "metadata": {"old": 1}} for id in "xyz")

    def happens() -> None:
        memory.update("x", metadata={"old": 0})
        memory.update("z", content="Z", metadata={"old": 2})

    before_erasing(memory, monkeypatch, happens)
    assert memory.delete_all({"metadata.old": {"gte": 1}}).memories == 2
    assert memory.get_all().memories[0].metadata == {"old": 0}


class Other(WordHashEmbedder):
    """Another model whose vectors are as long."""

    @property
    def identity(self) -> EmbedderIdentity:
        return EmbedderIdentity("other", "model", super().identity.dimensions, "1")

    def embed(self, texts: Sequence[str], *, kind: Kind = "document") -> Rows:
        return -super().embed(texts, kind=kind)[:, ::-1].copy()


def test_vectors_that_another_embedder_has_made_since_are_not_compared(url: str) -> None:
    with Memory.open(url, embedder=WordHashEmbedder()) as memory:
        memory.add("Green tea", id="tea")
        assert [hit.id for hit in memory.search("green tea")] == ["tea"]
        Memory.upkeep.reembed(url, embedder=Other())
        found = memory.search("green tea")  # by its words
        assert found.ids == ("tea",)
        assert "other/model" in found.degraded[0]
        assert "vector" not in found.hits[0].routes
        with pytest.raises(EmbedderMismatch, match="other/model"):
            memory.add("Black tea")
    with Memory.open(url, embedder=Other()) as memory:
        assert [hit.id for hit in memory.search("green tea")] == ["tea"]


@pytest.mark.parametrize("url", ["ram://", None], indirect=True)
def test_a_memory_that_is_being_edited_is_there_all_the_time(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory.open(url, embedder=None) as memory:
        memory.add("The cat sat", id="cat")
        batch = memory._core.dispatcher.batch

        def meanwhile(ops: Sequence[Op]) -> Sequence[Any]:
            if any(isinstance(op, ReadRecords) for op in ops) and next(edits, None) is not None:
                memory.update("cat", content="The cat sat down")
            return batch(ops)

        edits = iter(range(3))
        assert drive(read_record("cat", "default"), meanwhile)
        store = memory._core.dispatcher.store
        assert isinstance(store, EmbeddedStore)
        rows, edits = store._records.read, iter(range(3))

        def late(*asked: Any) -> dict[int, MemoryRecord]:
            if next(edits, None) is not None:
                memory.update("cat", content="The cat sat up")
            return rows(*asked)

        monkeypatch.setattr(store._records, "read", late)
        page = memory.get_all({"kind": "note"})
        assert (page.total, [each.id for each in page.memories]) == (1, ["cat"])
