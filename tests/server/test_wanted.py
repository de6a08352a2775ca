"""The fields that an answer is to have, by `?fields=` and `?nulls=false`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx
import jsonschema_rs
import pytest

from support.real_server import RealServer


@pytest.fixture
def client(server: RealServer) -> Iterator[httpx.Client]:
    """A client that does not compare answers with the document, which has them whole."""
    with server.client() as client:
        client.headers["Salience-Namespace"] = f"wanted-{uuid4().hex}"
        yield client


@pytest.fixture
def notes(client: httpx.Client) -> httpx.Client:
    for id, content in (("a", "Ana moved to Lisbon."), ("b", "Ana likes tea.")):
        metadata = {"id": "x", "content": "y", "deep": {"none": 1}}
        added = client.post("/memories", json={"content": content, "id": id, "metadata": metadata})
        assert added.status_code == 201
    return client


def has_null(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(has_null, value))
    return value is None or (isinstance(value, dict) and any(map(has_null, value.values())))


def test_memories_and_hits_have_the_fields_that_are_wanted(notes: httpx.Client) -> None:
    wanted = {"fields": "content, score,kind"}
    found = notes.post("/search", params=wanted, json={"query": "tea"}).json()
    assert [set(hit) for hit in found["hits"]] == [{"id", "content", "score", "kind"}] * 2
    assert found["query"] == "tea"
    listed = notes.get("/memories", params=wanted | {"limit": "1"}).json()
    assert [set(each) for each in listed["memories"]] == [{"id", "content", "kind"}]
    assert listed["total"] == 2
    assert notes.get("/memories/a", params={"fields": "tags"}).json() == {"id": "a", "tags": []}
    changed = notes.patch("/memories/a", params={"fields": "importance"}, json={"importance": 0.5})
    assert changed.json() == {"id": "a", "importance": 0.5}
    assert "ETag" in changed.headers


def test_null_is_left_out_where_it_is_not_wanted(notes: httpx.Client) -> None:
    whole = notes.get("/memories/a").json()
    assert has_null(whole)
    brief = notes.get("/memories/a", params={"nulls": "false"}).json()
    assert brief == {name: value for name, value in whole.items() if value is not None}
    found = notes.post("/search", params={"nulls": "false"}, json={"query": "tea"}).json()
    assert found["hits"]
    assert not has_null(found)


@pytest.mark.parametrize("wanted", [{"fields": "content,kind"}, {"nulls": "false"}])
def test_what_is_wanted_is_what_the_document_says(
    notes: httpx.Client, wanted: dict[str, str]
) -> None:
    document = notes.get("/openapi.json").json()
    for method, path, body in (
        ("post", "/search", {"query": "tea", "explain": True}),
        ("get", "/memories", None),
        ("post", "/memories/count", {}),
        ("post", "/about", {}),
        ("get", "/stats", None),
    ):
        answer = notes.request(method, path, params=wanted, json=body)
        answers = document["paths"][f"/v1{path}"][method]["responses"]["200"]
        schema = answers["content"]["application/json"]["schema"]
        whole = {**schema, "components": document["components"]}
        jsonschema_rs.Draft202012Validator(whole).validate(answer.json())


@pytest.mark.parametrize(
    "wrong", [{"fields": "content,colour"}, {"nulls": "no"}, {"fields": ["content", "kind"]}]
)
def test_what_is_no_field_is_refused_before_anything_is_done(
    notes: httpx.Client, wrong: dict[str, Any]
) -> None:
    refused = notes.post("/memories", params=wrong, json={"content": "New.", "id": "new"})
    assert refused.status_code == 422
    assert [each["field"] for each in refused.json()["errors"]] == list(wrong)
    assert notes.get("/memories/new").status_code == 404


def test_the_document_has_both_for_every_answer_in_json(notes: httpx.Client) -> None:
    document = notes.get("/openapi.json").json()
    parameters = document["components"]["parameters"]
    names = parameters["fields"]["schema"]["items"]["enum"]
    [hit] = notes.post("/search", json={"query": "tea", "limit": 1}).json()["hits"]
    assert {*names} >= {*hit}
    assert notes.get("/memories/a", params={"fields": ",".join(names)}).status_code == 200
    for path in document["paths"].values():
        for operation in path.values():
            refs = {
                each["$ref"].rpartition("/")[2]
                for each in operation["parameters"]
                if "$ref" in each
            }
            answers = (each.get("content", {}) for each in operation["responses"].values())
            is_json = any("application/json" in content for content in answers)
            assert refs >= {"fields", "nulls"} if is_json else not refs & {"fields", "nulls"}
            assert "422" in operation["responses"] or not is_json


@pytest.mark.parametrize(
    ("method", "path", "body", "remedy"),
    [
        ("POST", "/search?limit=1", {"query": "tea"}, "send it in the body"),
        ("POST", "/memories/count?limit=1", {}, "leave it out"),
        ("PATCH", "/memories/a?limit=1", {"importance": 0.5}, "leave it out"),
        ("GET", "/memories/a?limit=1", None, "use as_of"),
        ("DELETE", "/memories/a?limit=1", None, "leave it out"),
        ("POST", "/memories/a/pin?limit=1", None, "leave it out"),
        ("GET", "/profiles?limit=1", None, "leave it out"),
    ],
)
def test_an_unknown_parameter_of_the_url_is_refused(
    notes: httpx.Client, method: str, path: str, body: Any, remedy: str
) -> None:
    refused = notes.request(method, path, json=body)
    assert refused.status_code == 422
    [error] = refused.json()["errors"]
    assert (error["field"], error["remedy"]) == ("limit", remedy)
    assert notes.get("/memories/a").status_code == 200


def test_probes_take_any_parameter(notes: httpx.Client) -> None:
    assert notes.get("/health", params={"at": "1"}).status_code == 200
