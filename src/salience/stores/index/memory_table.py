"""The memories of one namespace as arrays, kept current by a change feed."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.language.analysis_types import Speakers
from salience.language.features import FEATURES
from salience.language.passages import is_vector_name, place_of_vector
from salience.records.fields import FIELDS, LEXICAL
from salience.records.filters import Filter
from salience.records.limits import Type
from salience.records.link_graph import LinkGraph
from salience.retrieval.candidates import Floats, Rows
from salience.retrieval.operations import Order, Place
from salience.retrieval.query import Query
from salience.retrieval.routes import Route
from salience.stores.index.change_feed import ChangeFeed, Changes
from salience.stores.index.columns import (
    CodedColumn,
    Column,
    NumberColumn,
    TextsColumn,
    TimesColumn,
    evaluate,
)
from salience.stores.index.edge_table import EdgeTable, StoredEdge
from salience.stores.index.growable_array import GrowableArray
from salience.stores.index.session_order import SessionOrder, Turns
from salience.stores.index.snapshot import Part, Saved
from salience.stores.index.speakers import SpeakerCounts
from salience.stores.index.value_index import ExactIndex, TrigramIndex
from salience.stores.index.vector_index import VectorIndex
from salience.stores.index.words.inverted_index import InvertedIndex
from salience.stores.index.words.passages import PassageTable

Ordinals = NDArray[np.int64]

_ALWAYS_LOADED = (
    "created_at", "expires_at", "session_id", "speaker", "status", "greets",
    "kind", "valid_from", "valid_to", "attribute_key", "user_id", "agent_id",
    "importance", "relevance_score", "memory_score", "confidence", "feedback_for",
    "feedback_against", "pinned", "tier", "review", "strength", "last_accessed",
    "access_count", "write_count", "accesses", "added_at", "decay_rate", "outdated", "boost",
    "boosted_at", "layer", "title", "tags", "entities",
)  # fmt: skip
"""Columns that a profile of the library or upkeep reads: loaded with the ids, in one sweep."""
_TYPE_OF_KEYS: dict[str, Type] = {"attribute_key": "number"}
_RELOAD_DEAD_SHARE = 0.25  # share of dead ordinals above which the table is reloaded,
_RELOAD_DEAD_ROWS = 1_000  # unless they are no more than this
_MAX_COUNTED_TURNS = 64  # that come or go at once, up to which speakers are not recounted
_BYTES_OF_TABLE, _BYTES_OF_MEMORY = 30_000, 300  # of objects, as tracemalloc counts them
MANY_LINKS = 500
"""The number of links of some memories above which all links are kept and searched."""
_MAX_CHANGED_SHARE = 0.1  # of a column of links; beyond it the column is recomputed
_TOKEN_BUFFER_ROWS = 1 << 18  # memories whose words are buffered before they become postings


class MemoryTable(Part):
    """The memories of a namespace as columns, and structures computed from these.

    Arrays are by ordinal. A structure is kept until a change makes it wrong.
    """

    SAVED = (
        "seq", "_rows", "ids", "_sequence", "_features", "loaded", "words", "vectors",
        "passages", "embedder", "sessions",
    )  # fmt: skip
    ONLY_GROWS = True  # its own arrays; of a memory that is gone none is saved

    def __init__(self, feed: ChangeFeed, namespace: str, columns: Iterable[str] = ()) -> None:
        """`columns` are loaded at once; all others when they are first asked for."""
        self.namespace = namespace
        self._feed = feed
        self._loaded_at_once = tuple(dict.fromkeys((*_ALWAYS_LOADED, *columns)))
        self.placed: Mapping[str, int] | None = None
        """The places of rows by id, if they are not in the order of their numbers."""
        self._clear()

    def _clear(self) -> None:
        self.seq = 0  # the change that the feed was at
        self._rows = GrowableArray(np.int64)
        self._alive = GrowableArray(np.bool_)
        self.dead = 0
        self.ids: list[str] = []
        self._sequence = NumberColumn()
        self._features = GrowableArray(np.float32, (len(FEATURES),))
        self.loaded: dict[str, Column] = {n: _new_column(n) for n in self._loaded_at_once}
        self.words = InvertedIndex(self._feed, self.namespace)
        self.vectors: dict[str, VectorIndex] = {}
        self.passages = PassageTable()
        self.embedder: str | None = None  # identity of the embedder of the vectors "content"
        self.sessions = SessionOrder()
        self._trigram_indexes: dict[str, TrigramIndex] = {}
        self._exact_indexes: dict[str, ExactIndex] = {}
        self._graph: LinkGraph | None = None
        self._link_columns: dict[str, GrowableArray] = {}
        self._ordinal_of: dict[str, int] = {}  # by id, while there is a graph
        self._edges: EdgeTable | None = None
        self._of_type: dict[str, Sequence[StoredEdge]] = {}
        self._relinked: set[str] = set()  # memories whose links are not those of the edges
        self._last_ordinals: tuple[Rows, Ordinals] | None = None
        self._placed = GrowableArray(np.int64)
        self._last_masks: list[tuple[Filter | None, NDArray[np.bool_] | None]] = []
        self._last_scores: tuple[Query | None, dict[Route, Floats]] = (None, {})
        self._speakers: SpeakerCounts | None = None
        self.left_out: dict[int, str] = {}  # what is damaged, by row

    # Keeping current

    def refresh(self) -> bool:
        """Apply every change that the feed has now; True if everything was loaded for it."""
        changes = self._feed.changes(self.namespace, self.seq)
        return changes.seq != self.seq and self._catch_up(changes)

    def restore(self, saved: Saved, changes: Changes) -> None:
        """Become the table that was saved, with the changes since."""
        try:
            saved.restore(self)
        except BaseException:
            self._clear()
            raise
        self._catch_up(changes)

    def restored(self) -> None:
        self._alive.fill(True, len(self._rows))

    def _catch_up(self, changes: Changes) -> bool:
        """Apply changes; True if everything was loaded for it."""
        try:
            return self._apply(changes)
        except BaseException:
            self._clear()  # half of them are applied; the next refresh loads everything
            raise

    def compacted(self) -> MemoryTable:
        """A table of the living memories, without anything of those that are gone."""
        table = MemoryTable(self._feed, self.namespace, self._loaded_at_once)
        living = np.flatnonzero(self.alive)
        table.seq, table.embedder, table.ids = self.seq, self.embedder, self.ids_at(living)
        table._rows.extend(self.rows[living])
        table._features.extend(self.features[living])
        table._sequence = self._sequence.only(living)
        table.loaded = {name: self.loaded[name].only(living) for name in table.loaded}
        table.words = self.words.only(self.alive)
        table.passages = self.passages.only(self.alive)
        for name, vectors in self.vectors.items():
            if vectors.any_of(self.alive):
                table.vectors[name] = vectors.only(self.alive)
        table.restored()
        table._order_sessions(np.empty(0, dtype=np.int64))
        return table

    def skip_to(self, seq: int) -> None:
        """Mark the changes up to `seq` as applied already."""
        self.seq = max(self.seq, seq)

    def _apply(self, changes: Changes) -> bool:
        dead = self.dead + len(changes.removed)
        until = changes.seq if changes.until is None else changes.until
        too_many_dead = dead > max(_RELOAD_DEAD_ROWS, len(self) * _RELOAD_DEAD_SHARE)
        loads_all = self.seq == 0 or changes.reload or too_many_dead
        if loads_all:
            self._clear()
            self._append(None, until)
            self._order_sessions(np.empty(0, dtype=np.int64))
        else:
            self._update(changes, until)
        self.seq = changes.seq
        self._last_ordinals, self._last_masks = None, []
        self._last_scores = (None, {})
        return loads_all

    def _update(self, changes: Changes, until: int) -> None:
        """Apply changes to what is loaded."""
        first = len(self)
        removed = self._remove(changes.removed)
        self._patch(changes.patched)
        if changes.added:
            self._append(changes.added, until)
        if changes.added or len(removed):
            self._order_sessions(removed)
            self.words.changed(changes.added, removed, self.alive)
            if len(self) - first + len(removed) > _MAX_COUNTED_TURNS:
                self._speakers = None
            elif self._speakers is not None:
                self._speakers.change(first, removed, self.alive)
        if len(removed) or changes.linked:  # what goes takes its links along
            kept = {} if changes.linked else self._of_type
            self._of_type = {type: edges for type, edges in kept.items() if not edges}
        if self._edges is not None and (len(removed) or self._edges.lacks(self.ids[first:])):
            self._edges = None
        if self._graph is not None and changes.linked:
            ordinals = self.ordinals(np.array(changes.linked, dtype=np.int64))
            ids = self.ids_at(ordinals[ordinals >= 0])
            self._graph.relinked(ids)
            self._relinked.update(ids)

    def _append(self, rows: Sequence[int] | None, until: int) -> None:
        """Append some rows, or for None all up to the row `until`."""
        first = len(self)
        tokens: dict[str, list[bytes | None]] = {name: [] for name in LEXICAL}
        for chunk in self._feed.load(self.namespace, self.loaded_columns, rows):
            if "damaged" in chunk:
                self._note_damage(chunk)
            count = bisect_right(chunk["row"], until)  # later rows come with the next changes
            if count < len(chunk["row"]):
                chunk = {name: chunk[name][:count] for name in ("row", *self.loaded_columns)}
            self._rows.extend(np.array(chunk["row"], dtype=np.int64))
            self._alive.fill(True, count)
            self.ids.extend(chunk["id"])
            self._sequence.extend(chunk["sequence"])
            packed = np.frombuffer(b"".join(chunk["features"]), dtype=np.float32)
            self._features.extend(packed.reshape(count, len(FEATURES)))
            for name, column in self.loaded.items():
                column.extend(chunk[name])
            self._append_passages(len(self) - count, chunk)
            for name in LEXICAL:
                tokens[name].extend(chunk[f"terms.{name}"])
            if len(tokens["content"]) >= _TOKEN_BUFFER_ROWS:
                self._flush_tokens(tokens)
        self._flush_tokens(tokens)
        if self._graph is not None:
            new_ids = self.ids[first:]
            self._graph.added(new_ids)
            self._ordinal_of.update(zip(new_ids, range(first, len(self)), strict=True))
        self._append_vectors(first, rows)

    def _append_passages(self, first: int, chunk: Mapping[str, list[Any]]) -> None:
        """Append the passages of memories, those from the ordinal `first` on."""
        borders, terms = chunk["passages"], chunk["terms.passages"]
        if any(borders):
            self.passages.extend(
                [(first + i, each, terms[i]) for i, each in enumerate(borders) if each]
            )

    def _flush_tokens(self, tokens: dict[str, list[bytes | None]]) -> None:
        self.words.extend(tokens)
        for blobs in tokens.values():
            blobs.clear()

    def _append_vectors(self, first: int, rows: Sequence[int] | None) -> None:
        self.embedder = self.embedder or self._feed.embedder()
        passages: list[tuple[int, int, bytes]] = []
        for name, owners, blobs in self._feed.vectors(self.namespace, rows):
            ordinals = self.ordinals(np.array(owners, dtype=np.int64))
            pairs, size = [], self._vector_bytes(name, blobs)
            for ordinal, row, blob in zip(ordinals.tolist(), owners, blobs, strict=True):
                if ordinal >= 0 and blob is not None and len(blob) == size:
                    pairs.append((ordinal, blob))
                elif ordinal >= 0:
                    self.left_out[row] = f"the vector {name!r} of {self.ids[ordinal]}"
            if not pairs:
                continue
            if is_vector_name(name):
                passages += [(o, place_of_vector(name), blob) for o, blob in pairs]
                continue
            vectors = self.vectors.get(name)
            dimensions = len(pairs[0][1]) // 2
            if vectors is None or vectors.dimensions != dimensions:
                # No memory has one of another length any more.
                vectors = self.vectors[name] = VectorIndex(dimensions, len(self))
            start, end = pairs[0][0], pairs[-1][0] + 1
            by_ordinal: list[bytes | None] = [None] * (end - start)
            for ordinal, blob in pairs:
                by_ordinal[ordinal - start] = blob
            vectors.extend(start, by_ordinal)
        if passages:
            self.passages.extend_vectors(passages)
        stored = self._feed.embedder()
        # Where another set is searched since, the next search loads that. Until then nothing may be
        # compared with vectors of which it is not known whose they are.
        self.embedder = stored if self.embedder in (None, stored) else ""

    def _vector_bytes(self, name: str, blobs: Sequence[bytes | None]) -> int | None:
        """The length of the vectors of living memories; for passages, that of contents.

        Before there are any, the most frequent length.
        """
        vectors = self.vectors.get("content" if is_vector_name(name) else name)
        if vectors is None or not vectors.any_of(self.alive):
            lengths = Counter(len(blob) for blob in blobs if blob is not None)
            return max(lengths, key=lengths.__getitem__, default=None)
        return 2 * vectors.dimensions

    def _note_damage(self, chunk: Mapping[str, Any]) -> None:
        """Leave out the memories of a chunk that are damaged."""
        for row, id in chunk["damaged"].items():
            if id is not None:
                self.left_out[row] = id
            else:
                self.leave_out([row])

    def leave_out(self, rows: Sequence[int]) -> None:
        """Leave out memories that are here and turn out to be damaged."""
        for row, ordinal in zip(rows, self.ordinals(np.array(rows, dtype=np.int64)), strict=True):
            if ordinal >= 0 and self.alive[ordinal]:
                self.left_out[row] = self.ids[ordinal]
                self.alive[ordinal] = False
                self.dead += 1
        self._last_masks = []
        self._last_scores = (None, {})

    def _remove(self, rows: Sequence[int]) -> Ordinals:
        """Mark rows dead; return the ordinals of those that were not."""
        if not rows:
            return np.empty(0, dtype=np.int64)
        for row in rows:
            self.left_out.pop(row, None)
        ordinals = self.ordinals(np.array(rows, dtype=np.int64))
        ordinals = ordinals[ordinals >= 0]
        ordinals = ordinals[self.alive[ordinals]]
        self.alive[ordinals] = False
        self.dead += len(ordinals)
        if self._graph is not None:
            self._graph.removed(self.ids_at(ordinals))
        return ordinals

    def _patch(self, rows: Sequence[int]) -> None:
        names = self.patchable_columns if rows else ()
        if not names:
            return
        for chunk in self._feed.load(self.namespace, names, rows):
            if "damaged" in chunk:
                self._note_damage(chunk)
            ordinals = self.ordinals(np.array(chunk["row"], dtype=np.int64)).tolist()
            for name in names:
                column = self.loaded[name]
                for ordinal, value in zip(ordinals, chunk[name], strict=True):
                    if ordinal >= 0:
                        column.set(ordinal, value)

    def _order_sessions(self, removed: Ordinals) -> None:
        """Order new turns, and those of sessions that lost one."""
        sessions, speakers = self.coded("session_id"), self.coded("speaker")
        turns = Turns(
            sessions.codes,
            sessions.code(None),
            self.created_at,
            self._sequence.values,
            speakers.codes,
            speakers.code(None),
            self.alive,
        )
        self.sessions.update(turns, sessions.codes[removed].tolist())

    def touch(self, rows: Rows, at: float) -> None:
        """Count an access of rows at once; the feed brings it only after it is written."""
        self._last_masks = []  # a filter may compare accesses
        counts, last = self.loaded.get("access_count"), self.loaded.get("last_accessed")
        times = self.loaded.get("accesses")
        if counts is None and last is None and times is None:
            return
        ordinals = self.ordinals(rows)
        if isinstance(counts, NumberColumn):
            counts.change(ordinals, np.add, 1.0)
        if isinstance(last, NumberColumn):
            last.change(ordinals, np.fmax, at)
        if isinstance(times, TimesColumn):
            times.push(ordinals, at)

    # Rows and ordinals

    def __len__(self) -> int:
        """The number of ordinals, those of dead memories included."""
        return len(self._rows.view)

    @property
    def living(self) -> int:
        """The number of memories."""
        return len(self) - self.dead

    @property
    def rows(self) -> Rows:
        """The row of each ordinal, ascending."""
        return self._rows.view

    @property
    def places(self) -> Rows:
        """The place of each ordinal, the newest row last. The place of a row never changes."""
        if self.placed is None:
            return self.rows
        new = self.ids[len(self._placed) :]
        self._placed.extend([self.placed.get(id, 0) for id in new])
        return self._placed.view

    @property
    def alive(self) -> NDArray[np.bool_]:
        """True for each ordinal whose memory has not been removed."""
        return self._alive.view

    @property
    def features(self) -> NDArray[np.float32]:
        """The text features of each memory, shape (ordinals, features)."""
        return self._features.view

    @property
    def nbytes(self) -> int:
        """Bytes held, roughly: those of arrays exactly, those of objects by an average."""
        parts = (
            self._rows,
            self._alive,
            self._features,
            self._sequence,
            self.sessions,
            *self.loaded.values(),
            self.words,
            *self.vectors.values(),
            self.passages,
            *self._trigram_indexes.values(),
            *self._exact_indexes.values(),
        )
        return (
            sum(part.nbytes for part in parts) + _BYTES_OF_TABLE + _BYTES_OF_MEMORY * len(self.ids)
        )

    def ordinals(self, rows: Rows) -> Ordinals:
        """The ordinal of each row, -1 where it is not (or no longer) here.

        It keeps the last answer: the operations of a search are about the same rows.
        """
        if self._last_ordinals is not None and self._last_ordinals[0] is rows:
            return self._last_ordinals[1]
        own_rows = self._rows.view
        if not len(own_rows):
            return np.full(len(rows), -1, dtype=np.int64)
        if len(rows) == len(own_rows) and np.array_equal(rows, own_rows):
            ordinals = np.arange(len(rows))
        else:
            places = np.minimum(np.searchsorted(own_rows, rows), len(own_rows) - 1)
            ordinals = np.where(own_rows[places] == rows, places, -1)
        self._last_ordinals = (rows, ordinals)
        return ordinals

    def ids_at(self, ordinals: Ordinals) -> list[str]:
        """The ids of the memories at some ordinals."""
        return [self.ids[ordinal] for ordinal in ordinals.tolist()]

    def contains(self, rows: Rows) -> NDArray[np.bool_]:
        """True for each row that is a memory of this namespace."""
        ordinals = self.ordinals(rows)
        here = ordinals >= 0
        if self.dead:
            here &= self.alive[ordinals]
        return here

    # Columns

    @property
    def loaded_columns(self) -> tuple[str, ...]:
        """The columns to ask the feed for when memories are new, besides their vectors."""
        lexical = (f"terms.{name}" for name in LEXICAL)
        passages = ("passages", "terms.passages")
        return ("id", "sequence", "features", *lexical, *passages, *self.loaded)

    @property
    def patchable_columns(self) -> tuple[str, ...]:
        """The columns to ask the feed for when memories have changed."""
        return tuple(name for name in self.loaded if _is_patchable(name))

    def column(self, name: str, beside: Sequence[str] = ()) -> Column:
        """The column of a field or metadata key, read the first time, with others `beside` it."""
        if name == "personal":
            personal = NumberColumn()
            personal.extend(self.features[:, FEATURES.index(name)].tolist())
            return personal
        column = self.loaded.get(name)
        if column is None:
            if name == "content":  # texts are not kept in memory
                [column] = self._read_columns([name])
                return column
            self.load_columns((name, *beside))
            column = self.loaded[name]
        return column

    def load_columns(self, names: Sequence[str]) -> None:
        """Read the columns of fields and metadata keys that are not here yet, in one sweep."""
        missing = [n for n in dict.fromkeys(names) if n not in self.loaded and n != "content"]
        if missing:
            self.loaded.update(zip(missing, self._read_columns(missing), strict=True))

    def _read_columns(self, names: Sequence[str]) -> list[Column]:
        values: list[list[Any]] = [[None] * len(self) for _ in names]
        for chunk in self._feed.load(self.namespace, tuple(names), None):
            if "damaged" in chunk:
                self._note_damage(chunk)
            ordinals = self.ordinals(np.array(chunk["row"], dtype=np.int64))
            follow = len(ordinals) and ordinals[0] >= 0 and np.all(np.diff(ordinals) == 1)
            for name, column_values in zip(names, values, strict=True):
                if follow:  # as they mostly do
                    column_values[ordinals[0] : ordinals[-1] + 1] = chunk[name]
                    continue
                for ordinal, value in zip(ordinals.tolist(), chunk[name], strict=True):
                    if ordinal >= 0:  # rows that came after the last refresh are not here
                        column_values[ordinal] = value
        columns = [_new_column(name) for name in names]
        for column, column_values in zip(columns, values, strict=True):
            column.extend(column_values)
        return columns

    def coded(self, name: str) -> CodedColumn:
        """A column of texts that is always loaded."""
        column = self.loaded[name]
        assert isinstance(column, CodedColumn)
        return column

    def numbers(self, name: str) -> Floats:
        """The values of a field of numbers or times, by ordinal; NaN where there is none."""
        column = self.column(name)
        assert isinstance(column, NumberColumn), name
        return column.values

    @property
    def created_at(self) -> Floats:
        """The time of each memory in seconds since 1970."""
        return self.numbers("created_at")

    # Structures worked out from the columns

    def trigram_index(self, name: str, column: CodedColumn) -> TrigramIndex:
        """The trigrams of the distinct values of a column."""
        index = self._trigram_indexes.get(name) or TrigramIndex(column)
        if name in self.loaded:  # any other column is read again the next time
            self._trigram_indexes[name] = index
        return index

    def exact_index(self, name: str, values: Sequence[Any]) -> ExactIndex:
        """The places of a column's distinct `values` by the folded texts they are or hold."""
        index = self._exact_indexes.get(name) or ExactIndex(values)
        if name == "id" or name in self.loaded:  # any other column is read again the next time
            self._exact_indexes[name] = index
        return index

    def route_scores(self, query: Query) -> dict[Route, Floats]:
        """Scores of all memories by route, filled in by routes; kept for the last query."""
        if self._last_scores[0] is not query:
            self._last_scores = (query, {})
        return self._last_scores[1]

    @property
    def speakers(self) -> Speakers:
        """The speakers of the namespace."""
        if self._speakers is None:
            speakers, greets, sessions = map(self.coded, ("speaker", "greets", "session_id"))
            self._speakers = SpeakerCounts(speakers, greets, sessions, self.alive)
        return self._speakers.speakers

    def link_column(self, name: str) -> Floats:
        """One of `fields.GRAPH` by ordinal."""
        graph = self._link_graph()
        changed, column = graph.changed(name), self._link_columns.get(name)
        if column is None or len(changed) > len(self) * _MAX_CHANGED_SHARE:
            column = self._link_columns[name] = GrowableArray(np.float64)
            changed = set()
        column.extend(graph.column(name, self.ids[len(column) :]))
        if changed:
            ids = [id for id in changed if id in self._ordinal_of]
            column.view[[self._ordinal_of[id] for id in ids]] = graph.column(name, ids)
        return column.view

    def edges(self, read: Callable[[Sequence[str] | None], Sequence[StoredEdge]]) -> EdgeTable:
        """All links; `read` returns those from and to some memories, for None all."""
        self._link_graph()
        if self._edges is None:
            self._edges = EdgeTable(read(None), self._ordinal_of)
        elif self._relinked:
            ids = sorted(self._relinked)
            self._edges.relink(ids, read(ids), self._ordinal_of)
        self._relinked = set()
        return self._edges

    def has_many_links(self, ordinals: Ordinals) -> bool:
        """Test whether memories have so many links that all links should be searched.

        For few memories the answer is known only once all links are here.
        """
        many = len(ordinals) > MANY_LINKS
        return many or (self._edges is not None and self._edges.count(ordinals) > MANY_LINKS)

    def edges_of_type(
        self, type: str, read: Callable[[str], Sequence[StoredEdge]]
    ) -> Sequence[StoredEdge]:
        """All links of a type, which `read` returns; kept until links or memories change."""
        edges = self._of_type.get(type)
        if edges is None:
            edges = self._of_type[type] = read(type)
        return edges

    def _link_graph(self) -> LinkGraph:
        if self._graph is None or self._graph.outdated:
            living = np.flatnonzero(self.alive)
            ids = self.ids_at(living)
            self._graph, self._link_columns = LinkGraph(self._feed.links(self.namespace), ids), {}
            self._ordinal_of = dict(zip(ids, living.tolist(), strict=True))
        self._graph.settle(lambda ids: self._feed.links(self.namespace, ids))
        return self._graph

    # Filters

    def matching(self, where: Filter | None) -> Rows:
        """The rows that pass a filter, ascending."""
        mask = self.mask(where)
        return self.rows.copy() if mask is None else self.rows[mask]

    def passing_at(self, ordinals: NDArray[Any], where: Filter | None) -> NDArray[np.bool_]:
        """True for each ordinal that is alive and passes a filter; it looks at no others."""
        passing = self.alive[ordinals]
        return (
            passing
            if where is None
            else passing & evaluate(where, self.column, len(ordinals), ordinals)
        )

    def passing(self, rows: Rows, where: Filter | None) -> NDArray[np.bool_]:
        """True for each of the rows that is a memory of this namespace and passes a filter."""
        ordinals, mask = self.ordinals(rows), self.mask(where)
        here = ordinals >= 0
        return here if mask is None else here & mask[ordinals]

    def page(
        self, where: Filter | None, order: Order, after: Place | None, limit: int
    ) -> list[tuple[int, Place]]:
        """The first rows after a place that pass a filter, in an order."""
        mask = self.mask(where)
        ordinals = np.arange(len(self)) if mask is None else np.flatnonzero(mask)
        created, sequences = self.created_at, self._sequence.values
        if after is not None:
            times, numbers = created[ordinals], sequences[ordinals]
            is_later = (times > after.created_at) | (
                (times == after.created_at) & (numbers > after.sequence)
            )
            is_last = (times == after.created_at) & (numbers == after.sequence)
            ordinals = ordinals[is_later if order == "oldest" else ~(is_later | is_last)]
        ranked = ordinals[np.lexsort((sequences[ordinals], created[ordinals]))]
        first = (ranked if order == "oldest" else ranked[::-1])[:limit]
        return [
            (row, Place(time, int(number)))
            for row, time, number in zip(
                self.rows[first].tolist(),
                created[first].tolist(),
                sequences[first].tolist(),
                strict=True,
            )
        ]

    def mask(self, where: Filter | None) -> NDArray[np.bool_] | None:
        """True for each ordinal that is alive and passes the filter; None when all do.

        It keeps the last two answers: the operations of a search have one filter, or that and a
        narrower one.
        """
        for condition, mask in self._last_masks:
            if condition is where:
                return mask
        mask = self.alive if self.dead else None
        if where is not None:
            passing = evaluate(where, self.column, len(self))
            mask = passing if mask is None else passing & mask
        if mask is not None and np.count_nonzero(mask) == len(mask):
            mask = None
        self._last_masks = [(where, mask), *self._last_masks[:1]]
        return mask


def _new_column(name: str) -> Column:
    kind = FIELDS[name].type if name in FIELDS else _TYPE_OF_KEYS.get(name, "text")
    if kind == "times":
        return TimesColumn()
    if kind == "list":
        return TextsColumn()
    return NumberColumn() if kind in ("number", "time") else CodedColumn()


def _is_patchable(name: str) -> bool:
    return name.startswith("metadata.") or (name in FIELDS and FIELDS[name].patchable)
