"""Keys and tokens at a real server: each sees its own namespaces, and what ended is refused."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from salience.access import Keyring, NewKey, Principal
from support.examples import examples
from support.real_server import RealServer, real_server
from support.token_issuer import AUDIENCE, ISSUER, Issuer, token_issuer
from support.waiting import until


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("keys") / "memory.db"


@pytest.fixture(scope="module")
def keys(path: Path) -> Iterator[Keyring]:
    with Keyring.open(path) as keys:
        yield keys


@pytest.fixture(scope="module")
def ana(keys: Keyring) -> NewKey:
    return keys.create(["ana", "team/*"], ["memories:read", "memories:write"], name="Ana")


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with token_issuer() as issuer:
        yield issuer


@pytest.fixture(scope="module")
def guarded(path: Path, ana: NewKey, issuer: Issuer) -> Iterator[RealServer]:
    """A server over the store of the keys, which takes tokens, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SALIENCE_OAUTH_ISSUER", ISSUER)
        patch.setenv("SALIENCE_OAUTH_AUDIENCE", AUDIENCE)
        patch.setenv("SALIENCE_OAUTH_JWKS_URL", issuer.url)
        with real_server(path, "--embedder", "none", log=path.with_name("server.log")) as server:
            yield server


def status(server: RealServer, **headers: str) -> int:
    """The status of a request that reads."""
    return httpx.get(f"{server.url}/v1/memories", headers=headers).status_code


def test_a_key_sees_its_own_namespaces(guarded: RealServer, ana: NewKey) -> None:
    with guarded.client(ana.text) as client:
        assert client.post("/memories", json={"content": "Ana's own."}).status_code == 201
        for name, expected in (
            ("ana", 200), ("team/x", 200), ("team", 404), ("anabel", 404), ("Ana", 404),
            ("team/", 404), ("default", 404), ("*", 404), ("team/*", 200),
        ):  # fmt: skip
            answer = client.get("/memories", headers={"Salience-Namespace": name})
            assert answer.status_code == expected, name
        assert client.get("/memories").json()["total"] == 1


_TRICKS = ["ana", "Ana", "ana/", "/ana", "ana/../bo", "bo", "team", "team/", "team/x", "TEAM/x",
           "team\\x", "team//", "team\u2215x", "*", "**", "ａｎａ", "ana\u200b", "%61na", "a,na",
           "ana\r\nX-API-Key: x"]  # fmt: skip


@settings(max_examples=examples(25))
@given(st.one_of(st.sampled_from(_TRICKS), st.text(st.characters(codec="utf-8"), max_size=9)))
def test_no_name_of_a_namespace_leads_to_one_that_the_key_does_not_have(
    guarded: RealServer, ana: NewKey, name: str
) -> None:
    owner = Principal("ana", ana.key.namespaces, frozenset())
    headers = {"Authorization": f"Bearer {ana.text}", "Salience-Namespace": quote(name, safe="")}
    for path in ("memories", "tags", "events", "stats"):
        answer = httpx.get(f"{guarded.url}/v1/{path}", headers=headers)
        expected = {200 if owner.sees(name) else 404}
        if not name.strip() or "\0" in name:  # no name of a namespace at all
            expected = {404, 422}
        assert answer.status_code in expected, path


def test_a_key_learns_nothing_of_others_from_figures(
    guarded: RealServer, keys: Keyring, ana: NewKey
) -> None:
    every = keys.create("*", ["memories:read", "memories:write"])
    with guarded.client(ana.text) as client, guarded.client(every.text) as other:
        before = client.get("/stats").json()
        for id in ("one", "two"):
            other.post("/memories", json={"id": id, "content": f"{id} " * 500})
        other.post("/links", json={"source": "one", "target": "two", "type": "mentions"})
        assert client.get("/stats").json() == before
        assert client.get("/stats?everywhere=true").status_code == 404
        assert other.get("/stats?everywhere=true").json()["links"] == 1


def test_all_three_header_fields_are_taken(guarded: RealServer, ana: NewKey) -> None:
    assert status(guarded, Authorization=f"Bearer {ana.text}") == 200
    assert status(guarded, Authorization=f"Token {ana.text}") == 200
    assert status(guarded, **{"X-API-Key": ana.text}) == 200
    assert status(guarded) == 401
    assert httpx.get(f"{guarded.url}/v1/memories?api_key={ana.text}").status_code == 400


def test_a_key_that_is_revoked_or_rotated_ends_while_the_server_runs(
    guarded: RealServer, keys: Keyring
) -> None:
    revoked, rotated = keys.create("bo", "memories:read"), keys.create("bo", "memories:read")
    for key in (revoked, rotated):
        assert status(guarded, Authorization=f"Bearer {key.text}") == 200

    def is_refused(key: NewKey) -> bool:
        return status(guarded, Authorization=f"Bearer {key.text}") == 401

    keys.revoke(revoked.key.id)
    successor = keys.rotate(rotated.key.id)
    for key in (revoked, rotated):
        until(partial(is_refused, key))
    assert status(guarded, Authorization=f"Bearer {successor.text}") == 200


def test_a_token_is_a_principal_like_a_key(guarded: RealServer, issuer: Issuer) -> None:
    with guarded.client(issuer.token()) as client:
        about = client.get("/key").json()
        assert about["key"] == "oauth:ana@example.com"
        assert about["namespaces"] == ["ana", "team/*"]
        assert client.get("/memories").status_code == 200
        refused = client.post("/memories", json={"content": "No scope for it."})
        assert refused.status_code == 403
    other = issuer.token(aud="https://other.example.com")
    assert status(guarded, Authorization=f"Bearer {other}") == 401


def test_a_refused_client_is_told_whose_tokens_are_taken(guarded: RealServer) -> None:
    answer = httpx.get(f"{guarded.url}/v1/memories")
    path = "/.well-known/oauth-protected-resource/v1"
    url = f"https://memory.example.com{path}"
    assert f'resource_metadata="{url}"' in answer.headers["www-authenticate"]
    metadata = httpx.get(f"{guarded.url}{path}")
    assert metadata.status_code == 200
    assert metadata.json()["resource"] == AUDIENCE
    assert metadata.json()["authorization_servers"] == [ISSUER]


def test_no_secret_is_logged(guarded: RealServer, path: Path, ana: NewKey, issuer: Issuer) -> None:
    token = issuer.token()
    for credential in (ana.text, ana.text[:-1], token):
        status(guarded, Authorization=f"Bearer {credential}")
        httpx.get(f"{guarded.url}/v1/memories?api_key={credential}")
    logged = path.with_name("server.log").read_text()
    assert ana.key.id in logged
    assert "oauth:ana@example.com" in logged
    for secret in (ana.text.split("_")[2], token):
        assert secret not in logged
