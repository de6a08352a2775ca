"""Keys over HTTP: a key makes, sees and ends those that may do nothing beyond it, and no others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from salience import Client
from salience.access import SCOPES, Keyring, NewKey
from salience.access.plans import KeyText
from salience.errors import AccessDenied, InvalidInput, NotFound
from support.documented import Document, documented
from support.real_server import RealServer, real_server

READER = {"namespaces": ["ana"], "scopes": ["memories:read"]}


@dataclass
class Keyed:
    """A server with a key of everything, one of Ana and one of Ben."""

    server: RealServer
    document: Document
    log: Path
    keys: dict[str, NewKey]

    def client(self, owner: str) -> httpx.Client:
        return documented(self.server.client(self.keys[owner].text), self.document)

    def may(self, text: str) -> int:
        """The status of a read with a key."""
        headers = {"Authorization": f"Bearer {text}"}
        return httpx.get(f"{self.server.url}/v1/key", headers=headers).status_code


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keyed]:
    folder = tmp_path_factory.mktemp("keys")
    with Keyring.open(folder / "memory.db") as keyring:
        keys = {
            "root": keyring.create("*", SCOPES),
            "ana": keyring.create(["ana", "ana/*"], ["memories:read", "memories:write", "keys"]),
            "ben": keyring.create("ben", SCOPES),
        }
    with real_server(folder / "memory.db", log=folder / "log") as server:
        document = Document(httpx.get(f"{server.url}/openapi.json").json())
        yield Keyed(server, document, folder / "log", keys)


def test_a_key_is_made_rotated_and_revoked(keyed: Keyed) -> None:
    with keyed.client("ana") as ana:
        made = ana.post("/keys", json={**READER, "name": "web", "expires_at": "2999-01-01"})
        assert made.status_code == 201, made.text
        key, text = made.json()["key"], made.json()["text"]
        assert (key["name"], key["namespaces"]) == ("web", ["ana"])
        assert keyed.may(text) == 200
        again = ana.post(f"/keys/{key['id']}/rotate", json={"overlap_seconds": 3600})
        assert again.status_code == 200, again.text
        assert keyed.may(text) == keyed.may(again.json()["text"]) == 200
        revoked = ana.post(f"/keys/{key['id']}/revoke")
        assert revoked.json()["revoked_at"]
        assert keyed.may(text) == keyed.may(again.json()["text"]) == 401
        assert ana.post(f"/keys/{key['id']}/rotate").status_code == 422
        listed = ana.get("/keys").text
        assert key["id"] in listed
        for secret in (text, again.json()["text"]):
            presented = KeyText.parse(secret)
            assert presented is not None
            assert presented.secret not in listed
            assert presented.digest not in listed


def test_what_lies_beyond_the_own_key_cannot_be_made(keyed: Keyed) -> None:
    with keyed.client("ana") as ana:
        for namespaces in (["ben"], ["ana", "ben"], ["*"], ["an/*"]):
            refused = ana.post("/keys", json={**READER, "namespaces": namespaces})
            assert refused.status_code == 404, refused.text
        refused = ana.post("/keys", json={**READER, "scopes": ["memories:read", "upkeep"]})
        assert refused.status_code == 403
        assert "upkeep" in refused.json()["detail"]
        wrong: list[tuple[dict[str, Any], str]] = [
            ({"namespaces": ["a*b"]}, "namespaces"),
            ({"scopes": ["all"]}, "scopes"),
            ({"expires_at": "2020-01-01"}, "expires_at"),
        ]
        for values, field in wrong:
            refused = ana.post("/keys", json={**READER, **values})
            assert refused.status_code == 422
            assert refused.json()["errors"][0]["field"].startswith(field)
        narrow = ana.post("/keys", json={"namespaces": ["ana/x/*"], "scopes": ["keys"]})
        assert narrow.status_code == 201


def test_keys_of_others_and_larger_keys_are_not_there(keyed: Keyed) -> None:
    with keyed.client("ana") as ana, keyed.client("root") as root:
        seen = {key["id"] for key in ana.get("/keys").json()["keys"]}
        assert keyed.keys["ana"].key.id in seen
        others = [keyed.keys[owner].key.id for owner in ("ben", "root")]
        assert seen.isdisjoint(others)
        assert set(others) <= {key["id"] for key in root.get("/keys").json()["keys"]}
        for change in ("rotate", "revoke"):
            answers = set()
            for id in (*others, "nobody00"):
                refused = ana.post(f"/keys/{id}/{change}")
                assert refused.status_code == 404, refused.text
                answers.add(refused.json()["detail"].replace(id, "ID"))
            assert len(answers) == 1
    for owner in ("ben", "root"):
        assert keyed.may(keyed.keys[owner].text) == 200


def test_a_secret_is_shown_once_and_logged_never(keyed: Keyed) -> None:
    with keyed.client("root") as root:
        headers = {"Idempotency-Key": "make-one"}
        first, second = (root.post("/keys", json=READER, headers=headers) for _ in range(2))
        texts = [each.json()["text"] for each in (first, second)]
        assert texts[0] != texts[1]
        id = first.json()["key"]["id"]
        root.post(f"/keys/{id}/revoke")
    lines = keyed.log.read_text("utf-8")
    for text in texts:
        assert text.split("_")[2] not in lines
    events = [
        json.loads(line[line.index("{") :]) for line in lines.splitlines() if '"event"' in line
    ]
    own = [event for event in events if event["changed"] == id]
    assert [event["event"] for event in own] == ["key made", "key revoked"]
    assert {event["key"] for event in own} == {keyed.keys["root"].key.id}


def test_python_has_the_methods_of_a_keyring(keyed: Keyed) -> None:
    with Client(keyed.server.url, keyed.keys["ana"].text) as client:
        made = client.keys.create("ana", ["memories:read"], expires_at="2999-01-01", name="app")
        with Keyring.open(keyed.server.db) as keyring:
            own = keyring.get(made.key.id)
        assert made.key.to_dict() == own.to_dict()
        assert client.keys.get(made.key.id).to_dict() == own.to_dict()
        rotated = client.keys.rotate(made.key.id, overlap=timedelta(hours=1))
        assert rotated.key.former_until is not None
        assert keyed.may(made.text) == keyed.may(rotated.text) == 200
        assert client.keys.revoke(made.key.id).revoked_at is not None
        with pytest.raises(NotFound, match="no key"):
            client.keys.revoke("nobody00")
        with pytest.raises(NotFound):
            client.keys.create("ben", "memories:read")
        with pytest.raises(AccessDenied, match="upkeep"):
            client.keys.create("ana", "upkeep")
        with pytest.raises(InvalidInput, match=r"^overlap"):
            client.keys.rotate(made.key.id, overlap=timedelta(-1))
    with Client(keyed.server.url, rotated.text) as revoked, pytest.raises(AccessDenied):
        revoked.keys.list()


def test_each_event_tells_whose_key_did_it_and_each_owner_has_idempotency_keys(
    keyed: Keyed,
) -> None:
    once = {"Idempotency-Key": "msg-1", "Salience-Namespace": "ana"}
    with keyed.client("ana") as ana, keyed.client("root") as root:
        for client, id in ((ana, "hers"), (root, "another's")):
            body = {"id": id, "content": f"This is {id}."}
            assert client.post("/memories", json={**body, "actor": "me"}).status_code == 422
            assert client.post("/memories", json=body, headers=once).status_code == 201
        assert root.post("/memories/hers/pin", json={}, headers=once).status_code == 200
        events = ana.get("/memories/hers/history").json()["events"]
    ids = {owner: key.text.split("_")[1] for owner, key in keyed.keys.items()}
    did = [(event["type"], event["actor"]) for event in events]
    assert did == [("write", ids["ana"]), ("pin", ids["root"])]


def test_what_was_erased_comes_back_from_no_kept_answer(keyed: Keyed) -> None:
    once = {"Idempotency-Key": "erased-1"}
    secret = {"id": "x", "content": "Ben hides the zq-key.", "user_id": "u"}
    with keyed.client("ben") as ben:
        assert ben.post("/memories", json=secret, headers=once).status_code == 201
        for path, body in (("/search", {"query": "zq-key"}), ("/memories/get", {"ids": ["x"]})):
            assert "zq-key" in ben.post(path, json=body, headers=once).text
        changed = ben.patch("/memories/x", json={"importance": 0.9}, headers=once)
        assert "zq-key" in changed.text
        assert ben.post("/users/delete", json={"user_id": "u"}).status_code == 200
        for path, body in (("/search", {"query": "zq-key"}), ("/memories/get", {"ids": ["x"]})):
            assert "Ben hides" not in ben.post(path, json=body, headers=once).text
        again = ben.patch("/memories/x", json={"importance": 0.9}, headers=once)
        assert (again.status_code, "zq-key" in again.text) == (404, False)


def test_explanations_are_of_so_many_hits_that_others_need_not_wait(keyed: Keyed) -> None:
    with keyed.client("ben") as ben:
        wide = {"query": "zq", "limit": 101}
        assert ben.post("/search", json=wide).status_code == 200
        assert ben.post("/search", json={**wide, "limit": 100, "explain": True}).status_code == 200
        refused = ben.post("/search", json={**wide, "explain": True})
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "limit")
