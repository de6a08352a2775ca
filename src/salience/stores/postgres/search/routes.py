"""Routes over a namespace on the server: one class for each class of routes.

`register` adds one for a route from outside the package. Where a score is an expression over one
memory, subclass `SqlSearch`, which needs one method; `m` is the memory:

    class ShortTexts(SqlSearch[MyRoute]):
        def score_expression(self, route, query):
            return SqlExpression("1.0 / length(m.content)")

    register(MyRoute, ShortTexts())
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from salience.errors import InvalidInput
from salience.records.fields import FIELDS
from salience.retrieval.candidates import Floats, Rows
from salience.retrieval.query import Query
from salience.retrieval.routes import (
    ExactMatch,
    Lexical,
    MatchAll,
    Route,
    TimeWindow,
    Trigram,
    Vector,
)
from salience.stores.postgres.search.route_search import R, RouteSearch, SearchContext
from salience.stores.postgres.search.row_reader import stored_names
from salience.stores.postgres.search.vector_search import VectorSearch
from salience.stores.postgres.search.word_search import LexicalSearch
from salience.stores.postgres.sql.expressions import SqlExpression
from salience.stores.postgres.sql.filters import Condition, compile_filter
from salience.stores.postgres.sql.identifiers import (
    SPELLED_FIELDS,
    cell_value,
    column_expression,
    exact_names,
    exact_scores,
    has_value,
    spelling_key,
    text_fields,
    trigram_scores,
    trigram_texts,
)
from salience.stores.postgres.wire.commands import Statement, Steps, set_local
from salience.stores.postgres.wire.types import IntegerArray

_SIMILARITY_MARGIN = 1e-6  # more than pg_trgm's single precision can be off


class SqlSearch(RouteSearch[R]):
    """A route whose score is an expression in SQL over a memory `m`; above a threshold is a hit."""

    @abstractmethod
    def score_expression(self, route: R, query: Query) -> SqlExpression:
        """The score of a memory `m`, NULL where it has none."""

    def min_score(self, route: R) -> float:
        """The least score of a candidate; at 0 a candidate has a score above it."""
        return 0.0

    def search(
        self, context: SearchContext, namespace: str, route: R, query: Query, depth: int | None
    ) -> Steps[tuple[Rows, Floats]]:
        """See `RouteSearch.search`."""
        score, where = self.score_expression(route, query), compile_filter(query.where, "m")
        least = self.min_score(route)
        order = 'm."row"' if route.newest_first else "scored.score"
        first = "" if depth is None else f" FETCH FIRST {int(depth)} ROWS WITH TIES"
        latest = context.snapshot(namespace)
        delta, hits = yield [
            latest.delta_query(),
            Statement(
                'SELECT m."row", scored.score FROM memories m CROSS JOIN LATERAL '
                f"(SELECT ({score.sql})::float8 AS score OFFSET 0) AS scored "
                f"WHERE m.namespace = %s AND {where.sql} "
                f"AND scored.score {'>=' if least > 0.0 else '>'} %s::float8 "
                f"ORDER BY {order} DESC{first}",
                (*score.parameters, namespace, *where.parameters, least),
            ),
        ]
        context.advance(latest, delta)
        rows = context.row_ids.encode(namespace, [row for row, _ in hits])
        return rows, np.array([score for _, score in hits], dtype=np.float64)

    def score(
        self, context: SearchContext, namespace: str, route: R, query: Query, rows: Rows
    ) -> Steps[Floats]:
        """See `RouteSearch.score`."""
        score = self.score_expression(route, query)
        [scored] = yield [
            Statement(
                f'SELECT m."row", ({score.sql})::float8 FROM memories m '
                'WHERE m.namespace = %s AND m."row" = ANY(%s::integer[])',
                (*score.parameters, namespace, IntegerArray(rows)),
            )
        ]
        by_row = dict(scored)
        scores = [by_row.get(row) for row in rows.tolist()]
        return np.array([np.nan if each is None else each for each in scores], dtype=np.float64)


# Names


class _TextSearch(RouteSearch[R]):
    """A route that compares the texts of some fields, which are read for it."""

    @abstractmethod
    def fields(self, route: R) -> list[str]:
        """The fields, or keys of the metadata, that are compared."""

    @abstractmethod
    def selects(self, route: R, query: Query) -> tuple[list[Statement], Condition]:
        """Settings of the transaction, and a condition that no candidate `m` fails."""

    @abstractmethod
    def scores(self, route: R, query: Query, values: Sequence[Sequence[Any]]) -> Floats:
        """The scores of memories by the values of their fields."""

    def min_score(self, route: R) -> float:
        """The least score of a candidate; at 0 a candidate has a score above it."""
        return 0.0

    def search(
        self, context: SearchContext, namespace: str, route: R, query: Query, depth: int | None
    ) -> Steps[tuple[Rows, Floats]]:
        """See `RouteSearch.search`."""
        fields = self.fields(route)
        settings, condition = self.selects(route, query)
        where = compile_filter(query.where, "m")
        latest = context.snapshot(namespace)
        delta, *_, rows = yield [
            latest.delta_query(),
            *settings,
            Statement(
                f'SELECT m."row", {", ".join(map(column_expression, fields))} FROM memories m '
                f"WHERE m.namespace = %s AND ({condition.sql}) AND {where.sql}",
                (namespace, *condition.parameters, *where.parameters),
            ),
        ]
        context.advance(latest, delta)
        values = [
            [cell_value(name, cell) for name, cell in zip(fields, cells, strict=True)]
            for _, *cells in rows
        ]
        scores, least = self.scores(route, query, values), self.min_score(route)
        hits = scores >= least if least > 0.0 else scores > 0.0
        return context.row_ids.encode(namespace, [row for row, *_ in rows])[hits], scores[hits]

    def score(
        self, context: SearchContext, namespace: str, route: R, query: Query, rows: Rows
    ) -> Steps[Floats]:
        """See `RouteSearch.score`."""
        fields = self.fields(route)
        columns = yield from _stored_columns(context, namespace, rows, fields)
        exist, values = columns[0], list(zip(*columns[1:], strict=True))
        return np.where(exist, self.scores(route, query, values), np.nan)


class TrigramSearch(_TextSearch[Trigram]):
    """The best trigram similarity of the query, or of an entity in it, with some fields."""

    def fields(self, route: Trigram) -> list[str]:
        """See `_TextSearch.fields`."""
        return text_fields(route.fields, "trigram.fields")

    def min_score(self, route: Trigram) -> float:
        """See `_TextSearch.min_score`."""
        return route.min_similarity

    def scores(self, route: Trigram, query: Query, values: Sequence[Sequence[Any]]) -> Floats:
        """See `_TextSearch.scores`."""
        return trigram_scores(trigram_texts(query, route), values)

    def selects(self, route: Trigram, query: Query) -> tuple[list[Statement], Condition]:
        """See `_TextSearch.selects`; pg_trgm leaves out fewer memories than the exact score."""
        texts = trigram_texts(query, route)
        conditions: list[str] = []
        parameters: list[Any] = []
        is_ascii = all(text.isascii() for text in texts)
        for name in self.fields(route):
            if is_ascii and name in FIELDS and FIELDS[name].type == "text":
                any_similar = " OR ".join(
                    f"m.{name} %% %s::text"
                    if route.min_similarity > 0.0
                    else f"similarity(m.{name}, %s::text) > 0"
                    for _ in texts
                )
                not_ascii = f"octet_length(m.{name}) <> char_length(m.{name})"
                conditions.append(f"{any_similar} OR {not_ascii}")
                parameters += texts
            else:
                condition = has_value(name)
                conditions.append(condition.sql)
                parameters += condition.parameters
        least = max(0.0, route.min_similarity - _SIMILARITY_MARGIN)
        settings = [set_local("pg_trgm.similarity_threshold", repr(least))]
        return settings, Condition(" OR ".join(conditions), tuple(parameters))


class ExactMatchSearch(_TextSearch[ExactMatch]):
    """1 for a memory with a field that is what the query is or names."""

    def fields(self, route: ExactMatch) -> list[str]:
        """See `_TextSearch.fields`."""
        return text_fields(route.fields, "exact.fields")

    def scores(self, route: ExactMatch, query: Query, values: Sequence[Sequence[Any]]) -> Floats:
        """See `_TextSearch.scores`."""
        return exact_scores(query, values)

    def selects(self, route: ExactMatch, query: Query) -> tuple[list[Statement], Condition]:
        """See `_TextSearch.selects`."""
        fields = self.fields(route)
        others = [has_value(name) for name in fields if name not in SPELLED_FIELDS]
        keys = [spelling_key(field, name) for name in exact_names(query) for field in fields]
        clauses = ["m.spellings && %s::text[]", *(each.sql for each in others)]
        parameters = (value for each in others for value in each.parameters)
        return [], Condition(" OR ".join(clauses), (keys, *parameters))


# Everything, and times


class _ScanSearch(RouteSearch[R]):
    """The newest memories that meet a condition; all have one score."""

    hit_score = 0.0

    def condition(self, query: Query) -> Condition:
        """The condition on memories `m`."""
        return Condition("TRUE")

    def search(
        self, context: SearchContext, namespace: str, route: R, query: Query, depth: int | None
    ) -> Steps[tuple[Rows, Floats]]:
        """See `RouteSearch.search`."""
        where, condition = compile_filter(query.where, "m"), self.condition(query)
        limit = "" if depth is None else f" LIMIT {int(depth)}"
        latest = context.snapshot(namespace)
        delta, [[numbers]] = yield [
            latest.delta_query(),
            Statement(
                'SELECT array_agg("row") FROM (SELECT m."row" FROM memories m WHERE '
                f"m.namespace = %s AND {where.sql} AND {condition.sql} "
                f'ORDER BY m."row" DESC{limit}) AS newest',
                (namespace, *where.parameters, *condition.parameters),
            ),
        ]
        context.advance(latest, delta)
        rows = context.row_ids.encode(namespace, () if numbers is None else numbers)
        return rows, np.full(len(rows), self.hit_score)


class MatchAllSearch(_ScanSearch[MatchAll]):
    """Every memory, with a score of 0."""

    def score(
        self, context: SearchContext, namespace: str, route: MatchAll, query: Query, rows: Rows
    ) -> Steps[Floats]:
        """See `RouteSearch.score`."""
        [exist] = yield from _stored_columns(context, namespace, rows, ())
        return np.where(exist, 0.0, np.nan)


class TimeWindowSearch(_ScanSearch[TimeWindow]):
    """Every memory from the time that the query names, with a score of 1."""

    hit_score = 1.0

    def condition(self, query: Query) -> Condition:
        """See `_ScanSearch.condition`."""
        time = query.reading.during
        if time is None:
            return Condition("FALSE")
        return Condition("m.created_at >= %s AND m.created_at < %s", (time.start, time.end))

    def score(
        self, context: SearchContext, namespace: str, route: TimeWindow, query: Query, rows: Rows
    ) -> Steps[Floats]:
        """See `RouteSearch.score`."""
        exist, created = yield from _stored_columns(context, namespace, rows, ("created_at",))
        time = query.reading.during
        if time is None:
            return np.where(exist, 0.0, np.nan)
        return np.where(exist, (created >= time.start) & (created < time.end), np.nan)


def _stored_columns(
    context: SearchContext, namespace: str, rows: Rows, names: Sequence[str]
) -> Steps[list[Any]]:
    """True for the rows that have a memory, and columns of all."""
    ids = context.row_ids.encode(namespace, rows)
    yield from context.reader.load(ids, stored_names(names) | {"id"})
    return [context.cache.rows.exist(ids), *context.reader.columns(ids, names).values()]


_SEARCHES: dict[type[Route], RouteSearch[Any]] = {
    ExactMatch: ExactMatchSearch(),
    Lexical: LexicalSearch(),
    MatchAll: MatchAllSearch(),
    TimeWindow: TimeWindowSearch(),
    Trigram: TrigramSearch(),
    Vector: VectorSearch(),
}


def register(route_class: type[R], search: RouteSearch[R]) -> None:
    """Answer routes of a class, and of its subclasses that have none of their own, by `search`."""
    _SEARCHES[route_class] = search


def is_searchable(route: Route) -> bool:
    """True if the server can search by a route."""
    return any(route_class in _SEARCHES for route_class in type(route).__mro__)


def route_search(route: Route) -> RouteSearch[Any]:
    """The search that answers a route.

    Raises:
        InvalidInput: none was registered for its class.
    """
    for route_class in type(route).__mro__:
        if route_class in _SEARCHES:
            return _SEARCHES[route_class]
    raise InvalidInput(
        "route",
        f"{type(route).__name__} has no SQL form, and the namespace is not held in this process",
        "register one with salience.stores.postgres.search.routes.register, set "
        "SALIENCE_POSTGRES_MEMORY_MB so that the namespace fits into memory, or use SQLite",
    )
