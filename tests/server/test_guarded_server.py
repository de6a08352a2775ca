"""The guard around the whole server, as `salience serve` starts it."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from support.real_server import RealServer, real_server

BODY = {"content": "Ana moved to Lisbon in March."}
KEY = {"Idempotency-Key": "one"}


def test_a_memory_is_added_once_however_often_its_request_comes(tmp_path: Path) -> None:
    db = tmp_path / "memory.db"
    with real_server(db) as server, server.client() as client:
        first = client.post("/memories", json=BODY, headers=KEY)
        assert first.status_code == 201
        assert "idempotency-replayed" not in first.headers
        other = client.post("/memories", json={"content": "Ben."}, headers=KEY)
        assert other.status_code == 422
        assert server.stop() == 0
    with real_server(db) as server, server.client() as client:
        for key in ("one", '"one"'):
            again = client.post("/memories", json=BODY, headers={"Idempotency-Key": key})
            assert (again.status_code, again.json()["id"]) == (201, first.json()["id"])
            assert again.headers["idempotency-replayed"] == "true"
        metrics = client.get("/metrics").text
        assert 'method="POST",route="/v1/memories",status="201"} 2.0' in metrics
        assert client.post("/memories/count").json() == {"count": 1}


def test_a_search_is_counted_and_logged_without_its_words(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    with real_server(tmp_path / "memory.db", log=log) as server, server.client() as client:
        client.post("/memories", json=BODY)
        client.post("/search", json={"query": "Where does Ana live?"})
        client.post("/search", json={"query": "???"})
        metrics = client.get("/metrics").text
        assert server.stop() == 0
    assert 'salience_requests_total{method="POST",route="/v1/search",status="200"} 2.0' in metrics
    assert 'salience_degraded_searches_total{reason="lexical"} 1.0' in metrics
    text = log.read_text()
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    searches = [line for line in lines if line["route"] == "/v1/search"]
    assert searches[0]["counts"]["found"] == 1
    assert searches[0]["key"] == "local"
    assert "Ana" not in text
    assert "Lisbon" not in text


def test_a_key_writes_no_more_than_its_rate_and_reads_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SALIENCE_WRITE_RATE", "3/3600")
    with real_server(tmp_path / "memory.db") as server, server.client() as client:
        added = [client.post("/memories", json={"content": f"Fact {i}."}) for i in range(4)]
        assert [answer.status_code for answer in added] == [201, 201, 201, 429]
        assert added[-1].json()["code"] == "RateLimited"
        assert "writes" in added[-1].json()["detail"]
        assert int(added[-1].headers["retry-after"]) > 0
        assert client.request("DELETE", "/memories/none").status_code == 429
        assert client.post("/undo/actor", json={"actor": "x", "since": 0}).status_code == 429
        assert client.post("/search", json={"query": "Fact"}).status_code == 200
        assert client.post("/memories/count").json() == {"count": 3}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Encoding": "gzip"}, 415),
        ({"X-Forwarded-For": "10.0.0.1"}, 401),
    ],
)
@pytest.mark.parametrize("path", ["/search", "/memories", "/decay", "/nowhere"])
def test_no_page_of_another_site_reaches_an_operation(
    server: RealServer, headers: dict[str, str], status: int, path: str
) -> None:
    content = json.dumps({"query": "x"}).encode()
    fields = {"Content-Type": "application/json"} | headers
    answer = httpx.post(f"{server.url}/v1{path}", content=content, headers=fields)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["instance"] == answer.headers["x-request-id"]
