"""The shared statements in the words of SQLite, and what its tables have otherwise."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

from salience.lazily import regex
from salience.records.record import Embedding
from salience.stores import codec
from salience.stores.sqlite.integrity.row_checksums import Insert, checksum_of
from salience.stores.sqlite.statements import chunks, column_name, execute_rows, placeholders
from salience.stores.tables.commands import Call, Command, Many, Statement
from salience.stores.tables.dialect import lock
from salience.stores.tables.event_log import last_tombstone

CHANGES_KEPT = 200_000
"""Changes kept for indexes at least; those further behind reload everything."""
_PATCH_MAX_ROWS = 10_000  # rows patched at once, beyond which indexes are reloaded
_INSERTS = {
    "spaces": Insert("spaces", ("space", "name")),
    "events": Insert(
        "events", ("space", "seq", "memory", "type", "at", "actor", "session", "payload")
    ),
    "erasures": Insert("erasures", ("namespace", "seq", "at", "actor", "kind", "memories", "ids")),
    "former_vectors": Insert("former_vectors", ("space", "memory", "event", "name", "vector")),
}
_REPLACES = {
    "meta": Insert("meta", ("key", "value"), "REPLACE"),
    "notes": Insert("notes", ("space", "key", "value"), "REPLACE"),
    "links": Insert(
        "links", ("space", "source", "target", "type", "weight", "created_at"), "REPLACE"
    ),
}
_WORDS = (
    (regex(r"= ANY\(%s::\w+\[\]\)"), "IN (SELECT value FROM json_each(%s))"),
    (regex(r"((?:\w+\.)?payload) ->> '(\w+)'"), r"json_extract(\1, '$.\2')"),
    (regex(r"::\w+(\[\])?| FOR UPDATE"), ""),
    (regex(r'"row"'), "row"),
    # Without statistics SQLite would read all of the namespace.
    (
        regex(r"(memories)( WHERE namespace = %s AND (text|attribute)_key IN)"),
        r"\1 INDEXED BY memories_by_\3\2",
    ),
    (
        regex(r"(events)( WHERE namespace = %s AND payload IS NOT NULL AND coalesce)"),
        r"\1 INDEXED BY events_by_mention\2",
    ),
    (
        regex(r"(events)( WHERE namespace = %s AND payload IS NOT NULL AND json_extract)"),
        r"\1 INDEXED BY events_by_key\2",
    ),
    (
        regex(r"(count\(json_extract.*? FROM events)"),
        r"\1 INDEXED BY events_by_memory",
    ),
)
"""Words of PostgreSQL, and those of SQLite for them."""
_NAMESPACE = regex(r"\bnamespace\b")
_TERM_BYTES = " + ".join(f"coalesce(length({column_name(name)}), 0)" for name in codec.TERMS)
_MARKS = regex(r"(\bspace = )?%s")


@lru_cache(maxsize=256)
def translated(sql: str) -> tuple[str, frozenset[int]]:
    """A statement of the shared ones, and which of its parameters are names of namespaces."""
    for words, own in _WORDS:
        sql = words.sub(own, sql)
    if "erasures" not in sql:  # which has hashes of the names
        sql = _NAMESPACE.sub("space", sql)
    marks = _MARKS.finditer(sql)
    return _MARKS.sub(r"\1?", sql), frozenset(at for at, mark in enumerate(marks) if mark[1])


class Sender:
    """Answers commands on a connection, all in the transaction that it has, if any."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self._spaces: dict[str, int] = {}  # no number of a transaction changes

    def __call__(self, *commands: Command) -> list[Any]:
        """The answers, one for each."""
        return [self._answer(command) for command in commands]

    def _answer(self, command: Command) -> Any:
        if isinstance(command, Call):
            return command.work(self.db)
        assert isinstance(command, Statement | Many)
        sql, names = translated(command.sql)
        if isinstance(command, Statement):
            return self.db.execute(sql, self._values(command.parameters, names)).fetchall()
        return self.db.executemany(sql, [self._values(row, names) for row in command.rows])

    def _values(self, parameters: Sequence[Any], names: frozenset[int]) -> list[Any]:
        return [
            self._space(value)
            if at in names
            else json.dumps(value)
            if type(value) is list
            else value
            for at, value in enumerate(parameters)
        ]

    def _space(self, name: str) -> int:
        space = self._spaces.get(name) or space_of(self.db, name)
        self._spaces[name] = space
        return space


def space_of(db: sqlite3.Connection, name: str) -> int:
    """The number of a namespace, 0 where there is none.

    It is looked up each time, as another process may have erased it and begun it again.
    """
    row = db.execute("SELECT space FROM spaces WHERE name = ?", (name,)).fetchone()
    return row[0] if row else 0


class SqliteDialect:
    """The tables of a file, whose rows have checksums, and whose changes are noted for indexes."""

    erased = ""  # its file knows

    def enter(self, namespace: str) -> Call:
        """See `Dialect.enter`."""
        return Call(partial(enter, name=namespace))

    def lock(self, namespace: str) -> Statement:
        """See `Dialect.lock`; whoever writes to the file waits anyway."""
        return lock(namespace)

    def reserve(self, namespace: str, count: int) -> Statement:
        """See `Dialect.reserve`."""
        reserve = "UPDATE spaces SET last = last + %s WHERE namespace = %s RETURNING last"
        return Statement(reserve, (count, namespace))

    def advance(self, namespace: str, place: int) -> list[Command]:
        """See `Dialect.advance`."""
        advance = "UPDATE spaces SET last = max(last, %s) WHERE namespace = %s"
        return [Statement(advance, (place, namespace))]

    def insert(self, table: str, rows: Sequence[Sequence[Any]]) -> list[Command]:
        """See `Dialect.insert`."""
        return [Call(partial(_write, _INSERTS[table], rows))]

    def replace(self, table: str, rows: Sequence[Sequence[Any]]) -> list[Command]:
        """See `Dialect.replace`."""
        return [Call(partial(_write, _REPLACES[table], rows))]

    def renew(self, table: str, where: str, keys: Sequence[Sequence[Any]]) -> list[Command]:
        """See `Dialect.renew`."""
        renewed = f"UPDATE {table} SET checksum = {checksum_of(table)} WHERE {where}"
        return [Many(renewed, keys)] if keys else []

    def set_rows(self, namespace: str, changes: Mapping[int, Mapping[str, Any]]) -> list[Command]:
        """See `Dialect.set_rows`."""
        return [Call(lambda db: set_rows(db, space_of(db, namespace), changes))]

    def note_set(self, namespace: str, rows: Sequence[int]) -> list[Command]:
        """See `Dialect.note_set`; `set_rows` has noted it."""
        return []

    def count_parts(self, namespace: str, rows: Sequence[int]) -> list[Statement]:
        """See `Dialect.count_parts`."""
        of_rows = "WHERE row = ANY(%s::integer[])"
        return [
            Statement(f"SELECT 'terms', sum({_TERM_BYTES}) / 8 FROM memories {of_rows}", (rows,)),
            Statement(f"SELECT 'vectors', count(*) FROM vectors {of_rows}", (rows,)),
        ]

    def erase_rows(self, namespace: str, rows: Sequence[int]) -> list[Command]:
        """See `Dialect.erase_rows`."""
        return [Call(partial(erase_rows, rows=rows))]

    def erase_name(self, namespace: str) -> list[Command]:
        """See `Dialect.erase_name`."""
        return [Statement("DELETE FROM spaces WHERE namespace = %s", (namespace,))]

    def decoded(self, values: dict[str, Any]) -> dict[str, Any]:
        """See `Dialect.decoded`."""
        return values

    def vector(self, vector: Embedding) -> bytes:
        """See `Dialect.vector`."""
        return codec.encode_vector(vector)

    def embedding(self, stored: bytes) -> Embedding:
        """See `Dialect.embedding`."""
        return codec.decode_vector(stored)


DIALECT = SqliteDialect()


def _write(write: Insert, rows: Sequence[Sequence[Any]], db: sqlite3.Connection) -> None:
    """Write rows; a namespace in front of one is named by its number."""
    if write.columns[0] == "space":
        spaces = {name: space_of(db, name) for name in {row[0] for row in rows}}
        rows = [(spaces[name], *rest) for name, *rest in rows]
    write(db, rows)


def enter(db: sqlite3.Connection, name: str) -> int:
    """The number of a namespace, a new one if it has none; no number is ever used twice."""
    space = space_of(db, name)
    if space:
        return space
    space = take_numbers(db, 1)
    _INSERTS["spaces"](db, [(space, name)])
    [[[last]]] = Sender(db)(last_tombstone(name))
    if last:  # of one of that name before; its log goes on
        db.execute("UPDATE spaces SET last = ? WHERE space = ?", (last, space))
    return space


def take_numbers(db: sqlite3.Connection, count: int) -> int:
    """Take `count` new numbers; return the first."""
    [last] = db.execute("UPDATE counter SET value = value + ? RETURNING value", (count,)).fetchone()
    return int(last) - count + 1


def note_changes(db: sqlite3.Connection, kind: str, entries: Sequence[tuple[int, int]]) -> None:
    """Note changes of (space, row) entries for the indexes."""
    if not entries:
        return
    first = take_numbers(db, len(entries))
    execute_rows(
        db,
        "INSERT INTO changes VALUES {rows}",
        [(seq, space, row, kind) for seq, (space, row) in enumerate(entries, first)],
    )
    [oldest] = db.execute("SELECT min(seq) FROM changes").fetchone()
    if first - oldest > 2 * CHANGES_KEPT:  # now and then
        oldest = first - CHANGES_KEPT
        db.execute("DELETE FROM changes WHERE seq < ?", (oldest,))
        reload_indexes(db, oldest)


def reload_indexes(db: sqlite3.Connection, before: int | None = None) -> None:
    """Let indexes reload everything, all of them or those at a change before one."""
    seq = take_numbers(db, 1) if before is None else before
    [noted] = db.execute(
        "SELECT max(CAST(value AS INTEGER)) FROM meta WHERE key = 'changes_from'"
    ).fetchone()
    write_meta(db, "changes_from", str(max(seq, noted or 0)))


def write_meta(db: sqlite3.Connection, key: str, value: str) -> None:
    """Note something about the whole file, in the place of what was noted under the key."""
    _REPLACES["meta"](db, [(key, value)])


def set_rows(db: sqlite3.Connection, space: int, changes: Mapping[int, Mapping[str, Any]]) -> None:
    """Set fields by row, and note that for the indexes."""
    rows_by_fields: dict[tuple[str, ...], list[tuple[Any, ...]]] = {}
    for row, values in changes.items():
        encoded = (codec.encode(name, value) for name, value in values.items())
        if values:
            rows_by_fields.setdefault(tuple(values), []).append((*encoded, row))
    for names, rows in rows_by_fields.items():
        assignments = ", ".join(f"{name} = ?" for name in names)
        db.executemany(f"UPDATE memories SET {assignments} WHERE row = ?", rows)
        if "metadata" in names:  # of the contents
            renew = DIALECT.renew("memories", "row = %s", [(row,) for *_, row in rows])
            Sender(db)(*renew)
    patched = [(space, row) for rows in rows_by_fields.values() for *_, row in rows]
    if len(patched) > _PATCH_MAX_ROWS:
        reload_indexes(db)
    else:
        note_changes(db, "patched", patched)


def erase_rows(db: sqlite3.Connection, rows: Sequence[int]) -> None:
    """Erase memories with their vectors, and note that for the indexes."""
    for part in chunks(rows):
        removed = db.execute(
            f"DELETE FROM memories WHERE row IN ({placeholders(part)}) RETURNING space, row", part
        ).fetchall()
        note_changes(db, "removed", removed)
