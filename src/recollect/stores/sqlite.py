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
from recollect.memory import Draft, Link
from recollect.stores import codec
from recollect.stores.sqlite_file import connect, guarded, prepare
from recollect.stores.sqlite_reads import SqliteReads, marks, parts
from recollect.stores.touches import Touches, Waiting

_CHANGES_KEPT = 200_000
_COLUMNS = (
    "row", "space", "sequence", *FIELDS, "features", "greets",
    *(f"terms.{name}" for name in LEXICAL),
)  # fmt: skip
_INSERT = (
    f"INSERT INTO memories ({', '.join(name.replace('.', '_') for name in _COLUMNS)}) "
    f"VALUES ({', '.join('?' * len(_COLUMNS))})"
)


class SqliteRecords(SqliteReads):
    """The records of one file; `:memory:` keeps them in this process.

    Reads and writes have a connection each, so that a search never waits for a commit. Every
    write is one transaction, on disk when the call returns.
    """

    def __init__(self, path: str, *, read_only: bool = False) -> None:
        reader = connect(path, read_only)
        try:
            self.read_only = prepare(reader, path, read_only)
            shared = path == ":memory:" or self.read_only
            self._writer = reader if shared else connect(path, False)
        except BaseException:
            reader.close()
            raise
        super().__init__(path, reader, Touches(self._write_touches, lazy=path != ":memory:"))
        self._write_lock = self._read_lock if shared else threading.RLock()

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
            for part in parts(ids):
                cursor = db.execute(
                    "SELECT id, row, sequence FROM memories JOIN spaces USING (space) "
                    f"WHERE name = ? AND id IN ({marks(part)})",
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
        for part in parts(rows):
            found = db.execute(
                f"DELETE FROM memories WHERE row IN ({marks(part)}) RETURNING space, row", part
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
            for part in parts(rows):
                gone += db.execute(
                    f"SELECT id, row FROM memories WHERE space = ? AND row IN ({marks(part)})",
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
