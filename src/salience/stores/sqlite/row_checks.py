"""Checks of the rows of a SQLite file: by their checksums, and by what they belong to."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from functools import partial
from sys import float_info
from typing import Any

from salience.display.result import to_json
from salience.records.events import STATE, Event
from salience.records.fields import FIELDS
from salience.records.record import Draft, MemoryRecord
from salience.retrieval.safety import Finding
from salience.stores import codec, findings
from salience.stores.findings import Problem, Quarantine, RowChecks
from salience.stores.sqlite.connection import DAMAGED
from salience.stores.sqlite.dialect import space_of
from salience.stores.sqlite.row_checksums import CHECKED, DERIVED, checksum_of
from salience.stores.sqlite.statements import checksum, chunks
from salience.stores.tables.commands import worded

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_FIRST_SECOND = datetime.min.replace(tzinfo=timezone.utc).timestamp()
_NO_CONTENTS = MemoryRecord("", "", "", created_at=_EPOCH, updated_at=_EPOCH)
_COLUMNS = ("row", "checksum", *CHECKED["memories"])
_OF_NAMESPACES = ("events", "links", "vectors", "former_vectors", "notes")
_OF_THE_FILE = ("spaces", "meta", "access_keys", "erasures")
_NOT_MOVED_OUT = ("spaces", "meta")  # nothing would be right without them
LogEvent = Callable[[sqlite3.Connection, int, int, Event], object]
"""Logs an event of the memory with a sequence number, in a namespace by its number."""


class SqliteRowChecks(RowChecks):
    """The checks of all rows, or of those of one namespace and of what all share."""

    owned = ("vectors", "events", "links", "former_vectors")
    vector_bytes = "length(t.vector)"

    def __init__(
        self,
        db: sqlite3.Connection,
        quarantine: Quarantine,
        log_event: LogEvent | None = None,
        namespace: str | None = None,
    ) -> None:
        super().__init__(quarantine)
        db.text_factory = partial(str, encoding="utf-8", errors="backslashreplace")
        self._db = db
        self._log_event = log_event
        self.confirmed: list[int] = []  # what other programs worked out as this one does
        self._spaces = () if namespace is None else (space_of(db, namespace),)
        self._within = "" if namespace is None else "space = ? AND "

    def damage(self) -> Iterator[Problem]:
        """Rows whose checksums do not fit."""
        yield from self._damaged_memories()
        yield from self._unreadable_memories()
        for table in _OF_NAMESPACES:
            yield from self._damaged_rows(table, self._within, self._spaces)
        for table in _OF_THE_FILE:
            yield from self._damaged_rows(table)

    def unfit(self) -> Iterator[Problem]:
        """Rows without an owner, vectors that cannot be compared, words of other texts."""
        yield from self.orphans()
        yield from self._nameless()
        yield from self.odd_dimensions()
        yield from self.missing_vectors()
        yield from self._stale_words()

    # Damage

    def _damaged_memories(self) -> Iterator[Problem]:
        where = f"{self._within}checksum IS NOT {checksum_of('memories')}"
        damaged = {
            stored["row"]: _recomputed(stored, must_fit=True)
            for stored in self._memories(where, self._spaces)
        }
        repairs = {row: values for row, values in damaged.items() if values is not None}
        if repairs:
            problem = f"what {len(repairs):,} memories are found by is damaged"
            remedy = f"{findings.FIX} recomputes it from their texts"
            finding = Finding("memories", problem, len(repairs), self._names(repairs), remedy)
            yield Problem(finding, partial(_set_derived, repairs=repairs))
        lost = [row for row in damaged if row not in repairs]
        if lost:
            problem = f"{len(lost):,} memories are damaged"
            finding = Finding("memories", problem, len(lost), self._names(lost), self.remedy)
            yield Problem(finding, partial(self._take_memories, rows=lost))

    def _unreadable_memories(self) -> Iterator[Problem]:
        """Memories with a value that no event gives and nothing reads: no checksum covers it."""
        where = f"{self._within}NOT ({' AND '.join(map(_is_readable, STATE))})"
        rows = [row for row, in self._db.execute(
            f"SELECT row FROM memories WHERE {where}", self._spaces
        )]  # fmt: skip
        if rows:
            problem = f"{len(rows):,} memories cannot be read"
            finding = Finding("memories", problem, len(rows), self._names(rows), self.remedy)
            yield Problem(finding, partial(self._take_memories, rows=rows))

    def _memories(self, where: str, values: Sequence[Any] = ()) -> Iterator[dict[str, Any]]:
        """The stored values of the memories that pass a condition."""
        select = f"SELECT {', '.join(_COLUMNS)} FROM memories WHERE {where}"
        for row in self._db.execute(select, values):
            yield dict(zip(_COLUMNS, row, strict=True))

    def _names(self, rows: object) -> tuple[str, ...]:
        some = ", ".join(str(row) for row in list(rows)[: findings.EXAMPLES])  # type: ignore[call-overload]
        return tuple(
            str(id) for (id,) in self._db.execute(f"SELECT id FROM memories WHERE row IN ({some})")
        )

    def _take(
        self, db: sqlite3.Connection, table: str, where: str, values: Sequence[Any], why: str
    ) -> None:
        """Write the rows that pass a condition to the quarantine, then delete them."""
        rows_found = worded(f"FROM {table} AS t WHERE {where}").sqlite
        cursor = db.execute(f"SELECT * {rows_found}", values)
        names = [column[0] for column in cursor.description]
        spaces: dict[Any, str] = dict(db.execute("SELECT space, name FROM spaces"))
        rows = (dict(zip(names, row, strict=True)) for row in cursor)
        self.quarantine.keep(table, ((spaces.get(row.get("space")), row) for row in rows), why)
        db.execute(f"DELETE {rows_found}", values)

    def select(self, sql: str, values: Sequence[Any]) -> list[Any]:
        return self._db.execute(worded(sql).sqlite, values).fetchall()

    def taking(
        self, table: str, where: str, values: Sequence[Any], why: str
    ) -> Callable[[sqlite3.Connection], object]:
        return partial(self._take, table=table, where=where, values=values, why=why)

    def _take_memories(self, db: sqlite3.Connection, rows: list[int]) -> None:
        """Take memories out, with all that belongs to them."""
        for row in rows:
            memory = db.execute(
                "SELECT space, id, sequence FROM memories WHERE row = ?", (row,)
            ).fetchone()
            if memory is None:
                continue
            space, id, sequence = memory
            take = partial(self._take, db, why="damaged memory")
            take("vectors", "row = ?", (row,))
            take("former_vectors", "space = ? AND memory = ?", (space, sequence))
            take("links", "space = ? AND (source = ? OR target = ?)", (space, id, id))
            take("events", "space = ? AND memory = ?", (space, sequence))
            take("memories", "row = ?", (row,))

    def _damaged_rows(
        self, table: str, within: str = "", spaces: Sequence[Any] = ()
    ) -> Iterator[Problem]:
        where = f"{within}checksum IS NOT {checksum_of(table)}"
        count = self.count(table, where, *spaces)
        if not count:
            return
        is_of_others = bool(self._within) and not within
        names = () if is_of_others else self.names(table, where, *spaces)
        remedy = DAMAGED if table in _NOT_MOVED_OUT else self.remedy
        if table == "vectors":
            remedy += f"; then {findings.REMAKE} again"
        finding = Finding(table, f"{count:,} rows of {table} are damaged", count, names, remedy)

        def mend(db: sqlite3.Connection) -> None:
            memories = set[tuple[int, int]]()
            if table == "events":
                memories = set(db.execute(f"SELECT space, memory FROM events WHERE {where}"))
            self._take(db, table, where, (), "damaged")
            for space, memory in memories:
                self._begin_history_anew(db, space, memory)

        yield Problem(finding, None if table in _NOT_MOVED_OUT else mend)

    def _begin_history_anew(self, db: sqlite3.Connection, space: int, sequence: int) -> None:
        """Log what a memory is now, as its history has a gap."""
        columns = ", ".join(STATE)
        row = db.execute(
            f"SELECT id, {columns} FROM memories WHERE space = ? AND sequence = ?",
            (space, sequence),
        ).fetchone()
        if row is None or self._log_event is None:
            return
        id, *values = row
        state = {n: codec.decode(n, value) for n, value in zip(STATE, values, strict=True)}
        writer = state.pop("written_by")
        payload = {
            "set": {name: to_json(value) for name, value in state.items()},
            "begun_by": "doctor",
        }
        event = Event("write", id, state["updated_at"], writer, None, payload)
        self._log_event(db, space, sequence, event)

    # What belongs together

    def _nameless(self) -> Iterator[Problem]:
        where = "space NOT IN (SELECT space FROM spaces)"
        count = self.count("memories", where)
        if count:
            problem = f"{count:,} memories are in a namespace without a name"
            yield Problem(Finding("namespaces", problem, count, remedy=DAMAGED))

    def _stale_words(self) -> Iterator[Problem]:
        """Sound memories that an older salience indexed by other words.

        Sound values that this very program has computed are not computed again.
        """
        repairs: dict[int, dict[str, object]] = {}
        others = "(derived_by IS NULL OR derived_by IS NOT ?)"
        fits = f"checksum IS {checksum_of('memories')}"
        for stored in self._memories(f"{others} AND {fits}", (codec.deriver(),)):
            values = _recomputed(stored)
            if values is None:
                continue
            if any(stored[name] != value for name, value in values.items()):
                repairs[stored["row"]] = values
            else:
                self.confirmed.append(stored["row"])
        if repairs:
            finding = findings.stale_words(len(repairs), self._names(repairs))
            yield Problem(finding, partial(_renew_derived, repairs=repairs))

    def note_confirmed(self, db: sqlite3.Connection) -> None:
        """Note that this program computes the same from the texts and need not do so again."""
        for part in chunks(self.confirmed):
            marks = ", ".join("?" * len(part))
            note = f"UPDATE memories SET derived_by = ? WHERE row IN ({marks})"
            db.execute(note, (codec.deriver(), *part))

    # Parts

    @property
    def remedy(self) -> str:
        return "see `salience doctor`" if self._within else super().remedy


def _is_readable(name: str) -> str:
    """The condition that `codec.decode` accepts a stored value of a field."""
    kind = FIELDS[name].type
    if kind == "times":
        return f"({name} IS NULL OR typeof({name}) = 'blob' AND length({name}) % 8 = 0)"
    if kind == "text":
        return f"({name} IS NULL OR typeof({name}) = 'text')"
    is_number = f"typeof({name}) IN ('real', 'integer')"
    most = float_info.max
    least, most = (_FIRST_SECOND, codec.LAST_SECOND) if kind == "time" else (-most, most)
    is_whole = f" AND {name} = round({name})" if FIELDS[name].whole else ""
    return f"({name} IS NULL OR {is_number} AND {name} BETWEEN {least} AND {most}{is_whole})"


def _recomputed(stored: Mapping[str, Any], must_fit: bool = False) -> dict[str, object] | None:
    """The values computed from the texts of a memory; None if they cannot be.

    With `must_fit`, None also if the checksum does not fit with them.
    """
    try:
        contents = {n: codec.decode(n, stored[n]) for n in FIELDS if n in stored}
        record = MemoryRecord.from_values({**vars(_NO_CONTENTS), **contents})
        encoded = codec.encode_draft(Draft(record, {}))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    derived = {name.replace(".", "_"): encoded[name] for name in DERIVED}
    values = {**stored, **derived}
    if must_fit and checksum(*(values[name] for name in CHECKED["memories"])) != stored["checksum"]:
        return None
    return derived


def _set_derived(db: sqlite3.Connection, repairs: Mapping[int, Mapping[str, object]]) -> None:
    for row, values in repairs.items():
        assignments = ", ".join(f"{name} = ?" for name in values)
        db.execute(f"UPDATE memories SET {assignments} WHERE row = ?", (*values.values(), row))


def _renew_derived(db: sqlite3.Connection, repairs: Mapping[int, Mapping[str, object]]) -> None:
    """Set what follows from the texts, with the checksums that fit."""
    _set_derived(db, repairs)
    for part in chunks(list(repairs)):
        marks = ", ".join("?" * len(part))
        db.execute(
            f"UPDATE memories SET checksum = {checksum_of('memories')}, derived_by = ? "
            f"WHERE row IN ({marks})",
            (codec.deriver(), *part),
        )
