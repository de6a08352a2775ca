"""Indexes of large namespaces, of their vectors and words, built while others go on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from hashlib import blake2b
from typing import Any

import psycopg

from salience.retrieval.vector_sets import VectorSets
from salience.stores.postgres.large.statistics import TERMS, WORD_INDEX, make_statistics
from salience.stores.postgres.wire.connection import Connections
from salience.stores.postgres.wire.database import Database
from salience.stores.postgres.wire.errors import translate_errors
from salience.stores.tables.commands import Send, Statement, quote_literal

_EF_CONSTRUCTION = 128  # candidates considered for each vector that is added to an index
_INDEX_LOCK = 0x52454349  # only one process builds at a time

_SELECT_WANTED = """
SELECT namespace, name, size FROM (
    SELECT v.namespace, v.name, mode() WITHIN GROUP (ORDER BY vector_dims(v.vector)) AS size
    FROM spaces s
    JOIN vectors v ON v.namespace = s.namespace
    WHERE s.living >= %s AND (v.name = ANY(%s::text[])) = %s
    AND v.name !~ '^_?content#' -- all of passages are compared
    GROUP BY 1, 2 HAVING count(*) >= %s
    UNION ALL SELECT namespace, %s, 0 FROM spaces WHERE living >= %s AND %s
) AS own WHERE NOT EXISTS
    (SELECT FROM indexes i WHERE i.namespace = own.namespace AND i.name = own.name)
ORDER BY 1, 2
"""
Progress = Callable[[int, int], None]


def build_indexes(
    connections: Connections,
    least: int,
    progress: Progress | None = None,
    stored_names: Sequence[str] | None = None,
) -> int:
    """Build missing indexes of namespaces of `least` memories; the number built.

    Searches and writes go on meanwhile. It indexes words and the searched vectors, unless the
    stored names of other vectors are given, and rebuilds statistics.
    """
    database = connections.database
    with database.connect() as connection, translate_errors(database.server):
        connection.execute("SELECT pg_advisory_lock(%s)", (_INDEX_LOCK,))
        connection.execute("ANALYZE")
        kept = connection.execute("SELECT value FROM meta WHERE key = 'vectors'").fetchone()
        sets = VectorSets.from_json(kept[0] if kept else None)
        missing = connection.execute(
            _SELECT_WANTED,
            (
                least,
                sets.names_beside() if stored_names is None else stored_names,
                stored_names is not None,
                least,
                WORD_INDEX,
                least,
                stored_names is None,
            ),
        ).fetchall()
        for done, (namespace, name, size) in enumerate(missing):
            if progress is not None:
                progress(done, len(missing))
            _build_index(connection, namespace, name, size)
            connections.write(partial(_note_index, namespace, name, size), (namespace,))
        if missing:
            connection.execute("ANALYZE")  # what is indexed, too
        large = connection.execute("SELECT namespace FROM spaces WHERE living >= %s", (least,))
        for (namespace,) in large.fetchall():
            connections.write(partial(make_statistics, namespace), (namespace,))
        return len(missing)


def drop_vector_indexes(database: Database, stored_names: Sequence[str]) -> None:
    """Drop the indexes of vectors of stored names, which are not searched."""
    parameters = (list(stored_names),)
    with database.connect() as connection, translate_errors(database.server):
        connection.execute("SELECT pg_advisory_lock(%s)", (_INDEX_LOCK,))
        for namespace, name, size in connection.execute(
            "SELECT namespace, name, size FROM indexes WHERE name = ANY(%s::text[])", parameters
        ).fetchall():
            called = _index_name(namespace, name, size)
            connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {called}".encode())
        connection.execute("DELETE FROM indexes WHERE name = ANY(%s::text[])", parameters)


def drop_indexes_of(database: Database, namespace: str, vectors: Sequence[tuple[str, int]]) -> bool:
    """Drop the indexes over vectors of some names and lengths of a namespace; False if it may not.

    Only the owner of the tables may.
    """
    if not vectors:
        return True
    try:
        with database.connect() as connection:
            connection.execute("SELECT pg_advisory_lock(%s)", (_INDEX_LOCK,))
            for name, size in vectors:
                called = _index_name(namespace, name, size)
                connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {called}".encode())
    except psycopg.errors.InsufficientPrivilege:
        return False
    return True


def noted_indexes(connection: psycopg.Connection[Any]) -> list[tuple[str, str, str]]:
    """The indexes noted as built: namespace, what is indexed, own name."""
    noted = connection.execute("SELECT namespace, name, size FROM indexes ORDER BY 1, 2").fetchall()
    return [(space, name, _index_name(space, name, size)) for space, name, size in noted]


def forget_index(namespace: str, name: str, send: Send) -> None:
    """Note that there is no index of the vectors of a stored name, or of words."""
    send(Statement("DELETE FROM indexes WHERE namespace = %s AND name = %s", (namespace, name)))


def _index_name(namespace: str, name: str, size: int) -> str:
    digest = blake2b(f"{namespace}\x1f{name}\x1f{size}".encode(), digest_size=8).hexdigest()
    return f"{'vectors_near' if size else 'words_held'}_{digest}"


def _build_index(connection: Any, namespace: str, name: str, size: int) -> None:
    index, literal = _index_name(namespace, name, size), quote_literal(namespace)
    connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {index}".encode())
    if not size:
        connection.execute(
            f"CREATE INDEX CONCURRENTLY {index} ON words USING gin "
            f"(({TERMS.replace('w.', '')})) WHERE namespace = {literal}".encode()
        )
        return
    # Named with its schema: the workers of a cluster have another search path.
    [ranked] = connection.execute(
        "SELECT format('%I.%I', n.nspname, o.opcname) FROM pg_opclass o "
        "JOIN pg_namespace n ON n.oid = o.opcnamespace WHERE o.opcname = 'halfvec_ip_ops'"
    ).fetchone()
    connection.execute(
        f"CREATE INDEX CONCURRENTLY {index} ON vectors USING hnsw "
        f"((vector::halfvec({size})) {ranked}) "
        f"WITH (ef_construction = {_EF_CONSTRUCTION}) WHERE namespace = {literal} "
        f"AND name = {quote_literal(name)} AND vector_dims(vector) = {size}".encode()
    )


def _note_index(namespace: str, name: str, size: int, send: Send) -> None:
    note = (
        "INSERT INTO indexes SELECT namespace, %s, %s FROM spaces WHERE namespace = %s "
        "ON CONFLICT (namespace, name) DO UPDATE SET size = excluded.size"
    )
    send(Statement(note, (name, size, namespace)))
