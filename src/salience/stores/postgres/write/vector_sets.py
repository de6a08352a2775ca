"""The two sets of vectors: filling the one beside, cutting over, dropping.

Whoever writes vectors holds an advisory lock that others may share; a cut-over has it for itself.
So it waits for the writes that have begun, and those that begin see what it did.
"""

from __future__ import annotations

from collections.abc import Sequence

from salience.records.record import Embedding
from salience.retrieval.operations import PutVectors
from salience.retrieval.vector_sets import VectorSets, VectorSetsFigures
from salience.stores.postgres.write.dialect import DIALECT
from salience.stores.postgres.write.put import MARK_RENEWED, SHARE_SETS
from salience.stores.tables.commands import Abandon, Many, Send, Statement
from salience.stores.tables.dialect import SELECT_SETS, parse_sets

DROPPED_AT_ONCE = 2_000
"""Vectors of a namespace that are erased in one transaction; its other writers wait for it."""
_LOCK_SETS = SHARE_SETS.replace("_shared", "")


def put_vectors(
    op: PutVectors, rows: Sequence[int], vectors: Sequence[Embedding], send: Send
) -> None:
    """Give rows a vector; rows that are gone are left out."""
    namespace = op.namespace
    _, stored_sets, head = send(Statement(SHARE_SETS), SELECT_SETS, _next_version(namespace))
    if not head:  # erased meanwhile
        raise Abandon(None)
    [[version]] = head
    _, sets = parse_sets(stored_sets)
    if op.beside and sets.with_beside(str(op.embedder), op.name) != sets:
        raise Abandon(False)
    name = sets.stored_name(op.name, beside=op.beside)
    owner = Statement(
        "INSERT INTO meta VALUES ('embedder', %s) ON CONFLICT DO NOTHING", (op.embedder,)
    )
    send(
        Many(
            'INSERT INTO vectors SELECT namespace, %s::text, "row", %s FROM memories '
            'WHERE namespace = %s AND "row" = %s::integer ON CONFLICT (namespace, name, "row") '
            "DO UPDATE SET vector = excluded.vector",
            [(name, v, namespace, row) for row, v in zip(rows, vectors, strict=True)],
        ),
        Statement(
            "INSERT INTO tallies SELECT namespace, 'vector', name, count(*), "
            "max(vector_dims(vector)), %s FROM vectors WHERE namespace = %s AND name = %s "
            "GROUP BY namespace, name ON CONFLICT (namespace, kind, name) DO UPDATE SET "
            "number = excluded.number, size = excluded.size, version = excluded.version",
            (version, namespace, name),
        ),
        *([] if op.beside else [Statement(MARK_RENEWED, (namespace,))]),
        *([] if op.beside or op.embedder is None else [owner]),
    )


def _next_version(namespace: str) -> Statement:
    """Lock a namespace and take its next version; the answer is empty if it is not there."""
    return Statement(
        "UPDATE spaces SET version = version + 1 WHERE namespace = %s RETURNING version",
        (namespace,),
    )


def begin_beside(embedder: str, name: str, send: Send) -> None:
    """Note that the set beside has vectors of a name of an embedder."""
    _, stored_sets = send(Statement(_LOCK_SETS), SELECT_SETS)
    _, sets = parse_sets(stored_sets)
    send(*DIALECT.replace("meta", [("vectors", sets.with_beside(embedder, name).to_json())]))


def read_sets(send: Send) -> VectorSets:
    """The sets of vectors of the store."""
    [stored_sets] = send(SELECT_SETS)
    return parse_sets(stored_sets)[1]


def read_figures(send: Send) -> VectorSetsFigures:
    """The sets of vectors, and how far the one beside is."""
    [stored_sets] = send(SELECT_SETS)
    embedder, sets = parse_sets(stored_sets)
    [[[memories]], [[embedded]]] = send(
        Statement("SELECT coalesce(sum(living), 0)::bigint FROM spaces"),
        Statement(
            "SELECT coalesce(sum(number), 0)::bigint FROM tallies WHERE kind = 'vector' "
            "AND name = %s",
            (sets.stored_name("content", beside=True),),
        ),
    )
    return VectorSetsFigures(embedder, sets.beside, sets.is_former, memories, embedded)


def cut_over(embedder: str, send: Send) -> bool:
    """Search the set beside, once all memories have its vectors."""
    _, stored_sets = send(Statement(_LOCK_SETS), SELECT_SETS)
    former, sets = parse_sets(stored_sets)
    [missing] = send(
        Statement(
            "SELECT 1 FROM spaces s WHERE living > coalesce((SELECT number FROM tallies t WHERE "
            "t.namespace = s.namespace AND kind = 'vector' AND name = %s), 0) LIMIT 1",
            (sets.stored_name("content", beside=True),),
        )
    )
    if missing:
        raise Abandon(False)
    after = sets.cut_over(former, embedder).to_json()
    send(*DIALECT.replace("meta", [("vectors", after), ("embedder", embedder)]))
    return True


def begin_dropping(send: Send) -> VectorSets:
    """The sets of vectors, of which the one beside is about to be dropped."""
    _, stored_sets = send(Statement(_LOCK_SETS), SELECT_SETS)
    sets = parse_sets(stored_sets)[1].dropping()
    send(*DIALECT.replace("meta", [("vectors", sets.to_json())]))
    return sets


def drop_some(namespace: str, names: Sequence[str], send: Send) -> bool:
    """Erase some of a namespace's vectors of stored names; True if there may be more."""
    head, erased = send(
        _next_version(namespace),
        Statement(
            "WITH erased AS (DELETE FROM vectors WHERE namespace = %s AND name = ANY(%s::text[]) "
            'AND ("row", name) IN (SELECT "row", name FROM vectors WHERE namespace = %s '
            "AND name = ANY(%s::text[]) LIMIT %s) RETURNING name) "
            "SELECT name, count(*) FROM erased GROUP BY name",
            (namespace, list(names), namespace, list(names), DROPPED_AT_ONCE),
        ),
    )
    if not head:  # the namespace was erased meanwhile
        raise Abandon(False)
    [[version]] = head
    if not erased:
        send(
            Statement(
                "DELETE FROM former_vectors WHERE namespace = %s AND name = ANY(%s::text[])",
                (namespace, list(names)),
            ),
            Statement(
                "UPDATE tallies SET number = 0, version = %s WHERE namespace = %s "
                "AND kind IN ('vector', 'index') AND name = ANY(%s::text[])",
                (version, namespace, list(names)),
            ),
        )
        return False
    send(
        Many(
            "UPDATE tallies SET number = number - %s, version = %s WHERE namespace = %s "
            "AND kind = 'vector' AND name = %s",
            [(count, version, namespace, name) for name, count in erased],
        )
    )
    return True


def end_dropping(sets: VectorSets, send: Send) -> bool:
    """Note that there is no set beside; False if somebody has changed the sets meanwhile."""
    _, stored_sets = send(Statement(_LOCK_SETS), SELECT_SETS)
    now = parse_sets(stored_sets)[1]
    if now != sets:
        raise Abandon(now == sets.alone())  # it was noted, and the answer to that was lost
    send(*DIALECT.replace("meta", [("vectors", sets.alone().to_json())]))
    return True
