"""What a search has seen: what its later operations are answered from without another round trip.

Row numbers are counted within a namespace. To those who ask, a row is that number and, above its 28
bits, a number that this process gave the namespace; rows stay below 2^53, so that a column of
floats holds them exactly.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.candidates import Floats, Rows
from recollect.errors import StoreError
from recollect.features import FEATURES
from recollect.fields import ACCESSES_KEPT, FIELDS, GRAPH
from recollect.index.bm25 import Bm25
from recollect.index.postings import Segment
from recollect.memory import MemoryRecord
from recollect.stores import codec
from recollect.stores.postgres.database import Command, Statement, Steps
from recollect.stores.postgres.known import Known
from recollect.stores.postgres.values import Integers, numbers

_ROW_BITS = 28
_MOST_SPACES = 1 << 25
_WHOLE = 2_000  # memories up to which all that is kept of them is read at once
_LONG = 8_192  # bytes of content beyond which it is read only when asked for
PREVIOUS = "previous."


class Numbers:
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

    def parts(self, rows: Rows) -> Iterator[tuple[str, NDArray[np.int64], NDArray[np.intp]]]:
        """Rows by namespace: its name, the rows within it, and their places."""
        numbers = rows >> _ROW_BITS
        for number in np.unique(numbers).tolist():
            places = np.flatnonzero(numbers == number)
            yield self._names[number], rows[places] & ((1 << _ROW_BITS) - 1), places


@dataclass(eq=False)
class Sight:
    """What was seen by the search that a thread runs at the moment."""

    known: dict[str, Known] = field(default_factory=dict)
    segments: dict[str, dict[str, list[Segment]]] = field(default_factory=dict)
    scores: dict[tuple[str, Any], Bm25] = field(default_factory=dict)
    records: dict[int, dict[str, Any] | None] = field(default_factory=dict)
    ids: dict[int, str] = field(default_factory=dict)
    vectors: dict[str, dict[int, Any]] = field(default_factory=dict)
    cosines: dict[tuple[str, str], tuple[Rows, Floats]] = field(default_factory=dict)
    """By namespace and vector name: rows, ascending, and their cosines, where all were compared."""


def together(parts: Sequence[Steps[Any]]) -> Steps[list[Any]]:
    """Several steps at once: what they ask for at the same time goes into the same round trip."""
    answers: list[Any] = [None] * len(parts)
    waiting: dict[int, Sequence[Command]] = {}

    def advance(place: int, results: list[Any] | None) -> None:
        part = parts[place]
        try:
            waiting[place] = next(part) if results is None else part.send(results)
        except StopIteration as end:
            waiting.pop(place, None)
            answers[place] = end.value

    for place in range(len(parts)):
        advance(place, None)
    while waiting:
        commands: list[Command] = []
        at: dict[int, list[int]] = {}
        for place, asked in waiting.items():
            at[place] = [_place(commands, command) for command in asked]
        results = yield commands
        for place, places in at.items():
            advance(place, [results[i] for i in places])
    return answers


def _place(commands: list[Command], command: Command) -> int:
    """Where a command stands among those to send; it is added unless it is there."""
    for i, known in enumerate(commands):
        if known is command or (_plain(known) and _plain(command) and known == command):
            return i
    commands.append(command)
    return len(commands) - 1


def _plain(command: Command) -> bool:
    return isinstance(command, Statement) and not any(
        isinstance(value, np.ndarray) for value in command.parameters
    )


# Reading memories

_KEPT = (*FIELDS, "features", "position", *(f"{PREVIOUS}{name}" for name in ("features",)))


def _expression(name: str) -> str:
    if name == "position":
        return "p.position"
    if name == "previous.features":
        return "b.features"
    if name == "metadata":
        return "m.metadata::text"
    if name == "content":
        return f"CASE WHEN octet_length(m.content) <= {_LONG} THEN m.content END"
    return f"m.{name}"


def _select(namespace: str, rows: Rows, names: Sequence[str]) -> Statement:
    columns = ", ".join(_expression(name) for name in names)
    joins = ""
    if "position" in names or "previous.features" in names:
        joins += ' JOIN places p ON p.namespace = m.namespace AND p."row" = m."row"'
    if "previous.features" in names:
        joins += ' LEFT JOIN memories b ON b.namespace = m.namespace AND b."row" = p.previous'
    return Statement(
        f'SELECT m."row", {columns} FROM memories m{joins} '
        'WHERE m.namespace = %s AND m."row" = ANY(%s::integer[])',
        (namespace, Integers(rows)),
    )


class Reader:
    """Reads memories by row, each only once a search."""

    def __init__(self, numbers: Numbers) -> None:
        self.numbers = numbers

    def load(self, sight: Sight, rows: Rows, names: Iterable[str]) -> Steps[None]:
        """See that some kept values of rows are in sight."""
        wanted = set(names)
        missing = np.array(
            [row for row in rows.tolist() if not _holds(sight.records.get(row, {}), wanted)],
            dtype=np.int64,
        )
        if not len(missing):
            return
        asked = _KEPT if len(missing) <= _WHOLE else tuple(sorted(wanted | {"id"}))
        parts = list(self.numbers.parts(missing))
        found = yield [_select(name, part, asked) for name, part, _ in parts]
        for (namespace, part, _), kept in zip(parts, found, strict=True):
            sight.records.update(dict.fromkeys(self.numbers.rows(namespace, part).tolist()))
            given = self.numbers.rows(namespace, [values[0] for values in kept]).tolist()
            for row, values in zip(given, kept, strict=True):
                sight.records[row] = dict(zip(asked, values[1:], strict=True))
                sight.ids[row] = sight.records[row]["id"]  # type: ignore[index]

    def contents(self, sight: Sight, rows: Rows) -> Steps[None]:
        """See that the words of rows are in sight, long ones, too."""
        yield from self.load(sight, rows, FIELDS)
        missing = [
            row
            for row in rows.tolist()
            if (kept := sight.records[row]) is not None and kept["content"] is None
        ]
        if missing:
            parts = list(self.numbers.parts(np.array(missing, dtype=np.int64)))
            found = yield [
                Statement(
                    'SELECT "row", content FROM memories WHERE namespace = %s '
                    'AND "row" = ANY(%s::integer[])',
                    (name, Integers(part)),
                )
                for name, part, _ in parts
            ]
            for (namespace, _, _), kept in zip(parts, found, strict=True):
                for row, content in kept:
                    sight.records[int(self.numbers.rows(namespace, row))]["content"] = content  # type: ignore[index]

    def identified(self, sight: Sight, rows: Rows) -> Steps[None]:
        """See that the ids of rows are in sight."""
        missing = np.array([r for r in rows.tolist() if r not in sight.ids], dtype=np.int64)
        if not len(missing):
            return
        parts = list(self.numbers.parts(missing))
        found = yield [
            Statement(
                'SELECT "row", id FROM memories WHERE namespace = %s '
                'AND "row" = ANY(%s::integer[])',
                (name, Integers(part)),
            )
            for name, part, _ in parts
        ]
        sight.ids.update(dict.fromkeys(missing.tolist(), ""))
        for (namespace, _, _), kept in zip(parts, found, strict=True):
            given = self.numbers.rows(namespace, [row for row, _ in kept]).tolist()
            sight.ids.update(zip(given, (id for _, id in kept), strict=True))

    def vectors(self, sight: Sight, rows: Rows, name: str) -> Steps[None]:
        """See that the vectors of a name of rows are in sight."""
        seen = sight.vectors.setdefault(name, {})
        missing = np.array([row for row in rows.tolist() if row not in seen], dtype=np.int64)
        if not len(missing):
            return
        parts = list(self.numbers.parts(missing))
        found = yield [
            Statement(
                'SELECT "row", vector FROM vectors WHERE namespace = %s AND name = %s '
                'AND "row" = ANY(%s::integer[])',
                (namespace, name, Integers(part)),
            )
            for namespace, part, _ in parts
        ]
        seen.update(dict.fromkeys(missing.tolist()))
        for (namespace, _, _), kept in zip(parts, found, strict=True):
            given = self.numbers.rows(namespace, [row for row, _ in kept]).tolist()
            seen.update(zip(given, (vector for _, vector in kept), strict=True))

    def record(self, sight: Sight, row: int) -> MemoryRecord | None:
        """The record of a row whose words are in sight."""
        kept = sight.records.get(row)
        if kept is None:
            return None
        [(namespace, _, _)] = self.numbers.parts(np.array([row], dtype=np.int64))
        return codec.record(namespace, plain(kept))

    def columns(self, sight: Sight, rows: Rows, names: Iterable[str]) -> dict[str, NDArray[Any]]:
        """Columns of rows whose values are in sight."""
        kept = [sight.records[row] for row in rows.tolist()]
        found: dict[str, NDArray[Any]] = {}
        features: dict[str, NDArray[np.float64]] = {}
        for name in names:
            source = kept_name(name)
            if name.removeprefix(PREVIOUS) not in FEATURES:
                found[name] = self._column(kept, source, name)
                continue
            if source not in features:
                features[source] = _features(
                    [None if each is None else each[source] for each in kept]
                )
            place = FEATURES.index(name.removeprefix(PREVIOUS))
            found[name] = features[source][:, place].copy()
        return found

    def _column(
        self, kept: Sequence[dict[str, Any] | None], source: str, name: str
    ) -> NDArray[Any]:
        values = [None if each is None else each[source] for each in kept]
        if name == "position":
            return np.array([v if v is not None and v >= 0 else np.nan for v in values], float)
        if name == "accesses":
            return _times(values)
        kind = FIELDS[name].type if name in FIELDS else "json"
        if kind in ("number", "time"):
            return np.array(values, dtype=np.float64)
        if kind == "list":
            values = [None if r is None else tuple(v or ()) for r, v in zip(kept, values)]  # noqa: B905
        elif name.startswith("metadata."):
            key = name.removeprefix("metadata.")
            values = [codec.metadata_value(value, key) for value in values]
        return _objects(values)


def _holds(kept: dict[str, Any] | None, wanted: set[str]) -> bool:
    return kept is None or wanted <= kept.keys()


def kept_name(column: str) -> str:
    """The kept value that a column is made of."""
    if column.startswith("metadata."):
        return "metadata"
    if column in FEATURES:
        return "features"
    if column.removeprefix(PREVIOUS) in FEATURES:
        return "previous.features"
    return column


def needed(columns: Iterable[str]) -> set[str]:
    """The kept values that columns are made of."""
    return {kept_name(column) for column in columns if column not in GRAPH}


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


def _features(blobs: Sequence[bytes | None]) -> NDArray[np.float64]:
    """The features of each memory: shape (memories, features), NaN where there is none."""
    size = 4 * len(FEATURES)
    missing = np.full(len(FEATURES), np.nan, dtype=np.float32).tobytes()
    flat = b"".join([missing if blob is None else blob[:size] for blob in blobs])
    return np.frombuffer(flat, np.float32).reshape(-1, len(FEATURES)).astype(np.float64)


def _times(values: Sequence[Any]) -> NDArray[np.float64]:
    found = np.full((len(values), ACCESSES_KEPT), np.nan)
    for row, times in zip(found, values, strict=True):
        if times is not None:
            latest = numbers(times)[:ACCESSES_KEPT]
            row[: len(latest)] = latest
    return found
