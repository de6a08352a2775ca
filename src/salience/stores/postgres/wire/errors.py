"""Errors between a process and a server: the retry policy, and the remedy of each error."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import errors
from psycopg_pool import PoolClosed, PoolTimeout

from salience.errors import DiskFull, NotWritable, StoreClosed, StoreError
from salience.stores.postgres.wire.breaker import Breakers

_log = logging.getLogger(__name__)
# Without a handler Python prints the driver's warnings, one a call while a server is away.
logging.getLogger("psycopg").addHandler(logging.NullHandler())
_RETRY_SECONDS = 30.0  # seconds in which a server that went away may come back
_FIRST_PAUSE_SECONDS, _MAX_PAUSE_SECONDS = 0.05, 2.0
_RETRIED_ERRORS = (errors.DeadlockDetected, errors.SerializationFailure)
_WORKER_ERRORS = (errors.ConnectionException, errors.ConnectionFailure)
_WORKER_REMEDY = (
    "a machine of the cluster cannot be reached, and what lies on it waits until it can"
)
_REMEDIES: tuple[tuple[type[psycopg.Error], str], ...] = (
    *((kind, _WORKER_REMEDY) for kind in _WORKER_ERRORS),
    (errors.InvalidPassword, "check the user and the password of the address"),
    (errors.InvalidAuthorizationSpecification, "check the user and the password of the address"),
    (errors.InvalidCatalogName, "make the database first: createdb"),
    (errors.UndefinedTable, "make the tables: salience migrate"),
    (
        errors.UndefinedColumn,
        "another salience may have brought the tables to its schema: upgrade salience, and start "
        "whatever runs the older one again",
    ),
    (errors.InvalidSchemaName, "make the tables: salience migrate"),
    (errors.InsufficientPrivilege, "grant the role what is missing, or connect as the owner"),
    (errors.DiskFull, "free some room on the server, then try again; nothing was written"),
    (errors.TooManyConnections, "close some, raise max_connections, or put a pooler before it"),
    (
        errors.ReadOnlySqlTransaction,
        "this is a replica, or set to be read only; connect to the primary to write",
    ),
    (errors.QueryCanceled, "it took longer than statement_timeout allows"),
    (errors.LockNotAvailable, "a transaction holds the table; end it, then try again"),
    (errors.FeatureNotSupported, "PostgreSQL 16 or newer with pgvector 0.8 is needed"),
    (errors.UndefinedFile, "install pgvector, pg_trgm and btree_gin on the server"),
)


@contextmanager
def translate_errors(server: str) -> Iterator[None]:
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
        message = f"{server}: {text}" + (f"; {remedy}" if remedy else "")
        if isinstance(problem, errors.DiskFull):
            raise DiskFull(message) from problem
        if isinstance(problem, errors.ReadOnlySqlTransaction):
            raise NotWritable(message, "its database can only be read") from problem
        raise StoreError(message) from problem


class RetryPolicy:
    """The retries after an error of a call on some namespaces, with growing pauses.

    Transactions that conflicted, or found no free connection, are retried for half a minute; those
    whose server went away, as long as its breaker says.
    """

    PASSING = (PoolClosed, *_RETRIED_ERRORS, psycopg.OperationalError, psycopg.InterfaceError)
    """The errors that may pass."""

    def __init__(self, breakers: Breakers, namespaces: Sequence[str]) -> None:
        self._breakers, self._namespaces = breakers, namespaces
        self._pause, self._until = _FIRST_PAUSE_SECONDS, time.monotonic() + _RETRY_SECONDS
        self.pool_is_broken = False

    def pause_after(self, problem: Exception, pool: Any) -> float:
        """The seconds to wait before a retry; raises the problem if a retry is of no use.

        Afterwards `pool_is_broken` tells whether new connections are needed.
        """
        self.pool_is_broken = False
        if not isinstance(problem, PoolClosed):  # else another thread has renewed it
            if isinstance(problem, errors.QueryCanceled | errors.DiskFull):
                raise problem
            # A server that reports the error itself means another machine of its cluster.
            of_worker = isinstance(problem, _WORKER_ERRORS)
            self.pool_is_broken = not of_worker and not isinstance(problem, _RETRIED_ERRORS)
            if isinstance(problem, PoolTimeout):  # all busy, or none could be made
                self.pool_is_broken = bool(pool.get_stats().get("connections_errors"))
            if self.pool_is_broken or of_worker:
                text = str(problem).strip()
                left = self._breakers.failed(text, self._namespaces, of_worker=of_worker)
            else:
                left = self._until - time.monotonic() - self._pause
            if left <= 0.0:
                raise problem
            self._pause = min(self._pause, left)
        pause = self._pause * random.uniform(0.5, 1.0)
        level = logging.WARNING if self.pool_is_broken else logging.INFO
        _log.log(level, "PostgreSQL: %s; trying again in %.2f s", type(problem).__name__, pause)
        self._pause = min(2 * self._pause, _MAX_PAUSE_SECONDS)
        return pause
