"""A short form of the attacks on the doors; `make torture ATTACKS=doors` has a thousand of each."""

from __future__ import annotations

from pathlib import Path

import pytest

from torture.doors import ATTACKS
from torture.tally import Tally, table

ROUNDS = {"12 forks": 2, "13 repeated keys": 12, "14 erasure": 12, "15 actors": 12, "19 mcp": 40}


@pytest.mark.deep
@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_finds_nothing(name: str, tmp_path: Path) -> None:
    tally = ATTACKS[name](Tally(name, 1), ROUNDS.get(name, 40), tmp_path / "d", lambda _: None)
    assert tally.rounds
    assert tally.acknowledged
    assert tally, table([tally])
