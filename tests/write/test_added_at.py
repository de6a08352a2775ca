"""The time at which an imported memory came into its former store may be given."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from salience import Memory
from salience.errors import InvalidInput

NOW = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
LONG_AGO = NOW - timedelta(days=30)


def test_zones_of_an_imported_history_are_those_of_its_log() -> None:
    with Memory.open("ram://", embedder=None, clock=lambda: NOW) as memory:
        item = {"content": "zebra", "layer": "activity", "created_at": LONG_AGO}
        memory.add_many([{**item, "id": "new"}, {**item, "id": "old", "added_at": LONG_AGO}])
        assert memory["old"].added_at == LONG_AGO
        assert {one.id: one.zone for one in memory.inspect.zones()} == {
            "new": "active",
            "old": "dormant",
        }
        hits = memory.search("zebra", profile="vitality", touch=False, explain=True)
        [old] = (hit for hit in hits if hit.id == "old")
        assert old.explanation is not None
        part = old.explanation.find("vitality")
        assert part is not None
        # one access 30 days ago, d = 0.5 * 3: 1 / (1 + 30^1.5)
        assert part.value == pytest.approx(1 / (1 + 30**1.5))
        assert {one.id: one.vitality for one in memory.inspect.zones()}["old"] == part.value
        assert memory.upkeep.verify()


def test_it_does_not_set_an_item_apart_and_is_not_edited() -> None:
    with Memory.open("ram://", embedder=None, clock=lambda: NOW) as memory:
        memory.add("Ana has a kite.", id="a")
        added = memory.add("Ana has a kite.", added_at=LONG_AGO)
        assert added.items[0].outcome == "DUPLICATE"
        with pytest.raises(InvalidInput, match="added_at"):
            memory.update("a", added_at=LONG_AGO)
