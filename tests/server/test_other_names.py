"""The other names of fields: the calls of a document about scoring, run as they are written."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import httpx
import pytest

from salience import Memory
from salience.access import SCOPES, Keyring
from salience.stores import open_store
from support.documented import Document
from support.real_server import RealServer, real_server

CREATE = """curl -X POST https://api.mymemoryos.com/v1/memories \\
-H "Authorization: Bearer $MEMORY_OS_API_KEY" \\
-H "Content-Type: application/json" \\
-d '{
"content": "The user runs the firm and wants short answers",
"tier": "long",
"content_type": "fact",
"importance_score": 0.95,
"metadata": {"category": "user-profile"}
}'"""
FEEDBACK = """curl -X POST https://api.mymemoryos.com/v1/feedback \\
-H "Authorization: Bearer $MEMORY_OS_API_KEY" \\
-H "Content-Type: application/json" \\
-d '{
"memory_id": "memory-id",
"type": "useful",
"context": "It answered the question"
}'"""
SEARCH = """curl -X POST https://api.mymemoryos.com/v1/search \\
-H "Authorization: Bearer $MEMORY_OS_API_KEY" \\
-H "Content-Type: application/json" \\
-d '{
"query": "User preferences",
"threshold": 0.8,
"limit": 10
}'"""


class Keyed:
    """A server whose store has one key, and curl."""

    def __init__(self, server: RealServer, key: str) -> None:
        self.server, self.key = server, key

    def curl(self, command: str) -> Any:
        """What a command prints, at the address of the server and with the key."""
        script = command.replace("https://api.mymemoryos.com", self.server.url)
        ran = subprocess.run(
            ["bash", "-c", script.replace("curl ", "curl -sS --fail-with-body ", 1)],
            env={**os.environ, "MEMORY_OS_API_KEY": self.key},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return json.loads(ran.stdout)


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keyed]:
    db = tmp_path_factory.mktemp("keyed") / "memory.db"
    with closing(open_store(str(db))) as store, Keyring(store) as keyring:
        key = keyring.create("ana", SCOPES).text
    with Memory.open(db, namespace="ana") as memory:
        memory.add("User prefers answers in short lists", id="memory-id", importance=1.0)
    with real_server(db) as server:
        yield Keyed(server, key)


def test_a_memory_is_made(keyed: Keyed) -> None:
    id = keyed.curl(CREATE)["id"]
    with keyed.server.client(keyed.key) as client:
        record = client.get(f"/memories/{id}").json()
    assert record["content"] == "The user runs the firm and wants short answers"
    assert (record["tier"], record["content_type"]) == ("long", "fact")
    assert record["importance"] == 0.95
    assert record["metadata"] == {"category": "user-profile"}


def test_feedback_is_recorded(keyed: Keyed) -> None:
    judged = keyed.curl(FEEDBACK)
    assert judged["feedback_for"] == 1.0
    assert (judged["importance_score"], judged["relevance_score"]) == (1.0, 0.6)


def test_whatever_answers_has_the_scores_with_their_defaults(client: httpx.Client) -> None:
    given = client.post("/memories", json={"content": "A.", "importance_score": 0.9}).json()
    assert (given["importance_score"], given["relevance_score"]) == (0.9, 0.5)
    unset = client.post("/memories", json={"content": "Tea is hot.", "importance_score": None})
    assert unset.status_code == 201
    id, scores = unset.json()["id"], ("importance_score", "relevance_score")
    assert [unset.json()[name] for name in scores] == [0.5, 0.5]
    again = client.post("/memories", json={"content": "Tea is hot.", "importance_score": 0.7})
    assert again.status_code == 200
    assert [again.json()[name] for name in scores] == [0.7, 0.5]  # those of what was there
    body = {"memory_id": id, "type": "useful"}
    judged = client.post("/feedback", json=body).json()
    assert [judged[name] for name in scores] == [0.7, 0.6]
    changed = client.patch(f"/memories/{id}", json={"importance_score": 0.3})
    assert [changed.json()[name] for name in scores] == [0.3, 0.6]
    assert changed.headers["ETag"] == f'"{changed.json()["version"]}"'
    own = client.patch(f"/memories/{id}", json={"importance": 0.4}).json()
    assert own["importance"] == 0.4
    assert "importance_score" not in own


def test_a_search_has_results_above_its_threshold(keyed: Keyed) -> None:
    answer = keyed.curl(SEARCH)
    assert answer["threshold"] == 0.8
    assert answer["search_type"] == "semantic"
    assert answer["profile"] == "six_factor"
    assert all(result["combined_score"] >= 0.8 for result in answer["results"])
    low = keyed.curl(SEARCH.replace("0.8", "0.3"))
    [result, *_] = low["results"]
    for name in ("id", "content", "similarity", "combined_score", "relevance_score", "tier"):
        assert name in result
    assert 0.3 <= result["combined_score"] <= 1.0
    assert result["created_at"].endswith("Z")


@pytest.fixture
def other(client: httpx.Client, document: Document) -> httpx.Client:
    for tier, nature in (("short", "episodic"), ("long", "semantic"), ("long", "episodic")):
        body = {"content": f"A {tier} {nature} thought.", "tier": tier, "memory_nature": nature}
        assert client.post("/memories", json=body).status_code == 201
    return client


def test_fields_of_a_memory_are_filters_of_a_search(other: httpx.Client) -> None:
    query = {"query": "a thought", "tier": "long", "memory_nature": "semantic"}
    [result] = other.post("/search", json=query).json()["results"]
    assert (result["tier"], result["memory_nature"]) == ("long", "semantic")
    both = {**query, "filters": {"tier": "short"}}
    assert other.post("/search", json=both).json()["results"] == []
    text = other.post("/context", json={"query": "a thought", "tier": "short"}).json()["text"]
    assert "short episodic" in text
    assert "long" not in text


def test_a_search_in_the_own_names_has_hits(other: httpx.Client) -> None:
    answer = other.post("/search", json={"query": "a thought"}).json()
    assert answer["profile"] == "balanced"
    assert len(answer["hits"]) == 3


@pytest.mark.parametrize("name", ["threshold", "tier", "memory_nature", "content_type"])
def test_a_name_without_a_value_is_no_reason_for_another_profile(
    other: httpx.Client, name: str
) -> None:
    answer = other.post("/search", json={"query": "a thought", name: None}).json()
    assert answer["profile"] == "balanced"
    own = other.post("/search", json={"query": "a thought"}).json()
    assert [each["id"] for each in answer["results"]] == [each["id"] for each in own["hits"]]
    assert (
        other.post("/explain", json={"query": "a thought", "id": own["hits"][0]["id"]}).json()[
            "profile"
        ]
        == "balanced"
    )


def test_both_names_of_a_field_are_refused(other: httpx.Client) -> None:
    for path, body in (
        ("/search", {"query": "x", "threshold": 0.5, "options": {"min_score": 0.5}}),
        ("/memories", {"content": "x", "importance_score": 0.5, "importance": 0.5}),
        ("/feedback", {"id": "x", "memory_id": "x", "kind": "useful"}),
    ):
        assert other.post(path, json=body).status_code == 422


def test_the_importance_of_a_memory_is_changed(other: httpx.Client) -> None:
    id = other.post("/memories", json={"content": "A plan."}).json()["id"]
    changed = other.patch(f"/memories/{id}", json={"importance_score": 0.8})
    assert changed.json()["importance"] == 0.8


def test_answers_in_other_names_are_documented(other: httpx.Client, document: Document) -> None:
    answer = other.post("/search", json={"query": "a thought", "threshold": 0.1}).json()
    document.validate({"$ref": "#/components/schemas/ResultsAnswer"}, answer)
