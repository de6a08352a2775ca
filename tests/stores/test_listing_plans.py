"""Plans of listings: a page is read off an index, without a sort or a scan of the namespace."""

import sqlite3
from pathlib import Path

import psycopg
import pytest

from salience import Memory
from salience.records.filters import parse_filter
from salience.retrieval.operations import ListRecords, Order, Place
from salience.stores.embedded import EmbeddedStore
from salience.stores.postgres import PostgresStore
from salience.stores.postgres.reads import select_page
from salience.stores.sqlite.statements import page_clause
from support.shared_postgres import Databases

ORDERS: list[Order] = ["newest", "oldest"]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("after", [None, Place(1.0, 2)], ids=["first", "later"])
def test_sqlite_reads_a_page_off_its_index(
    tmp_path: Path, order: Order, after: Place | None
) -> None:
    path = tmp_path / "memory.db"
    Memory.open(f"sqlite:///{path}", embedder=None).close()
    db = sqlite3.connect(path)
    clause, values = page_clause(order, after, 20)
    select = f"SELECT content FROM memories WHERE space = ? {clause}"
    plan = db.execute(f"EXPLAIN QUERY PLAN {select}", (1, *values)).fetchall()
    db.close()
    [step] = [detail for *_, detail in plan]
    beyond = ">" if order == "oldest" else "<"
    bound = f"(space=? AND (created_at,sequence){beyond}(?,?))"
    assert step == f"SEARCH memories USING INDEX memories_by_time {bound}"


def test_memories_are_not_counted_in_the_file_once_their_index_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory.open(path, embedder=None) as memory, Memory.open(path, embedder=None) as other:
        memory.add_many([{"content": f"Words {i}", "id": f"m{i}"} for i in range(30)], dedup=False)
        assert memory.count() == 30
        memory.search("words", touch=False)
        statements: list[str] = []
        store = memory._core.dispatcher.store
        assert isinstance(store, EmbeddedStore)
        store._records._reader.set_trace_callback(statements.append)
        for step, count in (
            (lambda: other.add("More words."), 31),
            (lambda: other.delete("m3"), 30),
            (lambda: memory.update("m4", content="Other words."), 30),
            (lambda: memory.add("The last words."), 31),
        ):
            step()
            assert memory.count() == count
            assert memory.stats()["memories"] == count
            assert memory.get_all(limit=2).total == count
        assert not [each for each in statements if "count(*) FROM memories" in each]
        assert memory.for_namespace("none").count() == 0
        assert other.for_namespace("default").count() == 31
        assert other.stats(everywhere=True)["namespaces"] == {"default": 31}


@pytest.fixture(scope="module")
def full(postgres: Databases) -> str:
    """The address of a database with two large namespaces, of which statistics were made."""
    url = postgres.fresh("plans")
    with Memory.open(PostgresStore(url), embedder=None) as memory:
        for name in ("default", "other"):
            memory.for_namespace(name).add_many(f"Words {i}" for i in range(1_500))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ANALYZE salience.memories")
    return url


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("filtered", [False, True])
@pytest.mark.parametrize("after", [None, Place(1.78e9, 700)], ids=["first", "later"])
def test_postgres_reads_a_page_off_its_index(
    full: str, order: Order, after: Place | None, filtered: bool
) -> None:
    where = parse_filter({"kind": "note"}) if filtered else None
    statement = select_page(ListRecords("default", where, 20, order, after))
    with psycopg.connect(full, autocommit=True) as connection:
        connection.execute("SET search_path = salience")
        explain = f"EXPLAIN (FORMAT JSON) {statement.sql}"
        row = connection.execute(explain.encode(), statement.parameters).fetchone()
    assert row is not None
    limit = row[0][0]["Plan"]
    [scan] = limit["Plans"]
    assert (limit["Node Type"], scan["Node Type"]) == ("Limit", "Index Scan")
    assert scan["Index Name"] == "memories_by_time"
    if after is not None:
        assert "ROW(created_at, sequence)" in scan["Index Cond"]
