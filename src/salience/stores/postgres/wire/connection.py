"""Connections to a database: transactions of round trips, retried while a server is away."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import psycopg
from psycopg_pool import ConnectionPool

from salience.errors import StoreClosed
from salience.forks import leave_to_parent, renew_after_fork
from salience.stores.postgres.wire.commands import (
    Abandon,
    Analyze,
    Command,
    Copy,
    Many,
    Statement,
    Steps,
)
from salience.stores.postgres.wire.database import CONNECTION_SETTINGS, Database
from salience.stores.postgres.wire.errors import RetryPolicy, translate_errors
from salience.stores.postgres.wire.transactions import COMMIT, ReadTransaction, WriteTransaction

T = TypeVar("T")
MAX_CONNECTIONS = 8  # of one pool
POOL_WAIT_SECONDS = 5.0  # for a connection that others use, before looking again
RETRY_WAIT_SECONDS = 1.0  # for a connection to a server that has just failed
PROBE_SECONDS = 5  # to find out whether a server takes connections


class Connections:
    """A pool of connections, opened when first needed."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._open()
        renew_after_fork(self)

    def _open(self) -> None:
        self._pools: dict[None, ConnectionPool[Any]] = {}
        self._lock = threading.Lock()

    def after_fork(self) -> None:
        """Open pools of its own, in the copy of a process."""
        leave_to_parent(self._pools)
        self._open()

    def read(self, steps: Callable[[], Steps[T]], namespaces: Iterable[str] = ()) -> T:
        """Run steps that only read: each round trip sees one state of the database."""
        names = tuple(namespaces)
        return self._run(steps, ReadTransaction(self.database.scope(names)), names)

    def write(self, steps: Callable[[], Steps[T]], namespaces: Iterable[str] = ()) -> T:
        """Run steps as one transaction, which is on disk when this returns.

        If the connection breaks, it is tried again, and done once.
        """
        names = tuple(namespaces)
        return self._run(steps, WriteTransaction(names, self.database.scope(names)), names)

    def close(self) -> None:
        """Close the connections."""
        pool = self._pools.pop(None, None)
        if pool is not None:
            pool.close()

    def _pool(self) -> ConnectionPool[Any]:
        if not self.database.is_open:
            raise StoreClosed("the store is closed; open it again with Memory.open(...)")
        owner = None
        with self._lock:
            pool = self._pools.get(owner)
            if pool is not None:
                return pool
            pool = self._pools[owner] = ConnectionPool(
                self.database.url,
                min_size=1,
                max_size=MAX_CONNECTIONS,
                kwargs=CONNECTION_SETTINGS,
                configure=self._configure,
                open=True,
                timeout=POOL_WAIT_SECONDS,
            )
        return pool

    def _configure(self, connection: psycopg.Connection[Any]) -> None:
        self.database.configure(connection)

    def _renew(self, failed: ConnectionPool[Any]) -> None:
        """Let a failed pool be replaced, as soon as the server takes connections.

        (It would try by itself, with pauses of many seconds.)
        """
        probe = psycopg.Connection.connect(self.database.url, connect_timeout=PROBE_SECONDS)
        probe.close()
        owner = None
        with self._lock:
            if self._pools.get(owner) is not failed:
                return
            del self._pools[owner]
        failed.close(timeout=0)

    def _run(
        self,
        steps: Callable[[], Steps[T]],
        transaction: ReadTransaction | WriteTransaction,
        namespaces: Sequence[str],
    ) -> T:
        """Run steps in a transaction; again, after growing pauses, when the connection breaks.

        While the server is away, it fails at once (see `Breaker`).
        """
        breakers = self.database.breakers
        policy = RetryPolicy(breakers, namespaces)
        with translate_errors(self.database.server):
            is_admitted = False
            while True:
                pool = self._pool()
                running = steps()
                try:
                    commands = next(running)
                except StopIteration as end:  # they need no server
                    return end.value
                except Abandon as end:
                    return end.args[0]
                try:
                    if not is_admitted and breakers.admit(namespaces):
                        self._renew(pool)
                        breakers.server.succeeded()
                        pool = self._pool()
                    is_admitted = True
                    patience = RETRY_WAIT_SECONDS if breakers.server.is_failing else None
                    with pool.connection(patience) as connection:
                        if isinstance(transaction, ReadTransaction):
                            answer = self._read(connection, transaction, running, commands)
                        else:
                            answer = self._write(connection, transaction, running, commands)
                    breakers.succeeded(namespaces)
                    return answer
                except RetryPolicy.PASSING as problem:
                    pause = policy.pause_after(problem, pool)
                time.sleep(pause)
                if policy.pool_is_broken:
                    with suppress(psycopg.OperationalError):  # not yet
                        self._renew(pool)

    def _read(
        self,
        connection: psycopg.Connection[Any],
        transaction: ReadTransaction,
        steps: Steps[T],
        commands: Sequence[Command],
    ) -> T:
        try:
            while True:
                results = self.trip(connection, commands, first=transaction.begin, last=True)
                commands = steps.send(results)
        except StopIteration as end:
            return end.value

    def _write(
        self,
        connection: psycopg.Connection[Any],
        transaction: WriteTransaction,
        steps: Steps[T],
        commands: Sequence[Command],
    ) -> T:
        begin = transaction.begin
        if transaction.may_be_committed:
            *_, mark = self.trip(connection, transaction.select_mark(), first=begin)
            if mark:
                connection.rollback()
                return transaction.answer
            begin = ()
        try:
            marked = [*commands, *transaction.marks()]
            results = self.trip(connection, marked, first=begin)[: len(commands)]
            while True:
                results = self.trip(connection, steps.send(results))
        except StopIteration as end:
            transaction.answer = end.value
            self.trip(connection, [COMMIT])
            return end.value
        except Abandon as end:
            connection.rollback()
            return end.args[0]
        except BaseException:
            self._rollback(connection)
            raise

    def trip(
        self,
        connection: psycopg.Connection[Any],
        commands: Sequence[Command],
        *,
        first: Sequence[Statement] = (),
        last: bool = False,
    ) -> list[Any]:
        """Send commands together, after `first`, and wait once; with `last`, commit."""
        if self.database.on_trip is not None:
            self.database.on_trip()
        sent = [*first, *self.database.permitted(commands), *([COMMIT] if last else ())]
        try:
            if any(isinstance(command, Copy) for command in sent):
                results = [_rows(self._send(connection, command)) for command in sent]
            else:
                with connection.pipeline():
                    cursors = [self._send(connection, command) for command in sent]
                results = [_rows(cursor) for cursor in cursors]
            return results[len(first) : len(first) + len(commands)]
        except BaseException:
            self._rollback(connection)
            raise

    def _rollback(self, connection: psycopg.Connection[Any]) -> None:
        if not connection.closed and not connection.broken:
            connection.rollback()

    def _send(self, connection: psycopg.Connection[Any], command: Command) -> psycopg.Cursor[Any]:
        if self.database.on_command is not None:
            self.database.on_command(command)
        cursor = connection.cursor(binary=True)
        if isinstance(command, Copy):
            with cursor.copy(command.sql) as copy:
                copy.set_types(command.types)
                for row in command.rows:
                    copy.write_row(row)
        elif isinstance(command, Many):
            cursor.executemany(command.sql, command.rows)
        elif isinstance(command, Analyze):
            if not self.database.distributed:
                cursor.execute(command.sql.encode())
        else:
            cursor.execute(command.sql, command.parameters or None)
        return cursor


def _rows(cursor: psycopg.Cursor[Any]) -> list[Any]:
    return cursor.fetchall() if cursor.description is not None else []
