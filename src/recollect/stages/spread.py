"""Spreading activation: what matters to a query because of what it is linked to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from recollect.candidates import Candidates
from recollect.errors import InvalidInput
from recollect.expr import Evaluation, Signal
from recollect.ops import Edge, Fetch, Linked
from recollect.plan import Plan, ask
from recollect.query import Query
from recollect.stages.core import Stage, is_stored


@dataclass(frozen=True)
class Active:
    """How active a memory is, after how many hops, and the id of the memory it came by."""

    value: float
    hops: int = 0
    via: str | None = None


@dataclass(frozen=True)
class Spread(Stage):
    """activation = max over paths of at most `hops` links of seed * product(weight * decay).

    Links are followed in both directions, level by level from a frozen frontier, so that the order
    of visiting changes nothing; links of the `silent` types carry nothing. In [0, largest seed],
    as weights and `decay` are in [0, 1]. Memories that only links reach join the table; namespace
    and filters hold at every hop.

    Writes the column `into`, NaN where nothing arrives, with its reasons: `<into>.hops` (0 for a
    seed) and `<into>.via`, the id of the memory that it came by last (None for a seed; of equally
    good ones the fewest hops, then the smallest id).

    Source: Collins and Loftus, A spreading-activation theory of semantic processing, 1975.
    """

    seed: Signal
    hops: int = 2
    decay: float = 0.5
    silent: tuple[str, ...] = ("contradicts",)
    into: str = "activation"

    def __post_init__(self) -> None:
        if isinstance(self.hops, bool) or not isinstance(self.hops, int) or self.hops < 0:
            raise InvalidInput("hops", f"is {self.hops!r}", "give a whole number")
        if not 0.0 <= self.decay <= 1.0:
            raise InvalidInput("decay", f"is {self.decay!r}", "give a number between 0 and 1")

    def reads(self) -> frozenset[str]:
        return self.seed.inputs() | {"id"}

    def writes(self) -> frozenset[str]:
        return frozenset({self.into, f"{self.into}.via", f"{self.into}.hops"})

    def plan(
        self, query: Query, candidates: Candidates, wanted: frozenset[str]
    ) -> Plan[Candidates]:
        seeds = Evaluation(query, candidates).column(self.seed)
        pairs = zip(candidates.rows.tolist(), seeds.tolist(), strict=True)
        active = {row: Active(value) for row, value in pairs if value > 0.0}
        frontier = active.copy()
        for hop in range(1, self.hops + 1):
            if not frontier:
                break
            rows = np.array(sorted(frontier), dtype=np.int64)
            edges, names = yield [Linked(rows, query), Fetch(rows, ("id",))]
            ids = dict(zip(rows.tolist(), names["id"].tolist(), strict=True))
            reached = self._reached(frontier, edges, ids, hop)
            # What is no better by a longer way cannot be better further on.
            frontier = {
                row: found
                for row, found in reached.items()
                if row not in active or found.value > active[row].value
            }
            active.update(frontier)
        fresh = np.array(sorted(set(active) - set(candidates.rows.tolist())), dtype=np.int64)
        if len(fresh):
            stored = tuple(sorted(n for n in {*candidates.columns, *wanted} if is_stored(n)))
            columns = yield from ask(Fetch(fresh, stored))
            candidates = candidates.joined(Candidates(fresh, columns))
        return self._written(candidates, active)

    def _reached(
        self,
        frontier: Mapping[int, Active],
        edges: Sequence[Edge],
        ids: Mapping[int, str],
        hop: int,
    ) -> dict[int, Active]:
        """The best that arrives at each neighbour of the frontier."""
        best: dict[int, Active] = {}
        for source, target, weight, type in edges:
            if type in self.silent:
                continue
            for start, end in ((source, target), (target, source)):
                if start not in frontier or start == end:
                    continue
                found = Active(frontier[start].value * weight * self.decay, hop, ids[start])
                known = best.get(end)
                if found.value > 0.0 and (known is None or _order(found) < _order(known)):
                    best[end] = found
        return best

    def _written(self, candidates: Candidates, active: Mapping[int, Active]) -> Candidates:
        found = [active.get(row) for row in candidates.rows.tolist()]
        via = np.empty(len(found), dtype=object)
        via[:] = [None if each is None else each.via for each in found]
        return candidates.with_columns(
            **{
                self.into: np.array([np.nan if each is None else each.value for each in found]),
                f"{self.into}.hops": np.array(
                    [np.nan if each is None else float(each.hops) for each in found]
                ),
                f"{self.into}.via": via,
            }
        )


def _order(found: Active) -> tuple[float, str]:
    return -found.value, found.via or ""


def spread(seed: Signal, hops: int = 2, decay: float = 0.5) -> Spread:
    """Let activation spread from seeds over links."""
    return Spread(seed, hops, decay)
