"""Memories that `salience doctor --fix` has moved out of a store, by the file it keeps them in."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from salience.importers._entries import imported
from salience.importers._source import ImportProblem, Item, Job, Place, lines
from salience.records.events import ACCESSES
from salience.records.fields import FIELDS

_COUNTED = frozenset(("updated_at", "added_at", "version", *ACCESSES))
_FIELDS = {n: f for n, f in FIELDS.items() if f.type != "times" and n not in _COUNTED}
_OF_OTHERS = "namespace"  # in the metadata: the namespace that a memory was in


def read(path: Place, job: Job) -> Iterator[Item]:
    """Yield the memories of a file, as they were found; lines of other tables are passed over.

    A memory may be damaged in any field, so look at them first. Its metadata name the namespace
    that it was in. Uses are counted from zero.

    Raises:
        ImportProblem: a line cannot be read, unless it is left out.
    """
    assert isinstance(path, Path)
    for number, line in lines(path, job.left_out):
        if not line.strip():
            continue
        try:
            item = _item(path, number, line)
        except ImportProblem as problem:
            job.left_out(problem)
        else:
            if item is not None:
                yield item


def _item(path: Path, number: int, line: str) -> Item | None:
    """The memory in a line; None if it is of something else."""
    name = ""
    try:
        entry = json.loads(line)
        if entry["table"] != "memories":
            return None
        row, fields = entry["row"], dict[str, Any]()
        for name, field in _FIELDS.items():
            fields[name] = _decoded(field.type, row.get(name))
        fields["created_at"] = _decoded("time", row["created_at"])
        fields["metadata"] = {**fields["metadata"], _OF_OTHERS: entry.get("namespace") or "?"}
    except (ValueError, TypeError, KeyError, OverflowError, OSError, RecursionError) as problem:
        what = f"its {name} cannot be read ({problem})" if name else "is no line of a quarantine"
        raise ImportProblem(path, what, "correct or remove the line", line=number) from None
    status = fields.pop("status")
    return imported(
        "quarantine",
        f"{path.name}:{number}",
        {**fields, "status": None if status == "active" else status},
    )


def _decoded(type: str, value: Any) -> Any:
    """A value of a kind of field as records have it, from SQLite's or PostgreSQL's."""
    if type == "time":
        return None if value is None else datetime.fromtimestamp(value, timezone.utc)
    if type not in ("list", "json"):
        return value
    decoded = json.loads(value) if isinstance(value, str) else value
    if decoded is not None and isinstance(decoded, Mapping) != (type == "json"):
        raise TypeError("of another kind")
    return decoded or ({} if type == "json" else None)
