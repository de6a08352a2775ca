"""A short form of the hostile inputs; `make torture` has a million."""

from __future__ import annotations

from pathlib import Path

import pytest

from torture.fuzz import TooSlow, on_files, on_memory, time_bound
from torture.tally import table


def test_hostile_arguments_are_taken_or_refused(tmp_path: Path) -> None:
    tally = on_memory(1_500, 1, tmp_path, lambda _: None)
    assert tally.rounds > 1_000
    assert tally, table([tally])


def test_hostile_files_are_taken_or_refused(tmp_path: Path) -> None:
    tally = on_files(300, 1, tmp_path, lambda _: None)
    assert tally.rounds == 300
    assert tally, table([tally])


def test_what_takes_too_long_is_noticed() -> None:
    with pytest.raises(TooSlow), time_bound(0.05):
        _forever()


def _forever() -> None:
    while True:
        pass
