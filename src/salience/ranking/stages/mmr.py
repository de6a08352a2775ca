"""Maximal marginal relevance: the next best that is not what was picked already."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.errors import InvalidInput, shown
from salience.ranking.stages.cutoff import ranked
from salience.ranking.stages.stage import Stage
from salience.retrieval.candidates import Candidates, Floats
from salience.retrieval.operations import FetchVectors
from salience.retrieval.plan import Plan, ask
from salience.retrieval.query import Query


@dataclass(frozen=True)
class Mmr(Stage):
    """mmr = balance * score - (1 - balance) * max redundancy with what was picked before.

    redundancy = max(cosine of the vectors named `vector`, tag_share * Jaccard of the tags), in
    [0, 1]; no vector or no tags count as 0. The first pick has the best score. One whose redundancy
    is at least `duplicate` is taken only if nothing else is left, best score first. Equal values
    go by score, then id; with balance = 1 and no duplicates it is sorting by score.

    Leaves the picks in their order, as many as are wanted (all with a token budget, so that the
    next can be tried), with the reasons `mmr.score`, `mmr.redundancy` and `mmr.with`, the id of
    the pick that it resembles most (None where it resembles none).

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
        best = ranked(query, candidates, None)
        vectors = np.nan_to_num((yield from ask(FetchVectors(best.rows, self.vector))))
        tags = [frozenset(tag.casefold() for tag in each or ()) for each in best["tags"]]
        count = len(best) if query.token_budget is not None else min(query.k, len(best))
        return self._picked(best, vectors, tags, count)

    def _picked(
        self, best: Candidates, vectors: Floats, tags: list[frozenset[str]], count: int
    ) -> Candidates:
        """`count` picks of a table sorted by score, so that the first of equals is taken."""
        relevance = best.floats("score")
        redundancy, alike = np.zeros(len(best)), np.full(len(best), -1)
        picks: list[int] = []
        values: list[float] = []
        left = np.ones(len(best), dtype=bool)
        while len(picks) < count:
            value = self.balance * relevance - (1.0 - self.balance) * redundancy
            fresh = left & (redundancy < self.duplicate)
            if picks and fresh.any():
                pick = int(np.argmax(np.where(fresh, value, -np.inf)))
            else:
                pick = int(np.argmax(left))
            picks.append(pick)
            values.append(float(value[pick]))
            left[pick] = False
            closer = self._redundancy(pick, vectors, tags)
            nearer = left & (closer > redundancy)
            redundancy[nearer], alike[nearer] = closer[nearer], pick
        order = np.array(picks, dtype=np.intp)
        return best.take(order).with_columns(
            **{
                "mmr.score": np.array(values, dtype=np.float64),
                "mmr.redundancy": redundancy[order],
                "mmr.with": _named(best["id"], alike[order]),
            }
        )

    def _redundancy(self, pick: int, vectors: Floats, tags: list[frozenset[str]]) -> Floats:
        """The redundancy of every candidate with one of them."""
        cosine = np.clip(np.vecdot(vectors, vectors[pick]).astype(np.float64), 0.0, 1.0)
        mine = tags[pick]
        shared = np.array([len(mine & other) for other in tags], dtype=np.float64)
        either = np.array([len(mine | other) for other in tags], dtype=np.float64)
        jaccard = np.divide(shared, either, out=np.zeros(len(tags)), where=either > 0.0)
        return np.maximum(cosine, self.tag_share * jaccard)


def _named(ids: NDArray[Any], places: NDArray[Any]) -> NDArray[Any]:
    found = np.full(len(places), None, dtype=object)
    found[:] = [ids[place] if place >= 0 else None for place in places.tolist()]
    return found


def mmr(balance: float = 0.78, duplicate: float = 0.94) -> Mmr:
    """Order by relevance against redundancy."""
    return Mmr(balance, duplicate)
