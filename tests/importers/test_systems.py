"""What other memory systems wrote, as memories: fields, links, times, and what is left out."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from salience import Memory
from salience.importers import SERVERS, ImportProblem, detect, read
from support.imports import by_id, items, problem, put
from support.systems import (
    FILES,
    GRAPH,
    GRAPHITI,
    HINDSIGHT_LIST,
    LETTA,
    MEM0,
    put_langgraph,
    put_lines,
    put_notes,
    put_openmem,
    put_transcripts,
    put_transfer,
    transcript,
)


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_recognised_and_names_its_origin(name: str, tmp_path: Path) -> None:
    format, write = FILES[name]
    path = write(tmp_path)
    assert detect(path) == format
    found = items(path)
    assert found
    assert {item["metadata"]["imported_from"] for item in found} == {format}


@pytest.mark.parametrize("name", FILES)
def test_an_import_is_whole_and_a_second_one_adds_nothing(name: str, tmp_path: Path) -> None:
    path = FILES[name][1](tmp_path)
    found = [{k: v for k, v in item.items() if k != "status"} for item in items(path)]
    with Memory.open("ram://", embedder=None) as memory:
        added = memory.add_many(found)
        assert [item.reason for item in added.rejected] == []
        assert len(added.ids) == len(found)
        links = {item["id"]: len(memory.links(item["id"])) for item in found}
        again = memory.add_many(found, on_conflict="skip")
        assert {item.outcome for item in again} == {"SKIPPED"}
        assert memory.get_all().total == len(found)
        assert {item["id"]: len(memory.links(item["id"])) for item in found} == links
    assert [item["id"] for item in items(path)] == [item["id"] for item in found]


DAMAGED = [
    ("mem0", "a.json", '{"results": [{"id": "x", "memory": "y"', "line 1"),
    ("mem0", "a.json", '{"results": [{"id": "x"}]}', "results 1: has no text 'memory'"),
    ("letta", "a.af", "{}", "no agents"),
    ("letta", "a.af", '{"agents": [{"name": "x", "messages": 3}]}', "messages is not a list"),
    ("letta", "a.af", '{"agents": [\n{"name": }]}', "line 2"),
    ("mcp-memory", "a.jsonl", '{"type": "entity", "name": "x"}\n{"name"\n', "line 2"),
    ("mcp-memory", "a.jsonl", '{"type": "entity"}', "has no text 'name'"),
    ("claude-code", "a.jsonl", '{"type": "user"}\n\n{broken', "line 3"),
    ("claude-code", "a.jsonl", "[1]", "item 1 is not a JSON object"),
    ("zep", "a.json", '{"edges": [{"fact": "x", "uuid": "f"}, 3]}', "edges 2 is not a JSON object"),
    ("zep", "a.json", '{"edges": [{"fact": "x"}]}', "edges 1: has no 'uuid'"),
    ("zep", "a.json", '[{"uuid": "x"}]', "item 1: is neither"),
    ("hindsight", "a.json", '{"items": [{"id": "x"}]}', "items 1: has no text 'text'"),
    ("hindsight", "a.json", '{"items": [3]}', "items 1 is not a JSON object"),
    ("openmem", "a.db", "no database", "SQLite"),
    ("langgraph", "a.db", "no database", "SQLite"),
    ("basic-memory", "a.md", "---\ntitle: [\n---\n", "line 3"),
    ("chroma", "a.db", "no database", "not JSON"),
]


@pytest.mark.parametrize(("format", "name", "content", "said"), DAMAGED)
def test_damage_is_named_with_its_place(
    tmp_path: Path, format: str, name: str, content: str, said: str
) -> None:
    assert said in str(problem(put(tmp_path, name, content), format))


@pytest.mark.parametrize("size", [100, 300])
def test_a_transfer_cut_short_is_named(tmp_path: Path, size: int) -> None:
    whole = put_transfer(tmp_path).read_bytes()
    assert problem(put(tmp_path, "cut.zip", whole[:size]), "hindsight").remedy


def test_a_newer_transfer_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "new.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest.json", json.dumps({"schema_version": 9}))
    assert "version 9, not 1" in str(problem(path, "hindsight"))


def test_a_damaged_row_is_named(tmp_path: Path) -> None:
    path = put_langgraph(tmp_path)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE store SET value = '{' WHERE key = 'b'")
    connection.close()
    assert "memories.ana/b: is not JSON" in str(problem(path))


def test_a_database_of_something_else_is_refused(tmp_path: Path) -> None:
    with Memory.open(f"sqlite:///{tmp_path}/own.db", embedder=None) as memory:
        memory.add("Ana paints.")
    assert "salience copy" in str(problem(tmp_path / "own.db"))
    assert "no table" in str(problem(tmp_path / "own.db", "langgraph"))
    assert "no table 'memories' of OpenMem" in str(problem(tmp_path / "own.db", "openmem"))


@pytest.mark.parametrize("format", [None, "letta", "jsonl"])
def test_an_address_needs_the_format_of_a_server_and_keeps_its_password(format: str | None) -> None:
    with pytest.raises(ImportProblem) as caught:
        read("postgresql://ana:secret@localhost/store?x=1", format)
    assert "postgresql://localhost/store: is the address" in str(caught.value)
    assert all(name in caught.value.remedy for name in SERVERS)


def test_a_server_that_does_not_answer_is_named_without_its_password() -> None:
    with pytest.raises(ImportProblem) as caught:
        items("postgresql://ana:secret@127.0.0.1:1/store?connect_timeout=2", "langgraph")
    assert str(caught.value).startswith("postgresql://127.0.0.1:1/store: cannot be read")
    assert "secret" not in str(caught.value)


def test_mem0(tmp_path: Path) -> None:
    tea, order = items(put(tmp_path, "mem0.json", MEM0))
    assert tea == {
        "id": MEM0["results"][0]["id"],
        "content": "Likes green tea",
        "kind": "fact",
        "user_id": "ana",
        "agent_id": "barista",
        "session_id": "talk-1",
        "tags": ["drinks"],
        "created_at": "2026-01-02T10:00:00+00:00",
        "expires_at": datetime(2031, 1, 1, tzinfo=UTC),
        "metadata": {
            "imported_from": "mem0",
            "source": "chat",
            "updated_at": "2026-02-02T10:00:00+00:00",
        },
    }
    assert (order["kind"], order["speaker"]) == ("turn", "Ana")
    assert order["metadata"] == {"imported_from": "mem0"}


def test_letta(tmp_path: Path) -> None:
    human, *turns, loose = items(put(tmp_path, "loop.af", LETTA))
    assert (loose["id"], loose["content"]) == ("persona", "Of another agent.")
    assert "agent_id" not in loose
    assert (human["id"], human["content"], human["title"]) == (
        "Loop/human",
        "Ana, a potter.",
        "human",
    )
    assert [(turn["speaker"], turn["content"]) for turn in turns] == [
        ("user", "Hello"),
        ("assistant", "Hello, Ana."),
        ("assistant", "What else?"),
    ]
    assert {(turn["session_id"], turn["agent_id"]) for turn in turns} == {("Loop", "Loop")}


def test_ids_of_letta_are_the_same_in_a_later_export(tmp_path: Path) -> None:
    before = {item["id"] for item in items(put(tmp_path, "a.af", LETTA))}
    [agent] = LETTA["agents"]
    later = [
        {**message, "id": f"message-{n}"}
        for n, message in enumerate(agent["messages"][2:], start=40)
    ]
    after = items(put(tmp_path, "b.af", {**LETTA, "agents": [{**agent, "messages": later}]}))
    assert {item["id"] for item in after} < before


def test_a_graph_of_the_mcp_server(tmp_path: Path) -> None:
    found = {item["content"]: item for item in items(put_lines(tmp_path, "memory.jsonl", GRAPH))}
    assert set(found) == {
        "Ana (person)",
        "Ana: paints",
        "Ana sings",
        "Acme (company)",
        "Ana works_at Acme",
    }
    assert found["Ana (person)"]["id"] == "Ana"
    assert [link["target"] for link in found["Ana (person)"]["links"]] == ["Acme"]
    assert [link["target"] for link in found["Ana: paints"]["links"]] == ["Ana"]
    assert [link["target"] for link in found["Ana works_at Acme"]["links"]] == ["Ana", "Acme"]
    assert found["Ana: paints"]["tags"] == ["person"]


def test_a_transcript_of_claude_code_is_what_was_said(tmp_path: Path) -> None:
    found = items(put_lines(tmp_path, "s.jsonl", transcript()))
    assert [(item["speaker"], item["content"]) for item in found] == [
        ("user", "Why does the kiln test fail?"),
        ("assistant", "I look at the log."),
        ("assistant", "The clock is wrong."),
    ]
    assert found[0] == {
        "id": "5d0c7b7e-1",
        "content": "Why does the kiln test fail?",
        "kind": "turn",
        "speaker": "user",
        "session_id": "5d0c7b7e",
        "title": "The kiln test",
        "created_at": "2026-03-01T10:00:01.000Z",
        "metadata": {
            "imported_from": "claude-code",
            "project": "/home/ana/kiln",
            "branch": "main",
        },
    }
    assert found[0].place == "line 3"


def test_an_entry_without_an_id_gets_one(tmp_path: Path) -> None:
    entries = [
        {**entry, "uuid": ""} if entry.get("uuid") == "5d0c7b7e-3" else entry
        for entry in transcript()
    ]
    found = items(put_lines(tmp_path, "s.jsonl", entries))
    assert len({item["id"] for item in found}) == 3


def test_a_resumed_session_repeats_nothing(tmp_path: Path) -> None:
    found = items(put_transcripts(tmp_path))
    assert [item["session_id"] for item in found] == ["5d0c7b7e"] * 3 + ["77aa"] * 3


def test_facts_of_graphiti_keep_their_time(tmp_path: Path) -> None:
    path = put(tmp_path, "graph.json", GRAPHITI)
    found = by_id(path)
    assert list(found) == ["e1", "n1", "f1", "f2"]
    assert found["f1"]["valid_to"] == found["f2"]["valid_from"] == datetime(2025, 1, 1, tzinfo=UTC)
    assert found["f2"]["supersedes"] == "f1"
    assert found["f1"]["entities"] == ["Ana", "Rome"]
    assert [link["target"] for link in found["f1"]["links"]] == ["e1"]
    assert (found["e1"]["kind"], found["e1"]["created_at"].year) == ("turn", 2024)
    assert found["n1"]["tags"] == ["Person"]
    assert {item["user_id"] for item in found.values()} == {"ana"}
    with Memory.open("ram://", embedder=None) as memory:
        memory.add_many(read(path))
        assert memory["f1"].status == "superseded"
        now = memory.search("Where does Ana live?", filters={"kind": "fact"}, limit=1)
        then = memory.search("Where did Ana live in May 2024?", filters={"kind": "fact"}, limit=1)
        assert (now[0].id, then[0].id) == ("f2", "f1")


@pytest.mark.parametrize(
    "changes",
    [{"expired_at": None}, {"invalid_at": "2025-01-02T00:00:00"}, {"source_node_uuid": "n9"}],
)
def test_a_fact_that_merely_ended_is_not_superseded(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    new, old = GRAPHITI["edges"]
    path = put(tmp_path, "graph.json", {"edges": [new, {**old, **changes}]})
    assert not any("supersedes" in item for item in items(path))


def test_objects_of_zep_have_other_names(tmp_path: Path) -> None:
    message = {
        "uuid": "m1",
        "content": "I live in Rome",
        "role": "user",
        "name": "Ana",
        "thread_uuid": "t1",
        "reference_time": "2024-01-01T00:00:00Z",
    }
    edge = {
        "uuid": "f1",
        "fact": "Ana lives in Rome",
        "source_node_name": "Ana",
        "target_node_name": "Rome",
        "episode_uuids": ["m1"],
        "user_uuid": "u1",
        "valid_at": "2024-01-01T00:00:00Z",
    }
    said, fact = items(put(tmp_path, "zep.json", {"messages": [message], "edges": [edge]}))
    assert (said["speaker"], said["session_id"], said["kind"]) == ("Ana", "t1", "turn")
    assert (fact["entities"], fact["user_id"]) == (["Ana", "Rome"], "u1")
    assert [link["target"] for link in fact["links"]] == ["m1"]


def test_a_transfer_of_hindsight(tmp_path: Path) -> None:
    missed, late, habit = items(put_transfer(tmp_path))
    assert (late["id"], late["kind"], habit["kind"]) == ("5f0e", "fact", "observation")
    assert late["links"] == [{"target": missed["id"], "type": "depends_on", "weight": 1.0}]
    assert [(link["type"], link["target"]) for link in habit["links"]] == [
        ("consolidates", missed["id"]),
        ("consolidates", "5f0e"),
    ]
    assert missed["created_at"] == datetime(2026, 1, 6, 9, tzinfo=UTC)
    assert not {"valid_from", "valid_to"} & missed.keys()
    assert missed["metadata"] == {
        "imported_from": "hindsight",
        "channel": "phone",
        "context": "a call",
        "fact_type": "experience",
        "occurred_start": "2026-01-05T08:00:00Z",
        "occurred_end": "2026-01-05T08:10:00Z",
        "bank": "ana",
        "document": "talk-1",
    }


def test_a_list_of_hindsight_leaves_out_what_is_invalidated(tmp_path: Path) -> None:
    [clay] = items(put(tmp_path, "list.json", HINDSIGHT_LIST))
    assert (clay["entities"], clay["tags"]) == (["Ana", "Clay"], ["craft"])


def test_notes_of_basic_memory(tmp_path: Path) -> None:
    found = {item["content"]: item for item in items(put_notes(tmp_path))}
    heat = found["It heats to 1,240 degrees #heat #electric"]
    assert heat["tags"] == ["fact", "heat", "electric"]
    assert heat["metadata"]["context"] == "measured twice"
    assert heat["links"] == [{"target": "craft/kiln", "type": "mentions", "weight": 1.0}]
    assert found["Fire at night"]["tags"] == ["decision"]
    assert found["Cheap in winter #cost"]["tags"] == ["cost"]
    [kiln] = [item for item in found.values() if item["id"] == "craft/kiln"]
    assert kiln["content"].splitlines() == [
        "# Kiln",
        "",
        "The kiln stands in the [[Shed]].",
        "",
        "- [x] swept",
        "- [00:12] not a category",
    ]
    assert {link["target"]: link["type"] for link in kiln["links"]} == {
        "craft/shed": "mentions",
        "craft/fuse-box": "depends_on",
    }
    assert kiln["metadata"]["relations"] == [
        {"type": "depends_on", "target": "Fuse Box"},
        {"type": "is part of", "target": "Shed", "context": "since 2020"},
    ]
    assert len(found) == 6


def test_a_file_of_openmem(tmp_path: Path) -> None:
    found = {item["content"]: item for item in items(put_openmem(tmp_path))}
    rome, lisbon = found["Ana lives in Rome"], found["Ana lives in Lisbon"]
    rain = found["It rained"]
    assert (rome["status"], rome["confidence"]) == ("superseded", 0.9)
    assert rome["entities"] == ["Ana", "Rome"]
    assert (rain["kind"], rain["gist"]) == ("incident", "rain")
    assert [(link["target"], link["weight"]) for link in rain["links"]] == [(lisbon["id"], 0.4)]
    assert [link["type"] for link in lisbon["links"]] == ["same_as"]
    assert "status" not in lisbon


def test_a_store_of_langgraph(tmp_path: Path) -> None:
    likes, kiln, profile = items(put_langgraph(tmp_path))
    assert likes == {
        "id": "memories.ana/a",
        "content": "Likes clay",
        "kind": "note",
        "created_at": datetime(2026, 1, 1, 10, tzinfo=UTC),
        "expires_at": datetime(2031, 1, 1, tzinfo=UTC),
        "metadata": {
            "imported_from": "langgraph",
            "mood": "calm",
            "namespace": ["memories", "ana"],
            "key": "a",
            "updated_at": "2026-01-02T10:00:00+00:00",
        },
    }
    assert kiln["content"] == "Has a kiln"
    assert json.loads(profile["content"]) == {"age": 30}
    assert profile["metadata"]["age"] == 30


@pytest.mark.parametrize(("format", "extra"), [("chroma", "chroma"), ("mem0", "qdrant")])
def test_a_package_that_is_not_installed_is_named(
    tmp_path: Path, format: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("chromadb", "qdrant_client"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    put(tmp_path, "chroma.sqlite3", b"")
    assert problem(tmp_path, format).remedy == f"pip install 'salience[{extra}]'"
