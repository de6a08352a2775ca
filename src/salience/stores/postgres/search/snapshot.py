"""Snapshots: what a process knows of a namespace at a version.

Lengths, session neighbors and life or death take 33 bytes a memory; besides them a snapshot has the
speakers and the words of the few thousand newest memories. Everything else stays on the server. A
round trip that searches also asks for the delta: whatever is newer than the last snapshot.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.language.analysis_types import Speakers
from salience.language.passages import LONG_WORDS, is_vector_name
from salience.language.speakers import nicknames, speakers_of
from salience.records.fields import LEXICAL
from salience.records.link_graph import LinkGraph
from salience.retrieval.candidates import Rows
from salience.retrieval.vector_sets import VectorSets
from salience.stores.index.words.bm25 import Lengths
from salience.stores.index.words.postings import Postings, Segment
from salience.stores.postgres.sql.postings import StoredPostings, build_segments
from salience.stores.postgres.wire.commands import Statement

_LEAST_SPLIT_TERMS = LONG_WORDS // 2  # that a split text has; terms are not quite its words
_NO_INTEGERS: NDArray[np.int32] = np.empty(0, dtype=np.int32)
_PLACE_COLUMNS = ("previous", "following", "position", *LEXICAL)
_PLACES_WIDTH = 2 + len(_PLACE_COLUMNS)  # columns of `places` in a delta
_WORDS_WIDTH = 1 + len(LEXICAL)  # and of `words`
_SELECT_DELTA = f"""
SELECT (SELECT value FROM meta WHERE key = 'vectors'),
    s.born, s.counter, s.version, s.merged, s.erased, s.named, s.linked, p.*, t.*, w.*
FROM spaces s CROSS JOIN (
    SELECT array_agg("row"), array_agg(living::integer),
        {", ".join(f"array_agg({name})" for name in _PLACE_COLUMNS)}
    FROM (SELECT * FROM places WHERE namespace = %s AND version > %s ORDER BY "row") AS fresh
) AS p CROSS JOIN (
    SELECT array_agg(kind), array_agg(name), array_agg(number), array_agg(size)
    FROM tallies WHERE namespace = %s AND (version > %s OR (
        kind = 'speaker' AND %s < (SELECT named FROM spaces WHERE namespace = %s)
    ))
) AS t CROSS JOIN (
    SELECT array_agg("row"), {", ".join(f"array_agg({name})" for name in LEXICAL)} FROM (
        SELECT * FROM words WHERE namespace = %s AND "row" > greatest(
            %s, (SELECT merged FROM spaces WHERE namespace = %s)
        ) ORDER BY "row"
    ) AS fresh
) AS w
WHERE s.namespace = %s
"""
_SELECT_GREETINGS = """
WITH sessions AS (
    SELECT m.session_id, array_agg(DISTINCT m.speaker) AS voices
    FROM memories m
    WHERE m.namespace = %s AND m.session_id IN (
        SELECT session_id FROM memories WHERE namespace = %s AND greets IS NOT NULL
    )
    GROUP BY m.session_id
)
SELECT m.greets, CASE WHEN voices[1] IS NOT DISTINCT FROM m.speaker THEN voices[2]
    ELSE voices[1] END, count(*)
FROM memories m JOIN sessions USING (session_id)
WHERE m.namespace = %s AND m.greets IS NOT NULL AND cardinality(voices) = 2
GROUP BY 1, 2
"""


class Reborn(LookupError):
    """A namespace was erased and has come again: what is known of it is of the former one."""

    def __init__(self, namespace: str) -> None:
        super().__init__(namespace)
        self.namespace = namespace


@dataclass(frozen=True, eq=False)
class NamespaceSnapshot:
    """A namespace at one version; arrays are by ordinal, which is the row less one."""

    namespace: str
    born: int = 0  # the first version, by which a namespace is told from one of the same name
    counter: int = 0
    version: int = 0
    merged: int = 0
    erased: int = 0
    named: int = 0
    linked: int = 0
    greetings_version: int = 0  # of `named`, when `greetings` were read
    sets: VectorSets = VectorSets()  # noqa: RUF009 - it never changes
    previews: bool = False  # True to search as if the set of vectors beside were the searched one
    living: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, dtype=bool))
    columns: Mapping[str, NDArray[np.int32]] = field(
        default_factory=lambda: dict.fromkeys(_PLACE_COLUMNS, _NO_INTEGERS)
    )
    tallies: Mapping[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    greetings: Mapping[str, Mapping[str | None, int]] = field(default_factory=dict)
    tail: Mapping[str, tuple[Segment, ...]] = field(default_factory=dict)

    def delta_query(self) -> Statement:
        """Ask for whatever is newer."""
        name, since = self.namespace, (self.namespace, self.version)
        speakers = (self.named, name)
        return Statement(_SELECT_DELTA, (*since, *since, *speakers, name, self.counter, name, name))

    def greetings_query(self) -> Statement:
        """Ask for the names that speakers are greeted by."""
        return Statement(_SELECT_GREETINGS, (self.namespace,) * 3)

    def advance(self, rows: Sequence[Any]) -> NamespaceSnapshot:
        """The snapshot as of the answer to `delta_query`.

        Raises:
            Reborn: it is the answer of another namespace of the same name.
        """
        if not rows:
            return NamespaceSnapshot(self.namespace, sets=self.sets, previews=self.previews)
        [[stored_sets, born, counter, version, merged, erased, named, linked, *fresh]] = rows
        sets = VectorSets.from_json(stored_sets)
        sets = sets.previewed() if self.previews else sets
        if sets != self.sets:
            return replace(self, sets=sets).advance(rows)
        if self.version and born != self.born:
            raise Reborn(self.namespace)
        if version == self.version:
            return self if merged == self.merged else self._without_tail(merged)
        before = self if erased == self.erased else self._erased_up_to(erased)
        places, tallies = fresh[:_PLACES_WIDTH], fresh[_PLACES_WIDTH:-_WORDS_WIDTH]
        return replace(
            before,
            born=born,
            counter=counter,
            version=version,
            merged=merged,
            named=named,
            linked=linked,
            **before._place_arrays(places, counter),
            tallies=_merge_tallies(before.tallies, tallies, named != self.named),
            tail=before._extended_tail(_rows_of(fresh[-_WORDS_WIDTH:]), merged, counter),
        )

    def with_greetings(self, rows: Sequence[Any]) -> NamespaceSnapshot:
        """The snapshot with the answer to `greetings_query`."""
        return replace(self, greetings_version=self.named, greetings=_greetings_by_name(rows))

    def _without_tail(self, merged: int) -> NamespaceSnapshot:
        """After another process has put the newest words into a segment."""
        return replace(self, merged=merged, tail={})

    def _erased_up_to(self, erased: int) -> NamespaceSnapshot:
        """After everything up to a row was erased."""
        living = self.living.copy()
        living[:erased] = False
        return replace(self, erased=erased, living=living, tallies={}, greetings={}, tail={})

    def _place_arrays(self, fresh: Sequence[Any], counter: int) -> dict[str, Any]:
        """The arrays by ordinal, with the new and changed rows of `places`."""
        rows, living, *values = fresh
        if rows is None:
            rows = living = _NO_INTEGERS
            values = [_NO_INTEGERS] * len(_PLACE_COLUMNS)
        at = rows - 1
        alive = np.zeros(counter, dtype=bool)
        alive[: len(self.living)] = self.living
        alive[at] = living.astype(bool)
        columns = {}
        for name, new in zip(_PLACE_COLUMNS, values, strict=True):
            column = np.zeros(counter, dtype=np.int32)
            column[: len(self.columns[name])] = self.columns[name]
            column[at] = new - 1 if name in ("previous", "following") else new
            columns[name] = column
        return {"living": alive, "columns": columns}

    def _extended_tail(
        self, rows: Sequence[Any], merged: int, counter: int
    ) -> Mapping[str, tuple[Segment, ...]]:
        """The words outside segments; the newest are added as a segment of their own."""
        tail = {} if merged > self.merged else dict(self.tail)
        fresh = build_segments(rows, max(self.counter, merged), counter) if rows else {}
        for name, segment in fresh.items():
            parts = [*tail.get(name, ()), segment]
            while len(parts) > 1 and parts[-2].size <= 8 * parts[-1].size:
                parts[-2:] = [parts[-2].merged(parts[-1])]
            tail[name] = tuple(parts)
        return tail

    def place_column(self, name: str, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """One of the columns at rows of the namespace, -1 at those written since."""
        values = np.full(len(rows), -1, dtype=np.int64)
        here = rows <= self.counter
        values[here] = self.columns[name][rows[here] - 1]
        return values

    def ordinals(self, rows: Rows) -> NDArray[np.int64]:
        """The ordinals of rows of the namespace; rows written since get the last one."""
        return np.minimum(rows, max(self.counter, 1)) - 1

    def postings(self, segments: Mapping[str, Sequence[Segment]]) -> dict[str, Postings]:
        """The postings of every field: some segments as they were read, and the newest words."""
        return {
            name: StoredPostings(
                (*segments.get(name, ()), *self.tail.get(name, ())), self.columns[name]
            )
            for name in LEXICAL
        }

    @cached_property
    def neighbors(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The ordinals right before and after each in its session, -1 for none."""
        return self.columns["previous"], self.columns["following"]

    @cached_property
    def _lengths(self) -> dict[tuple[str, ...], Lengths]:
        return {}

    def lengths(self, fields: tuple[str, ...]) -> Lengths:
        """Words per memory over some fields."""
        lengths = self._lengths.get(fields)
        if lengths is None:
            postings = [StoredPostings((), self.columns[name]) for name in fields]
            lengths = self._lengths[fields] = Lengths.over(postings, self.living)
        return lengths

    @cached_property
    def speakers(self) -> Speakers:
        """The speakers and their nicknames."""
        turns_by_speaker = {
            name: number
            for (kind, name), (number, _) in sorted(self.tallies.items())
            if kind == "speaker" and number
        }
        return speakers_of(turns_by_speaker, nicknames(self.greetings))

    @property
    def dimensions(self) -> dict[str, int]:
        """The dimensions of the searched vectors by name."""
        return {
            name: size
            for (kind, stored), (number, size) in self.tallies.items()
            if kind == "vector" and number
            if (name := self.sets.searched_name(stored)) is not None
        }

    def terms_in_use(self, terms: Set[int], segments: Sequence[Segment]) -> set[int]:
        """The terms that the content of a living memory holds, according to some segments."""
        ids = np.array(sorted(terms), dtype=np.uint64)
        postings = StoredPostings(segments, self.columns["content"])
        in_use: list[int] = ids[postings.occur(ids, self.living)].tolist()
        return set(in_use)

    def vector_count(self, stored_name: str) -> int:
        """The number of vectors of a stored name."""
        return self.tallies.get(("vector", stored_name), (0, 0))[0]

    @cached_property
    def passage_vectors(self) -> tuple[str, ...]:
        """The stored names of the searched vectors of passages that there are."""
        return tuple(map(self.sets.stored_name, filter(is_vector_name, self.dimensions)))

    def long_rows(self, rows: Rows) -> Rows:
        """Those of some rows of the namespace, ascending, whose texts may be split."""
        distinct = np.unique(rows[(rows > 0) & (rows <= self.counter)])
        return distinct[self.columns["content"][distinct - 1] >= _LEAST_SPLIT_TERMS]

    def has_vector_index(self, stored_name: str) -> bool:
        """True if there is an HNSW index over the vectors of a stored name."""
        return self.tallies.get(("index", stored_name), (0, 0))[0] > 0

    def is_newer_than(self, other: NamespaceSnapshot) -> bool:
        """True if this is of a later version, or has later greetings of the same."""
        own = (self.version, self.greetings_version)
        return own > (other.version, other.greetings_version)

    @property
    def living_count(self) -> int:
        """The number of memories that are not erased."""
        return int(np.count_nonzero(self.living))

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        arrays = [self.living, *self.columns.values()]
        tail = sum(each.nbytes for parts in self.tail.values() for each in parts)
        return sum(array.nbytes for array in arrays) + tail + 200 * len(self.tallies)


def _rows_of(arrays: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Arrays of one length as rows; none if they are None."""
    return [] if arrays[0] is None else list(zip(*arrays, strict=True))


def _merge_tallies(
    before: Mapping[tuple[str, str], tuple[int, int]], fresh: Sequence[Any], all_speakers: bool
) -> Mapping[tuple[str, str], tuple[int, int]]:
    """Tallies with fresh ones, among which all of speakers are or those that have changed."""
    if all_speakers:
        before = {key: tally for key, tally in before.items() if key[0] != "speaker"}
    rows = {(kind, name): (number, size) for kind, name, number, size in _rows_of(fresh)}
    return {**before, **rows} if rows else before


def _greetings_by_name(
    rows: Iterable[tuple[str, str | None, int]],
) -> dict[str, dict[str | None, int]]:
    counts: dict[str, dict[str | None, int]] = {}
    for name, speaker, count in rows:
        counts.setdefault(name, {})[speaker] = count
    return counts


_CACHE_BYTES = 512 << 20  # beyond it, the snapshot used longest ago is forgotten


class SnapshotCache:
    """The latest snapshots of namespaces, for all threads; a snapshot never changes."""

    def __init__(self, sets: VectorSets, previews: bool = False) -> None:
        self.sets = sets.previewed() if previews else sets  # as they were last seen
        self._previews = previews
        self._snapshots: OrderedDict[str, NamespaceSnapshot] = OrderedDict()
        self._graphs: dict[str, tuple[int, LinkGraph]] = {}
        self._written: set[str] = set()
        self._size = 0
        self._lock = threading.Lock()

    def latest(self, namespace: str) -> NamespaceSnapshot:
        """The latest snapshot of a namespace, an empty one if there is none."""
        with self._lock:
            snapshot = self._snapshots.get(namespace)
            if snapshot is not None:
                self._snapshots.move_to_end(namespace)
            return snapshot or NamespaceSnapshot(namespace, sets=self.sets, previews=self._previews)

    def latest_since_write(self, namespace: str) -> NamespaceSnapshot | None:
        """The latest snapshot; None if there is none since this process wrote."""
        with self._lock:
            return None if namespace in self._written else self._snapshots.get(namespace)

    def update(self, snapshots: Iterable[NamespaceSnapshot]) -> None:
        """Keep snapshots that a search has made, unless newer ones are here."""
        with self._lock:
            for snapshot in snapshots:
                self.sets = snapshot.sets
                before = self._snapshots.get(snapshot.namespace)
                if before is snapshot or (before is not None and before.is_newer_than(snapshot)):
                    continue
                self._size += snapshot.nbytes - (before.nbytes if before is not None else 0)
                self._snapshots[snapshot.namespace] = snapshot
                self._snapshots.move_to_end(snapshot.namespace)
                self._written.discard(snapshot.namespace)
            while self._size > _CACHE_BYTES and len(self._snapshots) > 1:
                namespace, oldest = self._snapshots.popitem(last=False)
                self._size -= oldest.nbytes
                self._graphs.pop(namespace, None)

    def forget(self, namespace: str) -> None:
        """Forget the snapshot of a namespace that was erased."""
        with self._lock:
            before = self._snapshots.pop(namespace, None)
            self._size -= before.nbytes if before is not None else 0
            self._graphs.pop(namespace, None)

    def mark_written(self, namespaces: Iterable[str]) -> None:
        """Note that this process has written to namespaces."""
        with self._lock:
            self._written.update(namespaces)

    def graph(self, namespace: str, linked: int) -> LinkGraph | None:
        """The graph of links at a version, None if it is not here."""
        with self._lock:
            version, graph = self._graphs.get(namespace, (-1, None))
            return graph if version == linked else None

    def store_graph(self, namespace: str, linked: int, graph: LinkGraph) -> None:
        """Keep the graph of links at a version."""
        with self._lock:
            self._graphs[namespace] = (linked, graph)

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return self._size
