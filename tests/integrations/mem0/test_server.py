"""The paths of mem0 on the server: their answers, their guard, and who may see what."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings

from salience import AsyncMemory
from salience.access import SCOPES, Keyring
from salience.api.operations import DELETE, READ, WRITE
from salience.server.app import create_app
from salience.server.compat import OPERATIONS
from salience.server.settings import ServerSettings
from salience.stores import open_store
from salience.testing import WordHashEmbedder
from support.examples import examples
from support.mem0_filters import FILTERS
from support.scripted_model import asked, finds, says
from support.scripted_server import Server as Model
from support.scripted_server import answer
from support.served import Server

ANA = {"user_id": "ana"}
Open = Callable[..., httpx.Client]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """A function that starts a server, and gives a client with a key of some scopes."""
    with ExitStack() as stack:
        stores: list[Any] = []

        def client(
            namespace: str = "one", scopes: Any = SCOPES, model: Model | None = None
        ) -> httpx.Client:
            if not stores:
                if model is not None:
                    monkeypatch.setenv("SALIENCE_EXTRACTION_MODEL", "m")
                    monkeypatch.setenv("SALIENCE_EXTRACTION_URL", model.url)
                store = open_store("ram://")
                embedder = WordHashEmbedder()
                monkeypatch.setattr("salience.server.app.open_store", lambda _: store)
                app = create_app(
                    ServerSettings(db="ram://"), lambda s: AsyncMemory(s, embedder=embedder)
                )
                server = Server(app)
                stack.callback(server.close)
                stores.extend((store, server))
            store, server = stores
            key = Keyring(store).create(namespace, scopes).text
            headers = {"Authorization": f"Token {key}"}
            url = f"{server.url}/compat/mem0"
            return stack.enter_context(httpx.Client(base_url=url, headers=headers, timeout=300))

        yield client


def add(client: httpx.Client, text: str = "I like tea.", **fields: Any) -> str:
    body = {"messages": [{"role": "user", "content": text}], "infer": False, **ANA, **fields}
    response = client.post("/v3/memories/add/", json=body)
    assert response.status_code == 200, response.text
    id: str = response.json()["results"][0]["id"]
    return id


def found(client: httpx.Client, filters: dict[str, Any], **fields: Any) -> list[dict[str, Any]]:
    body = {"query": "tea", "filters": filters, "threshold": 0, **fields}
    response = client.post("/v3/memories/search/", json=body)
    assert response.status_code == 200, response.text
    results: list[dict[str, Any]] = response.json()["results"]
    return results


def test_ids_may_be_beside_or_in_the_filters(opened: Open) -> None:
    client = opened()
    beside = add(client)
    within = client.post(
        "/v3/memories/add/",
        json={"messages": "Tea.", "filters": {"user_id": "ben"}, "infer": False},
    ).json()["results"][0]["id"]
    assert [each["id"] for each in found(client, ANA)] == [beside]
    older = client.post("/v2/memories/search/", json={"query": "tea", "user_id": "ben"})
    assert [each["id"] for each in older.json()["results"]] == [within]
    both = client.post("/v3/memories/", json={"user_id": "ana", "filters": {"user_id": "ben"}})
    assert both.json()["count"] == 0


def test_facts_are_extracted_by_the_endpoint_of_the_server_alone(
    opened: Open, model: Model
) -> None:
    client = opened(model=model)
    model.script = [finds("Ana lives in Porto."), finds("Ana lives in Lisbon.")]
    body: dict[str, Any] = {
        "messages": "I live in Porto.",
        **ANA,
        "custom_instructions": "No pets.",
    }
    first = client.post("/v3/memories/add/", json=body).json()["results"]
    assert [each["event"] for each in first] == ["ADD"]
    assert "No pets." in asked(model)[0]
    elsewhere = {"llm": {"provider": "openai", "config": {"openai_base_url": "http://127.0.0.1:9"}}}
    body = {"messages": "I moved to Lisbon.", **ANA, **elsewhere}
    second = client.post("/v3/memories/add/", json=body).json()
    assert len(model.seen) == 2
    assert second["notes"] == ["llm: means nothing to this server, and was passed over"]
    [update] = second["results"]
    assert (update["event"], update["previous_memory"]) == ("UPDATE", "Ana lives in Porto.")
    query = "Ana lives in Lisbon."
    assert [each["memory"] for each in found(client, ANA, query=query)] == [query]
    every = found(client, ANA, query=query, latest_only=False)
    assert {each["memory"] for each in every} == {"Ana lives in Lisbon.", "Ana lives in Porto."}
    linked = client.delete(f"/v1/memories/{update['id']}/", params={"delete_linked": True})
    assert linked.status_code == 200
    assert client.get(f"/v1/memories/{first[0]['id']}/").status_code == 404


def test_a_model_that_fails_is_a_problem_without_its_words(opened: Open, model: Model) -> None:
    client = opened(model=model)
    model.script = [answer(401, {"error": "secret words"})]
    refused = client.post("/v3/memories/add/", json={"messages": "Tea.", **ANA})
    assert refused.status_code == 503
    assert refused.headers["content-type"] == "application/json"
    assert refused.json()["code"] == "ExtractionError"
    assert "status 401" in refused.json()["detail"]
    assert "secret" not in refused.text
    assert client.post("/v3/memories/", json={"filters": ANA}).json()["count"] == 0


def test_without_a_model_it_is_said(opened: Open) -> None:
    added = opened().post("/v3/memories/add/", json={"messages": "Tea.", **ANA}).json()
    assert added["results"][0]["event"] == "ADD"
    assert added["notes"][0].startswith("infer: no model")


def test_a_search_takes_what_the_clients_send(opened: Open) -> None:
    client = opened()
    add(client, "Green tea.", metadata={"topic": "drinks"}, timestamp=1_767_225_600)
    add(client, "Old tea.", expiration_date="2020-01-01")
    assert len(found(client, ANA)) == 1
    assert len(found(client, ANA, show_expired=True)) == 2
    assert len(found(client, ANA, metadata={"topic": "other"})) == 0
    assert len(found(client, ANA, categories=["sport"])) == 0
    assert set(found(client, ANA, fields=["hash"])[0]) == {"id", "memory", "score", "hash"}
    details = found(client, ANA, explain=True)[0]["score_details"]
    assert details["profile"] == "balanced"
    body = {"query": "tea", "filters": ANA, "keyword_search": True, "version": "v2"}
    noted = client.post("/v3/memories/search/", json=body).json()
    assert noted["notes"] == ["keyword_search: means nothing to this server, and was passed over"]
    listed = client.post(
        "/v3/memories/", json={"filters": ANA, "start_date": "2025-01-01", "end_date": "2026-02-01"}
    )
    assert listed.json()["count"] == 1


def test_pages(opened: Open) -> None:
    client = opened()
    names = [add(client, f"Tea {i}.") for i in range(5)]
    seen: list[str] = []
    path: str | None = "/v3/memories/?page_size=2"
    while path is not None:
        page = client.post(path, json={"filters": ANA}).json()
        seen += [each["id"] for each in page["results"]]
        path = page["next"] and page["next"].removeprefix("/compat/mem0")
        assert page["count"] == 5
    assert seen == names[::-1]
    by_query = client.get("/v1/memories/", params={"user_id": "ana", "page": 3, "page_size": 2})
    assert [each["id"] for each in by_query.json()["results"]] == names[:1]
    for wrong in ("page=0", "page=x", "page_size=0", "page_size=1001", "page=9999999999999999999"):
        assert client.post(f"/v3/memories/?{wrong}", json={"filters": ANA}).status_code == 422


def test_ids_with_slashes_pass_through_paths(opened: Open) -> None:
    client = opened()
    add(client, user_id="a/b%c?")
    [entity] = client.get("/v1/entities/").json()["results"]
    assert entity["name"] == "a/b%c?"
    gone = client.delete("/v2/entities/user/a%2Fb%25c%3F/")
    assert gone.json()["deleted"] == 1


def test_an_erasure_names_what_holds_again(opened: Open) -> None:
    client = opened()
    native = str(client.base_url).partition("/compat")[0] + "/v1/memories"
    key = {"Authorization": client.headers["Authorization"].replace("Token", "Bearer")}
    erasures: dict[str, tuple[str, str, dict[str, Any]]] = {
        "one": ("DELETE", "/v1/memories/new-one/", {}),
        "batch": ("DELETE", "/v1/batch/", {"memories": [{"memory_id": "new-batch"}]}),
        "user": ("DELETE", "/v1/memories/?user_id=user", {}),
        "entity": ("DELETE", "/v2/entities/user/entity/", {}),
    }
    for name, (method, path, body) in erasures.items():
        old = {"id": f"old-{name}", "content": f"The port of {name} is 6001.", "kind": "fact"}
        new = {"id": f"new-{name}", "content": f"The port of {name} is 6002.", "kind": "fact"}
        for item in (old, {**new, "user_id": name, "supersedes": f"old-{name}"}):
            assert client.post(native, json=item, headers=key).status_code == 201
        told = client.request(method, path, json=body or None).json()
        assert told["restored"] == [f"old-{name}"], told
    assert "restored" not in client.delete("/v1/memories/old-one/").json()


def test_a_batch_changes_all_or_nothing(opened: Open) -> None:
    client = opened()
    id = add(client)
    batch = [{"memory_id": id, "text": "Other."}, {"memory_id": "nothing", "text": "x"}]
    assert client.put("/v1/batch/", json={"memories": batch}).status_code == 404
    assert client.get(f"/v1/memories/{id}/").json()["memory"] == "I like tea."
    for wrong in (None, [], [{"text": "x"}], [5]):
        assert client.put("/v1/batch/", json={"memories": wrong}).status_code == 422


def test_feedback_is_a_judgement_and_can_be_taken_back(opened: Open) -> None:
    client = opened()
    id = add(client)
    for kind, code in (("POSITIVE", 200), ("NEGATIVE", 200), ("other", 422), (None, 200)):
        response = client.post("/v1/feedback/", json={"memory_id": id, "feedback": kind})
        assert response.status_code == code
    assert client.post("/v1/feedback/", json={"memory_id": "nothing"}).status_code == 404


def test_an_export_is_filled_into_its_schema_by_the_model(opened: Open, model: Model) -> None:
    client = opened(model=model)
    add(client, "I like tea.")
    add(client, "Ben likes rye.", user_id="ben")
    schema = {"type": "object", "properties": {"drink": {"type": "string"}}}
    wanted = {"schema": json.dumps(schema), "filters": ANA, "export_instructions": "Drinks."}
    id = client.post("/v1/exports/", json=wanted).json()["id"]
    model.script = [says({"drink": "tea"})]
    exported = client.post("/v1/exports/get/", json={"memory_export_id": id})
    assert exported.json() == {"drink": "tea"}
    prompt, request = asked(model)
    assert "Drinks." in prompt
    assert request == {"schema": schema, "memories": ["I like tea."]}
    plain = client.post("/v1/exports/get/", json={"filters": {"user_id": "*"}}).json()
    assert len(plain["memories"]) == 2


def packed(text: bytes) -> str:
    return base64.urlsafe_b64encode(zlib.compress(text)).decode()


@pytest.mark.parametrize(
    "id",
    [
        5,
        "x",
        packed(b"x"),
        packed(b"[]"),
        packed(b"{}"),
        packed(b"[" * 100_000),
        packed(b'{"filters": 5, "schema": null, "instructions": null}'),
        packed(b" " * (64 << 20)),
    ],
    ids=range(8),
)
def test_a_wrong_id_of_an_export_is_refused(opened: Open, id: Any) -> None:
    refused = opened().post("/v1/exports/get/", json={"memory_export_id": id})
    assert refused.status_code == 422, refused.text


@pytest.mark.parametrize("body", ["[]", '"x"', "{", "\xff"])
def test_a_body_that_is_no_object_is_refused(opened: Open, body: str) -> None:
    headers = {"Content-Type": "application/json"}
    client = opened()
    for path in ("/v3/memories/add/", "/v3/memories/search/", "/v3/memories/", "/v1/exports/"):
        refused = client.post(path, content=body.encode("latin-1"), headers=headers)
        assert refused.status_code in (400, 422), path


def test_the_paths_of_its_own_server(opened: Open) -> None:
    client = opened()
    body = {"messages": [{"role": "user", "content": "I like tea."}], **ANA, "infer": False}
    id = client.post("/memories", json=body).json()["results"][0]["id"]
    assert client.get(f"/memories/{id}").json()["memory"] == "I like tea."
    assert len(client.get("/memories", params=ANA).json()["results"]) == 1
    searched = client.post("/search", json={"query": "tea", "filters": ANA}).json()
    assert [each["id"] for each in searched["results"]] == [id]
    assert "categories" not in searched["results"][0]
    client.put(f"/memories/{id}", json={"text": "I like rye."})
    assert len(client.get(f"/memories/{id}/history").json()) == 2
    assert client.delete(f"/memories/{id}").status_code == 200
    client.post("/memories", json=body)
    assert client.delete("/memories", params=ANA).json()["deleted"] == 1
    client.post("/memories", json=body)
    assert client.post("/reset").status_code == 200
    assert client.get("/memories", params=ANA).json() == {"results": []}
    key = client.headers.pop("Authorization").removeprefix("Token ")
    assert client.get("/memories", params=ANA, headers={"X-API-Key": key}).status_code == 200


def test_what_would_erase_more_than_was_meant_is_refused(opened: Open) -> None:
    client = opened()
    id = add(client)
    for query in ({}, {"filters": "x", **ANA}, {"userId": "ana", **ANA}):
        assert client.delete("/v1/memories/", params=query).status_code == 422
    assert client.delete("/v2/entities/team/ana/").status_code == 422
    assert client.get(f"/v1/memories/{id}/").status_code == 200


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: f"{each.method} {each.path}")
def test_each_path_needs_a_key_with_its_scope(opened: Open, operation: Any) -> None:
    path = operation.path.format(id="x", type="user")
    others = [scope for scope in (READ, WRITE, DELETE) if scope != operation.scope]
    client = opened(scopes=others)
    options: dict[str, Any] = {} if operation.method == "GET" else {"json": {}}
    answered = client.request(operation.method, path, **options)
    assert answered.status_code == (403 if operation.scope else 200), answered.text
    del client.headers["Authorization"]
    assert client.request(operation.method, path, **options).status_code == 401


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(filters=FILTERS)
def test_no_filter_reaches_another_namespace(opened: Open, filters: dict[str, Any]) -> None:
    one, two = opened("one"), opened("two")
    ids = {"user_id": "a", "agent_id": "b", "run_id": "c", "app_id": "d"}
    add(one, "The key is under the stone.", **ids)
    scoped = {"OR": [{"user_id": "*"}, filters]}
    for path, body in (
        ("/v3/memories/search/", {"query": "the key is under the stone", "filters": scoped}),
        ("/v3/memories/", {"filters": scoped}),
        ("/search", {"query": "the key is under the stone", "filters": scoped}),
    ):
        assert two.post(path, json=body).json()["results"] == []
        assert one.post(path, json=body).json()["results"]
    assert two.post("/v1/exports/get/", json={"filters": scoped}).json() == {"memories": []}


def test_no_tenant_finds_what_is_anothers(opened: Open) -> None:
    one, two = opened("one"), opened("two")
    id = add(one, "The key is under the stone.", agent_id="guide", run_id="r1", app_id="chat")
    for filters in (
        ANA,
        {"user_id": "*"},
        {"NOT": [{"user_id": "x"}]},
        {"memory_ids": [id], **ANA},
    ):
        assert found(two, filters, query="the key is under the stone") == []
        assert two.post("/v3/memories/", json={"filters": filters}).json()["count"] == 0
        exported = two.post("/v1/exports/get/", json={"filters": filters}).json()
        assert exported == {"memories": []}
    assert two.get("/v1/entities/").json()["count"] == 0
    for method, path, body in (
        ("GET", f"/v1/memories/{id}/", None),
        ("PUT", f"/v1/memories/{id}/", {"text": "x"}),
        ("DELETE", f"/v1/memories/{id}/?delete_linked=true", None),
        ("PUT", "/v1/batch/", {"memories": [{"memory_id": id, "text": "x"}]}),
        ("POST", "/v1/feedback/", {"memory_id": id, "feedback": "POSITIVE"}),
    ):
        assert two.request(method, path, json=body).status_code == 404, path
    assert two.get(f"/v1/memories/{id}/history/").json() == []
    two.request("DELETE", "/v1/batch/", json={"memories": [{"memory_id": id}]})
    two.delete("/v1/memories/", params={"user_id": "*"})
    two.delete("/v2/entities/user/ana/")
    two.post("/reset")
    headers = {"Salience-Namespace": "one"}
    assert two.get(f"/v1/memories/{id}/", headers=headers).status_code == 404
    assert one.get(f"/v1/memories/{id}/").json()["memory"] == "The key is under the stone."


def test_the_servers_model_finds_facts_for_the_own_interface_too(opened: Open) -> None:
    with Model() as model:
        model.script = [finds("Ana cannot eat almonds.")]
        client = opened(model=model)
        own = str(client.base_url).partition("/compat/")[0]
        chat = {"content": [{"role": "user", "content": "Almonds again."}], "extract": True}
        added = client.post(f"{own}/v1/memories", json=chat)
        assert added.status_code == 201
        assert len(added.json()["ids"]) == 2
        elsewhere = client.post(f"{own}/v1/memories", json={**chat, "extract": "m@http://evil/v1"})
        assert elsewhere.status_code == 422


WRONG: list[tuple[str, str, dict[str, Any], str]] = [
    *(
        ("POST", "/v3/memories/add/", {"messages": "x", **ANA, "filters": wrong}, "filters")
        for wrong in ("x", [1], 5, True)
    ),
    *(
        ("PUT", "/v1/memories/{id}/", {"metadata": wrong}, "metadata")
        for wrong in ("", [], 0, ["a"], "x\0")
    ),
    ("PUT", "/v1/memories/{id}/", {"text": 5}, "text"),
    ("PUT", "/v1/memories/{id}/", {"text": "a\0"}, "text"),
    ("PUT", "/v1/batch/", {"memories": [{"memory_id": "{id}", "text": 5}]}, "memories[0].text"),
    ("POST", "/v1/feedback/", {"memory_id": "{id}", "feedback": ["POSITIVE"]}, "feedback"),
    ("POST", "/v1/exports/", {"filters": ANA, "schema": "[" * 100_000}, "schema"),
    *(("GET", f"/v1/entities/?{name}={'1' * 5_000}", {}, name) for name in ("page", "page_size")),
    ("GET", f"/memories?user_id=ana&top_k={'1' * 5_000}", {}, "top_k"),
]


@pytest.mark.parametrize(("method", "path", "body", "field"), WRONG)
def test_what_is_of_another_type_is_named(
    opened: Open, method: str, path: str, body: dict[str, Any], field: str
) -> None:
    client = opened()
    id = add(client)
    content = json.dumps(body).replace("{id}", id)
    headers = {"Content-Type": "application/json"}
    answer = client.request(method, path.replace("{id}", id), content=content, headers=headers)
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["field"] == field


def test_a_batch_with_a_wrong_change_changes_nothing(opened: Open) -> None:
    client = opened()
    one, two = add(client), add(client, "I play the cello.")
    for wrong in ({"text": 5}, {"text": " "}, {"metadata": "x"}, {"metadata": {"": 1}}, {}):
        items = [{"memory_id": one, "text": "I like coffee."}, {"memory_id": two, **wrong}]
        answer = client.put("/v1/batch/", json={"memories": items})
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["field"].startswith("memories[1].")
        assert client.get(f"/v1/memories/{one}/").json()["memory"] == "I like tea."
