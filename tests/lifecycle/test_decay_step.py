"""The step of maintenance that lets memories fade."""

from __future__ import annotations

import math
from datetime import datetime, timedelta, timezone

import pytest

from salience import Memory

NOW = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)


def test_it_is_decay_all_and_only_if_it_is_named() -> None:
    with Memory.open("ram://", embedder=None, clock=lambda: NOW) as memory:
        memory.add("Old.", id="old", created_at=NOW - timedelta(days=10))
        memory.add("New.", id="new")
        unasked = memory.upkeep.maintain()["decay"]
        assert (unasked.changed, unasked.held_back) == (1, "salience maintain --step decay")
        assert memory["old"].decayed_at is None
        assert memory.upkeep.maintain(steps=["decay"], dry_run=True)["decay"].changed == 1
        assert memory["old"].strength is None
        assert memory.upkeep.maintain(steps=["decay"])["decay"].changed == 1
        assert memory["old"].strength == pytest.approx(math.exp(-0.1))
        assert memory.upkeep.maintain(steps=["decay"])["decay"].changed == 0
        assert memory.upkeep.maintain()["decay"].held_back == ""
