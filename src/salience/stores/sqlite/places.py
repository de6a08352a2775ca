"""Numbers that each namespace of a SQLite file counts by itself: of its memories and its events."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence


def take_places(db: sqlite3.Connection, spaces: Sequence[int]) -> list[int]:
    """The next numbers of some namespaces, one for each time that one is named."""
    following: dict[int, int] = {}
    for space, count in Counter(spaces).items():
        [last] = db.execute(
            "UPDATE spaces SET last = last + ? WHERE space = ? RETURNING last", (count, space)
        ).fetchone()
        following[space] = last - count
    places = []
    for space in spaces:
        following[space] += 1
        places.append(following[space])
    return places
