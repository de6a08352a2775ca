"""Keys: what is another tenant's does not exist, with any operation and in any argument."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

import httpx
import pytest

from salience import Memory
from salience.access import SCOPES, Keyring
from salience.server.routes import OPERATIONS
from salience.stores import open_store
from support.documented import Document, documented
from support.real_server import RealServer, real_server

SECRET = "Ana keeps the key of the safe under the third stone."
OPEN = [each for each in OPERATIONS if each.scope is None]
GUARDED = [each for each in OPERATIONS if each.scope is not None]


@dataclass
class Tenants:
    """A server with the memories of Ana and of Ben, and keys."""

    server: RealServer
    document: Document
    keys: dict[str, str]

    def client(self, owner: str | None) -> httpx.Client:
        key = None if owner is None else self.keys[owner]
        return documented(self.server.client(key), self.document)


@pytest.fixture(scope="module")
def tenants(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tenants]:
    db = tmp_path_factory.mktemp("tenants") / "memory.db"
    an_hour_ago = datetime.now(timezone.utc) - timedelta(hours=1)
    with closing(open_store(str(db))) as store:
        with Keyring(store) as keyring:
            keys = {
                "ana": keyring.create("ana", SCOPES).text,
                "ben": keyring.create("ben", SCOPES).text,
                "reader": keyring.create("ana", "memories:read").text,
                "all": keyring.create("*", SCOPES).text,
            }
        with Keyring(store, clock=lambda: an_hour_ago) as past:
            expires_at = an_hour_ago + timedelta(minutes=1)
            keys["expired"] = past.create("ana", SCOPES, expires_at=expires_at).text
    keys["wrong"] = keys["ana"][:-10] + "A" * 10
    with Memory.open(db, namespace="ana") as memory:
        memory.add(SECRET, id="note-1", tags=["safe"])
        memory.add("Ana has a boat.", id="note-2")
        memory.archive(["note-2"])
    with real_server(db) as server:
        document = Document(httpx.get(f"{server.url}/openapi.json").json())
        yield Tenants(server, document, keys)


def request_of(operation: Any) -> tuple[str, str, dict[str, Any]]:
    """The method, path and body of an operation's example."""
    path = operation.path.format(id="note-1", key_id="none", name="balanced")
    options: dict[str, Any] = {} if operation.example is None else {"json": operation.example}
    if operation.id == "load":
        options = {"content": b"", "headers": {"Content-Type": "application/x-ndjson"}}
    return operation.method, path, options


@pytest.mark.parametrize("owner", [None, "expired", "wrong"])
def test_nothing_is_told_without_a_valid_key(tenants: Tenants, owner: str | None) -> None:
    with tenants.client(owner) as client:
        for each in GUARDED:
            method, path, options = request_of(each)
            refused = client.request(method, path, **options)
            assert refused.status_code in (401, 429), each.id  # who goes on asking is held up
            assert "Bearer" in refused.headers.get("WWW-Authenticate", "Bearer")


def test_health_needs_no_key(tenants: Tenants) -> None:
    with tenants.client(None) as client:
        for each in OPEN:
            assert client.request(each.method, each.path).status_code == 200, each.id


def test_another_tenant_s_namespace_is_not_there(tenants: Tenants) -> None:
    """The answer is the one for a namespace that nobody has."""
    with tenants.client("ben") as client:
        for each in GUARDED:
            method, path, options = request_of(each)
            bodies = []
            for namespace in ("ana", "nobody"):
                headers = {**options.get("headers", {}), "Salience-Namespace": namespace}
                refused = client.request(method, path, **{**options, "headers": headers})
                assert refused.status_code == 404, f"{each.id}: {refused.text}"
                bodies.append({**refused.json(), "instance": ""})
            assert bodies[0] == bodies[1], each.id


def test_another_tenant_s_ids_are_not_there(tenants: Tenants) -> None:
    with tenants.client("ben") as client:
        for each in GUARDED:
            if "{id}" not in each.path:
                continue
            method, path, options = request_of(each)
            texts = []
            for id in ("note-1", "note-9"):
                refused = client.request(method, path.replace("note-1", id), **options)
                assert refused.status_code == 404, f"{each.id}: {refused.text}"
                texts.append(refused.json()["detail"].replace(id, "ID"))
            assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/search", {"query": "safe", "namespaces": ["ana"]}),
        ("/search", {"query": "safe", "namespaces": ["ben", "ana"]}),
        ("/explain", {"query": "safe", "id": "note-1", "namespaces": ["ana"]}),
        ("/explain", {"query": "safe", "id": "note-1", "everywhere": True}),
        ("/explain", {"query": "safe", "id": "note-1"}),
        (
            "/compare",
            {"query": "safe", "profiles": ["balanced", "vitality"], "namespaces": ["ana"]},
        ),
        ("/context", {"query": "safe", "sections": [{"name": "team", "namespace": "ana"}]}),
        ("/feedback", {"id": "note-1", "kind": "useful"}),
        ("/touch", {"ids": ["note-1"]}),
        ("/supersede", {"old": "note-1", "new": "note-2"}),
        ("/links", {"source": "note-1", "target": "note-2"}),
        ("/archive", {"ids": ["note-1"]}),
        ("/unarchive", {"ids": ["note-2"]}),
    ],
)
def test_no_argument_reaches_another_tenant(tenants: Tenants, path: str, body: Any) -> None:
    with tenants.client("ben") as client:
        refused = client.post(path, json=body)
        assert refused.status_code == 404, refused.text
        assert "stone" not in refused.text


def test_a_run_of_another_tenant_cannot_be_undone(tenants: Tenants) -> None:
    with tenants.client("ana") as ana, tenants.client("ben") as ben:
        run = ana.post("/archive", json={"ids": ["note-1"]}).json()["run"]
        assert ben.post("/undo", json={"run": run}).status_code == 404
        assert ana.post("/undo", json={"run": run}).status_code == 200


def test_what_concerns_all_namespaces_needs_a_key_of_all(tenants: Tenants) -> None:
    with tenants.client("ben") as ben, tenants.client("all") as everybody:
        for path in ("/stats?everywhere=true", "/export?everywhere=true"):
            assert ben.get(path).status_code == 404
            assert everybody.get(path).status_code == 200
        assert set(ben.get("/stats").json()["namespaces"]) <= {"ben"}


def test_a_cursor_of_another_tenant_shows_nothing_of_it(tenants: Tenants) -> None:
    with tenants.client("ana") as ana, tenants.client("ben") as ben:
        for place in range(3):
            ana.post("/memories", json={"content": f"Ana saw a heron on day {place}."})
        cursor = ana.get("/memories?limit=1").json()["cursor"]
        assert cursor
        assert ben.get("/memories", params={"cursor": cursor}).json()["memories"] == []
        assert ben.get("/memories", params={"limit": 50}).json()["total"] == 0


def test_a_listing_or_search_has_nothing_of_another_tenant(tenants: Tenants) -> None:
    with tenants.client("ben") as client:
        for each in GUARDED:
            if "{id}" in each.path or each.id in ("load", "delete_many"):
                continue
            method, path, options = request_of(each)
            answer = client.request(method, path, **options)
            assert "stone" not in answer.text, each.id
            assert "boat" not in answer.text, each.id


def test_a_key_does_only_what_its_scopes_say(tenants: Tenants) -> None:
    with tenants.client("reader") as client:
        assert client.get("/memories/note-1").status_code == 200
        for each in GUARDED:
            if each.scope in ("", "memories:read"):
                continue
            method, path, options = request_of(each)
            refused = client.request(method, path, **options)
            assert refused.status_code == 403, each.id
            assert each.scope in refused.json()["detail"]


@pytest.mark.parametrize("name", ["Authorization: Bearer", "Authorization: Token", "X-API-Key:"])
def test_a_key_comes_in_each_of_three_ways(tenants: Tenants, name: str) -> None:
    field, _, scheme = name.partition(": ")
    headers = {field.rstrip(":"): f"{scheme} {tenants.keys['ana']}".strip()}
    assert httpx.get(f"{tenants.server.url}/v1/key", headers=headers).json()["namespace"] == "ana"


def test_a_key_in_a_url_is_refused(tenants: Tenants) -> None:
    url = f"{tenants.server.url}/v1/stats?api_key={tenants.keys['ana']}"
    assert httpx.get(url).status_code == 400
