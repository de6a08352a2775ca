"""The OpenAPI document: valid, complete, and what every operation really answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis

from salience.server.routes import OPERATIONS
from salience.server.routes.keys import TAG as KEYS
from support.documented import Document

NOTES = ("note-1", "note-2")
CHAT = [
    {"role": "user", "content": "Where did I put the keys of the cellar?"},
    {"role": "assistant", "content": "On the shelf by the door."},
]


@pytest.fixture
def notes(client: httpx.Client) -> httpx.Client:
    """A client of a namespace with the memories that the examples name."""
    for id, content in zip(NOTES, ("Ana moved to Lisbon in March.", "Ana likes tea."), strict=True):
        added = client.post("/memories", json={"content": content, "id": id, "tags": ["ana"]})
        assert added.status_code == 201, added.text
    return client


def test_the_document_is_openapi_3_1(document: Document) -> None:
    assert document.content["openapi"].startswith("3.1")
    schemathesis.openapi.from_dict(document.content).validate()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", ["1", "2"])  # by which sets are ordered
def test_every_process_has_the_document_that_is_served(document: Document, seed: str) -> None:
    command = [str(Path(sys.executable).with_name("salience")), "openapi"]
    printed = subprocess.check_output(command, env={**os.environ, "PYTHONHASHSEED": seed})
    assert json.loads(printed) == document.content


def test_no_operation_is_left_out(document: Document) -> None:
    declared = {f"{each.method} /v1{each.path}" for each in OPERATIONS}
    assert set(document.operations) == declared
    ids = [entry["operationId"] for entry in document.operations.values()]
    assert len(ids) == len(set(ids))


def test_every_field_is_described(document: Document) -> None:
    for each in OPERATIONS:
        for arguments in (each.body, each.query):
            members = {} if arguments is None else arguments.members
            lacking = [name for name, member in members.items() if not member.description]
            assert not lacking, f"{each.id}: {lacking}"
        assert each.summary, each.id


def test_every_reference_leads_somewhere(document: Document) -> None:
    def walk(value: Any) -> None:
        if isinstance(value, dict):
            if isinstance(value.get("$ref"), str):
                document.resolved(value)
            for item in value.values():
                walk(item)
        elif isinstance(value, list):
            for item in value:
                walk(item)

    walk(document.content)


def test_every_operation_with_a_body_has_an_example_that_its_schema_takes(
    document: Document,
) -> None:
    for name, entry in document.operations.items():
        content = entry.get("requestBody", {}).get("content", {}).get("application/json")
        if content is not None:
            assert "example" in content, name
            document.validate(content["schema"], content["example"])
        assert "curl" in entry["x-codeSamples"][0]["source"]


def test_every_example_is_answered_as_the_document_says(
    notes: httpx.Client, document: Document
) -> None:
    export = notes.get("/export").content
    for each in OPERATIONS:
        if each.tag == KEYS:  # the first key would close the server; they have tests of their own
            continue
        id = "question-1" if "/questions/" in each.path else "note-1"
        path = each.path.format(id=id, key_id="none", name="balanced")
        options: dict[str, Any] = {} if each.example is None else {"json": each.example}
        if each.id == "graph":
            assert notes.get(path).status_code == 422
            options = {"params": {"around": "note-1", "types": '["mentions"]'}}
        if each.id == "undo":
            archived = notes.post("/archive", json={"ids": ["note-2"]}).json()
            options = {"json": {"run": archived["run"]}}
        if each.id == "load":
            headers = {"Content-Type": "application/x-ndjson"}
            headers["Salience-Namespace"] = notes.headers["Salience-Namespace"] + "-copy"
            options = {"content": export, "headers": headers}
        elif each.method == "POST":
            options["headers"] = {"Idempotency-Key": f"example-{each.id}"}
        response = notes.request(each.method, path, **options)
        assert response.status_code in each.answers, f"{each.id}: {response.text}"
        if each.id in ("delete", "delete_many"):  # those that come after need them
            for id in NOTES:
                notes.post("/memories", json={"content": f"Of {id}.", "id": id})


def test_rich_answers_are_as_documented(notes: httpx.Client) -> None:
    """Optional parts of answers: explanations, neighbors, details, reasons of a missing hit."""
    notes.post("/chats", json={"messages": CHAT, "mode": "hybrid", "session_id": "s1"})
    notes.post("/links", json={"source": "note-1", "target": "note-2", "type": "contradicts"})
    notes.post(
        "/memories",
        json={"content": "See [[a plan]].", "links": [{"target": "a plan", "type": "mentions"}]},
    )
    notes.post("/memories", json={"content": "The keys are on the shelf.", "session_id": "s1"})
    notes.post("/feedback", json={"id": "note-1", "kind": "outdated"})
    profiles = [each["name"] for each in notes.get("/profiles").json()["profiles"]]
    for profile in profiles:
        query = {"query": "Where did I put the keys?", "profile": profile, "limit": 2}
        found = notes.post("/search", json={**query, "explain": True})
        assert found.status_code == 200, found.text
        for id in NOTES:
            explained = notes.post("/explain", json={**query, "id": id})
            assert explained.status_code == 200, explained.text
    query = {"query": "What about Ana in March 2024?", "profiles": profiles, "limit": 1}
    assert notes.post("/compare", json=query).status_code == 200
    audit = notes.post("/audit", json={"mend": ["junk", "duplicates"]})
    assert audit.status_code == 200
    assert notes.get("/links?pending=true").json()["links"]


def test_refusals_are_as_documented(notes: httpx.Client, document: Document) -> None:
    for method, path, body, status in (
        ("GET", "/memories/none", None, 404),
        ("PATCH", "/memories/none", {"importance": 1}, 404),
        ("PATCH", "/memories/note-1", {"importance": "1"}, 422),
        ("PATCH", "/memories/note-1", {"if_version": 7, "importance": 1}, 412),
        ("POST", "/search", {}, 422),
        ("POST", "/search", {"query": "x", "profile": "none"}, 422),
        ("POST", "/memories", {"content": "again", "id": "note-1"}, 409),
        ("POST", "/undo", {"run": "prune-2026-06-01"}, 404),
        ("GET", "/memories?limit=x", None, 422),
        ("GET", "/memories?other=1", None, 422),
        ("GET", "/profiles/none", None, 404),
    ):
        refused = notes.request(method, path, json=body)
        assert refused.status_code == status, f"{method} {path}: {refused.text}"
        assert refused.headers["content-type"] == "application/problem+json"
    for path, body in (
        ("/memories/note-1/pin", None),
        ("/feedback", {"id": "note-1", "kind": "useful"}),
        ("/feedback", {"id": "note-1", "kind": "promote"}),
    ):
        refused = notes.post(path, json=body, headers={"If-Match": '"7"'})
        assert (refused.status_code, refused.json()["record"]["version"]) == (412, 1), path
    wrong = notes.post("/search", content=b"{", headers={"Content-Type": "application/json"})
    assert wrong.status_code == 400
    assert notes.post("/search", content=b"{}").status_code == 415


def test_a_wrong_body_names_every_mistake(client: httpx.Client) -> None:
    body = {"query": 5, "limit": "3", "options": 5, "colour": "red"}
    errors = client.post("/search", json=body).json()["errors"]
    assert {error["pointer"] for error in errors} == {
        "#/query",
        "#/limit",
        "#/options",
        "#/colour",
    }
