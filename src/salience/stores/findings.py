"""Findings in the same words in every store, what mends them, and what is taken out."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from salience.errors import StoreError
from salience.lazily import dataclass
from salience.retrieval.safety import QUARANTINE_END, Finding

EXAMPLES = 3
"""The most examples of a finding."""
FIX = "`salience doctor --fix`"
REMAKE = "`salience reembed --missing` makes them"


def moved_out(path: str) -> str:
    """The remedy for rows that go to the quarantine."""
    return f"{FIX} moves them to {path}"


def orphans(table: str, count: int, examples: Sequence[str], remedy: str) -> Finding:
    """Rows that belong to nothing."""
    problem = f"{count:,} rows of {table} belong to no memory"
    return Finding("orphans", problem, count, tuple(examples), remedy)


def usual_size(counts: Mapping[int, int]) -> int:
    """The size that most vectors of a name have, of the numbers by size; of equal ones the largest.

    The others cannot be compared with these.
    """
    return max(counts, key=lambda size: (counts[size], size))


def odd_dimensions(name: str, odd: int, usual: int, remedy: str) -> Finding:
    """Vectors of another length than the others of their name."""
    problem = f"{odd:,} vectors {name!r} have not the {usual} dimensions of others"
    return Finding("dimensions", problem, odd, remedy=f"{remedy}; then {REMAKE} again")


def missing_vectors(count: int) -> Finding:
    """Memories without a vector."""
    problem = f"{count:,} memories have no vector, and are found by their words alone"
    return Finding("vectors", problem, count, remedy=REMAKE, harmless=True)


def stale_words(count: int, examples: Sequence[str]) -> Finding:
    """Memories that are found by something else than their texts say."""
    problem = f"what {count:,} memories are found by is not that of their texts"
    remedy = f"{FIX} recomputes it from their texts"
    return Finding("words", problem, count, tuple(examples), remedy)


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


@dataclass(frozen=True)
class Problem:
    """A finding, with what mends it; that raises `StoreError` where it cannot."""

    finding: Finding
    mend: Callable[[], object] | None = None
