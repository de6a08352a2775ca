"""Reading memories by id or filter, for plans that then change them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from salience.api.parameters import Between
from salience.errors import NotFound, StoreError, VersionConflict
from salience.records.filters import Filter
from salience.records.record import MemoryRecord
from salience.records.validation import integer, text
from salience.retrieval.candidates import Candidates
from salience.retrieval.operations import Collect, ReadRecords, RowsById
from salience.retrieval.plan import Plan, ask
from salience.retrieval.query import Query
from salience.retrieval.routes import MatchAll
from salience.write.items import WriteContext

VERSION = Between(1)
MAX_ATTEMPTS = 100  # of reading or changing a memory that others change at the same time


def not_found(id: str, namespace: str, what: str = "memory") -> NotFound:
    """The error for an id that no memory has, or no thing of another kind."""
    return NotFound(f"there is no {what} {id!r} in the namespace {namespace!r}")


def contention_error(id: str) -> StoreError:
    """The error for a memory that others changed during each of `MAX_ATTEMPTS`."""
    return StoreError(f"the memory {id!r} keeps changing; try again")


def read_record(id: str, namespace: str) -> Plan[MemoryRecord | None]:
    """The plan of reading one memory; None if there is none of that id."""
    return (yield from read_records(namespace, (id,))).get(id)


def read_existing(id: str, namespace: str) -> Plan[MemoryRecord]:
    """The plan of reading one memory.

    Raises:
        NotFound: there is none of that id.
    """
    record = yield from read_record(text("id", id), namespace)
    if record is None:
        raise not_found(id, namespace)
    return record


def checked_version(value: Any) -> int | None:
    """The version that a memory must have, or None for any; InvalidInput otherwise."""
    return None if value is None else integer("if_version", value, *VERSION)


def check_version(record: MemoryRecord, if_version: int | None) -> None:
    """Refuse a memory that has another version.

    Raises:
        VersionConflict: somebody changed it first.
    """
    if if_version is not None and record.version != if_version:
        raise VersionConflict(record.in_effect(), if_version)


def read_records(namespace: str, ids: Sequence[str]) -> Plan[dict[str, MemoryRecord]]:
    """The plan of reading memories by id; ids that no memory has are left out."""
    records: dict[str, MemoryRecord] = {}
    missing = tuple(ids)
    for _ in range(MAX_ATTEMPTS):
        rows: Mapping[str, int] = yield from ask(RowsById(namespace, missing))
        if rows:
            stored = yield from ask(ReadRecords(np.array(sorted(rows.values()), dtype=np.int64)))
            records.update((record.id, record) for record in stored if record is not None)
        missing = tuple(id for id in rows if id not in records)
        if not missing:  # else edits have given them other rows meanwhile
            return records
    raise contention_error(missing[0])


def read_table(scope: WriteContext, where: Filter | None, names: Sequence[str]) -> Plan[Candidates]:
    """The plan of reading columns of the memories that pass a filter, by ascending row."""
    query = Query("", (scope.namespace,), scope.now.timestamp(), where=where)
    table: Candidates = yield from ask(Collect(query, (MatchAll(),), None, tuple(names)))
    return table
