"""Links in a SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from salience.records.events import Event
from salience.records.record import Link
from salience.stores import codec
from salience.stores.sqlite.integrity.row_checksums import Insert
from salience.stores.sqlite.statements import chunks, placeholders

_REPLACE_LINKS = Insert(
    "links", ("space", "source", "target", "type", "weight", "created_at"), "REPLACE"
)


class LinkingMemory(NamedTuple):
    """The place of a memory that a link begins at."""

    space: int
    row: int
    sequence: int


def insert_links(db: sqlite3.Connection, spaces: Mapping[str, int], links: Sequence[Link]) -> None:
    """Write links, each in the place of one of its type between the same two."""
    _REPLACE_LINKS(
        db,
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


def delete_links(db: sqlite3.Connection, links: Sequence[Link]) -> list[Link]:
    """Delete links; return those that were there."""
    return [
        link
        for link in links
        if db.execute(
            "DELETE FROM links WHERE source = ? AND target = ? AND type = ? "
            "AND space = (SELECT space FROM spaces WHERE name = ?)",
            (link.source, link.target, link.type, link.namespace),
        ).rowcount
    ]


def linking_memories(
    db: sqlite3.Connection, events: Sequence[tuple[str, Event]]
) -> dict[tuple[str, str | None], LinkingMemory]:
    """The memories of events of links, by namespace and id, as far as they are there."""
    ids: dict[str, dict[str | None, None]] = {}
    for namespace, event in events:
        ids.setdefault(namespace, {})[event.id] = None
    memories: dict[tuple[str, str | None], LinkingMemory] = {}
    for namespace, own_ids in ids.items():
        for part in chunks(list(own_ids)):
            for id, *place in db.execute(
                "SELECT id, space, row, sequence FROM memories JOIN spaces USING (space) "
                f"WHERE name = ? AND id IN ({placeholders(part)}) ORDER BY +row",
                (namespace, *part),
            ):
                memories[namespace, id] = LinkingMemory(*place)
    return memories
