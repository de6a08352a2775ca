"""Erasing memories and namespaces, as steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from salience.records.filters import Filter
from salience.retrieval.operations import Log
from salience.stores.postgres.sql.filters import compile_filter
from salience.stores.postgres.wire.commands import Abandon, Command, Statement, Steps
from salience.stores.postgres.write.batch import NamespaceBatch
from salience.stores.postgres.write.event_log import log
from salience.stores.postgres.write.put import LOCK_NAMESPACE, bury_places, delete_vectors

ERASED_AT_ONCE = 2_000
"""The most memories that are erased in one transaction; writers of the namespace wait for it."""
_ERASED_COLUMNS = ("row", "sequence", "session_id", "speaker")


def delete(namespace: str, ids: Sequence[str] | None, where: Filter | None) -> Steps[int]:
    """Erase some memories by id or filter, their vectors and links; the number of memories."""
    erased = yield from _erase(namespace, ids, where)
    if not erased:
        raise Abandon(0)
    return erased


def erase_and_log(op: Log) -> Steps[tuple[str, ...]]:
    """Erase memories and append events; or nothing, and the ids in the way of the events."""
    yield from _erase(op.namespace, op.erased, None)
    return (yield from log(op))


def _erase(namespace: str, ids: Sequence[str] | None, where: Filter | None) -> Steps[int]:
    """Erase what `delete` does; the number may be 0."""
    batch = yield from _lock_erased(namespace, ids, where)
    if batch is None:
        return 0
    for before in batch.replaced.values():
        batch.remove(before["row"], before)
    yield _erase_commands(batch) + batch.tally_commands() + batch.order_commands(True)
    return len(batch.replaced)


def _lock_erased(
    namespace: str, ids: Sequence[str] | None, where: Filter | None
) -> Steps[NamespaceBatch | None]:
    """A batch that replaces the memories to be erased by nothing; they are locked."""
    condition = compile_filter(where, "m")
    own_ids, parameters = ("", ()) if ids is None else (" AND id = ANY(%s::text[])", (list(ids),))
    # A memory that another process changes just then is looked at again.
    select = Statement(
        "SELECT id, " + ", ".join(f'm."{name}"' for name in _ERASED_COLUMNS) + " FROM memories m "
        f'WHERE m.namespace = %s AND {condition.sql}{own_ids} ORDER BY m."row" '
        "LIMIT %s FOR UPDATE",
        (namespace, *condition.parameters, *parameters, ERASED_AT_ONCE),
    )
    [head, rows] = yield [Statement(LOCK_NAMESPACE, (namespace,)), select]
    if not rows:
        return None
    batch = NamespaceBatch(namespace, *head[0])
    batch.replaced = {id: dict(zip(_ERASED_COLUMNS, values, strict=True)) for id, *values in rows}
    [vectors] = yield [
        Statement(
            'SELECT "row", name FROM vectors WHERE namespace = %s AND name IN (SELECT name FROM '
            "tallies WHERE namespace = %s AND kind = 'vector') AND \"row\" = ANY(%s::integer[])",
            (namespace, namespace, [before["row"] for before in batch.replaced.values()]),
        )
    ]
    for row, name in vectors:
        batch.replaced_vectors.setdefault(row, set()).add(name)
    return batch


def _erase_commands(batch: NamespaceBatch) -> list[Command]:
    """Erase the replaced memories of a batch, and everything else that is stored of them."""
    ids = list(batch.replaced)
    rows = [before["row"] for before in batch.replaced.values()]
    sequences = [before["sequence"] for before in batch.replaced.values()]

    def without(table: str, column: str, type: str, values: Sequence[Any]) -> Statement:
        return Statement(
            f"DELETE FROM {table} WHERE namespace = %s AND {column} = ANY(%s::{type}[])",
            (batch.namespace, values),
        )

    return [
        without("memories", '"row"', "integer", rows),
        without("words", '"row"', "integer", rows),
        bury_places(batch, rows),
        delete_vectors(batch, rows),
        without("links", "source", "text", ids),
        without("links", "target", "text", ids),
        without("events", "memory", "integer", sequences),
        without("former_vectors", "memory", "integer", sequences),
        Statement(
            "DELETE FROM events WHERE namespace = %s AND type = 'link' "
            "AND payload ->> 'target' = ANY(%s::text[])",
            (batch.namespace, ids),
        ),
        Statement(
            "UPDATE spaces SET living = living - %s, linked = version WHERE namespace = %s",
            (len(rows), batch.namespace),
        ),
    ]


_NAMESPACE_TABLES = (
    "memories", "places", "words", "segments", "chunks", "vectors", "links", "former_vectors",
    "notes", "events",
)  # fmt: skip


def erase_namespace(namespace: str) -> Steps[int | None]:
    """Erase a namespace; the number of its last row stays, so that no row comes again.

    Returns the number of its memories; None, with nothing done, if they are too many to be erased
    in one transaction, or if there is no such namespace.
    """
    [head] = yield [
        Statement(
            "UPDATE spaces SET version = version + 1, erased = counter, merged = counter, named = "
            "version + 1, linked = version + 1 WHERE namespace = %s AND living <= %s "
            "RETURNING living",
            (namespace, ERASED_AT_ONCE),
        )
    ]
    if not head:
        raise Abandon(None)
    commands: list[Command] = [
        Statement(f"DELETE FROM {table} WHERE namespace = %s", (namespace,))
        for table in _NAMESPACE_TABLES
    ]
    commands += [
        # The mark of this write stays: it tells of its commit if the answer to that is lost.
        Statement("DELETE FROM attempts WHERE namespace = %s AND at < now()", (namespace,)),
        Statement("DELETE FROM tallies WHERE namespace = %s AND kind <> 'index'", (namespace,)),
        Statement("UPDATE spaces SET living = 0 WHERE namespace = %s", (namespace,)),
    ]
    yield commands
    return int(head[0][0])
