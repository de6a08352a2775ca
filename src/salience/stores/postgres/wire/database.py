"""A PostgreSQL database at an address, and how every connection to it is made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import psycopg
from psycopg.abc import AdaptContext
from psycopg.types import TypeInfo

from salience.errors import InvalidInput, StoreError
from salience.lazily import regex
from salience.records.tombstones import name_hash
from salience.retrieval.vector_sets import VectorSets
from salience.stores.postgres.wire.breaker import Breakers
from salience.stores.postgres.wire.errors import translate_errors
from salience.stores.postgres.wire.types import register_types, vector_type
from salience.stores.tables.commands import Command, CommandHook, Copy, Statement, set_local

_SCHEMA = "salience"
_OPTIONS = (
    f"-c search_path={_SCHEMA},public -c jit=off -c client_encoding=UTF8 "
    "-c plan_cache_mode=force_custom_plan "  # a generic plan would fit no namespace
    "-c default_statistics_target=30 "  # a small sample shows what plans depend on
    "-c citus.propagate_set_commands=local"  # settings reach the workers of a cluster
)
CONNECTION_SETTINGS: dict[str, Any] = {
    "autocommit": True,
    "options": _OPTIONS,
    "application_name": "salience",
}


_LONE_PERCENT = regex("%(?![0-9A-Fa-f]{2})")


def namespace_scope(namespaces: Sequence[str]) -> tuple[Statement, ...]:
    """Name the namespaces of a transaction to row-level security, and those of their tombstones."""
    of_tombstones = map(name_hash, namespaces)
    names = [
        name.replace("\\", "\\\\").replace('"', '\\"') for name in (*namespaces, *of_tombstones)
    ]
    listed = ",".join(f'"{name}"' for name in names)
    return (set_local("salience.namespaces", f"{{{listed}}}"),)


class Database:
    """The database of an address; `on_command` hears every statement, `on_trip` every round trip.

    `name` is that of the database. `row_security` is True if this role sees only rows of namespaces
    that a transaction names, `distributed` if the tables are spread over a cluster. `sets` are the
    sets of vectors at the time of opening.
    """

    def __init__(self, url: str) -> None:
        if _LONE_PERCENT.search(url):  # the driver's own error would print it with what follows
            raise InvalidInput(
                "url", "has a % without two hexadecimal digits after it", "write %25 for a % itself"
            )
        with translate_errors("url"):
            parts = psycopg.conninfo.conninfo_to_dict(url)
        self.name = str(parts.get("dbname") or parts.get("user") or "salience")  # as libpq does
        self.server = f"{parts.get('host', 'localhost')}/{parts.get('dbname', '')}"
        self.url = url
        self.breakers = Breakers(self.server)
        self.on_command: CommandHook | None = None
        self.on_trip: Callable[[], None] | None = None
        self.row_security = False
        self.distributed = False
        self.sets = VectorSets()
        self.is_open = False
        self._vector: TypeInfo | None = None

    def connect(self) -> psycopg.Connection[Any]:
        """A connection of its own, outside any pool."""
        with translate_errors(self.server):
            return psycopg.connect(self.url, **CONNECTION_SETTINGS)

    def open(self, connection: psycopg.Connection[Any]) -> None:
        """Allow making pools; the schema must exist.

        Raises:
            StoreError: the database does not have pgvector.
        """
        self._vector = vector_type(connection)
        if self._vector is None:
            raise StoreError(f"{self.server}: has no pgvector; CREATE EXTENSION vector")
        self.is_open = True

    def configure(self, connection: AdaptContext) -> None:
        """Register the types of NumPy and pgvector with a connection."""
        assert self._vector is not None
        register_types(connection, self._vector)

    def scope(self, namespaces: Iterable[str]) -> tuple[Statement, ...]:
        """Name the namespaces of a transaction to row-level security, if it is on."""
        return namespace_scope(tuple(namespaces)) if self.row_security else ()

    def permitted(self, commands: Sequence[Command]) -> Sequence[Command]:
        """The commands as this role may send them."""
        if not self.row_security:
            return commands
        return [each.inserted() if isinstance(each, Copy) else each for each in commands]
