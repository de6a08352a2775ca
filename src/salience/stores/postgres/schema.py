"""The schema: versions, migration, row security, Citus, statistics."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg.sql import SQL, Identifier

from salience.errors import StoreError
from salience.language.features import FEATURES_VERSION
from salience.retrieval.vector_sets import VectorSets
from salience.stores.codec import unpack_times
from salience.stores.migrations import migrations
from salience.stores.postgres.sql.columns import SELECT_MEMORIES, Found, written
from salience.stores.postgres.wire.database import Database
from salience.stores.postgres.wire.errors import translate_errors
from salience.stores.tables.commands import Analyze, Send, Statement
from salience.stores.tables.event_log import recounted, unmarked_continuations

_OLDEST_SERVER_VERSION = 160_000
_COMPOSED_VERSION = 16  # the first whose names are all in the normal form NFC
_RECOUNTED_VERSION = 20  # the first in which edits are accesses by the rule of today
_MEMORIES_AT_ONCE = 1000  # read and changed at once when what they are found by is worked out
_log = logging.getLogger(__name__)
_MIGRATION_LOCK = 0x5245434C  # "RECL": only one process migrates at a time


def schema_version(connection: psycopg.Connection[Any]) -> int:
    """The version of the schema, 0 if there is none."""
    [exists] = connection.execute("SELECT to_regclass('salience.meta') IS NOT NULL").fetchone()  # type: ignore[misc]
    if not exists:
        return 0
    row = connection.execute("SELECT value FROM salience.meta WHERE key = 'schema'").fetchone()
    return int(row[0]) if row else 0


def open_database(database: Database) -> None:
    """Refuse a schema that is older or newer than this code; make one where there is none.

    Raises:
        StoreError: says which version it is and what to do, or the database has no pgvector.
    """
    steps = len(migrations("postgres"))
    with database.connect() as connection, translate_errors(database.server):
        version = schema_version(connection)
        if version == 0:
            migrate(database)
        elif version < steps:
            raise StoreError(
                f"{database.server}: has the older schema {version}, this salience needs {steps}; "
                "bring it up to date: salience migrate"
            )
        elif version > steps:
            raise StoreError(
                f"{database.server}: has the newer schema {version}, this salience knows {steps}; "
                "upgrade salience"
            )
        values: dict[str, str] = dict(
            connection.execute("SELECT key, value FROM salience.meta").fetchall()
        )
        features = values.get("features", FEATURES_VERSION)
        if features != FEATURES_VERSION:
            raise StoreError(
                f"{database.server}: its words are kept as by another salience ({features}, "
                f"this one keeps {FEATURES_VERSION}) and would not be found; "
                + _remedy_for_words(features)
            )
        database.sets = VectorSets.from_json(values.get("vectors"))
        secured = connection.execute("SELECT row_security_active('salience.memories')").fetchone()
        database.row_security = bool(secured and secured[0])
        database.distributed = is_distributed(connection)
        database.open(connection)


def migrate(database: Database, citus: bool = False) -> tuple[int, int]:
    """Bring the schema up to date in one transaction; the versions before and after.

    With `citus`, or if they are already, all tables are spread over the cluster by namespace.

    Raises:
        StoreError: the server is too old, the role may not, the schema is a newer one, or there is
            no cluster.
    """
    steps = migrations("postgres")
    with (
        database.connect() as connection,
        translate_errors(database.server),
        connection.transaction(),
    ):
        if connection.info.server_version < _OLDEST_SERVER_VERSION:
            raise StoreError(
                f"{database.server}: is PostgreSQL {connection.info.server_version // 10_000}; "
                "16 or newer is needed"
            )
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_MIGRATION_LOCK,))
        before = schema_version(connection)
        if before > len(steps):
            raise StoreError(
                f"{database.server}: has the newer schema {before}, this salience knows "
                f"{len(steps)}; upgrade salience"
            )
        connection.execute("CREATE SCHEMA IF NOT EXISTS salience")
        apply_steps(connection, steps, before)
        if before < len(steps):
            _log.info("%s: schema %d brought to %d", database.server, before, len(steps))
        if before < len(steps):
            _set_version(connection, "schema", str(len(steps)))
        kept = connection.execute("SELECT value FROM meta WHERE key = 'features'").fetchone()
        if kept is not None and int(kept[0]) > int(FEATURES_VERSION):
            raise StoreError(f"{database.server}: {_remedy_for_words(kept[0])}")
        if kept is None or kept[0] != FEATURES_VERSION or before < _COMPOSED_VERSION:
            if before:
                _compute_words(database, connection)
                _log.info("%s: words recomputed, as version %s", database.server, FEATURES_VERSION)
            _set_version(connection, "features", FEATURES_VERSION)
        if 0 < before < _RECOUNTED_VERSION:
            _recount_edits(connection)
        if citus or is_distributed(connection):
            distribute_tables(connection, database.server)
        if before < len(steps) and has_row_security(connection):
            _set_policies(connection, True)
    return before, len(steps)


def _remedy_for_words(version: str) -> str:
    newer = int(version) > int(FEATURES_VERSION)
    return "upgrade salience" if newer else "bring them up to date: salience migrate"


def _set_version(connection: psycopg.Connection[Any], key: str, version: str) -> None:
    connection.execute(
        "INSERT INTO meta VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (key, version),
    )


def _compute_words(database: Database, connection: psycopg.Connection[Any]) -> None:
    """Recompute everything that memories are found by; unreadable ones stay as they are."""
    database.open(connection)
    database.configure(connection)
    with connection.cursor("memories_to_read", binary=True) as memories:
        memories.itersize = _MEMORIES_AT_ONCE
        memories.execute(SELECT_MEMORIES)
        while rows := memories.fetchmany(_MEMORIES_AT_ONCE):
            readable = [each for each in map(Found.of, rows) if not isinstance(each, str)]
            for command in written([each for each in readable if each.is_stale]):
                connection.cursor(binary=True).executemany(command.sql, command.rows)
    version = _version_column(connection)
    connection.execute(
        SQL("UPDATE spaces SET {0} = {0} + 1, changes_from = {0} + 1").format(version)
    )


def _recount_edits(connection: psycopg.Connection[Any]) -> None:
    """Compute from the log which edits are accesses, by the present rule."""
    edited = connection.execute(
        'SELECT DISTINCT m.namespace, m."row", m.sequence, m.kind, m.content FROM events e '
        "JOIN memories m ON m.namespace = e.namespace AND m.sequence = e.memory "
        "WHERE e.type = 'edit'"
    ).fetchall()
    for namespace, row, sequence, kind, content in edited:
        log = connection.execute(
            "SELECT seq, type, at, actor, session, payload::text FROM events "
            "WHERE namespace = %s AND memory = %s ORDER BY seq",
            (namespace, sequence),
        ).fetchall()
        kept = [(seq, type, payload) for seq, type, *_, payload in log]
        noted = unmarked_continuations(kept, kind, content)
        for seq, payload in noted.items():
            connection.execute(
                "UPDATE events SET payload = %s::json WHERE namespace = %s AND seq = %s",
                (payload, namespace, seq),
            )
        events = [(*fields, noted.get(seq, payload)) for seq, *fields, payload in log]
        if counted := recounted(events):
            connection.execute(
                "UPDATE memories SET write_count = %s, accesses = %s::float8[] "
                'WHERE namespace = %s AND "row" = %s',
                (float(counted[0]), list(unpack_times(counted[1])), namespace, row),
            )


def apply_steps(connection: psycopg.Connection[Any], steps: Sequence[str], before: int) -> None:
    """Apply the steps that a schema lacks, to which its column `VERSION` is `version`."""
    if before == len(steps):
        return
    if before:
        _name_version(connection, "version")
    for step in steps[before:]:
        connection.execute(step.encode())
    _name_version(connection, f"version_{len(steps)}")


def _name_version(connection: psycopg.Connection[Any], name: str) -> None:
    now = _version_column(connection)
    if now != Identifier(name):
        rename = SQL("ALTER TABLE spaces RENAME COLUMN {} TO {}").format(now, Identifier(name))
        connection.execute(rename)


def _version_column(connection: psycopg.Connection[Any]) -> Identifier:
    """The column `VERSION` of the schema as it is."""
    row = connection.execute(
        "SELECT attname FROM pg_attribute WHERE attrelid = 'spaces'::regclass "
        "AND attname ~ '^version(_[0-9]+)?$' AND NOT attisdropped"
    ).fetchone()
    return Identifier(row[0] if row else "version")


def set_row_security(database: Database, on: bool) -> None:
    """Switch row-level security on namespaces on or off; tables of later versions get it, too.

    With it, a role that does not own the tables sees only the namespaces that its transaction names
    in the setting `salience.namespaces`, as this store does. The owner sees everything.
    """
    with (
        database.connect() as connection,
        translate_errors(database.server),
        connection.transaction(),
    ):
        _set_policies(connection, on)


def has_row_security(connection: psycopg.Connection[Any]) -> bool:
    """Test whether row-level security is switched on."""
    row = connection.execute(
        "SELECT EXISTS (SELECT FROM pg_policies WHERE schemaname = 'salience' "
        "AND policyname = 'own_namespaces')"
    ).fetchone()
    return bool(row and row[0])


def _set_policies(connection: psycopg.Connection[Any], on: bool) -> None:
    for (table,) in connection.execute(
        "SELECT table_name FROM information_schema.columns WHERE table_schema = 'salience' "
        "AND column_name = 'namespace'"
    ).fetchall():
        name = Identifier("salience", table)
        connection.execute(SQL("DROP POLICY IF EXISTS own_namespaces ON {}").format(name))
        if on:
            connection.execute(
                SQL(
                    "CREATE POLICY own_namespaces ON {} USING (namespace = ANY (coalesce("
                    "nullif(current_setting('salience.namespaces', true), ''), '{{}}')"
                    "::text[]))"
                ).format(name)
            )
        word = SQL("ENABLE" if on else "DISABLE")
        connection.execute(SQL("ALTER TABLE {} {} ROW LEVEL SECURITY").format(name, word))


_COLOCATION_TABLE = "spaces"  # the table with which all others are colocated
_LOCAL_TABLES = """
SELECT c.relname, EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid
    AND a.attname = 'namespace' AND NOT a.attisdropped)
FROM pg_class c
WHERE c.relkind = 'r' AND c.relnamespace = 'salience'::regnamespace
    AND NOT EXISTS (SELECT FROM pg_dist_partition p WHERE p.logicalrelid = c.oid)
ORDER BY c.relname <> %s, c.relname
"""
# Those of extensions, which may lie in the same schema, Citus brings to all nodes itself.
_OWN_FUNCTIONS = """
SELECT p.oid::regprocedure::text FROM pg_proc p
WHERE p.pronamespace = 'salience'::regnamespace AND NOT EXISTS (SELECT FROM pg_depend d
    WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
"""


def is_distributed(connection: psycopg.Connection[Any]) -> bool:
    """Test whether the tables are spread over a cluster."""
    if not _has_citus(connection):
        return False
    row = connection.execute(
        "SELECT FROM pg_dist_partition WHERE logicalrelid = to_regclass(%s)",
        (f"salience.{_COLOCATION_TABLE}",),
    ).fetchone()
    return row is not None


def distribute_tables(connection: psycopg.Connection[Any], server: str) -> list[str]:
    """Spread tables that are not spread yet, with their rows; return their names.

    Raises:
        StoreError: the database does not have the extension.
    """
    if not _has_citus(connection):
        raise StoreError(
            f"{server}: has no Citus; put citus first into shared_preload_libraries on every node, "
            "restart them, CREATE EXTENSION citus, and add the workers with citus_add_node"
        )
    tables = connection.execute(_LOCAL_TABLES, (_COLOCATION_TABLE,)).fetchall()
    for table, of_a_namespace in tables:
        name = f"salience.{table}"
        if of_a_namespace:
            beside = "none" if table == _COLOCATION_TABLE else f"salience.{_COLOCATION_TABLE}"
            connection.execute(
                "SELECT create_distributed_table(%s, 'namespace', colocate_with => %s)",
                (name, beside),
            )
            # The rows were copied to the shards; this machine still has them, too.
            connection.execute("SELECT truncate_local_data_after_distributing_table(%s)", (name,))
        else:
            connection.execute("SELECT create_reference_table(%s)", (name,))
    for (function,) in connection.execute(_OWN_FUNCTIONS).fetchall():
        connection.execute("SELECT create_distributed_function(%s)", (function,))
    return [table for table, _ in tables]


def _has_citus(connection: psycopg.Connection[Any]) -> bool:
    return (
        connection.execute("SELECT FROM pg_extension WHERE extname = 'citus'").fetchone()
        is not None
    )


_GROWING_TABLES = ("memories", "words", "vectors", "events")
_ANALYZE_MIN_ROWS = 256  # up to so many, any plan will do
_ANALYZE_ESTIMATE_RATIO = 8  # from so many times the estimate, plans are bad

_ANALYZE_NAMESPACES = Analyze(tuple(f"{table} (namespace)" for table in _GROWING_TABLES))


def analyze_if_doubled(namespace: str, before: int, now: int, send: Send) -> None:
    """Renew the statistics when a namespace has doubled and the server's estimate is far off."""
    if now < _ANALYZE_MIN_ROWS or now.bit_length() == before.bit_length():
        return
    [[[plan]]] = send(
        Statement("EXPLAIN (FORMAT JSON) SELECT FROM memories WHERE namespace = %s", (namespace,))
    )
    if plan[0]["Plan"]["Plan Rows"] * _ANALYZE_ESTIMATE_RATIO < now:
        send(_ANALYZE_NAMESPACES)
