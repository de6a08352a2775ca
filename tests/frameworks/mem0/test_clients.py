"""The published clients of mem0, unmodified, against a real server."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mem0 import AsyncMemoryClient, MemoryClient
from mem0.exceptions import (
    AuthenticationError,
    MemoryNotFoundError,
    ValidationError,
)

from salience.access import SCOPES, Keyring
from salience.stores import open_store

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from support.real_server import RealServer, real_server

HERE = Path(__file__).parent
MESSAGES = [
    {"role": "user", "content": "I live in Lisbon."},
    {"role": "assistant", "content": "A lovely city."},
]
ANA = {"user_id": "ana"}


@dataclass
class Served:
    """A server, and keys of two tenants and of a reader."""

    server: RealServer
    keys: dict[str, str]

    @property
    def host(self) -> str:
        return f"{self.server.url}/compat/mem0"

    def client(self, owner: str = "one") -> MemoryClient:
        return MemoryClient(api_key=self.keys[owner], host=self.host)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("clients")
    db = folder / "memory.db"
    with closing(open_store(str(db))) as store, Keyring(store) as keyring:
        keys = {name: keyring.create(name, SCOPES).text for name in ("one", "two", "node")}
        keys["reader"] = keyring.create("one", "memories:read").text
    with real_server(db, log=folder / "log") as server:
        yield Served(server, keys)


@pytest.fixture
def client(served: Served) -> Iterator[MemoryClient]:
    client = served.client()
    yield client
    if client.users()["results"]:
        client.reset()


def test_every_method_of_the_python_client(client: MemoryClient) -> None:
    metadata = {"topic": "home", "rank": 2}
    added = client.add(
        MESSAGES,
        user_id="ana",
        agent_id="guide",
        infer=False,
        metadata=metadata,
        timestamp=1767225600,
    )["results"]
    client.add("I play the cello.", user_id="ben", app_id="chat", run_id="r1", infer=False)
    first = added[0]["id"]
    assert [each["event"] for each in added] == ["ADD", "ADD"]

    found = client.search("Where do I live?", filters=ANA, top_k=1)["results"]
    assert [each["id"] for each in found] == [first]
    assert 0.1 <= found[0]["score"] <= 1.0
    assert found[0]["created_at"].startswith("2026-01-01")
    nothing = client.search("cello", filters={"AND": [ANA, {"metadata": {"rank": {"gt": 2}}}]})
    assert nothing == {"results": []}
    page = client.get_all(filters=ANA, page=2, page_size=1)
    assert (page["count"], len(page["results"]), page["next"]) == (2, 1, None)
    assert client.get_all(filters={"app_id": "chat"})["results"][0]["run_id"] == "r1"
    assert client.get(first)["metadata"] == metadata

    assert client.update(first, text="I live in Porto.")["memory"] == "I live in Porto."
    assert [(e["event"], e["old_memory"], e["new_memory"]) for e in client.history(first)] == [
        ("ADD", None, "I live in Lisbon."),
        ("UPDATE", "I live in Lisbon.", "I live in Porto."),
    ]
    users = {(each["type"], each["name"]): each for each in client.users()["results"]}
    assert set(users) == {
        ("user", "ana"), ("agent", "guide"), ("user", "ben"), ("app", "chat"), ("run", "r1"),
    }  # fmt: skip
    assert users["user", "ana"]["total_memories"] == 2
    assert client.feedback(first, "very_negative", "wrong")["feedback"] == "VERY_NEGATIVE"
    assert client.feedback(first)["feedback"] is None
    client.batch_update([{"memory_id": first, "text": "I live in Faro."}])
    assert client.get(first)["memory"] == "I live in Faro."
    export = client.create_memory_export(json.dumps({"type": "object"}), filters=ANA)
    exported = client.get_memory_export(memory_export_id=export["id"])
    assert len(exported["memories"]) == 2
    assert "schema" in exported["notes"][0]
    assert client.batch_delete([{"memory_id": added[1]["id"]}])["deleted"] == 1
    client.delete(first)
    with pytest.raises(MemoryNotFoundError, match="not found"):
        client.get(first)
    client.delete_all(user_id="ben")
    assert client.users()["count"] == 0
    client.add("Again.", user_id="ana", infer=False)
    client.delete_users(user_id="ana")
    client.add("Again.", agent_id="guide", infer=False)
    assert "successful" in client.reset()["message"]
    assert client.get_all(filters={"agent_id": "*"})["count"] == 0


def test_the_awaited_client(served: Served, client: MemoryClient) -> None:
    async def all_methods() -> None:
        async with AsyncMemoryClient(api_key=served.keys["one"], host=served.host) as awaited:
            [first, second] = (await awaited.add(MESSAGES, **ANA, infer=False))["results"]
            assert (await awaited.get(first["id"]))["memory"] == "I live in Lisbon."
            found = await awaited.search("Where do I live?", filters=ANA)
            assert found["results"][0]["id"] == first["id"]
            assert (await awaited.get_all(filters=ANA))["count"] == 2
            await awaited.update(first["id"], metadata={"seen": True})
            assert len(await awaited.history(first["id"])) == 2
            assert (await awaited.users())["count"] == 1
            await awaited.feedback(first["id"], "POSITIVE")
            await awaited.batch_update([{"memory_id": first["id"], "text": "I live in Faro."}])
            export = await awaited.create_memory_export("{}", filters=ANA)
            got = await awaited.get_memory_export(memory_export_id=export["id"])
            assert len(got["memories"]) == 2
            await awaited.batch_delete([{"memory_id": second["id"]}])
            await awaited.delete(first["id"])
            await awaited.add("Again.", **ANA, infer=False)
            await awaited.delete_all(**ANA)
            await awaited.add("Again.", **ANA, infer=False)
            await awaited.delete_users()
            assert (await awaited.get_all(filters=ANA))["count"] == 0

    asyncio.run(all_methods())


def test_every_method_of_the_client_for_typescript(served: Served, npm_client: str) -> None:
    command = ["node", str(HERE / "client.mjs"), npm_client, served.host, served.keys["node"]]
    environment = {**os.environ, "MEM0_TELEMETRY": "false"}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    answers: dict[str, Any] = json.loads(ran.stdout)
    assert [each["event"] for each in answers["add"]["results"]] == ["ADD", "ADD"]
    found = answers["search"]["results"][0]
    assert found["memory"] == "I live in Lisbon."
    assert found["metadata"] == {"topic_name": "home", "rank": 2}
    assert (found["userId"], found["expirationDate"]) == ("ana", "2999-12-31")
    assert [each["memory"] for each in answers["filtered"]["results"]] == ["I live in Lisbon."]
    assert len(answers["anybody"]["results"]) == 3
    assert (answers["getAll"]["count"], len(answers["getAll"]["results"])) == (2, 1)
    assert answers["get"]["id"] == found["id"]
    assert answers["update"]["memory"] == "I live in Porto."
    assert [each["oldMemory"] for each in answers["history"]] == [None, "I live in Lisbon."]
    assert answers["users"]["count"] == 4
    assert answers["feedback"]["feedback"] == "POSITIVE"
    assert len(answers["export"]["memories"]) == 2
    assert answers["batchDelete"]["deleted"] == answers["deleteAll"]["deleted"] == 1
    assert answers["missing"]["name"] == "MemoryNotFoundError"
    assert answers["unscoped"]["name"] == "ValidationError"
    assert answers["left"]["count"] == 0


def test_no_tenant_finds_what_is_anothers(served: Served, client: MemoryClient) -> None:
    [secret] = client.add("The key is under the stone.", user_id="ana", infer=False)["results"]
    other = served.client("two")
    for filters in (ANA, {"user_id": "*"}, {"OR": [ANA, {"memory_ids": {"in": [secret["id"]]}}]}):
        assert other.search("key stone", filters=filters, threshold=0)["results"] == []
        assert other.get_all(filters=filters)["count"] == 0
    for call in (other.get, other.delete, lambda id: other.update(id, text="gone")):
        with pytest.raises(MemoryNotFoundError):
            call(secret["id"])
    assert other.history(secret["id"]) == []
    other.delete_all(user_id="*")
    other.batch_delete([{"memory_id": secret["id"]}])
    assert other.users()["count"] == 0
    assert client.get(secret["id"])["memory"] == "The key is under the stone."


def test_what_a_key_may_not_is_refused(served: Served, client: MemoryClient) -> None:
    reader = served.client("reader")
    with pytest.raises(AuthenticationError, match="memories:write"):
        reader.add("x", user_id="ana", infer=False)
    with pytest.raises(ValidationError, match="at least one"):
        client.search("x", filters={"topic": "home"})
    with pytest.raises(ValueError, match="no valid key"):
        MemoryClient(api_key="wrong", host=served.host)
