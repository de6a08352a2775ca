"""Spreading activation: memories that matter to a query because of their links to others."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.errors import InvalidInput, shown
from salience.lazily import dataclass
from salience.ranking.evaluation import Evaluation
from salience.ranking.expressions import Signal
from salience.ranking.stages.stage import Stage, is_stored
from salience.records.record import OPPOSING_LINKS
from salience.retrieval.candidates import Candidates, Column, ColumnData, Floats, Rows
from salience.retrieval.edges import Edges
from salience.retrieval.operations import FetchColumns, LinksBetween
from salience.retrieval.plan import Plan, ask
from salience.retrieval.query import Query

Gift = tuple[str | None, str | None, float]
"""The id of the memory that gives activation, the type of the link, and how much; None for a match
of its own.
"""


@dataclass(frozen=True, eq=False)
class _Activations:
    """Activations by row, ascending: their values, and where they come from.

    `hops` is the number of links on the way, `via` the id of the memory that passed the activation
    on, by a link of a `type`.
    """

    rows: Rows
    values: Floats
    hops: Floats
    via: Column
    type: Column

    @classmethod
    def seeded(cls, rows: Rows, values: Floats) -> _Activations:
        none = np.full(len(rows), None, dtype=object)
        return cls(rows, values, np.zeros(len(rows)), none, none)

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.rows, self.values, self.hops, self.via, self.type

    def take(self, index: NDArray[Any]) -> _Activations:
        return _Activations(*(column[index] for column in self.columns))

    def updated(self, others: _Activations) -> _Activations:
        """These with others added; others replace those of the same rows."""
        joined = map(np.append, others.columns, self.columns)
        _, first = np.unique(np.append(others.rows, self.rows), return_index=True)
        return _Activations(*joined).take(first)

    def values_at(self, rows: Rows) -> Floats:
        """The values of rows, 0 for one that is not here."""
        places, here = _places(self.rows, rows)
        values = np.zeros(len(rows))
        values[here] = self.values[places[here]]
        return values


@dataclass(frozen=True)
class Spread(Stage):
    """activation = max over paths of at most `hops` links of seed * product(weight * decay).

    Activation follows links in both directions, level by level from a frozen frontier: the order
    of visiting changes nothing. Links of the `silent` types carry nothing. It is in [0, largest
    seed], as weights and `decay` are in [0, 1]. Memories that only links reach join the table;
    namespace and filters hold at every hop.

    Writes the column `into`, NaN where nothing arrives, with its reasons: `<into>.hops` (0 for a
    seed) and `<into>.via`, the id of the last memory that passed it on (None for a seed; among
    equally good ones that with the fewest hops, then the smallest id).

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
        active = reduce(_Activations.updated, (yield from self._levels(query, candidates)))
        fresh = np.setdiff1d(active.rows, candidates.rows)
        if len(fresh):
            stored = tuple(sorted(n for n in {*candidates.columns, *wanted} if is_stored(n)))
            fetched = yield from ask(FetchColumns(fresh, stored))
            candidates = candidates.joined(Candidates(fresh, fetched))
        return self._with_activations(candidates, active)

    def gifts(self, query: Query, candidates: Candidates) -> Plan[dict[int, list[Gift]]]:
        """The gifts that add up to the activation of each row; of the table before this stage."""
        levels = yield from self._levels(query, candidates)
        gifts: dict[int, list[Gift]] = {}
        before: dict[int, float] = {}
        for level in levels:
            columns = (column.tolist() for column in (level.rows, level.via, level.type))
            for row, via, type, value in zip(*columns, level.values.tolist(), strict=True):
                gifts.setdefault(row, []).append((via, type, value - before.get(row, 0.0)))
                before[row] = value
        return gifts

    def _levels(self, query: Query, candidates: Candidates) -> Plan[list[_Activations]]:
        """The seeds, then for each hop what arrives that is better than what was there before."""
        seeds = np.nan_to_num(Evaluation(query, candidates).column(self.seed))
        order = np.argsort(candidates.rows)
        order = order[seeds[order] > 0.0]
        best = frontier = _Activations.seeded(candidates.rows[order], seeds[order])
        levels = [frontier]
        for hop in range(1, self.hops + 1):
            if not len(frontier.rows):
                break
            edges, columns = yield [
                LinksBetween(frontier.rows, query),
                FetchColumns(frontier.rows, ("id",)),
            ]
            arrivals = self._arrivals(frontier, columns["id"], Edges.of(edges), hop)
            # An activation that is no better by a longer way cannot be better further on.
            frontier = arrivals.take(arrivals.values > best.values_at(arrivals.rows))
            best = best.updated(frontier)
            levels.append(frontier)
        return levels

    def _arrivals(
        self, frontier: _Activations, ids: ColumnData, edges: Edges, hop: int
    ) -> _Activations:
        """The best activation that arrives at each neighbor of a frontier.

        Among equally good ones, the smallest id wins, then the first type of link.
        """
        start, end, weight, type = edges.take(~np.isin(edges.type, self.silent)).both_ways()
        places, here = _places(frontier.rows, start)
        places, end, type = places[here], end[here], type[here]
        values = frontier.values[places] * weight[here] * self.decay
        carried = values > 0.0
        places, end, values, type = places[carried], end[carried], values[carried], type[carried]
        senders = np.asarray(ids)
        by_id = sorted(range(len(senders)), key=lambda place: senders[place] or "")
        rank = np.empty(len(senders), dtype=np.int64)
        rank[by_id] = np.arange(len(senders))
        listed = type.tolist()
        type_rank = {name: at for at, name in enumerate(sorted(set(listed)))}
        by_type = np.array([type_rank[name] for name in listed], dtype=np.intp)
        order = np.lexsort((by_type, rank[places], -values, end))
        rows, first = np.unique(end[order], return_index=True)
        best = order[first]
        hops = np.full(len(best), float(hop))
        return _Activations(rows, values[best], hops, senders[places[best]], type[best])

    def _with_activations(self, candidates: Candidates, active: _Activations) -> Candidates:
        values, hops = np.full((2, len(candidates)), np.nan)
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
