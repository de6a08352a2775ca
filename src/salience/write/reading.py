"""Reading memories by id or filter, for plans that then change them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from salience.errors import NotFound, StoreError
from salience.records.filters import Filter
from salience.records.record import MemoryRecord
from salience.records.validation import text
from salience.retrieval.candidates import Candidates
from salience.retrieval.operations import (
    FetchColumns,
    ReadRecords,
    RowsById,
    SearchRoute,
)
from salience.retrieval.plan import Plan, ask
from salience.retrieval.query import Query
from salience.retrieval.routes import MatchAll
from salience.write.items import (
    WriteContext,
)


def read_existing(id: str, namespace: str) -> Plan[MemoryRecord]:
    """The plan of reading one memory that has to be there."""
    record = yield from read_record(text("id", id), namespace)
    if record is None:
        raise not_found(id, namespace)
    return record


MAX_ATTEMPTS = 100  # of changing a memory that others change, too


def not_found(id: str, namespace: str) -> NotFound:
    """The error for an id that nothing has."""
    return NotFound(f"there is no memory {id!r} in the namespace {namespace!r}")


def contention_error(id: str) -> StoreError:
    """The error for a memory that somebody else has changed before each of the `TRIES`."""
    return StoreError(f"the memory {id!r} is changed by others all the time; try again")


def read_record(id: str, namespace: str) -> Plan[MemoryRecord | None]:
    """The plan of reading one memory; None where there is none."""
    for _ in range(MAX_ATTEMPTS):
        found: Mapping[str, int] = yield from ask(RowsById(namespace, (id,)))
        if id not in found:
            return None
        [record] = yield from ask(ReadRecords(np.array([found[id]], dtype=np.int64)))
        if record is not None:  # else an edit has given it another row meanwhile
            return record
    raise contention_error(id)


def read_table(scope: WriteContext, where: Filter | None, names: Sequence[str]) -> Plan[Candidates]:
    """The memories that pass a filter, with some of their columns, by row."""
    query = Query("", (scope.namespace,), scope.now.timestamp(), where=where)
    found = yield from ask(SearchRoute(MatchAll(), query, None))
    rows = np.sort(found.rows)
    columns = yield from ask(FetchColumns(rows, ("id", *names)))
    found = Candidates(rows, columns)
    there = np.array([id is not None for id in found["id"].tolist()], dtype=bool)
    return found if there.all() else found.take(there)  # without those erased since


def read_records(namespace: str, ids: Sequence[str]) -> Plan[dict[str, MemoryRecord]]:
    """The memories of these ids, of those that there are."""
    known: dict[str, MemoryRecord] = {}
    wanted = tuple(ids)
    for _ in range(MAX_ATTEMPTS):
        rows = yield from ask(RowsById(namespace, wanted))
        found = yield from ask(ReadRecords(np.array(sorted(rows.values()), dtype=np.int64)))
        known.update((record.id, record) for record in found if record is not None)
        wanted = tuple(id for id in rows if id not in known)
        if not wanted:  # else edits have given them other rows meanwhile
            return known
    raise contention_error(wanted[0])
