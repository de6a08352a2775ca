"""The index of one namespace: loaded from a source, kept current by its change feed."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from recollect.analysis import by_role, name_words, named
from recollect.candidates import Column as Values
from recollect.candidates import Floats, Rows, best_first
from recollect.errors import EmbedderMismatch, InvalidInput
from recollect.features import FEATURES
from recollect.fields import FIELDS, LEXICAL
from recollect.filters import Filter
from recollect.index.columns import CodedColumn, Column, NumberColumn, evaluate
from recollect.index.growable import Growable
from recollect.index.lexical import Bm25, Lengths, bm25
from recollect.index.names import nicknames
from recollect.index.postings import Postings
from recollect.index.sessions import Sessions
from recollect.index.trigrams import TrigramIndex
from recollect.index.vectors import Vectors
from recollect.ops import Named
from recollect.query import Query, Term
from recollect.routes import Lexical, Route, Scan, Trigram, Vector
from recollect.text import stem, term_id

Ordinals = NDArray[np.int64]
_People = tuple[dict[str, set[str]], frozenset[str], frozenset[str]]
_EAGER = ("created_at", "session_id", "speaker", "status", "greets")
_COMPACT_AT = 0.25  # share of dead ordinals at which the index is loaded anew


@dataclass(frozen=True)
class Changes:
    """What happened in a namespace since `after`: rows by kind, and where the feed stands now."""

    seq: int
    added: Sequence[int] = ()
    removed: Sequence[int] = ()
    patched: Sequence[int] = ()
    reload: bool = False


class Source(Protocol):
    """Where an index gets its memories from; rows always ascend."""

    def changes(self, namespace: str, after: int) -> Changes:
        """What happened since `after`; 0 means from the beginning (then only `seq` counts)."""
        ...

    def load(
        self, namespace: str, names: tuple[str, ...], rows: Sequence[int] | None
    ) -> Iterator[Mapping[str, list[Any]]]:
        """Chunks of the memories (those of `rows`, or all): `row` and the columns named.

        Names are fields, `metadata.<key>`, `sequence`, `features` (float32 bytes) and
        `terms.<field>` (uint64 bytes).
        """
        ...

    def vectors(
        self, namespace: str, rows: Sequence[int] | None
    ) -> Iterator[tuple[str, list[int], list[bytes]]]:
        """Chunks of (name, rows, float16 bytes), rows ascending for each name."""
        ...


class NamespaceIndex:
    """Searchable arrays over the memories of one namespace."""

    def __init__(self, source: Source, namespace: str) -> None:
        self.namespace = namespace
        self._source = source
        self._clear()

    def _clear(self) -> None:
        self._seq = 0
        self._rows = Growable(np.int64)
        self._alive = Growable(np.bool_)
        self._dead = 0
        self._ids: list[str] = []
        self._sequence = NumberColumn()
        self._features = Growable(np.float32, (len(FEATURES),))
        self._columns: dict[str, Column] = {name: _new_column(name) for name in _EAGER}
        self._postings = {name: Postings() for name in LEXICAL}
        self._vectors: dict[str, Vectors] = {}
        self._sessions = Sessions()
        self._trigrams: dict[str, TrigramIndex] = {}
        self._last_lexical: tuple[Any, Bm25] | None = None
        self._lengths: dict[tuple[str, ...], Lengths] = {}
        self._last_ordinals: tuple[Rows, Ordinals] | None = None
        self._known_people: _People | None = None

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

    def _take_in(self, changes: Changes) -> None:
        dead = self._dead + len(changes.removed)
        if self._seq == 0 or changes.reload or dead > max(1000, len(self) * _COMPACT_AT):
            self._clear()
            self._append(None, changes.seq)
        else:
            touched = self._remove(changes.removed)
            self._patch(changes.patched)
            if changes.added:
                self._append(changes.added, changes.seq, touched)
            elif touched:
                self._link(touched)
        self._seq = changes.seq
        self._last_lexical = self._last_ordinals = self._known_people = None
        self._lengths = {}

    def _append(
        self, rows: Sequence[int] | None, until: int, touched: set[int] | None = None
    ) -> None:
        """Append some rows, or all of them until the one that the feed stands at."""
        first = len(self)
        lexical = tuple(f"terms.{name}" for name in LEXICAL)
        names = ("id", "sequence", "features", *lexical, *self._columns)
        tokens: dict[str, list[bytes | None]] = {name: [] for name in LEXICAL}
        for chunk in self._source.load(self.namespace, names, rows):
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
        self._append_vectors(first, rows)
        fresh = self._coded("session_id").codes[first:]
        self._link((touched or set()) | set(np.unique(fresh).tolist()))

    def _flush_tokens(self, tokens: dict[str, list[bytes | None]]) -> None:
        for name, blobs in tokens.items():
            self._postings[name].extend(blobs)
            blobs.clear()

    def _append_vectors(self, first: int, rows: Sequence[int] | None) -> None:
        for name, owners, blobs in self._source.vectors(self.namespace, rows):
            ordinals = self._ordinals(np.array(owners, dtype=np.int64))
            known = [(o, blob) for o, blob in zip(ordinals.tolist(), blobs, strict=True) if o >= 0]
            if not known:
                continue
            vectors = self._vectors.get(name)
            size = len(known[0][1]) // 2
            if vectors is None or vectors.dimensions != size:  # those of another length are gone
                vectors = self._vectors[name] = Vectors(size)
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
        return set(self._coded("session_id").codes[ordinals].tolist())

    def _patch(self, rows: Sequence[int]) -> None:
        names = tuple(name for name in self._columns if _patchable(name))
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
        counts, last = self._columns.get("access_count"), self._columns.get("last_accessed")
        for ordinal in self._ordinals(rows).tolist():
            if isinstance(counts, NumberColumn):
                counts.set(ordinal, counts.values[ordinal] + 1.0)
            if isinstance(last, NumberColumn):
                last.set(ordinal, np.fmax(last.values[ordinal], at))

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
            *self._postings.values(),
            *self._vectors.values(),
            *self._trigrams.values(),
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
        at = np.minimum(np.searchsorted(self._rows.view, rows), len(self._rows) - 1)
        found = np.where(self._rows.view[at] == rows, at, -1)
        self._last_ordinals = (rows, found)
        return found

    def contains(self, rows: Rows) -> NDArray[np.bool_]:
        """Which of the rows are memories of this namespace."""
        at = self._ordinals(rows)
        found = at >= 0
        if self._dead:
            found &= self._alive.view[at]
        return found

    def column(self, name: str) -> Column:
        """The column of a field or metadata key, read from the source the first time."""
        column = self._columns.get(name)
        if column is None:
            column = self._lazy_column(name)
            if name != "content":  # the words of all memories stay on disk
                self._columns[name] = column
        return column

    def _lazy_column(self, name: str) -> Column:
        values: list[Any] = [None] * len(self)
        for chunk in self._source.load(self.namespace, (name,), None):
            ordinals = self._ordinals(np.array(chunk["row"], dtype=np.int64)).tolist()
            for ordinal, value in zip(ordinals, chunk[name], strict=True):
                if ordinal >= 0:  # a row that is newer than this index
                    values[ordinal] = value
        column = _new_column(name)
        column.extend(values)
        return column

    def named(self, words: Sequence[str], proper: Set[str]) -> Named:
        """Whom words of a question name."""
        names, users, assistants = self._people()
        ids = np.array([term_id(stem(word)) for word in words], dtype=np.uint64)
        said = self._postings["content"].known(ids)
        strange = {w for w, known in zip(words, said, strict=True) if not known and w in proper}
        return Named(named(words, names, strange), users, assistants)

    def _people(self) -> _People:
        """Speakers by the words of their names and by role; kept until something changes."""
        if self._known_people is None:
            speakers = self._coded("speaker")
            turns = np.bincount(speakers.codes[self._alive.view], minlength=len(speakers.distinct))
            spoken = {
                name: int(count)
                for name, count in zip(speakers.distinct, turns.tolist(), strict=True)
                if name and count
            }
            names = name_words(set(spoken))
            called = nicknames(
                self._coded("greets"), speakers, self._coded("session_id"), self._alive.view
            )
            for name, who in called.items():
                names.setdefault(name, {who})
            self._known_people = (names, *by_role(spoken))
        return self._known_people

    def _coded(self, name: str) -> CodedColumn:
        column = self._columns[name]
        assert isinstance(column, CodedColumn)
        return column

    def matching(self, where: Filter | None) -> Rows:
        """The rows that pass a filter, ascending."""
        mask = self._mask(where)
        rows = self._rows.view
        return rows.copy() if mask is None else rows[mask]

    def _mask(self, where: Filter | None) -> NDArray[np.bool_] | None:
        """Which ordinals are alive and pass the filter; None when all do."""
        mask = self._alive.view if self._dead else None
        if where is not None:
            passing = evaluate(where, self.column, len(self))
            mask = passing if mask is None else passing & mask
        return mask

    # Searching

    def search(self, route: Route, query: Query, depth: int | None) -> tuple[Rows, Floats]:
        """The best `depth` rows of a route and their scores, by score, then id."""
        ordinals, scores = self._found(route, query, depth, self._mask(query.where))
        ids = self._ids

        def names(places: NDArray[np.intp]) -> list[str]:
            return [ids[ordinal] for ordinal in ordinals[places].tolist()]

        order = best_first(scores, names, depth)
        return self._rows.view[ordinals[order]], scores[order]

    def _found(
        self, route: Route, query: Query, depth: int | None, mask: NDArray[np.bool_] | None
    ) -> tuple[Ordinals, Floats]:
        """A superset of the best `depth` of a route, with exact scores."""
        if isinstance(route, Vector):
            vectors = self._comparable(route, query)
            if vectors is None or query.vector is None or not query.vector.any():
                return np.empty(0, dtype=np.int64), np.empty(0)
            ordinals = vectors.nearest(query.vector, depth, mask)
            scores = vectors.cosines(query.vector, ordinals)
            keep = scores >= route.min_similarity
            return ordinals[keep], scores[keep]
        if isinstance(route, Scan):
            ordinals = np.arange(len(self)) if mask is None else np.flatnonzero(mask)
            return ordinals[::-1][: depth or None], np.zeros(min(len(ordinals), depth or len(self)))
        dense = self._dense(route, query)
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

    def _comparable(self, route: Vector, query: Query) -> Vectors | None:
        vectors = self._vectors.get(route.vector)
        if vectors is None or query.vector is None or len(query.vector) == vectors.dimensions:
            return vectors
        kept, given = vectors.dimensions, len(query.vector)
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
        found = np.full(len(rows), np.nan)
        if isinstance(route, Vector):
            vectors = self._comparable(route, query)
            if vectors is not None and query.vector is not None:
                found[here] = vectors.cosines(query.vector, ordinals[here])
        elif isinstance(route, Scan):
            found[here] = 0.0
        else:
            found[here] = self._dense(route, query)[ordinals[here]]
        return found

    def _dense(self, route: Lexical | Trigram, query: Query) -> Floats:
        """The route's score of every ordinal."""
        if isinstance(route, Trigram):
            best = np.zeros(len(self))
            for name in route.fields:
                column = self.column(name)
                if not isinstance(column, CodedColumn):
                    raise InvalidInput("trigram.fields", f"{name} is not a text field")
                index = self._trigrams.setdefault(name, TrigramIndex(column))
                best = np.maximum(best, index.similarities(query.text)[column.codes])
            return best
        return self._bm25(route, query.reading.terms).scores

    def _bm25(self, route: Lexical, terms: tuple[Term, ...]) -> Bm25:
        """The route's scores of every ordinal; the last ones are kept."""
        key = (route, terms)
        if self._last_lexical is None or self._last_lexical[0] != key:
            alive = self._alive.view
            names = tuple(name for name, _ in route.fields if name in self._postings)
            if names not in self._lengths:
                fields = [self._postings[name] for name in names]
                self._lengths[names] = Lengths.over(fields, alive)
            neighbours = (self._sessions.previous, self._sessions.next)
            lengths = self._lengths[names]
            found = bm25(self._postings, route, terms, lengths, alive, neighbours)
            self._last_lexical = (key, found)
        return self._last_lexical[1]

    def matched(self, route: Lexical, query: Query, rows: Rows) -> Floats:
        """Which terms each row holds, by weight (see `ops.Matched`)."""
        terms = query.reading.terms
        bm = self._bm25(route, terms)
        ordinals = self._ordinals(rows)
        place = np.full(len(self) + 1, -1)  # the last takes rows that are gone
        place[ordinals] = np.arange(len(rows))
        at = place[bm.found.ordinal]
        found = np.zeros((len(rows), len(terms)))
        here = at >= 0
        found[at[here], bm.found.term[here]] = bm.idf[bm.found.term[here]]
        return found

    def mentions(self, terms: Sequence[Term], rows: Rows) -> Floats:
        """Whether each row holds one of the terms in its content, as 1 or 0."""
        ids = np.array([term_id(form) for term in terms for form in term], dtype=np.uint64)
        holding = np.zeros(len(self) + 1)  # the last is read for rows that are gone
        holding[self._postings["content"].hits(ids).ordinal] = 1.0
        return holding[self._ordinals(rows)]

    def fetch(self, rows: Rows, names: Sequence[str]) -> dict[str, Values]:
        """Columns of rows by name (see `ops.Fetch`); nothing is there for a row that is gone."""
        ordinals = self._ordinals(rows)
        gone = ordinals < 0
        if gone.any():
            ordinals = np.where(gone, 0, ordinals)
        found: dict[str, Values] = {}
        for name in names:
            values = self._values(name, ordinals) if len(self) else np.full(len(rows), np.nan)
            if gone.any():
                values[gone] = None if values.dtype == object else np.nan
            found[name] = values
        return found

    def _values(self, name: str, ordinals: Ordinals) -> Values:
        if name == "id":
            ids = np.empty(len(ordinals), dtype=object)
            ids[:] = [self._ids[ordinal] for ordinal in ordinals.tolist()]
            return ids
        if name == "position":
            return _or_nan(self._sessions.position[ordinals], self._sessions.position[ordinals])
        if name.removeprefix("previous.") in FEATURES:
            place = FEATURES.index(name.removeprefix("previous."))
            if not name.startswith("previous."):
                return self._features.view[ordinals, place].astype(np.float64)
            previous = self._sessions.previous[ordinals]
            return _or_nan(self._features.view[previous, place], previous)
        return self.column(name).take(ordinals)


def _or_nan(values: NDArray[Any], where: NDArray[Any]) -> Floats:
    """The values as float64, NaN where `where` is negative ("no such turn")."""
    return np.where(where < 0, np.nan, values.astype(np.float64))


def _new_column(name: str) -> Column:
    field = FIELDS.get(name)
    return NumberColumn() if field and field.type in ("number", "time") else CodedColumn()


def _patchable(name: str) -> bool:
    return name.startswith("metadata.") or (name in FIELDS and FIELDS[name].patchable)
