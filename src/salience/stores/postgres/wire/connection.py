"""A PostgreSQL database: connections, transactions and round trips."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

import psycopg
from psycopg.abc import AdaptContext
from psycopg.types import TypeInfo
from psycopg_pool import ConnectionPool

from salience.errors import StoreClosed, StoreError
from salience.stores.postgres.wire.commands import (
    Analyze,
    Command,
    CommandHook,
    Copy,
    Exchange,
    Many,
    Rollback,
    Statement,
    Steps,
    T,
    Trip,
)
from salience.stores.postgres.wire.errors import RetryPolicy, translate_errors
from salience.stores.postgres.wire.transactions import (
    COMMIT,
    WriteTransaction,
    namespace_scope,
    reading,
)
from salience.stores.postgres.wire.types import register_types, vector_type

_SCHEMA = "salience"
_OPTIONS = (
    f"-c search_path={_SCHEMA},public -c jit=off -c client_encoding=UTF8 "
    "-c plan_cache_mode=force_custom_plan "  # a plan for any namespace is one for none
    "-c default_statistics_target=30 "  # what a plan depends on is in a small sample, too
    "-c citus.propagate_set_commands=local"  # to the worker, too, where there is a cluster
)
MAX_CONNECTIONS = 8  # a process keeps at most
POOL_WAIT_SECONDS = 5.0  # seconds to wait for a connection that others have, before looking again


def connection_settings() -> dict[str, Any]:
    """How every connection is made."""
    return {"autocommit": True, "options": _OPTIONS, "application_name": "salience"}


class Database:
    """The database of an address; `on_command` is told every statement, `on_trip` every trip."""

    def __init__(self, url: str) -> None:
        with translate_errors("url"):
            parts = psycopg.conninfo.conninfo_to_dict(url)
        self.server = f"{parts.get('host', 'localhost')}/{parts.get('dbname', '')}"
        self.url = url
        self.on_command: CommandHook | None = None
        self.on_trip: Callable[[], None] | None = None
        self.row_security = False
        self.distributed = False
        self._vector: TypeInfo | None = None
        self._pool: ConnectionPool[Any] | None = None
        self._lock = threading.Lock()

    def connect(self) -> psycopg.Connection[Any]:
        """A connection of its own, outside the pool."""
        with translate_errors(self.server):
            return psycopg.connect(self.url, **connection_settings())

    def open(self) -> None:
        """Open the pool; the schema has to be there."""
        with self.connect() as connection, translate_errors(self.server):
            self._vector = vector_type(connection)
        if self._vector is None:
            raise StoreError(f"{self.server}: has no pgvector; CREATE EXTENSION vector")
        with translate_errors(self.server):
            self._pool = self._made()

    def _made(self) -> ConnectionPool[Any]:
        pool: ConnectionPool[Any] = ConnectionPool(
            self.url,
            min_size=1,
            max_size=MAX_CONNECTIONS,
            kwargs=connection_settings(),
            configure=self.configure,
            open=False,
            timeout=POOL_WAIT_SECONDS,
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

    @property
    def opened(self) -> bool:
        """Whether it can be asked."""
        return self._pool is not None

    def configure(self, connection: AdaptContext) -> None:
        """Teach a connection the types."""
        assert self._vector is not None
        register_types(connection, self._vector)

    def close(self) -> None:
        """Close every connection."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    def read(self, steps: Callable[[], Steps[T]], namespaces: Iterable[str] = ()) -> T:
        """Run steps that only read: each round trip sees one state of the database."""
        named = self.scope(namespaces)
        return self._patiently(lambda: reading(steps(), named))

    def write(self, steps: Callable[[], Steps[T]], namespaces: Iterable[str] = ()) -> T:
        """Run steps as one transaction, which is on disk when this returns.

        If the connection breaks, it is tried again, and done once.
        """
        return self._patiently(self.attempt(steps, namespaces).talk)

    def attempt(self, steps: Callable[[], Steps[T]], namespaces: Iterable[str]) -> WriteTransaction:
        """A write that may have to be tried again."""
        names = tuple(namespaces)
        return WriteTransaction(steps, names, self.scope(names))

    def scope(self, namespaces: Iterable[str]) -> tuple[Statement, ...]:
        """What tells row-level security, where there is any, what a transaction is about."""
        return namespace_scope(tuple(namespaces)) if self.row_security else ()

    def allowed(self, commands: Sequence[Command]) -> Sequence[Command]:
        """Commands as this role may send them."""
        if not self.row_security:
            return commands
        return [each.inserted() if isinstance(each, Copy) else each for each in commands]

    def _patiently(self, talk: Callable[[], Exchange[T]]) -> T:
        """Talk over a connection; once more, with growing pauses, when that breaks."""
        patience = RetryPolicy()
        with translate_errors(self.server):
            while True:
                pool = self._pool
                if pool is None:
                    raise StoreClosed("the store is closed; open it again with Memory.open(...)")
                talking = talk()
                try:
                    first = next(talking)
                except StopIteration as end:  # it needs no server
                    return end.value
                try:
                    with pool.connection() as connection:
                        return self._talked(connection, talking, first)
                except RetryPolicy.PASSING as problem:
                    pause = patience.bear(problem, pool)
                time.sleep(pause)
                if patience.broken:
                    with suppress(psycopg.OperationalError):  # not yet
                        self._renew(pool)

    def _talked(
        self, connection: psycopg.Connection[Any], talk: Exchange[T], step: Trip | Rollback
    ) -> T:
        while True:
            if isinstance(step, Rollback):
                connection.rollback()
                results: list[Any] = []
            else:
                results = self.trip(connection, step.commands, first=step.first, last=step.last)
            try:
                step = talk.send(results)
            except StopIteration as end:
                return end.value

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
        every = [*first, *self.allowed(commands), *([COMMIT] if last else ())]
        try:
            if any(isinstance(command, Copy) for command in every):
                found = [_rows(self._send(connection, command)) for command in every]
            else:
                with connection.pipeline():
                    cursors = [self._send(connection, command) for command in every]
                found = [_rows(cursor) for cursor in cursors]
            return found[len(first) : len(first) + len(commands)]
        except BaseException:
            if not connection.closed and not connection.broken:
                connection.rollback()
            raise

    def _send(self, connection: psycopg.Connection[Any], command: Command) -> psycopg.Cursor[Any]:
        if self.on_command is not None:
            self.on_command(command)
        cursor = connection.cursor(binary=True)
        if isinstance(command, Copy):
            with cursor.copy(command.sql) as copy:
                copy.set_types(command.types)
                for row in command.rows:
                    copy.write_row(row)
        elif isinstance(command, Many):
            cursor.executemany(command.sql, command.rows)
        elif isinstance(command, Analyze):
            if not self.distributed:
                cursor.execute(command.sql.encode())
        else:
            cursor.execute(command.sql, command.parameters or None)
        return cursor


def _rows(cursor: psycopg.Cursor[Any]) -> list[Any]:
    return cursor.fetchall() if cursor.description is not None else []
