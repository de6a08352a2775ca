"""Changes: the fields that an update sets, as arguments."""

from __future__ import annotations

from typing import Any

from salience.engine.memory import Memory
from salience.records.field_types import Type
from salience.records.fields import FIELDS
from salience.server.models.arguments import Argument, parameters
from salience.server.models.constraints import RECORD
from salience.write.items import CHECKS, FLAGS, REQUIRED

_TYPES: dict[Type, Any] = {
    "text": str | None,
    "number": float | None,
    "time": str | float | None,
    "list": list[str] | None,
    "json": dict[str, Any] | None,
}


def _changes() -> dict[str, Argument]:
    """The arguments of `Memory.update`, and the fields that judgements set."""
    declared = parameters(Memory.update)
    del declared["id"]
    for name in [name for name in CHECKS if name != "id"]:
        kind = bool | None if name in FLAGS else _TYPES[FIELDS[name].type]
        if name in REQUIRED:
            kind = str if FIELDS[name].type == "text" else str | float
        described = declared[name].description if name in declared else _JUDGED
        declared[name] = Argument(kind, described, None, RECORD[name])
    return declared


_JUDGED = "A field that judgements set otherwise."
CHANGES = _changes()
"""The members of an update, by their names."""
