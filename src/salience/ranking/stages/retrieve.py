"""Recall: the first stage, which fills the table with what routes find."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from salience.errors import InvalidInput
from salience.ranking.stages.stage import Depth, Stage, is_stored
from salience.retrieval.candidates import Candidates, Held, LazyRanks, Rows, union
from salience.retrieval.operations import (
    FetchColumns,
    MatchedTerms,
    Mentions,
    Op,
    Ranking,
    SearchRoute,
    TopKResult,
)
from salience.retrieval.operations import ScoreRows as ScoreOp
from salience.retrieval.plan import Plan
from salience.retrieval.query import Query
from salience.retrieval.routes import Lexical, MatchAll, Route, TimeWindow, Vector, check_depth

_MENTIONS = {f"mentions_{what}": what for what in ("named", "year", "month", "day")}


@dataclass(frozen=True)
class Retrieve(Stage):
    """The union of the first `depth` rows of each route (all rows for None).

    Writes `<route>.rank`, and on demand the exact `<route>.score` of every candidate, whichever
    route found it, `previous.<route>.score`, and for a lexical route `<route>.matched`, the weight
    of each of the query's terms that the memory holds, and `mentions_named`, `mentions_year`,
    `mentions_month` and `mentions_day`, whether the memory's words hold a name, or such a part of
    a date, that the question names. A store needs two round trips for it.

    Of all rows of the routes, only the best are read where one formula decides which are left and
    the store can tell them by it.
    """

    routes: tuple[Route, ...]
    depth: int | Depth | None = 200
    begins: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.depth, Depth):
            check_depth(self.depth)
        names = [route.name for route in self.routes]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InvalidInput("routes", f"{twice!r} occurs twice", "give each its own name")

    def routed(self) -> frozenset[str]:
        return frozenset(route.name for route in self.routes)

    def writes(self) -> frozenset[str]:
        return frozenset(_MENTIONS) | frozenset(
            name
            for route in self.routes
            for name in (
                f"{route.name}.rank",
                f"{route.name}.score",
                f"previous.{route.name}.score",
                *([f"{route.name}.matched"] if isinstance(route, Lexical) else []),
            )
        )

    def plan(
        self, query: Query, candidates: Candidates, wanted: frozenset[str]
    ) -> Plan[Candidates]:
        depth = self.depth.of(query) if isinstance(self.depth, Depth) else self.depth
        # Where nothing else is made of their ranks, all rows need not be sorted for the hits'.
        ordered = [depth is not None or f"{r.name}.rank" in wanted for r in self.routes]
        rankings = yield [
            SearchRoute(route, query, depth, sort)
            for route, sort in zip(self.routes, ordered, strict=True)
        ]
        rows, places = union([ranking.rows for ranking in rankings])
        columns = yield from self._columns(query, rows, wanted if all(ordered) else wanted | {"id"})
        named = Candidates(rows, {n: columns[n] for n in ("id", "namespace") if n in columns})
        for at, route in enumerate(self.routes):
            columns[f"{route.name}.rank"] = self._ranks(
                route, rankings[at], rows, places[at], None if ordered[at] else named
            )
            if isinstance(route, Vector) and route.min_similarity > -1.0:
                found = np.full(len(rows), np.nan)
                found[places[at]] = route.min_similarity
                columns[f"{route.name}.rank.min_similarity"] = found
        return Candidates(rows, columns)

    def everything(self) -> tuple[Route, ...]:
        return self.routes if self.depth is None else ()

    def begin(
        self, query: Query, wanted: frozenset[str], best: TopKResult | None
    ) -> Plan[Candidates]:
        if best is None:
            return (yield from self.plan(query, Candidates.empty(), wanted))
        columns = yield from self._columns(query, best.rows, wanted)
        columns.update({f"{name}.rank": ranks for name, ranks in best.ranks.items()})
        return Candidates(best.rows, columns, (best.read, best.of))

    def _columns(self, query: Query, rows: Rows, wanted: frozenset[str]) -> Plan[dict[str, Held]]:
        """What the store can be asked for among the columns wanted."""
        scored: dict[str, Op] = {}
        for route in self.routes:
            if f"{route.name}.score" in wanted:
                scored[f"{route.name}.score"] = ScoreOp(route, query, rows)
            if f"previous.{route.name}.score" in wanted:
                scored[f"previous.{route.name}.score"] = ScoreOp(route, query, rows, "previous")
            if isinstance(route, Lexical) and f"{route.name}.matched" in wanted:
                scored[f"{route.name}.matched"] = MatchedTerms(route, query, rows)
        unmentioned: dict[str, Held] = {}
        for name in _MENTIONS.keys() & wanted:
            wordings = query.reading.wordings.get(_MENTIONS[name])
            if wordings:
                scored[name] = Mentions(wordings, rows)
            else:  # nothing to ask a store
                unmentioned[name] = np.zeros(len(rows))
        if len(query.namespaces) > 1:
            wanted |= {"namespace"}  # sessions of two are not the same, whatever their names
        fetched, *scores = yield [FetchColumns(rows, _stored(wanted)), *scored.values()]
        return {**fetched, **dict(zip(scored, scores, strict=True)), **unmentioned}

    @staticmethod
    def _ranks(
        route: Route,
        ranking: Ranking,
        rows: Rows,
        places: NDArray[np.intp],
        named: Candidates | None,
    ) -> Held:
        """The ranks of a route by row: in the order that it came in, or by score and name."""
        found = np.full(len(rows), np.nan)
        if named is None:
            found[places] = np.arange(1, len(places) + 1)
            return found
        newest_first = isinstance(route, (MatchAll, TimeWindow))
        found[places] = ranking.rows if newest_first else ranking.scores
        return LazyRanks(found, named.names, np.arange(len(rows)))


@lru_cache(maxsize=256)
def _stored(wanted: frozenset[str]) -> tuple[str, ...]:
    """The columns among those wanted that the store has, in an order of their own.

    (Where ranks are not sorted out beforehand the id is wanted: of equally good rows the smaller
    id comes first.)
    """
    return tuple(sorted(name for name in wanted if is_stored(name)))


def retrieve(*routes: Route, depth: int | Depth | None = 200) -> Retrieve:
    """The union of the first `depth` rows of each route."""
    return Retrieve(routes, depth)
