"""Spreading activation: memories that matter to a query because of their links to others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from salience.errors import InvalidInput, shown
from salience.ranking.evaluation import Evaluation
from salience.ranking.expressions import Signal
from salience.ranking.stages.stage import Stage, is_stored
from salience.records.record import OPPOSING_LINKS
from salience.retrieval.candidates import Candidates, ColumnData, Floats, Rows
from salience.retrieval.operations import Edge, FetchColumns, LinksBetween
from salience.retrieval.plan import Plan, ask
from salience.retrieval.query import Query


@dataclass(frozen=True)
class Activation:
    """The activation of a memory, the hops it took, and the id of the memory that passed it on."""

    value: float
    hops: int
    via: str

    def is_better(self, other: Activation | None) -> bool:
        """True if it is larger than another one, or equal and from a smaller id."""
        return other is None or (-self.value, self.via) < (-other.value, other.via)


@dataclass(frozen=True, eq=False)
class _Frontier:
    """Rows that pass activation on, ascending, and their activation."""

    rows: Rows
    values: Floats

    def place(self, row: int) -> int | None:
        at = int(np.searchsorted(self.rows, row))
        return at if at < len(self.rows) and self.rows[at] == row else None

    def value(self, row: int) -> float:
        place = self.place(row)
        return 0.0 if place is None else float(self.values[place])


@dataclass(frozen=True)
class Spread(Stage):
    """activation = max over paths of at most `hops` links of seed * product(weight * decay).

    Links are followed in both directions, level by level from a frozen frontier, so that the order
    of visiting changes nothing; links of the `silent` types carry nothing. In [0, largest seed],
    as weights and `decay` are in [0, 1]. Memories that only links reach join the table; namespace
    and filters hold at every hop.

    Writes the column `into`, NaN where nothing arrives, with its reasons: `<into>.hops` (0 for a
    seed) and `<into>.via`, the id of the last memory that passed it on (None for a seed; of equally
    good ones the fewest hops, then the smallest id).

    Source: Collins and Loftus, A spreading-activation theory of semantic processing, 1975.
    """

    seed: Signal
    hops: int = 2
    decay: float = 0.5
    silent: tuple[str, ...] = tuple(sorted(OPPOSING_LINKS))
    into: str = "activation"
    around: ClassVar[str | None] = "links"

    def __post_init__(self) -> None:
        if isinstance(self.hops, bool) or not isinstance(self.hops, int) or self.hops < 0:
            raise InvalidInput("hops", f"is {shown(self.hops)}", "give a whole number")
        if not 0.0 <= self.decay <= 1.0:
            raise InvalidInput("decay", f"is {shown(self.decay)}", "give a number between 0 and 1")

    def reads(self) -> frozenset[str]:
        return self.seed.inputs() | {"id"}

    def writes(self) -> frozenset[str]:
        return frozenset({self.into, f"{self.into}.via", f"{self.into}.hops"})

    def plan(
        self, query: Query, candidates: Candidates, wanted: frozenset[str]
    ) -> Plan[Candidates]:
        seeds = np.nan_to_num(Evaluation(query, candidates).column(self.seed))
        order = np.argsort(candidates.rows)
        order = order[seeds[order] > 0.0]
        seeded = frontier = _Frontier(candidates.rows[order], seeds[order])
        active: dict[int, Activation] = {}  # by row: activations better than the row's seed
        for hop in range(1, self.hops + 1):
            if not len(frontier.rows):
                break
            edges, columns = yield [
                LinksBetween(frontier.rows, query),
                FetchColumns(frontier.rows, ("id",)),
            ]
            arrivals = self._arrivals(frontier, columns["id"], edges, hop)
            # An activation that is no better by a longer way cannot be better further on.
            better = {
                row: arrival
                for row, arrival in sorted(arrivals.items())
                if arrival.value > (active[row].value if row in active else seeded.value(row))
            }
            active.update(better)
            values = [arrival.value for arrival in better.values()]
            frontier = _Frontier(np.array(list(better), np.int64), np.array(values, np.float64))
        fresh = np.setdiff1d(np.array(list(active), dtype=np.int64), candidates.rows)
        if len(fresh):
            stored = tuple(sorted(n for n in {*candidates.columns, *wanted} if is_stored(n)))
            fetched = yield from ask(FetchColumns(fresh, stored))
            candidates = candidates.joined(Candidates(fresh, fetched))
            seeds = np.append(seeds, np.zeros(len(fresh)))
        return self._with_activations(candidates, seeds, active)

    def _arrivals(
        self, frontier: _Frontier, ids: ColumnData, edges: Sequence[Edge], hop: int
    ) -> dict[int, Activation]:
        """The best activation that arrives at each neighbor of a frontier, by row."""
        best: dict[int, Activation] = {}
        for source, target, weight, type in edges:
            if type in self.silent:
                continue
            for start, end in ((source, target), (target, source)):
                place = frontier.place(start)
                if place is None or start == end:
                    continue
                value = float(frontier.values[place]) * weight * self.decay
                arrival = Activation(value, hop, ids[place])
                if value > 0.0 and arrival.is_better(best.get(end)):
                    best[end] = arrival
        return best

    def _with_activations(
        self, candidates: Candidates, seeds: Floats, active: Mapping[int, Activation]
    ) -> Candidates:
        values = np.where(seeds > 0.0, seeds, np.nan)
        hops = np.where(seeds > 0.0, 0.0, np.nan)
        via = np.full(len(candidates), None, dtype=object)
        order = np.argsort(candidates.rows)
        rows = np.array(list(active), dtype=np.int64)
        places = order[np.searchsorted(candidates.rows, rows, sorter=order)]
        for place, arrival in zip(places.tolist(), active.values(), strict=True):
            values[place], hops[place], via[place] = arrival.value, arrival.hops, arrival.via
        reasons = {f"{self.into}.hops": hops, f"{self.into}.via": via}
        return candidates.with_columns(**{self.into: values, **reasons})


def spread(seed: Signal, hops: int = 2, decay: float = 0.5) -> Spread:
    """Let activation spread from seeds over links."""
    return Spread(seed, hops, decay)
