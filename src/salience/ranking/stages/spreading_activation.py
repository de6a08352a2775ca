"""Spreading activation: memories that matter to a query because of their links to others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.errors import InvalidInput, shown
from salience.ranking.evaluation import Evaluation
from salience.ranking.expressions import Signal
from salience.ranking.stages.stage import Stage, is_stored
from salience.records.record import OPPOSING_LINKS
from salience.retrieval.candidates import Candidates, Column, ColumnData, Floats, Rows
from salience.retrieval.edges import Edges
from salience.retrieval.operations import FetchColumns, LinksBetween
from salience.retrieval.plan import Plan, ask
from salience.retrieval.query import Query


@dataclass(frozen=True, eq=False)
class _Activations:
    """Activations by row, ascending: their values, and where they come from.

    `hops` is the number of links it took, `via` the id of the memory that passed the activation on.
    """

    rows: Rows
    values: Floats
    hops: Floats
    via: Column

    @classmethod
    def none(cls) -> _Activations:
        return cls(np.empty(0, np.int64), np.empty(0), np.empty(0), np.empty(0, object))

    def take(self, index: NDArray[Any]) -> _Activations:
        return _Activations(self.rows[index], self.values[index], self.hops[index], self.via[index])

    def updated(self, others: _Activations) -> _Activations:
        """These, with others added or in the place of those of the same rows."""
        _, first = np.unique(np.append(others.rows, self.rows), return_index=True)
        return _Activations(
            np.append(others.rows, self.rows),
            np.append(others.values, self.values),
            np.append(others.hops, self.hops),
            np.append(others.via, self.via),
        ).take(first)

    def values_at(self, rows: Rows, missing: Floats) -> Floats:
        """The values of rows; those of `missing` for rows that are not here."""
        places, here = _places(self.rows, rows)
        values = missing.copy()
        values[here] = self.values[places[here]]
        return values


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
        none = np.full(len(order), None, dtype=object)
        seeded = _Activations(candidates.rows[order], seeds[order], np.zeros(len(order)), none)
        frontier, active = seeded, _Activations.none()  # activations better than the row's seed
        for hop in range(1, self.hops + 1):
            if not len(frontier.rows):
                break
            edges, columns = yield [
                LinksBetween(frontier.rows, query),
                FetchColumns(frontier.rows, ("id",)),
            ]
            arrivals = self._arrivals(frontier, columns["id"], Edges.of(edges), hop)
            # An activation that is no better by a longer way cannot be better further on.
            missing = seeded.values_at(arrivals.rows, np.zeros(len(arrivals.rows)))
            frontier = arrivals.take(arrivals.values > active.values_at(arrivals.rows, missing))
            active = active.updated(frontier)
        fresh = np.setdiff1d(active.rows, candidates.rows)
        if len(fresh):
            stored = tuple(sorted(n for n in {*candidates.columns, *wanted} if is_stored(n)))
            fetched = yield from ask(FetchColumns(fresh, stored))
            candidates = candidates.joined(Candidates(fresh, fetched))
            seeds = np.append(seeds, np.zeros(len(fresh)))
        return self._with_activations(candidates, seeds, active)

    def _arrivals(
        self, frontier: _Activations, ids: ColumnData, edges: Edges, hop: int
    ) -> _Activations:
        """The best activation that arrives at each neighbor of a frontier.

        Of equally good ones, that from the smallest id.
        """
        start, end, weight = edges.take(~np.isin(edges.type, self.silent)).both_ways()
        places, here = _places(frontier.rows, start)
        places, end = places[here], end[here]
        values = frontier.values[places] * weight[here] * self.decay
        carried = values > 0.0
        places, end, values = places[carried], end[carried], values[carried]
        senders = np.asarray(ids)
        by_id = sorted(range(len(senders)), key=lambda place: senders[place] or "")
        rank = np.empty(len(senders), dtype=np.int64)
        rank[by_id] = np.arange(len(senders))
        order = np.lexsort((rank[places], -values, end))
        rows, first = np.unique(end[order], return_index=True)
        best = order[first]
        return _Activations(
            rows, values[best], np.full(len(best), float(hop)), senders[places[best]]
        )

    def _with_activations(
        self, candidates: Candidates, seeds: Floats, active: _Activations
    ) -> Candidates:
        values = np.where(seeds > 0.0, seeds, np.nan)
        hops = np.where(seeds > 0.0, 0.0, np.nan)
        via = np.full(len(candidates), None, dtype=object)
        order = np.argsort(candidates.rows)
        places = order[np.searchsorted(candidates.rows, active.rows, sorter=order)]
        values[places], hops[places], via[places] = active.values, active.hops, active.via
        reasons = {f"{self.into}.hops": hops, f"{self.into}.via": via}
        return candidates.with_columns(**{self.into: values, **reasons})


def _places(rows: Rows, wanted: Rows) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """The places of rows among ascending ones, and True for each that is among them."""
    if not len(rows):
        return np.zeros(len(wanted), dtype=np.intp), np.zeros(len(wanted), dtype=bool)
    places = np.minimum(np.searchsorted(rows, wanted), len(rows) - 1)
    return places, rows[places] == wanted


def spread(seed: Signal, hops: int = 2, decay: float = 0.5) -> Spread:
    """Let activation spread from seeds over links."""
    return Spread(seed, hops, decay)
