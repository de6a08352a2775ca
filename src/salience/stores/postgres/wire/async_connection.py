"""`Database`, awaited: the same talks over connections of an event loop's own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary

import psycopg
from psycopg_pool import AsyncConnectionPool

from salience.errors import StoreClosed
from salience.stores.postgres.wire.commands import (
    Analyze,
    Command,
    Copy,
    Exchange,
    Many,
    Rollback,
    Statement,
    Steps,
    T,
    Trip,
)
from salience.stores.postgres.wire.connection import (
    MAX_CONNECTIONS,
    POOL_WAIT_SECONDS,
    Database,
    connection_settings,
)
from salience.stores.postgres.wire.errors import RetryPolicy, translate_errors
from salience.stores.postgres.wire.transactions import COMMIT, reading

Pool = AsyncConnectionPool[Any]
Connection = psycopg.AsyncConnection[Any]


class AsyncDatabase:
    """The same database; each event loop has a pool of its own, opened when first needed."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._pools: WeakKeyDictionary[asyncio.AbstractEventLoop, Pool] = WeakKeyDictionary()

    async def read(self, steps: Callable[[], Steps[T]], namespaces: Iterable[str] = ()) -> T:
        """See `Database.read`."""
        named = self._database.scope(namespaces)
        return await self._patiently(lambda: reading(steps(), named))

    async def write(self, steps: Callable[[], Steps[T]], namespaces: Iterable[str] = ()) -> T:
        """See `Database.write`; cancelled before it is committed, it is undone."""
        return await self._patiently(self._database.attempt(steps, namespaces).talk)

    async def close(self) -> None:
        """Close the connections of this event loop."""
        pool = self._pools.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            await pool.close()

    async def _pool(self) -> Pool:
        if not self._database.opened:
            raise StoreClosed("the store is closed; open it again with Memory.open(...)")
        loop = asyncio.get_running_loop()
        pool = self._pools.get(loop)
        if pool is None:
            pool = self._pools[loop] = AsyncConnectionPool(
                self._database.url,
                min_size=1,
                max_size=MAX_CONNECTIONS,
                kwargs=connection_settings(),
                configure=self._configure,
                open=False,
                timeout=POOL_WAIT_SECONDS,
            )
            await pool.open()
        return pool

    async def _configure(self, connection: Connection) -> None:
        self._database.configure(connection)

    async def _renew(self, failed: Pool) -> None:
        """See `Database._renew`."""
        probe = await psycopg.AsyncConnection.connect(self._database.url, connect_timeout=5)
        await probe.close()
        loop = asyncio.get_running_loop()
        if self._pools.get(loop) is failed:
            del self._pools[loop]
            await failed.close(timeout=0)

    async def _patiently(self, talk: Callable[[], Exchange[T]]) -> T:
        patience = RetryPolicy()
        with translate_errors(self._database.server):
            while True:
                pool = await self._pool()
                talking = talk()
                try:
                    first = next(talking)
                except StopIteration as end:  # it needs no server
                    return end.value
                try:
                    async with pool.connection() as connection:
                        return await self._talked(connection, talking, first)
                except RetryPolicy.PASSING as problem:
                    pause = patience.bear(problem, pool)
                await asyncio.sleep(pause)
                if patience.broken:
                    with suppress(psycopg.OperationalError):  # not yet
                        await self._renew(pool)

    async def _talked(self, connection: Connection, talk: Exchange[T], step: Trip | Rollback) -> T:
        while True:
            if isinstance(step, Rollback):
                await connection.rollback()
                results: list[Any] = []
            else:
                results = await self.trip(
                    connection, step.commands, first=step.first, last=step.last
                )
            try:
                step = talk.send(results)
            except StopIteration as end:
                return end.value

    async def trip(
        self,
        connection: Connection,
        commands: Sequence[Command],
        *,
        first: Sequence[Statement] = (),
        last: bool = False,
    ) -> list[Any]:
        """See `Database.trip`; when it is cancelled, the connection is given up."""
        if self._database.on_trip is not None:
            self._database.on_trip()
        every = [*first, *self._database.allowed(commands), *([COMMIT] if last else ())]
        try:
            if any(isinstance(command, Copy) for command in every):
                found = [await _rows(await self._send(connection, command)) for command in every]
            else:
                async with connection.pipeline():
                    cursors = [await self._send(connection, command) for command in every]
                found = [await _rows(cursor) for cursor in cursors]
            return found[len(first) : len(first) + len(commands)]
        except asyncio.CancelledError:
            await connection.close()
            raise
        except BaseException:
            if not connection.closed and not connection.broken:
                await connection.rollback()
            raise

    async def _send(self, connection: Connection, command: Command) -> psycopg.AsyncCursor[Any]:
        if self._database.on_command is not None:
            self._database.on_command(command)
        cursor = connection.cursor(binary=True)
        if isinstance(command, Copy):
            async with cursor.copy(command.sql) as copy:
                copy.set_types(command.types)
                for row in command.rows:
                    await copy.write_row(row)
        elif isinstance(command, Many):
            await cursor.executemany(command.sql, command.rows)
        elif isinstance(command, Analyze):
            if not self._database.distributed:
                await cursor.execute(command.sql.encode())
        else:
            await cursor.execute(command.sql, command.parameters or None)
        return cursor


async def _rows(cursor: psycopg.AsyncCursor[Any]) -> list[Any]:
    return await cursor.fetchall() if cursor.description is not None else []
