"""Reading records from a SQLite file: by id and row, and all of a namespace for its index."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from recollect.fields import FIELDS
from recollect.index.source import Changes
from recollect.memory import Link, MemoryRecord
from recollect.stores import codec
from recollect.stores.sqlite_file import guarded
from recollect.stores.touches import Touches

_CHUNK = 65_536  # rows read at once when an index is loaded
_PARAMETERS = 30_000  # SQLite takes 32,766 in one statement


class SqliteReads:
    """What is read of one file through one connection, with the accesses that wait counted in."""

    def __init__(self, path: str, reader: sqlite3.Connection, touches: Touches) -> None:
        self.path = path
        self._reader = reader
        self._touches = touches
        self._read_lock = threading.RLock()
        self._spaces: dict[str, int] = {}
        self._names: dict[int, str] = {}
        self._writes = 0

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
            for part in parts(ids):
                found.update(
                    db.execute(
                        f"SELECT id, row FROM memories WHERE space = ? AND id IN ({marks(part)})",
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
            for part in parts(rows):
                cursor = db.execute(
                    f"SELECT row, space, {', '.join(names)} FROM memories "
                    f"WHERE row IN ({marks(part)})",
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
                for part in parts(ids):
                    for end in ("source", "target"):
                        rows |= set(
                            db.execute(f"{select} AND {end} IN ({marks(part)})", (space, *part))
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
            for part in parts(rows):
                with self._reading() as db:
                    found = db.execute(
                        f"SELECT {what} FROM memories WHERE row IN ({marks(part)}) "
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
                for part in parts(rows):
                    with self._reading() as db:
                        found = db.execute(
                            f"{select} IN ({marks(part)}) ORDER BY row", (space, name, *part)
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


def _column(name: str) -> str:
    if name.startswith("metadata."):
        return "metadata"
    return name.replace(".", "_")


def parts(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """The values in parts that one statement can take."""
    for start in range(0, len(values), _PARAMETERS):
        yield tuple(values[start : start + _PARAMETERS])


def marks(values: Sequence[Any]) -> str:
    """A question mark for each value."""
    return ", ".join("?" * len(values))
