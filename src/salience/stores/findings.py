"""Checks of rows and their findings, the same in every store, and the quarantine."""

from __future__ import annotations

import base64
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from salience.errors import StoreError
from salience.lazily import dataclass
from salience.retrieval.safety import QUARANTINE_END, Finding
from salience.stores.tables.dialect import SELECT_SETS, parse_sets

EXAMPLES = 3
"""The most examples of a finding."""
FIX = "`salience doctor --fix`"
REMAKE = "`salience reembed --missing` makes them"


def stale_words(count: int, examples: Sequence[str]) -> Finding:
    """Memories found by something other than their texts say."""
    problem = f"what {count:,} memories are found by is not that of their texts"
    remedy = f"{FIX} recomputes it from their texts"
    return Finding("words", problem, count, tuple(examples), remedy)


class Quarantine:
    """Lines of JSON, one a row: when, why, the table, the namespace, and the values as found.

    Bytes are in base64; text that is not UTF-8 is escaped. The importer "quarantine" reads the
    memories among them.
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
    """A finding and how to mend it, alone or in a transaction that the store begins."""

    finding: Finding
    mend: Callable[..., object] | None = None
    mend_alone: Callable[[], bool] | None = None


_OF_ROW = (
    "NOT EXISTS (SELECT 1 FROM memories m WHERE m.$namespace = t.$namespace AND m.$row = t.$row)"
)
_ORPHANS = {
    "vectors": _OF_ROW,
    "words": _OF_ROW,
    "events": (
        "t.memory <> 0 AND NOT EXISTS (SELECT 1 FROM memories m "
        "WHERE m.$namespace = t.$namespace AND m.sequence = t.memory)"
    ),
    # The target may be a memory that is still to come.
    "links": (
        "NOT EXISTS (SELECT 1 FROM memories m "
        "WHERE m.$namespace = t.$namespace AND m.id = t.source)"
    ),
    "former_vectors": (
        "NOT EXISTS (SELECT 1 FROM events e WHERE e.$namespace = t.$namespace AND e.seq = t.event)"
    ),
}
"""The rows of each table that belong to nothing."""
_KEYS = {
    "memories": "t.id",
    "vectors": "t.name || ' of row ' || t.$row",
    "words": "'row ' || t.$row",
    "events": "t.type || ' at ' || t.seq",
    "links": "t.source || ' ' || t.type || ' ' || t.target",
    "former_vectors": "t.name || ' at ' || t.event",
    "notes": "t.key",
    "spaces": "t.name",
    "meta": "t.key",
    "access_keys": "t.id",
    "erasures": "t.seq",
}
"""The name of a row in a finding."""


class RowChecks(ABC):
    """The checks of what rows belong to and can be compared with, in the tables of all stores.

    A row is `t` in conditions, which are templates (see `tables.commands.FRAGMENTS`).
    """

    owned: tuple[str, ...]  # the tables whose rows belong to others
    vector_bytes: str  # the SQL of the length of a vector at half precision
    within = ""  # a condition of the rows that are looked at, with " AND " behind it
    values: tuple[Any, ...] = ()  # its parameters

    def __init__(self, quarantine: Quarantine) -> None:
        self.quarantine = quarantine

    @abstractmethod
    def select(self, sql: str, values: Sequence[Any]) -> list[Any]:
        """The rows that a statement reads."""

    @abstractmethod
    def taking(
        self, table: str, where: str, values: Sequence[Any], why: str
    ) -> Callable[..., object]:
        """The move of the rows that pass a condition to the quarantine."""

    @property
    def remedy(self) -> str:
        """The remedy for rows that go to the quarantine."""
        return f"{FIX} moves them to {self.quarantine.path}"

    def orphans(self) -> Iterator[Problem]:
        """Rows that belong to nothing."""
        for table in self.owned:
            where = _ORPHANS[table]
            count = self.count(table, where)
            if count:
                problem = f"{count:,} rows of {table} belong to no memory"
                names = self.names(table, where)
                finding = Finding("orphans", problem, count, names, self.remedy)
                yield Problem(finding, self.taking(table, where, (), "orphan"))

    def odd_dimensions(self) -> Iterator[Problem]:
        """Vectors with another length than most of their name, which cannot be compared.

        If several lengths are equally frequent, the largest is the right one.
        """
        select = (
            f"SELECT t.$namespace, t.name, {self.vector_bytes}, count(*) FROM vectors t "
            f"WHERE {self.within}true GROUP BY 1, 2, 3"
        )
        sizes: dict[tuple[Any, str], dict[int, int]] = {}
        for namespace, name, size, count in self.select(select, self.values):
            sizes.setdefault((namespace, name), {})[size] = count
        for key, counts in sizes.items():
            usual = max(counts, key=lambda size: (counts[size], size))
            odd = sum(counts.values()) - counts[usual]
            if odd:
                problem = (
                    f"{odd:,} vectors {key[1]!r} have not the {usual // 2} dimensions of others"
                )
                remedy = f"{self.remedy}; then {REMAKE} again"
                where = f"t.$namespace = %s AND t.name = %s AND {self.vector_bytes} <> %s"
                take = self.taking("vectors", where, (*key, usual), "dimensions")
                yield Problem(Finding("dimensions", problem, odd, remedy=remedy), take)

    def missing_vectors(self) -> Iterator[Problem]:
        """Memories without a vector."""
        embedder, sets = parse_sets(self.select(SELECT_SETS.sql, ()))
        where = (
            "NOT EXISTS (SELECT 1 FROM vectors v WHERE v.$namespace = t.$namespace "
            "AND v.name = %s AND v.$row = t.$row)"
        )
        if embedder is None:
            return
        count = self.count("memories", where, sets.stored_name("content"))
        if count:
            problem = f"{count:,} memories have no vector, and are found by their words alone"
            yield Problem(Finding("vectors", problem, count, remedy=REMAKE, harmless=True))

    def count(self, table: str, where: str, *values: Any) -> int:
        """The number of rows that pass a condition."""
        select = f"SELECT count(*) FROM {table} t WHERE {self.within}{where}"
        [[count]] = self.select(select, (*self.values, *values))
        return int(count)

    def names(self, table: str, where: str, *values: Any) -> tuple[str, ...]:
        """The names of some rows that pass a condition."""
        select = f"SELECT {_KEYS[table]} FROM {table} t WHERE {self.within}{where} LIMIT {EXAMPLES}"
        return tuple(str(name) for (name,) in self.select(select, (*self.values, *values)))
