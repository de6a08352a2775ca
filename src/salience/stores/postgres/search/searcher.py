"""What operations that only read are answered with, each as steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.language.speakers import named_speakers
from salience.language.tokens import stem, term_id
from salience.records.fields import FIELDS
from salience.retrieval import operations
from salience.retrieval.candidates import Floats, Rows, best_first
from salience.retrieval.operations import STAGED
from salience.retrieval.query import Query
from salience.retrieval.routes import ExactMatch, Lexical, MatchAll, TimeWindow, Trigram, Vector
from salience.stores.index.vector_index import VectorIndex
from salience.stores.index.words.inverted_index import mentions
from salience.stores.postgres.search.reads import StoreReader
from salience.stores.postgres.search.routes import check_comparable, indexed, postings, worded_ids
from salience.stores.postgres.search.row_reader import stored_names
from salience.stores.postgres.search.snapshot import NamespaceSnapshot
from salience.stores.postgres.sql import postings as segments
from salience.stores.postgres.sql import top_k
from salience.stores.postgres.sql.expressions import NotCompilable
from salience.stores.postgres.sql.filters import compile_filter
from salience.stores.postgres.sql.identifiers import (
    exact_scores,
    text_fields,
    trigram_scores,
    trigram_texts,
)
from salience.stores.postgres.sql.vectors import exact_cosines
from salience.stores.postgres.wire.commands import Statement, Steps, concurrently
from salience.stores.postgres.wire.types import half_bytes

_READ_AHEAD_ROWS = 64  # memories of which is read ahead what is around them
_RRF_K = 60.0  # as in reciprocal rank fusion
_SINGLE_COMPARISONS = 8  # vectors compared with all others one by one
_PAGE_VECTORS = 20_000  # vectors read at once to compare many with
_READ_AHEAD_MAX_ROWS = 1_500  # memories up to which all of the best are read ahead


class Searcher(StoreReader):
    """Answers operations within what one thread has in sight."""

    # Who and what there is

    def names(self, op: operations.FindSpeakers) -> Steps[operations.SpeakerMatches]:
        found = yield from concurrently(
            [self._names_of(namespace, op) for namespace in op.namespaces]
        )
        return operations.SpeakerMatches.together(found)

    def _names_of(
        self, namespace: str, op: operations.FindSpeakers
    ) -> Steps[operations.SpeakerMatches]:
        known = yield from self.people(namespace)
        names = known.people.by_word
        # A strange word matters only where it is like a name; then it is looked up.
        proper = set(op.words) & op.proper
        sure = named_speakers(op.words, names, set(), op.ordinary)
        like = set(named_speakers(op.words, names, proper, op.ordinary)) - set(sure)
        strange: set[str] = set()
        if like:
            strange = yield from self._unsaid(known, like)
        found = named_speakers(op.words, names, strange, op.ordinary) if strange else sure
        return operations.SpeakerMatches.among(known.people, found)

    def _unsaid(self, known: NamespaceSnapshot, words: set[str]) -> Steps[set[str]]:
        """Which words no memory says."""
        ids = {word: term_id(stem(word)) for word in words}
        said = known.said(set(ids.values()))
        left = set(ids.values()) - said
        if left and known.merged:
            [rows] = yield [segments.select_chunks(known.namespace, left, ("content",))]
            said |= known.said(left, segments.parse_chunks(rows).get("content", ()))
        return {word for word, id in ids.items() if id not in said}

    def vector_names(self, op: operations.VectorNames) -> Steps[frozenset[str] | None]:
        found: set[str] = set()
        living = 0
        for namespace in op.namespaces:
            known = self._spaces.settled(namespace)
            if known is None:
                known = yield from self.current(namespace)
            living += int(np.count_nonzero(known.living))
            found |= {name for name in known.vectors if not name.startswith(STAGED)}
        return frozenset(found) if living else None

    def dimensions(self, op: operations.Dimensions) -> Steps[dict[str, int]]:
        [rows] = yield [
            Statement(
                "SELECT name, size FROM tallies WHERE namespace = %s AND kind = 'vector' "
                "AND number > 0 AND name = ANY(%s::text[])",
                (op.namespace, list(op.names)),
            )
        ]
        return dict(rows)

    # Routes

    def searches(self, asked: Sequence[operations.SearchRoute]) -> Steps[list[operations.Ranking]]:
        """All routes of a search at once."""
        found = yield from concurrently([self._found(op) for op in asked])
        heads = [
            rows[_best_places(scores, op.depth)] if not _keeps_order(op) else rows[:0]
            for op, (rows, scores) in zip(asked, found, strict=True)
        ]
        tied = [
            _tied_places(scores, op.depth) for op, (_, scores) in zip(asked, found, strict=True)
        ]
        unknown = [
            rows[places]
            for op, (rows, _), places in zip(asked, found, tied, strict=True)
            if not _keeps_order(op)
        ]
        around = [op.query for op in asked if op.query.around][:1]
        if around or any(len(rows) for rows in unknown):
            best = _likely_hits(found) if around else np.empty(0, dtype=np.int64)
            looks = [self.look_around(query, best) for query in around]
            yield from concurrently([self._look_ahead(asked, heads, unknown), *looks])
        return [
            self._ranking(op, rows, scores) for op, (rows, scores) in zip(asked, found, strict=True)
        ]

    def best(self, op: operations.TopK) -> Steps[operations.TopKResult | None]:
        """The best of all rows by a formula, as far as the server can rank by it."""
        if len(op.query.namespaces) > 1:
            return None
        [namespace] = op.query.namespaces
        self._check_vectors(self.known(namespace), op)
        for way in (top_k.threshold_top_k, top_k.rank_all):
            try:
                steps = way(op, namespace)
            except NotCompilable:
                continue
            known, found = yield from concurrently([self.current(namespace), steps])
            if found is not None:
                self._check_vectors(known, op)
                rows = self._numbers.rows(namespace, found.rows)
                return replace(found, rows=rows, of=int(np.count_nonzero(known.living)))
        return None

    @staticmethod
    def _check_vectors(known: NamespaceSnapshot, op: operations.TopK) -> None:
        for route in op.routes:
            if isinstance(route, Vector):
                check_comparable(known, route, op.query)

    def _found(self, op: operations.SearchRoute) -> Steps[tuple[Rows, Floats]]:
        found = yield from concurrently(
            [
                self._routes.found(self._sight, self.known(namespace), op.route, op.query, op.depth)
                for namespace in op.query.namespaces
            ]
        )
        return (
            np.concatenate([rows for rows, _ in found]),
            np.concatenate([scores for _, scores in found]),
        )

    def _ranking(
        self, op: operations.SearchRoute, rows: Rows, scores: Floats
    ) -> operations.Ranking:
        if _keeps_order(op):
            if isinstance(op.route, (MatchAll, TimeWindow)):  # newest first, wherever it is
                newest = np.argsort(-rows, kind="stable")[: op.depth]
                rows, scores = rows[newest], scores[newest]
            return operations.Ranking(rows, scores)
        apart = len(op.query.namespaces) > 1
        order = best_first(scores, lambda at: self._ordered_by(rows[at], apart), op.depth)
        return operations.Ranking(rows[order], scores[order])

    def _ordered_by(self, rows: Rows, apart: bool) -> list[Any]:
        """What equally good rows are ordered by: their ids, and then their namespaces."""
        ids = [self._sight.seen.ids.get(row, "") for row in rows.tolist()]
        return list(zip(ids, self._numbers.names_by_row(rows), strict=True)) if apart else ids

    def _look_ahead(
        self, asked: Sequence[operations.SearchRoute], heads: Sequence[Rows], tied: Sequence[Rows]
    ) -> Steps[None]:
        """Read the ids of rows whose scores are equal, for they decide who is before whom.

        With them comes what will be asked about the best anyway, so that this costs no round trip.
        """
        best = np.unique(np.concatenate(heads))
        others = np.setdiff1d(np.concatenate([best[:0], *tied]), best)
        if len(best) > _READ_AHEAD_MAX_ROWS:
            best, others = best[:0], np.union1d(best, others)
        parts: list[Steps[Any]] = [
            self._reader.load(self._sight, best, (*FIELDS, "features")),
            self._reader.identified(self._sight, others),
        ]
        around = best
        if any(op.route.before for op in asked if isinstance(op.route, Lexical)):
            previous = self._reader.previous(self._sight, best)
            around = np.union1d(best, previous[previous >= 0])
            previous = np.setdiff1d(around, best, assume_unique=True)
            parts.append(self._reader.features(self._sight, previous))
        parts += [
            self._reader.vectors(self._sight, around, op.route.vector)
            for op in asked
            if isinstance(op.route, Vector) and op.query.vector is not None
        ]
        yield from concurrently(parts)

    def alike(self, op: operations.NearestVectors) -> Steps[list[tuple[int, float] | None]]:
        route = Vector(op.name, min_similarity=op.least)
        known = yield from self.current(op.namespace)
        if len(op.vectors) > _SINGLE_COMPARISONS and not indexed(known, route):
            return (yield from self._alike_of_all(op))
        answers = yield from concurrently(
            [
                self._routes.found(
                    self._sight,
                    self.known(op.namespace),
                    route,
                    Query("", (op.namespace,), 0.0, where=op.where, vector=vector),
                    1,
                )
                for vector in op.vectors
            ]
        )
        found: list[tuple[int, float] | None] = []
        for rows, scores in answers:
            best = min(zip((-scores).tolist(), rows.tolist(), strict=True), default=None)
            found.append(None if best is None else (best[1], -best[0]))
        return found

    def _alike_of_all(self, op: operations.NearestVectors) -> Steps[list[tuple[int, float] | None]]:
        """Compare many vectors with all, which are read once, page by page."""
        best: list[tuple[int, float] | None] = [None] * len(op.vectors)
        asked, after = np.stack(op.vectors), 0
        passing = compile_filter(op.where, "m")
        while True:
            [rows] = yield [
                Statement(
                    'SELECT v."row", v.vector FROM vectors v JOIN memories m ON m.namespace = '
                    'v.namespace AND m."row" = v."row" WHERE v.namespace = %s AND v.name = %s '
                    f'AND v."row" > %s AND vector_dims(v.vector) = %s AND {passing.sql} '
                    f'ORDER BY v."row" LIMIT {_PAGE_VECTORS}',
                    (op.namespace, op.name, after, asked.shape[1], *passing.parameters),
                )
            ]
            if not rows:
                return best
            after = rows[-1][0]
            page = VectorIndex(asked.shape[1])
            page.extend(0, [half_bytes(vector) for _, vector in rows])
            given = self._numbers.rows(op.namespace, [row for row, _ in rows]).tolist()
            for place, found in enumerate(page.most_alike(asked, op.least, None)):
                known = best[place]
                if found is not None and (known is None or found[1] > known[1]):
                    best[place] = (given[found[0]], found[1])

    def score(self, op: operations.ScoreRows) -> Steps[Floats]:
        found = np.full(len(op.rows), np.nan)
        for namespace, rows, places in self._numbers.parts(op.rows):
            if op.of == "previous":
                known = yield from self.current(namespace)
                rows = np.where(
                    rows <= known.counter, known.columns["previous"][_ordinals(rows, known)] + 1, 0
                )
            here = rows > 0
            scores = np.full(len(rows), np.nan)
            scores[here] = yield from self._scores(namespace, rows[here], op.route, op.query)
            found[places] = scores
        return found

    def _scores(self, namespace: str, rows: Rows, route: Any, query: Query) -> Steps[Floats]:
        """The exact scores of rows of a namespace on a route."""
        given = self._numbers.rows(namespace, rows)
        if isinstance(route, Lexical):
            scored, _ = yield from self._routes.worded(
                self._sight, self.known(namespace), route, query
            )
            known = self._sight.known[namespace]
            living = known.living[_ordinals(rows, known)]
            return np.where(living, scored.scores[_ordinals(rows, known)], np.nan)
        if isinstance(route, Vector):
            known = yield from self.current(namespace)
            if query.vector is None:
                return np.full(len(rows), np.nan)
            check_comparable(known, route, query)
            compared = self._sight.cosines.get((namespace, route.vector))
            if compared is not None and np.isin(given, compared[0]).all():
                return compared[1][np.searchsorted(compared[0], given)]
            yield from self._reader.vectors(self._sight, given, route.vector)
            return exact_cosines(self._sight.seen.vectors(route.vector, given), query.vector)
        names = self._names_read(route)
        yield from self._reader.load(self._sight, given, stored_names(names))
        there = self._sight.seen.there(given)
        columns = list(self._reader.columns(self._sight, given, names).values())
        scores = self._of_values(route, query, columns, len(rows))
        return np.where(there, scores, np.nan)

    def _names_read(self, route: Any) -> list[str]:
        if isinstance(route, Trigram):
            return text_fields(route.fields, "trigram.fields")
        if isinstance(route, ExactMatch):
            return text_fields(route.fields, "exact.fields")
        return ["created_at"] if isinstance(route, TimeWindow) else ["id"]

    def _of_values(
        self, route: Any, query: Query, columns: Sequence[NDArray[Any]], size: int
    ) -> Floats:
        if isinstance(route, Trigram):
            return trigram_scores(trigram_texts(query, route), list(zip(*columns, strict=True)))
        if isinstance(route, ExactMatch):
            return exact_scores(query, list(zip(*columns, strict=True)))
        time = query.reading.during
        if isinstance(route, TimeWindow) and time is not None:
            within = (columns[0] >= time.start) & (columns[0] < time.end)
            return within.astype(np.float64)
        return np.zeros(size)

    def matched(self, op: operations.MatchedTerms) -> Steps[Floats]:
        found = np.zeros((len(op.rows), len(op.query.reading.terms)))
        for namespace, rows, places in self._numbers.parts(op.rows):
            scored, _ = yield from self._routes.worded(
                self._sight, self.known(namespace), op.route, op.query
            )
            place = np.full(len(scored.scores) + 1, -1)
            place[_ordinals(rows, self._sight.known[namespace])] = places
            at = place[scored.found.ordinal]
            here = at >= 0
            terms = scored.found.term[here]
            found[at[here], terms] = scored.idf[terms]
        return found

    def mentions(self, op: operations.Mentions) -> Steps[Floats]:
        found = np.zeros(len(op.rows))
        for namespace, rows, places in self._numbers.parts(op.rows):
            known = yield from self.current(namespace)
            held = self._sight.segments.get(namespace)  # with the words of all wordings
            if held is None:
                [read] = yield [
                    segments.select_chunks(namespace, worded_ids(op.wordings), ("content",))
                ]
                held = segments.parse_chunks(read)
            content = postings(known, held)["content"]
            found[places] = mentions(content, op.wordings, _ordinals(rows, known), known.counter)
        return found


def _keeps_order(op: operations.SearchRoute) -> bool:
    """Whether what a route finds need not be put in order by score."""
    return isinstance(op.route, (MatchAll, TimeWindow)) or (op.depth is None and not op.ordered)


def _best_places(scores: Floats, depth: int | None) -> NDArray[np.intp]:
    """The places of the best `depth` and of those that are as good as the last of them."""
    if depth is None or depth >= len(scores):
        return np.arange(len(scores))
    least = np.partition(scores, len(scores) - depth)[len(scores) - depth]
    return np.flatnonzero(scores >= least)


def _likely_hits(found: Sequence[tuple[Rows, Floats]]) -> Rows:
    """The rows, ascending, that are likely to be returned: those with the best ranks together."""
    ordered = [rows[np.argsort(-scores, kind="stable")] for rows, scores in found]
    rows, where = np.unique(np.concatenate(ordered), return_inverse=True)
    ranks = np.concatenate([np.arange(len(each)) for each in ordered])
    merit = np.bincount(where, 1.0 / (_RRF_K + ranks), len(rows))
    return np.sort(rows[np.argsort(-merit, kind="stable")[:_READ_AHEAD_ROWS]])


def _tied_places(scores: Floats, depth: int | None) -> NDArray[np.intp]:
    """The places among the best whose score another one has, too."""
    head = _best_places(scores, depth)
    order = head[np.argsort(scores[head], kind="stable")]
    equal = np.zeros(len(order) + 1, dtype=bool)
    equal[1:-1] = scores[order[1:]] == scores[order[:-1]]
    return order[equal[1:] | equal[:-1]]


def _ordinals(rows: Rows, known: NamespaceSnapshot) -> NDArray[np.int64]:
    """The ordinals of rows; one that came after what is in sight is read as the last."""
    return np.minimum(rows, max(known.counter, 1)) - 1
