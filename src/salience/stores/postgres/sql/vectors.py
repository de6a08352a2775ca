"""Indexes of vectors: one for each namespace that has too many to compare them all.

An index over all namespaces would find neighbours in others and throw them away; so each is
partial, over the vectors of one name in one namespace. Up to `EXACT_BELOW` vectors all are
compared, which is exact and about as fast.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from hashlib import blake2b
from typing import Any

from salience.retrieval.operations import STAGED
from salience.stores.postgres.wire.commands import Statement, Steps, quoted
from salience.stores.postgres.wire.connection import Database
from salience.stores.postgres.wire.errors import guarded

EXACT_BELOW = 20_000
_INDEXED = "index"  # the kind of tally that says that vectors of a name have an index
_BUILT_WITH = 128  # candidates looked at for each vector that is put into an index
_LOCK = 0x52454349  # only one process builds at a time

Progress = Callable[[int, int], None]


def index(database: Database, progress: Progress | None = None) -> int:
    """Build the indexes that are missing; how many. Searches and writes go on meanwhile."""
    with database.connect() as connection, guarded(database.server):
        connection.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
        connection.execute("ANALYZE")
        wanted = connection.execute(
            "SELECT namespace, name, size FROM tallies t WHERE kind = 'vector' AND number >= %s "
            "AND NOT starts_with(name, %s) AND NOT EXISTS (SELECT FROM tallies i WHERE "
            "i.namespace = t.namespace AND i.kind = %s AND i.name = t.name AND i.number > 0) "
            "ORDER BY 1, 2",
            (EXACT_BELOW, STAGED, _INDEXED),
        ).fetchall()
        for done, (namespace, name, size) in enumerate(wanted):
            if progress is not None:
                progress(done, len(wanted))
            _build(connection, namespace, name, size)
            database.write(partial(_noted, namespace, name, size), (namespace,))
        return len(wanted)


def _build(connection: Any, namespace: str, name: str, size: int) -> None:
    digest = blake2b(f"{namespace}\x1f{name}\x1f{size}".encode(), digest_size=8).hexdigest()
    called = f"vectors_near_{digest}"
    connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {called}".encode())
    # With its schema, for the workers of a cluster look for it in their own search path.
    [ranked] = connection.execute(
        "SELECT format('%I.%I', n.nspname, o.opcname) FROM pg_opclass o "
        "JOIN pg_namespace n ON n.oid = o.opcnamespace WHERE o.opcname = 'halfvec_ip_ops'"
    ).fetchone()
    connection.execute(
        f"CREATE INDEX CONCURRENTLY {called} ON vectors USING hnsw "
        f"((vector::halfvec({size})) {ranked}) "
        f"WITH (ef_construction = {_BUILT_WITH}) WHERE namespace = {quoted(namespace)} "
        f"AND name = {quoted(name)} AND vector_dims(vector) = {size}".encode()
    )


def _noted(namespace: str, name: str, size: int) -> Steps[None]:
    yield [
        Statement(
            "UPDATE spaces SET version = version + 1 WHERE namespace = %s RETURNING version",
            (namespace,),
        ),
        Statement(
            "INSERT INTO tallies (namespace, kind, name, number, size, version) SELECT namespace, "
            "%s, %s, 1, %s, version FROM spaces WHERE namespace = %s ON CONFLICT (namespace, kind, "
            "name) DO UPDATE SET number = 1, size = excluded.size, version = excluded.version",
            (_INDEXED, name, size, namespace),
        ),
    ]


def literal(text: str) -> str:
    """A text in a statement with parameters, for a partial index's condition to be recognised."""
    return quoted(text).replace("%", "%%")
