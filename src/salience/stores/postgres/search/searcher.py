"""One search on the server: speakers, the rankings of routes, server-side top-k, exact scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.errors import EmbedderMismatch
from salience.language.speakers import named_speakers
from salience.language.tokens import stem, term_id, term_ids_once
from salience.records.fields import FIELDS
from salience.retrieval import operations
from salience.retrieval.candidates import Floats, Rows, best_first
from salience.retrieval.query import Query
from salience.retrieval.routes import Lexical, Route, Vector
from salience.retrieval.vector_sets import VectorSets
from salience.stores import codec
from salience.stores.index.vector_index import VectorIndex
from salience.stores.index.words.bm25 import holders
from salience.stores.index.words.inverted_index import mentions
from salience.stores.index.words.passages import passage_scores
from salience.stores.postgres.search.reads import StoreReader
from salience.stores.postgres.search.routes import is_searchable, route_search
from salience.stores.postgres.search.snapshot import NamespaceSnapshot
from salience.stores.postgres.search.vector_search import VectorSearch
from salience.stores.postgres.search.word_search import read_passages, word_scores, wording_ids
from salience.stores.postgres.sql import threshold, top_k
from salience.stores.postgres.sql.expressions import NotCompilable
from salience.stores.postgres.sql.filters import compile_filter
from salience.stores.postgres.sql.identifiers import spelling_key
from salience.stores.postgres.sql.postings import (
    parse_chunks,
    select_chunks,
    select_chunks_held,
)
from salience.stores.postgres.wire.commands import Statement, Steps, concurrently
from salience.stores.postgres.wire.types import half_bytes

_READ_AHEAD_HITS = 64  # likely hits whose links and neighbors are read ahead
_RRF_K = 60.0  # of the reciprocal rank fusion that says how likely a hit is
_READ_AHEAD_MAX_ROWS = 1_500  # up to so many of the best rows, their values are read ahead
_SINGLE_COMPARISONS = 8  # up to so many vectors are compared with all others one by one
_PAGE_VECTORS = 20_000  # read at once to compare more with


class Searcher(StoreReader):
    """Answers to operations of a search."""

    # Speakers and vectors

    def find_speakers(self, op: operations.FindSpeakers) -> Steps[operations.SpeakerMatches]:
        """The speakers that the words of a query name."""
        matches = yield from concurrently(
            [self._find_speakers(namespace, op) for namespace in op.namespaces]
        )
        return operations.SpeakerMatches.merged(matches)

    def _find_speakers(
        self, namespace: str, op: operations.FindSpeakers
    ) -> Steps[operations.SpeakerMatches]:
        snapshot = yield from self._with_speakers(namespace)
        speakers = snapshot.speakers
        # A strange word matters only where it resembles a name; then it is looked up.
        proper = set(op.words) & op.proper
        named_if = partial(
            named_speakers,
            op.words,
            speakers.by_word,
            ordinary=op.ordinary,
            by_sound=op.by_sound,
        )
        sure = named_if(set())
        similar = set(named_if(proper)) - set(sure)
        strange: set[str] = set()
        if similar:
            strange = yield from self._unused_words(snapshot, similar)
        named = named_if(strange) if strange else sure
        return operations.SpeakerMatches.among(speakers, named, snapshot.living_count)

    def _unused_words(self, snapshot: NamespaceSnapshot, words: set[str]) -> Steps[set[str]]:
        """The words that no memory holds."""
        ids = {word: term_id(stem(word)) for word in words}
        in_use = snapshot.terms_in_use(set(ids.values()), snapshot.tail.get("content", ()))
        rest = set(ids.values()) - in_use
        if rest and snapshot.merged:
            [chunks] = yield [select_chunks(snapshot.namespace, rest, ("content",))]
            in_use |= snapshot.terms_in_use(rest, parse_chunks(chunks).get("content", ()))
        return {word for word, id in ids.items() if id not in in_use}

    def find_words(self, op: operations.FindWords) -> Steps[operations.NearWords]:
        """The words that no memory holds, and those near them."""
        asked = tuple(word for word in op.words if not op.knows(word))  # saves a round trip
        if not asked:
            return {}
        plan = operations.near_words(replace(op, words=asked))
        words = next(plan)
        while True:
            held = yield from concurrently(
                [self._holders(namespace, words, op.fields) for namespace in op.namespaces]
            )
            try:
                words = plan.send(operations.Holders.merged(held))
            except StopIteration as end:
                near: operations.NearWords = end.value
                return near

    def _holders(
        self, namespace: str, words: Sequence[str], fields: Sequence[str]
    ) -> Steps[list[operations.Holders]]:
        """The memories that hold each word in one of some fields."""
        ids = term_ids_once(words)
        latest = self._context.snapshot(namespace)
        delta, chunks = yield [
            latest.delta_query(),
            select_chunks_held(namespace, ids.tolist(), fields),
        ]
        snapshot = self._context.advance(latest, delta)
        postings = snapshot.postings(parse_chunks(chunks))
        found = holders([postings[name] for name in fields], ids, snapshot.living)
        encode = self._row_ids.encode
        return [operations.Holders.of(encode(namespace, each + 1)) for each in found]

    def find_names(self, op: operations.FindNames) -> Steps[frozenset[str]]:
        """The names, of some, that memories have."""
        name_of = {
            spelling_key(field, variant): name
            for field in op.fields
            for name, variants in op.names.items()
            for variant in variants
        }
        [keys] = yield [
            Statement(
                "SELECT key FROM unnest(%s::text[]) AS key WHERE EXISTS (SELECT FROM memories m "
                "WHERE m.namespace = ANY(%s::text[]) AND m.spellings @> ARRAY[key])",
                (list(name_of), list(op.namespaces)),
            )
        ]
        return frozenset(name_of[key] for (key,) in keys)

    def vector_names(self, op: operations.VectorNames) -> Steps[frozenset[str] | None]:
        """The names of the vectors of namespaces, None where no memory lives."""
        names: set[str] = set()
        living = 0
        for namespace in op.namespaces:
            snapshot = self._snapshots.latest_since_write(namespace)
            if snapshot is None:
                snapshot = yield from self._context.current(namespace)
            living += snapshot.living_count
            names |= snapshot.dimensions.keys()
        return frozenset(names) if living else None

    def dimensions(self, op: operations.Dimensions) -> Steps[dict[str, int]]:
        """The dimensions of vectors by name."""
        snapshot = yield from self._context.current(op.namespace)
        dimensions = snapshot.dimensions
        return {name: dimensions[name] for name in op.names if name in dimensions}

    # Routes

    def search_routes(
        self, searches: Sequence[operations.SearchRoute]
    ) -> Steps[list[operations.Ranking]]:
        """All routes of a search at once."""
        hits = yield from concurrently([self._search_route(op) for op in searches])
        best = [
            rows[_best_places(scores, op.depth)] if not _keeps_order(op) else rows[:0]
            for op, (rows, scores) in zip(searches, hits, strict=True)
        ]
        ties = [
            rows[_tied_places(scores, op.depth)]
            for op, (rows, scores) in zip(searches, hits, strict=True)
            if not _keeps_order(op)
        ]
        query = next((op.query for op in searches if op.query.around), None)
        if query is not None or any(map(len, ties)):
            parts = [self._read_ahead(searches, best, ties)]
            if query is not None:
                parts.append(self.read_neighborhood(query, _likely_hits(hits)))
            yield from concurrently(parts)
        return [
            self._ranking(op, rows, scores)
            for op, (rows, scores) in zip(searches, hits, strict=True)
        ]

    def _search_route(self, op: operations.SearchRoute) -> Steps[tuple[Rows, Floats]]:
        search = route_search(op.route)
        parts = yield from concurrently(
            [
                search.search(self._context, namespace, op.route, op.query, op.depth)
                for namespace in op.query.namespaces
            ]
        )
        rows, scores = zip(*parts, strict=True)
        return np.concatenate(rows), np.concatenate(scores)

    def _ranking(
        self, op: operations.SearchRoute, rows: Rows, scores: Floats
    ) -> operations.Ranking:
        if _keeps_order(op):
            if op.route.newest_first:  # of all namespaces together
                newest = np.argsort(-rows, kind="stable")[: op.depth]
                rows, scores = rows[newest], scores[newest]
            return operations.Ranking(rows, scores)
        several = len(op.query.namespaces) > 1
        order = best_first(scores, lambda at: self._tie_keys(rows[at], several), op.depth)
        return operations.Ranking(rows[order], scores[order])

    def _tie_keys(self, rows: Rows, several_namespaces: bool) -> list[Any]:
        """The keys that order rows of equal score: their ids, and then their namespaces."""
        ids = [self._cache.rows.ids.get(row, "") for row in rows.tolist()]
        if not several_namespaces:
            return ids
        return list(zip(ids, self._row_ids.namespace_by_row(rows), strict=True))

    def _read_ahead(
        self,
        searches: Sequence[operations.SearchRoute],
        best: Sequence[Rows],
        ties: Sequence[Rows],
    ) -> Steps[None]:
        """Read the ids of rows of equal scores, for they decide the order.

        The ranking will likely ask about the best, and that costs no round trip if it comes along.
        """
        hits = np.unique(np.concatenate(best))
        others = np.setdiff1d(np.concatenate([hits[:0], *ties]), hits)
        if len(hits) > _READ_AHEAD_MAX_ROWS:
            hits, others = hits[:0], np.union1d(hits, others)
        parts = [
            self._reader.load(hits, (*FIELDS, "features")),
            self._reader.load_ids(others),
        ]
        rows = hits
        if any(route_search(op.route).reads_previous(op.route) for op in searches):
            previous = self._reader.previous_rows(hits)
            rows = np.union1d(hits, previous[previous >= 0])
            previous = np.setdiff1d(rows, hits, assume_unique=True)
            parts.append(self._reader.load_features(previous))
        for op in searches:
            ahead = route_search(op.route).read_ahead(self._context, op.route, op.query, rows)
            if ahead is not None:
                parts.append(ahead)
        yield from concurrently(parts)

    # The best by a formula

    def top_k(self, op: operations.TopK) -> Steps[operations.TopKResult | None]:
        """The best of all rows by a formula; None if the server cannot rank by it."""
        if len(op.query.namespaces) > 1 or not all(map(is_searchable, op.routes)):
            return None
        if any(isinstance(route, Lexical | Vector) and route.passages for route in op.routes):
            return None  # no formula in SQL has the best of several vectors
        [namespace] = op.query.namespaces
        latest = self._context.snapshot(namespace)
        self._check_routes(latest, op)
        stored = replace(op, routes=tuple(_stored(route, latest.sets) for route in op.routes))
        for algorithm in (threshold.threshold_top_k, top_k.rank_all):
            try:
                steps = algorithm(stored, namespace)
            except NotCompilable:
                continue
            snapshot, result = yield from concurrently([self._context.current(namespace), steps])
            if result is not None:
                self._check_routes(snapshot, op)
                if snapshot.sets.underscored != latest.sets.underscored:
                    return None  # another set is searched since
                rows = self._row_ids.encode(namespace, result.rows)
                return replace(result, rows=rows, of=snapshot.living_count)
        return None

    @staticmethod
    def _check_routes(snapshot: NamespaceSnapshot, op: operations.TopK) -> None:
        for route in op.routes:
            route_search(route).check(snapshot, route, op.query)

    # Exact scores of rows

    def score_rows(self, op: operations.ScoreRows) -> Steps[Floats]:
        """The scores of rows, or of the turns right before them, on a route."""
        search = route_search(op.route)
        all_scores = np.full(len(op.rows), np.nan)
        for namespace, rows, at in self._row_ids.by_namespace(op.rows):
            if op.of == "previous":
                snapshot = yield from self._context.current(namespace)
                rows = snapshot.place_column("previous", rows) + 1
            here = rows > 0
            scores = np.full(len(rows), np.nan)
            scores[here] = yield from search.score(
                self._context, namespace, op.route, op.query, rows[here]
            )
            all_scores[at] = scores
        return all_scores

    def matched_terms(self, op: operations.MatchedTerms) -> Steps[Floats]:
        """The weights of the terms that each row holds: shape (rows, terms)."""
        weights = np.zeros((len(op.rows), len(op.query.reading.terms)))
        for namespace, rows, at in self._row_ids.by_namespace(op.rows):
            scored, _ = yield from word_scores(self._context, namespace, op.route, op.query)
            row_of = np.full(len(scored.scores) + 1, -1)
            row_of[self._cache.snapshots[namespace].ordinals(rows)] = at
            hit_rows = row_of[scored.occurrences.ordinal]
            here = hit_rows >= 0
            terms = scored.occurrences.term[here]
            weights[hit_rows[here], terms] = scored.idf[terms]
        return weights

    def term_weights(self, op: operations.TermWeights) -> Steps[Floats]:
        """The weights of all terms in the namespace of each row: shape (rows, terms)."""
        weights = np.zeros((len(op.rows), len(op.query.reading.terms)))
        for namespace, _, at in self._row_ids.by_namespace(op.rows):
            scored, _ = yield from word_scores(self._context, namespace, op.route, op.query)
            weights[at] = scored.idf
        return weights

    def find_passages(
        self, op: operations.FindPassages
    ) -> Steps[list[tuple[operations.FoundPassage, ...]]]:
        """The passages of rows with their scores."""
        found: list[tuple[operations.FoundPassage, ...]] = [()] * len(op.rows)
        for namespace, rows, at in self._row_ids.by_namespace(op.rows):
            scored, _ = yield from word_scores(self._context, namespace, op.route, op.query)
            table = yield from read_passages(namespace, rows.tolist())
            if not len(table):
                continue
            ids = self._row_ids.encode(namespace, rows)
            yield from self._reader.load_passage_vectors(ids)
            table.extend_vectors(
                [
                    (row - 1, place, codec.encode_vector(vector))
                    for row, id in zip(rows.tolist(), ids.tolist(), strict=True)
                    for place, vector in self._cache.passage_vectors[id]
                ]
            )
            words = passage_scores(scored.idf, op.route, scored.terms, table)
            cosines = table.cosines(op.query.vector)
            for row, place in zip(rows.tolist(), at.tolist(), strict=True):
                found[place] = table.found(row - 1, words, cosines)
        return found

    def mentions(self, op: operations.Mentions) -> Steps[Floats]:
        """1 for each row whose content holds all words of a wording, else 0."""
        column = np.zeros(len(op.rows))
        for namespace, rows, at in self._row_ids.by_namespace(op.rows):
            snapshot = yield from self._context.current(namespace)
            segments = self._cache.segments.get(namespace)  # with the words of all wordings
            if segments is None:
                ids = wording_ids(op.wordings)
                [chunks] = yield [select_chunks(namespace, ids, ("content",))]
                segments = parse_chunks(chunks)
            content = snapshot.postings(segments)["content"]
            column[at] = mentions(content, op.wordings, snapshot.ordinals(rows), snapshot.counter)
        return column

    # Nearest vectors

    def nearest_vectors(
        self, op: operations.NearestVectors
    ) -> Steps[list[tuple[int, float] | None]]:
        """For each vector the row most similar to it, and the cosine."""
        route, search = Vector(op.name, min_similarity=op.least), VectorSearch()
        snapshot = yield from self._context.current(op.namespace)
        searched = snapshot.sets.searched
        if op.name == "content" and None not in (searched, op.embedder) and searched != op.embedder:
            raise EmbedderMismatch(str(searched), str(op.embedder))
        if len(op.vectors) > _SINGLE_COMPARISONS and not search.has_index(snapshot, route):
            return (yield from self._nearest_by_page(op))
        queries = [
            Query("", (op.namespace,), 0.0, where=op.where, vector=vector, embedder=op.embedder)
            for vector in op.vectors
        ]
        hits = yield from concurrently(
            [search.search(self._context, op.namespace, route, query, 1) for query in queries]
        )
        nearest: list[tuple[int, float] | None] = []
        for rows, scores in hits:
            best = min(zip((-scores).tolist(), rows.tolist(), strict=True), default=None)
            nearest.append(None if best is None else (best[1], -best[0]))
        return nearest

    def _nearest_by_page(
        self, op: operations.NearestVectors
    ) -> Steps[list[tuple[int, float] | None]]:
        """Compare many vectors with all, which are read once, page by page."""
        best: list[tuple[int, float] | None] = [None] * len(op.vectors)
        stored = self._context.stored_name(op.name)
        queries, after = np.stack(op.vectors), 0
        where = compile_filter(op.where, "m")
        while True:
            [rows] = yield [
                Statement(
                    'SELECT v."row", v.vector FROM vectors v JOIN memories m ON m.namespace = '
                    'v.namespace AND m."row" = v."row" WHERE v.namespace = %s AND v.name = %s '
                    f'AND v."row" > %s AND vector_dims(v.vector) = %s AND {where.sql} '
                    f'ORDER BY v."row" LIMIT {_PAGE_VECTORS}',
                    (op.namespace, stored, after, queries.shape[1], *where.parameters),
                )
            ]
            if not rows:
                return best
            after = rows[-1][0]
            page = VectorIndex(queries.shape[1])
            page.extend(0, [half_bytes(vector) for _, vector in rows])
            ids = self._row_ids.encode(op.namespace, [number for number, _ in rows]).tolist()
            for place, hit in enumerate(page.most_alike(queries, op.least, None)):
                before = best[place]
                if hit is not None and (before is None or hit[1] > before[1]):
                    best[place] = (ids[hit[0]], hit[1])


def _stored(route: Route, sets: VectorSets) -> Route:
    """A route over vectors by their stored name; any other as it is."""
    if not isinstance(route, Vector) or route.vector not in sets.underscored:
        return route
    return replace(route, vector=sets.stored_name(route.vector))


def _keeps_order(op: operations.SearchRoute) -> bool:
    """True if the hits of a route need not be ordered by score."""
    return op.route.newest_first or (op.depth is None and not op.ordered)


def _best_places(scores: Floats, depth: int | None) -> NDArray[np.intp]:
    """The places of the best `depth` scores, and of those equal to the last of them."""
    if depth is None or depth >= len(scores):
        return np.arange(len(scores))
    least = np.partition(scores, len(scores) - depth)[len(scores) - depth]
    return np.flatnonzero(scores >= least)


def _likely_hits(hits: Sequence[tuple[Rows, Floats]]) -> Rows:
    """The rows, ascending, that are likely to be returned, by reciprocal rank fusion."""
    ordered = [rows[np.argsort(-scores, kind="stable")] for rows, scores in hits]
    rows, where = np.unique(np.concatenate(ordered), return_inverse=True)
    ranks = np.concatenate([np.arange(len(each)) for each in ordered])
    likelihood = np.bincount(where, 1.0 / (_RRF_K + ranks), len(rows))
    return np.sort(rows[np.argsort(-likelihood, kind="stable")[:_READ_AHEAD_HITS]])


def _tied_places(scores: Floats, depth: int | None) -> NDArray[np.intp]:
    """The places among the best whose score another one has, too."""
    best = _best_places(scores, depth)
    order = best[np.argsort(scores[best], kind="stable")]
    equal = np.zeros(len(order) + 1, dtype=bool)
    equal[1:-1] = scores[order[1:]] == scores[order[:-1]]
    return order[equal[1:] | equal[:-1]]
