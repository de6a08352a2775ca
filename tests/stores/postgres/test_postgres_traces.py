"""What a PostgreSQL server keeps of what was erased: samples of columns, files, hashes of words."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import psycopg
import pytest

from salience import Memory
from salience.errors import StoreError
from salience.stores import migrate
from salience.stores.migrations import migrations
from salience.stores.postgres.write import erase
from salience.stores.postgres.write.dialect import DELETED
from salience.testing import WordHashEmbedder
from support.shared_postgres import Databases
from support.traces import check_erasures

MARKER = "qwrtzpsdfg"
WRITTEN = ("id", "content", "title", "gist", "tags", "entities", "metadata")


@pytest.fixture
def own(postgres: Databases) -> str:
    """The address of a database whose files nobody else has written."""
    return postgres.fresh("traces")


def opened(url: str, **settings: Any) -> Memory:
    return Memory.open(url, embedder=WordHashEmbedder(), **settings)


def fill(memory: Memory, mark: str, count: int = 40) -> None:
    """Add memories with a mark in everything that can have one."""
    memory.add_many(
        {
            "id": f"{mark}id{i}",
            "content": f"{mark}content{i} is told.",
            "title": f"{mark}title{i}",
            "gist": f"{mark}gist{i}",
            "tags": [f"{mark}tag{i % 3}"],
            "entities": [f"{mark}entity{i % 3}"],
            "metadata": {f"{mark}key": i},
            "user_id": f"{mark}user",
            "speaker": f"{mark}speaker",
            "session_id": f"{mark}session{i % 4}",
            "idempotency_key": f"{mark}once{i}",
        }
        for i in range(count)
    )
    memory.link(f"{mark}id1", f"{mark}id2", "supports")
    memory.update(f"{mark}id3", content=f"{mark}content3 is told again.")
    memory.upkeep.maintain()


def samples(url: str) -> dict[tuple[str, str], str]:
    """The samples of values that the planner keeps, by table or index and column."""
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "SELECT tablename, attname, concat(most_common_vals, histogram_bounds, "
            "most_common_elems) FROM pg_stats WHERE schemaname = 'salience'"
        ).fetchall()
    return {(table, column): values for table, column, values in rows}


def analyze(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ANALYZE")


def files(url: str) -> Path:
    """The folder of a database, after all was written to it."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CHECKPOINT")
        [folder, oid] = connection.execute(  # type: ignore[misc]
            "SELECT current_setting('data_directory'), oid FROM pg_database "
            "WHERE datname = current_database()"
        ).fetchone()
    return Path(folder, "base", str(oid))


def test_the_planner_samples_no_text(own: str) -> None:
    with opened(own) as memory:
        fill(memory, MARKER)
        analyze(own)
        told = {place for place, values in samples(own).items() if MARKER in values}
        assert ("memories", "user_id") in told
        assert not {column for _, column in told} & {*WRITTEN, "expr"}
        assert {table for table, _ in told} <= {"memories"}


def test_samples_of_an_older_store_go_with_its_migration(
    own: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = "SELECT relname, attname, atttypid, attcollation, attstorage, attnotnull "
    kept += "FROM pg_attribute JOIN pg_class c ON c.oid = attrelid WHERE attnum > 0 AND "
    kept += "c.relnamespace = 'salience'::regnamespace AND c.relkind = 'r' ORDER BY 1, 2"
    steps = migrations("postgres")
    [own_step] = [step for step in steps if "SET STATISTICS" in step]
    others = tuple(step for step in steps if step != own_step)
    module = "salience.stores.postgres.schema.migrations"
    with monkeypatch.context() as patch:
        patch.setattr(module, lambda store: (*others, "SELECT 1"))  # its column is of this schema
        with opened(own) as memory:
            fill(memory, MARKER)
    with psycopg.connect(own) as connection:
        connection.execute(
            "UPDATE salience.meta SET value = %s WHERE key = 'schema'", (str(len(others)),)
        )
    analyze(own)
    assert MARKER in samples(own)["memories", "content"]
    assert MARKER in samples(own)["events_by_key", "expr"]
    with psycopg.connect(own) as connection:
        before = connection.execute(kept).fetchall()
    monkeypatch.setattr(module, lambda store: (*others, own_step))
    assert migrate(own) == (len(others), len(steps))
    with psycopg.connect(own) as connection:
        assert connection.execute(kept).fetchall() == before
    assert not {("memories", "content"), ("events_by_key", "expr")} & samples(own).keys()
    with opened(own) as memory:
        assert memory.upkeep.doctor().findings == ()


@pytest.mark.parametrize("everything", [False, True])
def test_no_sample_names_whom_was_forgotten(own: str, everything: bool) -> None:
    with opened(own, namespace=f"{MARKER}space") as memory:
        fill(memory, MARKER)
        if not everything:
            fill(memory, "kept")
        analyze(own)
        assert any(MARKER in values for values in samples(own).values())
        receipt = memory.delete_user(f"{MARKER}user")
        assert receipt.disk.startswith(DELETED)
        assert erase.SAMPLED not in receipt.disk
        names = MARKER if everything else f"{MARKER}user"
        assert not any(names in values for values in samples(own).values())


def test_samples_of_an_empty_table_on_an_older_server_are_told_of(
    own: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("salience.stores.postgres.write.erase._CLEARS_SAMPLES", 10**9)
    with opened(own, namespace=f"{MARKER}space") as memory:
        fill(memory, MARKER)
        analyze(own)
        assert memory.delete_user(f"{MARKER}user").disk == DELETED + erase.SAMPLED
        assert any(MARKER in values for values in samples(own).values())


def test_samples_that_nobody_may_take_are_told_of(own: str, postgres: Databases) -> None:
    migrate(own)
    with psycopg.connect(own, autocommit=True) as connection:
        connection.execute("CREATE ROLE guest LOGIN")
        connection.execute("GRANT USAGE ON SCHEMA salience TO guest")
        connection.execute("GRANT ALL ON ALL TABLES IN SCHEMA salience TO guest")
        connection.execute("REVOKE MAINTAIN ON ALL TABLES IN SCHEMA salience FROM guest")
    with opened(postgres.address("traces", "guest")) as memory:
        fill(memory, MARKER)
        assert memory.delete_user(f"{MARKER}user").disk == DELETED + erase.SAMPLED
        assert memory.delete_user(f"{MARKER}user").disk == "Nothing was there to be erased."
        memory.add("A cello.", id="kept")
        with pytest.raises(StoreError, match=r"deleted, but not rewritten: the owner of .*mem"):
            memory.delete_all({"id": "kept"}, rewrite=True)
        assert memory.count() == 0


@pytest.mark.deep
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.deep)])
def test_tables_that_are_written_anew_have_no_trace(own: str, seed: int) -> None:
    with opened(own) as memory:
        check_erasures(memory, seed, lambda: files(own))
        assert memory.upkeep.doctor().findings == ()


def test_a_table_that_a_transaction_holds_is_named(
    own: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("salience.stores.postgres.rewrite._WAIT_SECONDS", 1)
    with opened(own) as memory, psycopg.connect(own) as other:
        memory.add("A cello.", id="a")
        other.execute("SELECT FROM salience.memories")
        with pytest.raises(StoreError, match=r"deleted, but not rewritten.*lock.*end it, then"):
            memory.delete_all({"id": "a"}, rewrite=True)
        other.rollback()
        assert memory.delete_all({"id": "a"}, rewrite=True).rewritten


def test_rows_that_an_open_snapshot_still_sees_are_waited_for(
    own: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(own) as memory, psycopg.connect(own) as reader:
        memory.add("A cello.", id="kept")
        memory.add(f"{MARKER} is told.", id="gone")
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        reader.execute("SELECT 1")
        end = threading.Timer(1.0, reader.rollback)
        end.start()
        memory.delete_all({"id": "gone"}, rewrite=True)
        end.join()
        assert not any(MARKER.encode() in path.read_bytes() for path in files(own).iterdir())
        memory.add(f"{MARKER} is told.", id="gone")
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        reader.execute("SELECT 1")
        monkeypatch.setattr("salience.stores.postgres.rewrite._WAIT_SECONDS", 5)
        with pytest.raises(StoreError, match=r"still read by a transaction.*end it, then erase"):
            memory.delete_all({"id": "gone"}, rewrite=True)
        assert memory.count() == 1
