"""Plans of the statements of both stores in PostgreSQL; tests/stores/sqlite has those of SQLite."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from unittest.mock import patch

import psycopg
import pytest

from salience import Memory
from salience.stores.postgres import PostgresStore
from salience.stores.postgres.wire.database import Database
from salience.stores.tables.commands import FRAGMENTS, Command, Many, Shared, Statement, worded
from support.query_plans import GROWING, use_tables
from support.shared_postgres import Databases

ALL_OF_A_NAMESPACE = (
    'SELECT id, "row", sequence, created_at',  # an event of all memories changes each
    "SELECT source, target, type, created_at, weight FROM links WHERE namespace = %s ORDER",
    'SELECT "row" FROM memories WHERE namespace = %s ORDER BY sequence',
    "SELECT event, name, vector FROM former_vectors",  # as the last two, a copy reads all
    "SELECT seq, actor, payload::text, memory, type",  # a user may be named anywhere in a log
    "SELECT count(*) FROM",  # how far a re-embedding is
)


class Heard(Database):
    """A database that keeps the shared statements that are sent to it."""

    statements: dict[Shared, Sequence[Any]] = {}  # noqa: RUF012  # with the parameters of each

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.on_command = self._hear

    def _hear(self, command: Command) -> None:
        if isinstance(command, Statement | Many) and isinstance(command.sql, Shared):
            rows = command.rows if isinstance(command, Many) else [command.parameters]
            self.statements.update((command.sql, row) for row in rows[:1])


def lookups(plan: dict[str, Any]) -> Iterator[tuple[str | None, str]]:
    """The scans of growing tables or their indexes, each with the condition that finds its rows."""
    kind, table = plan["Node Type"], plan.get("Relation Name")
    reads = kind in ("Seq Scan", "Index Scan", "Index Only Scan") and table in GROWING
    if reads or kind == "Bitmap Index Scan":
        yield plan.get("Index Name", table), plan.get("Index Cond", "")
    for inner in plan.get("Plans", ()):
        yield from lookups(inner)


def test_postgres_looks_up_the_rows_of_every_shared_statement(postgres: Databases) -> None:
    url = postgres.fresh("shared_plans")
    with patch("salience.stores.postgres.store.Database", Heard):
        use_tables(url)
    with Memory.open(PostgresStore(url), embedder=None) as memory:
        memory.add_many(f"Words {i}" for i in range(1_500))
    assert len(Heard.statements) > 45
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET search_path = salience, public")
        connection.execute("ANALYZE")
        for way in ("seqscan", "hashjoin", "mergejoin", "material"):  # what is best for a few rows
            connection.execute(f"SET enable_{way} = off".encode())
        cursor = psycopg.ClientCursor(connection)
        for sql, values in Heard.statements.items():
            [[plan]] = cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}", values or None).fetchone()  # type: ignore[misc]
            for name, condition in lookups(plan["Plan"]):
                is_of_rows = " AND " in condition or name in ("access_keys_pkey", "meta_pkey")
                assert is_of_rows or sql.startswith(ALL_OF_A_NAMESPACE), f"{name}: {sql}"


def test_a_template_names_what_both_stores_can_say() -> None:
    said = worded("SELECT $row FROM events $events_by_key WHERE $own AND $key $any_text $locked")
    assert said == (
        "SELECT \"row\" FROM events  WHERE namespace = %s AND payload ->> 'key' = ANY(%s::text[]) "
        "FOR UPDATE"
    )
    assert said.sqlite == (
        "SELECT row FROM events INDEXED BY events_by_key WHERE space = (SELECT space FROM spaces "
        "WHERE name = ?) AND json_extract(payload, '$.key') IN (SELECT value FROM json_each(?)) "
    )
    with pytest.raises(KeyError, match="events_by_kay"):
        worded("SELECT 1 FROM events $events_by_kay")
    for of_postgres, of_sqlite in FRAGMENTS.values():
        assert of_postgres.count("%s") == of_sqlite.count("?")
