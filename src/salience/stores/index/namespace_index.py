"""The index of one namespace: answers to the operations of a search."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.arithmetic import by_kernel
from salience.errors import EmbedderMismatch
from salience.language.features import FEATURES
from salience.language.passages import is_vector_name, place_of_vector, vector_name
from salience.language.speakers import named_speakers
from salience.records.fields import GRAPH
from salience.records.filters import Filter
from salience.retrieval.candidates import CategoricalColumn, ColumnData, Floats, Rows, best_places
from salience.retrieval.candidates import Column as Values
from salience.retrieval.edges import Edges
from salience.retrieval.operations import (
    MENTIONS,
    Collect,
    FetchColumns,
    FetchVectors,
    FindNames,
    FindPassages,
    FindSpeakers,
    FoundPassage,
    Holders,
    ListNames,
    NameTally,
    NearestVectors,
    SessionNeighbors,
    SpeakerMatches,
)
from salience.retrieval.query import Query
from salience.retrieval.routes import LABELS, Lexical, Route
from salience.stores.index.change_feed import ChangeFeed
from salience.stores.index.columns import CodedColumn, TextsColumn, empty_column
from salience.stores.index.edge_table import StoredEdge
from salience.stores.index.memory_table import MemoryTable, Ordinals
from salience.stores.index.routes import SEARCHES, word_scores

_FEATURE = {name: place for place, name in enumerate(FEATURES)}
_PREVIOUS = {f"previous.{name}": place for name, place in _FEATURE.items()}
_COMPUTED = frozenset({*_FEATURE, *_PREVIOUS, *GRAPH, "id", "namespace", "position"})
"""Columns that are not a field of a memory."""


class NamespaceIndex:
    """Answers about the memories of one namespace, out of its `table`."""

    def __init__(self, feed: ChangeFeed, namespace: str, columns: Iterable[str] = ()) -> None:
        """`columns` are loaded with the memories; all others when they are first asked for."""
        self.namespace = namespace
        self.table = MemoryTable(feed, namespace, columns)

    def __len__(self) -> int:
        return len(self.table)

    # Collecting

    def find(self, route: Route, query: Query, depth: int | None) -> tuple[Ordinals, Floats]:
        """The best `depth` memories of a route (all for None) by ordinal, and their scores."""
        table = self.table
        mask = table.mask(query.where)
        ordinals, scores = SEARCHES[type(route)].search(table, route, query, depth, mask)
        if depth is None or len(ordinals) <= depth:
            return ordinals, scores
        if route.newest_first:
            newest: slice | Ordinals = slice(-depth, None)
            if table.placed is not None:
                newest = np.sort(table.places[ordinals].argsort()[-depth:])
            return ordinals[newest], scores[newest]
        best = best_places(scores, lambda places: table.ids_at(ordinals[places]), depth)
        return ordinals[best], scores[best]

    def collected(self, op: Collect, ordinals: Ordinals) -> dict[str, ColumnData]:
        """The columns of memories that an operation asks for, besides the ranks."""
        evidence, query = op.evidence, op.query
        keys = ("id", *("namespace",) * (len(query.namespaces) > 1), *("kind",) * op.sessions)
        columns = self._columns([*dict.fromkeys((*op.columns, *keys))], ordinals)
        previous: Ordinals | None = None
        for route in op.routes:
            search = SEARCHES[type(route)]
            if (name := f"{route.name}.score") in evidence:
                columns[name] = search.score(self.table, route, query, ordinals)
            if (name := f"previous.{route.name}.score") in evidence:
                if previous is None:
                    previous = self.table.sessions.previous[ordinals].astype(np.int64)
                columns[name] = self._scores_of_some(route, query, previous)
        lexical = [route for route in op.routes if isinstance(route, Lexical)]
        for words in (*lexical, LABELS):
            if not evidence.isdisjoint((f"{words.name}.matched", f"{words.name}.weights")):
                columns |= self._term_weights(words, op, ordinals)
        for name, kind in MENTIONS.items():
            if name in evidence:
                columns[name] = np.zeros(len(ordinals))
                if wordings := query.reading.wordings.get(kind):
                    columns[name] = self.table.words.mentions(wordings, ordinals, len(self))
        return columns

    def _scores_of_some(self, route: Route, query: Query, ordinals: Ordinals) -> Floats:
        """The exact scores of memories on a route, NaN where an ordinal is negative."""
        here = ordinals >= 0
        scores = np.full(len(ordinals), np.nan)
        scores[here] = SEARCHES[type(route)].score(self.table, route, query, ordinals[here])
        return scores

    def _term_weights(
        self, words: Lexical, op: Collect, ordinals: Ordinals
    ) -> dict[str, ColumnData]:
        """The weights of the terms that memories hold, and of all terms, as far as requested."""
        table, terms = self.table, len(op.query.reading.terms)
        occurrences, idf = table.words.occurrences(words, op.query.reading, table.alive)
        columns: dict[str, ColumnData] = {}
        if f"{words.name}.weights" in op.evidence:
            columns[f"{words.name}.weights"] = np.broadcast_to(idf, (len(ordinals), terms))
        if f"{words.name}.matched" in op.evidence:
            matched = columns[f"{words.name}.matched"] = np.zeros((len(ordinals), terms))
            arguments = occurrences.term, occurrences.ordinal, idf, ordinals, len(self), matched
            declined = by_kernel("matched", *arguments) is NotImplemented
            if declined and len(ordinals) and len(occurrences.term):
                place = np.full(len(self), -1, dtype=np.int32)
                place[ordinals] = np.arange(len(ordinals))
                places = place[occurrences.ordinal]
                here = np.flatnonzero(places >= 0)
                matched_terms = occurrences.term[here]
                matched[places[here], matched_terms] = idf[matched_terms]
        return columns

    # Words

    def find_passages(self, op: FindPassages, rows: Rows) -> list[tuple[FoundPassage, ...]]:
        """The passages of rows with their scores (see `operations.FindPassages`)."""
        passages = self.table.passages
        if not len(passages):
            return [()] * len(rows)
        words = word_scores(self.table, op.route, op.query).passages
        cosines = passages.cosines(op.query.vector)
        return [passages.found(o, words, cosines) for o in self.table.ordinals(rows).tolist()]

    def find_speakers(self, op: FindSpeakers) -> SpeakerMatches:
        """The speakers that words of a question name."""
        speakers = self.table.speakers
        proper = [word for word in op.words if word in op.proper]
        occurs = self.table.words.occur(proper, self.table.alive) if proper else ()
        strange = {word for word, occurring in zip(proper, occurs, strict=True) if not occurring}
        return SpeakerMatches.among(
            speakers,
            named_speakers(op.words, speakers.by_word, strange, op.ordinary, op.by_sound),
            self.table.living,
            self.vector_names,
        )

    def occur(self, words: Sequence[str], fields: Sequence[str]) -> NDArray[np.bool_]:
        """True for each word that a memory holds in one of some fields."""
        return self.table.words.occur(words, self.table.alive, fields)

    def holders(self, words: Sequence[str], fields: Sequence[str]) -> list[Holders]:
        """The memories that hold each word in one of some fields."""
        rows = self.table.rows
        matches = self.table.words.holders(words, fields, self.table.alive)
        return [Holders.of(rows[ordinals]) for ordinals in matches]

    def find_names(self, op: FindNames) -> set[str]:
        """The names that memories have (see `operations.FindNames`)."""
        names: set[str] = set()
        for field in op.fields:
            column = self.table.column(field, op.fields)
            assert isinstance(column, CodedColumn)
            index = self.table.exact_index(field, column.distinct)
            for name, variants in op.names.items():
                codes = index.places(variants)
                if codes and (not self.table.dead or self._any_alive(column, codes)):
                    names.add(name)
        return names

    def list_names(self, op: ListNames) -> list[NameTally]:
        """The tags or entities of memories that pass a filter (see `operations.ListNames`)."""
        column = self.table.column(op.field)
        assert isinstance(column, TextsColumn)
        return column.tallies(self.table.mask(op.where), op.prefix, op.after, op.limit)

    def _any_alive(self, column: CodedColumn, codes: Sequence[int]) -> bool:
        """True if a memory that was not removed has one of some codes in a column."""
        return bool(np.isin(column.codes[self.table.alive], codes).any())

    # Vectors

    @property
    def vector_names(self) -> frozenset[str]:
        """The names of the vectors that living memories have."""
        vectors, alive = self.table.vectors, self.table.alive
        passage_numbers = range(self.table.passages.most_vectors(alive))
        passages = frozenset(map(vector_name, passage_numbers))
        if not self.table.dead:
            return passages.union(vectors)
        return passages.union(name for name, index in vectors.items() if index.any_of(alive))

    def fetch_vectors(self, op: FetchVectors, rows: Rows) -> NDArray[np.float32]:
        """The vectors of a name, shape (rows, dimensions), NaN where a row has none."""
        index = self.table.vectors.get(op.name)
        if index is None:
            if is_vector_name(op.name):
                return self.table.passages.vectors_at(
                    self.table.ordinals(rows), place_of_vector(op.name)
                )
            return np.empty((len(rows), 0), dtype=np.float32)
        ordinals = self.table.ordinals(rows)
        vectors = index.take(np.maximum(ordinals, 0))
        vectors[ordinals < 0] = np.nan
        return vectors

    def nearest_vectors(self, op: NearestVectors) -> list[tuple[int, float] | None]:
        """For each query the nearest row that passes (see `operations.NearestVectors`).

        Raises:
            EmbedderMismatch: the stored vectors come from another embedder.
        """
        index = self.table.vectors.get(op.name)
        if index is None or not op.vectors:
            return [None] * len(op.vectors)
        embedders = (self.table.embedder, op.embedder)
        if op.name == "content" and None not in embedders and embedders[0] != embedders[1]:
            raise EmbedderMismatch(str(self.table.embedder), str(op.embedder))
        rows = self.table.rows
        return [
            None if match is None else (int(rows[match[0]]), match[1])
            for match in index.most_alike(
                np.stack(op.vectors), op.least, partial(self.table.passing_at, where=op.where)
            )
        ]

    # Neighbors in a session, and links

    def session_neighbors(self, op: SessionNeighbors, rows: Rows) -> Rows:
        """The rows right before and after each (see `operations.SessionNeighbors`)."""
        kinds, passing = self.table.coded("kind"), self.table.mask(op.query.where)
        own_rows = self.table.rows
        neighbors = np.full((2, len(rows)), -1, dtype=np.int64)
        for place, ordinal in enumerate(self.table.ordinals(rows).tolist()):
            if ordinal < 0:
                continue
            for side, other in enumerate(self.table.sessions.neighbors(ordinal, kinds.codes)):
                if other >= 0 and (passing is None or passing[other]):
                    neighbors[side, place] = own_rows[other]
        return neighbors

    def ids_of(self, rows: Rows) -> list[str]:
        """The ids of rows that are here."""
        return self.table.ids_at(self.table.ordinals(rows))

    def edges_of_many(
        self,
        rows: Rows,
        where: Filter | None,
        read: Callable[[Sequence[str] | None], Sequence[StoredEdge]],
    ) -> Edges | None:
        """The links from and to rows, if they are so many that all links should be searched.

        `read` is that of `MemoryTable.edges`. Both ends are memories that pass the filter.
        """
        ordinals = self.table.ordinals(rows)
        is_many = self.table.has_many_links(ordinals[ordinals >= 0])
        return self.edges_between(rows, where, read) if is_many else None

    def edges_between(
        self,
        rows: Rows,
        where: Filter | None,
        read: Callable[[Sequence[str] | None], Sequence[StoredEdge]],
    ) -> Edges:
        """The links from and to rows, out of all; the rest is as for `edges_of_many`."""
        table, ordinals = self.table, self.table.ordinals(rows)
        mask = table.mask(where)
        passing = np.ones(len(table), dtype=bool) if mask is None else mask
        return table.edges(read).between(ordinals[ordinals >= 0], passing, table.rows)

    def edges_of_type(
        self, rows: Rows, type: str, read: Callable[[str], Sequence[StoredEdge]]
    ) -> Sequence[StoredEdge]:
        """The links of a type from and to rows; `read` is that of `MemoryTable.edges_of_type`."""
        edges = self.table.edges_of_type(type, read)
        if not edges:
            return ()
        ids = set(self.ids_of(rows))
        return [edge for edge in edges if not ids.isdisjoint(edge[:2])]

    # Columns

    def fetch_columns(self, op: FetchColumns, rows: Rows) -> dict[str, ColumnData]:
        """Columns by name (see `operations.FetchColumns`); a row that is gone has no values."""
        if not len(self):
            return {name: empty_column(name, len(rows)) for name in op.names}
        ordinals = self.table.ordinals(rows)
        missing = ordinals < 0
        if not np.count_nonzero(missing):
            return self._columns(op.names, ordinals)
        columns = self._columns(op.names, np.where(missing, 0, ordinals))
        for name, values in columns.items():
            if isinstance(values, CategoricalColumn):
                columns[name] = values.without(missing)
            elif values.strides != (0,):  # else no memory has a value
                values[missing] = np.nan
        return columns

    def _columns(self, names: Sequence[str], ordinals: Ordinals) -> dict[str, Any]:
        """Columns of memories by name."""
        if not len(self):
            return {name: empty_column(name, 0) for name in names}
        self.table.load_columns([name for name in names if name not in _COMPUTED])
        columns: dict[str, Any] = {}
        features: NDArray[np.float64] | None = None
        for name in names:
            if name in _FEATURE:
                if features is None:
                    feature_rows = self.table.features.take(ordinals, axis=0)
                    features = feature_rows.T.astype(np.float64, order="C")
                columns[name] = features[_FEATURE[name]]
            elif (column := self.table.loaded.get(name)) is not None:
                columns[name] = column.take(ordinals, partial(self._places_named, name))
            else:
                columns[name] = self._values(name, ordinals)
        return columns

    def _values(self, name: str, ordinals: Ordinals) -> CategoricalColumn | Values:
        table = self.table
        if name == "id":
            return CategoricalColumn(ordinals, table.ids)
        if name == "namespace":
            return CategoricalColumn(np.zeros(len(ordinals), dtype=np.intp), [self.namespace])
        if name in GRAPH:
            return table.link_column(name)[ordinals]
        if name == "position":
            position = table.sessions.position[ordinals]
            return _or_nan(position, position)
        if name in _PREVIOUS:
            previous = table.sessions.previous[ordinals]
            return _or_nan(table.features[previous, _PREVIOUS[name]], previous)
        return table.column(name).take(ordinals, partial(self._places_named, name))

    def _places_named(self, name: str, names: Iterable[str]) -> list[int]:
        """The places of a column's distinct values that are or hold one of some folded names."""
        column = self.table.column(name)
        assert isinstance(column, CodedColumn)
        return self.table.exact_index(name, column.distinct).places(names)


def _or_nan(values: NDArray[Any], ordinals: NDArray[Any]) -> Floats:
    """The values as float64, NaN where an ordinal is negative ("no such turn")."""
    return np.where(ordinals < 0, np.nan, values.astype(np.float64))
