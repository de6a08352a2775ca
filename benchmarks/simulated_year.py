"""A simulated year: memories that are written, linked and used as an agent might, by a seed.

python simulated_year.py --out year.png
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np

from salience.engine.memory import Memory
from salience.errors import InvalidInput
from salience.lifecycle.zone_chart import draw_chart
from salience.lifecycle.zone_history import ZONE_ORDER

BEGINS = datetime(2025, 1, 1, tzinfo=timezone.utc)
LAYERS = {"entity": 0.10, "knowledge": 0.40, "episodic": 0.35, "activity": 0.15}
"""The share of memories of each layer."""
FILLING_DAYS = 30
_LINKED_SHARE, _LINKS = 0.1, 2  # memories with links to earlier ones, and links of each
_DECLARED_USES, _UTILITY = 5, 0.8  # uses a day that are declared, with this utility


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


def simulate(setup: Setup, url: str = "ram://") -> tuple[Memory, Calendar]:
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
    clock.now = BEGINS + timedelta(days=setup.days)
    memory.upkeep.flush()
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


def main(arguments: list[str] | None = None) -> None:
    """Print the zones over the year, draw them, and derive everything from the log once more."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--memories", type=int, default=Setup.memories)
    parser.add_argument("--uses", type=int, default=Setup.uses_a_day, help="a day")
    parser.add_argument("--days", type=int, default=Setup.days)
    parser.add_argument("--seed", type=int, default=Setup.seed)
    parser.add_argument("--points", type=int, default=13, help="times that are counted")
    parser.add_argument("--out", help="draw a chart into this .png, .svg or .pdf")
    asked = parser.parse_args(arguments)
    setup = Setup(asked.memories, asked.uses, asked.days, asked.seed)
    memory, clock = simulate(setup)
    with memory:
        history = memory.inspect.zone_shares(until=clock.now, points=asked.points)
        verified = memory.upkeep.verify()
    for place, at in enumerate(history.times):
        shares = " ".join(f"{name} {history.share(name)[place]:.1%}" for name in ZONE_ORDER)
        print(f"{at:%Y-%m-%d} {history.totals[place]:>7,} {shares}")
    if asked.out:
        size = f"{setup.memories:,} memories, {setup.uses_a_day} uses a day"
        title = f"{setup.days} simulated days: {size}"
        print(draw_chart(history, asked.out, title))
    same = "the same to the bit" if verified else f"{len(verified):,} differ"
    print(f"replayed {verified.events:,} events: the derived fields are {same}")


if __name__ == "__main__":
    main()
