"""Looking for damage in a SQLite file, and mending it.

Each check is made after what the ones before have mended. What is taken out goes to the quarantine.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import partial

from salience.display.result import to_json
from salience.errors import SalienceError
from salience.records.events import STATE, Event
from salience.records.fields import FIELDS
from salience.records.record import Draft, MemoryRecord
from salience.retrieval.safety import STRUCTURE, Finding
from salience.stores import codec
from salience.stores.checksums import checksum
from salience.stores.sqlite.connection import DAMAGED, connect, prepare_schema
from salience.stores.sqlite.integrity.row_checksums import CHECKED, DERIVED, checksum_of
from salience.stores.sqlite.safety.quarantine import Quarantine

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_NO_CONTENTS = MemoryRecord("", "", "", created_at=_EPOCH, updated_at=_EPOCH)
_MAX_PROBLEMS = 100  # of the structure that SQLite lists
_EXAMPLES = 3
_MAX_LOG_BYTES = 64 << 20
_MAX_FREE_BYTES, _MAX_FREE_SHARE = 16 << 20, 0.25
_INDEX_PROBLEM = re.compile(r"index|NUMERIC value|TEXT value", re.IGNORECASE)
_ORPHANS = {
    "vectors": (
        "NOT EXISTS (SELECT 1 FROM memories AS m WHERE m.row = vectors.row "
        "AND m.space = vectors.space)"
    ),
    "events": (
        "memory <> 0 AND NOT EXISTS (SELECT 1 FROM memories AS m WHERE m.sequence = memory "
        "AND m.space = events.space)"
    ),
    "links": (
        "NOT EXISTS (SELECT 1 FROM memories AS m WHERE m.space = links.space AND m.id = source) "
        "OR NOT EXISTS (SELECT 1 FROM memories AS m WHERE m.space = links.space AND m.id = target)"
    ),
    "former_vectors": (
        "NOT EXISTS (SELECT 1 FROM events WHERE events.space = former_vectors.space "
        "AND events.seq = former_vectors.event)"
    ),
}
"""The rows of each table that belong to nothing."""
_KEYS = {
    "memories": "id",
    "vectors": "name || ' of row ' || row",
    "events": "type || ' at ' || seq",
    "links": "source || ' ' || type || ' ' || target",
    "former_vectors": "name || ' at ' || event",
}
"""The name of a row in a finding."""
Writing = Callable[[], AbstractContextManager[sqlite3.Connection]]
"""Begins a transaction of the store."""


@dataclass(frozen=True)
class _Problem:
    """A finding, with what mends it in a transaction, or outside of any."""

    finding: Finding
    mend: Callable[[sqlite3.Connection], object] | None = None
    mend_alone: Callable[[], bool] | None = None


def check_file(
    db: sqlite3.Connection,
    path: str,
    *,
    writing: Writing | None = None,
    fold_log: Callable[[], bool] | None = None,
    log_event: Callable[[sqlite3.Connection, int, int, Event], object] | None = None,
) -> tuple[Finding, ...]:
    """Look for damage in a file by a connection; mend it where `writing` is given."""
    checkup = _Checkup(db, path, Quarantine(path), fold_log, log_event)
    findings: list[Finding] = []
    try:
        for problem in checkup.problems():
            finding = problem.finding
            if writing is not None and problem.mend is not None:
                with writing() as writer:
                    usual, writer.text_factory = writer.text_factory, db.text_factory
                    try:
                        problem.mend(writer)
                    finally:
                        writer.text_factory = usual
                finding = replace(finding, fixed=True)
            elif writing is not None and problem.mend_alone is not None:
                finding = replace(finding, fixed=problem.mend_alone())
            findings.append(finding)
    except (sqlite3.DatabaseError, SalienceError) as error:
        findings.append(Finding(STRUCTURE, f"it cannot be read on: {error}", remedy=DAMAGED))
    return tuple(findings)


def check_namespace(db: sqlite3.Connection, path: str, namespace: str) -> tuple[Finding, ...]:
    """Look for damage in the rows of a namespace, and in the structure of the whole file."""
    try:
        checkup = _Checkup(db, path, Quarantine(path), namespace=namespace)
        return tuple(problem.finding for problem in checkup.problems_of_rows())
    except (sqlite3.DatabaseError, SalienceError) as error:
        return (Finding(STRUCTURE, f"it cannot be read on: {error}", remedy=DAMAGED),)


class _Checkup:
    """The checks of a file, or of one of its namespaces."""

    def __init__(
        self,
        db: sqlite3.Connection,
        path: str,
        quarantine: Quarantine,
        fold_log: Callable[[], bool] | None = None,
        log_event: Callable[[sqlite3.Connection, int, int, Event], object] | None = None,
        namespace: str | None = None,
    ) -> None:
        db.text_factory = partial(str, encoding="utf-8", errors="backslashreplace")
        self._db = db
        self._path = path
        self._quarantine = quarantine
        self._fold_log = fold_log
        self._log_event = log_event
        self._spaces = () if namespace is None else (self._space(namespace),)
        self._within = "" if namespace is None else "space = ? AND "

    def problems(self) -> Iterator[_Problem]:
        """All problems, those first that others may come from."""
        yield from self._structure()
        yield from self._schema()
        yield from self._counter()
        yield from self._damage()
        for table in _ORPHANS:
            yield from self._orphans(table)
        yield from self._nameless()
        yield from self._dimensions()
        yield from self._missing_vectors()
        yield from self._size_of_log()
        yield from self._free_pages()

    def problems_of_rows(self) -> Iterator[_Problem]:
        """Problems of the structure, and of rows by their checksums."""
        for problem in self._structure():  # its examples name rows of other namespaces
            yield replace(problem, finding=replace(problem.finding, examples=()))
        yield from self._damage()

    # The file

    def _structure(self) -> Iterator[_Problem]:
        found = [text for (text,) in self._db.execute(f"PRAGMA integrity_check({_MAX_PROBLEMS})")]
        if found == ["ok"]:
            return
        of_indexes = [text for text in found if _INDEX_PROBLEM.search(text)]
        if len(of_indexes) == len(found):
            problem = f"{len(found):,} entries of indexes do not fit their tables"
            remedy = "`salience doctor --fix` builds the indexes anew"
            finding = Finding("indexes", problem, len(found), tuple(found[:_EXAMPLES]), remedy)
            yield _Problem(finding, partial(_run, sql="REINDEX"))
            return
        problem = "the structure of the file is damaged"
        yield _Problem(Finding(STRUCTURE, problem, len(found), tuple(found[:_EXAMPLES]), DAMAGED))

    def _schema(self) -> Iterator[_Problem]:
        with closing(connect(":memory:", False)) as fresh:
            prepare_schema(fresh, ":memory:", False)
            expected = _schema_of(fresh)
        stored = _schema_of(self._db)
        for key in sorted(expected.keys() - stored.keys()):
            kind, name = key
            finding = Finding("schema", f"the {kind} {name} is missing", remedy=DAMAGED)
            if kind == "index":
                finding = replace(finding, remedy="`salience doctor --fix` makes it")
                yield _Problem(finding, partial(_run, sql=expected[key]))
            else:
                yield _Problem(finding)
        for key in sorted(expected.keys() & stored.keys()):
            if _normal(expected[key]) != _normal(stored[key]):
                problem = f"the {key[0]} {key[1]} is not declared as it should be"
                yield _Problem(Finding("schema", problem, remedy=DAMAGED))
        others = tuple(name for _, name in sorted(stored.keys() - expected.keys()))
        if others:
            problem = "there are tables or indexes of others"
            yield _Problem(Finding("schema", problem, len(others), others, harmless=True))

    def _counter(self) -> Iterator[_Problem]:
        places = ("row FROM memories", "seq FROM changes")
        last = max(
            self._one(f"SELECT coalesce(max({place.split()[0]}), 0) FROM {place.split()[2]}")
            for place in places
        )
        value = self._one("SELECT value FROM counter")
        if not isinstance(value, int) or value < last:
            problem = f"the counter is at {value}, and {last} is in use"
            finding = Finding("counter", problem, remedy="`salience doctor --fix` sets it")
            yield _Problem(finding, partial(_run, sql=f"UPDATE counter SET value = {last:d}"))

    # Rows

    def _damage(self) -> Iterator[_Problem]:
        yield from self._damaged_memories()
        for table in ("events", "links", "vectors", "former_vectors"):
            yield from self._damaged_rows(table)

    def _damaged_memories(self) -> Iterator[_Problem]:
        is_damaged = f"checksum IS NOT {checksum_of('memories')}"
        select = f"SELECT row FROM memories WHERE {self._within}{is_damaged}"
        rows = [row for (row,) in self._db.execute(select, self._spaces)]
        repairs = {row: values for row in rows if (values := self._recomputed(row)) is not None}
        if repairs:
            problem = f"what {len(repairs):,} memories are found by is damaged"
            remedy = "`salience doctor --fix` works it out anew from their texts"
            finding = Finding("memories", problem, len(repairs), self._names(repairs), remedy)
            yield _Problem(finding, partial(_set_derived, repairs=repairs))
        lost = [row for row in rows if row not in repairs]
        if lost:
            problem = f"{len(lost):,} memories are damaged"
            finding = Finding("memories", problem, len(lost), self._names(lost), self._remedy)
            yield _Problem(finding, partial(self._take_memories, rows=lost))

    def _names(self, rows: object) -> tuple[str, ...]:
        some = ", ".join(str(row) for row in list(rows)[:_EXAMPLES])  # type: ignore[call-overload]
        return tuple(
            str(id) for (id,) in self._db.execute(f"SELECT id FROM memories WHERE row IN ({some})")
        )

    def _recomputed(self, row: int) -> dict[str, object] | None:
        """The values worked out of the texts of a memory, if the checksum fits with it."""
        names = ("checksum", *CHECKED["memories"])
        values = self._db.execute(
            f"SELECT {', '.join(names)} FROM memories WHERE row = ?", (row,)
        ).fetchone()
        stored = dict(zip(names, values, strict=True))
        try:
            contents = {n: codec.decode(n, stored[n]) for n in FIELDS if n in stored}
            record = MemoryRecord.from_values({**vars(_NO_CONTENTS), **contents})
            encoded = codec.encode_draft(Draft(record, {}))
        except (ValueError, TypeError, KeyError, AttributeError):
            return None
        derived = {name.replace(".", "_"): encoded[name] for name in DERIVED}
        fits = checksum(*({**stored, **derived}[name] for name in names[1:])) == stored["checksum"]
        return derived if fits else None

    def _take_memories(self, db: sqlite3.Connection, rows: list[int]) -> None:
        """Take memories out, with all that belongs to them."""
        for row in rows:
            found = db.execute(
                "SELECT space, id, sequence FROM memories WHERE row = ?", (row,)
            ).fetchone()
            if found is None:
                continue
            space, id, sequence = found
            take = partial(self._quarantine.take, db, why="damaged memory")
            take("vectors", "row = ?", (row,))
            take("former_vectors", "space = ? AND memory = ?", (space, sequence))
            take("links", "space = ? AND (source = ? OR target = ?)", (space, id, id))
            take("events", "space = ? AND memory = ?", (space, sequence))
            take("memories", "row = ?", (row,))

    def _damaged_rows(self, table: str) -> Iterator[_Problem]:
        where = f"{self._within}checksum IS NOT {checksum_of(table)}"
        count = self._one(f"SELECT count(*) FROM {table} WHERE {where}", self._spaces)
        if not count:
            return
        names = self._examples(table, where, self._spaces)
        remedy = self._remedy
        if table == "vectors":
            remedy += "; then `salience reembed --missing` makes them anew"
        finding = Finding(table, f"{count:,} rows of {table} are damaged", count, names, remedy)

        def mend(db: sqlite3.Connection) -> None:
            memories = set[tuple[int, int]]()
            if table == "events":
                select = f"SELECT space, memory FROM events WHERE {where}"
                memories = set(db.execute(select))
            self._quarantine.take(db, table, where, (), "damaged")
            for space, memory in memories:
                self._begin_history_anew(db, space, memory)

        yield _Problem(finding, mend)

    def _begin_history_anew(self, db: sqlite3.Connection, space: int, sequence: int) -> None:
        """Log what a memory is now, as its history has a gap."""
        columns = ", ".join(STATE)
        found = db.execute(
            f"SELECT id, {columns} FROM memories WHERE space = ? AND sequence = ?",
            (space, sequence),
        ).fetchone()
        if found is None or self._log_event is None:
            return
        id, *values = found
        state = {n: codec.decode(n, value) for n, value in zip(STATE, values, strict=True)}
        payload = {"set": {name: to_json(value) for name, value in state.items()}}
        event = Event("write", id, state["updated_at"], "doctor", None, payload)
        self._log_event(db, space, sequence, event)

    def _orphans(self, table: str) -> Iterator[_Problem]:
        where = _ORPHANS[table]
        count = self._one(f"SELECT count(*) FROM {table} WHERE {where}")
        if count:
            finding = Finding(
                "orphans",
                f"{count:,} rows of {table} belong to no memory",
                count,
                self._examples(table, where),
                self._remedy,
            )
            take = partial(self._quarantine.take, table=table, where=where, values=(), why="orphan")
            yield _Problem(finding, take)

    def _nameless(self) -> Iterator[_Problem]:
        where = "space NOT IN (SELECT space FROM spaces)"
        count = self._one(f"SELECT count(*) FROM memories WHERE {where}")
        if count:
            problem = f"{count:,} memories are in a namespace without a name"
            yield _Problem(Finding("namespaces", problem, count, remedy=DAMAGED))

    # Vectors

    def _dimensions(self) -> Iterator[_Problem]:
        select = "SELECT space, name, length(vector), count(*) FROM vectors GROUP BY 1, 2, 3"
        sizes: dict[tuple[int, str], dict[int, int]] = {}
        for space, name, size, count in self._db.execute(select):
            sizes.setdefault((space, name), {})[size] = count
        for (space, name), counts in sizes.items():
            usual = max(counts, key=lambda size: (counts[size], size))
            odd = sum(counts.values()) - counts[usual]
            if odd:
                problem = f"{odd:,} vectors {name!r} have not the {usual // 2} dimensions of others"
                remedy = f"{self._remedy}; then `salience reembed --missing` makes them anew"
                where = "space = ? AND name = ? AND length(vector) <> ?"
                take = partial(
                    self._quarantine.take,
                    table="vectors",
                    where=where,
                    values=(space, name, usual),
                    why="dimensions",
                )
                finding = Finding("dimensions", problem, odd, remedy=remedy)
                yield _Problem(finding, take)

    def _missing_vectors(self) -> Iterator[_Problem]:
        if self._db.execute("SELECT 1 FROM meta WHERE key = 'embedder'").fetchone() is None:
            return
        count = self._one(
            "SELECT count(*) FROM memories AS m WHERE NOT EXISTS "
            "(SELECT 1 FROM vectors WHERE vectors.row = m.row)"
        )
        if count:
            problem = f"{count:,} memories have no vector, and are found by their words alone"
            remedy = "`salience reembed --missing` makes them"
            yield _Problem(Finding("vectors", problem, count, remedy=remedy, harmless=True))

    # Room

    def _size_of_log(self) -> Iterator[_Problem]:
        path = f"{self._path}-wal"
        size = os.path.getsize(path) if os.path.exists(path) else 0
        if size > _MAX_LOG_BYTES:
            problem = f"the write-ahead log {path} has {size / 1e6:,.0f} MB"
            remedy = "`salience doctor --fix` folds it, when no other program reads for long"
            finding = Finding("log", problem, remedy=remedy, harmless=True)
            yield _Problem(finding, mend_alone=self._fold_log)

    def _free_pages(self) -> Iterator[_Problem]:
        free, pages, size = (
            self._one(f"PRAGMA {name}") for name in ("freelist_count", "page_count", "page_size")
        )
        if free * size > _MAX_FREE_BYTES and free > _MAX_FREE_SHARE * pages:
            problem = f"{free * size / 1e6:,.0f} MB of {pages * size / 1e6:,.0f} are free pages"
            remedy = "new memories use them; a backup that is restored is as large"
            yield _Problem(Finding("room", problem, remedy=remedy, harmless=True))

    # Parts

    @property
    def _remedy(self) -> str:
        if self._within:
            return "see `salience doctor`"
        return f"`salience doctor --fix` moves them to {self._quarantine.path}"

    def _space(self, namespace: str) -> int:
        """The number of a namespace; 0, which none has, if it is empty."""
        select = "SELECT space FROM spaces WHERE name = ?"
        row = self._db.execute(select, (namespace,)).fetchone()
        return int(row[0]) if row else 0

    def _one(self, select: str, parameters: tuple[int, ...] = ()) -> int:
        [value] = self._db.execute(select, parameters).fetchone()
        return value

    def _examples(
        self, table: str, where: str, parameters: tuple[int, ...] = ()
    ) -> tuple[str, ...]:
        select = f"SELECT {_KEYS[table]} FROM {table} WHERE {where} LIMIT {_EXAMPLES}"
        return tuple(str(name) for (name,) in self._db.execute(select, parameters))


def _set_derived(db: sqlite3.Connection, repairs: dict[int, dict[str, object]]) -> None:
    for row, values in repairs.items():
        assignments = ", ".join(f"{name} = ?" for name in values)
        db.execute(f"UPDATE memories SET {assignments} WHERE row = ?", (*values.values(), row))


def _run(db: sqlite3.Connection, sql: str) -> None:
    db.execute(sql)


def _schema_of(db: sqlite3.Connection) -> dict[tuple[str, str], str]:
    """The SQL of the tables and indexes, by kind and name."""
    select = "SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'"
    return {(kind, name): sql or "" for kind, name, sql in db.execute(select)}


def _normal(sql: str) -> str:
    return " ".join(sql.split())
