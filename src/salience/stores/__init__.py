"""Stores: where memories live. `open_store` picks one by its URL."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

from salience.errors import InvalidInput, StoreError
from salience.stores.embedded import EmbeddedStore
from salience.stores.migrations import migrations
from salience.stores.protocol import Store

__all__ = ["EmbeddedStore", "Store", "index", "migrate", "open_store"]
_POSTGRES = ("postgresql://", "postgres://")


def migrate(url: str, row_security: bool | None = None, citus: bool = False) -> tuple[int, int]:
    """Bring the schema of the store of a URL up to date; its versions before and after.

    A SQLite file is brought up to date whenever it is opened. `row_security` switches PostgreSQL's
    row-level security on namespaces on or off; None leaves it. `citus` spreads the tables over the
    workers of a Citus cluster, by namespace, and has to be said only once.

    Raises:
        InvalidInput: the URL is of no known form, or has no row-level security.
        StoreError: the store cannot be used.
    """
    if isinstance(url, str) and url.startswith(_POSTGRES):
        _require_postgres()
        from salience.stores.postgres import schema
        from salience.stores.postgres.wire.connection import Database

        database = Database(url)
        versions = schema.migrate(database, citus)
        if row_security is not None:
            schema.set_row_security(database, row_security)
        return versions
    if row_security is not None:
        raise InvalidInput("row_security", "is of PostgreSQL alone", "leave it out")
    if citus:
        raise InvalidInput("citus", "is of PostgreSQL alone", "leave it out")
    open_store(url).close()
    known = len(migrations("sqlite"))
    return known, known


def index(url: str, progress: Callable[[int, int], None] | None = None) -> int:
    """Build the indexes of vectors that the namespaces of a PostgreSQL store lack; how many.

    Raises:
        InvalidInput: the store needs none.
        StoreError: the store cannot be used, or the role may not build them.
    """
    if not isinstance(url, str) or not url.startswith(_POSTGRES):
        raise InvalidInput("url", "is of a store that keeps its indexes by itself")
    _require_postgres()
    from salience.stores.postgres import PostgresStore, schema

    store = PostgresStore(url)
    try:
        return schema.build_vector_indexes(store.database, progress)
    finally:
        store.close()


def _require_postgres() -> None:
    if find_spec("psycopg") is None or find_spec("psycopg_pool") is None:
        raise StoreError('PostgreSQL needs the extra `postgres`: pip install "salience[postgres]"')


def open_store(url: str) -> Store:
    """The store of a URL: `sqlite:///path.db`, `sqlite:///:memory:`, `postgresql://...`, `ram://`.

    `sqlite:///memory.db` is relative to the working directory, `sqlite:////var/memory.db` is not;
    `?mode=ro` opens it for reading only. A PostgreSQL address is one as libpq takes it.

    Raises:
        InvalidInput: the URL is of no known form.
        StoreError: the file cannot be used.
    """
    if not isinstance(url, str):
        raise InvalidInput("url", f"must be text, not {type(url).__name__}")
    if url == "ram://":
        from salience.stores.ram import RamRecords

        return EmbeddedStore(RamRecords())
    if url.startswith("sqlite:///"):
        from salience.stores.sqlite.records import SqliteRecords

        path, _, options = url.removeprefix("sqlite:///").partition("?")
        if not path:
            raise InvalidInput("url", "names no file", "write sqlite:///memory.db")
        if options not in ("", "mode=ro"):
            raise InvalidInput("url", f"has the option {options!r}", "mode=ro is the only one")
        return EmbeddedStore(SqliteRecords(path, read_only=options == "mode=ro"))
    if url.startswith(_POSTGRES):
        _require_postgres()
        from salience.stores.postgres import PostgresStore

        return PostgresStore(url)
    raise InvalidInput(
        "url",
        f"{url!r} names no store",
        "write sqlite:///memory.db, sqlite:///:memory:, postgresql://user@host/database or ram://",
    )
