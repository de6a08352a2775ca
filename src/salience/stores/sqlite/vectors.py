"""The vectors of a SQLite file, and the embedders that they come from."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence

from salience.language.passages import is_vector_name
from salience.retrieval.vector_sets import VectorSets
from salience.stores.sqlite.dialect import write_meta
from salience.stores.sqlite.statements import chunks, placeholders

DROPPED_AT_ONCE = 2_000
"""Vectors that are erased in one transaction; other writers wait for it."""


def note_embedder(db: sqlite3.Connection, embedder: str) -> None:
    """Note whose the vectors of the file are, where nothing is noted yet."""
    if embedder_of(db) is None:
        write_meta(db, "embedder", embedder)


def embedder_of(db: sqlite3.Connection) -> str | None:
    """Identity of the embedder of the vectors that are searched."""
    row = db.execute("SELECT value FROM meta WHERE key = 'embedder'").fetchone()
    return row[0] if row else None


def vector_sets(db: sqlite3.Connection) -> VectorSets:
    """The sets of vectors of the file."""
    row = db.execute("SELECT value FROM meta WHERE key = 'vectors'").fetchone()
    return VectorSets.from_json(row[0] if row else None)


def write_sets(db: sqlite3.Connection, sets: VectorSets) -> None:
    """Note how the vectors of the file are named from now on."""
    write_meta(db, "vectors", sets.to_json())


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


def any_without_vector(db: sqlite3.Connection, stored_name: str, after: int) -> bool:
    """True if a memory of any namespace, whose row is above `after`, has no such vector."""
    missing = db.execute(
        "SELECT 1 FROM memories WHERE row > ? AND NOT EXISTS (SELECT 1 FROM vectors "
        "WHERE vectors.space = memories.space AND name = ? "
        "AND vectors.row = memories.row) LIMIT 1",
        (after, stored_name),
    ).fetchone()
    return missing is not None


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


def put_vectors(
    db: sqlite3.Connection, namespace: str, stored_name: str, vectors: Mapping[int, bytes]
) -> None:
    """Give rows a vector, in the place of one of its name."""
    db.executemany(
        "REPLACE INTO vectors (space, name, row, vector, checksum) "
        "SELECT space, ?1, row, ?2, checksum(space, ?1, row, ?2) FROM memories "
        "JOIN spaces USING (space) WHERE spaces.name = ?3 AND row = ?4",
        [(stored_name, blob, namespace, row) for row, blob in vectors.items()],
    )


def count_vectors(db: sqlite3.Connection, stored_name: str) -> int:
    """The number of vectors of a stored name in all namespaces."""
    [count] = db.execute(
        "SELECT count(*) FROM spaces JOIN vectors ON vectors.space = spaces.space "
        "AND vectors.name = ?",
        (stored_name,),
    ).fetchone()
    return int(count)


def drop_some(db: sqlite3.Connection, stored_names: Sequence[str]) -> bool:
    """Erase some vectors of stored names, and of those that edits replaced; True if any were."""
    marks = placeholders(stored_names)
    erased = db.execute(
        "DELETE FROM vectors WHERE (space, name, row) IN (SELECT spaces.space, vectors.name, row "
        f"FROM spaces JOIN vectors USING (space) WHERE vectors.name IN ({marks}) LIMIT ?)",
        (*stored_names, DROPPED_AT_ONCE),
    ).rowcount
    if erased:
        return True
    return bool(
        db.execute(
            "DELETE FROM former_vectors WHERE (space, memory, event, name) IN (SELECT space, "
            f"memory, event, name FROM former_vectors WHERE name IN ({marks}) LIMIT ?)",
            (*stored_names, DROPPED_AT_ONCE),
        ).rowcount
    )
