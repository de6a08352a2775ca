"""MCP at /mcp of a server with several workers: keys, namespaces, scopes, versions, the guard."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from mcp import MCPError
from salience.access import Keyring
from salience.mcp.tools import CORE
from support.mcp_client import Connection, connected, in_process, over_http, process
from support.real_server import RealServer, real_server
from support.waiting import HANG_SECONDS, until

ACCEPT = {"Accept": "application/json, text/event-stream"}
ALL = ("memories:read", "memories:write", "memories:delete", "upkeep")


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mcp") / "memory.db"


@pytest.fixture(scope="module")
def log(db: Path) -> Path:
    return db.with_name("server.log")


@pytest.fixture(scope="module")
def server(db: Path, log: Path, owner: str) -> Iterator[RealServer]:
    with real_server(db, "--workers", "2", log=log) as running:
        yield running


def key(db: Path, *namespaces: str, scopes: tuple[str, ...] = ALL, **options: Any) -> str:
    with Keyring.open(str(db)) as keys:
        return keys.create(namespaces, scopes, **options).text


@pytest.fixture(scope="module")
def owner(db: Path) -> str:
    return key(db, "*")


def bearer(secret: str, **fields: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}", **fields}


@pytest.fixture(scope="module")
def connection(server: RealServer, db: Path) -> Iterator[Connection]:
    with over_http(f"{server.url}/mcp", bearer(key(db, "ana"))) as connection:
        yield connection


def test_the_core_is_listed_in_its_order(connection: Connection) -> None:
    listed = connection.await_("list_tools").tools
    assert [tool.name for tool in listed] == [tool.name for tool in CORE]


def test_what_is_added_here_is_found_over_rest_and_over_a_bridge(
    connection: Connection, server: RealServer, db: Path
) -> None:
    id = connection.call("add_memory", content=f"The code of the gate is {uuid4().hex}.")["id"]
    secret = key(db, "ana")
    with server.client(secret) as rest:
        hits = rest.post("/search", json={"query": "the code of the gate"}).json()["hits"]
        assert id in [hit["id"] for hit in hits]
    bridge = process("--db", server.url, "mcp", SALIENCE_API_KEY=secret)
    with connected(bridge) as bridged:
        found = bridged.call("search_memories", query="the code of the gate")["memories"]
        assert id in [each["id"] for each in found]
        assert bridged.call("delete_memory", id=id) == {"id": id, "deleted": 1, "restored": []}
    assert "no memory" in connection.refused("get_memory", id=id)


def test_nothing_of_another_namespace_is_seen(
    connection: Connection, server: RealServer, db: Path
) -> None:
    id = connection.call("add_memory", content="Ana's secret is a cello.")["id"]
    with over_http(f"{server.url}/mcp", bearer(key(db, "ben"))) as other:
        assert other.call("search_memories", query="secret cello")["memories"] == []
        assert other.call("list_memories")["total"] == 0
        refusals = [
            other.refused("get_memory", id=id),
            other.refused("update_memory", id=id, content="x"),
            other.refused("give_feedback", id=id, verdict="useful"),
            other.refused("delete_memory", id=id),
        ]
        assert all("there is no memory" in refusal for refusal in refusals)
        assert other.refused("add_memory", content="x", supersedes=id)
        assert "not a parameter" in other.refused("search_memories", query="x", namespace="ana")
    assert connection.call("get_memory", id=id)["memories"][0]["version"] == 1


def test_a_namespace_that_the_key_does_not_have_is_not_there(server: RealServer, db: Path) -> None:
    fields = bearer(key(db, "ben"), **{"Salience-Namespace": "ana"})
    assert post(server, fields, "tools/list").status_code == 404


def test_the_configuration_of_a_client_chooses_among_the_namespaces_of_its_key(
    server: RealServer, owner: str
) -> None:
    for name in ("one", "two"):
        fields = bearer(owner, **{"Salience-Namespace": name})
        with over_http(f"{server.url}/mcp", fields) as connection:
            connection.call("add_memory", content=f"This is the namespace {name}.")
            [found] = connection.call("list_memories")["memories"]
            assert name in found["content"]


def test_scopes_decide_what_is_listed_and_allowed(server: RealServer, db: Path) -> None:
    secret = key(db, "ana", scopes=("memories:read",))
    with over_http(f"{server.url}/mcp", bearer(secret)) as connection:
        listed = [tool.name for tool in connection.await_("list_tools").tools]
        assert listed == ["search_memories", "get_context", "get_memory", "list_memories"]
        refusal = connection.refused("add_memory", content="x")
        assert refusal.startswith("add_memory needs the scope memories:write")


def test_a_bridge_offers_what_its_key_may_do(server: RealServer, db: Path) -> None:
    secret = key(db, "ana", scopes=("memories:read",))
    bridge = process("--db", server.url, "mcp", SALIENCE_API_KEY=secret)
    with connected(bridge) as connection:
        listed = [tool.name for tool in connection.await_("list_tools").tools]
        assert listed == ["search_memories", "get_context", "get_memory", "list_memories"]


def test_a_bridge_whose_server_has_gone_says_so(tmp_path: Path) -> None:
    with (
        real_server(tmp_path / "memory.db", "--embedder", "none") as server,
        in_process(server.url, timeout=HANG_SECONDS) as connection,
    ):
        assert connection.call("list_memories")["total"] == 0
        server.kill()
        assert server.url in connection.refused("list_memories")


def test_the_url_chooses_a_set_of_tools(server: RealServer, owner: str) -> None:
    url = f"{server.url}/mcp?tools=get_memory,add_memory"
    with over_http(url, bearer(owner)) as connection:
        listed = [tool.name for tool in connection.await_("list_tools").tools]
        assert listed == ["add_memory", "get_memory"]
        with pytest.raises(MCPError, match="Unknown tool: search_memories"):
            connection.result("search_memories", query="x")
    assert post(server, bearer(owner), "tools/list", "?tools=nothing").status_code == 422


def test_no_key_and_an_expired_one_are_refused(server: RealServer, db: Path) -> None:
    assert post(server, {}, "tools/list").status_code == 401
    soon = datetime.now(timezone.utc) + timedelta(seconds=1)
    secret = key(db, "ana", expires_at=soon)
    until(lambda: post(server, bearer(secret), "tools/list").status_code == 401)
    refused = post(server, bearer(f"{secret}x"), "tools/list")
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize("version", [*HANDSHAKE_PROTOCOL_VERSIONS[2:], "2026-07-28"])
def test_every_version_is_served_by_the_same_address(
    server: RealServer, owner: str, version: str
) -> None:
    listed = post(server, bearer(owner), "tools/list", version=version).json()["result"]["tools"]
    assert [tool["name"] for tool in listed] == [tool.name for tool in CORE]
    result = call(server, owner, version, "search_memories", {"query": "x", "limit": 0})
    assert result["isError"]
    assert "limit" in result["content"][0]["text"]


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_a_client_of_either_age_is_served(server: RealServer, db: Path, mode: str) -> None:
    with over_http(f"{server.url}/mcp", bearer(key(db, mode)), mode=mode) as connection:
        id = connection.call("add_memory", content="A note of this version.")["id"]
        assert connection.call("get_memory", id=id)["memories"][0]["id"] == id


def test_the_guard_stands_before_it(server: RealServer, owner: str) -> None:
    fields = bearer(owner)
    assert post(server, {**fields, "Host": "evil.example"}, "tools/list").status_code == 421
    assert (
        post(server, {**fields, "Origin": "http://evil.example"}, "tools/list").status_code == 403
    )
    answer = post(server, fields, "tools/list")
    assert answer.headers["x-request-id"]
    assert "ratelimit" in answer.headers
    assert httpx.get(f"{server.url}/mcp", headers=fields | ACCEPT).status_code == 405
    plain = {**fields, **ACCEPT, "Content-Type": "text/plain"}
    assert httpx.post(f"{server.url}/mcp", headers=plain, content=b"{}").status_code == 415


def test_metrics_and_logs_name_the_route_and_the_tool(
    server: RealServer, owner: str, log: Path
) -> None:
    post(server, bearer(owner), "tools/list")
    post(server, bearer(owner), "tools/call", name="get_context", arguments={"query": "gate"})
    post(server, bearer(owner), "tools/call", name="no such tool", arguments={})
    metrics = httpx.get(f"{server.url}/metrics").text
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    for route in ("/mcp", "/mcp#get_context"):
        assert f'salience_request_seconds_count{{method="POST",route="{route}"}}' in metrics
        assert any(line["route"] == route and line["status"] == 200 for line in lines)
    assert "no such tool" not in metrics


def post(
    server: RealServer,
    fields: dict[str, str],
    method: str,
    query: str = "",
    version: str = "2025-06-18",
    **params: Any,
) -> httpx.Response:
    """The answer to one request as it is on the wire."""
    headers = {**ACCEPT, **fields, "MCP-Protocol-Version": version}
    if version == "2026-07-28":
        headers["Mcp-Method"] = method
        if "name" in params:
            headers["Mcp-Name"] = params["name"]
        start = "io.modelcontextprotocol/"
        params["_meta"] = {
            f"{start}protocolVersion": version,
            f"{start}clientInfo": {"name": "test", "version": "1"},
            f"{start}clientCapabilities": {},
        }
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return httpx.post(f"{server.url}/mcp{query}", json=body, headers=headers, timeout=300)


def call(server: RealServer, owner: str, version: str, name: str, arguments: Any) -> Any:
    answer = post(
        server, bearer(owner), "tools/call", version=version, name=name, arguments=arguments
    )
    return answer.json()["result"]
