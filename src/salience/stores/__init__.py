"""Stores: where memories live. `open_store` opens the one that a URL names."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from os import PathLike

from salience.errors import InvalidInput, StoreError, shown
from salience.extensions import load_entry_point
from salience.records.validation import file_path
from salience.retrieval.safety import NO_FILE, Backup
from salience.stores.address import SQLITE, Address, remote_scheme, store_url, unknown_store
from salience.stores.embedded import EmbeddedStore
from salience.stores.index_reader import index_bytes
from salience.stores.migrations import migrations
from salience.stores.protocol import Store

__all__ = [
    "EmbeddedStore",
    "Store",
    "StoreOpener",
    "build_indexes",
    "migrate",
    "open_store",
    "register_store",
    "restore_backup",
]

StoreOpener = Callable[[str], Store]
"""Called with a whole URL, for example "mystore://host/name"."""


def open_store(address: Address | None = None) -> Store:
    """The store of a path or a URL: `agent.db`, `sqlite:///agent.db`, `postgresql://...`, `ram://`.

    None is the address in SALIENCE_DB, else memory.db. `sqlite:///agent.db` is relative to the
    working directory, `sqlite:////var/agent.db` is not; `?mode=ro` opens it for reading only. A
    PostgreSQL address is one as libpq takes it. The schemes of `register_store` and of entry points
    in the group `salience.stores` work as well.

    Raises:
        InvalidInput: the address is of no known form.
        StoreError: the store cannot be opened.
    """
    url = store_url(address)
    if remote_scheme(url):
        remedy = "this needs the store itself: name that, on the machine where it is"
        raise InvalidInput("url", "is the address of a server, not of a store", remedy)
    scheme = _scheme(url)
    opener = _BUILT_IN.get(scheme) or _registered.get(scheme) or _from_entry_point(scheme)
    if opener is None:
        raise unknown_store(url, sorted(_registered))
    return opener(url)


def register_store(scheme: str, opener: StoreOpener) -> None:
    """Let URLs that begin with "<scheme>://" open another store from now on, in this process.

    An installed package gets the same by an entry point in the group `salience.stores`, whose name
    is the scheme and whose object is the opener.

    Args:
        scheme: as in "mystore"; none of those of salience itself. It can be registered again.
        opener: a class or function that is called with the URL and returns a `Store`.

    Raises:
        InvalidInput: the scheme cannot be used, or the opener cannot be called.
    """
    if not isinstance(scheme, str) or not scheme or ":" in scheme:
        raise InvalidInput("scheme", f"{shown(scheme)} cannot begin a URL", "use text without ':'")
    if scheme in _BUILT_IN:
        raise InvalidInput("scheme", f"{shown(scheme)} is a built-in store", "choose another name")
    if not callable(opener):
        raise InvalidInput("opener", "cannot be called", "give a class or a function")
    _registered[scheme] = opener


def migrate(url: Address, row_security: bool | None = None, citus: bool = False) -> tuple[int, int]:
    """Bring the schema of the store of a URL up to date; return its versions before and after.

    A SQLite file is brought up to date whenever it is opened. `row_security` switches PostgreSQL's
    row-level security on namespaces on or off; None leaves it. `citus` spreads the tables over the
    workers of a Citus cluster, by namespace, and has to be given only once.

    Raises:
        InvalidInput: the URL is of no known form, or has no row-level security.
        StoreError: the store cannot be used.
    """
    url = store_url(url)
    if _is_postgres(url):
        _require_postgres()
        from salience.stores.postgres import schema
        from salience.stores.postgres.wire.database import Database

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
    version = len(migrations("sqlite"))
    return version, version


def restore_backup(
    backup: str | PathLike[str],
    url: Address | None = None,
    *,
    overwrite: bool = False,
    with_erased: bool | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Backup:
    """Put a copy of a backup in the place of a SQLite store, checked before it appears there.

    What was erased from that store since is erased from the copy, unless it is `with_erased`.

    Raises:
        InvalidInput: the store is none in a file, or is there and not to be overwritten.
        StoreError: the backup is damaged, or somebody has the store open.
    """
    address = store_url(url)
    path, _, options = address.removeprefix(SQLITE).partition("?")
    if not address.startswith(SQLITE) or options or path == ":memory:":
        remedy = NO_FILE if _is_postgres(address) else "name a file, as sqlite:///memory.db"
        raise InvalidInput("url", "is no file to restore", remedy)
    from salience.stores.restore import restore_file

    return restore_file(
        file_path("backup", backup),
        file_path("url", path),
        overwrite=overwrite,
        with_erased=with_erased,
        progress=progress,
    )


def build_indexes(url: Address, progress: Callable[[int, int], None] | None = None) -> int:
    """Build the indexes that large namespaces of a PostgreSQL store lack; return their number.

    They are those that this process could not hold. Their statistics are rebuilt.

    Raises:
        InvalidInput: the store needs none.
        StoreError: the store cannot be used, or the role may not build them.
    """
    url = store_url(url)
    if not _is_postgres(url):
        raise InvalidInput("url", "is of a store that keeps its indexes by itself")
    _require_postgres()
    from salience.stores.postgres import PostgresStore
    from salience.stores.postgres.large import indexes
    from salience.stores.postgres.replica.manager import memory_limit, most_memories

    store = PostgresStore(url)
    try:
        least = most_memories(memory_limit()) + 1
        return indexes.build_indexes(store.connections, least, progress)
    finally:
        store.close()


def _scheme(url: str) -> str:
    scheme, separator, _ = url.partition("://")
    return scheme if separator else ""


def _is_postgres(url: str) -> bool:
    return _BUILT_IN.get(_scheme(url)) is _open_postgres


def _open_ram(url: str) -> Store:
    if url != "ram://":
        raise unknown_store(url)
    return _open_sqlite(f"{SQLITE}:memory:")


def _open_sqlite(url: str) -> Store:
    from salience.stores.sqlite.records import SqliteRecords

    path, _, options = url.removeprefix(SQLITE).partition("?")
    if not url.startswith(SQLITE) or not path:
        raise unknown_store(url)
    if options not in ("", "mode=ro"):
        raise InvalidInput("url", f"has the option {options!r}", "mode=ro is the only one")
    index_bytes()  # refused before there is a file
    return EmbeddedStore(SqliteRecords(path, read_only=options == "mode=ro"))


def _open_postgres(url: str) -> Store:
    _require_postgres()
    from salience.stores.postgres import PostgresStore

    index_bytes()
    return PostgresStore(url)


def _require_postgres() -> None:
    if find_spec("psycopg") is None or find_spec("psycopg_pool") is None:
        raise StoreError('PostgreSQL needs the extra `postgres`: pip install "salience[postgres]"')


def _from_entry_point(scheme: str) -> StoreOpener | None:
    try:
        opener: StoreOpener | None = load_entry_point("stores", scheme) if scheme else None
    except InvalidInput as problem:
        raise StoreError(str(problem)) from problem
    if opener is not None:
        register_store(scheme, opener)
    return opener


_BUILT_IN: dict[str, StoreOpener] = {
    "ram": _open_ram,
    "sqlite": _open_sqlite,
    "postgresql": _open_postgres,
    "postgres": _open_postgres,
}
_registered: dict[str, StoreOpener] = {}
