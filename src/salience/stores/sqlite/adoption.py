"""Replacing the vectors of a SQLite file: at once for readers, row by row in short transactions.

One small transaction notes that staged vectors are in use from then on. Others give them the names
under which they are searched, a few rows each. Until a row has had its turn, its staged vectors are
read under the names of those that they replace.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

from salience.retrieval.operations import STAGED

ADOPTED_AT_ONCE = 2_000
"""Memories whose vectors are renamed in one transaction; other writers wait for it."""
_MAX_ROW = 2**63 - 1


class Segment(NamedTuple):
    """The rows above `after` up to `upto`, which keep a vector under `stored_name`."""

    stored_name: str
    after: int
    upto: int


class Adoption(NamedTuple):
    """Vectors in use of which not all rows have been renamed yet.

    Rows up to `settled` have been, and rows above `last` were written later: both are as always.
    The rows between have vectors of staged names, which `names` maps to those that they replace.
    """

    settled: int
    last: int
    names: dict[str, str]

    def name_in_use(self, row: int, stored_name: str) -> str | None:
        """The name by which a stored vector of a row is known; None if it is not used any more."""
        if not self.settled < row <= self.last:
            return stored_name
        if stored_name in self.names:
            return self.names[stored_name]
        is_replaced = stored_name.startswith(STAGED) or stored_name in self.names.values()
        return None if is_replaced else stored_name

    def stored_name(self, row: int, name: str) -> str:
        """The name under which a row keeps the vector that is known as `name`."""
        return next(each.stored_name for each in self.segments(name) if row <= each.upto)

    def segments(self, name: str) -> list[Segment]:
        """The segments of rows, ascending, that tell where the vectors of a name are kept."""
        for staged, replaced in self.names.items():
            if name == replaced:
                return [
                    Segment(name, 0, self.settled),
                    Segment(staged, self.settled, self.last),
                    Segment(name, self.last, _MAX_ROW),
                ]
        return [Segment(name, 0, _MAX_ROW)]

    def write(self, db: sqlite3.Connection) -> None:
        """Note the adoption in the file."""
        value = json.dumps(self._asdict())
        db.execute("INSERT OR REPLACE INTO meta VALUES ('adoption', ?)", (value,))


_NO_ADOPTION = Adoption(0, 0, {})


def adoption_of(db: sqlite3.Connection) -> Adoption:
    """The adoption that is under way; an empty one if there is none."""
    row = db.execute("SELECT value FROM meta WHERE key = 'adoption'").fetchone()
    return Adoption(**json.loads(row[0])) if row else _NO_ADOPTION


def stored_vector_names(db: sqlite3.Connection, space: int) -> Iterator[str]:
    """The names under which a namespace keeps vectors, each looked up in the index."""
    name = ""
    while row := db.execute(
        "SELECT name FROM vectors WHERE space = ? AND name > ? ORDER BY name LIMIT 1", (space, name)
    ).fetchone():
        name = row[0]
        yield name


def any_without_vector(db: sqlite3.Connection, name: str, after: int) -> bool:
    """True if a memory whose row is above `after` has no vector of that name."""
    missing = db.execute(
        "SELECT 1 FROM memories WHERE row > ? AND NOT EXISTS (SELECT 1 FROM vectors "
        "WHERE vectors.space = memories.space AND name = ? "
        "AND vectors.row = memories.row) LIMIT 1",
        (after, name),
    ).fetchone()
    return missing is not None


def begin_adoption(db: sqlite3.Connection, source: str, target: str, last: int) -> None:
    """Let readers take the vectors `source` for `target`, and "source|<name>" for "<name>"."""
    prefix = f"{source}|"
    names = {source: target}
    for (space,) in db.execute("SELECT space FROM spaces").fetchall():
        staged = stored_vector_names(db, space)
        names |= {name: name.removeprefix(prefix) for name in staged if name.startswith(prefix)}
    Adoption(0, last, names).write(db)


def settle_rows(db: sqlite3.Connection, adoption: Adoption) -> None:
    """Rename the vectors of the next rows, and drop those that they replace."""
    after = adoption.settled
    [upto] = db.execute(
        "SELECT max(row) FROM (SELECT row FROM memories WHERE row > ? AND row <= ? "
        "ORDER BY row LIMIT ?)",
        (after, adoption.last, ADOPTED_AT_ONCE),
    ).fetchone()
    if upto is None:
        upto = adoption.last
    for staged, replaced in adoption.names.items():
        db.execute(
            "DELETE FROM vectors INDEXED BY vectors_by_row WHERE row > ? AND row <= ? AND name = ?",
            (after, upto, replaced),
        )
        db.execute(
            "UPDATE vectors INDEXED BY vectors_by_row SET name = ? "
            "WHERE row > ? AND row <= ? AND name = ?",
            (replaced, after, upto, staged),
        )
    # Left behind by other attempts
    db.execute(
        "DELETE FROM vectors INDEXED BY vectors_by_row "
        "WHERE row > ? AND row <= ? AND substr(name, 1, 1) = ?",
        (after, upto, STAGED),
    )
    adoption._replace(settled=upto).write(db)


FormerVector = tuple[int, int, int, str]
"""The namespace, memory, event and name of a vector that an edit replaced."""


def drop_former_vectors(
    db: sqlite3.Connection, adoption: Adoption, after: FormerVector
) -> FormerVector | None:
    """Drop those of the next former vectors that cannot be compared with the new ones.

    Returns the last that was looked at; None after the last of all, when the adoption is done.
    """
    former = db.execute(
        "SELECT space, memory, event, name, change FROM former_vectors "
        "WHERE (space, memory, event, name) > (?, ?, ?, ?) "
        "ORDER BY space, memory, event, name LIMIT ?",
        (*after, ADOPTED_AT_ONCE),
    ).fetchall()
    db.executemany(
        "DELETE FROM former_vectors WHERE space = ? AND memory = ? AND event = ? AND name = ?",
        [each for *each, change in former if is_outdated(adoption, change, each[-1])],
    )
    if former:
        return former[-1][:-1]
    db.execute("DELETE FROM meta WHERE key = 'adoption'")
    return None


def is_outdated(adoption: Adoption, change: int, name: str) -> bool:
    """True if a former vector is older than the adoption that replaced those of its name."""
    return change <= adoption.last and name in adoption.names.values()
