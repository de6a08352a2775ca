"""What a request with an idempotency key did is told by the store, also after a restart."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from salience.server.app import create_app
from salience.server.settings import ServerSettings
from support.served import Server
from support.shared_postgres import Databases

KEY = {"Idempotency-Key": "one"}


@pytest.fixture(params=["file", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "file":
        return f"sqlite:///{tmp_path / 'memory.db'}"
    postgres: Databases = request.getfixturevalue("postgres")
    return postgres.fresh("again")


@contextmanager
def serving(address: str) -> Iterator[httpx.Client]:
    """A client of a new server over a store."""
    server = Server(create_app(ServerSettings(db=address, embedder="none")))
    try:
        with httpx.Client(base_url=f"{server.url}/v1") as client:
            yield client
    finally:
        server.close()


def two_memories(client: httpx.Client) -> None:
    for id in "ab":
        client.post("/memories", json={"id": id, "content": f"Ana has a boat named {id}."})


CHANGES: list[tuple[str, str, dict[str, Any], int]] = [
    ("POST", "/feedback", {"id": "a", "kind": "useful"}, 200),
    ("POST", "/touch", {"ids": ["a", "b"]}, 204),
    ("POST", "/touch", {"ids": ["a"], "utility": 0.5}, 204),
    ("POST", "/links", {"source": "a", "target": "b"}, 204),
    ("POST", "/memories/a/pin", {"if_version": 1}, 200),
    ("POST", "/supersede", {"old": "a", "new": "b", "if_version": 1}, 204),
    ("POST", "/archive", {"ids": ["a", "b"]}, 200),
    ("PATCH", "/memories/a", {"importance": 0.9}, 200),
    ("PATCH", "/memories/a", {"content": "Ana moved to Porto.", "if_version": 1}, 200),
]


@pytest.mark.parametrize(("method", "path", "body", "status"), CHANGES)
def test_a_change_is_made_once(
    method: str, path: str, body: dict[str, Any], status: int, address: str
) -> None:
    """The answer is made of the memories as they are, so none is kept that quotes them."""
    with serving(address) as client:
        two_memories(client)
        first = client.request(method, path, json=body, headers=KEY)
        assert (first.status_code, "idempotency-replayed" in first.headers) == (status, False)
        events = client.get("/memories/a/history").json()["events"]
    with serving(address) as client:
        for _ in range(2):
            again = client.request(method, path, json=body, headers=KEY)
            assert (again.status_code, again.content) == (status, first.content)
            assert again.headers["idempotency-replayed"] == "true"
            assert again.headers.get("etag") == first.headers.get("etag")
        other = {**body, "ids": ["b"]} if "ids" in body else {**body, "weight": 0.5}
        other = {**body, "if_version": 7} if not {"ids", "source"} & body.keys() else other
        refused = client.request(method, path, json=other, headers=KEY)
        assert (refused.status_code, refused.json()["code"]) == (422, "KeyReused")
        assert refused.json()["errors"][0]["field"] == "Idempotency-Key"
        assert client.get("/memories/a/history").json()["events"] == events
        client.delete("/memories/a")
        assert client.request(method, path, json=body, headers=KEY).status_code == 404


def test_what_was_brought_back_from_the_archive_is_told_again(address: str) -> None:
    with serving(address) as client:
        two_memories(client)
        client.post("/archive", json={"ids": ["a", "b"]})
        answers = [
            client.post("/unarchive", json={"ids": ["a", "b"]}, headers=KEY) for _ in range(2)
        ]
        assert (
            answers[0].json() == answers[1].json() == {"restored": {"a": "active", "b": "active"}}
        )


def test_upkeep_that_was_done_names_its_run(address: str) -> None:
    """Its report cannot be made again, and its work is not done again."""
    with serving(address) as client:
        two_memories(client)
        client.post("/memories", json={"id": "t", "content": "x", "expires_at": "2020-01-01"})
        first = client.post("/maintain", json={"dry_run": False}, headers=KEY).json()
        [run] = [step["run"] for step in first["steps"] if step["run"]]
        again = client.post("/maintain", json={"dry_run": False}, headers=KEY)
        assert (again.status_code, again.json()["code"]) == (409, "RequestDone")
        assert run in again.json()["detail"]
        undone = [client.post("/undo", json={"run": run}, headers=KEY) for _ in range(2)]
        assert [each.status_code for each in undone] == [200, 409]
        preview = [client.post("/prune", json={}, headers=KEY) for _ in range(2)]
        assert preview[0].json() == preview[1].json()


def test_a_question_that_is_labelled_again_is_one(address: str) -> None:
    with serving(address) as client:
        two_memories(client)
        label = {"query": "Which boat?", "relevant": ["a"]}
        first, again = (client.post("/questions", json=label, headers=KEY) for _ in range(2))
        assert first.json() == again.json()
        assert len(client.get("/questions").json()["questions"]) == 1


ERASURES: list[tuple[str, str, Any]] = [
    ("DELETE", "/memories/porto", None),
    ("POST", "/memories/delete", {"ids": ["porto", "none"]}),
    ("POST", "/memories/delete", {"filters": {"id": "porto"}}),
    ("POST", "/memories/delete", {"all": True}),
    ("POST", "/users/delete", {"user_id": "ana"}),
]


@pytest.mark.parametrize(("method", "path", "body"), ERASURES)
def test_an_erasure_tells_again_what_is_gone_and_leaves_no_word_of_it(
    method: str, path: str, body: Any, address: str
) -> None:
    def erase(client: httpx.Client) -> httpx.Response:
        return client.request(method, path, json=body, headers=KEY)

    with serving(address) as client:
        new = {"id": "porto", "content": "Zephyrine lives in Oslo.", "user_id": "ana"}
        client.post("/memories", json=new, headers=KEY)
        text = {"content": "Quillon lives in Porto."}
        for _ in range(2):
            changed = client.patch("/memories/porto", json=text, headers=KEY)
            assert "Quillon" in changed.text
        for old in ("faro", "lagos"):  # which hold again
            client.post("/memories", json={"id": old, "content": f"Zephyrine lives in {old}."})
            client.post("/supersede", json={"old": old, "new": "porto"})
        client.post("/memories/porto/pin", json={}, headers=KEY)
        for id in () if body == {"all": True} else ("kept",):
            client.post("/memories", json={"id": id, "content": "Ben has a cello."})
        first = erase(client)
        assert first.status_code == 200
        assert "idempotency-replayed" not in first.headers
    content = content_of(address)
    assert b"Quillon" not in content
    assert b"Oslo" not in content
    with serving(address) as client:
        for _ in range(2):
            again = erase(client)
            assert again.headers["idempotency-replayed"] == "true"
            assert told(again) == told(first)
        assert "Quillon" not in again.text + client.get("/events").text


def told(answer: httpx.Response) -> Any:
    """The memories that an answer tells of: how many are gone, and which hold again."""
    body = answer.json()
    gone = body["deleted"] if "deleted" in body else body["erased"]["memories"]
    return answer.status_code, gone, body["restored"]


def content_of(address: str) -> bytes:
    """All bytes of the folder of a file, or of the tables of a database."""
    if address.startswith("sqlite"):
        folder = Path(address.removeprefix("sqlite:///")).parent
        return b"".join(each.read_bytes() for each in folder.iterdir())
    with psycopg.connect(address) as connection:
        tables = connection.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'salience'"
        ).fetchall()
        rows = [
            connection.execute(f'SELECT t::text FROM salience."{name}" AS t'.encode()).fetchall()
            for (name,) in tables
        ]
    return repr(rows).encode()


def test_an_erasure_by_ids_spares_what_came_later_with_them(address: str) -> None:
    with serving(address) as client:
        two_memories(client)
        one: Callable[[], Any] = lambda: client.delete("/memories/a", headers=KEY).status_code  # noqa: E731
        assert one() == 204
        two_memories(client)
        assert one() == 204
        assert client.get("/memories/a").status_code == 200
        other = client.delete("/memories/a", headers={**KEY, "If-Match": '"1"'})
        assert (other.status_code, other.json()["code"]) == (422, "KeyReused")
