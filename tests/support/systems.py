"""Files as other memory systems write them, one or more of each format."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.imports import put

MEM0: dict[str, Any] = {
    "results": [
        {
            "id": "5c8e3b0e-9a2b-4a6e-8f27-0d9b1c2a3f10",
            "memory": "Likes green tea",
            "hash": "9f0d",
            "created_at": "2026-01-02T10:00:00+00:00",
            "updated_at": "2026-02-02T10:00:00+00:00",
            "score": None,
            "user_id": "ana",
            "agent_id": "barista",
            "run_id": "talk-1",
            "categories": ["drinks"],
            "expiration_date": "2030-12-31",
            "metadata": {"source": "chat"},
        },
        {
            "id": "5c8e3b0e-9a2b-4a6e-8f27-0d9b1c2a3f11",
            "memory": "One tea, please.",
            "created_at": "2026-01-03T10:00:00+00:00",
            "updated_at": "2026-01-03T10:00:00+00:00",
            "user_id": "ana",
            "actor_id": "Ana",
            "role": "user",
        },
    ]
}

LETTA_MESSAGES: list[dict[str, Any]] = [
    {"id": "message-0", "role": "system", "content": [{"type": "text", "text": "Be kind."}]},
    {
        "id": "message-1",
        "role": "user",
        "created_at": "2026-01-01T10:00:00Z",
        "content": [
            {
                "type": "text",
                "text": json.dumps({"type": "user_message", "message": "Hello", "time": "10:00"}),
            }
        ],
    },
    {
        "id": "message-2",
        "role": "user",
        "content": [{"type": "text", "text": json.dumps({"type": "heartbeat", "reason": "x"})}],
    },
    {
        "id": "message-3",
        "role": "assistant",
        "created_at": "2026-01-01T10:00:01Z",
        "content": [{"type": "text", "text": "She greets me."}],
        "tool_calls": [
            {
                "id": "c",
                "type": "function",
                "function": {"name": "send_message", "arguments": '{"message": "Hello, Ana."}'},
            }
        ],
    },
    {
        "id": "message-4",
        "role": "assistant",
        "created_at": "2026-01-01T10:00:02Z",
        "content": [{"type": "text", "text": "What else?"}],
    },
    {"id": "message-5", "role": "tool", "content": [{"type": "text", "text": "OK"}]},
]
LETTA: dict[str, Any] = {
    "agents": [
        {
            "id": "agent-0",
            "name": "Loop",
            "block_ids": ["block-0"],
            "messages": LETTA_MESSAGES,
            "memory_blocks": [],
        }
    ],
    "groups": [],
    "blocks": [
        {"id": "block-0", "label": "human", "value": "Ana, a potter.", "description": "The user."},
        {"id": "block-1", "label": "persona", "value": "Of another agent."},
    ],
    "files": [],
    "sources": [],
    "tools": [],
    "mcp_servers": [],
    "created_at": "2026-02-01T00:00:00Z",
}
LETTA_FIRST: dict[str, Any] = {
    "agent_type": "memgpt_agent",
    "name": "Loop",
    "core_memory": [
        {"label": "human", "value": "Ana, a potter.", "created_at": "2026-01-01T00:00:00+00:00"}
    ],
    "messages": LETTA_MESSAGES,
}

GRAPH: list[dict[str, Any]] = [
    {
        "type": "entity",
        "name": "Ana",
        "entityType": "person",
        "observations": ["paints", "Ana sings"],
    },
    {"type": "entity", "name": "Acme", "entityType": "company", "observations": []},
    {"type": "relation", "from": "Ana", "to": "Acme", "relationType": "works_at"},
]


def transcript(session: str = "5d0c7b7e") -> list[dict[str, Any]]:
    def entry(number: int, type: str, content: Any, **more: Any) -> dict[str, Any]:
        return {
            "parentUuid": f"{session}-{number - 1}" if number else None,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/home/ana/kiln",
            "sessionId": session,
            "gitBranch": "main",
            "type": type,
            "message": {"role": type, "content": content},
            "uuid": f"{session}-{number}",
            "timestamp": f"2026-03-01T10:00:{number:02}.000Z",
            **more,
        }

    def text(words: str) -> list[dict[str, Any]]:
        return [{"type": "text", "text": words}]

    return [
        {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}},
        entry(0, "user", "<command-name>/clear</command-name>"),
        entry(1, "user", "Why does the kiln test fail?"),
        entry(2, "assistant", [{"type": "thinking", "thinking": "Hm."}]),
        entry(3, "assistant", text("I look at the log.")),
        entry(4, "assistant", [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]),
        entry(5, "user", [{"type": "tool_result", "tool_use_id": "t", "content": "12 failed"}]),
        entry(6, "user", "A caveat.", isMeta=True),
        entry(7, "assistant", text("Of a subagent."), isSidechain=True),
        entry(8, "user", "[Request interrupted by user]"),
        entry(
            9, "assistant", text("The clock is wrong.<system-reminder>Be brief.</system-reminder>")
        ),
        {"type": "ai-title", "aiTitle": "The kiln test", "sessionId": session},
    ]


GRAPHITI: dict[str, list[dict[str, Any]]] = {
    "episodes": [
        {
            "uuid": "e1",
            "name": "talk",
            "group_id": "ana",
            "labels": [],
            "created_at": "2024-01-02T00:00:00",
            "source": "message",
            "source_description": "chat",
            "content": "user: I live in Rome",
            "valid_at": "2024-01-01T00:00:00",
            "entity_edges": ["f1"],
            "episode_metadata": {"channel": "web"},
        }
    ],
    "nodes": [
        {
            "uuid": "n1",
            "name": "Ana",
            "group_id": "ana",
            "labels": ["Entity", "Person"],
            "created_at": "2024-01-02T00:00:00",
            "summary": "Ana has lived in two cities.",
            "attributes": {"age": 30},
        },
        {"uuid": "n2", "name": "Rome", "group_id": "ana", "labels": ["Entity"], "summary": ""},
        {"uuid": "n3", "name": "Lisbon", "group_id": "ana", "labels": ["Entity"], "summary": ""},
    ],
    "edges": [
        {
            "uuid": "f2",
            "group_id": "ana",
            "source_node_uuid": "n1",
            "target_node_uuid": "n3",
            "name": "LIVES_IN",
            "fact": "Ana lives in Lisbon",
            "created_at": "2025-02-02T00:00:00",
            "episodes": [],
            "expired_at": None,
            "valid_at": "2025-01-01T00:00:00",
            "invalid_at": None,
            "attributes": {},
        },
        {
            "uuid": "f1",
            "group_id": "ana",
            "source_node_uuid": "n1",
            "target_node_uuid": "n2",
            "name": "LIVES_IN",
            "fact": "Ana lives in Rome",
            "created_at": "2024-01-02T00:00:00",
            "episodes": ["e1", "gone"],
            "expired_at": "2025-02-02T00:00:00",
            "valid_at": "2024-01-01T00:00:00",
            "invalid_at": "2025-01-01T00:00:00",
            "attributes": {},
        },
    ],
}

HINDSIGHT_DOCUMENT = {
    "id": "talk-1",
    "original_text": "A long talk.",
    "tags": [],
    "chunks": [{"chunk_index": 0, "chunk_text": "A long talk."}],
    "facts": [
        {
            "text": "Ana missed the train.",
            "source_id": None,
            "fact_type": "experience",
            "context": "a call",
            "event_date": None,
            "occurred_start": "2026-01-05T08:00:00Z",
            "occurred_end": "2026-01-05T08:10:00Z",
            "mentioned_at": "2026-01-06T09:00:00Z",
            "metadata": {"channel": "phone"},
            "tags": ["travel"],
            "entities": ["Ana"],
            "causal_relations": [],
        },
        {
            "text": "Ana was late for work.",
            "source_id": "5f0e",
            "fact_type": "world",
            "entities": ["Ana"],
            "mentioned_at": "2026-01-06T09:00:00Z",
            "causal_relations": [{"relation_type": "caused_by", "target_fact_index": 0}],
        },
    ],
}
HINDSIGHT_OBSERVATIONS = [
    {
        "text": "Ana is often late.",
        "created_at": "2026-01-07T00:00:00Z",
        "proof_count": 2,
        "sources": [
            {"document_id": "talk-1", "fact_index": 0},
            {"document_id": "talk-1", "fact_index": 1},
        ],
    }
]
HINDSIGHT_LIST = {
    "items": [
        {
            "id": "550e8400",
            "text": "Ana works with clay",
            "context": "a talk",
            "date": "2026-01-15T10:30:00Z",
            "fact_type": "world",
            "entities": "Ana, Clay",
            "state": "valid",
            "tags": ["craft"],
            "metadata": {"channel": "web"},
        },
        {
            "id": "550e8401",
            "text": "Ana works with wood",
            "date": "2026-01-15T10:30:00Z",
            "fact_type": "world",
            "state": "invalidated",
        },
    ],
    "total": 2,
    "limit": 100,
    "offset": 0,
}

BASIC_NOTE = """---
title: Kiln
type: note
permalink: craft/kiln
tags:
- craft
created: 2026-01-10
---

# Kiln

The kiln stands in the [[Shed]].

## Observations
- [fact] It heats to 1,240 degrees #heat #electric (measured twice)
- [decision] Fire at night
- Cheap in winter #cost
- [x] swept
- [00:12] not a category

## Relations
- depends_on [[Fuse Box]]
- "is part of" [[Shed]] (since 2020)
"""
BASIC_SHED = (
    "---\ntitle: Shed\ntype: note\npermalink: craft/shed\n---\n\n# Shed\n\nBehind the house.\n"
)
BASIC_FUSES = "---\ntitle: Fuse Box\ntype: note\npermalink: craft/fuse-box\n---\n\nBy the door.\n"


def put_lines(folder: Path, name: str, entries: list[dict[str, Any]]) -> Path:
    return put(folder, name, "\n".join(map(json.dumps, entries)))


def put_openmem(folder: Path) -> Path:
    """Write a file by OpenMem itself."""
    from openmem.engine import MemoryEngine

    path = folder / "openmem.db"
    engine = MemoryEngine(str(path))
    rome = engine.add("Ana lives in Rome", type="fact", entities=["Ana", "Rome"], confidence=0.9)
    lisbon = engine.add("Ana lives in Lisbon", type="fact", entities=["Ana"])
    rain = engine.add("It rained", type="incident", gist="rain")
    engine.supersede(rome.id, lisbon.id)
    engine.link(rain.id, lisbon.id, rel_type="supports", weight=0.4)
    engine.store.close()
    return path


def put_langgraph(folder: Path) -> Path:
    """Write the table of a store, as LangGraph's migrations make it."""
    path = folder / "store.db"
    with sqlite3.connect(path) as connection:
        connection.execute(
            "CREATE TABLE store (prefix text NOT NULL, key text NOT NULL, value text NOT NULL, "
            "created_at TIMESTAMP, updated_at TIMESTAMP, expires_at TIMESTAMP, ttl_minutes REAL, "
            "PRIMARY KEY (prefix, key))"
        )
        times = ("2026-01-01 10:00:00", "2026-01-02 10:00:00", "2031-01-01 00:00:00")
        for prefix, key, value in (
            ("memories.ana", "a", {"text": "Likes clay", "mood": "calm"}),
            ("memories.ana", "b", {"kind": "Memory", "content": {"content": "Has a kiln"}}),
            ("profiles", "ana", {"age": 30}),
        ):
            row = (prefix, key, json.dumps(value), *times)
            connection.execute("INSERT INTO store VALUES (?, ?, ?, ?, ?, ?, NULL)", row)
    connection.close()
    return path


def put_transfer(folder: Path) -> Path:
    path = folder / "bank.zip"
    with zipfile.ZipFile(path, "w") as archive:
        manifest = {"schema_version": 1, "source_bank_id": "ana", "document_count": 1}
        archive.writestr("documents/000000.json", json.dumps(HINDSIGHT_DOCUMENT))
        archive.writestr("observations.json", json.dumps(HINDSIGHT_OBSERVATIONS))
        archive.writestr("manifest.json", json.dumps(manifest))
    return path


def put_notes(folder: Path) -> Path:
    notes = folder / "vault"
    put(notes, "craft/Kiln.md", BASIC_NOTE)
    put(notes, "craft/Shed.md", BASIC_SHED)
    put(notes, "craft/Fuse Box.md", BASIC_FUSES)
    return notes


def put_transcripts(folder: Path) -> Path:
    project = folder / "projects" / "-home-ana-kiln"
    put_lines(project, "5d0c7b7e.jsonl", transcript())
    put_lines(project, "77aa.jsonl", [*transcript(), *transcript("77aa")])
    return folder / "projects"


FILES: dict[str, tuple[str, Callable[[Path], Path]]] = {
    "mem0": ("mem0", lambda folder: put(folder, "mem0.json", MEM0)),
    "mem0, a list": ("mem0", lambda folder: put(folder, "all.json", MEM0["results"][:1])),
    "letta": ("letta", lambda folder: put(folder, "loop.af", LETTA)),
    "letta, by its contents": ("letta", lambda folder: put(folder, "loop.json", LETTA)),
    "letta, the first version": ("letta", lambda folder: put(folder, "first.json", LETTA_FIRST)),
    "mcp-memory": ("mcp-memory", lambda folder: put_lines(folder, "memory.jsonl", GRAPH)),
    "mcp-memory, a graph": (
        "mcp-memory",
        lambda folder: put(folder, "graph.json", {"entities": GRAPH[:2], "relations": GRAPH[2:]}),
    ),
    "claude-code": ("claude-code", lambda folder: put_lines(folder, "s.jsonl", transcript())),
    "claude-code, projects": ("claude-code", put_transcripts),
    "zep": ("zep", lambda folder: put(folder, "graph.json", GRAPHITI)),
    "zep, lines": ("zep", lambda folder: put_lines(folder, "facts.jsonl", GRAPHITI["edges"])),
    "hindsight": ("hindsight", put_transfer),
    "hindsight, a list": ("hindsight", lambda folder: put(folder, "list.json", HINDSIGHT_LIST)),
    "basic-memory": ("basic-memory", put_notes),
    "openmem": ("openmem", put_openmem),
    "langgraph": ("langgraph", put_langgraph),
}
"""The format, and what writes a file or folder of it, by a name."""
