"""A short form of the hostile inputs; `make torture` has a million."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from support.waiting import HANG_SECONDS
from torture import fuzz
from torture.fuzz import TooSlow, on_files, on_memory, time_bound
from torture.tally import Tally, table


@pytest.fixture
def nothing_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz, "time_bound", partial(time_bound, HANG_SECONDS))


@pytest.mark.usefixtures("nothing_is_timed")
@pytest.mark.deep
def test_hostile_arguments_are_taken_or_refused(tmp_path: Path) -> None:
    tally = on_memory(1_500, 1, tmp_path, lambda _: None)
    assert tally.rounds > 1_000
    assert tally, table([tally])


@pytest.mark.usefixtures("nothing_is_timed")
@pytest.mark.deep
def test_hostile_files_are_taken_or_refused(tmp_path: Path) -> None:
    tally = on_files(300, 1, tmp_path, lambda _: None)
    assert tally.rounds == 300
    assert tally, table([tally])


def test_what_takes_too_long_is_noticed() -> None:
    with pytest.raises(TooSlow), time_bound(0.05):
        _forever()


def test_findings_of_one_kind_at_one_place_are_listed_once() -> None:
    tally = Tally("hostile arguments", 1)
    for number in range(3):
        tally.report("foreign", f"input 1/{number}: KeyError", "records/filters.py:1 KeyError")
    tally.report("slow", "input 1/7: search", "records/filters.py:9")
    assert not tally
    assert tally.foreign == 3
    assert tally.listed() == [
        "1 times at records/filters.py:9, slow: input 1/7: search",
        "3 times at records/filters.py:1 KeyError, foreign: input 1/0: KeyError",
    ]


def _forever() -> None:
    while True:
        pass
