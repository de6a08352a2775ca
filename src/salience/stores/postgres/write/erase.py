"""Traces of erased data: names in definitions of indexes, samples of columns."""

from __future__ import annotations

from collections.abc import Sequence

from salience.retrieval.erasure import Erasure
from salience.stores.postgres.write.dialect import ALL_TABLES, DIALECT
from salience.stores.tables import erase
from salience.stores.tables.commands import Abandon, Send, Statement
from salience.stores.tables.dialect import lock

SAMPLED = (
    " The samples that PostgreSQL takes for its plans, of vectors, tags, and names of namespaces, "
    "users, agents, writers, speakers and sessions, but of no text, may have some of these until "
    "its next ANALYZE."
)
NAMED_BY_INDEX = (
    " The name of the namespace is left in the definition of an index over its vectors, which only "
    "the owner of the tables can drop."
)
_SAMPLED_TABLES = (*ALL_TABLES, "erasures")
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


def erase_name(
    namespace: str, kept: Sequence[str], send: Send
) -> tuple[Erasure, list[tuple[str, int]]] | None:
    """Erase the name of a namespace without memories, with its counters and what else it has.

    None, with nothing done, if it has memories or does not exist. The second part has the names and
    lengths of indexed vectors: the definition of an index has the name of the namespace, too.
    """
    [indexes] = send(Statement("SELECT name, size FROM indexes WHERE namespace = %s", (namespace,)))
    erased = erase.erase_name(namespace, kept, DIALECT, send)
    if erased is None:
        raise Abandon(None)
    [left] = send(lock(namespace))
    return erased, [] if left else list(indexes)


def renew_samples(send: Send) -> bool:
    """Renew the server's samples of columns, without what was erased.

    False if some were not: this role may not, somebody works on a table, or a table is empty and
    the server is older than PostgreSQL 18, the first that can clear the samples of one.
    """
    analyze = Statement(f"ANALYZE (SKIP_LOCKED) {', '.join(_SAMPLED_TABLES)}")
    _, [[version, analyzed]] = send(analyze, Statement(_OWN_LOCKS))
    if analyzed < len(_SAMPLED_TABLES):
        return False
    if version >= _CLEARS_SAMPLES:
        send(Statement(_CLEAR_SAMPLES))
    [[[is_left]]] = send(Statement(f"SELECT EXISTS (SELECT {_OF_EMPTY})"))
    return not is_left
