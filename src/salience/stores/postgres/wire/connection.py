"""Connections to a database: transactions of round trips, retried while a server is away."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, TypeVar
from uuid import uuid4

import psycopg
from psycopg_pool import ConnectionPool

from salience.errors import StoreClosed
from salience.forks import leave_to_parent, renew_after_fork
from salience.stores.postgres.wire.database import CONNECTION_SETTINGS, Database
from salience.stores.postgres.wire.errors import RetryPolicy, translate_errors
from salience.stores.tables.commands import (
    Abandon,
    Analyze,
    Command,
    Copy,
    Many,
    Send,
    Statement,
)

_CLEANUP_SHARE = 0.02  # of the writes clear away the marks of old ones
BEGIN = Statement("BEGIN")
BEGIN_READ = Statement("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
COMMIT = Statement("COMMIT")


class ReadTransaction:
    """One read: each of its round trips is a transaction, which sees one state of the database."""

    def __init__(self, scope: Sequence[Statement]) -> None:
        self.begin = (BEGIN_READ, *scope)


class WriteTransaction:
    """One write as one transaction, however many attempts it takes.

    If the connection breaks during the commit, the mark that it leaves in the database shows
    whether it succeeded.
    """

    def __init__(self, namespaces: tuple[str, ...], scope: Sequence[Statement]) -> None:
        self.begin = (BEGIN, *scope)
        self._namespaces = namespaces
        self._token = uuid4()
        self._answer: tuple[Any] | None = None

    @property
    def may_be_committed(self) -> bool:
        """True if an earlier attempt reached its commit."""
        return self._answer is not None and bool(self._namespaces)

    @property
    def answer(self) -> Any:
        """The answer of the attempt that reached its commit."""
        assert self._answer is not None
        return self._answer[0]

    @answer.setter
    def answer(self, value: Any) -> None:
        self._answer = (value,)

    def marks(self) -> list[Statement]:
        """Leave the mark of this transaction; now and then, clear away old ones."""
        if not self._namespaces:
            return []
        namespace = self._namespaces[0]
        # Of a namespace that was erased meanwhile nothing is written, not even its name.
        mark = (
            "INSERT INTO attempts (namespace, token) SELECT namespace, %s::uuid FROM spaces "
            "WHERE namespace = %s"
        )
        marks = [Statement(mark, (self._token, namespace))]
        if random.random() < _CLEANUP_SHARE:
            old = "DELETE FROM attempts WHERE namespace = %s AND at < now() - interval '1 hour'"
            marks.append(Statement(old, (namespace,)))
        return marks

    def select_mark(self) -> list[Statement]:
        """Read the mark, after any transaction that is still committing it."""
        namespace = self._namespaces[0]
        return [
            Statement("SELECT 1 FROM spaces WHERE namespace = %s FOR UPDATE", (namespace,)),
            Statement(
                "SELECT 1 FROM attempts WHERE namespace = %s AND token = %s",
                (namespace, self._token),
            ),
        ]


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

    def read(self, work: Callable[[Send], T], namespaces: Iterable[str] = ()) -> T:
        """Run what only reads: each round trip sees one state of the database."""
        names = tuple(namespaces)
        return self._run(work, ReadTransaction(self.database.scope(names)), names)

    def write(self, work: Callable[[Send], T], namespaces: Iterable[str] = ()) -> T:
        """Run what writes as one transaction, which is on disk when this returns.

        If the connection breaks, it is retried, but done only once.
        """
        names = tuple(namespaces)
        return self._run(work, WriteTransaction(names, self.database.scope(names)), names)

    def close(self) -> None:
        """Close the connections."""
        pool = self._pools.pop(None, None)
        if pool is not None:
            pool.close()

    def pool(self) -> ConnectionPool[Any]:
        """The pool, opened when it is first needed."""
        if not self.database.is_open:
            raise StoreClosed("the store is closed; open it again with Memory.open(...)")
        with self._lock:
            pool = self._pools.get(None)
            if pool is not None:
                return pool
            pool = self._pools[None] = ConnectionPool(
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

    def renew(self, failed: ConnectionPool[Any]) -> None:
        """Replace a failed pool as soon as the server accepts connections.

        (The pool itself would retry with pauses of many seconds.)
        """
        probe = psycopg.Connection.connect(self.database.url, connect_timeout=PROBE_SECONDS)
        probe.close()
        with self._lock:
            if self._pools.get(None) is not failed:
                return
            del self._pools[None]
        failed.close(timeout=0)

    def _run(
        self,
        work: Callable[[Send], T],
        transaction: ReadTransaction | WriteTransaction,
        namespaces: Sequence[str],
    ) -> T:
        """Run work in a transaction; retry it, after growing pauses, if the connection breaks.

        While the server is away, it fails at once (see `Breaker`). Work that sends nothing needs no
        server.
        """
        attempts = _Attempts(self, namespaces)
        run = self._read if isinstance(transaction, ReadTransaction) else self._write
        with translate_errors(self.database.server):
            while True:
                try:
                    with attempts.connection() as connect:
                        answer: T = run(connect, transaction, work)
                        return answer
                except RetryPolicy.PASSING as problem:
                    attempts.wait(problem)

    def _read(self, connect: Connect, transaction: Any, work: Callable[[Send], T]) -> T:
        def send(*commands: Command) -> list[Any]:
            if not commands:
                return []
            return self.trip(connect(), commands, first=transaction.begin, last=True)

        return work(send)

    def _write(self, connect: Connect, transaction: Any, work: Callable[[Send], T]) -> T:
        connection: psycopg.Connection[Any] | None = None

        def send(*commands: Command) -> list[Any]:
            nonlocal connection
            if not commands:
                return []
            if connection is not None:
                return self.trip(connection, commands)
            connection, begin = connect(), transaction.begin
            if transaction.may_be_committed:
                *_, mark = self.trip(connection, transaction.select_mark(), first=begin)
                if mark:
                    raise Abandon(transaction.answer)
                begin = ()
            marked = [*commands, *transaction.marks()]
            return self.trip(connection, marked, first=begin)[: len(commands)]

        try:
            answer = work(send)
            if connection is not None:
                transaction.answer = answer
                self.trip(connection, [COMMIT])
            return answer
        except Abandon as end:
            if connection is not None:
                connection.rollback()
            abandoned: T = end.args[0]
            return abandoned
        except BaseException:
            if connection is not None:
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
        """Send commands together, after `first`, and wait once; commit if `last`."""
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
        elif isinstance(command, Statement):
            cursor.execute(command.sql, command.parameters or None)
        return cursor


Connect = Callable[[], psycopg.Connection[Any]]
"""Gives the connection of an attempt, taken from the pool on first use."""


class _Attempts:
    """The attempts at one transaction, each on a connection of its own."""

    def __init__(self, connections: Connections, namespaces: Sequence[str]) -> None:
        self._connections, self._namespaces = connections, namespaces
        self._breakers = connections.database.breakers
        self._policy = RetryPolicy(self._breakers, namespaces)
        self._is_admitted = False
        self._pool: ConnectionPool[Any] | None = None

    @contextmanager
    def connection(self) -> Iterator[Connect]:
        """The connection of an attempt; the attempt succeeds if it ends without an error."""
        connections: list[psycopg.Connection[Any]] = []
        with ExitStack() as stack:

            def connect() -> psycopg.Connection[Any]:
                if not connections:
                    connections.append(stack.enter_context(self._admitted()))
                return connections[0]

            yield connect
        if connections:
            self._breakers.succeeded(self._namespaces)

    def _admitted(self) -> Any:
        """A connection of the pool, unless the server is known to be away."""
        connections, breakers = self._connections, self._breakers
        pool = self._pool = connections.pool()
        if not self._is_admitted and breakers.admit(self._namespaces):
            connections.renew(pool)
            breakers.server.succeeded()
            pool = self._pool = connections.pool()
        self._is_admitted = True
        return pool.connection(RETRY_WAIT_SECONDS if breakers.server.is_failing else None)

    def wait(self, problem: Exception) -> None:
        """Wait before the next attempt; raise the problem if another is of no use."""
        time.sleep(self._policy.pause_after(problem, self._pool))
        if self._policy.pool_is_broken and self._pool is not None:
            with suppress(psycopg.OperationalError):  # not yet
                self._connections.renew(self._pool)


def _rows(cursor: psycopg.Cursor[Any]) -> list[Any]:
    return cursor.fetchall() if cursor.description is not None else []
