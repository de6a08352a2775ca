"""What a search has seen: what its later operations are answered from without another round trip.

Row numbers are counted within a namespace. To those who ask, a row is that number and, above its 28
bits, a number that this process gave the namespace; rows stay below 2^53, so that a column of
floats holds them exactly.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.errors import StoreError
from salience.language.features import FEATURES
from salience.records.events import ACCESSES
from salience.records.fields import ACCESSES_KEPT, FIELDS, GRAPH
from salience.records.filters import Filter
from salience.records.record import MemoryRecord
from salience.retrieval.candidates import Floats, Rows
from salience.retrieval.operations import Edge
from salience.stores import codec
from salience.stores.access_queue import Batch, overlay
from salience.stores.index.bm25 import WordScores
from salience.stores.index.postings import Segment
from salience.stores.postgres.search.snapshot import NamespaceSnapshot
from salience.stores.postgres.sql.filters import Condition
from salience.stores.postgres.sql.links import those
from salience.stores.postgres.wire.commands import Statement, Steps
from salience.stores.postgres.wire.types import Integers, numbered, numbers, unpacked

_ROW_BITS = 28
_MOST_SPACES = 1 << 25
_WHOLE = 2_000  # memories up to which all that is kept of them is read at once
_LONG = 8_192  # bytes of content beyond which it is read only when asked for
_LISTS = frozenset(name for name, each in FIELDS.items() if each.type == "list")
PREVIOUS = "previous."
BEFORE = frozenset(f"{PREVIOUS}{name}" for name in FEATURES)
"""Columns that tell of the memory right before in the session."""
BESIDE = {*GRAPH, "position", "namespace", *BEFORE}
"""Columns that are not of a memory by itself."""


Column = NDArray[Any]
_NUMBERS = frozenset(name for name, each in FIELDS.items() if each.type in ("number", "time"))

_NONE: NDArray[np.intp] = np.empty(0, dtype=np.intp)


def placed(among: Rows, rows: Rows) -> NDArray[np.intp]:
    """Where rows stand among ascending ones, -1 for those that are not there."""
    if not len(among):
        return np.full(len(rows), -1)
    at = np.searchsorted(among, rows)
    at[at == len(among)] = 0
    return np.where(among[at] == rows, at, -1)


def ascending(rows: Rows) -> Rows:
    """Distinct rows in ascending order."""
    return rows if (rows[1:] > rows[:-1]).all() else np.unique(rows)


def _empty(name: str, size: int) -> Column:
    numeric = name in _NUMBERS
    return np.full(size, np.nan if numeric else None, dtype=float if numeric else object)


class ColumnBlock:
    """Values that were read of some rows, by name; None where there is no such memory."""

    def __init__(
        self, rows: Rows, names: Sequence[str], found: Rows, cells: Sequence[Sequence[Any]]
    ) -> None:
        """`rows` (ascending) were asked for, and of `found` these cells came."""
        self.rows = rows
        self.there = np.zeros(len(rows), dtype=bool)
        at = np.searchsorted(rows, found)
        self.there[at] = True
        if len(found) < len(rows) or (np.diff(at) < 0).any():
            every: list[Sequence[Any]] = [(None,) * len(names)] * len(rows)
            for place, cell in zip(at.tolist(), cells, strict=True):
                every[place] = cell
            cells = every
        columns = zip(*cells, strict=True) if len(cells) else ((),) * len(names)
        self.values: dict[str, Sequence[Any]] = dict(zip(names, columns, strict=True))
        self._columns: dict[str, Column] = {}

    def column(self, name: str) -> Column:
        """One of the values of all rows: numbers as float64, anything else as objects."""
        known = self._columns.get(name)
        if known is None:
            values = self.values[name]
            if name in _NUMBERS:
                known = np.array(values, dtype=np.float64)
            else:
                known = np.empty(len(values), dtype=object)
                known[:] = values
            self._columns[name] = known
        return known

    def of(self, row: int, names: Iterable[str]) -> dict[str, Any] | None:
        """Values of a row, None where there is no memory."""
        [place] = placed(self.rows, np.array([row])).tolist()
        if place < 0 or not self.there[place]:
            return None
        return {name: self.values[name][place] for name in names}

    def change(self, row: int, changes: Mapping[str, Any]) -> None:
        """Let values of a row be others than were read."""
        [place] = placed(self.rows, np.array([row])).tolist()
        for name, value in changes.items():
            values = list(self.values[name])
            values[place] = value
            self.values[name] = values
            self._columns.pop(name, None)


@dataclass(eq=False)
class RowCache:
    """The blocks that were read so far, and vectors by name."""

    blocks: list[ColumnBlock] = field(default_factory=list)
    ids: dict[int, str] = field(default_factory=dict)
    _vectors: dict[str, list[tuple[Rows, NDArray[np.float32]]]] = field(default_factory=dict)

    def take(self, block: ColumnBlock) -> None:
        """Take in a block, which has ids."""
        if not len(block.rows):
            return
        self.blocks.append(block)
        ids = zip(block.rows.tolist(), block.values["id"], strict=True)
        self.ids.update((row, id) for row, id in ids if id is not None)

    def missing(self, rows: Rows, wanted: Set[str]) -> Rows:
        """The rows, ascending, of which some of the wanted values were not read."""
        left = ascending(rows)
        for block in self.blocks:
            if len(left) and wanted <= block.values.keys():
                left = left[placed(block.rows, left) < 0]
        return left

    def there(self, rows: Rows) -> NDArray[np.bool_]:
        """Whether rows, which were read, have a memory."""
        found = np.zeros(len(rows), dtype=bool)
        for block in self.blocks:
            at = placed(block.rows, rows)
            found |= (at >= 0) & block.there[at]
        return found

    def columns(self, rows: Rows, names: Iterable[str]) -> dict[str, Column]:
        """Values of rows, as they were read last; None or NaN where there is no memory."""
        wanted = set(names)
        found: dict[str, Column] = {}
        for block in self.blocks:
            shared = wanted & block.values.keys()
            at = placed(block.rows, rows) if shared else _NONE
            here = at >= 0
            whole = bool(here.all())
            for name in shared if whole or here.any() else ():
                if whole:
                    found[name] = block.column(name)[at]
                else:
                    found.setdefault(name, _empty(name, len(rows)))
                    found[name][here] = block.column(name)[at[here]]
        return {name: found[name] if name in found else _empty(name, len(rows)) for name in wanted}

    def records(self, rows: Rows, names: Iterable[str]) -> list[dict[str, Any] | None]:
        """The values of rows by name, None where there is no memory."""
        found: list[dict[str, Any]] = [{} for _ in range(len(rows))]
        wanted = set(names)
        for block in self.blocks:
            shared = wanted & block.values.keys()
            for kept, place in zip(found, placed(block.rows, rows).tolist(), strict=True):
                if place >= 0:
                    kept.update((name, block.values[name][place]) for name in shared)
        there = self.there(rows).tolist()
        return [kept if it else None for kept, it in zip(found, there, strict=True)]

    # Vectors

    def see_vectors(self, name: str, rows: Rows, vectors: NDArray[np.float32]) -> None:
        """Take in vectors of rows; those without one have a vector without dimensions."""
        order = np.argsort(rows)
        self._vectors.setdefault(name, []).append((rows[order], vectors[order]))

    def unvectored(self, name: str, rows: Rows) -> Rows:
        """The rows, ascending, whose vectors of a name were not asked for."""
        left = ascending(rows)
        for among, _ in self._vectors.get(name, ()):
            left = left[placed(among, left) < 0]
        return left

    def vectors(self, name: str, rows: Rows) -> NDArray[np.float32]:
        """The vectors of rows, NaN where there is none: float32 of shape (rows, dimensions)."""
        parts = [
            (at, vectors)
            for among, vectors in self._vectors.get(name, ())
            if vectors.shape[1] and ((at := placed(among, rows)) >= 0).any()
        ]
        wide = max((vectors.shape[1] for _, vectors in parts), default=0)
        found = np.full((len(rows), wide), np.nan, dtype=np.float32)
        for at, vectors in parts:
            if vectors.shape[1] == wide:
                found[at >= 0] = vectors[at[at >= 0]]
        return found


class RowIds:
    """The numbers that this process gave to namespaces."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._number_of: dict[str, int] = {}
        self._lock = threading.Lock()

    def rows(self, namespace: str, rows: Any) -> Rows:
        """Rows of a namespace as they are given out."""
        with self._lock:
            number = self._number_of.get(namespace)
            if number is None:
                number = self._number_of[namespace] = len(self._names)
                if number >= _MOST_SPACES:
                    raise StoreError("one process can use no more than 33,554,432 namespaces")
                self._names.append(namespace)
        return np.asarray(rows, dtype=np.int64) + (number << _ROW_BITS)

    def names(self, rows: Rows) -> set[str]:
        """The namespaces of rows."""
        numbers = rows >> _ROW_BITS
        if len(numbers) and (numbers == numbers[0]).all():
            numbers = numbers[:1]
        return {self._names[number] for number in np.unique(numbers).tolist()}

    def names_by_row(self, rows: Rows) -> list[str]:
        """The namespace of each row."""
        return [self._names[number] for number in (rows >> _ROW_BITS).tolist()]

    def parts(self, rows: Rows) -> Iterator[tuple[str, NDArray[np.int64], NDArray[np.intp]]]:
        """Rows by namespace: its name, the rows within it, and their places."""
        if not len(rows):
            return
        numbers, within = rows >> _ROW_BITS, rows & ((1 << _ROW_BITS) - 1)
        if (numbers == numbers[0]).all():
            yield self._names[numbers[0]], within, np.arange(len(rows))
            return
        for number in np.unique(numbers).tolist():
            places = np.flatnonzero(numbers == number)
            yield self._names[number], within[places], places


@dataclass(eq=False)
class Around:
    """What was seen around memories that pass a filter, by row."""

    where: Filter | None = None
    linked: set[int] = field(default_factory=set)  # the rows all of whose links are among `edges`
    edges: list[Edge] = field(default_factory=list)
    beside: dict[int, tuple[int, int]] = field(default_factory=dict)  # before and behind, or -1


@dataclass(eq=False)
class SearchCache:
    """What was seen by the search that a thread runs at the moment."""

    known: dict[str, NamespaceSnapshot] = field(default_factory=dict)
    segments: dict[str, dict[str, list[Segment]]] = field(default_factory=dict)
    scores: dict[tuple[str, Any], WordScores] = field(default_factory=dict)
    seen: RowCache = field(default_factory=RowCache)
    around: Around = field(default_factory=Around)
    cosines: dict[tuple[str, str], tuple[Rows, Floats]] = field(default_factory=dict)
    """By namespace and vector name: rows, ascending, and their cosines, where all were compared."""
    kept: frozenset[str] = frozenset()
    """The namespaces that are answered about out of this process's memory."""
    begun: frozenset[str] = frozenset()
    """Those of them that were brought up to date for a search that is still to come."""

    def around_within(self, where: Filter | None) -> Around:
        """What was seen around memories that pass a filter."""
        if where != self.around.where:
            self.around = Around(where)
        return self.around


# Reading memories

_KEPT = (*FIELDS, "features")
_CLOCK = "SELECT seq FROM clocks WHERE namespace = %s"


def _expression(name: str) -> str:
    if name == "metadata":
        return "m.metadata::text"
    if name == "content":
        return f"CASE WHEN octet_length(m.content) <= {_LONG} THEN m.content END"
    return f"m.{name}"


def select(namespace: str, which: Condition, names: Sequence[str]) -> Statement:
    """Read values of the memories `m` of a condition, each after its row."""
    columns = ", ".join(map(_expression, names))
    return Statement(
        f'SELECT m."row", {columns} FROM memories m WHERE m.namespace = %s AND {which.sql}',
        (namespace, *which.parameters),
    )


class Reader:
    """Reads memories by row, each only once a search; `waiting` gives a namespace's accesses that
    are not written yet."""

    def __init__(self, numbers: RowIds, waiting: Callable[[str], Sequence[Batch]]) -> None:
        self.numbers = numbers
        self._waiting = waiting

    def load(self, sight: SearchCache, rows: Rows, names: Iterable[str]) -> Steps[None]:
        """See that some kept values of rows are in sight; of few rows, all are read."""
        wanted = set(names)
        missing = sight.seen.missing(rows, wanted)
        if not len(missing):
            return
        asked = tuple(sorted(wanted | {"id"}))
        if len(missing) <= _WHOLE:
            asked = _KEPT
        parts = list(self.numbers.parts(missing))
        waits = [self._waiting(name) if "accesses" in asked else () for name, _, _ in parts]
        clocks = [Statement(_CLOCK, (parts[i][0],)) for i, waiting in enumerate(waits) if waiting]
        answers = yield [*(select(name, those(part), asked) for name, part, _ in parts), *clocks]
        given: list[Rows] = []
        cells: list[Sequence[Any]] = []
        for (namespace, _, _), kept in zip(parts, answers[: len(parts)], strict=True):
            given.append(self.numbers.rows(namespace, [values[0] for values in kept]))
            cells += kept
        block = ColumnBlock(missing, ("row", *asked), np.concatenate(given), cells)
        seqs = iter(answers[len(parts) :])
        for (_, part, places), waiting in zip(parts, waits, strict=True):
            if waiting:
                _overlaid(block, missing[places], part, waiting, next(seqs))
        sight.seen.take(block)

    def found(self, sight: SearchCache, namespace: str, which: Condition) -> Steps[Rows]:
        """See that the memories `m` of a condition are in sight; their rows, ascending."""
        waiting = self._waiting(namespace)
        clocks = [Statement(_CLOCK, (namespace,))] if waiting else []
        kept, *seqs = yield [select(namespace, which, _KEPT), *clocks]
        kept = sorted(kept, key=itemgetter(0))
        within = np.array([values[0] for values in kept], dtype=np.int64)
        given = self.numbers.rows(namespace, within)
        block = ColumnBlock(given, ("row", *_KEPT), given, kept)
        if waiting:
            _overlaid(block, given, within, waiting, seqs[0])
        sight.seen.take(block)
        return given

    def features(self, sight: SearchCache, rows: Rows) -> Steps[None]:
        """See that the features of rows are in sight."""
        missing = sight.seen.missing(rows, {"features"})
        if not len(missing):
            return
        parts = list(self.numbers.parts(missing))
        answers = yield [
            Statement(
                "SELECT array_agg(\"row\"), string_agg(features, ''::bytea) FROM memories "
                'WHERE namespace = %s AND "row" = ANY(%s::integer[])',
                (name, Integers(part)),
            )
            for name, part, _ in parts
        ]
        for (namespace, _, places), [[given, packed]] in zip(parts, answers, strict=True):
            found = self.numbers.rows(namespace, () if given is None else given)
            size = len(packed or b"") // max(1, len(found))
            cells = [(packed[at * size : (at + 1) * size],) for at in range(len(found))]
            sight.seen.blocks.append(ColumnBlock(missing[places], ("features",), found, cells))

    def contents(self, sight: SearchCache, rows: Rows) -> Steps[None]:
        """See that the words of rows are in sight, long ones, too."""
        yield from self.load(sight, rows, FIELDS)
        unread = sight.seen.columns(rows, ("content",))["content"] == None  # noqa: E711
        missing = ascending(rows[unread & sight.seen.there(rows)])
        if not len(missing):
            return
        parts = list(self.numbers.parts(missing))
        answers = yield [
            Statement(
                'SELECT "row", content FROM memories WHERE namespace = %s '
                'AND "row" = ANY(%s::integer[])',
                (name, Integers(part)),
            )
            for name, part, _ in parts
        ]
        for (namespace, _, places), kept in zip(parts, answers, strict=True):
            given = self.numbers.rows(namespace, [row for row, _ in kept])
            sight.seen.blocks.append(ColumnBlock(missing[places], ("row", "content"), given, kept))

    def identified(self, sight: SearchCache, rows: Rows) -> Steps[None]:
        """See that the ids of rows are in sight."""
        ids = sight.seen.ids
        missing = np.array([r for r in rows.tolist() if r not in ids], dtype=np.int64)
        if not len(missing):
            return
        parts = list(self.numbers.parts(missing))
        found = yield [select(name, those(part), ("id",)) for name, part, _ in parts]
        ids.update(dict.fromkeys(missing.tolist(), ""))
        for (namespace, _, _), kept in zip(parts, found, strict=True):
            given = self.numbers.rows(namespace, [row for row, _ in kept]).tolist()
            ids.update(zip(given, (id for _, id in kept), strict=True))

    def vectors(self, sight: SearchCache, rows: Rows, name: str) -> Steps[None]:
        """See that the vectors of a name of rows are in sight."""
        missing = sight.seen.unvectored(name, rows)
        if not len(missing):
            return
        parts = list(self.numbers.parts(missing))
        answers = yield [
            Statement(
                "SELECT array_agg(\"row\"), string_agg(halfvec_send(vector), ''::bytea) FROM "
                'vectors WHERE namespace = %s AND name = %s AND "row" = ANY(%s::integer[])',
                (namespace, name, Integers(part)),
            )
            for namespace, part, _ in parts
        ]
        for (namespace, _, _), [[given, packed]] in zip(parts, answers, strict=True):
            self.see_vectors(sight, namespace, name, given, packed)
        none = sight.seen.unvectored(name, missing)
        sight.seen.see_vectors(name, none, np.empty((len(none), 0), dtype=np.float32))

    def see_vectors(
        self, sight: SearchCache, namespace: str, name: str, rows: Any, packed: bytes | None
    ) -> Rows:
        """Take in vectors as they were read; the rows that they are of."""
        given = self.numbers.rows(namespace, () if rows is None else rows)
        for places, vectors in unpacked(packed, len(given)):
            sight.seen.see_vectors(name, given[places], vectors)
        return given

    def records(self, sight: SearchCache, rows: Rows) -> list[MemoryRecord | None]:
        """The records of rows whose words are in sight."""
        found: list[MemoryRecord | None] = [None] * len(rows)
        kept = sight.seen.records(rows, FIELDS)
        for namespace, _, places in self.numbers.parts(rows):
            for place in places.tolist():
                each = kept[place]
                found[place] = None if each is None else codec.record(namespace, plain(each))
        return found

    def previous(self, sight: SearchCache, rows: Rows) -> Rows:
        """The row right before each in its session, -1 for none; its namespace is in sight."""
        found = np.full(len(rows), -1, dtype=np.int64)
        for namespace, part, places in self.numbers.parts(rows):
            before = sight.known[namespace].beside(part, "previous")
            given = self.numbers.rows(namespace, before + 1)
            found[places] = np.where(before >= 0, given, -1)
        return found

    def columns(
        self, sight: SearchCache, rows: Rows, names: Iterable[str]
    ) -> dict[str, NDArray[Any]]:
        """Columns of rows whose values are in sight."""
        names = tuple(names)
        kept = sight.seen.columns(rows, needed(names))
        found: dict[str, NDArray[Any]] = {}
        features: dict[str, NDArray[np.float64]] = {}
        for name in names:
            if name == "namespace":
                found[name] = _objects(self.numbers.names_by_row(rows))
                continue
            if name.removeprefix(PREVIOUS) not in FEATURES:
                own = kept.get(kept_name(name))
                found[name] = self._positions(sight, rows) if own is None else _made(name, own)
                continue
            source = PREVIOUS if name in BEFORE else ""
            if source not in features:
                features[source] = _features(
                    sight.seen.columns(self.previous(sight, rows), ("features",))["features"]
                    if source
                    else kept["features"]
                )
            place = FEATURES.index(name.removeprefix(PREVIOUS))
            found[name] = features[source][:, place].copy()
        made = [name for name in names if name in _LISTS or name == "namespace"]
        if made:
            gone = ~sight.seen.there(rows)
            for name in made:
                found[name][gone] = None
        return found

    def _positions(self, sight: SearchCache, rows: Rows) -> Floats:
        found = np.full(len(rows), np.nan)
        for namespace, part, places in self.numbers.parts(rows):
            at = sight.known[namespace].beside(part, "position")
            found[places] = np.where(at >= 0, at, np.nan)
        return found


def _overlaid(
    block: ColumnBlock, rows: Rows, given: Rows, waiting: Sequence[Batch], answer: Sequence[Any]
) -> None:
    """Count in what had not been written when the rows were read."""
    seq = answer[0][0] if answer else 0
    counted = {row for batch in waiting for row in batch.rows}
    for row, own in zip(rows.tolist(), given.tolist(), strict=True):
        kept = block.of(row, ACCESSES) if own in counted else None
        if kept is not None:
            kept["accesses"] = codec.packed(numbers(kept["accesses"]))
            changes = overlay(waiting, seq, own, kept)
            changes["accesses"] = numbered(codec.unpacked(changes["accesses"]))
            block.change(row, changes)


def kept_name(column: str) -> str:
    """The kept value of a memory that a column is made of."""
    if column.startswith("metadata."):
        return "metadata"
    return "features" if column in FEATURES else column


def needed(columns: Iterable[str]) -> set[str]:
    """The kept values of memories that columns are made of."""
    return {kept_name(column) for column in columns if column not in BESIDE}


def plain(kept: dict[str, Any]) -> dict[str, Any]:
    """Kept values as `codec` has them: JSON for lists, bytes for times."""
    found = dict(kept)
    for name in ("tags", "entities"):
        found[name] = codec.encode(name, tuple(kept[name])) if kept[name] else None
    found["accesses"] = codec.packed(numbers(kept["accesses"]))
    found["access_count"] = int(kept["access_count"])
    return found


def _objects(values: Sequence[Any]) -> NDArray[Any]:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def _made(name: str, values: NDArray[Any]) -> NDArray[Any]:
    """A column out of the values it is made of."""
    if name == "accesses":
        return _times(values)
    if name in _LISTS:
        return _objects([tuple(value or ()) for value in values.tolist()])
    if name.startswith("metadata."):
        key = name.removeprefix("metadata.")
        return _objects([codec.metadata_value(value, key) for value in values.tolist()])
    return values


def _features(blobs: NDArray[Any]) -> NDArray[np.float64]:
    """The features of each memory: shape (memories, features), NaN where there is none."""
    size = 4 * len(FEATURES)
    missing = np.full(len(FEATURES), np.nan, dtype=np.float32).tobytes()
    flat = b"".join([missing if blob is None else blob[:size] for blob in blobs.tolist()])
    return np.frombuffer(flat, np.float32).reshape(-1, len(FEATURES)).astype(np.float64)


def _times(values: NDArray[Any]) -> NDArray[np.float64]:
    found = np.full((len(values), ACCESSES_KEPT), np.nan)
    for row, times in zip(found, values.tolist(), strict=True):
        if times is not None:
            latest = numbers(times)[:ACCESSES_KEPT]
            row[: len(latest)] = latest
    return found
