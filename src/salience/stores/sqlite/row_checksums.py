"""The checksums of the rows of a SQLite file: the columns they cover, and whether they fit."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from operator import itemgetter
from typing import Any

from salience.records.events import STATE
from salience.records.fields import FIELDS, LEXICAL
from salience.records.validation import composed, composed_json
from salience.stores.sqlite.statements import checksum
from salience.stores.tables.dialect import COLUMNS
from salience.stores.tables.event_log import recounted, unmarked_continuations

DERIVED = (
    "features", "greets", "text_key", "attribute_key",
    *(f"terms.{name}" for name in LEXICAL), "passages", "terms.passages",
)  # fmt: skip
"""The values computed from the contents of a memory, by the names of `codec.encode_draft`."""
_CONTENTS = tuple(name for name in FIELDS if name not in STATE)  # the rest follows from the log
CHECKED = {
    "memories": ("space", "sequence", *_CONTENTS, *(name.replace(".", "_") for name in DERIVED)),
    **{
        table: ("space", *names[1:]) if names[0] == "namespace" else names
        for table, names in COLUMNS.items()
    },
    "erasures": COLUMNS["erasures"],  # which have a hash of the name
    "spaces": ("space", "name"),
    "access_keys": ("id", "version", "entry"),
}
"""The columns of each table that its checksums cover, in order."""
_BYTES = frozenset(
    ("vector", "features", "ids", *(n.replace(".", "_") for n in DERIVED if "." in n))
)
"""The columns of bytes among them."""
_JSON = ("tags", "entities", "metadata", "payload", "entry")
_NAMES = {
    "spaces": ("name",),
    "memories": [
        n for n, f in FIELDS.items() if n in _JSON or (f.type == "text" and not f.choices)
    ],
    "links": ("source", "target"),
    "events": ("actor", "session", "payload"),
    "access_keys": ("entry",),
}
"""The columns of texts that name something; texts that a memory says stay as they are."""
_SAMPLED = 16  # memories looked at when a file is opened


def checksum_of(table: str, columns: Collection[str] | None = None) -> str:
    """The SQL of the checksum that a row must have, whatever is in it.

    Text counts as bytes, as SQLite returns no text that is not UTF-8; so what damage has turned
    into text or bytes counts as something else. A table of an older schema has only some of the
    `columns`.
    """
    names = [name for name in CHECKED[table] if columns is None or name in columns]
    return f"checksum({', '.join(map(_counted, names))})"


def _counted(column: str) -> str:
    if column in _BYTES:
        return f"iif(typeof({column}) = 'text', 0, {column})"
    return (
        f"CASE typeof({column}) WHEN 'text' THEN CAST({column} AS BLOB) WHEN 'blob' THEN 0 "
        f"ELSE {column} END"
    )


class Insert:
    """The writing of rows with their checksums, computed before the call of SQLite.

    An interrupt in a function that SQLite calls would be lost and come back as an error of SQLite.
    """

    def __init__(self, table: str, columns: Sequence[str] = (), verb: str = "INSERT") -> None:
        names = [name.replace(".", "_") for name in columns or CHECKED[table]]
        self.names_namespace = names[0] == "space"
        self.statement = (
            f"{verb} INTO {table} ({', '.join(names)}, checksum) "
            f"VALUES ({', '.join('?' * (len(names) + 1))})"
        )
        self._checked = itemgetter(*(names.index(name) for name in CHECKED[table]))

    def __call__(self, db: sqlite3.Connection, rows: Iterable[Sequence[Any]]) -> None:
        """Write rows, their values in the order of the columns."""
        db.executemany(self.statement, [(*row, checksum(*self._checked(row))) for row in rows])


def damaged_memories(db: sqlite3.Connection) -> list[int]:
    """The rows of the memories whose checksum does not fit; [] in a file without checksums yet."""
    columns = {name for _, name, *_ in db.execute("PRAGMA table_info(memories)")}
    if "checksum" not in columns:
        return []
    sound = checksum_of("memories", columns)
    select = f"SELECT row FROM memories WHERE checksum IS NOT {sound};"
    return [row for (row,) in db.execute(select)]


def renew_checksums(db: sqlite3.Connection, damaged: Iterable[int] = ()) -> None:
    """Give all memories the checksum of what they hold now, except some damaged ones."""
    without = ", ".join(map(str, damaged))
    db.execute(
        f"UPDATE memories SET checksum = {checksum_of('memories')} WHERE row NOT IN ({without});"
    )


def compose_names(db: sqlite3.Connection) -> None:
    """Bring names to the normal form NFC, except damaged ones."""
    for table, names in _NAMES.items():
        sound = f"(checksum = -1 OR checksum IS {checksum_of(table)})"
        is_apart = " OR ".join(f"{name} IS NOT composed('{name}', {name})" for name in names)
        values = ", ".join(f"{name} = composed('{name}', {name})" for name in names)
        db.execute(
            f"UPDATE OR IGNORE {table} SET {values}, checksum = -1 WHERE {sound} AND ({is_apart});"
        )
        if table != "memories":  # all that are sound get their checksum in the end
            db.execute(f"UPDATE {table} SET checksum = {checksum_of(table)} WHERE checksum = -1;")


def composed_value(name: str, value: Any) -> Any:
    """A stored value of a column with its names in the normal form NFC."""
    if not isinstance(value, str) or value.isascii():
        return value
    if name not in _JSON:
        return composed(name, value)
    return json.dumps(composed_json(name, json.loads(value)), ensure_ascii=False, sort_keys=True)


def damage_in_sample(db: sqlite3.Connection) -> list[str]:
    """The ids of damaged memories among a few that are drawn at random, with their vectors."""
    [last] = db.execute("SELECT value FROM counter").fetchone()
    fits = f"checksum IS {checksum_of('memories')}"
    vectors_fit = (
        "NOT EXISTS (SELECT 1 FROM vectors WHERE vectors.row = memories.row "
        f"AND checksum IS NOT {checksum_of('vectors')})"
    )
    select = (
        f"SELECT CAST(id AS BLOB), {fits} AND {vectors_fit} FROM memories "
        "WHERE row >= ? ORDER BY row LIMIT 1"
    )
    sample = set[tuple[bytes | None, bool]]()
    for _ in range(_SAMPLED):
        sample.update(db.execute(select, (random.randint(1, max(last, 1)),)))
    return sorted((id or b"?").decode("utf-8", "replace") for id, sound in sample if not sound)


def recount_edits(db: sqlite3.Connection) -> None:
    """Compute from the log which edits are accesses, by the present rule."""
    edited = db.execute(
        "SELECT DISTINCT m.row, m.space, m.sequence, m.kind, m.content FROM events AS e "
        "JOIN memories AS m ON m.space = e.space AND m.sequence = e.memory WHERE e.type = 'edit'"
    ).fetchall()
    fits = f"checksum IS {checksum_of('events')}"
    select = (
        "SELECT seq, type, at, actor, session, payload FROM events "
        f"WHERE space = ? AND memory = ? AND {fits} ORDER BY seq"
    )
    for row, space, memory, kind, content in edited:
        log = db.execute(select, (space, memory)).fetchall()
        kept = [(seq, type, payload) for seq, type, *_, payload in log]
        noted = unmarked_continuations(kept, kind, content)
        for seq, payload in noted.items():
            db.execute(
                "UPDATE events SET payload = ?, checksum = -1 WHERE space = ? AND seq = ?",
                (payload, space, seq),
            )
        if noted:
            renew = f"UPDATE events SET checksum = {checksum_of('events')} WHERE checksum = -1"
            db.execute(f"{renew} AND space = ? AND memory = ?", (space, memory))
        events = [(*fields, noted.get(seq, payload)) for seq, *fields, payload in log]
        if counted := recounted(events):
            count = "UPDATE memories SET write_count = ?, accesses = ? WHERE row = ?"
            db.execute(count, (*counted, row))
