"""The vectors of a SQLite file, and the embedder that they come from."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence

from salience.retrieval.operations import STAGED
from salience.stores.sqlite.statements import chunks, placeholders


def embedder_of(db: sqlite3.Connection) -> str | None:
    """Identity of the embedder of the stored vectors."""
    row = db.execute("SELECT value FROM meta WHERE key = 'embedder'").fetchone()
    return row[0] if row else None


def vector_dimensions(
    db: sqlite3.Connection, namespace: str, names: Iterable[str]
) -> dict[str, int]:
    """The length of a namespace's vectors of some names."""
    dimensions = {}
    for name in names:
        row = db.execute(
            "SELECT length(vector) / 2 FROM vectors JOIN spaces USING (space) "
            "WHERE spaces.name = ? AND vectors.name = ? LIMIT 1",
            (namespace, name),
        ).fetchone()
        if row:
            dimensions[name] = int(row[0])
    return dimensions


def distinct_vector_names(db: sqlite3.Connection, space: int) -> Iterator[str]:
    """The names of the vectors of a namespace that are searched, each looked up in the index."""
    name = ""
    while row := db.execute(
        "SELECT name FROM vectors WHERE space = ? AND name > ? ORDER BY name LIMIT 1", (space, name)
    ).fetchone():
        name = row[0]
        if not name.startswith(STAGED):
            yield name


def vectors_by_row(db: sqlite3.Connection, rows: Sequence[int]) -> dict[int, dict[str, bytes]]:
    """The vectors of rows by row and name."""
    vectors: dict[int, dict[str, bytes]] = {}
    for part in chunks(rows):
        for row, name, blob in db.execute(
            f"SELECT row, name, vector FROM vectors WHERE row IN ({placeholders(part)})", part
        ):
            vectors.setdefault(row, {})[name] = blob
    return vectors


def put_vectors(
    db: sqlite3.Connection, namespace: str, name: str, vectors: Mapping[int, bytes]
) -> None:
    """Give rows a vector, in the place of one of its name."""
    db.executemany(
        "INSERT OR REPLACE INTO vectors SELECT space, ?, row, ? FROM memories "
        "JOIN spaces USING (space) WHERE spaces.name = ? AND row = ?",
        [(name, blob, namespace, row) for row, blob in vectors.items()],
    )


def rename_vectors(db: sqlite3.Connection, source: str, target: str) -> bool:
    """Rename the vectors `source` if all memories have them; return whether they do.

    Vectors "source|<name>" become "<name>". Those replaced are dropped, in the history, too.
    """
    missing = db.execute(
        "SELECT 1 FROM memories WHERE NOT EXISTS (SELECT 1 FROM vectors "
        "WHERE vectors.space = memories.space AND name = ? "
        "AND vectors.row = memories.row) LIMIT 1",
        (source,),
    ).fetchone()
    if missing:
        return False
    prefix = f"{source}|"
    staged = db.execute(
        "SELECT DISTINCT name FROM vectors WHERE substr(name, 1, ?) = ?",
        (len(prefix), prefix),
    ).fetchall()
    pairs = [(source, target), *((name, name.removeprefix(prefix)) for (name,) in staged)]
    for name, replaced in pairs:
        db.execute("DELETE FROM vectors WHERE name = ?", (replaced,))
        db.execute("UPDATE vectors SET name = ? WHERE name = ?", (replaced, name))
        # They cannot be compared with the others any more.
        db.execute("DELETE FROM former_vectors WHERE name = ?", (replaced,))
    # Left behind by other attempts
    db.execute("DELETE FROM vectors WHERE substr(name, 1, 1) = ?", (STAGED,))
    return True
