"""Citus: the tables of a database spread over the machines of a cluster, by namespace.

All rows of a namespace lie on one worker, so a statement that names its namespace in every table is
run there whole. What belongs to no namespace is small and lies on every node.
"""

from __future__ import annotations

from typing import Any

import psycopg

from recollect.errors import StoreError

_FIRST = "spaces"  # the table with which all others are colocated
_TABLES = """
SELECT c.relname, EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid
    AND a.attname = 'namespace' AND NOT a.attisdropped)
FROM pg_class c
WHERE c.relkind = 'r' AND c.relnamespace = 'recollect'::regnamespace
    AND NOT EXISTS (SELECT FROM pg_dist_partition p WHERE p.logicalrelid = c.oid)
ORDER BY c.relname <> %s, c.relname
"""
# Those of extensions, which may lie in the same schema, Citus brings to all nodes itself.
_FUNCTIONS = """
SELECT p.oid::regprocedure::text FROM pg_proc p
WHERE p.pronamespace = 'recollect'::regnamespace AND NOT EXISTS (SELECT FROM pg_depend d
    WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
"""


def distributed(connection: psycopg.Connection[Any]) -> bool:
    """Whether the tables are spread over a cluster."""
    if not _has_citus(connection):
        return False
    found = connection.execute(
        "SELECT FROM pg_dist_partition WHERE logicalrelid = to_regclass(%s)",
        (f"recollect.{_FIRST}",),
    ).fetchone()
    return found is not None


def distribute(connection: psycopg.Connection[Any], server: str) -> list[str]:
    """Spread the tables that are not yet, with what is in them; their names.

    Raises:
        StoreError: the database does not have the extension.
    """
    if not _has_citus(connection):
        raise StoreError(
            f"{server}: has no Citus; put citus first into shared_preload_libraries on every node, "
            "restart them, CREATE EXTENSION citus, and add the workers with citus_add_node"
        )
    tables = connection.execute(_TABLES, (_FIRST,)).fetchall()
    for table, of_a_namespace in tables:
        name = f"recollect.{table}"
        if of_a_namespace:
            beside = "none" if table == _FIRST else f"recollect.{_FIRST}"
            connection.execute(
                "SELECT create_distributed_table(%s, 'namespace', colocate_with => %s)",
                (name, beside),
            )
            # The rows that were copied to the shards are still here, too.
            connection.execute("SELECT truncate_local_data_after_distributing_table(%s)", (name,))
        else:
            connection.execute("SELECT create_reference_table(%s)", (name,))
    for (function,) in connection.execute(_FUNCTIONS).fetchall():
        connection.execute("SELECT create_distributed_function(%s)", (function,))
    return [table for table, _ in tables]


def _has_citus(connection: psycopg.Connection[Any]) -> bool:
    return (
        connection.execute("SELECT FROM pg_extension WHERE extname = 'citus'").fetchone()
        is not None
    )
