"""Retrieval: the first stage, which fills the table with the rows that routes find."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from salience.errors import InvalidInput
from salience.lazily import dataclass, replace
from salience.ranking.explanation import figure
from salience.ranking.rejection import DroppedRow, OnRoute, WhyNot
from salience.ranking.signals.vitality import DAY
from salience.ranking.stages.stage import Depth, Stage, depth_in_rows, is_stored
from salience.records.filters import STATED, Compare, Filter, all_of
from salience.retrieval.candidates import Candidates, LazyRanks
from salience.retrieval.operations import MENTIONS, Collect
from salience.retrieval.plan import Plan, ask
from salience.retrieval.query import Query
from salience.retrieval.routes import LABELS, Lexical, Route, check_depth

_TOLD_BEFORE = 14 * DAY  # the weeks in which a weekday means the one asked about: see `TellsOfDay`


@dataclass(frozen=True)
class Retrieve(Stage):
    """The union of the first `depth` rows of each route (all rows for None).

    With `sessions`, if there are chunks of chats among them (see `salience.write.chat`), as many
    whole sessions of each route follow behind its first rows, with the next ranks.

    Writes `<route>.rank`, and on demand:

    - `<route>.score` and `previous.<route>.score`: the exact score of every candidate, and of the
      turn before it, whichever route found it;
    - `<route>.matched` of a lexical route: the weight of each query term that the memory holds;
      `<route>.weights`: the weight of every query term, held or not;
    - `labels.matched`: the same of its entities and tags, if there is a lexical route;
    - `mentions_named`, `mentions_date`: 1 where the memory's words hold a name, or a date, that the
      question names, else 0;
    - `mentions_weekday`, `mentions_tomorrow`: 1 where they name a weekday of the time that it asks
      about, or "tomorrow", else 0;
    - `mentions_kind`: 1 where they hold something of the kind that it asks for, else 0;
    - `mentions_concern`: 1 where they hold a word for what bears on the topic of a request, as
      "allergic" does on food, else 0.

    This takes one round trip to the store.
    """

    routes: tuple[Route, ...]
    depth: int | Depth | None = 200
    sessions: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.depth, Depth):
            check_depth(self.depth)
        names = [route.name for route in self.routes]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InvalidInput("routes", f"{twice!r} occurs twice", "give each its own name")

    def searched_routes(self) -> tuple[Route, ...]:
        return self.routes

    def without_depth(self) -> Stage:
        return replace(self, depth=None)

    def writes(self) -> frozenset[str]:
        lexical = [route for route in self.routes if isinstance(route, Lexical)]
        matched = (*lexical, LABELS) if lexical else ()
        columns = {
            "rank": self.routes,
            "score": self.routes,
            "matched": matched,
            "weights": lexical,
        }
        return frozenset(MENTIONS).union(
            (f"{route.name}.{column}" for column, routes in columns.items() for route in routes),
            (f"previous.{route.name}.score" for route in self.routes),
        )

    def reasons(self) -> frozenset[str]:
        return frozenset()

    def plan(
        self, query: Query, candidates: Candidates, wanted: frozenset[str]
    ) -> Plan[Candidates]:
        depth, evidence = depth_in_rows(self.depth, query), wanted | query.evidence
        also = () if depth is None else _also_searched(query, wanted)
        stored = _stored(evidence)
        [table] = yield [Collect(query, self.routes, depth, stored, evidence, also, self.sessions)]
        return table

    def why_not(self, dropped: DroppedRow) -> Plan[WhyNot]:
        routes = yield from self._on_routes(dropped)
        ranked = [route for route in routes if route.rank is not None]
        if not ranked:
            return WhyNot(self.label(), "no route has any evidence for it", routes=routes)
        best = min(ranked, key=lambda route: (route.rank or 0) / (route.depth or 1))
        reason = f"{best.route} brings {best.depth}, and it is number {best.rank} there"
        if best.score is not None and best.cut is not None:
            reason += f" with {figure(best.score)}, the last one taken has {figure(best.cut)}"
        return WhyNot(self.label(), reason, routes=routes)

    def _on_routes(self, dropped: DroppedRow) -> Plan[tuple[OnRoute, ...]]:
        """The row's score and rank on each route."""
        query, table = dropped.query, dropped.all
        if table is None or table.position(dropped.row) is None:  # no route has evidence for it
            row = np.array([dropped.row], dtype=np.int64)
            scores = frozenset(f"{route.name}.score" for route in self.routes)
            table = yield from ask(Collect(query, self.routes, None, (), scores, rows=row))
        depth = depth_in_rows(self.depth, query)
        return tuple(_on_route(route.name, table, dropped.row, depth) for route in self.routes)


def _also_searched(query: Query, wanted: frozenset[str]) -> tuple[Filter, ...]:
    """The conditions that need a search of their own, for the columns that rank memories."""
    also: list[Filter] = []
    if query.reading.asked_times and "mentions_date" in wanted:
        start, end, _ = query.reading.asked_times[0]
        if end > query.now:  # what is to come was told before
            start -= _TOLD_BEFORE
        also.append(all_of(Compare("created_at", "gte", start), Compare("created_at", "lt", end)))
    if "query_asks_advice" in query.reading.features and "personal" in wanted:
        also.append(STATED)
    return tuple(also)


def _on_route(name: str, table: Candidates, row: int, depth: int | None) -> OnRoute:
    """The score and the rank of a row on a route, in a table of all that it finds."""
    scores, ranks = table.floats(f"{name}.score"), table.columns[f"{name}.rank"]
    place = table.position(row)
    score, rank = (math.nan, math.nan) if place is None else (scores[place], ranks[place])
    if isinstance(ranks, LazyRanks):
        cut = [] if depth is None else scores[ranks.places_of(depth)].tolist()
    else:
        cut = scores[ranks == depth].tolist()
    return OnRoute(
        name,
        float(score) if score == score else None,
        int(rank) if rank == rank else None,
        depth,
        cut[0] if cut else None,
    )


@lru_cache(maxsize=256)
def _stored(wanted: frozenset[str]) -> tuple[str, ...]:
    """The columns among those wanted that the store has, sorted."""
    return tuple(sorted(name for name in wanted if is_stored(name)))


def retrieve(*routes: Route, depth: int | Depth | None = 200, sessions: bool = False) -> Retrieve:
    """The union of the first `depth` rows of each route, and of as many whole `sessions`."""
    return Retrieve(routes, depth, sessions)
