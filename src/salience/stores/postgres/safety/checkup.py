"""The doctor of a PostgreSQL store: the database, then each namespace, row by row.

Each check follows the repairs of earlier ones. What it removes goes to the quarantine. The server
guards the bytes by its own checksums.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import psycopg
from psycopg.errors import InsufficientPrivilege, ReadOnlySqlTransaction

from salience.errors import StoreError
from salience.retrieval.safety import STRUCTURE, Finding
from salience.stores.findings import EXAMPLES, FIX, Problem, Quarantine
from salience.stores.migrations import migrations
from salience.stores.postgres import schema
from salience.stores.postgres.large import indexes
from salience.stores.postgres.replica.manager import memory_limit, most_memories
from salience.stores.postgres.safety.namespace import NamespaceChecks
from salience.stores.postgres.wire.connection import Connections
from salience.stores.postgres.wire.errors import translate_errors
from salience.stores.postgres.write.dialect import NAMESPACE_TABLES, lock_namespace

_FRESH = "salience_fresh"
"""The schema of a new store, made for comparison in a transaction that is undone."""
_RESTORE = "restore the database from a dump (pg_restore)"
_COLUMNS = """
SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod)
    || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relnamespace = %s::regnamespace AND c.relkind IN ('r', 'p') AND a.attnum > 0
    AND NOT a.attisdropped AND NOT EXISTS (SELECT FROM pg_depend d
        WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
"""
_INDEXES = """
SELECT i.relname, t.relname, pg_get_indexdef(x.indexrelid), pg_get_constraintdef(k.oid),
    x.indisvalid AND x.indisready AND x.indislive
FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid
    LEFT JOIN pg_constraint k ON k.conindid = x.indexrelid AND k.contype IN ('p', 'u')
WHERE t.relnamespace = %s::regnamespace AND t.relkind IN ('r', 'p')
"""
_FUNCTIONS = """
SELECT p.proname FROM pg_proc p WHERE p.pronamespace = %s::regnamespace AND NOT EXISTS (
    SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid
        AND d.deptype = 'e')
"""
_UNPROTECTED = """
SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'salience'::regnamespace
    AND c.relkind IN ('r', 'p') AND EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid
        AND a.attname = 'namespace' AND NOT a.attisdropped)
    AND (NOT c.relrowsecurity OR NOT EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid
        AND p.polname = 'own_namespaces'))
ORDER BY 1
"""
_MANY_ROWS = 10_000  # up to so many, neither statistics nor dead rows matter
_DEAD_SHARE = 0.3
_UNTENDED = """
SELECT c.relname, c.reltuples < 0 FROM pg_class c JOIN pg_stat_user_tables s ON s.relid = c.oid
WHERE c.relnamespace = 'salience'::regnamespace AND (
    (c.reltuples < 0 AND pg_relation_size(c.oid) > %s)
    OR (s.n_dead_tup > %s AND s.n_dead_tup > %s * (s.n_live_tup + s.n_dead_tup)))
ORDER BY 1
"""
_MANY_BYTES = 1 << 20


class _Index(NamedTuple):
    table: str
    definition: str
    constraint: str | None
    is_valid: bool = True


class _Schema(NamedTuple):
    """The columns by table and name, the indexes by name, and the functions of a schema."""

    columns: dict[tuple[str, str], str]
    indexes: dict[str, _Index]
    functions: frozenset[str]

    @classmethod
    def read(cls, connection: psycopg.Connection[Any], name: str) -> _Schema:
        """The schema of a name, as texts that do not depend on the name."""

        def rows(select: str) -> list[tuple[Any, ...]]:
            return connection.execute(select, (name,)).fetchall()

        indexes = {
            index: _Index(table, definition.replace(f" ON {name}.", " ON "), *rest)
            for index, table, definition, *rest in rows(_INDEXES)
        }
        columns = {(table, column): kind for table, column, kind in rows(_COLUMNS)}
        return cls(columns, indexes, frozenset(each for (each,) in rows(_FUNCTIONS)))


class DatabaseChecks:
    """The checks of a database as a whole, on connections of their own."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._database = connections.database

    def problems(self) -> Iterator[Problem]:
        """All problems, possible causes of others first."""
        yield from self._checksums()
        is_whole = True
        for problem in self._schema():
            is_whole &= problem.finding.check != STRUCTURE
            yield problem
        if not is_whole:  # statements about the rows would fail
            return
        yield from self._large_indexes()
        yield from self._policies()
        yield from self._upkeep()
        yield from self._nameless()

    def namespaces(self) -> list[str]:
        """All namespaces that are known, ascending."""
        return [name for (name,) in self._rows("SELECT namespace FROM spaces ORDER BY 1")]

    def _rows(self, select: str, parameters: tuple[Any, ...] = ()) -> list[Any]:
        with self._database.connect() as connection, translate_errors(self._database.server):
            return connection.execute(select.encode(), parameters or None).fetchall()

    def _run(self, *statements: str) -> None:
        """Run statements, each by itself."""
        with self._database.connect() as connection, translate_errors(self._database.server):
            for statement in statements:
                connection.execute(statement.encode())

    def _checksums(self) -> Iterator[Problem]:
        [[state]] = self._rows("SHOW data_checksums")
        if state != "on":
            problem = "the server keeps no checksums of its pages, so damage there goes unnoticed"
            remedy = "stop the server, run `pg_checksums --enable` on its data, and start it again"
            yield Problem(Finding("checksums", problem, remedy=remedy, harmless=True))

    # The schema

    def _schema(self) -> Iterator[Problem]:
        with self._database.connect() as connection, translate_errors(self._database.server):
            expected, stored = _fresh_schema(connection), _Schema.read(connection, "salience")
        if expected is None:
            problem = "the schema could not be compared with a new one"
            remedy = "look at it on the primary, as a role that may create a schema"
            yield Problem(Finding("schema", problem, remedy=remedy, harmless=True))
            return
        yield from _columns(expected, stored)
        for name in sorted(expected.functions - stored.functions):
            yield Problem(Finding(STRUCTURE, f"the function {name} is missing", remedy=_RESTORE))
        for name, index in sorted(expected.indexes.items()):
            if index.table in {table for table, _ in stored.columns}:
                yield from self._index(name, index, stored.indexes.get(name))
        unusable = sorted(
            name
            for name, index in stored.indexes.items()
            if name not in expected.indexes and not index.is_valid
        )
        for name in unusable:  # left over by a building that was broken off
            finding = Finding("indexes", f"the index {name} is invalid", remedy=f"{FIX} drops it")
            drop = f'DROP INDEX CONCURRENTLY IF EXISTS salience."{name}"'
            yield Problem(finding, partial(self._run, drop))

    def _index(self, name: str, expected: _Index, stored: _Index | None) -> Iterator[Problem]:
        """Problems of an index: it is missing, of another definition, or invalid."""
        if stored is not None and stored.definition != expected.definition:
            finding = Finding(
                "indexes", f"the index {name} is not as it should be", remedy=f"{FIX} rebuilds it"
            )
            kind = "CONSTRAINT" if stored.constraint else "INDEX"
            drop = (
                f'ALTER TABLE {stored.table} DROP CONSTRAINT "{name}"'
                if kind == "CONSTRAINT"
                else f'DROP INDEX CONCURRENTLY IF EXISTS salience."{name}"'
            )
            yield Problem(finding, partial(self._run, drop, _making(name, expected)))
        elif stored is None:
            finding = Finding("indexes", f"the index {name} is missing", remedy=f"{FIX} makes it")
            yield Problem(finding, partial(self._run, _making(name, expected)))
        elif not stored.is_valid:
            finding = Finding(
                "indexes", f"the index {name} is invalid", remedy=f"{FIX} rebuilds it"
            )
            again = f'REINDEX INDEX CONCURRENTLY salience."{name}"'
            yield Problem(finding, partial(self._run, again))

    def _large_indexes(self) -> Iterator[Problem]:
        """Indexes of large namespaces that are noted as built, but missing or invalid."""
        valid = {name for name, *_, is_valid in self._rows(
            _INDEXES.replace("%s", "'salience'")) if is_valid}  # fmt: skip
        with self._database.connect() as connection, translate_errors(self._database.server):
            noted = indexes.noted_indexes(connection)
        lost = [(namespace, name) for namespace, name, called in noted if called not in valid]
        if lost:
            examples = tuple(f"{name} of {namespace}" for namespace, name in lost[:EXAMPLES])
            problem = f"{len(lost):,} indexes of large namespaces are missing or invalid"
            finding = Finding("indexes", problem, len(lost), examples, f"{FIX} builds them")
            yield Problem(finding, partial(self._build_large_indexes, lost))

    def _build_large_indexes(self, lost: list[tuple[str, str]]) -> None:
        for namespace, name in lost:
            forget = partial(indexes.forget_index, namespace, name)
            self._connections.write(forget, (namespace,))
        indexes.build_indexes(self._connections, most_memories(memory_limit()) + 1)

    # The rest

    def _policies(self) -> Iterator[Problem]:
        with self._database.connect() as connection, translate_errors(self._database.server):
            if not schema.has_row_security(connection):
                return
        tables = tuple(name for (name,) in self._rows(_UNPROTECTED))
        if tables:
            problem = f"{len(tables):,} tables do not have the row-level security of the others"
            finding = Finding("policies", problem, len(tables), tables, f"{FIX} switches it on")
            yield Problem(finding, partial(schema.set_row_security, self._database, True))

    def _upkeep(self) -> Iterator[Problem]:
        """Tables whose statistics or dead rows the server has left behind."""
        if self._database.distributed:  # the workers look after their own
            return
        for table, is_new in self._rows(_UNTENDED, (_MANY_BYTES, _MANY_ROWS, _DEAD_SHARE)):
            problem = "was never analyzed" if is_new else "has many dead rows"
            remedy = f"{FIX} runs VACUUM ANALYZE; is autovacuum on?"
            problem = f"the table {table} {problem}"
            finding = Finding("upkeep", problem, remedy=remedy, harmless=True)
            yield Problem(finding, partial(self._run, f"VACUUM (ANALYZE) {table}"))

    def _nameless(self) -> Iterator[Problem]:
        """Namespaces with rows that are not entered in `spaces`."""
        distinct = " UNION ".join(f"SELECT namespace FROM {t}" for t in NAMESPACE_TABLES)
        used = [name for (name,) in self._rows(distinct)]
        lost = sorted(set(used) - set(self.namespaces()))
        if lost:
            problem = f"{len(lost):,} namespaces with rows are not entered"
            remedy = f"{FIX} enters them"
            examples = tuple(lost[:EXAMPLES])
            finding = Finding("namespaces", problem, len(lost), examples, remedy)
            yield Problem(finding, partial(self._enter, lost))

    def _enter(self, names: list[str]) -> None:
        with self._database.connect() as connection, translate_errors(self._database.server):
            for name in names:  # the checks of the namespace set the numbers
                enter = lock_namespace(name)
                connection.execute(enter.sql.encode(), enter.parameters)


def _columns(expected: _Schema, stored: _Schema) -> Iterator[Problem]:
    """Tables and columns that are missing, of another type, or not of salience."""
    tables = {table for table, _ in stored.columns}
    for table in sorted({table for table, _ in expected.columns} - tables):
        yield Problem(Finding(STRUCTURE, f"the table {table} is missing", remedy=_RESTORE))
    for (table, column), kind in sorted(expected.columns.items()):
        stored_kind = stored.columns.get((table, column))
        if table in tables and stored_kind != kind:
            state = "missing" if stored_kind is None else f"of the type {stored_kind}, not {kind}"
            problem = f"the column {column} of {table} is {state}"
            yield Problem(Finding(STRUCTURE, problem, remedy=_RESTORE))
    others = sorted(f"{t}.{c}" for t, c in stored.columns.keys() - expected.columns.keys())
    if others:
        problem = "there are tables or columns of others"
        examples = tuple(others[:EXAMPLES])
        yield Problem(Finding("schema", problem, len(others), examples, harmless=True))


def _making(name: str, index: _Index) -> str:
    """The statement that makes an index of the schema."""
    if index.constraint is not None:
        return f'ALTER TABLE {index.table} ADD CONSTRAINT "{name}" {index.constraint}'
    return index.definition.replace(" INDEX ", " INDEX CONCURRENTLY ", 1)


def _fresh_schema(connection: psycopg.Connection[Any]) -> _Schema | None:
    """The schema of a new store; None if the role may not make one."""
    fresh = None
    with suppress(InsufficientPrivilege, ReadOnlySqlTransaction), connection.transaction():
        connection.execute(f"CREATE SCHEMA {_FRESH}".encode())
        connection.execute(f"SET LOCAL search_path = {_FRESH}, salience, public".encode())
        schema.apply_steps(connection, migrations("postgres"), 0)
        fresh = _Schema.read(connection, _FRESH)
        raise psycopg.Rollback
    return fresh


def check_store(connections: Connections, *, fix: bool) -> tuple[tuple[Finding, ...], list[str]]:
    """Look for damage, and repair it with `fix`; the findings, and all namespaces.

    Raises:
        StoreError: the role does not see all namespaces.
    """
    if connections.database.row_security:
        raise StoreError(
            "row-level security hides namespaces from this role; look for damage as the owner of "
            "the tables"
        )
    checks = DatabaseChecks(connections)
    findings = _mended(checks.problems(), fix)
    if any(each.check == STRUCTURE for each in findings):
        return tuple(findings), []
    quarantine = Quarantine(connections.database.name.replace("/", "_"))
    namespaces = checks.namespaces()
    for name in namespaces:
        problems = NamespaceChecks(connections, name, quarantine).problems()
        findings += [
            replace(each, problem=f"{each.problem}, in {name!r}") for each in _mended(problems, fix)
        ]
    return tuple(findings), namespaces


def _mended(problems: Iterator[Problem], fix: bool) -> list[Finding]:
    """The findings of problems, each mended before looking for the next."""
    findings: list[Finding] = []
    for problem in problems:
        finding = problem.finding
        if fix and problem.mend is not None:
            try:
                problem.mend()
                finding = replace(finding, fixed=True)
            except StoreError as error:
                finding = replace(finding, remedy=f"it could not be mended: {error}")
        findings.append(finding)
    return findings
