"""The index of one namespace: loaded from a source, kept current by its change feed."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.analysis import by_role, name_words, named
from recollect.candidates import Column as Values
from recollect.candidates import Floats, Rows, best_first
from recollect.errors import EmbedderMismatch, InvalidInput
from recollect.features import FEATURES
from recollect.fields import FIELDS, GRAPH, LEXICAL
from recollect.filters import Filter
from recollect.index.bm25 import Bm25
from recollect.index.columns import CodedColumn, Column, NumberColumn, TimesColumn, evaluate
from recollect.index.exact import ExactIndex
from recollect.index.graph import LinkGraph
from recollect.index.growable import Growable
from recollect.index.lexical import LexicalIndex
from recollect.index.names import nicknames
from recollect.index.sessions import Sessions
from recollect.index.source import Changes, Source
from recollect.index.trigrams import TrigramIndex
from recollect.index.vectors import Vectors
from recollect.ops import Named
from recollect.query import Query, Term
from recollect.routes import During, Exact, Lexical, Route, Scan, Trigram, Vector

Ordinals = NDArray[np.int64]
_People = tuple[dict[str, set[str]], frozenset[str], frozenset[str]]
_EAGER = ("created_at", "expires_at", "session_id", "speaker", "status", "greets")
_COMPACT_AT = 0.25  # share of dead ordinals at which the index is loaded anew


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
        self._lexical = LexicalIndex(self._source, self.namespace)
        self._vectors: dict[str, Vectors] = {}
        self._sessions = Sessions()
        self._trigrams: dict[str, TrigramIndex] = {}
        self._values_of: dict[str, ExactIndex] = {}
        self._graph: LinkGraph | None = None
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
        self._last_ordinals = self._known_people = None
        self._lexical.changed(changes.added, bool(changes.removed))
        if changes.linked or changes.removed:
            self._graph = None

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
        self._lexical.extend(tokens)
        for blobs in tokens.values():
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
        said = self._lexical.known(words)
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

    def _links(self) -> LinkGraph:
        """What links tell, worked out anew when there are others."""
        if self._graph is None:
            living = {self._ids[ordinal] for ordinal in np.flatnonzero(self._alive.view).tolist()}
            self._graph = LinkGraph.of(self._source.links(self.namespace), living)
        return self._graph

    def matching(self, where: Filter | None) -> Rows:
        """The rows that pass a filter, ascending."""
        mask = self._mask(where)
        rows = self._rows.view
        return rows.copy() if mask is None else rows[mask]

    def passing(self, rows: Rows, where: Filter | None) -> NDArray[np.bool_]:
        """Which of the rows are memories of this namespace that pass a filter."""
        ordinals, mask = self._ordinals(rows), self._mask(where)
        found = ordinals >= 0
        return found if mask is None else found & mask[ordinals]

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
        if isinstance(route, (Scan, During)):
            return self._rows.view[ordinals], scores
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
        if isinstance(route, (Scan, During)):
            ordinals = np.arange(len(self)) if mask is None else np.flatnonzero(mask)
            if isinstance(route, During):
                ordinals = ordinals[self._during(query)[ordinals]]
            ordinals = ordinals[::-1][: depth or None]
            return ordinals, np.full(len(ordinals), float(isinstance(route, During)))
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
        elif isinstance(route, During):
            found[here] = self._during(query)[ordinals[here]]
        else:
            found[here] = self._dense(route, query)[ordinals[here]]
        return found

    def _during(self, query: Query) -> NDArray[np.bool_]:
        """Which memories were created within the time that the query names."""
        time, created = query.reading.during, self._columns["created_at"]
        assert isinstance(created, NumberColumn)
        if time is None:
            return np.zeros(len(self), dtype=bool)
        return (created.values >= time.start) & (created.values < time.end)

    def _dense(self, route: Lexical | Trigram | Exact, query: Query) -> Floats:
        """The route's score of every ordinal."""
        if isinstance(route, Lexical):
            return self._bm25(route, query).scores
        if isinstance(route, Exact):
            return self._exact(route, query)
        best = np.zeros(len(self))
        for name in route.fields:
            column = self.column(name)
            if not isinstance(column, CodedColumn):
                raise InvalidInput("trigram.fields", f"{name} is not a text field")
            index = self._trigrams.setdefault(name, TrigramIndex(column))
            for asked in (query.text, *(sorted(query.entities) if route.entities else ())):
                best = np.maximum(best, index.similarities(asked)[column.codes])
        return best

    def _exact(self, route: Exact, query: Query) -> Floats:
        names = query.aliases.spellings({query.aliases.key(query.text), *query.entities})
        found = np.zeros(len(self))
        for name in route.fields:
            column = None if name == "id" else self.column(name)
            if isinstance(column, NumberColumn | TimesColumn):
                raise InvalidInput("exact.fields", f"{name} is not a text field")
            index = self._values_of.get(name)
            if index is None:
                values = self._ids if column is None else column.distinct
                index = self._values_of[name] = ExactIndex(values)
            places = index.places(names)
            found[places if column is None else np.isin(column.codes, places)] = 1.0
        return found

    def _bm25(self, route: Lexical, query: Query) -> Bm25:
        return self._lexical.scores(
            route, query.reading, self._rows.view, self._alive.view, self._sessions
        )

    def matched(self, route: Lexical, query: Query, rows: Rows) -> Floats:
        """Which terms each row holds, by weight (see `ops.Matched`)."""
        bm = self._bm25(route, query)
        ordinals = self._ordinals(rows)
        place = np.full(len(self) + 1, -1)  # the last takes rows that are gone
        place[ordinals] = np.arange(len(rows))
        at = place[bm.found.ordinal]
        found = np.zeros((len(rows), len(query.reading.terms)))
        here = at >= 0
        found[at[here], bm.found.term[here]] = bm.idf[bm.found.term[here]]
        return found

    def mentions(self, terms: Sequence[Term], rows: Rows) -> Floats:
        """Whether each row holds one of the terms in its content, as 1 or 0."""
        holding = np.zeros(len(self) + 1)  # the last is read for rows that are gone
        holding[self._lexical.holding(terms)] = 1.0
        return holding[self._ordinals(rows)]

    @property
    def vector_names(self) -> frozenset[str]:
        """The names of the vectors that memories have."""
        return frozenset(self._vectors)

    def vectors(self, rows: Rows, name: str) -> NDArray[np.float32]:
        """The vectors of that name of rows, NaN where one has none."""
        vectors = self._vectors.get(name)
        if vectors is None:
            return np.empty((len(rows), 0), dtype=np.float32)
        ordinals = self._ordinals(rows)
        found = vectors.take(np.maximum(ordinals, 0))
        found[ordinals < 0] = np.nan
        return found

    def beside(self, rows: Rows, where: Filter | None) -> Rows:
        """The rows right before and after each in its session, of its kind (see `ops.Beside`)."""
        sessions, kinds, passing = self._coded("session_id"), self.column("kind"), self._mask(where)
        assert isinstance(kinds, CodedColumn)
        found = np.full((2, len(rows)), -1, dtype=np.int64)
        for at, ordinal in enumerate(self._ordinals(rows).tolist()):
            session = sessions.codes[ordinal]
            if ordinal < 0 or session == sessions.code(None):
                continue
            members = self._alive.view & (sessions.codes == session)
            members &= kinds.codes == kinds.codes[ordinal]
            for side, other in enumerate(self._sessions.beside(ordinal, members)):
                if other >= 0 and (passing is None or passing[other]):
                    found[side, at] = self._rows.view[other]
        return found

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
        if name in GRAPH:
            return self._links().column(name, [self._ids[o] for o in ordinals.tolist()])
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
    kind = FIELDS[name].type if name in FIELDS else "text"
    if kind == "times":
        return TimesColumn()
    return NumberColumn() if kind in ("number", "time") else CodedColumn()


def _patchable(name: str) -> bool:
    return name.startswith("metadata.") or (name in FIELDS and FIELDS[name].patchable)
