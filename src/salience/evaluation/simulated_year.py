"""A simulated year: memories that are written, linked and used as an agent might, by a seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np

from salience.engine import Memory
from salience.errors import InvalidInput

BEGINS = datetime(2025, 1, 1, tzinfo=timezone.utc)
LAYERS = {"entity": 0.10, "knowledge": 0.40, "episodic": 0.35, "activity": 0.15}
"""The share of memories of each layer."""
FILLING_DAYS = 30
_LINKED, _LINKS = 0.1, 2  # the share of memories that link to earlier ones, and to how many
_DECLARED, _UTILITY = 5, 0.8  # of a day's uses: how many are declared, and what they were worth

Progress = Callable[[str, int, int | None], None]


@dataclass(frozen=True)
class Setup:
    """How much is simulated.

    Raises:
        InvalidInput: names the number that is too small.
    """

    memories: int = 20_000
    uses_a_day: int = 50
    days: int = 365
    seed: int = 7

    def __post_init__(self) -> None:
        for name, least in (("memories", 1), ("uses_a_day", 0), ("days", 1), ("seed", 0)):
            if getattr(self, name) < least:
                raise InvalidInput(name, f"is {getattr(self, name)}", f"give at least {least}")


class Calendar:
    """A clock that stands where it was set."""

    def __init__(self, now: datetime = BEGINS) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


def simulate(
    setup: Setup, url: str = "ram://", progress: Progress | None = None
) -> tuple[Memory, Calendar]:
    """Live through the days in a store without vectors; the memory, and its clock at the end.

    In the first 30 days the memories are written, as many each day. One in ten links to two
    earlier ones. Each day so many of those that there are get used (each at most once): the i-th
    memory of a random order with a probability in proportion to 1 / i, so that a few are used
    often and most never. The first five uses of a day are declared with a utility of 0.8.
    """
    chance = np.random.default_rng(setup.seed)
    clock = Calendar()
    memory = Memory.open(url, embedder=None, clock=clock, entities=None)
    filling = min(FILLING_DAYS, setup.days)
    written = 0
    weights = chance.permutation(1.0 / np.arange(1, setup.memories + 1))
    for day in range(setup.days):
        clock.now = BEGINS + timedelta(days=day)
        until = setup.memories * min(day + 1, filling) // filling
        memory.add_many(_items(written, until, chance))
        written = until
        clock.now += timedelta(hours=12)
        _use(memory, weights[:written], setup.uses_a_day, chance)
        if progress is not None:
            progress("simulating", day + 1, setup.days)
    clock.now = BEGINS + timedelta(days=setup.days)
    memory.flush()
    return memory, clock


def _items(start: int, end: int, chance: np.random.Generator) -> Iterator[dict[str, Any]]:
    names, odds = list(LAYERS), list(LAYERS.values())
    for number in range(start, end):
        layer = str(chance.choice(names, p=odds))
        item: dict[str, Any] = {
            "id": f"{number:06}",
            "content": f"Memory {number:,} of the layer {layer}.",
            "layer": layer,
        }
        if number and chance.random() < _LINKED:
            targets = {int(each) for each in chance.integers(0, number, _LINKS)}
            item["links"] = [{"target": f"{t:06}", "type": "mentions"} for t in sorted(targets)]
        yield item


def _use(
    memory: Memory, weights: np.ndarray[Any, np.dtype[np.float64]], count: int, chance: Any
) -> None:
    count = min(count, len(weights))
    if not count:
        return
    used = chance.choice(len(weights), count, replace=False, p=weights / weights.sum())
    ids = [f"{number:06}" for number in used.tolist()]
    memory.touch(ids[:_DECLARED], utility=_UTILITY)
    if ids[_DECLARED:]:
        memory.touch(ids[_DECLARED:], "retrieval")
