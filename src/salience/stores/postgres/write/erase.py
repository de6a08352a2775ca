"""Erasing memories and namespaces, with what was counted before and after."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from salience.records.events import FILE_ACTOR, without_mention, without_user
from salience.records.filters import Filter
from salience.records.tombstones import Erasing
from salience.retrieval import operations
from salience.retrieval.erasure import Erasure, checked
from salience.retrieval.operations import WORK_NOTES, Log
from salience.stores import codec
from salience.stores.postgres.sql.filters import compile_filter
from salience.stores.postgres.wire.commands import Abandon, Command, Many, Send, Statement
from salience.stores.postgres.write.batch import NamespaceBatch
from salience.stores.postgres.write.event_log import (
    advance_clock,
    lock_namespace,
    log,
    payload_text,
)
from salience.stores.postgres.write.put import bury_places, delete_vectors
from salience.stores.postgres.write.tombstones import insert_tombstone

ERASED_AT_ONCE = 2_000
"""The most memories that are erased in one transaction; writers of the namespace wait for it."""
DELETED = (
    "The rows are deleted, and no statement finds them. PostgreSQL overwrites their bytes only "
    "some time after VACUUM has freed their room, which it does by itself sooner or later; "
    "rewrite=True, for the owner of the tables, rewrites them at once. The write-ahead log, the "
    "replicas and the backups of the server have the bytes for as long as they are kept."
)
SAMPLED = (
    " The samples that PostgreSQL takes for its plans, of vectors, tags, and names of namespaces, "
    "users, agents, writers, speakers and sessions, but of no text, may have some of these until "
    "its next ANALYZE."
)
NAMED_BY_INDEX = (
    " The name of the namespace is left in the definition of an index over its vectors, which only "
    "the owner of the tables can drop."
)
NOTHING_ERASED = Erasure({}, {}, "")
_ERASED_COLUMNS = ("row", "sequence", "speaker")
_TERM_BYTES = " + ".join(
    f"coalesce(octet_length({name.removeprefix('terms.')}), 0)" for name in codec.TERMS
)
_SUM_TERMS = f"SELECT 'terms', sum({_TERM_BYTES})::bigint / 8 FROM words"
_OTHER = "coalesce(payload ->> 'target', payload ->> 'match', payload ->> 'into')"
_HAS_KEY = "payload ->> 'key' IS NOT NULL"
_NAMES_USER = f"%s::text IN (actor, payload -> 'was' ->> 'user_id', payload ->> '{FILE_ACTOR}')"
_FORGET_WRITER = """
WITH forgotten AS (
    UPDATE memories SET written_by = NULL
    WHERE namespace = %s AND sequence = ANY(%s::integer[]) RETURNING "row"
), written AS (
    UPDATE spaces SET version = version + 1
    WHERE namespace = %s AND EXISTS (SELECT FROM forgotten) RETURNING version
)
UPDATE places SET version = written.version FROM written, forgotten
WHERE places.namespace = %s AND places."row" = forgotten."row"
"""  # replicas read these rows again
_VECTOR_NAMES = "SELECT name FROM tallies WHERE namespace = %s AND kind = 'vector'"
NAMESPACE_TABLES = (
    "memories", "places", "words", "vectors", "links", "former_vectors", "notes", "events",
)  # fmt: skip
"""The tables that have rows of a namespace beside its name, its counters and its numbers."""
_ALL_TABLES = (*NAMESPACE_TABLES, "attempts", "tallies", "clocks", "spaces")
_SAMPLED_TABLES = (*_ALL_TABLES, "erasures")
_OWN_LOCKS = """
SELECT current_setting('server_version_num')::integer, count(*)
FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
WHERE l.pid = pg_backend_pid() AND l.mode = 'ShareUpdateExclusiveLock' AND c.relkind = 'r'
    AND c.relnamespace = 'salience'::regnamespace
"""
_CLEARS_SAMPLES = 180_000  # the first server version that can
_OF_EMPTY = """
FROM pg_stats s JOIN pg_class c ON c.relname = s.tablename
WHERE s.schemaname = 'salience' AND c.relnamespace = 'salience'::regnamespace AND c.reltuples = 0
"""
_CLEAR_SAMPLES = (
    "SELECT pg_clear_attribute_stats(s.schemaname::text, s.tablename::text, s.attname::text, "
    f"s.inherited) {_OF_EMPTY}"
)


def delete(op: operations.Delete, ids: Sequence[str] | None, send: Send) -> tuple[Erasure, bool]:
    """Erase some memories by id or filter, with all they have; True if none are left."""
    erased, is_empty = _erase(op.namespace, op.erasing, ids, op.where, send)
    if not erased.memories:
        raise Abandon((erased, False))
    return erased, is_empty


def erase_and_log(op: Log, send: Send) -> tuple[str, ...]:
    """Erase memories and append events; or nothing, and the ids in the way of the events."""
    if op.erasing is not None:
        _erase(op.namespace, op.erasing, op.erased, None, send)
    return log(op, send)


def _erase(
    namespace: str, erasing: Erasing, ids: Sequence[str] | None, where: Filter | None, send: Send
) -> tuple[Erasure, bool]:
    """Erase what `delete` does, which may be nothing."""
    batch = _lock_erased(namespace, ids, where, send)
    if batch is None:
        return NOTHING_ERASED, False
    for before in batch.replaced.values():
        batch.remove(before["row"], before)
    counts = _count_erased(batch)
    found = send(*counts)
    [[[living]], *_] = send(
        *_erase_commands(batch),
        *batch.tally_commands(),
        Statement(
            "DELETE FROM tallies WHERE namespace = %s AND kind = 'speaker' AND number <= 0",
            (namespace,),
        ),
    )
    _forget_mentions(batch, send)
    _bury(namespace, erasing, len(batch.replaced), send)
    return checked(_sums(found), _sums(send(*counts)), DELETED), not living


def _lock_erased(
    namespace: str, ids: Sequence[str] | None, where: Filter | None, send: Send
) -> NamespaceBatch | None:
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
    [head, rows] = send(lock_namespace(namespace), select)
    if not rows:
        return None
    batch = NamespaceBatch(namespace, *head[0])
    batch.replaced = {id: dict(zip(_ERASED_COLUMNS, values, strict=True)) for id, *values in rows}
    [vectors] = send(
        Statement(
            f'SELECT "row", name FROM vectors WHERE namespace = %s AND name IN ({_VECTOR_NAMES}) '
            'AND "row" = ANY(%s::integer[])',
            (namespace, namespace, [before["row"] for before in batch.replaced.values()]),
        )
    )
    for row, name in vectors:
        batch.replaced_vectors.setdefault(row, set()).add(name)
    return batch


def _count_erased(batch: NamespaceBatch) -> list[Statement]:
    """Count the rows of each kind that are of the replaced memories of a batch, or name them."""
    own, ids = batch.namespace, list(batch.replaced)
    rows = [before["row"] for before in batch.replaced.values()]
    sequences = [before["sequence"] for before in batch.replaced.values()]
    of_row, of_memory = '"row" = ANY(%s::integer[])', "memory = ANY(%s::integer[])"
    return [
        _counted("memories", "memories", f"({of_row} OR id = ANY(%s::text[]))", (own, rows, ids)),
        Statement(f"{_SUM_TERMS} WHERE namespace = %s AND {of_row}", (own, rows)),
        _counted("vectors", "vectors", f"name IN ({_VECTOR_NAMES}) AND {of_row}", (own, own, rows)),
        _counted("former_vectors", "former_vectors", of_memory, (own, sequences)),
        _counted(
            "links",
            "links",
            "(source = ANY(%s::text[]) OR target = ANY(%s::text[]))",
            (own, ids, ids),
        ),
        _counted("events", "events", of_memory, (own, sequences)),
        _counted(
            "idempotency_keys",
            "events",
            f"{of_memory} AND {_HAS_KEY}",
            (own, sequences),
        ),
        _counted(
            "mentions", "events", f"{_OTHER} = ANY(%s::text[]) AND NOT {of_memory}",
            (own, ids, sequences),
        ),
    ]  # fmt: skip


def _counted(kind: str, table: str, condition: str, parameters: Sequence[Any]) -> Statement:
    """Count the rows of a table that are of a namespace, the first parameter, as a kind."""
    select = f"SELECT '{kind}', count(*) FROM {table} WHERE namespace = %s AND {condition}"
    return Statement(select, parameters)


def _sums(answers: Sequence[Any]) -> dict[str, int]:
    """The answers of statements that count, by kind."""
    return {kind: int(number or 0) for [[kind, number]] in answers}


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
        Statement(
            "UPDATE spaces SET living = living - %s, linked = version WHERE namespace = %s "
            "RETURNING living",
            (len(rows), batch.namespace),
        ),
        without("memories", '"row"', "integer", rows),
        without("words", '"row"', "integer", rows),
        bury_places(batch, rows),
        delete_vectors(batch, rows),
        without("links", "source", "text", ids),
        without("links", "target", "text", ids),
        without("events", "memory", "integer", sequences),
        without("former_vectors", "memory", "integer", sequences),
        Statement(
            f"DELETE FROM events WHERE namespace = %s AND {_OTHER} = ANY(%s::text[]) "
            "AND type = 'link'",
            (batch.namespace, ids),
        ),
    ]


def _bury(namespace: str, erasing: Erasing, memories: int, send: Send) -> None:
    """Leave a tombstone at the next place of the log."""
    [[[place]]] = send(advance_clock(namespace, 1))
    send(insert_tombstone(namespace, place, erasing, memories))


def _forget_mentions(batch: NamespaceBatch, send: Send) -> None:
    """Take what names the replaced memories of a batch out of the events of others."""
    [naming] = send(
        Statement(
            f"SELECT seq, actor, payload::text FROM events WHERE namespace = %s "
            f"AND {_OTHER} = ANY(%s::text[])",
            (batch.namespace, list(batch.replaced)),
        )
    )
    send(
        *_rewrite_events(
            batch.namespace,
            [(seq, actor, without_mention(json.loads(payload))) for seq, actor, payload in naming],
        )
    )


def _rewrite_events(
    namespace: str, events: Sequence[tuple[int, str | None, Mapping[str, Any]]]
) -> list[Command]:
    """Give events of some places another actor and payload."""
    rows = [(actor, payload_text(payload), namespace, seq) for seq, actor, payload in events]
    update = "UPDATE events SET actor = %s, payload = %s::json WHERE namespace = %s AND seq = %s"
    return [Many(update, rows)] if rows else []


def erase_user(op: operations.Delete, after: int, send: Send) -> tuple[Erasure, int | None]:
    """Take the name of a user out of the next events of a namespace after a place.

    Memories that the user wrote no longer say so. The second part is the place of the last of the
    events, None at the end of the log.
    """
    namespace, user_id = op.namespace, str(op.user_id)
    _, naming = send(
        lock_namespace(namespace, changes=False),
        Statement(
            "SELECT seq, actor, payload::text, memory, type FROM events WHERE namespace = %s "
            f"AND seq > %s AND {_NAMES_USER} ORDER BY seq LIMIT %s",
            (namespace, after, user_id, ERASED_AT_ONCE),
        ),
    )
    if not naming:
        raise Abandon((NOTHING_ERASED, None))
    places = [seq for seq, *_ in naming]
    written = [
        memory for _, actor, _, memory, type in naming if (actor, type) == (user_id, "write")
    ]
    *_, left = send(
        Statement(_FORGET_WRITER, (namespace, written, namespace, namespace)),
        *_rewrite_events(
            namespace,
            [
                (
                    seq,
                    None if actor == user_id else actor,
                    without_user(json.loads(payload) if payload else {}, user_id),
                )
                for seq, actor, payload, *_ in naming
            ],
        ),
        _counted(
            "mentions",
            "events",
            f"seq = ANY(%s::bigint[]) AND {_NAMES_USER}",
            (namespace, places, user_id),
        ),
    )
    _bury(namespace, op.erasing, 0, send)
    last = places[-1] if len(places) == ERASED_AT_ONCE else None
    return checked({"mentions": len(naming)}, _sums([left]), DELETED), last


def erase_namespace(namespace: str, erasing: Erasing, send: Send) -> Erasure | None:
    """Erase all of a namespace but its name.

    None, with nothing done, if its memories are too many to be erased in one transaction, or if
    there is no such namespace.
    """
    [head] = send(
        Statement(
            "UPDATE spaces SET version = version + 1, erased = counter, linked = version + 1 "
            "WHERE namespace = %s AND living <= %s RETURNING living",
            (namespace, ERASED_AT_ONCE),
        )
    )
    if not head:
        raise Abandon(None)
    counts = [
        *(
            _counted(table, table, "TRUE", (namespace,))
            for table in ("memories", "vectors", "former_vectors", "links", "events", "notes")
        ),
        Statement(f"{_SUM_TERMS} WHERE namespace = %s", (namespace,)),
        _counted("idempotency_keys", "events", _HAS_KEY, (namespace,)),
    ]
    before = send(*counts)
    send(
        *(
            Statement(f"DELETE FROM {table} WHERE namespace = %s", (namespace,))
            for table in NAMESPACE_TABLES
        ),
        # The mark of this write stays: it tells of its commit if the answer to that is lost.
        Statement("DELETE FROM attempts WHERE namespace = %s AND at < now()", (namespace,)),
        Statement("DELETE FROM tallies WHERE namespace = %s AND kind <> 'index'", (namespace,)),
        Statement("UPDATE spaces SET living = 0 WHERE namespace = %s", (namespace,)),
    )
    sums = _sums(before)
    if sums["memories"]:
        _bury(namespace, erasing, sums["memories"], send)
    return checked(sums, _sums(send(*counts)), DELETED)


def erase_name(namespace: str, send: Send) -> tuple[Erasure, list[tuple[str, int]]] | None:
    """Erase the name of a namespace without memories, with its counters and what else it has.

    None, with nothing done, if it has memories, or is not there. What upkeep in progress has noted
    stays, and the name with it. The second part are the names and lengths of the vectors that have
    an index, whose definition has the name of the namespace, too.
    """
    lock = Statement("SELECT living FROM spaces WHERE namespace = %s FOR UPDATE", (namespace,))
    [head] = send(lock)
    if not head or head[0][0]:
        raise Abandon(None)
    work = list(WORK_NOTES)
    counts = [
        _counted("events", "events", "TRUE", (namespace,)),
        _counted("notes", "notes", "NOT key = ANY(%s::text[])", (namespace, work)),
    ]
    busy, indexes, *before = send(
        Statement(
            "SELECT key FROM notes WHERE namespace = %s AND key = ANY(%s)", (namespace, work)
        ),
        Statement(
            "SELECT name, size FROM tallies WHERE namespace = %s AND kind = 'index'",
            (namespace,),
        ),
        *counts,
    )
    emptied = ("events",) if busy else _ALL_TABLES
    send(
        *(
            Statement(f"DELETE FROM {table} WHERE namespace = %s", (namespace,))
            for table in emptied
        ),
        Statement(
            "DELETE FROM notes WHERE namespace = %s AND NOT key = ANY(%s::text[])",
            (namespace, work),
        ),
    )
    erasure = checked(_sums(before), _sums(send(*counts)), DELETED)
    return erasure, [] if busy else [(name, size) for name, size in indexes]


def renew_samples(send: Send) -> bool:
    """Let the server's samples of columns be taken again, without what was erased.

    False if some were not: this role may not, somebody works on a table, or a table is empty and
    the server is older than PostgreSQL 18, which alone can clear the samples of one.
    """
    analyze = Statement(f"ANALYZE (SKIP_LOCKED) {', '.join(_SAMPLED_TABLES)}")
    _, [[version, analyzed]] = send(analyze, Statement(_OWN_LOCKS))
    if analyzed < len(_SAMPLED_TABLES):
        return False
    if version >= _CLEARS_SAMPLES:
        send(Statement(_CLEAR_SAMPLES))
    [[[is_left]]] = send(Statement(f"SELECT EXISTS (SELECT {_OF_EMPTY})"))
    return not is_left
