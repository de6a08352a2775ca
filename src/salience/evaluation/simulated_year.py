"""A simulated year: memories that are written, linked and used as an agent might, by a seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np

from salience.engine.memory import Memory
from salience.errors import InvalidInput

BEGINS = datetime(2025, 1, 1, tzinfo=timezone.utc)
LAYERS = {"entity": 0.10, "knowledge": 0.40, "episodic": 0.35, "activity": 0.15}
"""The share of memories of each layer."""
FILLING_DAYS = 30
_LINKED_SHARE, _LINKS = 0.1, 2  # memories with links to earlier ones, and links of each
_DECLARED_USES, _UTILITY = 5, 0.8  # uses a day that are declared, with this utility

Progress = Callable[[str, int, int | None], None]


@dataclass(frozen=True)
class Setup:
    """The size of a simulation.

    Raises:
        InvalidInput: a number is too small.
    """

    memories: int = 20_000
    uses_a_day: int = 50
    days: int = 365
    seed: int = 7

    def __post_init__(self) -> None:
        for name, minimum in (("memories", 1), ("uses_a_day", 0), ("days", 1), ("seed", 0)):
            if getattr(self, name) < minimum:
                raise InvalidInput(name, f"is {getattr(self, name)}", f"give at least {minimum}")


class Calendar:
    """A clock that stands still until it is set."""

    def __init__(self, now: datetime = BEGINS) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


def simulate(
    setup: Setup, url: str = "ram://", progress: Progress | None = None
) -> tuple[Memory, Calendar]:
    """Simulate the days in a store without vectors; the memory, and its clock at the end.

    The memories are written in the first 30 days, an equal number each day. One in ten links to
    two earlier ones. Each day, `uses_a_day` different memories are used: the i-th of a random
    order with a probability proportional to 1 / i, so that a few are used often and most never.
    The first five uses of a day are declared with a utility of 0.8.
    """
    rng = np.random.default_rng(setup.seed)
    clock = Calendar()
    memory = Memory.open(url, embedder=None, clock=clock, entities=None)
    filling = min(FILLING_DAYS, setup.days)
    written = 0
    weights = rng.permutation(1.0 / np.arange(1, setup.memories + 1))
    for day in range(setup.days):
        clock.now = BEGINS + timedelta(days=day)
        until = setup.memories * min(day + 1, filling) // filling
        memory.add_many(_items(written, until, rng))
        written = until
        clock.now += timedelta(hours=12)
        _use(memory, weights[:written], setup.uses_a_day, rng)
        if progress is not None:
            progress("simulating", day + 1, setup.days)
    clock.now = BEGINS + timedelta(days=setup.days)
    memory.flush()
    return memory, clock


def _items(start: int, end: int, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    names, odds = list(LAYERS), list(LAYERS.values())
    for number in range(start, end):
        layer = str(rng.choice(names, p=odds))
        item: dict[str, Any] = {
            "id": f"{number:06}",
            "content": f"Memory {number:,} of the layer {layer}.",
            "layer": layer,
        }
        if number and rng.random() < _LINKED_SHARE:
            targets = {int(target) for target in rng.integers(0, number, _LINKS)}
            item["links"] = [{"target": f"{t:06}", "type": "mentions"} for t in sorted(targets)]
        yield item


def _use(
    memory: Memory, weights: np.ndarray[Any, np.dtype[np.float64]], count: int, rng: Any
) -> None:
    count = min(count, len(weights))
    if not count:
        return
    used = rng.choice(len(weights), count, replace=False, p=weights / weights.sum())
    ids = [f"{number:06}" for number in used.tolist()]
    memory.touch(ids[:_DECLARED_USES], utility=_UTILITY)
    if ids[_DECLARED_USES:]:
        memory.touch(ids[_DECLARED_USES:], "retrieval")
