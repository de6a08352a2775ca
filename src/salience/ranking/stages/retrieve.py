"""Retrieval: the first stage, which fills the table with the rows that routes find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from salience.errors import InvalidInput
from salience.ranking.explanation import figure
from salience.ranking.rejection import DroppedRow, OnRoute, WhyNot
from salience.ranking.stages.stage import Depth, Stage, depth_in_rows, is_stored
from salience.records.fields import CHAT_CHUNKS, SESSION_CHUNK
from salience.records.filters import STATED, Compare, Filter, all_of
from salience.retrieval.candidates import (
    Candidates,
    CategoricalColumn,
    ColumnData,
    LazyRanks,
    Rows,
    union,
)
from salience.retrieval.operations import (
    FetchColumns,
    Mentions,
    Op,
    Ranking,
    ScoreRows,
    SearchRoute,
    TermWeights,
)
from salience.retrieval.plan import Plan
from salience.retrieval.query import Query
from salience.retrieval.routes import Lexical, Route, check_depth

_LABELS = Lexical((("entities", 1.0), ("tags", 1.0)), name="labels")
_WORDING_OF = {
    f"mentions_{kind}": kind for kind in ("named", "date", "weekday", "tomorrow", "kind")
}
"""The wording of the query that each column of mentions looks for."""


@dataclass(frozen=True)
class Retrieve(Stage):
    """The union of the first `depth` rows of each route (all rows for None).

    With `sessions`, as many whole sessions of a route follow behind its first rows, and their ranks
    after these, if there are chunks of chats among them (see `salience.write.chat`).

    Writes `<route>.rank`, and on demand:

    - `<route>.score` and `previous.<route>.score`: the exact score of every candidate, and of the
      turn before it, whichever route found it;
    - `<route>.matched` of a lexical route: the weight of each of the query's terms that the memory
      holds; `<route>.weights`: the weight of all of them, whatever it holds;
    - `labels.matched`: the same of its entities and tags, if there is a lexical route;
    - `mentions_named`, `mentions_date`: 1 where the memory's words hold a name, or a date, that the
      question names, else 0;
    - `mentions_weekday`, `mentions_tomorrow`: 1 where they name a weekday of the time that it asks
      about, or "tomorrow", else 0;
    - `mentions_kind`: 1 where they hold something of the kind that it asks for, else 0.

    A store needs two round trips for it.
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
        lexical = self._lexical()
        matched = (*lexical, _LABELS) if lexical else ()
        columns = {
            "rank": self.routes,
            "score": self.routes,
            "matched": matched,
            "weights": lexical,
        }
        return frozenset(_WORDING_OF).union(
            (f"{route.name}.{column}" for column, routes in columns.items() for route in routes),
            (f"previous.{route.name}.score" for route in self.routes),
        )

    def reasons(self) -> frozenset[str]:
        return frozenset()

    def plan(
        self, query: Query, candidates: Candidates, wanted: frozenset[str]
    ) -> Plan[Candidates]:
        depth = depth_in_rows(self.depth, query)
        # Where only the hits' ranks are read, not all rows need to be sorted for them.
        ranked = wanted | query.evidence
        ordered = [depth is not None or f"{r.name}.rank" in ranked for r in self.routes]
        searches = [
            SearchRoute(route, query, depth, sort)
            for route, sort in zip(self.routes, ordered, strict=True)
        ]
        also = () if depth is None else _also_searched(query, wanted)
        for where in also:  # in the same round trip, whether it turns out to be needed or not
            searches += self._searches(query, depth, *where)
        answers = yield searches
        approximate = next((each.approximate for each in answers if each.approximate), "")
        rankings = answers[: len(self.routes)]
        for start in range(len(self.routes), len(answers), len(self.routes)):
            rankings = _joined(rankings, answers[start : start + len(self.routes)])
        wanted |= query.evidence  # of what the profile finds: it finds nothing more
        if not all(ordered):
            wanted |= {"id"}
        if self.sessions:
            wanted |= {"kind"}
        rows, places = union([ranking.rows for ranking in rankings])
        columns = yield from self._columns(query, rows, wanted)
        if self.sessions and depth is not None and _has_chat_chunks(rows, columns):
            sessions = Compare("kind", "eq", SESSION_CHUNK)
            more = yield self._searches(query, depth, sessions)
            rankings = _joined(rankings, more)
            rows, places = union([ranking.rows for ranking in rankings])
            columns = yield from self._columns(query, rows, wanted)
        keys = Candidates(rows, {n: columns[n] for n in ("id", "namespace") if n in columns})
        for at, route in enumerate(self.routes):
            columns[f"{route.name}.rank"] = _ranks(
                route, rankings[at], places[at], keys, ordered=ordered[at]
            )
            for note, value in route.rank_notes.items():
                noted = np.full(len(rows), np.nan)
                noted[places[at]] = value
                columns[f"{route.name}.rank.{note}"] = noted
        return Candidates(rows, columns, approximate=approximate)

    def _searches(self, query: Query, depth: int | None, *conditions: Filter) -> list[SearchRoute]:
        """A search by each route among the memories that meet conditions as well."""
        query = replace(query, where=all_of(query.where, *conditions))
        return [SearchRoute(route, query, depth) for route in self.routes]

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
        query, rows = dropped.query, np.array([dropped.row], dtype=np.int64)
        depth = depth_in_rows(self.depth, query)
        answers = yield [
            *(SearchRoute(route, query, None) for route in self.routes),
            *(ScoreRows(route, query, rows) for route in self.routes),
        ]
        rankings, scores = answers[: len(self.routes)], answers[len(self.routes) :]
        return tuple(
            _on_route(route.name, ranking, dropped.row, float(score[0]), depth)
            for route, ranking, score in zip(self.routes, rankings, scores, strict=True)
        )

    def _lexical(self) -> list[Lexical]:
        return [route for route in self.routes if isinstance(route, Lexical)]

    def _columns(
        self, query: Query, rows: Rows, wanted: frozenset[str]
    ) -> Plan[dict[str, ColumnData]]:
        """The columns among those wanted that the store can be asked for."""
        requests: dict[str, Op] = {}
        for route in self.routes:
            if f"{route.name}.score" in wanted:
                requests[f"{route.name}.score"] = ScoreRows(route, query, rows)
            if f"previous.{route.name}.score" in wanted:
                requests[f"previous.{route.name}.score"] = ScoreRows(route, query, rows, "previous")
        for words in (*self._lexical(), _LABELS):
            if f"{words.name}.matched" in wanted:
                requests[f"{words.name}.matched"] = TermWeights(words, query, rows, "matched")
            if f"{words.name}.weights" in wanted:
                requests[f"{words.name}.weights"] = TermWeights(words, query, rows)
        unmentioned: dict[str, ColumnData] = {}
        for name in [name for name in _WORDING_OF if name in wanted]:  # in the same order always
            wordings = query.reading.wordings.get(_WORDING_OF[name])
            if wordings:
                requests[name] = Mentions(wordings, rows)
            else:  # nothing to ask a store
                unmentioned[name] = np.zeros(len(rows))
        if len(query.namespaces) > 1:
            wanted |= {"namespace"}  # sessions of two are not the same, whatever their names
        fetched, *answers = yield [FetchColumns(rows, _stored(wanted)), *requests.values()]
        return {**fetched, **dict(zip(requests, answers, strict=True)), **unmentioned}


def _also_searched(query: Query, wanted: frozenset[str]) -> list[tuple[Filter, ...]]:
    """The conditions by which memories are searched apart, for the columns that rank them."""
    also: list[tuple[Filter, ...]] = []
    if query.reading.asked_times and "mentions_date" in wanted:
        start, end, _ = query.reading.asked_times[0]
        also.append((Compare("created_at", "gte", start), Compare("created_at", "lt", end)))
    if "query_asks_advice" in query.reading.features and "personal" in wanted:
        also.append((STATED,))
    return also


def _joined(rankings: Sequence[Ranking], more: Sequence[Ranking]) -> list[Ranking]:
    """Rankings, each with the rows that another one has besides behind its own."""
    joined = []
    for first, second in zip(rankings, more, strict=True):
        new = ~np.isin(second.rows, first.rows)
        rows = np.concatenate([first.rows, second.rows[new]])
        joined.append(Ranking(rows, np.concatenate([first.scores, second.scores[new]])))
    return joined


def _has_chat_chunks(rows: Rows, columns: dict[str, ColumnData]) -> bool:
    """Test whether some rows are of a chat that was stored as sessions and their turns."""
    kinds = columns["kind"]
    if isinstance(kinds, CategoricalColumn) and CHAT_CHUNKS.isdisjoint(kinds.distinct):
        return False  # no memory of the namespace is
    return not CHAT_CHUNKS.isdisjoint(Candidates(rows, columns)["kind"].tolist())


def _ranks(
    route: Route, ranking: Ranking, places: NDArray[np.intp], keys: Candidates, *, ordered: bool
) -> ColumnData:
    """The ranks of a route by row: in the order of the ranking, or by score and tie keys."""
    ranks = np.full(len(keys), np.nan)
    if ordered:
        ranks[places] = np.arange(1, len(places) + 1)
        return ranks
    ranks[places] = ranking.rows if route.newest_first else ranking.scores
    return LazyRanks(ranks, keys.tie_keys, np.arange(len(keys)))


def _on_route(name: str, ranking: Ranking, row: int, score: float, depth: int | None) -> OnRoute:
    places = np.flatnonzero(ranking.rows == row)
    rank = int(places[0]) + 1 if len(places) else None
    cut = float(ranking.scores[depth - 1]) if depth and len(ranking.rows) >= depth else None
    return OnRoute(name, score if score == score else None, rank, depth, cut)


@lru_cache(maxsize=256)
def _stored(wanted: frozenset[str]) -> tuple[str, ...]:
    """The columns among those wanted that the store has, sorted."""
    return tuple(sorted(name for name in wanted if is_stored(name)))


def retrieve(*routes: Route, depth: int | Depth | None = 200, sessions: bool = False) -> Retrieve:
    """The union of the first `depth` rows of each route, and of as many whole `sessions`."""
    return Retrieve(routes, depth, sessions)
