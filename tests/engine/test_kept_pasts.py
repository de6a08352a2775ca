"""The past is worked out once, then moved by what differs, and built again after an erasure."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from salience import Memory
from salience.engine import dispatcher, time_travel
from salience.stores.index_reader import INDEX_BUDGET
from salience.testing import WordHashEmbedder


def asked(memory: Memory, at: datetime) -> list[Any]:
    found = memory.search("the spare key", as_of=at, limit=20)
    return [(hit.id, hit.content, hit.score) for hit in found]


def test_a_past_is_kept_until_something_changes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Mock(side_effect=time_travel.Past)
    monkeypatch.setattr(dispatcher, "Past", made)
    at = datetime.now(UTC) - timedelta(days=20)
    long_ago = at - timedelta(days=5)
    with (
        Memory.open(tmp_path / "m.db", embedder=None, clock=lambda: long_ago) as before,
        Memory.open(tmp_path / "m.db", embedder=None) as memory,
        Memory.open(tmp_path / "m.db", embedder=None) as other,
    ):
        before.add_many(
            [{"id": f"m{n}", "content": f"The spare key, place {n}."} for n in range(12)],
            dedup=False,
        )
        first = asked(memory, at)
        assert len(first) == 12
        assert made.call_count == 1
        same: list[Callable[[], Any]] = [
            lambda: memory.search("key"),
            lambda: other.search("key"),
            lambda: memory.add("The spare key is new.", id="new"),
            lambda: other.add_many([f"Another text {n}." for n in range(5)]),
            lambda: memory.update("m3", content="The spare key is gone."),
            lambda: other.update("m4", importance=0.9),
            lambda: memory.link("m1", "m2", "supports"),
            lambda: memory.feedback("m5", "useful"),
            lambda: other.upkeep.flush(),
            lambda: asked(memory, at - timedelta(days=1)),
        ]
        for number, step in enumerate(same):
            step()
            made.reset_mock()
            assert asked(memory, at) == first, number
            assert not made.called, number
        changing: list[tuple[int, Callable[[], Any]]] = [
            (1, lambda: other.delete("m7")),
            (1, lambda: memory.delete("m8")),
            (0, lambda: before.add("The spare key was here.", id="earlier")),
            (0, lambda: before.update("m9", content="The spare key, edited before.")),
            (0, lambda: before.search("key")),
            (1, lambda: [before.add("One more key.", id="more"), other.delete("new")]),
        ]
        for number, (built, step) in enumerate(changing):
            step()
            before.upkeep.flush()
            made.reset_mock()
            now = asked(memory, at)
            assert made.call_count == built, number
            with Memory.open(tmp_path / "m.db", embedder=None) as fresh:
                assert now == asked(fresh, at), number


def test_a_past_that_a_search_relies_on_is_not_moved(tmp_path: Path) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    beside: list[Callable[[], Any]] = []

    class Interrupted(WordHashEmbedder):
        """Searches at another time while a question is embedded."""

        def embed(self, texts: Any, **options: Any) -> Any:
            while beside:
                beside.pop()()
            return super().embed(texts, **options)

    with Memory.open(tmp_path / "m.db", embedder=Interrupted(), clock=lambda: now) as memory:
        memory.add_many([{"id": f"m{n}", "content": f"The spare key {n}."} for n in range(9)])
        before = now = now + timedelta(days=1)
        for number in range(5):
            memory.update(f"m{number}", content=f"The spare key {number} is elsewhere.")
        memory.delete("m8")
        now += timedelta(days=1)
        alone = {at: asked(memory, at) for at in (before, before - timedelta(hours=1))}
        pasts = len(memory._core.dispatcher._pasts)
        found: list[Any] = []
        beside.append(lambda: found.append(memory.search("where?", as_of=before)))
        memory.search("a key nobody asked for", as_of=before - timedelta(hours=1))
        assert len(found[0])
        assert len(memory._core.dispatcher._pasts) == pasts + 1
        assert {at: asked(memory, at) for at in alone} == alone


def test_what_asks_nothing_of_the_past_is_answered() -> None:
    with Memory.open("ram://", embedder=None) as memory:
        memory.add("The spare key is with Ana.", id="a")
        assert memory.links("a", pending=True, as_of=datetime(2020, 1, 1, tzinfo=UTC)) == []


def test_kept_pasts_take_no_more_bytes_than_indexes_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory.open(tmp_path / "m.db", embedder=None) as memory:
        others = [memory.for_namespace(name) for name in "abc"]
        for other in others:
            other.add("The spare key is with Ana.")
        at = datetime.now(UTC)
        assert all(len(asked(other, at)) == 1 for other in others)
        assert len(memory._core.dispatcher._pasts) == 3
        monkeypatch.setattr(INDEX_BUDGET, "limit", 1)
        assert len(asked(others[0], at)) == 1
        assert len(memory._core.dispatcher._pasts) == 1


def test_a_past_is_asked_for_while_others_write(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db", embedder=None) as memory:
        memory.add_many([{"id": f"m{n}", "content": f"The spare key {n}."} for n in range(9)])
        at = datetime.now(UTC)
        first = asked(memory, at)
        done = threading.Event()

        def write() -> None:
            with Memory.open(tmp_path / "m.db", embedder=None) as other:
                for number in range(60):
                    other.update(f"m{number % 9}", content=f"The spare key, version {number}.")
                    other.add(f"Another spare key, number {number}.")
            done.set()

        writer = threading.Thread(target=write)
        writer.start()
        while not done.is_set():
            memory._core.dispatcher._pasts.clear()
            assert asked(memory, at) == first
        writer.join()
        assert asked(memory, at) == first
