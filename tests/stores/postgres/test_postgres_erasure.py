"""Erasing from PostgreSQL: what a row may still say afterwards, and what other processes know."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from salience import Memory
from salience.errors import StoreError
from salience.stores.postgres import PostgresStore
from salience.stores.postgres.write.dialect import DELETED
from salience.testing import WordHashEmbedder

NAME = "qwrtzpsdfg"

ERASING: dict[str, Callable[[Memory], object]] = {
    "namespace": lambda memory: memory.delete_all(namespace=memory.namespace),
    "filter": lambda memory: memory.delete_all({"tags": "t"}),
    "id": lambda memory: memory.delete("m0"),
}


def opened(url: str, *, kept: bool = False, **settings: Any) -> Memory:
    """A memory of the store, whose namespaces are searched in this process if they are kept."""
    store = PostgresStore(url, memory=1 << 30 if kept else 0)
    return Memory.open(store, embedder=WordHashEmbedder(), **settings)


def tables_naming(url: str, text: str) -> set[str]:
    """The tables of which a row has a text, whatever the column."""
    with psycopg.connect(url) as connection:
        names = connection.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'salience'"
        ).fetchall()
        return {
            name
            for (name,) in names
            if connection.execute(
                f"SELECT 1 FROM salience.{name} AS t WHERE t::text LIKE %s LIMIT 1".encode(),
                (f"%{text}%",),
            ).fetchone()
        }


@pytest.mark.parametrize("by", ["namespace", "filter", "id"])
def test_a_namespace_goes_with_its_name(database: str, by: str) -> None:
    with opened(database, namespace=NAME) as memory, opened(database, namespace=NAME) as other:
        memory.upkeep.maintain()
        memory.add("Ana plays the cello.", id="a", speaker="Ana", session_id="s")
        memory.add("Ben plays the viola.", id="b", user_id="ben", idempotency_key="once")
        memory.link("a", "b")
        memory.upkeep.consolidate(apply=True)
        memory.upkeep.decay()
        other.search("cello")  # a use that waits to be written
        assert tables_naming(database, NAME) >= {"memories", "spaces", "clocks", "notes"}
        if by == "namespace":
            memory.delete_all(namespace=NAME)
        elif by == "filter":
            memory.delete_all({"id": {"exists": True}})
        else:
            memory.delete_many(["a", "b"])
        other.upkeep.flush()
        assert tables_naming(database, NAME) == set()
        memory.upkeep.maintain()
        assert tables_naming(database, NAME) == set()


@pytest.mark.parametrize("kept", [False, True])
def test_another_process_forgets_the_former_namespace_of_a_name(database: str, kept: bool) -> None:
    with opened(database) as memory, opened(database, kept=kept) as other:
        for number in range(3):
            memory.add(f"Ana has {number} celli.", id=f"c{number}", speaker="Ana", session_id="s")
            memory.link(f"c{number}", "c0", "supports")
        for profile in ("balanced", "activation"):
            assert len(other.search("What does Ana have?", profile=profile, touch=False)) == 3
        memory.delete_all(namespace="default")
        memory.add("Bo sells a viola.", id="v0", speaker="Bo", session_id="s")
        memory.add("Bo sells a cello.", id="v1", speaker="Bo", session_id="s")
        memory.link("v0", "v1", "supports")
        for profile in ("balanced", "activation"):
            options: dict[str, Any] = {"profile": profile, "touch": False, "now": "2030-01-01"}
            found = other.search("Who has a cello?", **options)
            assert set(found.ids) == {"v0", "v1"}
            assert list(found) == list(memory.search("Who has a cello?", **options))
        assert other.count() == 2


def test_the_name_of_a_speaker_goes_with_the_last_turn(database: str) -> None:
    with opened(database) as memory, opened(database, kept=True) as other:
        memory.add("I moved to Lisbon.", id="q", speaker=NAME, session_id="s")
        memory.add("How is it there?", id="b", speaker="Bo", session_id="s")
        assert other.search(f"Where did {NAME} move?", touch=False).ids[0] == "q"
        memory.delete("q")
        assert tables_naming(database, NAME) == set()
        other.search("there", touch=False)
        [index] = other._core.dispatcher.store.replicas._indexes.values()  # type: ignore[attr-defined]
        assert index.table.speakers.turns.keys() == {"Bo"}


@pytest.mark.parametrize("by", ERASING)
def test_what_is_still_there_afterwards_undoes_the_erasure(database: str, by: str) -> None:
    with opened(database) as memory, psycopg.connect(database, autocommit=True) as connection:
        memory.add_many([{"id": f"m{i}", "content": f"Fact {i}.", "tags": ["t"]} for i in range(3)])
        memory.link("m0", "m1", "supports")
        connection.execute("CREATE RULE keeper AS ON DELETE TO salience.links DO INSTEAD NOTHING")
        try:
            with pytest.raises(StoreError, match="not erased: 1 of links are still there"):
                ERASING[by](memory)
        finally:
            connection.execute("DROP RULE keeper ON salience.links")
        assert memory.count() == 3
        receipt = memory.delete_all(namespace="default")
        assert (receipt.memories, receipt.remaining["links"]) == (3, 0)
        assert receipt.disk == DELETED
