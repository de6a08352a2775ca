"""The index of one namespace: what its routes find, and by what score."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.errors import EmbedderMismatch, InvalidInput
from salience.language.analysis_types import Wording
from salience.language.features import FEATURES
from salience.records.fields import GRAPH
from salience.records.filters import Filter
from salience.retrieval.candidates import CategoricalColumn, Floats, Held, Rows, best_first
from salience.retrieval.candidates import Column as Values
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
from salience.stores.index.bm25 import WordScores
from salience.stores.index.columns import CodedColumn, NumberColumn, TimesColumn, nothing
from salience.stores.index.exact_match import ExactIndex
from salience.stores.index.memory_table import MemoryTable, Ordinals
from salience.stores.index.trigram_index import TrigramIndex
from salience.stores.index.vector_index import VectorIndex

_FEATURE = {name: place for place, name in enumerate(FEATURES)}
_PREVIOUS = {f"previous.{name}": place for name, place in _FEATURE.items()}
_WORKED_OUT = frozenset({*_FEATURE, *_PREVIOUS, *GRAPH, "id", "namespace", "position"})
"""Columns that are no field of a memory."""
_FEW = 500  # rows whose links are looked up without asking first which have any


class NamespaceIndex(MemoryTable):
    """Searchable arrays over the memories of one namespace."""

    def search(
        self, route: Route, query: Query, depth: int | None, ordered: bool = True
    ) -> tuple[Rows, Floats]:
        """The best `depth` rows of a route and their scores, by score, then id.

        Unless `ordered`, they are in the order of their rows.
        """
        ordinals, scores = self._found(route, query, depth, self.mask(query.where))
        if depth is None and not ordered:
            return self._rows.view[ordinals], scores
        if isinstance(route, (MatchAll, TimeWindow)):
            return self._rows.view[ordinals[::-1][:depth]], scores[:depth]
        order = best_first(scores, lambda places: self._names_of(ordinals[places]), depth)
        return self._rows.view[ordinals[order]], scores[order]

    def _found(
        self, route: Route, query: Query, depth: int | None, mask: NDArray[np.bool_] | None
    ) -> tuple[Ordinals, Floats]:
        """A superset of the best `depth` of a route, ascending, with exact scores."""
        if isinstance(route, Vector):
            vectors = self._comparable(route, query)
            unlike = query.vector is None or not query.vector.any()
            if vectors is None or (unlike and depth is not None):  # none is nearer than another
                return np.empty(0, dtype=np.int64), np.empty(0)
            if query.vector is None:
                ordinals = vectors.holders(mask)
                scores = np.zeros(len(ordinals))
            elif depth is None:
                ordinals, scores = vectors.all(query.vector, mask)
            else:
                ordinals = vectors.nearest(query.vector, depth, mask)
                scores = vectors.cosines(query.vector, ordinals)
            if route.min_similarity > -1.0:
                keep = scores >= route.min_similarity
                return ordinals[keep], scores[keep]
            return ordinals, scores
        if isinstance(route, (MatchAll, TimeWindow)):
            ordinals = np.arange(len(self)) if mask is None else np.flatnonzero(mask)
            if isinstance(route, TimeWindow):
                ordinals = ordinals[self._during(query)[ordinals]]
            return ordinals, np.full(len(ordinals), float(isinstance(route, TimeWindow)))
        dense = self._dense(route, query)  # type: ignore[arg-type]
        least = route.min_similarity if isinstance(route, Trigram) else 0.0
        passing = dense >= least if least > 0.0 else dense > 0.0
        if mask is not None:
            passing &= mask
        ordinals = np.flatnonzero(passing)
        scores = dense[ordinals]
        if depth is not None and len(scores) > depth:
            bound = np.partition(scores, len(scores) - depth)[len(scores) - depth]
            keep = scores >= bound
            return ordinals[keep], scores[keep]
        return ordinals, scores

    def _comparable(self, route: Vector, query: Query) -> VectorIndex | None:
        vectors = self._vectors.get(route.vector)
        if vectors is None or query.vector is None:
            return vectors
        kept, given = vectors.dimensions, len(query.vector)
        made, asking = self._embedder, query.embedder
        other = route.vector == "content" and None not in (made, asking) and made != asking
        if kept == given and not other:
            return vectors
        if not vectors.any_of(self._alive.view):
            return None
        if other:
            raise EmbedderMismatch(str(made), str(asking))
        if route.vector == "content":
            # Another process has had them made anew since this one opened the store.
            raise EmbedderMismatch(f"{kept} dimensions", f"one of {given}; open it again")
        raise InvalidInput(
            f"vectors.{route.vector}",
            f"have {kept} dimensions, and the query's vector has {given}",
            "use the embedder that they come from",
        )

    def score(self, route: Route, query: Query, rows: Rows, of: str = "self") -> Floats:
        """The exact score of rows on a route, or of the turns right before them."""
        ordinals = self._ordinals(rows)
        if of == "previous":
            ordinals = self._sessions.previous[ordinals].astype(np.int64)
        here = ordinals >= 0
        if np.count_nonzero(here) == len(here):
            return self._exactly(route, query, ordinals)
        found = np.full(len(rows), np.nan)
        found[here] = self._exactly(route, query, ordinals[here])
        return found

    def _exactly(self, route: Route, query: Query, ordinals: Ordinals) -> Floats:
        """The exact score of memories on a route."""
        if isinstance(route, Vector):
            vectors = self._comparable(route, query)
            if vectors is None or query.vector is None:
                return np.full(len(ordinals), np.nan)
            return vectors.cosines(query.vector, ordinals)
        if isinstance(route, MatchAll):
            return np.zeros(len(ordinals))
        if isinstance(route, TimeWindow):
            return self._during(query)[ordinals].astype(np.float64)
        return self._dense(route, query)[ordinals]  # type: ignore[arg-type]

    def _during(self, query: Query) -> NDArray[np.bool_]:
        """Which memories were created within the time that the query names."""
        time, created = query.reading.during, self._columns["created_at"]
        assert isinstance(created, NumberColumn)
        if time is None:
            return np.zeros(len(self), dtype=bool)
        return (created.values >= time.start) & (created.values < time.end)

    def _dense(self, route: Lexical | Trigram | ExactMatch, query: Query) -> Floats:
        """The route's score of every ordinal; the last answers are kept."""
        if isinstance(route, Lexical):
            return self._worded(route, query).scores
        if self._last_dense[0] is not query:
            self._last_dense = (query, {})
        known = self._last_dense[1]
        if route not in known:
            if isinstance(route, ExactMatch):
                known[route] = self._exact(route, query)
            else:
                known[route] = self._alike(route, query)
        return known[route]

    def _alike(self, route: Trigram, query: Query) -> Floats:
        best = np.zeros(len(self))
        for name in route.fields:
            column = self.column(name)
            if not isinstance(column, CodedColumn):
                raise InvalidInput("trigram.fields", f"{name} is not a text field")
            index = self._trigrams.get(name) or TrigramIndex(column)
            if name in self._columns:  # else the column is another one the next time
                self._trigrams[name] = index
            for asked in (query.text, *(sorted(query.entities) if route.entities else ())):
                best = np.maximum(best, index.similarities(asked)[column.codes])
        return best

    def _exact(self, route: ExactMatch, query: Query) -> Floats:
        names = query.aliases.spellings({query.aliases.key(query.text), *query.entities})
        found = np.zeros(len(self))
        for name in route.fields:
            column = None if name == "id" else self.column(name)
            if isinstance(column, NumberColumn | TimesColumn):
                raise InvalidInput("exact.fields", f"{name} is not a text field")
            places = self._naming(name, self._ids if column is None else column.distinct, names)
            found[places if column is None else np.isin(column.codes, places)] = 1.0
        return found

    def _naming(self, name: str, values: Sequence[Any], names: Iterable[str]) -> list[int]:
        """The places of the values of a column that are or hold one of some folded names."""
        index = self._values_of.get(name) or ExactIndex(values)
        if name == "id" or name in self._columns:  # else the values are others the next time
            self._values_of[name] = index
        return index.places(names)

    def _worded(self, route: Lexical, query: Query) -> WordScores:
        return self._lexical.scores(
            route, query.reading, self._rows.view, self._alive.view, self._sessions
        )

    def matched(self, route: Lexical, query: Query, rows: Rows) -> Floats:
        """Which terms each row holds, by weight (see `ops.Matched`)."""
        words = self._worded(route, query)
        ordinals = self._ordinals(rows)
        place = np.full(len(self) + 1, -1, dtype=np.int32)  # the last takes rows that are gone
        place[ordinals] = np.arange(len(rows))
        at = place[words.found.ordinal]
        found = np.zeros((len(rows), len(query.reading.terms)))
        here = at >= 0
        found[at[here], words.found.term[here]] = words.idf[words.found.term[here]]
        return found

    def mentions(self, wordings: Sequence[Wording], rows: Rows) -> Floats:
        """Whether each row holds all words of a wording in its content, as 1 or 0."""
        return self._lexical.mentions(wordings, self._ordinals(rows), len(self))

    @property
    def vector_names(self) -> frozenset[str]:
        """The names of the vectors that living memories have."""
        if not self._dead:
            return frozenset(self._vectors)
        alive = self._alive.view
        return frozenset(name for name, each in self._vectors.items() if each.any_of(alive))

    def vectors(self, rows: Rows, name: str) -> NDArray[np.float32]:
        """The vectors of that name of rows, NaN where one has none."""
        vectors = self._vectors.get(name)
        if vectors is None:
            return np.empty((len(rows), 0), dtype=np.float32)
        ordinals = self._ordinals(rows)
        found = vectors.take(np.maximum(ordinals, 0))
        found[ordinals < 0] = np.nan
        return found

    def alike(
        self, name: str, given: Sequence[NDArray[np.float32]], least: float, where: Filter
    ) -> list[tuple[int, float] | None]:
        """For each vector the row most alike that passes, and its cosine (see `ops.Alike`)."""
        vectors, mask = self._vectors.get(name), self.mask(where)
        if vectors is None or not given:
            return [None] * len(given)
        return [
            None if found is None else (int(self._rows.view[found[0]]), found[1])
            for found in vectors.most_alike(np.stack(given), least, mask)
        ]

    def beside(self, rows: Rows, where: Filter | None) -> Rows:
        """The rows right before and after each in its session, of its kind (see `ops.Beside`)."""
        kinds, passing = self.column("kind"), self.mask(where)
        assert isinstance(kinds, CodedColumn)
        found = np.full((2, len(rows)), -1, dtype=np.int64)
        for at, ordinal in enumerate(self._ordinals(rows).tolist()):
            if ordinal < 0:
                continue
            for side, other in enumerate(self._sessions.beside(ordinal, kinds.codes)):
                if other >= 0 and (passing is None or passing[other]):
                    found[side, at] = self._rows.view[other]
        return found

    def ids_of(self, rows: Rows) -> list[str]:
        """The ids of rows that are here."""
        return self._names_of(self._ordinals(rows))

    def linked(self, rows: Rows) -> Rows:
        """Those of some rows that may have links: of many, those that have."""
        if len(rows) <= _FEW:
            return rows
        ordinals = self._ordinals(rows)
        return rows[(ordinals >= 0) & (self._told_by_links("linked")[ordinals] > 0.0)]

    def fetch(self, rows: Rows, names: Sequence[str]) -> dict[str, Held]:
        """Columns of rows by name (see `ops.Fetch`); nothing is there for a row that is gone."""
        if not len(self):
            return {name: nothing(name, len(rows)) for name in names}
        ordinals = self._ordinals(rows)
        gone = ordinals < 0
        some_gone = np.count_nonzero(gone) > 0
        if some_gone:
            ordinals = np.where(gone, 0, ordinals)
        self._keep_columns([name for name in names if name not in _WORKED_OUT])
        found: dict[str, Held] = {}
        features: NDArray[np.float64] | None = None
        for name in names:
            if name in _FEATURE:
                if features is None:
                    features = self._features.view[ordinals].T.astype(np.float64, order="C")
                values: CategoricalColumn | Values = features[_FEATURE[name]]
            else:
                values = self._values(name, ordinals)
            if some_gone:
                if isinstance(values, CategoricalColumn):
                    values = values.without(gone)
                else:
                    values[gone] = np.nan
            found[name] = values
        return found

    def _values(self, name: str, ordinals: Ordinals) -> CategoricalColumn | Values:
        if name == "id":
            return CategoricalColumn(ordinals, self._ids)
        if name == "namespace":
            return CategoricalColumn(np.zeros(len(ordinals), dtype=np.intp), [self.namespace])
        if name in GRAPH:
            return self._told_by_links(name)[ordinals]
        if name == "position":
            position = self._sessions.position[ordinals]
            return _or_nan(position, position)
        if name in _PREVIOUS:
            previous = self._sessions.previous[ordinals]
            return _or_nan(self._features.view[previous, _PREVIOUS[name]], previous)
        column = self.column(name)
        if isinstance(column, CodedColumn):
            naming = partial(self._naming, name, column.distinct)
            return column.take(ordinals, naming)
        return column.take(ordinals)


def _or_nan(values: NDArray[Any], where: NDArray[Any]) -> Floats:
    """The values as float64, NaN where `where` is negative ("no such turn")."""
    return np.where(where < 0, np.nan, values.astype(np.float64))
