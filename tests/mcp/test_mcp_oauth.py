"""MCP at a server that takes access tokens: its metadata, and the scopes of a token."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.mcp_client import over_http
from support.real_server import RealServer
from support.token_issuer import AUDIENCE, ISSUER, Issuer, token_issuer


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with token_issuer() as issuer:
        yield issuer


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, issuer: Issuer) -> Iterator[RealServer]:
    db: Path = tmp_path_factory.mktemp("mcp") / "memory.db"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SALIENCE_OAUTH_ISSUER", ISSUER)
        patch.setenv("SALIENCE_OAUTH_AUDIENCE", AUDIENCE)
        patch.setenv("SALIENCE_OAUTH_JWKS_URL", issuer.url)
        running = RealServer(db, "--embedder", "none")
    yield running
    running.kill()


def call(server: RealServer, token: str | None, tool: str, **arguments: Any) -> httpx.Response:
    fields = {"Accept": "application/json, text/event-stream"}
    fields |= {} if token is None else {"Authorization": f"Bearer {token}"}
    params = {"name": tool, "arguments": arguments}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return httpx.post(f"{server.url}/mcp", json=body, headers=fields, timeout=300)


def test_who_has_no_token_is_told_where_to_get_one(server: RealServer) -> None:
    refused = call(server, None, "list_memories")
    assert refused.status_code == 401
    assert 'resource_metadata="https://' in refused.headers["www-authenticate"]
    metadata = httpx.get(f"{server.url}/.well-known/oauth-protected-resource/v1").json()
    assert metadata["resource"] == AUDIENCE


def test_a_token_has_its_scopes(server: RealServer, issuer: Issuer) -> None:
    reader = issuer.token()
    assert not call(server, reader, "list_memories").json()["result"]["isError"]
    refused = call(server, reader, "add_memory", content="x")
    assert refused.status_code == 403
    assert refused.headers["www-authenticate"] == (
        'Bearer error="insufficient_scope", scope="memories:write"'
    )
    writer = issuer.token(scope="memories:read memories:write")
    assert not call(server, writer, "add_memory", content="x").json()["result"]["isError"]


def test_a_token_for_another_audience_is_none(server: RealServer, issuer: Issuer) -> None:
    other = issuer.token(aud="https://other.example.com")
    assert call(server, other, "list_memories").status_code == 401


def test_a_client_works_with_a_token(server: RealServer, issuer: Issuer) -> None:
    fields = {"Authorization": f"Bearer {issuer.token()}", "Salience-Namespace": "team/x"}
    with over_http(f"{server.url}/mcp", fields) as connection:
        names = [tool.name for tool in connection.await_("list_tools").tools]
        assert "add_memory" not in names
        assert connection.call("list_memories")["total"] == 0


def test_a_server_that_was_asked_stops_well(tmp_path: Path) -> None:
    server = RealServer(tmp_path / "memory.db", "--embedder", "none")
    try:
        with over_http(f"{server.url}/mcp") as connection:
            connection.call("add_memory", content="The last one.")
            assert server.stop() == 0
    finally:
        server.kill()
