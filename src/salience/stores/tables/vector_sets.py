"""The two sets of vectors: filling the one beside, cutting over, dropping.

A write of vectors locks a namespace and then reads the sets; a cut-over keeps all such writes out.
So it waits for the writes that have begun, and later ones see what it did.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from salience.errors import StoreError
from salience.records.record import Embedding
from salience.retrieval.operations import CutOver, PutVectors
from salience.retrieval.vector_sets import VectorSets, VectorSetsFigures
from salience.stores import codec
from salience.stores.tables.commands import Abandon, Send, shared
from salience.stores.tables.dialect import (
    SELECT_SETS,
    Dialect,
    lock,
    parse_sets,
    select_stored,
    stored_by_id,
)

DROPPED_AT_ONCE = 2_000
"""The number of vectors to erase in one transaction; other writers of the namespace wait."""
_KEYS = {"vectors": "name, $row", "former_vectors": "memory, event, name"}
_OF_NAMES = "$own AND name $any_text"


class Run(Protocol):
    """Runs what reads or writes some namespaces in a transaction."""

    def __call__(self, work: Callable[[Send], Any], namespaces: Sequence[str]) -> Any: ...


def put_vectors(
    op: PutVectors, vectors: Mapping[int, Embedding], dialect: Dialect, run: Run
) -> None:
    """Give rows of a namespace a vector; rows that are gone are left out."""
    if not run(partial(_put, op, vectors, dialect, False), [op.namespace]):
        run(partial(_put, op, vectors, dialect, True), [op.namespace])


def _put(
    op: PutVectors, vectors: Mapping[int, Embedding], dialect: Dialect, alone: bool, send: Send
) -> bool:
    """Write vectors; False if they are the first of their name beside: noting that runs `alone`."""
    namespace = op.namespace
    *_, there, stored_sets, rows = send(
        *(dialect.lock_sets() if alone else ()),
        lock(namespace),
        SELECT_SETS,
        shared(
            "SELECT $row FROM memories WHERE $own AND $row $any_row",
            (namespace, list(vectors)),
        ),
    )
    if not there:  # erased meanwhile
        raise Abandon(True)
    embedder, sets = parse_sets(stored_sets)
    after = sets.with_beside(str(op.embedder), op.name) if op.beside else sets
    if after != sets and not alone:
        raise Abandon(False)
    name = sets.stored_name(op.name, beside=op.beside)
    noted = [("vectors", after.to_json())] if after != sets else []
    if not op.beside and op.embedder is not None and embedder is None:
        noted.append(("embedder", op.embedder))
    send(
        *dialect.replace(
            "vectors", [(namespace, name, row, dialect.vector(vectors[row])) for (row,) in rows]
        ),
        *dialect.replace("meta", noted),
        *([] if op.beside else dialect.reload(namespace)),
    )
    return True


def read_sets(send: Send) -> VectorSets:
    """The sets of vectors of the store."""
    [stored_sets] = send(SELECT_SETS)
    return parse_sets(stored_sets)[1]


def read_figures(send: Send) -> VectorSetsFigures:
    """The sets of vectors, and how far the one beside is."""
    [stored_sets] = send(SELECT_SETS)
    embedder, sets = parse_sets(stored_sets)
    of_name = "JOIN vectors ON vectors.$namespace = spaces.$namespace AND vectors.name = %s"
    [[[memories]], [[embedded]]] = send(
        shared("SELECT count(*) FROM memories"),
        shared(
            f"SELECT count(*) FROM spaces {of_name}", (sets.stored_name("content", beside=True),)
        ),
    )
    return VectorSetsFigures(embedder, sets.beside, sets.is_former, memories, embedded)


def cut_over(
    op: CutOver, namespaces: Sequence[str], dialect: Dialect, ask: Run, run: Run
) -> int | None:
    """Search the set beside, once the last few memories have its vectors; see `CutOver`.

    The transaction, for which others wait, does not look at memories that have them already.
    """
    sets = ask(read_sets, namespaces)
    [last] = ask(lambda send: send(dialect.select_last_rows), namespaces)
    select = dialect.select_missing(_beside(sets), None, op.most + 1)
    [missing] = ask(lambda send: send(select), namespaces)
    if len(missing) > op.most:
        return None
    work = partial(_cut_over, op, sets.dropped, last[0][0], missing, dialect)
    return run(work, namespaces)


def _cut_over(
    op: CutOver, dropped: int, last: Any, missing: Sequence[Any], dialect: Dialect, send: Send
) -> int:
    *_, stored_sets = send(*dialect.lock_sets(), SELECT_SETS)
    former, sets = parse_sets(stored_sets)
    [since] = send(dialect.select_missing(_beside(sets), last, op.most + 1))
    lacking = sorted({(namespace, id) for namespace, id in (*missing, *since)})
    if len(lacking) > op.most or sets.dropped != dropped:  # others have written since
        raise Abandon(None)
    ids: dict[str, list[str]] = {}
    for namespace, id in lacking:
        ids.setdefault(namespace, []).append(id)
    answers = send(*(select_stored(namespace, memory_ids) for namespace, memory_ids in ids.items()))
    memories = [
        (namespace, values["row"], codec.record_of(namespace, values))
        for namespace, rows in zip(ids, answers, strict=True)
        for values in stored_by_id(rows, dialect).values()
    ]
    vectors = []
    for name, places, embedded in op.embed([record for *_, record in memories]):
        sets = sets.with_beside(op.embedder, name)
        stored = sets.stored_name(name, beside=True)
        vectors += [
            (*memories[at][:2], stored, dialect.vector(vector))
            for at, vector in zip(places, embedded, strict=True)
        ]
    after = sets.cut_over(former, op.embedder).to_json()
    send(
        *dialect.replace("vectors", [(name, kept, row, v) for name, row, kept, v in vectors]),
        *dialect.replace("meta", [("vectors", after), ("embedder", op.embedder)]),
        *dialect.reload(None),
    )
    return len(memories)


def _beside(sets: VectorSets) -> str:
    return sets.stored_name("content", beside=True)


def begin_dropping(dialect: Dialect, send: Send) -> VectorSets:
    """The sets of vectors; the one beside is about to be dropped."""
    *_, stored_sets = send(*dialect.lock_sets(), SELECT_SETS)
    sets = parse_sets(stored_sets)[1].dropping()
    send(*dialect.replace("meta", [("vectors", sets.to_json())]))
    return sets


def drop(sets: VectorSets, namespaces: Iterable[str], dialect: Dialect, ask: Run, run: Run) -> None:
    """Erase the set of vectors beside, in short transactions.

    Raises:
        StoreError: somebody else has changed the sets meanwhile.
    """
    names = sets.names_beside()
    parts = [
        (namespace, (namespace, names))
        for namespace in namespaces
        if names and any(ask(partial(_select_left, (namespace, names)), [namespace]))
    ]
    is_same = True
    for namespace, part in parts:
        while is_same and any(ask(partial(_select_left, part), [namespace])):
            is_same = run(partial(_drop_some, sets, part), [namespace])
    if not is_same or not run(partial(_end_dropping, sets, dialect), []):
        raise StoreError(
            "somebody else changed the sets of vectors meanwhile; look at "
            "`salience reembed --status`"
        )


def _select_left(own: tuple[str, list[str]], send: Send) -> list[Any]:
    """The vectors of some names that a namespace has."""
    return send(
        *(shared(f"SELECT 1 FROM {table} WHERE {_OF_NAMES} LIMIT 1", own) for table in _KEYS)
    )


def _drop_some(sets: VectorSets, own: tuple[str, list[str]], send: Send) -> bool:
    """Erase some vectors of a namespace; False if the sets have changed."""
    _, stored_sets = send(lock(own[0]), SELECT_SETS)
    if parse_sets(stored_sets)[1] != sets:
        raise Abandon(False)
    for table, key in _KEYS.items():
        some = f"SELECT {key} FROM {table} WHERE {_OF_NAMES} LIMIT {DROPPED_AT_ONCE}"
        erase = f"DELETE FROM {table} WHERE $own AND ({key}) IN ({some}) RETURNING 1"
        [erased] = send(shared(erase, (own[0], *own)))
        if erased:
            break
    return True


def _end_dropping(sets: VectorSets, dialect: Dialect, send: Send) -> bool:
    """Note that there is no set beside; False if somebody has changed the sets meanwhile."""
    *_, stored_sets = send(*dialect.lock_sets(), SELECT_SETS)
    now = parse_sets(stored_sets)[1]
    if now != sets:
        raise Abandon(now == sets.alone())  # it was noted, and the answer to that was lost
    send(*dialect.replace("meta", [("vectors", sets.alone().to_json())]))
    return True
