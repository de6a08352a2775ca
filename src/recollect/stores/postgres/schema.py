"""The schema of a database: which version it has, and bringing it up to date."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.sql import SQL, Identifier

from recollect.errors import StoreError
from recollect.features import VERSION as FEATURES_VERSION
from recollect.stores.migrations import migrations
from recollect.stores.postgres.cluster import distribute, distributed
from recollect.stores.postgres.database import Database
from recollect.stores.postgres.trouble import guarded

_OLDEST = 160_000
_LOCK = 0x5245434C  # "RECL": only one process migrates at a time


def version(connection: psycopg.Connection[Any]) -> int:
    """The version of the schema, 0 where there is none."""
    [there] = connection.execute("SELECT to_regclass('recollect.meta') IS NOT NULL").fetchone()  # type: ignore[misc]
    if not there:
        return 0
    found = connection.execute("SELECT value FROM recollect.meta WHERE key = 'schema'").fetchone()
    return int(found[0]) if found else 0


def check(database: Database) -> None:
    """Refuse a schema that is older or newer than this code; make one where there is none.

    Raises:
        StoreError: says which version it is and what to do.
    """
    steps = len(migrations("postgres"))
    with database.connect() as connection, guarded(database.server):
        kept = version(connection)
        if kept == 0:
            migrate(database)
        elif kept < steps:
            raise StoreError(
                f"{database.server}: has the older schema {kept}, this recollect needs {steps}; "
                "bring it up to date: recollect migrate"
            )
        elif kept > steps:
            raise StoreError(
                f"{database.server}: has the newer schema {kept}, this recollect knows {steps}; "
                "upgrade recollect"
            )
        words = connection.execute(
            "SELECT value FROM recollect.meta WHERE key = 'features'"
        ).fetchone()
        if words is not None and words[0] != FEATURES_VERSION:
            raise StoreError(
                f"{database.server}: its words are kept as by another recollect ({words[0]}, this "
                f"one keeps {FEATURES_VERSION}) and would not be found; with that one `recollect "
                "copy` it into a SQLite file, and with this one that file into a new database"
            )
        secured = connection.execute("SELECT row_security_active('recollect.memories')").fetchone()
        database.row_security = bool(secured and secured[0])
        database.distributed = distributed(connection)


def migrate(database: Database, citus: bool = False) -> tuple[int, int]:
    """Bring the schema up to date in one transaction; the versions before and after.

    With `citus`, or where they are already, all tables are spread over the cluster by namespace.

    Raises:
        StoreError: the server is too old, the role may not, the schema is a newer one, or there is
            no cluster.
    """
    steps = migrations("postgres")
    with database.connect() as connection, guarded(database.server), connection.transaction():
        if connection.info.server_version < _OLDEST:
            raise StoreError(
                f"{database.server}: is PostgreSQL {connection.info.server_version // 10_000}; "
                "16 or newer is needed"
            )
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        before = version(connection)
        if before > len(steps):
            raise StoreError(
                f"{database.server}: has the newer schema {before}, this recollect knows "
                f"{len(steps)}; upgrade recollect"
            )
        connection.execute("CREATE SCHEMA IF NOT EXISTS recollect")
        for step in steps[before:]:
            connection.execute(step.encode())
        if before < len(steps):
            connection.execute(
                "INSERT INTO meta VALUES ('schema', %s) "
                "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                (str(len(steps)),),
            )
            # The words of what is there already stay as they are.
            connection.execute(
                "INSERT INTO meta VALUES ('features', %s) ON CONFLICT DO NOTHING",
                (FEATURES_VERSION,),
            )
        if citus or distributed(connection):
            distribute(connection, database.server)
        if before < len(steps) and _secured(connection):
            _secure(connection, True)
    return before, len(steps)


def secure(database: Database, on: bool) -> None:
    """Switch row-level security on namespaces on or off; tables of later versions get it, too.

    With it, a role that does not own the tables sees the namespaces alone that its transaction has
    named in the setting `recollect.namespaces`, as this store does. The owner sees everything.
    """
    with database.connect() as connection, guarded(database.server), connection.transaction():
        _secure(connection, on)


def _secured(connection: psycopg.Connection[Any]) -> bool:
    """Whether row-level security was switched on."""
    found = connection.execute(
        "SELECT EXISTS (SELECT FROM pg_policies WHERE schemaname = 'recollect' "
        "AND policyname = 'own_namespaces')"
    ).fetchone()
    return bool(found and found[0])


def _secure(connection: psycopg.Connection[Any], on: bool) -> None:
    for (table,) in connection.execute(
        "SELECT table_name FROM information_schema.columns WHERE table_schema = 'recollect' "
        "AND column_name = 'namespace'"
    ).fetchall():
        name = Identifier("recollect", table)
        connection.execute(SQL("DROP POLICY IF EXISTS own_namespaces ON {}").format(name))
        if on:
            connection.execute(
                SQL(
                    "CREATE POLICY own_namespaces ON {} USING (namespace = ANY (coalesce("
                    "nullif(current_setting('recollect.namespaces', true), ''), '{{}}')"
                    "::text[]))"
                ).format(name)
            )
        word = SQL("ENABLE" if on else "DISABLE")
        connection.execute(SQL("ALTER TABLE {} {} ROW LEVEL SECURITY").format(name, word))
