"""Reading rows of memories and vectors into the cache of a search, each value once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.language.features import FEATURES
from salience.records.events import ACCESSES
from salience.records.fields import FIELDS, GRAPH
from salience.records.record import ACCESSES_KEPT, MemoryRecord
from salience.retrieval.candidates import Floats, Rows
from salience.stores import codec
from salience.stores.access_queue import Batch, overlay
from salience.stores.postgres.row_ids import RowIds
from salience.stores.postgres.search.read_cache import SearchCache
from salience.stores.postgres.search.row_cache import ColumnBlock, distinct
from salience.stores.postgres.sql.columns import codec_values
from salience.stores.postgres.sql.filters import Condition
from salience.stores.postgres.sql.links import rows_condition
from salience.stores.postgres.wire.commands import Statement, Steps
from salience.stores.postgres.wire.types import (
    IntegerArray,
    float_array_bytes,
    float_list,
    unpack_vectors,
)

READ_WHOLE_ROWS = 2_000  # memories up to which all that is kept of them is read at once
_INLINE_CONTENT_BYTES = 8_192  # bytes of content beyond which it is read only when asked for
_LISTS = frozenset(name for name, each in FIELDS.items() if each.type == "list")
_PREVIOUS = "previous."
PREVIOUS_FEATURES = frozenset(f"{_PREVIOUS}{name}" for name in FEATURES)
"""Columns that tell of the memory right before in the session."""
NOT_STORED = {*GRAPH, "position", "namespace", *PREVIOUS_FEATURES}
"""Columns that are not of a memory by itself."""


# Reading memories

_STORED_NAMES = (*FIELDS, "features")
_LAST_EVENT = "SELECT seq FROM clocks WHERE namespace = %s"


def _select_expression(name: str) -> str:
    if name == "metadata":
        return "m.metadata::text"
    if name == "content":
        return f"CASE WHEN octet_length(m.content) <= {_INLINE_CONTENT_BYTES} THEN m.content END"
    return f"m.{name}"


def select_rows(namespace: str, which: Condition, names: Sequence[str]) -> Statement:
    """Read values of the memories `m` of a condition, each after its row."""
    columns = ", ".join(map(_select_expression, names))
    return Statement(
        f'SELECT m."row", {columns} FROM memories m WHERE m.namespace = %s AND {which.sql}',
        (namespace, *which.parameters),
    )


class RowReader:
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
        if len(missing) <= READ_WHOLE_ROWS:
            asked = _STORED_NAMES
        parts = list(self.numbers.parts(missing))
        waits = [self._waiting(name) if "accesses" in asked else () for name, _, _ in parts]
        clocks = [
            Statement(_LAST_EVENT, (parts[i][0],)) for i, waiting in enumerate(waits) if waiting
        ]
        answers = yield [
            *(select_rows(name, rows_condition(part), asked) for name, part, _ in parts),
            *clocks,
        ]
        given: list[Rows] = []
        cells: list[Sequence[Any]] = []
        for (namespace, _, _), kept in zip(parts, answers[: len(parts)], strict=True):
            given.append(self.numbers.rows(namespace, [values[0] for values in kept]))
            cells += kept
        block = ColumnBlock(missing, ("row", *asked), np.concatenate(given), cells)
        seqs = iter(answers[len(parts) :])
        for (_, part, places), waiting in zip(parts, waits, strict=True):
            if waiting:
                _overlay_accesses(block, missing[places], part, waiting, next(seqs))
        sight.seen.take(block)

    def found(self, sight: SearchCache, namespace: str, which: Condition) -> Steps[Rows]:
        """See that the memories `m` of a condition are in sight; their rows, ascending."""
        waiting = self._waiting(namespace)
        clocks = [Statement(_LAST_EVENT, (namespace,))] if waiting else []
        kept, *seqs = yield [select_rows(namespace, which, _STORED_NAMES), *clocks]
        kept = sorted(kept, key=itemgetter(0))
        within = np.array([values[0] for values in kept], dtype=np.int64)
        given = self.numbers.rows(namespace, within)
        block = ColumnBlock(given, ("row", *_STORED_NAMES), given, kept)
        if waiting:
            _overlay_accesses(block, given, within, waiting, seqs[0])
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
                (name, IntegerArray(part)),
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
        missing = distinct(rows[unread & sight.seen.there(rows)])
        if not len(missing):
            return
        parts = list(self.numbers.parts(missing))
        answers = yield [
            Statement(
                'SELECT "row", content FROM memories WHERE namespace = %s '
                'AND "row" = ANY(%s::integer[])',
                (name, IntegerArray(part)),
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
        found = yield [select_rows(name, rows_condition(part), ("id",)) for name, part, _ in parts]
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
                (namespace, name, IntegerArray(part)),
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
        for places, vectors in unpack_vectors(packed, len(given)):
            sight.seen.see_vectors(name, given[places], vectors)
        return given

    def records(self, sight: SearchCache, rows: Rows) -> list[MemoryRecord | None]:
        """The records of rows whose words are in sight."""
        found: list[MemoryRecord | None] = [None] * len(rows)
        kept = sight.seen.records(rows, FIELDS)
        for namespace, _, places in self.numbers.parts(rows):
            for place in places.tolist():
                each = kept[place]
                found[place] = (
                    None if each is None else codec.record_of(namespace, codec_values(each))
                )
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
        kept = sight.seen.columns(rows, stored_names(names))
        found: dict[str, NDArray[Any]] = {}
        features: dict[str, NDArray[np.float64]] = {}
        for name in names:
            if name == "namespace":
                found[name] = _object_column(self.numbers.names_by_row(rows))
                continue
            if name.removeprefix(_PREVIOUS) not in FEATURES:
                own = kept.get(stored_name(name))
                found[name] = self._positions(sight, rows) if own is None else _column_of(name, own)
                continue
            source = _PREVIOUS if name in PREVIOUS_FEATURES else ""
            if source not in features:
                features[source] = _feature_matrix(
                    sight.seen.columns(self.previous(sight, rows), ("features",))["features"]
                    if source
                    else kept["features"]
                )
            place = FEATURES.index(name.removeprefix(_PREVIOUS))
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


def _overlay_accesses(
    block: ColumnBlock, rows: Rows, given: Rows, waiting: Sequence[Batch], answer: Sequence[Any]
) -> None:
    """Count in what had not been written when the rows were read."""
    seq = answer[0][0] if answer else 0
    counted = {row for batch in waiting for row in batch.rows}
    for row, own in zip(rows.tolist(), given.tolist(), strict=True):
        kept = block.of(row, ACCESSES) if own in counted else None
        if kept is not None:
            kept["accesses"] = codec.pack_times(float_list(kept["accesses"]))
            changes = overlay(waiting, seq, own, kept)
            changes["accesses"] = float_array_bytes(codec.unpack_times(changes["accesses"]))
            block.change(row, changes)


def stored_name(column: str) -> str:
    """The kept value of a memory that a column is made of."""
    if column.startswith("metadata."):
        return "metadata"
    return "features" if column in FEATURES else column


def stored_names(columns: Iterable[str]) -> set[str]:
    """The kept values of memories that columns are made of."""
    return {stored_name(column) for column in columns if column not in NOT_STORED}


def _object_column(values: Sequence[Any]) -> NDArray[Any]:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def _column_of(name: str, values: NDArray[Any]) -> NDArray[Any]:
    """A column out of the values it is made of."""
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
    found = np.full((len(values), ACCESSES_KEPT), np.nan)
    for row, times in zip(found, values.tolist(), strict=True):
        if times is not None:
            latest = float_list(times)[:ACCESSES_KEPT]
            row[: len(latest)] = latest
    return found
