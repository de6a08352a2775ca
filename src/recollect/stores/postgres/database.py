"""A PostgreSQL database: connections, transactions and round trips.

What the store asks of it are *steps*: generators that yield the commands of one round trip and are
sent their results. So there is one place that waits, tries again and counts.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import uuid4

import psycopg
from psycopg import errors
from psycopg.types import TypeInfo
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from recollect.errors import StoreClosed, StoreError
from recollect.stores.postgres.values import register, vector_type

T = TypeVar("T")
_SCHEMA = "recollect"
_OPTIONS = (
    f"-c search_path={_SCHEMA},public -c jit=off -c client_encoding=UTF8 "
    "-c plan_cache_mode=force_custom_plan "  # a plan for any namespace is one for none
    "-c citus.propagate_set_commands=local"  # to the worker, too, where there is a cluster
)
_CONNECTIONS = 8  # a process keeps at most
_PATIENCE = 30.0  # seconds in which a server that went away may come back
_FIRST_WAIT, _LONGEST_WAIT = 0.05, 2.0
_FORGETTING = 0.02  # share of the writes that clear away the marks of old ones
_TURN = 5.0  # seconds to wait for a connection that others have, before looking again
_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_AGAIN = (errors.DeadlockDetected, errors.SerializationFailure)
_ELSEWHERE = (errors.ConnectionException, errors.ConnectionFailure)
_UNREACHABLE = "a machine of the cluster cannot be reached, and what lies on it waits until it can"
_REMEDIES: tuple[tuple[type[psycopg.Error], str], ...] = (
    *((kind, _UNREACHABLE) for kind in _ELSEWHERE),
    (errors.InvalidPassword, "check the user and the password of the address"),
    (errors.InvalidAuthorizationSpecification, "check the user and the password of the address"),
    (errors.InvalidCatalogName, "make the database first: createdb"),
    (errors.UndefinedTable, "make the tables: recollect migrate"),
    (errors.InvalidSchemaName, "make the tables: recollect migrate"),
    (errors.InsufficientPrivilege, "grant the role what is missing, or connect as the owner"),
    (errors.DiskFull, "free some room on the server, then try again; nothing was written"),
    (errors.TooManyConnections, "close some, raise max_connections, or put a pooler before it"),
    (errors.ReadOnlySqlTransaction, "this is a replica; connect to the primary to write"),
    (errors.QueryCanceled, "it took longer than statement_timeout allows"),
    (errors.FeatureNotSupported, "PostgreSQL 16 or newer with pgvector 0.8 is needed"),
    (errors.UndefinedFile, "install pgvector, pg_trgm and btree_gin on the server"),
)


@dataclass(frozen=True)
class Statement:
    """One statement with its parameters; the result is its rows."""

    sql: str
    parameters: Sequence[Any] = ()


@dataclass(frozen=True)
class Many:
    """One statement for each of some rows of parameters; there is no result."""

    sql: str
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Copy:
    """Rows into a table by COPY; `types` are those of the columns."""

    table: str
    columns: Sequence[str]
    types: Sequence[str]
    rows: Iterable[Sequence[Any]]


class Abandon(Exception):
    """Raised in steps that write: undo everything and answer with its first argument."""


@dataclass(frozen=True)
class Analyze:
    """Look anew at how tables are filled; the workers of a cluster do that by themselves."""

    tables: Sequence[str]


Command = Statement | Many | Copy | Analyze
Steps = Generator[Sequence[Command], list[Any], T]
Hook = Callable[[Command], None]


def setting(name: str, value: str) -> Statement:
    """Set something for a transaction, wherever its statements run (unlike `set_config`)."""
    return Statement(f"SET LOCAL {name} = {quoted(value)}")


def quoted(text: str) -> str:
    """A text as it is written in SQL."""
    escaped = text.replace("'", "''")
    return f"'{escaped}'" if "\\" not in text else "E'" + escaped.replace("\\", "\\\\") + "'"


@contextmanager
def guarded(server: str) -> Iterator[None]:
    """Turn psycopg's errors into `StoreError`s that name the server and the remedy."""
    try:
        yield
    except PoolClosed as problem:
        raise StoreClosed("the store is closed; open it again with Memory.open(...)") from problem
    except PoolTimeout as problem:
        raise StoreError(
            f"{server}: no connection was free or could be made; is the server running, and are "
            "its connections enough for its clients?"
        ) from problem
    except psycopg.Error as problem:
        text = str(problem).strip() or type(problem).__name__
        remedy = next((r for kind, r in _REMEDIES if isinstance(problem, kind)), "")
        if not remedy and isinstance(problem, psycopg.OperationalError):
            remedy = "check the address, and that the server is running"
        raise StoreError(f"{server}: {text}" + (f"; {remedy}" if remedy else "")) from problem


class Database:
    """The database of an address; `on_command` is told every statement, `on_trip` every trip."""

    def __init__(self, url: str) -> None:
        with guarded("url"):
            parts = psycopg.conninfo.conninfo_to_dict(url)
        self.server = f"{parts.get('host', 'localhost')}/{parts.get('dbname', '')}"
        self.url = url
        self.on_command: Hook | None = None
        self.on_trip: Callable[[], None] | None = None
        self.row_security = False
        self.distributed = False
        self._vector: TypeInfo | None = None
        self._pool: ConnectionPool[Any] | None = None
        self._lock = threading.Lock()

    def connect(self) -> psycopg.Connection[Any]:
        """A connection of its own, outside the pool."""
        with guarded(self.server):
            return psycopg.connect(
                self.url, autocommit=True, options=_OPTIONS, application_name="recollect"
            )

    def open(self) -> None:
        """Open the pool; the schema has to be there."""
        with self.connect() as connection, guarded(self.server):
            self._vector = vector_type(connection)
        if self._vector is None:
            raise StoreError(f"{self.server}: has no pgvector; CREATE EXTENSION vector")
        with guarded(self.server):
            self._pool = self._made()

    def _made(self) -> ConnectionPool[Any]:
        pool: ConnectionPool[Any] = ConnectionPool(
            self.url,
            min_size=1,
            max_size=_CONNECTIONS,
            kwargs={"autocommit": True, "options": _OPTIONS, "application_name": "recollect"},
            configure=self._configure,
            open=False,
            timeout=_TURN,
        )
        pool.open()
        return pool

    def _renew(self, failed: ConnectionPool[Any]) -> None:
        """Begin with new connections, as soon as the server takes them.

        (The pool would try by itself, with pauses of many seconds.)
        """
        psycopg.connect(self.url, connect_timeout=5).close()
        with self._lock:
            if self._pool is failed:
                self._pool = self._made()
                failed.close(timeout=0)

    def _configure(self, connection: psycopg.Connection[Any]) -> None:
        assert self._vector is not None
        register(connection, self._vector)

    def close(self) -> None:
        """Close every connection."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    def read(self, steps: Callable[[], Steps[T]], namespaces: Iterable[str] = ()) -> T:
        """Run steps that only read: each round trip sees one state of the database."""
        seen = tuple(namespaces)
        return self._patiently(lambda connection: self._reading(connection, steps(), seen))

    def write(self, steps: Callable[[], Steps[T]], namespaces: Iterable[str] = ()) -> T:
        """Run steps as one transaction, which is on disk when this returns.

        If the connection breaks, it is tried again; where it broke while the transaction was being
        committed, the mark that the transaction leaves tells whether it was.
        """
        attempt = _Attempt(self, steps, tuple(namespaces))
        return self._patiently(attempt.run)

    def _patiently(self, run: Callable[[psycopg.Connection[Any]], T]) -> T:
        """Run with a connection; once more, with growing pauses, when that breaks."""
        pause, until = _FIRST_WAIT, time.monotonic() + _PATIENCE
        with guarded(self.server):
            while True:
                pool = self._pool
                if pool is None:
                    raise StoreClosed("the store is closed; open it again with Memory.open(...)")
                broken = False
                try:
                    with pool.connection() as connection:
                        return run(connection)
                except PoolClosed:
                    broken = False  # somebody else has renewed it
                except (*_AGAIN, psycopg.OperationalError, psycopg.InterfaceError) as problem:
                    if isinstance(problem, errors.QueryCanceled | errors.DiskFull):
                        raise
                    if time.monotonic() + pause > until:
                        raise
                    # Where the server tells of it, it is of another machine of its cluster.
                    broken = not isinstance(problem, (*_AGAIN, *_ELSEWHERE))
                    if isinstance(problem, PoolTimeout):  # all busy, or none could be made
                        broken = bool(pool.get_stats().get("connections_errors"))
                time.sleep(pause * random.uniform(0.5, 1.0))
                pause = min(2 * pause, _LONGEST_WAIT)
                if broken:
                    with suppress(psycopg.OperationalError):  # not yet
                        self._renew(pool)

    def _reading(
        self, connection: psycopg.Connection[Any], steps: Steps[T], namespaces: tuple[str, ...]
    ) -> T:
        results: list[Any] | None = None
        while True:
            try:
                commands = next(steps) if results is None else steps.send(results)
            except StopIteration as end:
                return end.value
            results = self.trip(
                connection, commands, first=(Statement(_READ), *self.scope(namespaces)), last=True
            )

    def scope(self, namespaces: Sequence[str]) -> tuple[Statement, ...]:
        """What tells row-level security of which namespaces a transaction is."""
        if not self.row_security:
            return ()
        names = [name.replace("\\", "\\\\").replace('"', '\\"') for name in namespaces]
        listed = ",".join(f'"{name}"' for name in names)
        return (setting("recollect.namespaces", f"{{{listed}}}"),)

    def trip(
        self,
        connection: psycopg.Connection[Any],
        commands: Sequence[Command],
        *,
        first: Sequence[Statement] = (),
        last: bool = False,
    ) -> list[Any]:
        """Send commands together and wait once; with `last`, commit."""
        if self.on_trip is not None:
            self.on_trip()
        try:
            if any(isinstance(command, Copy) for command in commands):
                return self._one_by_one(connection, commands, first, last)
            with connection.pipeline():
                for statement in first:
                    self._send(connection, statement)
                cursors = [self._send(connection, command) for command in commands]
                if last:
                    self._send(connection, Statement("COMMIT"))
            return [_rows(cursor) for cursor in cursors]
        except BaseException:
            if not connection.closed and not connection.broken:
                connection.rollback()
            raise

    def _one_by_one(
        self,
        connection: psycopg.Connection[Any],
        commands: Sequence[Command],
        first: Sequence[Statement],
        last: bool,
    ) -> list[Any]:
        for statement in first:
            self._send(connection, statement)
        found = [_rows(self._send(connection, command)) for command in commands]
        if last:
            self._send(connection, Statement("COMMIT"))
        return found

    def _send(self, connection: psycopg.Connection[Any], command: Command) -> psycopg.Cursor[Any]:
        if self.on_command is not None:
            self.on_command(command)
        cursor = connection.cursor(binary=True)
        if isinstance(command, Copy):
            columns = ", ".join(f'"{name}"' for name in command.columns)
            sql = f"COPY {command.table} ({columns}) FROM STDIN (FORMAT BINARY)"
            with cursor.copy(sql) as copy:
                copy.set_types(command.types)
                for row in command.rows:
                    copy.write_row(row)
        elif isinstance(command, Many):
            cursor.executemany(command.sql, command.rows)
        elif isinstance(command, Analyze):
            if not self.distributed:
                cursor.execute(f"ANALYZE {', '.join(command.tables)}".encode())
        else:
            cursor.execute(command.sql, command.parameters or None)
        return cursor


def _rows(cursor: psycopg.Cursor[Any]) -> list[Any]:
    return cursor.fetchall() if cursor.description is not None else []


class _Attempt:
    """One write, however often it has to be tried."""

    def __init__(
        self, database: Database, steps: Callable[[], Steps[Any]], namespaces: tuple[str, ...]
    ) -> None:
        self._database = database
        self._steps = steps
        self._namespaces = namespaces
        self._token = uuid4()
        self._committing: tuple[Any] | None = None  # the answer, once it was to be committed

    def run(self, connection: psycopg.Connection[Any]) -> Any:
        begin = (Statement("BEGIN"), *self._database.scope(self._namespaces))
        if self._committing is not None and self._namespaces:
            if self._is_committed(connection, begin):
                connection.rollback()
                [answer] = self._committing
                return answer
            begin = ()
        steps = self._steps()
        results: list[Any] | None = None
        while True:
            try:
                commands = list(next(steps) if results is None else steps.send(results))
            except StopIteration as end:
                if results is None:
                    connection.rollback()
                    return end.value
                self._committing = (end.value,)
                self._database.trip(connection, [Statement("COMMIT")])
                return end.value
            except Abandon as end:
                connection.rollback()
                return end.args[0]
            except BaseException:
                connection.rollback()
                raise
            if results is None:
                marks = self._marks()
                results = self._database.trip(connection, [*commands, *marks], first=begin)
                results = results[: len(results) - len(marks)]
            else:
                results = self._database.trip(connection, commands)

    def _marks(self) -> list[Statement]:
        """What tells later that this transaction was committed."""
        if not self._namespaces:
            return []
        here = self._namespaces[0]
        mark = "INSERT INTO attempts (namespace, token) VALUES (%s, %s)"
        marks = [Statement(mark, (here, self._token))]
        if random.random() < _FORGETTING:
            old = "DELETE FROM attempts WHERE namespace = %s AND at < now() - interval '1 hour'"
            marks.append(Statement(old, (here,)))
        return marks

    def _is_committed(
        self, connection: psycopg.Connection[Any], begin: Sequence[Statement]
    ) -> bool:
        """Whether what was to be committed was; whoever still commits it is waited for."""
        here = self._namespaces[0]
        ask = [
            Statement("SELECT 1 FROM spaces WHERE namespace = %s FOR UPDATE", (here,)),
            Statement(
                "SELECT 1 FROM attempts WHERE namespace = %s AND token = %s", (here, self._token)
            ),
        ]
        *_, found = self._database.trip(connection, ask, first=begin)
        return bool(found)
