"""Records in one SQLite file, which any number of processes may use at once."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from recollect.errors import StoreError
from recollect.fields import FIELDS, LEXICAL
from recollect.index.source import Changes
from recollect.memory import Draft, Link, MemoryRecord
from recollect.stores import codec
from recollect.stores.sqlite_file import connect, guarded, prepare
from recollect.stores.touches import Touches, Waiting

_CHUNK = 65_536  # rows read at once when an index is loaded
_PARAMETERS = 30_000  # SQLite takes 32,766 in one statement
_CHANGES_KEPT = 200_000
_COLUMNS = (
    "row", "space", "sequence", *FIELDS, "features", "greets",
    *(f"terms.{name}" for name in LEXICAL),
)  # fmt: skip
_INSERT = (
    f"INSERT INTO memories ({', '.join(name.replace('.', '_') for name in _COLUMNS)}) "
    f"VALUES ({', '.join('?' * len(_COLUMNS))})"
)


class SqliteRecords:
    """The records of one file; `:memory:` keeps them in this process.

    Reads and writes have a connection each, so that a search never waits for a commit. Every
    write is one transaction, on disk when the call returns.
    """

    def __init__(self, path: str, *, read_only: bool = False) -> None:
        self.path = path
        self._reader = connect(path, read_only)
        try:
            self.read_only = prepare(self._reader, path, read_only)
            shared = path == ":memory:" or self.read_only
            self._writer = self._reader if shared else connect(path, False)
        except BaseException:
            self._reader.close()
            raise
        self._read_lock = threading.RLock()
        self._write_lock = self._read_lock if shared else threading.RLock()
        self._spaces: dict[str, int] = {}
        self._names: dict[int, str] = {}
        self._writes = 0
        self._touches = Touches(self._write_touches, lazy=path != ":memory:")

    # Reading

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._read_lock, guarded(self.path):
            yield self._reader

    def version(self) -> tuple[int, int]:
        """SQLite's data version, which another connection's commit moves, and our own writes."""
        with self._reading() as db:
            return db.execute("PRAGMA data_version").fetchone()[0], self._writes

    def embedder(self) -> str | None:
        """Identity of the embedder of the stored vectors."""
        with self._reading() as db:
            found = db.execute("SELECT value FROM meta WHERE key = 'embedder'").fetchone()
        return found[0] if found else None

    def _space(self, name: str) -> int:
        """The number of a namespace, 0 where there is none."""
        known = self._spaces.get(name)
        if known is None:
            with self._reading() as db:
                found = db.execute("SELECT space FROM spaces WHERE name = ?", (name,)).fetchone()
            if found is None:
                return 0
            known = self._spaces[name] = found[0]
        return known

    def _name(self, space: int) -> str:
        known = self._names.get(space)
        if known is None:
            with self._reading() as db:
                found = db.execute("SELECT name FROM spaces WHERE space = ?", (space,)).fetchone()
            known = self._names[space] = found[0]
        return known

    def find(self, namespace: str, ids: Sequence[str]) -> dict[str, int]:
        """Rows by id."""
        space = self._space(namespace)
        found: dict[str, int] = {}
        with self._reading() as db:
            for part in _parts(ids):
                found.update(
                    db.execute(
                        f"SELECT id, row FROM memories WHERE space = ? AND id IN ({_marks(part)})",
                        (space, *part),
                    ).fetchall()
                )
        return found

    def read(self, rows: Sequence[int]) -> dict[int, MemoryRecord]:
        """Records by row."""
        names = tuple(FIELDS)
        place = {name: i + 2 for i, name in enumerate(names)}
        found: dict[int, MemoryRecord] = {}
        with self._reading() as db:
            for part in _parts(rows):
                cursor = db.execute(
                    f"SELECT row, space, {', '.join(names)} FROM memories "
                    f"WHERE row IN ({_marks(part)})",
                    part,
                )
                for values in cursor:
                    kept = self._touches.overlaid(list(values), place)
                    named = dict(zip(names, kept[2:], strict=True))
                    found[values[0]] = codec.record(self._name(values[1]), named)
        return found

    def neighbors(self, namespace: str, ids: Sequence[str] | None) -> list[Link]:
        """Links from and to memories, by source, target and type."""
        space = self._space(namespace)
        select = "SELECT source, target, type, weight, created_at FROM links WHERE space = ?"
        with self._reading() as db:
            if ids is None:
                rows = set(db.execute(select, (space,)))
            else:
                rows = set()
                for part in _parts(ids):
                    for end in ("source", "target"):
                        rows |= set(
                            db.execute(f"{select} AND {end} IN ({_marks(part)})", (space, *part))
                        )
        return [
            Link(namespace, source, target, type_, weight, codec.decode("created_at", created))
            for source, target, type_, weight, created in sorted(rows)
        ]

    def namespaces(self) -> dict[str, int]:
        """Every namespace with how many memories it has."""
        with self._reading() as db:
            return dict(
                db.execute(
                    "SELECT name, count(*) FROM memories JOIN spaces USING (space) "
                    "GROUP BY space ORDER BY name"
                ).fetchall()
            )

    def stats(self) -> dict[str, Any]:
        """Figures about the whole store."""
        with self._reading() as db:
            [links] = db.execute("SELECT count(*) FROM links").fetchone()
            [pages] = db.execute("PRAGMA page_count").fetchone()
            [size] = db.execute("PRAGMA page_size").fetchone()
        return {"store": "sqlite", "links": links, "file_mb": round(pages * size / 1e6, 3)}

    # What an index is built from

    def changes(self, namespace: str, after: int) -> Changes:
        """What happened since `after`."""
        space = self._space(namespace)
        with self._reading() as db:
            [seq] = db.execute("SELECT value FROM counter").fetchone()
            if after == 0 or seq == after:
                return Changes(seq)
            [kept_from] = db.execute(
                "SELECT coalesce((SELECT CAST(value AS INTEGER) FROM meta "
                "WHERE key = 'changes_from'), 0)"
            ).fetchone()
            if after < kept_from:
                return Changes(seq, reload=True)
            added = [
                row
                for (row,) in db.execute(
                    "SELECT row FROM memories WHERE space = ? AND row > ? ORDER BY row",
                    (space, after),
                )
            ]
            fresh = db.execute(
                "SELECT DISTINCT row, kind FROM changes "
                "WHERE space = ? AND seq > ? AND row <= ? ORDER BY row",
                (space, after, after),
            ).fetchall()
        return Changes(
            seq,
            added,
            [row for row, kind in fresh if kind == "removed"],
            [row for row, kind in fresh if kind == "patched"],
            any(kind == "linked" for _, kind in fresh),
        )

    def load(
        self, namespace: str, names: tuple[str, ...], rows: Sequence[int] | None
    ) -> Iterator[Mapping[str, list[Any]]]:
        """Chunks of memories as columns, rows ascending."""
        wanted = ("row", *names)
        for values in self._selected(namespace, ", ".join(map(_column, wanted)), rows):
            columns = dict(zip(wanted, map(list, zip(*values, strict=True)), strict=True))
            for name in names:
                if name.startswith("metadata."):
                    key = name.removeprefix("metadata.")
                    columns[name] = [codec.metadata_value(v, key) for v in columns[name]]
                elif name in FIELDS and FIELDS[name].type == "list":
                    columns[name] = [codec.indexed(name, value) for value in columns[name]]
            self._touches.overlay_columns(columns)
            yield columns

    def _selected(
        self, namespace: str, what: str, rows: Sequence[int] | None
    ) -> Iterator[list[tuple[Any, ...]]]:
        space = self._space(namespace)
        if rows is not None:
            for part in _parts(rows):
                with self._reading() as db:
                    found = db.execute(
                        f"SELECT {what} FROM memories WHERE row IN ({_marks(part)}) "
                        "AND space = ? ORDER BY row",
                        (*part, space),
                    ).fetchall()
                if found:
                    yield found
            return
        after = 0
        while True:
            with self._reading() as db:
                found = db.execute(
                    f"SELECT {what} FROM memories WHERE space = ? AND row > ? ORDER BY row LIMIT ?",
                    (space, after, _CHUNK),
                ).fetchall()
            if not found:
                return
            after = found[-1][0]
            yield found

    def vectors(
        self, namespace: str, rows: Sequence[int] | None
    ) -> Iterator[tuple[str, list[int], list[bytes]]]:
        """Chunks of vectors, each name's with ascending rows."""
        space = self._space(namespace)
        with self._reading() as db:
            names = [
                name
                for (name,) in db.execute(
                    "SELECT DISTINCT name FROM vectors WHERE space = ? ORDER BY name", (space,)
                )
            ]
        select = "SELECT row, vector FROM vectors WHERE space = ? AND name = ? AND row"
        for name in names:
            if rows is not None:
                for part in _parts(rows):
                    with self._reading() as db:
                        found = db.execute(
                            f"{select} IN ({_marks(part)}) ORDER BY row", (space, name, *part)
                        ).fetchall()
                    if found:
                        yield name, [row for row, _ in found], [blob for _, blob in found]
                continue
            after = 0
            while True:
                with self._reading() as db:
                    found = db.execute(
                        f"{select} > ? ORDER BY row LIMIT ?", (space, name, after, _CHUNK)
                    ).fetchall()
                if not found:
                    break
                after = found[-1][0]
                yield name, [row for row, _ in found], [blob for _, blob in found]

    def links(self, namespace: str) -> list[tuple[str, str, float]]:
        """All links as (source, target, created_at in seconds)."""
        with self._reading() as db:
            return db.execute(
                "SELECT source, target, created_at FROM links WHERE space = ?",
                (self._space(namespace),),
            ).fetchall()

    # Writing

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction, begun by taking the file's write lock; undone on any error."""
        if self.read_only:
            raise StoreError(f"{self.path} is open for reading only; nothing was written")
        with self._write_lock, guarded(self.path):
            db = self._writer
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
            db.execute("COMMIT")
            self._writes += 1

    def put(self, drafts: Sequence[Draft], replace: bool, embedder: str | None) -> tuple[str, ...]:
        """Write all in one transaction, or nothing and the ids that are taken."""
        prepared = [(draft, codec.stored(draft)) for draft in drafts]
        self._touches.flush()
        with self._writing() as db:
            old = self._existing(db, drafts)
            if not replace:
                seen: set[tuple[str, str]] = set(old)
                taken = []
                for draft in drafts:
                    key = (draft.record.namespace, draft.record.id)
                    if key in seen:
                        taken.append(key[1])
                    seen.add(key)
                if taken:
                    return tuple(taken)
            self._insert(db, prepared, old)
            if embedder and any(draft.vectors for draft in drafts):
                db.execute("INSERT OR IGNORE INTO meta VALUES ('embedder', ?)", (embedder,))
        return ()

    def _existing(
        self, db: sqlite3.Connection, drafts: Sequence[Draft]
    ) -> dict[tuple[str, str], tuple[int, int]]:
        """Row and sequence of the memories that have the drafts' ids, by namespace and id."""
        wanted: dict[str, list[str]] = {}
        for draft in drafts:
            wanted.setdefault(draft.record.namespace, []).append(draft.record.id)
        found = {}
        for namespace, ids in wanted.items():
            for part in _parts(ids):
                cursor = db.execute(
                    "SELECT id, row, sequence FROM memories JOIN spaces USING (space) "
                    f"WHERE name = ? AND id IN ({_marks(part)})",
                    (namespace, *part),
                )
                found.update({(namespace, id): (row, seq) for id, row, seq in cursor})
        return found

    def _insert(
        self,
        db: sqlite3.Connection,
        prepared: Sequence[tuple[Draft, dict[str, Any]]],
        old: Mapping[tuple[str, str], tuple[int, int]],
    ) -> None:
        spaces = self._write_spaces(db, {draft.record.namespace for draft, _ in prepared})
        if old:
            self._erase(db, {spaces[name] for name, _ in old}, [row for row, _ in old.values()])
        first = self._numbers(db, len(prepared))
        memories, vectors = [], []
        for row, (draft, values) in enumerate(prepared, first):
            key = (draft.record.namespace, draft.record.id)
            space = spaces[key[0]]
            values.update(row=row, space=space, sequence=old[key][1] if key in old else row)
            memories.append([values[name] for name in _COLUMNS])
            vectors += [
                (space, name, row, codec.vector_bytes(v)) for name, v in draft.vectors.items()
            ]
        db.executemany(_INSERT, memories)
        db.executemany("INSERT INTO vectors VALUES (?, ?, ?, ?)", vectors)

    def _write_spaces(self, db: sqlite3.Connection, names: set[str]) -> dict[str, int]:
        db.executemany(
            "INSERT OR IGNORE INTO spaces (name) VALUES (?)", [(name,) for name in sorted(names)]
        )
        return {
            name: db.execute("SELECT space FROM spaces WHERE name = ?", (name,)).fetchone()[0]
            for name in names
        }

    def _numbers(self, db: sqlite3.Connection, count: int) -> int:
        """The first of `count` new numbers."""
        [last] = db.execute(
            "UPDATE counter SET value = value + ? RETURNING value", (count,)
        ).fetchone()
        return int(last) - count + 1

    def _note(self, db: sqlite3.Connection, kind: str, entries: Sequence[tuple[int, int]]) -> None:
        """Tell indexes what happened to (space, row) entries."""
        if not entries:
            return
        first = self._numbers(db, len(entries))
        db.executemany(
            "INSERT INTO changes VALUES (?, ?, ?, ?)",
            [(seq, space, row, kind) for seq, (space, row) in enumerate(entries, first)],
        )
        if first % _CHANGES_KEPT < len(entries):  # now and then
            oldest = first - _CHANGES_KEPT
            db.execute("DELETE FROM changes WHERE seq < ?", (oldest,))
            db.execute("INSERT OR REPLACE INTO meta VALUES ('changes_from', ?)", (str(oldest),))

    def _erase(self, db: sqlite3.Connection, spaces: set[int], rows: Sequence[int]) -> None:
        for part in _parts(rows):
            found = db.execute(
                f"DELETE FROM memories WHERE row IN ({_marks(part)}) RETURNING space, row", part
            ).fetchall()
            self._note(db, "removed", [entry for entry in found if entry[0] in spaces])

    def link(self, links: Sequence[Link]) -> None:
        """Write links, replacing those between the same two of the same type."""
        with self._writing() as db:
            spaces = self._write_spaces(db, {link.namespace for link in links})
            db.executemany(
                "INSERT OR REPLACE INTO links VALUES (?, ?, ?, ?, ?, ?)",
                [
                    (
                        spaces[link.namespace],
                        link.source,
                        link.target,
                        link.type,
                        link.weight,
                        codec.encode("created_at", link.created_at),
                    )
                    for link in links
                ],
            )
            self._note(db, "linked", [(space, 0) for space in sorted(spaces.values())])

    def patch(self, namespace: str, id: str, values: dict[str, Any]) -> bool:
        """Set patchable fields; whether the memory exists."""
        self._touches.flush()
        with self._writing() as db:
            found = db.execute(
                "SELECT space, row FROM memories JOIN spaces USING (space) "
                "WHERE name = ? AND id = ?",
                (namespace, id),
            ).fetchone()
            if found is None:
                return False
            db.execute(
                f"UPDATE memories SET {', '.join(f'{name} = ?' for name in values)} WHERE row = ?",
                (*(codec.encode(name, value) for name, value in values.items()), found[1]),
            )
            self._note(db, "patched", [found])
        return True

    def touch(self, rows: Sequence[int], at: datetime) -> None:
        """Queue an access of each row; written within a second. Reading-only stores keep none."""
        if not self.read_only:
            self._touches.add(rows, codec.encode("last_accessed", at))

    def _write_touches(self, pending: Mapping[int, Waiting]) -> None:
        with self._writing() as db:
            touched = []
            for row, (count, times) in sorted(pending.items()):
                found = db.execute(
                    "SELECT space, row, accesses FROM memories WHERE row = ?", (row,)
                ).fetchone()
                if found is None:
                    continue
                db.execute(
                    "UPDATE memories SET access_count = access_count + ?, accesses = ?, "
                    "last_accessed = max(coalesce(last_accessed, ?), ?) WHERE row = ?",
                    (count, codec.accessed(found[2], times), times[0], times[0], row),
                )
                touched.append(found[:2])
            self._note(db, "patched", touched)

    def delete(self, namespace: str, rows: Sequence[int] | None) -> int:
        """Erase rows, their vectors and links; how many there were. Freed pages are overwritten."""
        self._touches.flush()
        space = self._space(namespace)
        with self._writing() as db:
            if rows is None:
                rows = [
                    row
                    for (row,) in db.execute("SELECT row FROM memories WHERE space = ?", (space,))
                ]
            gone = []
            for part in _parts(rows):
                gone += db.execute(
                    f"SELECT id, row FROM memories WHERE space = ? AND row IN ({_marks(part)})",
                    (space, *part),
                ).fetchall()
            for id, _ in gone:
                for end in ("source", "target"):
                    db.execute(f"DELETE FROM links WHERE space = ? AND {end} = ?", (space, id))
            self._erase(db, {space}, [row for _, row in gone])
        if gone:
            self._truncate_log()
        return len(gone)

    def _truncate_log(self) -> None:
        """Fold the write-ahead log into the file, so that erased text does not linger in it."""
        with self._write_lock, guarded(self.path):
            self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def flush(self) -> None:
        """Write queued touches."""
        self._touches.flush()

    def close(self) -> None:
        """Write queued touches and close the file."""
        try:
            self._touches.close()
        finally:
            with self._write_lock, self._read_lock:
                self._writer.close()
                self._reader.close()


def _column(name: str) -> str:
    if name.startswith("metadata."):
        return "metadata"
    return name.replace(".", "_")


def _parts(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(values), _PARAMETERS):
        yield tuple(values[start : start + _PARAMETERS])


def _marks(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))
