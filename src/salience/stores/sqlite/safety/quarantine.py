"""The quarantine: a file beside the store, to which rows go before they are taken out of it."""

from __future__ import annotations

import base64
import json
import os
import sqlite3
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from typing import Any

END = ".damaged.jsonl"
"""The end of the file's name."""


class Quarantine:
    """Lines of JSON, one a row: when, why, the table, and the values as they were found.

    Bytes are in base64, and what is not UTF-8 in a text is escaped.
    """

    def __init__(self, path: str) -> None:
        self.path = path + END

    def take(
        self,
        db: sqlite3.Connection,
        table: str,
        where: str,
        values: Sequence[Any] | Iterable[Sequence[Any]],
        why: str,
    ) -> int:
        """Write the rows that pass a condition to the file, then delete them; return how many."""
        cursor = db.execute(f"SELECT * FROM {table} WHERE {where}", tuple(values))
        names = [column[0] for column in cursor.description]
        at = datetime.now(timezone.utc).isoformat()
        count = 0
        handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with open(handle, "a", encoding="utf-8") as file:
            for row in cursor:
                kept = {name: _as_json(value) for name, value in zip(names, row, strict=True)}
                line = {"at": at, "why": why, "table": table, "row": kept}
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
                count += 1
            file.flush()
            os.fsync(file.fileno())
        db.execute(f"DELETE FROM {table} WHERE {where}", tuple(values))
        return count


def _as_json(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    return value
