"""What the real libraries wrote, as memories."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from salience import Memory
from salience.importers import ImportProblem, detect, read
from salience.write.transfer.formats import export_as

os.environ["MEM0_TELEMETRY"] = "False"
DIMENSIONS = 8


def added(items: list[Any], again: list[Any]) -> dict[str, Any]:
    """The memories of an import by id; a second one adds nothing."""
    with Memory.open("ram://", embedder=None) as memory:
        result = memory.add_many(items)
        assert [item.reason for item in result.rejected] == []
        repeated = memory.add_many(again, on_conflict="skip")
        assert {item.outcome for item in repeated} == {"SKIPPED"}
        return {record.id: record for record in memory.get_all(limit=1_000)}


class Vectors:
    """An embedding model that tells texts apart by their letters."""

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        vector = [1.0 + text.count(letter) for letter in "aeinorst"]
        return [number / sum(vector) for number in vector]

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        return [self.embed(text) for text in texts]


@pytest.fixture
def mem0(tmp_path: Path) -> Iterator[Any]:
    """A real mem0 over a local Qdrant, whose embedding model is `Vectors`."""
    from mem0 import Memory as Mem0

    qdrant = {
        "path": str(tmp_path / "qdrant"),
        "on_disk": True,
        "collection_name": "mem0",
        "embedding_model_dims": DIMENSIONS,
    }
    secret = {"api_key": "none"}
    store = Mem0.from_config(
        {
            "vector_store": {"provider": "qdrant", "config": qdrant},
            "embedder": {"provider": "openai", "config": secret},
            "llm": {"provider": "openai", "config": secret},
            "history_db_path": str(tmp_path / "history.db"),
        }
    )
    store.embedding_model = Vectors()
    yield store
    store.vector_store.client.close()


def filled(mem0: Any) -> None:
    mem0.add("Likes green tea", user_id="ana", metadata={"source": "chat"}, infer=False)
    messages = [{"role": "user", "content": "One tea, please.", "name": "Ana"}]
    mem0.add(messages, user_id="ana", run_id="talk-1", expiration_date="2030-12-31", infer=False)


def test_mem0_by_its_json_and_by_its_database_is_the_same(mem0: Any, tmp_path: Path) -> None:
    filled(mem0)
    found = mem0.get_all(filters={"user_id": "ana"}, top_k=100)
    path = tmp_path / "mem0.json"
    path.write_text(json.dumps(found))
    assert detect(path) == "mem0"
    by_json = added(list(read(path)), list(read(path)))
    mem0.vector_store.client.close()
    folder = tmp_path / "qdrant"
    assert detect(folder) == "mem0"
    by_folder = added(list(read(folder)), list(read(folder)))
    assert by_json.keys() == by_folder.keys() == {entry["id"] for entry in found["results"]}
    for id, record in by_json.items():
        other = by_folder[id]
        assert record.equals_except(("updated_at", "added_at"), other)
    [tea] = [record for record in by_json.values() if record.content == "Likes green tea"]
    [order] = [record for record in by_json.values() if record.content != "Likes green tea"]
    assert (tea.user_id, tea.metadata["source"]) == ("ana", "chat")
    assert (order.session_id, order.speaker) == ("talk-1", "Ana")
    assert order.expires_at == datetime(2031, 1, 1, tzinfo=UTC)


def test_a_folder_of_qdrant_in_use_is_named(mem0: Any, tmp_path: Path) -> None:
    filled(mem0)
    with pytest.raises(ImportProblem, match="cannot be opened by qdrant-client"):
        list(read(tmp_path / "qdrant"))


def test_a_server_of_qdrant_that_does_not_answer_is_named() -> None:
    with pytest.raises(ImportProblem, match=r"^http://127\.0\.0\.1:1: cannot be read"):
        list(read("http://127.0.0.1:1", "mem0"))


def test_what_is_written_for_mem0_goes_into_mem0(mem0: Any, tmp_path: Path) -> None:
    with Memory.open("ram://", embedder=None) as memory:
        memory.add("Likes green tea.", user_id="ana", metadata={"source": "chat"})
        memory.add("Has a kiln.", user_id="ana", session_id="s", expires_at="2031-01-01")
        assert export_as(memory, tmp_path / "mem0.json", "mem0") == 2
        written = json.loads((tmp_path / "mem0.json").read_text())["results"]
    for entry in written:
        mem0.add(
            entry["memory"],
            user_id=entry["user_id"],
            run_id=entry.get("run_id"),
            metadata=entry.get("metadata"),
            expiration_date=entry.get("expiration_date"),
            infer=False,
        )
    found = mem0.get_all(filters={"user_id": "ana"}, top_k=10)["results"]
    kept = ("memory", "hash", "user_id", "run_id", "metadata", "expiration_date")
    assert sorted(
        [{name: entry.get(name) for name in kept} for entry in found], key=lambda e: e["memory"]
    ) == sorted(
        [{name: entry.get(name) for name in kept} for entry in written], key=lambda e: e["memory"]
    )


def test_a_store_of_langgraph_in_sqlite(tmp_path: Path) -> None:
    from langgraph.store.sqlite import SqliteStore

    path = tmp_path / "store.db"
    with SqliteStore.from_conn_string(str(path)) as store:
        store.setup()
        store.put(("memories", "ana"), "a", {"text": "Likes clay", "mood": "calm"})
        store.put(("memories", "ana"), "b", {"content": {"content": "Has a kiln"}}, ttl=10)
        kept = store.get(("memories", "ana"), "a")
    assert detect(path) == "langgraph"
    found = added(list(read(path)), list(read(path)))
    clay, kiln = found["memories.ana/a"], found["memories.ana/b"]
    assert (clay.content, clay.metadata["mood"]) == ("Likes clay", "calm")
    assert kept is not None
    assert clay.created_at == kept.created_at.replace(tzinfo=UTC)
    assert 500 < (kiln.expires_at - kiln.created_at).total_seconds() < 700


def test_a_store_of_langgraph_in_postgresql() -> None:
    from langgraph.store.postgres import PostgresStore

    from salience.testing.postgres import PostgresServer

    with PostgresServer() as server:
        with PostgresStore.from_conn_string(server.url) as store:
            store.setup()
            store.put(("memories", "ana"), "a", {"text": "Likes clay"})
        items = list(read(server.url, "langgraph"))
        with pytest.raises(ImportProblem, match="cannot be read"):
            list(read(server.url.replace("postgres?", "nowhere?"), "langgraph"))
    found = added(items, items)
    assert found["memories.ana/a"].content == "Likes clay"


def test_a_folder_of_chroma(tmp_path: Path) -> None:
    import chromadb

    client = chromadb.PersistentClient(str(tmp_path / "chroma"))
    notes = client.create_collection("notes", embedding_function=None)
    times = {"created_at": "2026-01-02T10:00:00+00:00", "pages": 3}
    number = 300  # more than one page of them
    notes.add(
        ids=[str(n) for n in range(number)],
        documents=[f"Note {n}" for n in range(number)],
        embeddings=[[float(n), 1.0] for n in range(number)],
        metadatas=[{"user_id": "ana", "tags": "a, b", **times} for _ in range(number)],
    )
    client.create_collection("bare", embedding_function=None).add(ids=["x"], embeddings=[[1.0]])
    client.clear_system_cache()  # as another process would see it
    assert detect(tmp_path / "chroma") == "chroma"
    found = added(list(read(tmp_path / "chroma")), list(read(tmp_path / "chroma")))
    assert len(found) == number
    note = found["notes/7"]
    assert (note.content, note.user_id, note.tags) == ("Note 7", "ana", ("a", "b"))
    assert note.created_at == datetime(2026, 1, 2, 10, tzinfo=UTC)
    assert dict(note.metadata) == {"imported_from": "chroma", "pages": 3, "collection": "notes"}


def test_a_graph_of_graphiti(tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    path.write_text(json.dumps(asyncio.run(_graph())))
    assert detect(path) == "zep"
    found = added(list(read(path)), list(read(path)))
    facts = {r.content: r for r in found.values() if r.kind == "fact"}
    assert facts["Ana lives in Rome"].status == "superseded"
    assert facts["Ana lives in Rome"].valid_to == facts["Ana lives in Lisbon"].valid_from
    assert facts["Ana lives in Rome"].entities == ("Ana", "Rome")
    assert {r.kind for r in found.values()} == {"turn", "entity", "fact"}


async def _graph() -> dict[str, Any]:
    """A small graph, saved by Graphiti and read back as its users do."""
    from graphiti_core.driver.kuzu_driver import KuzuDriver
    from graphiti_core.edges import EntityEdge
    from graphiti_core.nodes import EntityNode, EpisodeType, EpisodicNode
    from graphiti_core.utils.maintenance.edge_operations import resolve_edge_contradictions

    driver = KuzuDriver(db=":memory:")
    moved = datetime(2025, 1, 1, tzinfo=UTC)
    began = datetime(2024, 1, 1, tzinfo=UTC)
    episode = EpisodicNode(
        name="talk",
        group_id="ana",
        source=EpisodeType.message,
        source_description="chat",
        content="user: I live in Rome",
        valid_at=began,
        created_at=began,
    )
    ana, rome, lisbon = (
        EntityNode(name=name, group_id="ana", summary=summary, name_embedding=[0.1] * 4)
        for name, summary in (("Ana", "Ana moved."), ("Rome", ""), ("Lisbon", ""))
    )

    def lives(city: EntityNode, since: datetime) -> EntityEdge:
        return EntityEdge(
            name="LIVES_IN",
            fact=f"Ana lives in {city.name}",
            group_id="ana",
            source_node_uuid=ana.uuid,
            target_node_uuid=city.uuid,
            created_at=since,
            episodes=[episode.uuid],
            valid_at=since,
            fact_embedding=[0.1] * 4,
        )

    old, new = lives(rome, began), lives(lisbon, moved)
    assert resolve_edge_contradictions(new, [old]) == [old]
    for part in (episode, ana, rome, lisbon, old, new):
        await part.save(driver)
    return {
        name: [
            part.model_dump(mode="json") for part in await kind.get_by_group_ids(driver, ["ana"])
        ]
        for name, kind in (("episodes", EpisodicNode), ("nodes", EntityNode), ("edges", EntityEdge))
    }
