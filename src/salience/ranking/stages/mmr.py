"""Maximal marginal relevance: the next best row that repeats no earlier pick."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.arithmetic import cosines
from salience.errors import InvalidInput, shown
from salience.lazily import dataclass, replace
from salience.ranking.explanation import figure
from salience.ranking.rejection import DroppedRow, WhyNot, below_min_score, value_at
from salience.ranking.stages.cutoff import ranked
from salience.ranking.stages.stage import Stage
from salience.retrieval.candidates import Candidates, Floats
from salience.retrieval.operations import FetchVectors
from salience.retrieval.plan import Plan, ask
from salience.retrieval.query import Query


@dataclass(frozen=True)
class Mmr(Stage):
    """mmr = balance * score - (1 - balance) * max redundancy with earlier picks.

    redundancy = max(cosine of the vectors named `vector`, tag_share * Jaccard of the tags), in
    [0, 1]; no vector or no tags count as 0. The first pick has the best score. A row whose
    redundancy is at least `duplicate` is picked only if nothing else is left, best score first.
    Equal values go by score, then id. With balance = 1 and no duplicates this sorts by score.

    Leaves the picks in their order, as many as the query wants (all with a token budget: the next
    is tried if one does not fit), with the reasons `mmr.score`, `mmr.redundancy` and `mmr.with`,
    the id of the pick that a row resembles most (None where it resembles none).

    Source: Carbonell and Goldstein, The use of MMR, diversity-based reranking, SIGIR 1998.
    """

    balance: float = 0.78
    duplicate: float = 0.94
    tag_share: float = 0.35
    vector: str = "content"

    def __post_init__(self) -> None:
        if not 0.0 <= self.balance <= 1.0:
            raise InvalidInput(
                "balance", f"is {shown(self.balance)}", "give a number between 0 and 1"
            )

    def reads(self) -> frozenset[str]:
        return frozenset({"score", "id", "tags"})

    def writes(self) -> frozenset[str]:
        return frozenset({"mmr.score", "mmr.redundancy", "mmr.with"})

    def plan(
        self, query: Query, candidates: Candidates, wanted: frozenset[str]
    ) -> Plan[Candidates]:
        order = ranked(query, candidates, None)
        vectors = np.nan_to_num((yield from ask(FetchVectors(order.rows, self.vector))))
        vectors = vectors.astype(np.float64)  # once, and not for each pick
        tags = [frozenset(tag.casefold() for tag in names or ()) for names in order["tags"]]
        count = len(order) if query.token_budget is not None else min(query.k, len(order))
        return self._picked(order, vectors, tags, count)

    def why_not(self, dropped: DroppedRow) -> Plan[WhyNot]:
        """The reason for one row: it is worth less than the last pick, or repeats a pick.

        Its value is what it would have as a pick in place of the last one.
        """
        too_low = below_min_score(dropped)
        if too_low is not None:
            return too_low
        after = dropped.after
        rows = np.append(after.rows[:-1], dropped.row)
        rivals = dropped.before.take(np.isin(dropped.before.rows, rows))
        table = yield from self.plan(replace(dropped.query, k=len(rows)), rivals, frozenset())
        value, redundancy = (
            value_at(table, f"mmr.{column}", dropped.row) for column in ("score", "redundancy")
        )
        twin, last = table["mmr.with"][table.position(dropped.row)], after["id"][-1]
        if redundancy >= self.duplicate:
            reason = f"it is a duplicate of {twin}: redundancy {figure(redundancy)}"
            return WhyNot(self.label(), reason, rival=str(twin), gap=redundancy - self.duplicate)
        theirs = float(after.floats("mmr.score")[-1])
        like = f", redundancy {figure(redundancy)} with {twin}" if twin is not None else ""
        reason = f"worth {figure(value)}{like}; the last pick, {last}, is worth {figure(theirs)}"
        return WhyNot(self.label(), reason, rival=last, gap=theirs - value)

    def _picked(
        self, order: Candidates, vectors: Floats, tags: list[frozenset[str]], count: int
    ) -> Candidates:
        """`count` picks of a table sorted by score; the first of equals wins."""
        relevance = order.floats("score")
        redundancy, nearest = np.zeros(len(order)), np.full(len(order), -1)
        picks: list[int] = []
        values: list[float] = []
        free = np.ones(len(order), dtype=bool)
        while len(picks) < count:
            value = self.balance * relevance - (1.0 - self.balance) * redundancy
            fresh = free & (redundancy < self.duplicate)
            if picks and fresh.any():
                pick = int(np.argmax(np.where(fresh, value, -np.inf)))
            else:
                pick = int(np.argmax(free))
            picks.append(pick)
            values.append(float(value[pick]))
            free[pick] = False
            with_pick = self._redundancy(pick, vectors, tags)
            nearer = free & (with_pick > redundancy)
            redundancy[nearer], nearest[nearer] = with_pick[nearer], pick
        places = np.array(picks, dtype=np.intp)
        return order.take(places).with_columns(
            **{
                "mmr.score": np.array(values, dtype=np.float64),
                "mmr.redundancy": redundancy[places],
                "mmr.with": _ids_at(order["id"], nearest[places]),
            }
        )

    def _redundancy(self, pick: int, vectors: Floats, tags: list[frozenset[str]]) -> Floats:
        """The redundancy of every candidate with one of them, shape (candidates,)."""
        cosine = np.maximum(cosines(vectors, vectors[pick]), 0.0)
        shared = np.array([len(tags[pick] & other) for other in tags], dtype=np.float64)
        either = np.array([len(tags[pick] | other) for other in tags], dtype=np.float64)
        jaccard = np.divide(shared, either, out=np.zeros(len(tags)), where=either > 0.0)
        return np.maximum(cosine, self.tag_share * jaccard)


def _ids_at(ids: NDArray[Any], places: NDArray[Any]) -> NDArray[Any]:
    """The ids at some places, None for a negative place."""
    chosen = np.full(len(places), None, dtype=object)
    chosen[:] = [ids[place] if place >= 0 else None for place in places.tolist()]
    return chosen


def mmr(balance: float = 0.78, duplicate: float = 0.94) -> Mmr:
    """Order by relevance against redundancy."""
    return Mmr(balance, duplicate)
