"""A refusal names the field by the name and at the place that the request has."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from salience.ranking.profiles import BUILT_IN
from support.asked import in_options

HALF = '"tea \\ud83d"'  # as a program writes a text that it has cut within an emoji
NO_OPERATOR = '{"kind": {"zz": 1}}'


@pytest.fixture
def tea(client: httpx.Client) -> str:
    client.post("/memories", json={"id": "tea", "content": "Ana likes green tea."})
    return "tea"


@pytest.mark.parametrize(
    ("call", "body", "field", "pointer"),
    [
        ("POST /memories", '{"content": "x", "importance_score": 7}', "importance_score", ""),
        ("PATCH /memories/tea", '{"importance_score": 7}', "importance_score", ""),
        ("POST /feedback", '{"memory_id": "tea", "type": "zz"}', "type", ""),
        ("POST /feedback", '{"memory_id": "", "kind": "useful"}', "memory_id", ""),
        ("POST /search", '{"query": "tea", "threshold": 1e308}', "threshold", ""),
        ("POST /search", '{"query": "tea", "tier": "zz"}', "tier", ""),
        ("POST /context", '{"query": "tea", "content_type": "zz"}', "content_type", ""),
        (
            "POST /search",
            f'{{"query": "tea", "tier": "long", "filters": {NO_OPERATOR}}}',
            "filters.kind",
            "#/filters/kind",
        ),
        ("POST /search", '{"query": "tea", "profile": {}}', "profile.name", "#/profile/name"),
        (
            "POST /search",
            '{"query": "tea", "profile": {"name": "p", "stages": [{"zz": 1}]}}',
            "profile.stages[0]",
            "#/profile/stages/0",
        ),
        (
            "POST /compare",
            '{"query": "tea", "profiles": ["balanced", "zz"]}',
            "profiles[1]",
            "#/profiles/1",
        ),
        ("POST /supersede", json.dumps({"old": "x" * 600, "new": "tea"}), "old", ""),
        ("POST /supersede", json.dumps({"old": "tea", "new": "x" * 600}), "new", ""),
        ("POST /memories", f'{{"content": {HALF}}}', "content", ""),
        (
            "POST /memories",
            f'{{"content": "x", "metadata": {{"a": [{HALF}]}}}}',
            "metadata.a[0]",
            "#/metadata/a/0",
        ),
        (
            "POST /search",
            f'{{"query": "tea", "filters": {{"kind": {HALF}}}}}',
            "filters.kind",
            "#/filters/kind",
        ),
        ("POST /search", f'{{"query": {HALF}, "limit": "3"}}', "limit", ""),
        ("POST /questions", f'{{"query": {HALF}, "relevant": ["tea"]}}', "query", ""),
        ("POST /memories/delete", '{"ids": ["tea"], "all": true}', "ids", ""),
    ],
)  # fmt: skip
def test_the_field_is_named_as_it_was_sent(
    client: httpx.Client, tea: str, call: str, body: str, field: str, pointer: str
) -> None:
    verb, path = call.split()
    answer = client.request(verb, path, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422, answer.text
    [error] = answer.json()["errors"]
    assert error["field"] == field
    assert error["pointer"] == (pointer or f"#/{field}")
    assert answer.json()["detail"].startswith(f"{field}: ")


def test_alternatives_are_told(client: httpx.Client, tea: str) -> None:
    for path, body, told in (
        ("/memories/delete", {}, "give one of ids, filters, all"),
        ("/explain", {"query": "tea"}, "give one of id, ids"),
        ("/explain", {"query": "tea", "id": "tea", "ids": ["tea"]}, "besides ids"),
        ("/feedback", {"kind": "useful"}, "give one of id, memory_id"),
    ):
        assert told in client.post(path, json=body).json()["detail"]


@pytest.mark.parametrize("argument", ["query", "lexical", "semantic"])
@pytest.mark.parametrize("path", ["/search", "/context", "/explain", "/candidates"])
def test_half_an_emoji_in_a_question_is_a_question_mark(
    client: httpx.Client, tea: str, path: str, argument: str
) -> None:
    arguments: dict[str, Any] = {"query": "tea", "profile": "balanced"}
    if path == "/context" and argument != "query":
        pytest.skip("a context has no such words")
    if path == "/explain":
        arguments["id"] = tea
    body = json.dumps(in_options({**arguments, argument: "green 😀 tea \ud83d"}))
    answer = client.post(path, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 200, answer.text
    assert answer.json()["query"] == ("green 😀 tea ?" if argument == "query" else "tea")


def test_half_an_emoji_in_a_batch_costs_its_item_alone(client: httpx.Client) -> None:
    body = f'{{"items": ["Ben has a cello.", {HALF}, {{"content": {HALF}}}]}}'
    answer = client.post(
        "/memories/batch", content=body, headers={"Content-Type": "application/json"}
    )
    outcomes = [item["outcome"] for item in answer.json()["items"]]
    assert outcomes == ["ADDED", "REJECTED", "REJECTED"]


def test_a_field_with_half_an_emoji_in_its_name_is_no_field(client: httpx.Client) -> None:
    body = '{"query": "tea", "x\\ud83d": 1}'
    answer = client.post("/search", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422


def test_what_a_memory_has_can_be_set(client: httpx.Client, tea: str) -> None:
    client.post(f"/memories/{tea}/pin")
    pinned = client.get(f"/memories/{tea}").json()["pinned"]
    assert client.patch(f"/memories/{tea}", json={"pinned": pinned}).json()["pinned"] == pinned
    added = client.post("/memories", json={"content": "Ben has a cello.", "pinned": pinned})
    assert client.get(f"/memories/{added.json()['id']}").json()["pinned"] == pinned
    assert client.patch(f"/memories/{tea}", json={"pinned": 0.5}).status_code == 422


def test_a_day_without_hyphens_is_a_day(client: httpx.Client, tea: str) -> None:
    for day in ("20260201", "2026-02-01", '"20260201"', "1769904000"):
        answer = client.get(f"/memories/{tea}/vitality", params={"since": day, "points": 2})
        assert answer.json()["points"][0]["at"] == "2026-02-01T00:00:00Z", day


@pytest.mark.parametrize("call", ["GET /memories", "GET /tags", "POST /search", "POST /context"])
@pytest.mark.parametrize("digits", [10, 400, 5_000])
def test_a_limit_of_many_digits_is_refused(
    client: httpx.Client, tea: str, call: str, digits: int
) -> None:
    verb, path = call.split()
    wanted = {"limit": "1" * digits}
    given = {"params": wanted} if verb == "GET" else {"json": {"query": "tea", **wanted}}
    answer = client.request(verb, path, **given)  # type: ignore[arg-type]
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "limit"


def test_a_question_that_is_not_there_is_no_memory(client: httpx.Client) -> None:
    answer = client.delete("/questions/nowhere")
    assert answer.status_code == 404
    assert "there is no question 'nowhere'" in answer.json()["detail"]


def test_each_built_in_profile_can_be_sent_as_it_is(client: httpx.Client, tea: str) -> None:
    for name in BUILT_IN:
        profile = client.get(f"/profiles/{name}").json()["profile"]
        assert client.post("/search", json={"query": "tea", "profile": profile}).is_success, name
