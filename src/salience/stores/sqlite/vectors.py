"""The vectors of a SQLite file, and the embedders that they come from."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence

from salience.language.passages import is_vector_name
from salience.retrieval.vector_sets import VectorSets
from salience.stores.sqlite.statements import chunks, placeholders


def embedder_of(db: sqlite3.Connection) -> str | None:
    """Identity of the embedder of the vectors that are searched."""
    row = db.execute("SELECT value FROM meta WHERE key = 'embedder'").fetchone()
    return row[0] if row else None


def vector_sets(db: sqlite3.Connection) -> VectorSets:
    """The sets of vectors of the file."""
    row = db.execute("SELECT value FROM meta WHERE key = 'vectors'").fetchone()
    return VectorSets.from_json(row[0] if row else None)


def vector_dimensions(
    db: sqlite3.Connection, namespace: str, names: Iterable[str], sets: VectorSets
) -> dict[str, int]:
    """The length of a namespace's searched vectors of some names."""
    dimensions = {}
    for name in names:
        row = db.execute(
            "SELECT length(vector) / 2 FROM vectors JOIN spaces USING (space) "
            "WHERE spaces.name = ? AND vectors.name = ? LIMIT 1",
            (namespace, sets.stored_name(name)),
        ).fetchone()
        if row:
            dimensions[name] = int(row[0])
    return dimensions


def searched_names(db: sqlite3.Connection, space: int, sets: VectorSets) -> list[str]:
    """The names of the vectors of a namespace that are searched, ascending."""
    names = map(sets.searched_name, _stored_names(db, space))
    return sorted(name for name in names if name is not None)


def _stored_names(db: sqlite3.Connection, space: int) -> Iterator[str]:
    """The names under which a namespace keeps vectors, each looked up in the index."""
    name = ""
    while row := db.execute(
        "SELECT name FROM vectors WHERE space = ? AND name > ? ORDER BY name LIMIT 1", (space, name)
    ).fetchone():
        name = row[0]
        yield name


def rows_of(
    db: sqlite3.Connection, space: int, stored_name: str, after: int, limit: int
) -> list[tuple[int, bytes]]:
    """The first vectors of a stored name above row `after`, with ascending rows."""
    return db.execute(
        "SELECT row, vector FROM vectors WHERE space = ? AND name = ? AND row > ? "
        "ORDER BY row LIMIT ?",
        (space, stored_name, after, limit),
    ).fetchall()


def rows_without(
    db: sqlite3.Connection, space: int, stored_name: str, after: int, limit: int
) -> list[int]:
    """The first rows of a namespace above `after` that have no vector of a stored name."""
    is_of_passages = is_vector_name(VectorSets.plain_name(stored_name))
    long_only = "AND passages IS NOT NULL " if is_of_passages else ""
    cursor = db.execute(
        f"SELECT row FROM memories WHERE space = ? AND row > ? {long_only}AND NOT EXISTS "
        "(SELECT 1 FROM vectors WHERE vectors.space = memories.space AND name = ? "
        "AND vectors.row = memories.row) ORDER BY row LIMIT ?",
        (space, after, stored_name, limit),
    )
    return [row for (row,) in cursor]


def vectors_by_row(
    db: sqlite3.Connection, rows: Sequence[int], space: int | None = None
) -> dict[int, dict[str, bytes]]:
    """The vectors of rows, of one namespace or of any, by row, ascending, and stored name."""
    vectors: dict[int, dict[str, bytes]] = {}
    for part in chunks(rows):
        for row, stored_name, blob in db.execute(
            f"SELECT row, name, vector FROM vectors WHERE row IN ({placeholders(part)}) "
            "AND +space = ifnull(?, space) ORDER BY row",  # `+` keeps it from another index
            (*part, space),
        ):
            vectors.setdefault(row, {})[stored_name] = blob
    return vectors
