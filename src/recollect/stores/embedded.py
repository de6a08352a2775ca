"""The embedded store: durable records on one side, an in-memory index per namespace on the other.

Records are written through `Records`; the index learns of it by the records' change feed, as it
learns of the writes of other processes. So there is one way for data to flow, and an index can be
dropped and loaded anew at any time. Only accesses it counts in ahead of the feed.
"""

from __future__ import annotations

import base64
import json
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from recollect import ops
from recollect.candidates import Held, Rows, best_first
from recollect.errors import InvalidInput, StoreClosed
from recollect.events import Event
from recollect.index.namespace import NamespaceIndex
from recollect.index.source import Version
from recollect.memory import Link, MemoryRecord
from recollect.routes import During, Scan, Vector
from recollect.stores.codec import vector_bytes, vector_of
from recollect.stores.helper import Helper
from recollect.stores.records import Records

_RANKING = frozenset({ops.Names, ops.VectorNames, ops.Search})
"""Operations of one batch that look at one state of the store."""
_MANY = 300_000  # memories from which on a second thread is worth its waiting
_MEMORY_LIMIT = 3 << 30  # bytes of indexes kept; beyond it the one used longest ago is dropped


_Holding = tuple[NamespaceIndex, Rows, slice | NDArray[np.intp]]


class _Seen(threading.local):
    """Which state of the store the batch of each thread looks at."""

    version: Version | None = None


class EmbeddedStore:
    """A store in this process over `records`."""

    def __init__(self, records: Records, memory_limit: int = _MEMORY_LIMIT) -> None:
        self._records = records
        self._memory_limit = memory_limit
        self._indexes: OrderedDict[str, tuple[NamespaceIndex, int]] = OrderedDict()
        self._sizes: dict[str, int] = {}  # bytes of each index when it was last refreshed
        self._held = 0  # and of all of them
        self._lock = threading.RLock()
        self._last_holding: tuple[Rows, list[_Holding]] | None = None
        self._seen = _Seen()
        self._helper = Helper()
        self._closed = False

    def batch(self, batch: Sequence[ops.Op]) -> list[Any]:
        """Answer every operation, in order."""
        self._last_holding = self._seen.version = None
        searches = [op for op in batch if isinstance(op, ops.Search)]
        if searches and len(searches) == len(batch) and self._divisible(searches):
            return self._side_by_side(searches)
        return [self._answer(op) for op in batch]

    def _divisible(self, searches: Sequence[ops.Search]) -> bool:
        """Whether one query is compared with many vectors, and something else is looked for too."""
        query = searches[0].query
        if len(query.namespaces) > 1 or any(op.query is not query for op in searches):
            return False
        index, _ = self._indexes.get(query.namespaces[0], ((), 0))
        return len(index) >= _MANY and len({isinstance(op.route, Vector) for op in searches}) == 2

    def _side_by_side(self, searches: Sequence[ops.Search]) -> list[ops.Ranking]:
        """Compare vectors in a second thread while this one looks for words.

        The two share which memories pass the filter, so that is worked out before.
        """
        compared = {at: op for at, op in enumerate(searches) if isinstance(op.route, Vector)}
        with self._lock:  # the index may not change until both are done
            query = searches[0].query
            index = self._index(query.namespaces[0])
            index.mask(query.where)
            others = self._helper.begin(
                lambda: {at: _ranking(op, [index]) for at, op in compared.items()}
            )
            try:
                found = {
                    at: _ranking(op, [index])
                    for at, op in enumerate(searches)
                    if at not in compared
                }
            finally:
                found_by_vector = others()
        found.update(found_by_vector)
        return [found[at] for at in range(len(searches))]

    def embedder(self) -> str | None:
        """Identity of the embedder of the stored vectors."""
        return self._records.embedder()

    def flush(self) -> None:
        """Write queued touches."""
        self._records.flush()

    def close(self) -> None:
        """Flush and release everything."""
        if not self._closed:
            self._closed = True
            self._helper.close()
            self._records.close()
            self._indexes.clear()

    def _answer(self, op: ops.Op) -> Any:
        if self._closed:
            raise StoreClosed("the store is closed; open it again with Memory.open(...)")
        kind = type(op)
        if kind not in _RANKING:
            self._seen.version = None  # what is asked next may have to see what this one writes
        answer = self._ANSWERS.get(kind)
        if answer is None:
            raise TypeError(f"a store does not answer {kind.__name__}")
        return answer(self, op)

    # Indexes

    def _index(self, namespace: str) -> NamespaceIndex:
        """The current index of a namespace."""
        version = self._seen.version
        if version is None:
            version = self._seen.version = self._records.version()
        known = self._indexes.get(namespace)
        index = known[0] if known else NamespaceIndex(self._records, namespace)
        if known is None or known[1] != version.epoch:
            index.refresh()
            self._indexes[namespace] = (index, version.epoch)
            self._shrink(namespace)
        else:
            index.has_seen(version.seq)
        self._indexes.move_to_end(namespace)
        return index

    def _shrink(self, keep: str) -> None:
        """Drop the indexes used longest ago while all together are too large."""
        size = self._indexes[keep][0].nbytes
        self._held += size - self._sizes.get(keep, 0)
        self._sizes[keep] = size
        while self._held > self._memory_limit and len(self._indexes) > 1:
            oldest = next(name for name in self._indexes if name != keep)
            del self._indexes[oldest]
            self._held -= self._sizes.pop(oldest)

    def _holding(self, rows: Rows) -> list[_Holding]:
        """The indexes that hold some of the rows, with those rows and their places.

        The operations of a batch are about the same rows, so the last answer is kept.
        """
        if self._last_holding is not None and self._last_holding[0] is rows:
            return self._last_holding[1]
        found: list[_Holding] = []
        missing = np.ones(len(rows), dtype=bool)
        for index in self._candidates(rows, missing):
            here = missing & index.contains(rows)
            if here.all():
                found.append((index, rows, slice(None)))
                break
            if here.any():
                found.append((index, rows[here], np.flatnonzero(here)))
                missing &= ~here
                if not missing.any():
                    break
        self._last_holding = (rows, found)
        return found

    def _candidates(self, rows: Rows, missing: NDArray[np.bool_]) -> Iterator[NamespaceIndex]:
        """The loaded indexes; then those of rows still missing, dropped since they were found."""
        for index, _ in reversed(list(self._indexes.values())):
            yield index
        left = self._records.read(rows[missing].tolist()).values() if missing.any() else ()
        for namespace in sorted({record.namespace for record in left} - set(self._indexes)):
            yield self._index(namespace)

    # Operations

    def _names(self, op: ops.Names) -> ops.Named:
        with self._lock:
            found = [
                self._index(namespace).named(op.words, op.proper) for namespace in op.namespaces
            ]
        names: dict[str, frozenset[str]] = {}
        for each in found:
            for word, who in each.names.items():
                names[word] = names.get(word, frozenset()) | who
        return ops.Named(
            names,
            frozenset().union(*(each.users for each in found)),
            frozenset().union(*(each.assistants for each in found)),
        )

    def _search(self, op: ops.Search) -> ops.Ranking:
        with self._lock:
            return _ranking(op, [self._index(namespace) for namespace in op.query.namespaces])

    def _score(self, op: ops.Score) -> NDArray[np.float64]:
        scores = np.full(len(op.rows), np.nan)
        with self._lock:
            for index, rows, places in self._holding(op.rows):
                scores[places] = index.score(op.route, op.query, rows, op.of)
        return scores

    def _matched(self, op: ops.Matched) -> NDArray[np.float64]:
        found = np.zeros((len(op.rows), len(op.query.reading.terms)))
        with self._lock:
            for index, rows, places in self._holding(op.rows):
                found[places] = index.matched(op.route, op.query, rows)
        return found

    def _mentions(self, op: ops.Mentions) -> NDArray[np.float64]:
        found = np.zeros(len(op.rows))
        with self._lock:
            for index, rows, places in self._holding(op.rows):
                found[places] = index.mentions(op.terms, rows)
        return found

    def _fetch(self, op: ops.Fetch) -> dict[str, Held]:
        with self._lock:
            holding = self._holding(op.rows)
            if len(holding) == 1 and holding[0][1] is op.rows:
                return holding[0][0].fetch(op.rows, op.names)
            columns: dict[str, NDArray[Any]] = {}
            for index, rows, places in holding:
                for name, held in index.fetch(rows, op.names).items():
                    values = np.asarray(held)
                    if name not in columns:
                        empty = None if values.dtype == object else np.nan
                        shape = (len(op.rows), *values.shape[1:])
                        columns[name] = np.full(shape, empty, dtype=values.dtype)
                    columns[name][places] = values
            for name in op.names:
                columns.setdefault(name, np.full(len(op.rows), np.nan))
            return dict(columns)

    def _read(self, op: ops.Read) -> list[MemoryRecord | None]:
        found = self._records.read(op.rows.tolist())
        return [found.get(row) for row in op.rows.tolist()]

    def _texts(self, op: ops.Texts) -> list[str | None]:
        found = self._records.read(op.rows.tolist())
        return [found[row].content if row in found else None for row in op.rows.tolist()]

    def _vectors(self, op: ops.Vectors) -> NDArray[np.float32]:
        with self._lock:
            parts = [
                (places, index.vectors(rows, op.name))
                for index, rows, places in self._holding(op.rows)
            ]
        wide = max((part.shape[1] for _, part in parts), default=0)
        found = np.full((len(op.rows), wide), np.nan, dtype=np.float32)
        for places, part in parts:
            if part.shape[1] == wide:
                found[places] = part
        return found

    def _vector_names(self, op: ops.VectorNames) -> frozenset[str] | None:
        with self._lock:
            indexes = [self._index(namespace) for namespace in op.namespaces]
            if not any(index.living for index in indexes):
                return None
            return frozenset[str]().union(*(index.vector_names for index in indexes))

    def _linked(self, op: ops.Linked) -> list[ops.Edge]:
        found: list[ops.Edge] = []
        with self._lock:
            for index, rows, _ in self._holding(op.rows):
                if index.namespace not in op.query.namespaces:
                    continue
                ids = index.ids_of(index.linked(rows))
                links = self._records.neighbors(index.namespace, ids)
                ends = {end for link in links for end in (link.source, link.target)}
                row_of = self._records.find(index.namespace, sorted(ends))
                rows = np.array(sorted(row_of.values()), dtype=np.int64)
                passing = set(rows[index.passing(rows, op.query.where)].tolist())
                found += [
                    ops.Edge(row_of[link.source], row_of[link.target], link.weight, link.type)
                    for link in links
                    if {row_of.get(link.source), row_of.get(link.target)} <= passing
                ]
        return found

    def _beside(self, op: ops.Beside) -> Rows:
        found = np.full((2, len(op.rows)), -1, dtype=np.int64)
        with self._lock:
            for index, rows, places in self._holding(op.rows):
                found[:, places] = index.beside(rows, op.query.where)
        return found

    def _same(self, op: ops.Same) -> dict[int, tuple[int, ...]]:
        return self._records.same(op.namespace, op.keys)

    def _alike(self, op: ops.Alike) -> list[tuple[int, float] | None]:
        with self._lock:
            return self._index(op.namespace).alike(op.name, op.vectors, op.least, op.where)

    def _find(self, op: ops.Find) -> dict[str, int]:
        return self._records.find(op.namespace, op.ids)

    def _list(self, op: ops.List) -> ops.Page:
        after = _parse_cursor(op.cursor)
        entries: list[tuple[float, str, int]] = []
        with self._lock:
            for namespace in op.namespaces:
                index = self._index(namespace)
                rows = index.matching(op.where)
                [created] = index.fetch(rows, ("created_at",)).values()
                entries += zip(
                    (-np.asarray(created)).tolist(),
                    index.ids_of(rows),
                    rows.tolist(),
                    strict=True,
                )
        entries.sort()
        start = 0
        if after is not None:
            start = next((i for i, e in enumerate(entries) if (e[0], e[1]) > after), len(entries))
        page = entries[start : start + op.limit]
        found = self._records.read([row for _, _, row in page])
        more = start + op.limit < len(entries)
        return ops.Page(
            tuple(found[row] for _, _, row in page if row in found),
            len(entries),
            _cursor(page[-1]) if more and page else None,
        )

    def _order(self, op: ops.Order) -> Rows:
        return np.array(self._records.order(op.namespace), dtype=np.int64)

    def _put(self, op: ops.Put) -> tuple[str, ...]:
        return self._records.put(op)

    def _dimensions(self, op: ops.Dimensions) -> dict[str, int]:
        return self._records.dimensions(op.namespace, op.names)

    def _log(self, op: ops.Log) -> tuple[str, ...]:
        return self._records.log(op.namespace, op.events)

    def _notes(self, op: ops.Notes) -> dict[str, str]:
        return self._records.notes(op.namespace)

    def _note(self, op: ops.Note) -> bool:
        return self._records.note(op)

    def _events(self, op: ops.Events) -> list[Event]:
        return self._records.events(op)

    def _former_vectors(self, op: ops.FormerVectors) -> list[tuple[int, str, NDArray[np.float32]]]:
        found = self._records.former_vectors(op.namespace)
        return [(seq, name, vector_of(blob)) for seq, name, blob in found]

    def _mend(self, op: ops.Mend) -> None:
        self._records.mend(op.namespace, op.values)

    def _touch(self, op: ops.Touch) -> None:
        rows = op.rows.tolist()
        if not rows:
            return
        at = op.at.timestamp()
        with self._lock:
            if not self._records.touch(op):
                return
            for index, rows, _ in self._holding(op.rows):
                index.touch(rows, at)

    def _delete(self, op: ops.Delete) -> int:
        if op.ids is not None:
            rows: list[int] | None = sorted(self._records.find(op.namespace, op.ids).values())
        elif op.where is not None:
            with self._lock:
                rows = self._index(op.namespace).matching(op.where).tolist()
        else:
            rows = None
        return self._records.delete(op.namespace, rows)

    def _unembedded(self, op: ops.Unembedded) -> Rows:
        rows = self._records.unembedded(op.namespace, op.name, op.limit)
        return np.array(rows, dtype=np.int64)

    def _put_vectors(self, op: ops.PutVectors) -> None:
        blobs = map(vector_bytes, op.vectors)
        given = dict(zip(op.rows.tolist(), blobs, strict=True))
        self._records.put_vectors(op.namespace, op.name, given)

    def _adopt_vectors(self, op: ops.AdoptVectors) -> bool:
        return self._records.adopt_vectors(op.source, op.target, op.embedder)

    def _neighbors(self, op: ops.Neighbors) -> list[Link]:
        return self._records.neighbors(op.namespace, op.ids)

    def _stats(self, op: ops.Stats) -> dict[str, Any]:
        counts = self._records.namespaces()
        chosen = {n: counts.get(n, 0) for n in op.namespaces} if op.namespaces else counts
        with self._lock:
            loaded = {name: index.nbytes for name, (index, _) in self._indexes.items()}
        return {
            "memories": sum(chosen.values()),
            "namespaces": chosen,
            "embedder": self._records.embedder(),
            "index_mb": round(sum(loaded.values()) / 1e6, 3),
            **self._records.stats(),
        }

    _ANSWERS: ClassVar[dict[type, Any]] = {
        ops.Best: lambda store, op: None,  # it has every column at hand
        ops.Names: _names,
        ops.Search: _search,
        ops.Score: _score,
        ops.Matched: _matched,
        ops.Mentions: _mentions,
        ops.Fetch: _fetch,
        ops.Read: _read,
        ops.Texts: _texts,
        ops.Vectors: _vectors,
        ops.VectorNames: _vector_names,
        ops.Linked: _linked,
        ops.Beside: _beside,
        ops.Same: _same,
        ops.Alike: _alike,
        ops.Find: _find,
        ops.Order: _order,
        ops.List: _list,
        ops.Put: _put,
        ops.Dimensions: _dimensions,
        ops.Log: _log,
        ops.Events: _events,
        ops.Notes: _notes,
        ops.Note: _note,
        ops.FormerVectors: _former_vectors,
        ops.Mend: _mend,
        ops.Touch: _touch,
        ops.Delete: _delete,
        ops.Unembedded: _unembedded,
        ops.PutVectors: _put_vectors,
        ops.AdoptVectors: _adopt_vectors,
        ops.Neighbors: _neighbors,
        ops.Stats: _stats,
    }


def _ranking(op: ops.Search, indexes: Sequence[NamespaceIndex]) -> ops.Ranking:
    """What a route finds in some namespaces together."""
    found = [index.search(op.route, op.query, op.depth, op.ordered) for index in indexes]
    if len(found) == 1:
        return ops.Ranking(*found[0])
    rows = np.concatenate([rows for rows, _ in found])
    scores = np.concatenate([scores for _, scores in found])
    if op.depth is None and not op.ordered:
        return ops.Ranking(rows, scores)
    if isinstance(op.route, (Scan, During)):  # newest first, wherever it is
        order = np.argsort(-rows)[: op.depth]
        return ops.Ranking(rows[order], scores[order])
    each = zip(indexes, found, strict=True)
    ids = [id for index, (own, _) in each for id in index.ids_of(own)]
    order = best_first(scores, lambda at: [ids[place] for place in at.tolist()], op.depth)
    return ops.Ranking(rows[order], scores[order])


def _cursor(entry: tuple[float, str, int]) -> str:
    return base64.urlsafe_b64encode(json.dumps([entry[0], entry[1]]).encode()).decode()


def _parse_cursor(cursor: str | None) -> tuple[float, str] | None:
    if cursor is None:
        return None
    try:
        created, id = json.loads(base64.urlsafe_b64decode(cursor.encode()))
        return float(created), str(id)
    except (ValueError, TypeError, AttributeError):
        raise InvalidInput(
            "cursor", "is not one of this listing", "pass on .cursor of the page before"
        ) from None
