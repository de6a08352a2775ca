"""Reading rows of memories and vectors into the cache of a search, each value once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.language.features import FEATURES
from salience.language.passages import place_of_vector
from salience.records.events import ACCESSES
from salience.records.fields import FIELDS, GRAPH
from salience.records.record import ACCESSES_KEPT, Embedding, MemoryRecord
from salience.retrieval.candidates import Floats, Rows
from salience.retrieval.vector_sets import VectorSets
from salience.stores import codec
from salience.stores.access_queue import Batch, overlay
from salience.stores.postgres.row_ids import RowIds
from salience.stores.postgres.search.read_cache import SearchCache
from salience.stores.postgres.search.row_cache import ColumnBlock, distinct
from salience.stores.postgres.sql.columns import codec_values
from salience.stores.postgres.sql.filters import Condition
from salience.stores.postgres.sql.links import rows_condition
from salience.stores.postgres.sql.passages import select_passage_vectors
from salience.stores.postgres.sql.vectors import exact_cosines
from salience.stores.postgres.wire.commands import Statement, Steps
from salience.stores.postgres.wire.types import (
    IntegerArray,
    float_array_bytes,
    float_list,
    half_bytes,
    unpack_vectors,
)

_WHOLE_RECORD_ROWS = 2_000  # up to so many rows, all values are read at once
_INLINE_CONTENT_BYTES = 8_192  # longer content is read only when it is asked for
_LISTS = frozenset(name for name, each in FIELDS.items() if each.type == "list")
_PREVIOUS = "previous."
PREVIOUS_FEATURES = frozenset(f"{_PREVIOUS}{name}" for name in FEATURES)
"""Columns about the memory right before in the session."""
_DERIVED = {*GRAPH, "position", "namespace", *PREVIOUS_FEATURES}
"""Columns that no stored value of the memory itself gives."""
_STORED_NAMES = (*FIELDS, "features", "attribute_key")
_SELECT_LAST_EVENT = "SELECT seq FROM clocks WHERE namespace = %s"


class RowReader:
    """Reads memories by row, each value once a search.

    `pending` gives the accesses of a namespace that are not written yet.
    """

    def __init__(
        self, row_ids: RowIds, cache: SearchCache, pending: Callable[[str], Sequence[Batch]]
    ) -> None:
        self._row_ids = row_ids
        self._cache = cache
        self._pending = pending

    def load(self, rows: Rows, names: Iterable[str]) -> Steps[None]:
        """Read stored values of rows; of few rows, all their values."""
        wanted = set(names)
        missing = self._cache.rows.missing(rows, wanted)
        if not len(missing):
            return
        columns = tuple(sorted(wanted | {"id"}))
        if len(missing) <= _WHOLE_RECORD_ROWS:
            columns = _STORED_NAMES
        parts = list(self._row_ids.by_namespace(missing))
        pending = [self._pending(name) if "accesses" in columns else () for name, _, _ in parts]
        selects = [select_rows(name, rows_condition(part), columns) for name, part, _ in parts]
        clocks = [
            Statement(_SELECT_LAST_EVENT, (name,))
            for (name, _, _), batches in zip(parts, pending, strict=True)
            if batches
        ]
        answers = yield [*selects, *clocks]
        ids: list[Rows] = []
        cells: list[Sequence[Any]] = []
        for (namespace, _, _), values in zip(parts, answers[: len(parts)], strict=True):
            ids.append(self._row_ids.encode(namespace, [row for row, *_ in values]))
            cells += values
        block = ColumnBlock(missing, ("row", *columns), np.concatenate(ids), cells)
        last_events = iter(answers[len(parts) :])
        for (_, part, at), batches in zip(parts, pending, strict=True):
            if batches:
                _overlay_accesses(block, missing[at], part, batches, next(last_events))
        self._cache.rows.add(block)

    def load_matching(self, namespace: str, which: Condition) -> Steps[Rows]:
        """Read the memories `m` of a condition; their rows, ascending."""
        pending = self._pending(namespace)
        clocks = [Statement(_SELECT_LAST_EVENT, (namespace,))] if pending else []
        values, *last_events = yield [select_rows(namespace, which, _STORED_NAMES), *clocks]
        values = sorted(values, key=itemgetter(0))
        numbers = np.array([row for row, *_ in values], dtype=np.int64)
        rows = self._row_ids.encode(namespace, numbers)
        block = ColumnBlock(rows, ("row", *_STORED_NAMES), rows, values)
        if pending:
            _overlay_accesses(block, rows, numbers, pending, last_events[0])
        self._cache.rows.add(block)
        return rows

    def load_features(self, rows: Rows) -> Steps[None]:
        """Read the features of rows."""
        missing = self._cache.rows.missing(rows, {"features"})
        if not len(missing):
            return
        parts = list(self._row_ids.by_namespace(missing))
        answers = yield [
            Statement(
                "SELECT array_agg(\"row\"), string_agg(features, ''::bytea) FROM memories "
                'WHERE namespace = %s AND "row" = ANY(%s::integer[])',
                (name, IntegerArray(part)),
            )
            for name, part, _ in parts
        ]
        for (namespace, _, at), [[numbers, packed]] in zip(parts, answers, strict=True):
            read = self._row_ids.encode(namespace, () if numbers is None else numbers)
            size = len(packed or b"") // max(1, len(read))
            cells = [(packed[i * size : (i + 1) * size],) for i in range(len(read))]
            self._cache.rows.blocks.append(ColumnBlock(missing[at], ("features",), read, cells))

    def load_contents(self, rows: Rows) -> Steps[None]:
        """Read the whole records of rows, long content included."""
        yield from self.load(rows, FIELDS)
        unread = self._cache.rows.columns(rows, ("content",))["content"] == None  # noqa: E711
        missing = distinct(rows[unread & self._cache.rows.exist(rows)])
        if not len(missing):
            return
        parts = list(self._row_ids.by_namespace(missing))
        answers = yield [
            Statement(
                'SELECT "row", content FROM memories WHERE namespace = %s '
                'AND "row" = ANY(%s::integer[])',
                (name, IntegerArray(part)),
            )
            for name, part, _ in parts
        ]
        for (namespace, _, at), cells in zip(parts, answers, strict=True):
            read = self._row_ids.encode(namespace, [row for row, _ in cells])
            block = ColumnBlock(missing[at], ("row", "content"), read, cells)
            self._cache.rows.blocks.append(block)

    def load_ids(self, rows: Rows) -> Steps[None]:
        """Read the ids of rows."""
        ids = self._cache.rows.ids
        missing = np.array([row for row in rows.tolist() if row not in ids], dtype=np.int64)
        if not len(missing):
            return
        parts = list(self._row_ids.by_namespace(missing))
        answers = yield [
            select_rows(name, rows_condition(part), ("id",)) for name, part, _ in parts
        ]
        ids.update(dict.fromkeys(missing.tolist(), ""))
        for (namespace, _, _), cells in zip(parts, answers, strict=True):
            read = self._row_ids.encode(namespace, [row for row, _ in cells]).tolist()
            ids.update(zip(read, (id for _, id in cells), strict=True))

    def load_vectors(self, rows: Rows, name: str) -> Steps[None]:
        """Read the vectors of a stored name of rows."""
        missing = self._cache.rows.missing_vectors(name, rows)
        if not len(missing):
            return
        parts = list(self._row_ids.by_namespace(missing))
        answers = yield [
            Statement(
                "SELECT array_agg(\"row\"), string_agg(halfvec_send(vector), ''::bytea) FROM "
                'vectors WHERE namespace = %s AND name = %s AND "row" = ANY(%s::integer[])',
                (namespace, name, IntegerArray(part)),
            )
            for namespace, part, _ in parts
        ]
        for (namespace, _, _), [[numbers, packed]] in zip(parts, answers, strict=True):
            self.add_vectors(namespace, name, numbers, packed)
        none = self._cache.rows.missing_vectors(name, missing)
        self._cache.rows.add_vectors(name, none, np.empty((len(none), 0), dtype=np.float32))

    def add_vectors(self, namespace: str, name: str, numbers: Any, packed: bytes | None) -> Rows:
        """Add vectors, packed as they were read, of rows of a namespace; the ids of these rows."""
        rows = self._row_ids.encode(namespace, () if numbers is None else numbers)
        for at, vectors in unpack_vectors(packed, len(rows)):
            self._cache.rows.add_vectors(name, rows[at], vectors)
        return rows

    def load_passage_vectors(self, rows: Rows) -> Steps[None]:
        """Read the vectors of the passages of rows, of those that may have some."""
        vectors_of, snapshots = self._cache.passage_vectors, self._cache.snapshots
        missing = np.array([r for r in rows.tolist() if r not in vectors_of], dtype=np.int64)
        parts = []
        for namespace, part, _ in self._row_ids.by_namespace(missing):
            snapshot = snapshots[namespace]
            long = snapshot.long_rows(part) if snapshot.passage_vectors else part[:0]
            if len(long):
                parts.append((namespace, snapshot.passage_vectors, long))
        vectors_of.update((row, []) for row in missing.tolist())
        if not parts:
            return
        answers = yield [select_passage_vectors(*part[:2], part[2].tolist()) for part in parts]
        for (namespace, _, _), read in zip(parts, answers, strict=True):
            ids = self._row_ids.encode(namespace, [row for row, _, _ in read]).tolist()
            for id, (_, name, vector) in zip(ids, read, strict=True):
                decoded = codec.decode_vector(half_bytes(vector))
                vectors_of[id].append((place_of_vector(VectorSets.plain_name(name)), decoded))

    def passage_cosines(self, rows: Rows, query: Embedding) -> Floats:
        """The cosine of the nearest passage of each row, NaN where none has been read."""
        best = np.full(len(rows), np.nan)
        for place, row in enumerate(rows.tolist()):
            vectors = [
                vector
                for _, vector in self._cache.passage_vectors.get(row, ())
                if len(vector) == len(query)
            ]
            if vectors:
                best[place] = exact_cosines(np.stack(vectors), query).max()
        return best

    # Values that were read

    def records(self, rows: Rows) -> list[MemoryRecord | None]:
        """The records of rows whose contents were read, None where there is no memory."""
        records: list[MemoryRecord | None] = [None] * len(rows)
        by_row = self._cache.rows.values(rows, FIELDS)
        for namespace, _, at in self._row_ids.by_namespace(rows):
            for i in at.tolist():
                values = by_row[i]
                if values is not None:
                    records[i] = codec.record_of(namespace, codec_values(values))
        return records

    def previous_rows(self, rows: Rows) -> Rows:
        """The row right before each in its session, -1 for none; needs their snapshots."""
        previous = np.full(len(rows), -1, dtype=np.int64)
        for namespace, part, at in self._row_ids.by_namespace(rows):
            ordinals = self._cache.snapshots[namespace].place_column("previous", part)
            ids = self._row_ids.encode(namespace, ordinals + 1)
            previous[at] = np.where(ordinals >= 0, ids, -1)
        return previous

    def columns(self, rows: Rows, names: Iterable[str]) -> dict[str, NDArray[Any]]:
        """Columns of rows whose stored values were read."""
        names = tuple(names)
        stored = self._cache.rows.columns(rows, stored_names(names))
        columns: dict[str, NDArray[Any]] = {}
        features: dict[str, NDArray[np.float64]] = {}
        for name in names:
            if name == "namespace":
                columns[name] = _object_column(self._row_ids.namespace_by_row(rows))
                continue
            if name.removeprefix(_PREVIOUS) not in FEATURES:
                values = stored.get(_stored_name(name))
                columns[name] = (
                    self._session_positions(rows) if values is None else _column_of(name, values)
                )
                continue
            prefix = _PREVIOUS if name in PREVIOUS_FEATURES else ""
            if prefix not in features:
                features[prefix] = _feature_matrix(
                    self._cache.rows.columns(self.previous_rows(rows), ("features",))["features"]
                    if prefix
                    else stored["features"]
                )
            place = FEATURES.index(name.removeprefix(_PREVIOUS))
            columns[name] = features[prefix][:, place].copy()
        never_none = [name for name in names if name in _LISTS or name == "namespace"]
        if never_none:
            gone = ~self._cache.rows.exist(rows)
            for name in never_none:
                columns[name][gone] = None
        return columns

    def _session_positions(self, rows: Rows) -> Floats:
        column = np.full(len(rows), np.nan)
        for namespace, part, at in self._row_ids.by_namespace(rows):
            position = self._cache.snapshots[namespace].place_column("position", part)
            column[at] = np.where(position >= 0, position, np.nan)
        return column


def select_rows(namespace: str, which: Condition, names: Sequence[str]) -> Statement:
    """Read values of the memories `m` of a condition, each after its row."""
    columns = ", ".join(map(_select_expression, names))
    return Statement(
        f'SELECT m."row", {columns} FROM memories m WHERE m.namespace = %s AND {which.sql}',
        (namespace, *which.parameters),
    )


def _select_expression(name: str) -> str:
    if name == "metadata":
        return "m.metadata::text"
    if name == "content":
        return f"CASE WHEN octet_length(m.content) <= {_INLINE_CONTENT_BYTES} THEN m.content END"
    return f"m.{name}"


def _overlay_accesses(
    block: ColumnBlock,
    rows: Rows,
    numbers: Rows,
    pending: Sequence[Batch],
    last_event: Sequence[Any],
) -> None:
    """Count in the accesses that had not been written when the rows were read."""
    seq = last_event[0][0] if last_event else 0
    accessed = {row for batch in pending for row in batch.rows}
    for row, number in zip(rows.tolist(), numbers.tolist(), strict=True):
        values = block.values_of(row, ACCESSES) if number in accessed else None
        if values is not None:
            values["accesses"] = codec.pack_times(float_list(values["accesses"]))
            changes = overlay(pending, seq, number, values)
            changes["accesses"] = float_array_bytes(codec.unpack_times(changes["accesses"]))
            block.update(row, changes)


def _stored_name(column: str) -> str:
    """The stored value of a memory that a column comes from."""
    if column.startswith("metadata."):
        return "metadata"
    return "features" if column in FEATURES else column


def stored_names(columns: Iterable[str]) -> set[str]:
    """The stored values of memories that columns come from."""
    return {_stored_name(column) for column in columns if column not in _DERIVED}


def _object_column(values: Sequence[Any]) -> NDArray[Any]:
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _column_of(name: str, values: NDArray[Any]) -> NDArray[Any]:
    """A column out of the stored values that it comes from."""
    if name == "accesses":
        return _access_times(values)
    if name in _LISTS:
        return _object_column([tuple(value or ()) for value in values.tolist()])
    if name.startswith("metadata."):
        key = name.removeprefix("metadata.")
        return _object_column([codec.metadata_value(value, key) for value in values.tolist()])
    return values


def _feature_matrix(blobs: NDArray[Any]) -> NDArray[np.float64]:
    """The features of each memory: shape (memories, features), NaN where there is none."""
    size = 4 * len(FEATURES)
    missing = np.full(len(FEATURES), np.nan, dtype=np.float32).tobytes()
    flat = b"".join([missing if blob is None else blob[:size] for blob in blobs.tolist()])
    return np.frombuffer(flat, np.float32).reshape(-1, len(FEATURES)).astype(np.float64)


def _access_times(values: NDArray[Any]) -> NDArray[np.float64]:
    """The latest access times of each memory: shape (memories, ACCESSES_KEPT), padded with NaN."""
    matrix = np.full((len(values), ACCESSES_KEPT), np.nan)
    for row, packed in zip(matrix, values.tolist(), strict=True):
        if packed is not None:
            latest = float_list(packed)[:ACCESSES_KEPT]
            row[: len(latest)] = latest
    return matrix
