"""Another embedder on PostgreSQL: the index of the new vectors is built while others write."""

from __future__ import annotations

import threading
from typing import Any

import psycopg
import pytest

from salience import Memory
from salience.stores import build_indexes
from salience.stores.postgres import PostgresStore
from salience.testing import WordHashEmbedder
from support.waiting import HANG_SECONDS, until

OLD, NEW = WordHashEmbedder(), WordHashEmbedder(48)
QUERIES = [f"word{i} of topic{i % 11} said" for i in range(12)]
# A plain CREATE INDEX waits for whoever has written and not committed; all others wait for it.
WRITER = "BEGIN; LOCK TABLE salience.vectors IN ROW EXCLUSIVE MODE"


def indexes(connection: psycopg.Connection) -> list[str]:
    """The definitions of the valid indexes of vectors."""
    found = connection.execute(
        "SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indisvalid "
        "AND indexrelid::regclass::text LIKE '%vectors_near_%' ORDER BY 1"
    ).fetchall()
    return [definition for (definition,) in found]


def wait_until_built(connection: psycopg.Connection) -> None:
    """Wait until an index is built up to the point at which it waits for the writer."""
    waiting = (
        "SELECT 1 FROM pg_stat_progress_create_index WHERE phase LIKE 'waiting for%' "
        "AND datname = current_database()"
    )
    until(lambda: connection.execute(waiting).fetchone())


def test_the_index_of_new_vectors_is_built_while_others_write(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SALIENCE_POSTGRES_MEMORY_MB", "0")
    with (
        psycopg.connect(database, autocommit=True) as watching,
        Memory.open(database, embedder=OLD) as memory,
    ):
        memory.add_many(
            {"id": f"m{i}", "content": f"word{i % 37} of topic{i % 11} said number{i}"}
            for i in range(300)
        )
        assert build_indexes(database) == 2
        [old_index] = indexes(watching)
        Memory.upkeep.reembedding(database, NEW, step="fill")
        with psycopg.connect(database, autocommit=True) as writer:
            writer.execute(WRITER)
            cut_over = threading.Thread(
                target=lambda: Memory.upkeep.reembedding(database, NEW, step="cut_over")
            )
            cut_over.start()
            wait_until_built(watching)
            memory.add("word1 of topic1 said meanwhile", id="meanwhile")
            during = memory.search("word1 of topic1 said meanwhile", touch=False)
            assert during.ids[0] == "meanwhile"
            assert [lack.partition(":")[0] for lack in during.degraded] == ["exactness"]
            assert cut_over.is_alive()
            writer.execute("COMMIT")
            cut_over.join(HANG_SECONDS)
        assert not cut_over.is_alive()
        both = "".join(indexes(watching))
        assert "halfvec(32)" in both
        assert "halfvec(48)" in both
        said: list[Any] = []
        store = PostgresStore(database, memory=0)
        with Memory.open(store, embedder=NEW) as again:
            again.search(QUERIES[0], touch=False)  # learns that there is an index
            store.database.on_command = said.append
            found = [again.search(text, touch=False, now=2e9).ids for text in QUERIES]
            late = again.search("word1 of topic1 said meanwhile", touch=False)
        store.close()
        assert any("halfvec(48) <#>" in getattr(command, "sql", "") for command in said)
        with Memory.open(PostgresStore(database, memory=1 << 30), embedder=NEW) as held:
            exact = [held.search(text, touch=False, now=2e9).ids for text in QUERIES]
        shared = [len({*a} & {*b}) / len(b) for a, b in zip(found, exact, strict=True)]
        assert sum(shared) / len(shared) >= 0.95
        assert late.ids[0] == "meanwhile"
        Memory.upkeep.reembedding(database, step="finish")
        [left] = indexes(watching)
        assert "halfvec(48)" in left
        assert left != old_index
        name = left.split()[2]
        watching.execute(f"DROP INDEX salience.{name}".encode())
