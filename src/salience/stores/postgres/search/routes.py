"""The routes: what each finds in a namespace, and by what score.

Words are scored by the same code as everywhere (`salience.stores.index.words.inverted_index`), over
postings that are read for the terms asked about. Vectors are found by the server and compared
exactly here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from salience.errors import EmbedderMismatch, InvalidInput
from salience.language.analysis_types import QueryAnalysis, Term, Wording
from salience.language.tokens import term_id
from salience.records.fields import FIELDS, LEXICAL
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
from salience.stores.index.vector_index import EXACT_BELOW
from salience.stores.index.words.bm25 import WordScores
from salience.stores.index.words.inverted_index import MEASURES
from salience.stores.index.words.postings import Postings
from salience.stores.postgres.search.read_cache import SearchCache
from salience.stores.postgres.search.row_reader import RowReader
from salience.stores.postgres.search.snapshot import NamespaceSnapshot
from salience.stores.postgres.sql import postings as segments
from salience.stores.postgres.sql.filters import (
    compile_filter,
    parse_mask,
    row_condition,
    select_mask,
)
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
from salience.stores.postgres.sql.vectors import (
    embedder_fingerprint,
    exact_cosines,
    is_cut_among_ties,
    parse_cosines,
    select_cosines,
    select_nearest,
    select_within,
)
from salience.stores.postgres.wire.commands import Statement, Steps, set_local
from salience.stores.postgres.wire.types import float_array

USE_INDEXES = True
"""Whether indexes of vectors are used; without, all vectors are compared."""
_SIMILARITY_MARGIN = 1e-6  # more than pg_trgm's single precision can be off


class Routes:
    """Finds rows by route within one namespace."""

    def __init__(self, reader: RowReader) -> None:
        self._reader = reader

    def found(
        self,
        sight: SearchCache,
        known: NamespaceSnapshot,
        route: Route,
        query: Query,
        depth: int | None,
    ) -> Steps[tuple[Rows, Floats]]:
        """A superset of the best `depth` rows of a route, with exact scores."""
        if isinstance(route, Lexical):
            return self._lexical(sight, known, route, query, depth)
        if isinstance(route, Vector):
            return self._vector(sight, known, route, query, depth)
        if isinstance(route, (MatchAll, TimeWindow)):
            return self._scan(sight, known, route, query, depth)
        if isinstance(route, Trigram):
            return self._trigram(sight, known, route, query)
        return self._exact(sight, known, route, query)  # type: ignore[arg-type]

    # Words

    def _lexical(
        self,
        sight: SearchCache,
        known: NamespaceSnapshot,
        route: Lexical,
        query: Query,
        depth: int | None,
    ) -> Steps[tuple[Rows, Floats]]:
        name = known.namespace
        filtering = select_mask(name, query.where)
        found = yield from self.worded(sight, known, route, query, filtering)
        scores, answers = found
        size = len(scores.scores)
        allowed = parse_mask(query.where, answers, size)
        dense = scores.scores
        keep = dense > 0.0
        if allowed is not None:
            keep &= allowed
        ordinals = np.flatnonzero(keep)
        best = dense[ordinals]
        if depth is not None and len(best) > depth:
            bound = np.partition(best, len(best) - depth)[len(best) - depth]
            ordinals, best = ordinals[best >= bound], best[best >= bound]
        return self._reader.numbers.rows(name, ordinals + 1), best

    def worded(
        self,
        sight: SearchCache,
        known: NamespaceSnapshot,
        route: Lexical,
        query: Query,
        besides: Sequence[Statement] = (),
    ) -> Steps[tuple[WordScores, list[Any]]]:
        """The score of every memory; what is asked besides comes with it."""
        reading = query.reading
        key = (known.namespace, (route, reading.terms, reading.phrases, reading.prefixes))
        if key in sight.scores and not besides:
            return sight.scores[key], []
        wanted = yield from self._expanded(sight, known, route, reading)
        asked = [*_ids(wanted), *chain.from_iterable(map(worded_ids, reading.wordings.values()))]
        fields = tuple(dict.fromkeys((*(f for f, _ in route.fields if f in LEXICAL), "content")))
        news = known.news()
        reads = segments.select_chunks(known.namespace, asked, fields)
        answers = yield [*news, reads, *besides]
        now = self.see(sight, known, answers[: len(news)])
        sight.segments[known.namespace] = held = segments.parse_chunks(answers[len(news)])
        if key not in sight.scores:
            scored = score(now, held, route, wanted)
            if route.operators and reading.phrases:
                scored = yield from self._saying(now, held, scored, route, reading)
            sight.scores[key] = scored
        return sight.scores[key], answers[len(news) + 1 :]

    def see(
        self, sight: SearchCache, known: NamespaceSnapshot, answers: Sequence[Any]
    ) -> NamespaceSnapshot:
        """The namespace as of the answers to its news."""
        now = sight.known.get(known.namespace)
        if now is None:
            now = sight.known[known.namespace] = known.advanced(answers)
        return now

    def _expanded(
        self, sight: SearchCache, known: NamespaceSnapshot, route: Lexical, reading: QueryAnalysis
    ) -> Steps[tuple[Term, ...]]:
        if not route.operators or not reading.prefixes:
            return reading.terms
        from salience.stores.postgres.search.prefix_phrase import expand_prefixes

        return (yield from expand_prefixes(known.namespace, reading))

    def _saying(
        self,
        known: NamespaceSnapshot,
        held: Any,
        scored: WordScores,
        route: Lexical,
        reading: QueryAnalysis,
    ) -> Steps[WordScores]:
        from salience.stores.postgres.search.prefix_phrase import keep_phrases

        return (yield from keep_phrases(known, held, scored, route, reading.phrases))

    # Meaning

    def _vector(
        self,
        sight: SearchCache,
        known: NamespaceSnapshot,
        route: Vector,
        query: Query,
        depth: int | None,
    ) -> Steps[tuple[Rows, Floats]]:
        asked = query.vector
        news = known.news()
        if (asked is None or not asked.any()) and depth is not None:  # none is nearer than another
            self.see(sight, known, (yield news))
            return np.empty(0, dtype=np.int64), np.empty(0)
        if asked is None:
            return (yield from self._holders(sight, known, route, query))
        check_comparable(known, route, query)
        if depth is None and known.tallies.get(("vector", route.vector), (0, 0))[0] > EXACT_BELOW:
            return (yield from self._all(sight, known, route, query))
        by_index = depth is not None and indexed(known, route)
        held = known.tallies.get(("vector", route.vector), (0, 0))[0] if by_index else None
        answers = yield [*news, *select_nearest(known.namespace, route, query, depth, held)]
        now = self.see(sight, known, answers[: len(news)])
        check_comparable(now, route, query)
        [[given, packed, apart]] = answers[-1]
        if depth is not None and apart is not None and is_cut_among_ties(float_array(apart), depth):
            near = float_array(apart)[depth - 1]
            [[[given, packed, _]]] = yield select_within(known.namespace, route, query, near)
        rows = self._reader.see_vectors(sight, known.namespace, route.vector, given, packed)
        scores = exact_cosines(sight.seen.vectors(route.vector, rows), asked)
        keep = scores >= route.min_similarity
        return rows[keep], scores[keep]

    def _all(
        self, sight: SearchCache, known: NamespaceSnapshot, route: Vector, query: Query
    ) -> Steps[tuple[Rows, Floats]]:
        """Every memory with the cosine that the server finds, within 1e-6.

        Up to EXACT_BELOW vectors are read instead, and compared to the bit as everywhere.
        """
        assert query.vector is not None
        news = known.news()
        answers = yield [*news, select_cosines(known.namespace, route, query)]
        now = self.see(sight, known, answers[: len(news)])
        check_comparable(now, route, query)
        rows, scores = parse_cosines(answers[-1])
        found = self._reader.numbers.rows(known.namespace, rows)
        sight.cosines[known.namespace, route.vector] = (found, scores)
        keep = scores >= route.min_similarity
        return found[keep], scores[keep]

    def _holders(
        self, sight: SearchCache, known: NamespaceSnapshot, route: Vector, query: Query
    ) -> Steps[tuple[Rows, Floats]]:
        """Every memory that has a vector, where there is none to compare it with."""
        kept, news = row_condition(query.where, "v"), known.news()
        answers = yield [
            *news,
            Statement(
                'SELECT array_agg(v."row") FROM vectors v WHERE v.namespace = %s AND v.name = %s'
                + kept.sql,
                (known.namespace, route.vector, *kept.parameters),
            ),
        ]
        self.see(sight, known, answers[: len(news)])
        [[rows]] = answers[-1]
        scores = np.zeros(0 if rows is None else len(rows))
        keep = scores >= route.min_similarity
        found = self._reader.numbers.rows(known.namespace, () if rows is None else rows)
        return found[keep], scores[keep]

    # Everything, and times

    def _scan(
        self,
        sight: SearchCache,
        known: NamespaceSnapshot,
        route: MatchAll | TimeWindow,
        query: Query,
        depth: int | None,
    ) -> Steps[tuple[Rows, Floats]]:
        condition = compile_filter(query.where, "m")
        clause, parameters = condition.sql, condition.parameters
        if isinstance(route, TimeWindow):
            time = query.reading.during
            if time is None:
                clause, parameters = "FALSE", ()
            else:
                clause += " AND m.created_at >= %s AND m.created_at < %s"
                parameters = (*parameters, time.start, time.end)
        limit = "" if depth is None else f" LIMIT {int(depth)}"
        news = known.news()
        answers = yield [
            *news,
            Statement(
                'SELECT array_agg("row") FROM (SELECT m."row" FROM memories m WHERE '
                f'm.namespace = %s AND {clause} ORDER BY m."row" DESC{limit}) AS found',
                (known.namespace, *parameters),
            ),
        ]
        self.see(sight, known, answers[: len(news)])
        [[rows]] = answers[-1]
        rows = np.empty(0, dtype=np.int64) if rows is None else rows
        found = self._reader.numbers.rows(known.namespace, rows)
        return found, np.full(len(found), float(isinstance(route, TimeWindow)))

    # Names

    def _trigram(
        self, sight: SearchCache, known: NamespaceSnapshot, route: Trigram, query: Query
    ) -> Steps[tuple[Rows, Floats]]:
        fields = text_fields(route.fields, "trigram.fields")
        texts = trigram_texts(query, route)
        conditions: list[str] = []
        parameters: list[Any] = []
        plain = all(text.isascii() for text in texts)
        for name in fields:
            if plain and name in FIELDS and FIELDS[name].type == "text":
                any_of = " OR ".join(
                    f"m.{name} %% %s::text"
                    if route.min_similarity > 0.0
                    else f"similarity(m.{name}, %s::text) > 0"
                    for _ in texts
                )
                conditions.append(f"{any_of} OR octet_length(m.{name}) <> char_length(m.{name})")
                parameters += texts
            else:
                there = has_value(name)
                conditions.append(there.sql)
                parameters += there.parameters
        kept = compile_filter(query.where, "m")
        news = known.news()
        least = max(0.0, route.min_similarity - _SIMILARITY_MARGIN)
        answers = yield [
            *news,
            set_local("pg_trgm.similarity_threshold", repr(least)),
            Statement(
                f'SELECT m."row", {", ".join(map(column_expression, fields))} FROM memories m '
                f"WHERE m.namespace = %s AND ({' OR '.join(conditions)}) AND {kept.sql}",
                (known.namespace, *parameters, *kept.parameters),
            ),
        ]
        self.see(sight, known, answers[: len(news)])
        rows = [row for row, *_ in answers[-1]]
        scores = trigram_scores(texts, [_values(fields, cells) for _, *cells in answers[-1]])
        least = route.min_similarity
        keep = scores >= least if least > 0.0 else scores > 0.0
        return self._reader.numbers.rows(known.namespace, rows)[keep], scores[keep]

    def _exact(
        self, sight: SearchCache, known: NamespaceSnapshot, route: ExactMatch, query: Query
    ) -> Steps[tuple[Rows, Floats]]:
        fields = text_fields(route.fields, "exact.fields")
        unkept = [has_value(name) for name in fields if name not in SPELLED_FIELDS]
        keys = [spelling_key(field, name) for name in exact_names(query) for field in fields]
        clauses = ["m.spellings && %s::text[]", *(each.sql for each in unkept)]
        parameters = [value for each in unkept for value in each.parameters]
        kept = compile_filter(query.where, "m")
        news = known.news()
        columns = "".join(f", {column_expression(name)}" for name in fields)
        answers = yield [
            *news,
            Statement(
                f'SELECT m."row"{columns} FROM memories m WHERE m.namespace = %s '
                f"AND ({' OR '.join(clauses)}) AND {kept.sql}",
                (known.namespace, keys, *parameters, *kept.parameters),
            ),
        ]
        self.see(sight, known, answers[: len(news)])
        rows = [row for row, *_ in answers[-1]]
        scores = exact_scores(query, [_values(fields, cells) for _, *cells in answers[-1]])
        return self._reader.numbers.rows(known.namespace, rows)[scores > 0.0], scores[scores > 0.0]


def _values(fields: Sequence[str], cells: Sequence[Any]) -> list[Any]:
    return [cell_value(name, cell) for name, cell in zip(fields, cells, strict=True)]


def _ids(terms: Iterable[Term]) -> list[int]:
    return [term_id(form) for term in terms for form in term]


def worded_ids(wordings: Iterable[Wording]) -> list[int]:
    """The terms of all words of some wordings."""
    return _ids(chain.from_iterable(wordings))


def postings(known: NamespaceSnapshot, held: Any) -> dict[str, Postings]:
    """The postings of every field as far as they were read, the newest words included."""
    return {
        name: segments.StoredPostings(
            (*held.get(name, ()), *known.tail.get(name, ())), known.columns[name]
        )
        for name in LEXICAL
    }


def score(
    known: NamespaceSnapshot, held: Any, route: Lexical, wanted: Sequence[Term]
) -> WordScores:
    """How relevant every memory of a namespace is."""
    read = postings(known, held)
    names = tuple(name for name, _ in route.fields if name in read)
    measure = MEASURES[route.measure]
    return measure(read, route, wanted, known.lengths(names), known.living, known.neighbours)


def check_comparable(known: NamespaceSnapshot, route: Vector, query: Query) -> None:
    """Refuse a query whose vector cannot be compared with those kept."""
    if query.vector is None:
        return
    given = len(query.vector)
    kept = known.vectors.get(route.vector, given)
    # Another process may have had them made anew since this one opened the store.
    asking = query.embedder if route.vector == "content" else None
    if asking is not None and known.renewed_by not in (0, embedder_fingerprint(asking)):
        raise EmbedderMismatch("another embedder", asking)
    if kept == given:
        return
    if route.vector == "content":
        raise EmbedderMismatch(f"{kept} dimensions", f"one of {given}; open it again")
    raise InvalidInput(
        f"vectors.{route.vector}",
        f"have {kept} dimensions, and the query's vector has {given}",
        "use the embedder that they come from",
    )


def indexed(known: NamespaceSnapshot, route: Vector) -> bool:
    """Whether there is an index over the vectors of a route."""
    return USE_INDEXES and known.tallies.get(("index", route.vector), (0, 0))[0] > 0
