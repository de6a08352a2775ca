"""The vectors of a SQLite file, and the embedder that they come from."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence

from salience.language.passages import is_vector_name
from salience.retrieval.operations import STAGED
from salience.stores.sqlite.adoption import adoption_of, stored_vector_names
from salience.stores.sqlite.statements import chunks, placeholders


def embedder_of(db: sqlite3.Connection) -> str | None:
    """Identity of the embedder of the stored vectors."""
    row = db.execute("SELECT value FROM meta WHERE key = 'embedder'").fetchone()
    return row[0] if row else None


def vector_dimensions(
    db: sqlite3.Connection, namespace: str, names: Iterable[str]
) -> dict[str, int]:
    """The length of a namespace's vectors of some names."""
    adoption = adoption_of(db)
    dimensions = {}
    for name in names:
        for segment in adoption.segments(name):
            row = db.execute(
                "SELECT length(vector) / 2 FROM vectors JOIN spaces USING (space) WHERE "
                "spaces.name = ? AND vectors.name = ? AND row > ? AND row <= ? LIMIT 1",
                (namespace, *segment),
            ).fetchone()
            if row:
                dimensions[name] = int(row[0])
                break
    return dimensions


def vector_names_in_use(db: sqlite3.Connection, space: int) -> list[str]:
    """The names of the vectors of a namespace that are searched, ascending."""
    adoption = adoption_of(db)
    names = {name for name in stored_vector_names(db, space) if not name.startswith(STAGED)}
    replaced = set(adoption.names.values())
    return sorted(
        {*(names - replaced), *(name for name in replaced if rows_of(db, space, name, 0, 1))}
    )


def rows_of(
    db: sqlite3.Connection, space: int, name: str, after: int, limit: int
) -> list[tuple[int, bytes]]:
    """The first vectors of a name above row `after`, with ascending rows; [] if there are none."""
    for segment in adoption_of(db).segments(name):
        rows = db.execute(
            "SELECT row, vector FROM vectors WHERE space = ? AND name = ? AND row > ? "
            "AND row <= ? ORDER BY row LIMIT ?",
            (space, segment.stored_name, max(after, segment.after), segment.upto, limit),
        ).fetchall()
        if rows:
            return rows
    return []


VectorsState = tuple[str | None, int]
"""The change since which the feed is complete, and the last row of an adoption under way."""


def vectors_state(db: sqlite3.Connection) -> VectorsState:
    """The state of the vectors' names; as long as it is the same, no row loses a vector."""
    row = db.execute("SELECT value FROM meta WHERE key = 'changes_from'").fetchone()
    return row[0] if row else None, adoption_of(db).last


def rows_without(
    db: sqlite3.Connection, space: int, name: str, after: int, limit: int
) -> list[int]:
    """The first rows of a namespace above `after` that have no vector of a name, ascending.

    Vectors that are being adopted are looked for under the names that they get.
    """
    adoption = adoption_of(db)
    long_only = "AND passages IS NOT NULL " if is_vector_name(name) else ""
    rows: list[int] = []
    for segment in adoption.segments(adoption.names.get(name, name)):
        cursor = db.execute(
            f"SELECT row FROM memories WHERE space = ? AND row > ? AND row <= ? {long_only}"
            "AND NOT EXISTS "
            "(SELECT 1 FROM vectors WHERE vectors.space = memories.space AND name = ? "
            "AND vectors.row = memories.row) ORDER BY row LIMIT ?",
            (
                space,
                max(after, segment.after),
                segment.upto,
                segment.stored_name,
                limit - len(rows),
            ),
        )
        rows += [row for (row,) in cursor]
    return rows


def vectors_by_row(
    db: sqlite3.Connection, rows: Sequence[int], space: int | None = None
) -> dict[int, dict[str, bytes]]:
    """The vectors of rows, of one namespace or of any, by row, ascending, and name."""
    adoption = adoption_of(db)
    vectors: dict[int, dict[str, bytes]] = {}
    for part in chunks(rows):
        for row, stored_name, blob in db.execute(
            f"SELECT row, name, vector FROM vectors WHERE row IN ({placeholders(part)}) "
            "AND +space = ifnull(?, space) ORDER BY row",  # `+` keeps it from another index
            (*part, space),
        ):
            name = adoption.name_in_use(row, stored_name)
            if name is not None:
                vectors.setdefault(row, {})[name] = blob
    return vectors


def put_vectors(
    db: sqlite3.Connection, namespace: str, name: str, vectors: Mapping[int, bytes]
) -> None:
    """Give rows a vector, in the place of one of its name."""
    adoption = adoption_of(db)
    db.executemany(
        "INSERT OR REPLACE INTO vectors SELECT space, ?, row, ? FROM memories "
        "JOIN spaces USING (space) WHERE spaces.name = ? AND row = ?",
        [(adoption.stored_name(row, name), blob, namespace, row) for row, blob in vectors.items()],
    )
