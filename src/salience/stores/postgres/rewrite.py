"""Rewriting all tables, to leave no erased row in any file of the database."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

import psycopg

from salience.errors import StoreError
from salience.stores.postgres.wire.connection import Connections
from salience.stores.postgres.wire.errors import translate_errors
from salience.stores.postgres.write import erase

if TYPE_CHECKING:
    from psycopg.errors import Diagnostic

_WAIT_SECONDS = 30  # for the transactions that hold a table
_PAUSE_SECONDS = 0.2
_SAMPLES = "pg_catalog.pg_statistic"
_SELECT_TABLES = """
SELECT oid::regclass::text FROM pg_class
WHERE relnamespace = 'salience'::regnamespace AND relkind = 'r' ORDER BY 1
"""
_SELECT_FILES = f"""
WITH own AS (SELECT oid, reltoastrelid FROM pg_class WHERE relkind = 'r'
    AND (relnamespace = 'salience'::regnamespace OR oid = '{_SAMPLES}'::regclass)),
files AS (SELECT oid AS file, oid FROM own
    UNION SELECT reltoastrelid, oid FROM own WHERE reltoastrelid <> 0)
SELECT f.oid::regclass::text, pg_relation_filenode(f.file) FROM files f
UNION SELECT f.oid::regclass::text, pg_relation_filenode(i.indexrelid)
FROM files f JOIN pg_index i ON i.indrelid = f.file
"""
_REWRITTEN = (
    "All {} tables and their indexes were rewritten: each lies in a file that was not there "
    "before, and the old files are deleted. The write-ahead log, the replicas and the backups of "
    "the server have the bytes for as long as they are kept."
)
_OLD_SAMPLES = (
    " Former samples for the planner lie in pg_statistic until PostgreSQL has used their room "
    "again; only the owner of the database could rewrite that."
)


def rewrite_tables(connections: Connections) -> str:
    """Rewrite all tables and indexes; return what was done, checked.

    Each table is locked while it is written: nobody can read it.

    Raises:
        StoreError: the role does not own the tables, or a transaction holds one, or has a snapshot
            from before the erasure.
    """
    database = connections.database
    with database.connect() as connection, translate_errors(database.server):
        connection.execute(f"SET lock_timeout = '{_WAIT_SECONDS}s'".encode())
        before = _files(connection)
        tables = [table for (table,) in connection.execute(_SELECT_TABLES).fetchall()]
        for table in tables:
            _rewrite(connection, table)
        are_samples_new = connections.write(erase.renew_samples)
        _rewrite(connection, _SAMPLES)
        same = {table for table, _ in before & _files(connection)}
    if same - {_SAMPLES}:
        raise StoreError(f"the owner of {', '.join(sorted(same - {_SAMPLES}))} has to do it")
    done = _REWRITTEN.format(len(tables))
    return done + (_OLD_SAMPLES if same else "") + ("" if are_samples_new else erase.SAMPLED)


def _rewrite(connection: psycopg.Connection[Any], table: str) -> None:
    """Rewrite a table until no dead row is left in it.

    Dead rows that an open snapshot may still see are copied with the others. Only the detail of
    what VERBOSE prints counts such rows, as its first number.
    """
    kept: list[int] = []

    def count(notice: Diagnostic) -> None:
        match = re.search(r"\d+", notice.message_detail or "")
        kept.append(int(match[0]) if match else 0)

    connection.add_notice_handler(count)
    deadline = time.monotonic() + _WAIT_SECONDS
    try:
        while True:
            kept.clear()
            connection.execute(f"VACUUM (FULL, VERBOSE) {table}".encode())
            if not any(kept):
                return
            if time.monotonic() > deadline:
                raise StoreError(
                    f"{sum(kept)} erased rows of {table} are still read by a transaction from "
                    "before the erasure; end it, then erase once more with rewrite=True"
                )
            time.sleep(_PAUSE_SECONDS)
    finally:
        connection.remove_notice_handler(count)


def _files(connection: psycopg.Connection[Any]) -> set[tuple[str, int]]:
    """The tables, each with the numbers of all files that it, its texts and its indexes have."""
    return {(str(table), int(file)) for table, file in connection.execute(_SELECT_FILES)}
