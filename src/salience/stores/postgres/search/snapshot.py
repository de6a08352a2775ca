"""What a process knows of a namespace: small numbers about every memory, kept by version.

Lengths, neighbours and whether a memory lives take 33 bytes a memory; besides them there are who
speaks, and the words of the few thousand newest memories. Everything else stays on the server. A
round trip that searches also asks for what is newer than what is known.
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
from salience.language.speakers import nicknames, speakers_of
from salience.records.fields import LEXICAL
from salience.records.link_graph import LinkGraph
from salience.stores.index.words.bm25 import Lengths
from salience.stores.index.words.postings import Segment
from salience.stores.postgres.sql import postings
from salience.stores.postgres.wire.commands import Statement

_NO_INTEGERS: NDArray[np.int32] = np.empty(0, dtype=np.int32)
_PLACE_COLUMNS = ("previous", "following", "position", *LEXICAL)
_PLACES_WIDTH, _WORDS_WIDTH = (
    2 + len(_PLACE_COLUMNS),
    1 + len(LEXICAL),
)  # columns that news has of them
_SELECT_DELTA = f"""
SELECT s.counter, s.version, s.merged, s.erased, s.named, s.linked, p.*, t.*, w.*
FROM spaces s CROSS JOIN (
    SELECT array_agg("row"), array_agg(living::integer),
        {", ".join(f"array_agg({name})" for name in _PLACE_COLUMNS)}
    FROM (SELECT * FROM places WHERE namespace = %s AND version > %s ORDER BY "row") AS fresh
) AS p CROSS JOIN (
    SELECT array_agg(kind), array_agg(name), array_agg(number), array_agg(size)
    FROM tallies WHERE namespace = %s AND version > %s
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


@dataclass(frozen=True, eq=False)
class NamespaceSnapshot:
    """A namespace at one version; arrays are by ordinal, which is the row less one."""

    namespace: str
    counter: int = 0
    version: int = 0
    merged: int = 0
    erased: int = 0
    named: int = 0
    linked: int = 0
    heard: int = 0  # up to where it is known how people are called
    living: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, dtype=bool))
    columns: Mapping[str, NDArray[np.int32]] = field(
        default_factory=lambda: dict.fromkeys(_PLACE_COLUMNS, _NO_INTEGERS)
    )
    tallies: Mapping[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    greeted: Mapping[str, Mapping[str | None, int]] = field(default_factory=dict)
    tail: Mapping[str, tuple[Segment, ...]] = field(default_factory=dict)

    def news(self) -> tuple[Statement, ...]:
        """What to ask for what is newer."""
        name, since = self.namespace, (self.namespace, self.version)
        return (Statement(_SELECT_DELTA, (*since, *since, name, self.counter, name, name)),)

    def greetings(self) -> Statement:
        """What to ask for what people are called."""
        return Statement(_SELECT_GREETINGS, (self.namespace,) * 3)

    def advanced(self, results: Sequence[Any]) -> NamespaceSnapshot:
        """With the answers to `news`."""
        [head] = results
        if not head:
            return NamespaceSnapshot(self.namespace)
        [[counter, version, merged, erased, named, linked, *fresh]] = head
        if version == self.version:
            return self if merged == self.merged else self._merged(merged)
        before = self if erased == self.erased else self._emptied(erased)
        places, tallies, tail = (
            fresh[:_PLACES_WIDTH],
            fresh[_PLACES_WIDTH:-_WORDS_WIDTH],
            fresh[-_WORDS_WIDTH:],
        )
        return replace(
            before,
            counter=counter,
            version=version,
            merged=merged,
            named=named,
            linked=linked,
            **before._placed(places, counter),
            tallies=_merge_tallies(before.tallies, tallies),
            tail=before._tailed(_rows_of(tail), merged, counter),
        )

    def greeted_by(self, rows: Sequence[Any]) -> NamespaceSnapshot:
        """With the answer to `greetings`."""
        return replace(self, heard=self.named, greeted=_greetings_by_name(rows))

    def _merged(self, merged: int) -> NamespaceSnapshot:
        """After others have put the newest words into a segment."""
        return replace(self, merged=merged, tail={})

    def _emptied(self, erased: int) -> NamespaceSnapshot:
        """After everything up to a row was erased."""
        living = self.living.copy()
        living[:erased] = False
        return replace(self, erased=erased, living=living, tallies={}, greeted={}, tail={})

    def _placed(self, fresh: Sequence[Any], counter: int) -> dict[str, Any]:
        rows, living, *values = fresh
        if rows is None:
            rows = living = _NO_INTEGERS
            values = [_NO_INTEGERS] * len(_PLACE_COLUMNS)
        at = rows - 1
        alive = np.zeros(counter, dtype=bool)
        alive[: len(self.living)] = self.living
        alive[at] = living.astype(bool)
        columns = {}
        for name, given in zip(_PLACE_COLUMNS, values, strict=True):
            column = np.zeros(counter, dtype=np.int32)
            column[: len(self.columns[name])] = self.columns[name]
            column[at] = given - 1 if name in ("previous", "following") else given
            columns[name] = column
        return {"living": alive, "columns": columns}

    def _tailed(
        self, rows: Sequence[Any], merged: int, counter: int
    ) -> Mapping[str, tuple[Segment, ...]]:
        """The words outside segments; the newest are added as a segment of their own."""
        kept = {} if merged > self.merged else dict(self.tail)
        fresh = postings.build_segments(rows, max(self.counter, merged), counter) if rows else {}
        for name, segment in fresh.items():
            parts = [*kept.get(name, ()), segment]
            while len(parts) > 1 and parts[-2].size <= 8 * parts[-1].size:
                parts[-2:] = [parts[-2].merged(parts[-1])]
            kept[name] = tuple(parts)
        return kept

    def beside(self, rows: NDArray[np.int64], name: str) -> NDArray[np.int64]:
        """One of the columns at rows of the namespace, -1 at those written since."""
        found = np.full(len(rows), -1, dtype=np.int64)
        here = rows <= self.counter
        found[here] = self.columns[name][rows[here] - 1]
        return found

    @cached_property
    def neighbours(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The ordinals right before and after each in its session, -1 for none."""
        return self.columns["previous"], self.columns["following"]

    @cached_property
    def _lengths(self) -> dict[tuple[str, ...], Lengths]:
        return {}

    def lengths(self, fields: tuple[str, ...]) -> Lengths:
        """Words per memory over some fields."""
        found = self._lengths.get(fields)
        if found is None:
            each = [postings.StoredPostings((), self.columns[name]) for name in fields]
            found = self._lengths[fields] = Lengths.over(each, self.living)
        return found

    @cached_property
    def people(self) -> Speakers:
        """Who speaks here."""
        spoken = {
            name: number
            for (kind, name), (number, _) in sorted(self.tallies.items())
            if kind == "speaker" and number
        }
        return speakers_of(spoken, nicknames(self.greeted))

    @property
    def renewed_by(self) -> int:
        """The fingerprint of the embedder that made all vectors anew, 0 if none did."""
        return self.tallies.get(("renewed", ""), (0, 0))[0]

    @property
    def vectors(self) -> dict[str, int]:
        """The length of the vectors by name."""
        return {
            name: size
            for (kind, name), (number, size) in self.tallies.items()
            if kind == "vector" and number
        }

    def said(self, terms: Set[int], parts: Sequence[Segment] | None = None) -> set[int]:
        """Which terms a living memory holds, by some segments (those of the newest for None)."""
        wanted = np.array(sorted(terms), dtype=np.uint64)
        each = self.tail.get("content", ()) if parts is None else parts
        held = postings.StoredPostings(each, self.columns["content"])
        found: list[int] = wanted[held.known(wanted, self.living)].tolist()
        return set(found)

    def newer(self, other: NamespaceSnapshot) -> bool:
        """Whether this is of a later version, or knows more of the same."""
        return (self.version, self.heard) > (other.version, other.heard)

    @property
    def living_count(self) -> int:
        """The number of memories that are not erased."""
        return int(np.count_nonzero(self.living))

    @property
    def nbytes(self) -> int:
        """Memory held."""
        arrays = [self.living, *self.columns.values()]
        tail = sum(each.nbytes for parts in self.tail.values() for each in parts)
        return sum(array.nbytes for array in arrays) + tail + 200 * len(self.tallies)


def _rows_of(arrays: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Arrays, which are all there or none, as rows."""
    return [] if arrays[0] is None else list(zip(*arrays, strict=True))


def _merge_tallies(
    before: Mapping[tuple[str, str], tuple[int, int]], fresh: Sequence[Any]
) -> Mapping[tuple[str, str], tuple[int, int]]:
    rows = {(kind, name): (number, size) for kind, name, number, size in _rows_of(fresh)}
    return {**before, **rows} if rows else before


def _greetings_by_name(
    rows: Iterable[tuple[str, str | None, int]],
) -> dict[str, dict[str | None, int]]:
    found: dict[str, dict[str | None, int]] = {}
    for name, who, count in rows:
        found.setdefault(name, {})[who] = count
    return found


_CACHE_BYTES = 512 << 20  # bytes; beyond it the namespace used longest ago is forgotten


class SnapshotCache:
    """The last known state of namespaces, for all threads; a state never changes."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, NamespaceSnapshot] = OrderedDict()
        self._graphs: dict[str, tuple[int, LinkGraph]] = {}
        self._written: set[str] = set()
        self._size = 0
        self._lock = threading.Lock()

    def known(self, namespace: str) -> NamespaceSnapshot:
        """The last known state of a namespace."""
        with self._lock:
            found = self._known.get(namespace)
            if found is not None:
                self._known.move_to_end(namespace)
            return found or NamespaceSnapshot(namespace)

    def settled(self, namespace: str) -> NamespaceSnapshot | None:
        """The last known state, unless this process has written since."""
        with self._lock:
            return None if namespace in self._written else self._known.get(namespace)

    def learn(self, states: Iterable[NamespaceSnapshot]) -> None:
        """Take in what a search has seen."""
        with self._lock:
            for known in states:
                before = self._known.get(known.namespace)
                if before is known or (before is not None and before.newer(known)):
                    continue
                self._size += known.nbytes - (before.nbytes if before is not None else 0)
                self._known[known.namespace] = known
                self._known.move_to_end(known.namespace)
                self._written.discard(known.namespace)
            while self._size > _CACHE_BYTES and len(self._known) > 1:
                name, oldest = self._known.popitem(last=False)
                self._size -= oldest.nbytes
                self._graphs.pop(name, None)

    def written(self, namespaces: Iterable[str]) -> None:
        """Note that this process has written to namespaces."""
        with self._lock:
            self._written.update(namespaces)

    def graph(self, namespace: str, linked: int) -> LinkGraph | None:
        """The graph of links as of a version, if it is known."""
        with self._lock:
            found = self._graphs.get(namespace)
            return found[1] if found is not None and found[0] == linked else None

    def keep_graph(self, namespace: str, linked: int, graph: LinkGraph) -> None:
        """Remember a graph of links."""
        with self._lock:
            self._graphs[namespace] = (linked, graph)

    @property
    def nbytes(self) -> int:
        """Memory held."""
        return self._size
