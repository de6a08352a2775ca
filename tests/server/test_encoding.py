"""Answers are encoded from what results hold: their JSON is that of `to_dict`, to the digit."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any

import pytest

from salience import Memory
from salience.server.encoding import encoded


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    now = datetime(2026, 6, 1, tzinfo=timezone.utc)
    with Memory.open("ram://", clock=lambda: now) as memory:
        memory.add("Ana moved to Lisbon.", id="a", importance=1 / 3, metadata={"π": [1e-7, {}]})
        memory.add(
            [{"role": "user", "content": "Hi!"}, {"role": "assistant", "content": "How are you?"}],
            session_id="s",
            created_at=datetime(2026, 5, 3, 8, 0, 0, 123_000, timezone.utc),
        )
        memory.link("a", "a")
        search = {
            profile: memory.search("Where did Ana move in May 2026?", profile=profile, explain=True)
            for profile in ("balanced", "six_factor", "vitality", "multi_route", "activation")
        }
        return search | {
            "record": memory["a"],
            "page": memory.get_all(),
            "empty": memory.search("x", filters={"kind": "none"}),
            "history": memory.history("a"),
            "explain": memory.explain("Ana", "a"),
            "zones": memory.inspect.zones(),
        }


@pytest.mark.parametrize(
    "name",
    [
        *("balanced", "six_factor", "vitality", "multi_route", "activation", "record", "page"),
        *("empty", "history", "explain", "zones"),
    ],
)
def test_the_bytes_are_those_of_to_dict(results: dict[str, Any], name: str) -> None:
    result = results[name]
    assert json.loads(encoded(result)) == json.loads(json.dumps(result.to_dict()))
    assert list(json.loads(encoded(result))) == list(result.to_dict())
