"""The quarantine: a file to which rows go before they are taken out of a store."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from typing import Any

from salience.errors import StoreError
from salience.retrieval.safety import QUARANTINE_END


class Quarantine:
    """Lines of JSON, one a row: when, why, the table, the namespace, and the values as found.

    Bytes are in base64, and what is not UTF-8 in a text is escaped. The importer "quarantine" reads
    the memories among them.
    """

    def __init__(self, store: str) -> None:
        self.path = store + QUARANTINE_END

    def keep(
        self,
        table: str,
        rows: Iterable[tuple[str | None, Mapping[str, Any]]],
        why: str,
    ) -> int:
        """Write rows, each with its namespace, to the file, on disk when it returns; their number.

        Raises:
            StoreError: the file cannot be written.
        """
        at = datetime.now(timezone.utc).isoformat()
        count = 0
        try:
            handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with open(handle, "a", encoding="utf-8") as file:
                for namespace, row in rows:
                    kept = {name: _as_json(value) for name, value in row.items()}
                    line = {"at": at, "why": why, "table": table, "namespace": namespace}
                    file.write(json.dumps({**line, "row": kept}, ensure_ascii=False) + "\n")
                    count += 1
                file.flush()
                os.fsync(file.fileno())
        except OSError as problem:
            raise StoreError(
                f"{self.path}: {problem.strerror or problem}; what is taken out of the store would "
                "be kept there, so nothing was taken out"
            ) from problem
        return count


def _as_json(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, str):  # half of a pair of surrogates is no UTF-8
        return value.encode("utf-8", "backslashreplace").decode()
    return value
