"""Candidates and parts over HTTP, and answers that are compressed."""

from __future__ import annotations

from typing import Any

import httpx

from support.real_server import RealServer


def test_profiles_list_their_parts_as_candidates_do(client: httpx.Client) -> None:
    client.post("/memories", json={"content": "Ana has bread."}).raise_for_status()
    for named in client.get("/profiles").json()["profiles"]:
        parts = client.get(f"/profiles/{named['name']}").json()["parts"]
        body = {"query": "Who has bread?", "profile": named["name"]}
        listed = client.post("/candidates", json=body).json()["parts"]
        assert parts == [{n: v for n, v in part.items() if n != "values"} for part in listed]


def test_a_profile_is_given_with_other_weights(client: httpx.Client) -> None:
    client.post("/memories", json={"content": "Ana has bread."}).raise_for_status()
    given = client.get("/profiles/balanced", params={"weights": '{"semantic": 3}'}).json()
    assert {part["name"]: part["weight"] for part in given["parts"]}["semantic"] == 3
    body: dict[str, Any] = {"query": "Who has bread?", "touch": False}
    [by_file] = client.post("/search", json={**body, "profile": given["profile"]}).json()["hits"]
    body["options"] = {"weights": {"semantic": 3}}
    [by_name] = client.post("/search", json=body).json()["hits"]
    assert by_file["score"] == by_name["score"]
    refused = client.get("/profiles/balanced", params={"weights": '{"nothing": 3}'})
    assert (refused.status_code, "nothing" in refused.json()["detail"]) == (422, True)


def test_a_context_lists_what_was_considered(client: httpx.Client) -> None:
    items = [f"Ana has bread number {number}. {'x' * 200}" for number in range(5)]
    client.post("/memories/batch", json={"items": items}).raise_for_status()
    body = {"query": "Who has bread?", "max_tokens": 150, "touch": False}
    assert client.post("/context", json=body).json()["considered"] == []
    told = client.post("/context", json={**body, "options": {"trace": True}}).json()
    outcomes = [each["outcome"] for each in told["considered"]]
    assert (len(outcomes), outcomes[0], outcomes[-1]) == (5, "in", "no room")
    assert (
        sum(e["tokens"] for e in told["considered"] if e["outcome"] != "no room") == told["tokens"]
    )


def test_an_answer_is_compressed_where_the_client_asks(client: httpx.Client) -> None:
    items = [f"Ana has bread number {number}." for number in range(300)]
    client.post("/memories/batch", json={"items": items}).raise_for_status()

    def listed(encoding: str, limit: int) -> httpx.Response:
        headers = {"Accept-Encoding": encoding}
        return client.get("/memories", params={"limit": limit}, headers=headers)

    plain, compressed, small = listed("identity", 200), listed("gzip", 200), listed("gzip", 1)
    assert "content-encoding" not in plain.headers.keys() | small.headers.keys()
    assert compressed.headers["content-encoding"] == "gzip"
    assert compressed.content == plain.content
    assert int(compressed.headers["content-length"]) * 8 < int(plain.headers["content-length"])


def test_a_stream_is_compressed_as_it_goes(server: RealServer, client: httpx.Client) -> None:
    client.post("/memories", json={"content": "Ana has bread."}).raise_for_status()
    answer = client.get("/export", headers={"Accept-Encoding": "gzip"})
    assert answer.headers["content-encoding"] == "gzip"
    assert "Ana has bread." in answer.text
