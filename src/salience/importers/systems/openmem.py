"""Memories and edges of OpenMem, by its SQLite file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from salience.importers import _sqlite
from salience.importers._entries import imported, listing
from salience.importers._source import ImportProblem, Item, clean, moment
from salience.records.record import LINK_TYPES

TABLES = {
    "memories": {"id", "type", "text", "gist", "entities", "strength", "confidence", "status"},
    "edges": {"source_id", "target_id", "rel_type", "weight"},
}


def read(path: Path) -> Iterator[Item]:
    """Yield the memories, each with the edges from it as links; its type becomes the kind.

    The `status` of one that is not active is passed on: `add_many` refuses it, `Memory.update`
    sets it. Uses are counted anew.

    Raises:
        ImportProblem: the file is damaged, or of something else.
    """
    tables = _sqlite.columns(path) if path.is_file() else {}
    if any(not tables.get(table, set()) >= names for table, names in TABLES.items()):
        raise ImportProblem(path, "has no tables of OpenMem", "give its SQLite file")
    links: dict[str, list[dict[str, Any]]] = {}
    for edge in _sqlite.rows(path, "SELECT * FROM edges ORDER BY created_at, id"):
        type = edge["rel_type"] if edge["rel_type"] in LINK_TYPES else "mentions"
        if edge["source_id"] != edge["target_id"]:
            links.setdefault(edge["source_id"], []).append(
                {
                    "target": edge["target_id"],
                    "type": type,
                    "weight": min(max(edge["weight"], 0.0), 1.0),
                    "created_at": moment(edge["created_at"]),
                }
            )
    for row in _sqlite.rows(path, "SELECT * FROM memories ORDER BY created_at, id"):
        yield imported(
            "openmem",
            row["id"],
            {
                "id": row["id"],
                "content": clean(row["text"]),
                "gist": row["gist"],
                "kind": row["type"],
                "entities": listing(_sqlite.json_of(path, row["id"], row["entities"])),
                "created_at": moment(row["created_at"]),
                "updated_at": moment(row["updated_at"]),
                "strength": row["strength"],
                "confidence": row["confidence"],
                "status": None if row["status"] == "active" else row["status"],
                "links": links.get(row["id"], []),
                "metadata": {},
            },
        )
