"""SQL of candidates: one statement with a part for each route of a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from salience.arithmetic import log1p
from salience.language.tokens import term_id
from salience.lazily import dataclass
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
from salience.stores.postgres.large.statistics import TERMS, term_key
from salience.stores.postgres.sql.columns import (
    SPELLED_FIELDS,
    exact_names,
    spelling_key,
    trigram_texts,
)
from salience.stores.postgres.sql.filters import Condition, compile_filter, row_condition
from salience.stores.postgres.sql.vectors import (
    NEGATIVE_INNER_PRODUCT,
    inline,
    of_length,
    split_halves,
)
from salience.stores.tables.commands import Statement, set_local

_ALL_ROWS = 1_000  # candidates of a route that is to bring all memories
_MARGIN = 1.5, 50  # a part brings half as many again as are wanted, and 50 more
_RARE_HITS = 20_000  # memories with the rarest terms of a query that are looked at
_MAX_EF_SEARCH = 1_000  # what pgvector allows
_LEAST_EF_SEARCH = 200  # candidates that its index keeps
_SIMILARITY_MARGIN = 1e-6  # more than pg_trgm's single precision can be off
_DISTANCE = NEGATIVE_INNER_PRODUCT.format(vector="v.vector")
_TURN = (
    '(SELECT turn."row" FROM memories turn WHERE turn.namespace = %s '
    "AND turn.session_id = m.session_id AND (turn.created_at, turn.sequence) {side} "
    "(m.created_at, m.sequence) ORDER BY turn.created_at {way}, turn.sequence {way} LIMIT 1)"
)
_BESIDE = (
    'UNION SELECT beside."row" FROM found JOIN memories m ON m.namespace = %s '
    f'AND m."row" = found."row" CROSS JOIN LATERAL ({_TURN.format(side="<", way="DESC")} '
    f"UNION ALL {_TURN.format(side='>', way='ASC')}) AS beside"
)
"""The turns right before and after those found, in their sessions."""
_ORDERS = (
    'm."row" DESC',
    "coalesce(m.importance, 0.5) DESC",
    "coalesce(m.last_accessed, m.created_at) DESC",
)
"""The orders of memories that have indexes."""


class Search(NamedTuple):
    """A search for the best `depth` memories of a route; None for all."""

    route: Route
    query: Query
    depth: int | None


@dataclass(frozen=True)
class Parts:
    """The parts of a statement, with all that they need to know about a namespace.

    `stored` are the stored names of the searched vectors by name, `indexed` those that have an
    index, `passages` the stored names of vectors of passages; `frequencies` the number of memories
    with each term of the query, among `living`, which have `mean` words.
    """

    namespace: str
    stored: Mapping[str, str]
    indexed: frozenset[str]
    passages: Sequence[str]
    frequencies: Mapping[int, int]
    living: int
    mean: float

    def settings(self, searches: Sequence[Search]) -> list[Statement]:
        """Settings of the transaction that searches by indexes."""
        rows = max((_rows(op) for op in searches), default=0)
        ef_search = min(_MAX_EF_SEARCH, max(2 * rows, _LEAST_EF_SEARCH))
        least = [op.route.min_similarity for op in searches if isinstance(op.route, Trigram)]
        similarity = max(0.0, min(least, default=0.3) - _SIMILARITY_MARGIN)
        return [
            set_local("enable_seqscan", "off"),
            set_local("hnsw.ef_search", str(ef_search)),
            set_local("hnsw.iterative_scan", "relaxed_order"),
            set_local("pg_trgm.similarity_threshold", repr(similarity)),
        ]

    def select(self, searches: Sequence[Search]) -> Statement:
        """Read the rows that some routes may find, and those beside them in their sessions."""
        parts = [part for op in searches for part in self._of(op)]
        union = " UNION ".join(f"({part.sql})" for part in parts) or 'SELECT 0 AS "row" WHERE FALSE'
        parameters = [value for part in parts for value in part.parameters]
        return Statement(
            f'WITH found AS MATERIALIZED ({union}) SELECT "row" FROM found {_BESIDE}',
            (*parameters, *(self.namespace,) * 3),
        )

    def _of(self, op: Search) -> list[Condition]:
        route, query, rows = op.route, op.query, _rows(op)
        if isinstance(route, Lexical):
            return self._by_words(route, query, rows)
        if isinstance(route, Vector):
            return self._by_vector(route, query, rows)
        if isinstance(route, Trigram):
            texts = tuple(trigram_texts(query, route))
            similar = " OR ".join("m.title %% %s::text" for _ in texts)
            return [
                self._memories(query, Condition(f"({similar})", texts), rows),
                *self._spelled(query, route.fields, rows),
            ]
        if isinstance(route, ExactMatch):
            return self._spelled(query, route.fields, rows)
        if isinstance(route, TimeWindow):
            during = query.reading.during
            if during is None:
                return []
            within = Condition(
                "m.created_at >= %s AND m.created_at < %s", (during.start, during.end)
            )
            return [self._memories(query, within, rows)]
        everything = Condition("TRUE")
        orders = _ORDERS if op.depth is None or not isinstance(route, MatchAll) else _ORDERS[:1]
        return [self._memories(query, everything, rows // len(orders), by) for by in orders]

    def _memories(
        self, query: Query, condition: Condition, rows: int, order: str = _ORDERS[0]
    ) -> Condition:
        where = compile_filter(query.where, "m")
        return Condition(
            f'SELECT m."row" FROM memories m WHERE m.namespace = %s AND {condition.sql} '
            f"AND {where.sql} ORDER BY {order} LIMIT {rows}",
            (self.namespace, *condition.parameters, *where.parameters),
        )

    def _spelled(self, query: Query, fields: Sequence[str], rows: int) -> list[Condition]:
        keys = [
            spelling_key(field, name)
            for name in exact_names(query)
            for field in fields
            if field in SPELLED_FIELDS
        ]
        condition = Condition("m.spellings && %s::text[]", (keys,))
        return [self._memories(query, condition, rows)] if keys else []

    def _by_words(self, route: Lexical, query: Query, rows: int) -> list[Condition]:
        """The memories with the rarest terms, by the weights of these and by length."""
        terms = sorted(
            (min(self.living, sum(self.frequencies.get(term_id(f), 0) for f in term)), term)
            for term in query.reading.terms
        )
        weights: dict[str, float] = {}
        hits = 0
        for number, term in terms:
            if number and hits < _RARE_HITS:
                hits += number
                weight = log1p((self.living - number + 0.5) / (number + 0.5))
                weights.update((term_key(term_id(form)), weight) for form in term)
        if not weights:
            return []
        where = row_condition(query.where, "w")
        norm = f"{route.k1} * ({1.0 - route.b} + {route.b} * own.size / {max(self.mean, 1.0)!r})"
        return [
            Condition(
                'SELECT own."row" FROM unnest(%s::text[], %s::float8[]) AS asked (term, weight) '
                'CROSS JOIN LATERAL (SELECT w."row", octet_length(w.content) / 8 AS size '
                f"FROM words w WHERE w.namespace = {inline(self.namespace)} "
                f"AND {TERMS} && ARRAY[asked.term]{where.sql} LIMIT {2 * _RARE_HITS}) AS own "
                f'GROUP BY own."row" ORDER BY sum(asked.weight / (1 + {norm})) DESC LIMIT {rows}',
                (list(weights), list(weights.values()), *where.parameters),
            )
        ]

    def _by_vector(self, route: Vector, query: Query, rows: int) -> list[Condition]:
        if query.vector is None or not query.vector.any() or route.vector not in self.stored:
            return []
        where, stored, size = (
            row_condition(query.where, "v"),
            self.stored[route.vector],
            len(query.vector),
        )
        of = f"v.namespace = {inline(self.namespace)}"
        parts = []
        if stored in self.indexed:
            parts.append(
                Condition(
                    f'SELECT v."row" FROM vectors v WHERE {of} AND v.name = {inline(stored)} '
                    f"AND {of_length(query.vector)}{where.sql} "
                    f"ORDER BY v.vector::halfvec({size}) <#> %s::halfvec({size}) LIMIT {rows}",
                    (*where.parameters, query.vector),
                )
            )
        else:
            parts.append(self._all_vectors([stored], query, rows, where))
        if route.passages and self.passages:
            parts.append(self._all_vectors(self.passages, query, rows, where))
        return parts

    def _all_vectors(
        self, names: Sequence[str], query: Query, rows: int, where: Condition
    ) -> Condition:
        assert query.vector is not None
        return Condition(
            'SELECT v."row" FROM vectors v WHERE v.namespace = %s AND v.name = ANY(%s::text[])'
            f' AND {of_length(query.vector)}{where.sql} GROUP BY v."row" '
            f"ORDER BY min({_DISTANCE}) LIMIT {rows}",
            (self.namespace, list(names), *where.parameters, *split_halves(query.vector)),
        )


def _rows(op: Search) -> int:
    """The number of rows that a part returns."""
    per_row, more = _MARGIN
    return _ALL_ROWS if op.depth is None else min(_ALL_ROWS, int(op.depth * per_row) + more)
