"""The past is worked out once, and again only when it is not what it was."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from salience import Memory
from salience.engine import dispatcher, time_travel


def asked(memory: Memory, at: datetime) -> list[Any]:
    found = memory.search("the spare key", as_of=at, limit=20)
    return [(hit.id, hit.content, hit.score) for hit in found]


def test_a_past_is_kept_until_something_changes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Mock(side_effect=time_travel.snapshot_at)
    monkeypatch.setattr(dispatcher, "snapshot_at", made)
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
        changing: list[Callable[[], Any]] = [
            lambda: other.delete("m7"),
            lambda: memory.delete("m8"),
            lambda: before.add("The spare key was here.", id="earlier"),
            lambda: before.update("m9", content="The spare key, edited before."),
            lambda: before.search("key"),
            lambda: [before.add("One more key.", id="more"), other.delete("new")],
        ]
        for number, step in enumerate(changing):
            step()
            before.upkeep.flush()
            made.reset_mock()
            now = asked(memory, at)
            assert made.call_count == 1, number
            with Memory.open(tmp_path / "m.db", embedder=None) as fresh:
                assert now == asked(fresh, at), number
