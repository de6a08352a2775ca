"""The memories of one namespace as arrays, kept current by the change feed of their source."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.language.analysis_types import Speakers
from salience.language.features import FEATURES
from salience.language.speakers import count_greetings, named_speakers, nicknames, speakers_of
from salience.records.fields import FIELDS, LEXICAL
from salience.records.filters import Filter
from salience.records.link_graph import LinkGraph
from salience.retrieval.candidates import Floats, Rows
from salience.retrieval.operations import FindSpeakers, SpeakerMatches
from salience.retrieval.query import Query
from salience.retrieval.routes import Route
from salience.stores.index.change_feed import ChangeFeed, Changes
from salience.stores.index.columns import CodedColumn, Column, NumberColumn, TimesColumn, evaluate
from salience.stores.index.exact_match import ExactIndex
from salience.stores.index.growable_array import GrowableArray
from salience.stores.index.inverted_index import InvertedIndex
from salience.stores.index.session_order import SessionOrder
from salience.stores.index.trigram_index import TrigramIndex
from salience.stores.index.vector_index import VectorIndex

Ordinals = NDArray[np.int64]
_EAGER = (
    "created_at", "expires_at", "session_id", "speaker", "status", "greets",
    "kind", "valid_from", "valid_to",
)  # fmt: skip
"""What every search or the default profile asks for: read with all else, in one sweep. (What is
read so besides is up to who makes the index.)"""
_COMPACT_AT = 0.25  # share of dead ordinals at which the index is loaded anew


class MemoryTable:
    """Arrays over the memories of one namespace: which there are, and what they hold."""

    def __init__(self, source: ChangeFeed, namespace: str, columns: Iterable[str] = ()) -> None:
        self.namespace = namespace
        self._source = source
        self._eager = tuple(dict.fromkeys((*_EAGER, *columns)))
        self._clear()

    def _clear(self) -> None:
        self._seq = 0
        self._rows = GrowableArray(np.int64)
        self._alive = GrowableArray(np.bool_)
        self._dead = 0
        self._ids: list[str] = []
        self._sequence = NumberColumn()
        self._features = GrowableArray(np.float32, (len(FEATURES),))
        self._columns: dict[str, Column] = {name: _new_column(name) for name in self._eager}
        self._lexical = InvertedIndex(self._source, self.namespace)
        self._vectors: dict[str, VectorIndex] = {}
        self._embedder: str | None = None  # identity of what made them
        self._sessions = SessionOrder()
        self._trigrams: dict[str, TrigramIndex] = {}
        self._values_of: dict[str, ExactIndex] = {}
        self._graph: LinkGraph | None = None
        self._link_columns: dict[str, Floats] = {}
        self._last_ordinals: tuple[Rows, Ordinals] | None = None
        self._last_mask: tuple[Filter | None, NDArray[np.bool_] | None] | None = None
        self._last_dense: tuple[Query | None, dict[Route, Floats]] = (None, {})
        self._known_people: Speakers | None = None

    # Keeping current

    def refresh(self) -> None:
        """Take in everything that the source holds now."""
        changes = self._source.changes(self.namespace, self._seq)
        if changes.seq == self._seq:
            return
        try:
            self._take_in(changes)
        except BaseException:
            self._clear()  # half of it taken in; the next time begins anew
            raise

    def has_seen(self, seq: int) -> None:
        """Take note that what the feed holds until `seq` is counted in."""
        self._seq = max(self._seq, seq)

    def _take_in(self, changes: Changes) -> None:
        dead = self._dead + len(changes.removed)
        until = changes.seq if changes.until is None else changes.until
        if self._seq == 0 or changes.reload or dead > max(1000, len(self) * _COMPACT_AT):
            self._clear()
            self._append(None, until)
        else:
            touched = self._remove(changes.removed)
            self._patch(changes.patched)
            if changes.added:
                self._append(changes.added, until, touched)
            elif touched:
                self._link(touched)
        self._seq = changes.seq
        self._last_ordinals = self._last_mask = None
        self._last_dense = (None, {})
        if changes.reload or changes.added or changes.removed:
            self._known_people = None
            self._lexical.changed(changes.added, bool(changes.removed))
        if changes.added or changes.removed or changes.linked:
            self._link_columns = {}
        if self._graph is not None and changes.linked:
            rows = self._ordinals(np.array(changes.linked, dtype=np.int64))
            self._graph.relinked(self._names_of(rows[rows >= 0]))

    def _append(
        self, rows: Sequence[int] | None, until: int, touched: set[int] | None = None
    ) -> None:
        """Append some rows, or all of them until the one that the feed stands at."""
        first = len(self)
        tokens: dict[str, list[bytes | None]] = {name: [] for name in LEXICAL}
        for chunk in self._source.load(self.namespace, self.wanted, rows):
            count = bisect_right(chunk["row"], until)  # the feed brings those written since
            if count < len(chunk["row"]):
                chunk = {name: values[:count] for name, values in chunk.items()}
            self._rows.extend(np.array(chunk["row"], dtype=np.int64))
            self._alive.extend(np.ones(count, dtype=bool))
            self._ids.extend(chunk["id"])
            self._sequence.extend(chunk["sequence"])
            packed = np.frombuffer(b"".join(chunk["features"]), dtype=np.float32)
            self._features.extend(packed.reshape(count, len(FEATURES)))
            for name, column in self._columns.items():
                column.extend(chunk[name])
            for name in LEXICAL:
                tokens[name].extend(chunk[f"terms.{name}"])
            if len(tokens["content"]) >= 1 << 18:
                self._flush_tokens(tokens)
        self._flush_tokens(tokens)
        if self._graph is not None:
            self._graph.added(self._ids[first:])
        self._append_vectors(first, rows)
        fresh = self._coded("session_id").codes[first:].tolist()
        self._link((touched or set()).union(fresh))

    def _flush_tokens(self, tokens: dict[str, list[bytes | None]]) -> None:
        self._lexical.extend(tokens)
        for blobs in tokens.values():
            blobs.clear()

    def _append_vectors(self, first: int, rows: Sequence[int] | None) -> None:
        # Asked before they are read: made anew in between, they are read again by the next search.
        self._embedder = self._embedder or self._source.embedder()
        for name, owners, blobs in self._source.vectors(self.namespace, rows):
            ordinals = self._ordinals(np.array(owners, dtype=np.int64))
            known = [(o, blob) for o, blob in zip(ordinals.tolist(), blobs, strict=True) if o >= 0]
            if not known:
                continue
            vectors = self._vectors.get(name)
            size = len(known[0][1]) // 2
            if vectors is None or vectors.dimensions != size:  # those of another length are gone
                vectors = self._vectors[name] = VectorIndex(size, len(self))
            start, end = known[0][0], known[-1][0] + 1
            spread: list[bytes | None] = [None] * (end - start)
            for ordinal, blob in known:
                spread[ordinal - start] = blob
            vectors.extend(start, spread)

    def _remove(self, rows: Sequence[int]) -> set[int]:
        """Mark rows dead; the codes of the sessions they were in."""
        ordinals = self._ordinals(np.array(rows, dtype=np.int64))
        ordinals = ordinals[ordinals >= 0]
        ordinals = ordinals[self._alive.view[ordinals]]
        self._alive.view[ordinals] = False
        self._dead += len(ordinals)
        if self._graph is not None:
            self._graph.removed(self._names_of(ordinals))
        return set(self._coded("session_id").codes[ordinals].tolist())

    def _patch(self, rows: Sequence[int]) -> None:
        names = self.patched
        if not rows or not names:
            return
        for chunk in self._source.load(self.namespace, names, rows):
            ordinals = self._ordinals(np.array(chunk["row"], dtype=np.int64)).tolist()
            for name in names:
                for ordinal, value in zip(ordinals, chunk[name], strict=True):
                    if ordinal >= 0:
                        self._columns[name].set(ordinal, value)

    def _link(self, changed: set[int]) -> None:
        sessions, created = self._coded("session_id"), self._columns["created_at"]
        assert isinstance(created, NumberColumn)
        self._sessions.update(
            sessions.codes,
            sessions.code(None),
            created.values,
            self._sequence.values,
            self._coded("speaker").codes,
            self._coded("speaker").code(None),
            self._alive.view,
            changed,
        )

    def touch(self, rows: Rows, at: float) -> None:
        """Count an access of rows ahead of the feed, which brings it once it is written."""
        self._last_mask = None  # a filter may ask about accesses
        counts, last = self._columns.get("access_count"), self._columns.get("last_accessed")
        times = self._columns.get("accesses")
        for ordinal in self._ordinals(rows).tolist():
            if isinstance(counts, NumberColumn):
                counts.set(ordinal, counts.values[ordinal] + 1.0)
            if isinstance(last, NumberColumn):
                last.set(ordinal, np.fmax(last.values[ordinal], at))
            if isinstance(times, TimesColumn):
                times.push(ordinal, at)

    # Looking up

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def living(self) -> int:
        """How many memories there are."""
        return len(self) - self._dead

    @property
    def nbytes(self) -> int:
        """Memory held, roughly: arrays exactly, ids by an average."""
        parts = (
            self._rows,
            self._alive,
            self._features,
            self._sequence,
            self._sessions,
            *self._columns.values(),
            self._lexical,
            *self._vectors.values(),
            *self._trigrams.values(),
            *self._values_of.values(),
        )
        return sum(part.nbytes for part in parts) + 100 * len(self._ids)

    def _ordinals(self, rows: Rows) -> Ordinals:
        """The ordinal of each row, -1 where it is not (or no longer) here.

        The operations of a search are about the same rows, so the last answer is kept.
        """
        if self._last_ordinals is not None and self._last_ordinals[0] is rows:
            return self._last_ordinals[1]
        if not len(self._rows):
            return np.full(len(rows), -1, dtype=np.int64)
        if np.array_equal(rows, self._rows.view):
            found = np.arange(len(rows))
        else:
            at = np.minimum(np.searchsorted(self._rows.view, rows), len(self._rows) - 1)
            found = np.where(self._rows.view[at] == rows, at, -1)
        self._last_ordinals = (rows, found)
        return found

    def _names_of(self, ordinals: Ordinals) -> list[str]:
        """The ids of memories."""
        return [self._ids[ordinal] for ordinal in ordinals.tolist()]

    def contains(self, rows: Rows) -> NDArray[np.bool_]:
        """Which of the rows are memories of this namespace."""
        at = self._ordinals(rows)
        found = at >= 0
        if self._dead:
            found &= self._alive.view[at]
        return found

    @property
    def wanted(self) -> tuple[str, ...]:
        """What a source is asked for of new memories, besides their vectors."""
        lexical = (f"terms.{name}" for name in LEXICAL)
        return ("id", "sequence", "features", *lexical, *self._columns)

    @property
    def patched(self) -> tuple[str, ...]:
        """What a source is asked for of changed memories."""
        return tuple(name for name in self._columns if _patchable(name))

    def column(self, name: str) -> Column:
        """The column of a field or metadata key, read from the source the first time."""
        column = self._columns.get(name)
        if column is None:
            [column] = self._read_columns([name])
            if name != "content":  # the words of all memories stay on disk
                self._columns[name] = column
        return column

    def _keep_columns(self, names: Sequence[str]) -> None:
        """Read the columns of some fields or metadata keys that are not here yet, in one sweep."""
        missing = [name for name in names if name not in self._columns and name != "content"]
        if missing:
            self._columns.update(zip(missing, self._read_columns(missing), strict=True))

    def _read_columns(self, names: Sequence[str]) -> list[Column]:
        values: list[list[Any]] = [[None] * len(self) for _ in names]
        for chunk in self._source.load(self.namespace, tuple(names), None):
            ordinals = self._ordinals(np.array(chunk["row"], dtype=np.int64)).tolist()
            for name, column in zip(names, values, strict=True):
                for ordinal, value in zip(ordinals, chunk[name], strict=True):
                    if ordinal >= 0:  # no row that is newer than this index
                        column[ordinal] = value
        found = [_new_column(name) for name in names]
        for made, column in zip(found, values, strict=True):
            made.extend(column)
        return found

    def named(self, op: FindSpeakers) -> SpeakerMatches:
        """Whom words of a question name."""
        here = self._people()
        looking = [word for word in op.words if word in op.proper]
        said = self._lexical.known(looking, self._alive.view) if looking else ()
        strange = {word for word, known in zip(looking, said, strict=True) if not known}
        return SpeakerMatches.among(
            here, named_speakers(op.words, here.names, strange, op.ordinary)
        )

    def _people(self) -> Speakers:
        """Who speaks here; kept until something changes."""
        if self._known_people is None:
            speakers = self._coded("speaker")
            turns = np.bincount(speakers.codes[self._alive.view], minlength=len(speakers.distinct))
            spoken = {
                name: int(count)
                for name, count in zip(speakers.distinct, turns.tolist(), strict=True)
                if name and count
            }
            self._known_people = speakers_of(spoken, nicknames(self._greetings()))
        return self._known_people

    def _greetings(self) -> dict[str, Counter[str | None]]:
        """How often each name was said to whom; see `count_greetings`."""
        greets, speakers, sessions = map(self._coded, ("greets", "speaker", "session_id"))
        alive = self._alive.view
        greeting = np.flatnonzero(alive & (greets.codes != greets.code(None)))
        if not len(greeting):
            return {}
        turns = np.flatnonzero(alive & np.isin(sessions.codes, sessions.codes[greeting]))
        names, greeters = greets.at(greeting), speakers.at(greeting)
        return count_greetings(
            zip(names, sessions.codes[greeting].tolist(), greeters, strict=True),
            zip(sessions.codes[turns].tolist(), speakers.at(turns), strict=True),
        )

    def _coded(self, name: str) -> CodedColumn:
        column = self._columns[name]
        assert isinstance(column, CodedColumn)
        return column

    def _links(self) -> LinkGraph:
        """What links tell now."""
        if self._graph is None or self._graph.outdated:
            living = self._names_of(np.flatnonzero(self._alive.view))
            self._graph = LinkGraph(self._source.links(self.namespace), living)
        self._graph.settle(lambda ids: self._source.links(self.namespace, ids))
        return self._graph

    def forget_links(self) -> None:
        """Ask for all links anew when next they matter."""
        self._graph, self._link_columns = None, {}

    def _told_by_links(self, name: str) -> Floats:
        """One of `fields.GRAPH` by ordinal, kept while links and memories are the same."""
        if name not in self._link_columns:
            self._link_columns[name] = self._links().column(name, self._ids)
        return self._link_columns[name]

    def matching(self, where: Filter | None) -> Rows:
        """The rows that pass a filter, ascending."""
        mask = self.mask(where)
        rows = self._rows.view
        return rows.copy() if mask is None else rows[mask]

    def passing(self, rows: Rows, where: Filter | None) -> NDArray[np.bool_]:
        """Which of the rows are memories of this namespace that pass a filter."""
        ordinals, mask = self._ordinals(rows), self.mask(where)
        found = ordinals >= 0
        return found if mask is None else found & mask[ordinals]

    def mask(self, where: Filter | None) -> NDArray[np.bool_] | None:
        """Which ordinals are alive and pass the filter; None when all do.

        The routes of a search have the same filter, so the last answer is kept.
        """
        if self._last_mask is not None and self._last_mask[0] is where:
            return self._last_mask[1]
        mask = self._alive.view if self._dead else None
        if where is not None:
            passing = evaluate(where, self.column, len(self))
            mask = passing if mask is None else passing & mask
        if mask is not None and np.count_nonzero(mask) == len(mask):
            mask = None
        self._last_mask = (where, mask)
        return mask


def _new_column(name: str) -> Column:
    kind = FIELDS[name].type if name in FIELDS else "text"
    if kind == "times":
        return TimesColumn()
    return NumberColumn() if kind in ("number", "time") else CodedColumn()


def _patchable(name: str) -> bool:
    return name.startswith("metadata.") or (name in FIELDS and FIELDS[name].patchable)
