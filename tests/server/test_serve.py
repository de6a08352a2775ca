"""`salience serve`: where it listens, what it takes, and how it moves everything out and back."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest

from salience import Memory
from salience.access import SCOPES, Keyring
from salience.errors import InvalidInput
from salience.server.connections import check_address
from salience.server.settings import ServerSettings
from salience.stores import open_store
from support.real_server import RealServer

_PROGRAM = "import sys; from salience.cli import main; sys.exit(main())"
LINES = {"Content-Type": "application/x-ndjson"}


def test_other_machines_are_served_only_with_a_key(tmp_path: Path) -> None:
    db = str(tmp_path / "memory.db")
    everywhere = ServerSettings(host="0.0.0.0", db=db)
    with pytest.raises(InvalidInput, match="salience keys create"):
        check_address(everywhere)
    check_address(ServerSettings(db=db))
    with closing(open_store(db)) as store, Keyring(store) as keyring:
        keyring.create("ana", SCOPES)
    check_address(everywhere)


def test_the_command_refuses_it_with_the_remedy(tmp_path: Path) -> None:
    command = ["serve", "--db", str(tmp_path / "memory.db"), "--host", "0.0.0.0"]
    ran = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *command], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 2
    assert "salience keys create" in ran.stderr


def test_port_0_is_a_free_port_which_is_told(tmp_path: Path) -> None:
    command = ["--db", str(tmp_path / "memory.db"), "--embedder", "none", "serve", "--port", "0"]
    with subprocess.Popen(
        [sys.executable, "-m", "salience", *command], stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stderr is not None
            told = re.search(r" at (http://127\.0\.0\.1:[1-9]\d*);", server.stderr.readline())
            assert told is not None
            while not answers(told[1]):
                assert server.poll() is None
        finally:
            server.terminate()


def answers(address: str) -> bool:
    try:
        return httpx.get(f"{address}/health").status_code == 200
    except httpx.TransportError:
        return False


def test_settings_come_from_options_before_the_environment() -> None:
    environment = {"SALIENCE_PORT": "9000", "SALIENCE_WORKERS": "3", "SALIENCE_DB": "x.db"}
    settings = ServerSettings.from_environment(environment, port=9001, db=None)
    assert (settings.port, settings.workers, settings.db) == (9001, 3, "x.db")
    again = ServerSettings.from_environment(settings.to_environment())
    assert again == settings
    with pytest.raises(InvalidInput, match="workers"):
        ServerSettings.from_environment({"SALIENCE_WORKERS": "many"})


@pytest.fixture
def filled(client: httpx.Client) -> httpx.Client:
    items = [{"id": f"m{place}", "content": f"Thought {place}. " * 40} for place in range(400)]
    added = client.post("/memories/batch", json={"items": items, "dedup": False})
    assert len(added.json()["ids"]) == 400
    return client


@contextmanager
def export_of(server: RealServer, filled: httpx.Client) -> Iterator[httpx.Response]:
    """The answer as it streams, which nothing has read."""
    with server.client() as client:
        client.headers["Salience-Namespace"] = filled.headers["Salience-Namespace"]
        with client.stream("GET", "/export") as response:
            yield response


def test_an_export_streams_and_comes_back_the_same(
    server: RealServer, filled: httpx.Client
) -> None:
    with export_of(server, filled) as response:
        assert response.headers["content-type"] == "application/x-ndjson"
        assert "content-length" not in response.headers
        chunks = list(response.iter_bytes())
    assert len(chunks) > 1
    export = b"".join(chunks)
    assert len(export.splitlines()) == 400 + 3
    copy = {"Salience-Namespace": filled.headers["Salience-Namespace"] + "-copy"}
    taken = filled.post("/load", content=export, headers=LINES | copy)
    assert taken.json()["memories"] == 400
    again = filled.get("/export", headers=copy).content
    assert [json.loads(line) for line in again.splitlines()[2:-1]] == [
        json.loads(line) for line in export.splitlines()[2:-1]
    ]


def test_a_reader_that_goes_away_ends_its_export_alone(
    server: RealServer, filled: httpx.Client
) -> None:
    long = [{"id": f"long{place}", "content": f"{'w' * 80}{place}. " * 330} for place in range(90)]
    for part in (long[:45], long[45:]):  # more than fits between the server and its reader
        assert filled.post("/memories/batch", json={"items": part}).status_code == 200
    for _ in range(4):  # there are two slots for such work, which have to become free again
        with export_of(server, filled) as response:
            next(response.iter_raw())
    assert len(filled.get("/export").content.splitlines()) == 403 + len(long)


def test_a_damaged_line_is_named_and_nothing_is_written(filled: httpx.Client) -> None:
    lines = filled.get("/export").content.splitlines()
    lines[7] = b'{"memory": '
    copy = {"Salience-Namespace": filled.headers["Salience-Namespace"] + "-damaged"}
    refused = filled.post("/load", content=b"\n".join(lines), headers=LINES | copy)
    assert refused.status_code == 422
    assert "line 8" in refused.json()["errors"][0]["field"]
    assert filled.post("/memories/count", headers=copy).json() == {"count": 0}


def test_a_namespace_that_is_not_empty_takes_no_import(filled: httpx.Client) -> None:
    refused = filled.post("/load", content=filled.get("/export").content, headers=LINES)
    assert (refused.status_code, refused.json()["code"]) == (409, "NotEmpty")


def test_an_id_that_is_taken_is_a_conflict(client: httpx.Client) -> None:
    note = {"id": "tea", "content": "Ana likes tea."}
    assert client.post("/memories", json=note).status_code == 201
    for path, body in (
        ("/memories", note),
        ("/memories/batch", {"items": [note], "strict": True}),
    ):
        refused = client.post(path, json=body).json()
        assert (refused["status"], refused["code"]) == (409, "IdTaken"), path
        assert refused["errors"][0]["field"] == "id"
    assert client.post("/memories/batch", json={"items": [note]}).status_code == 200


def test_an_import_has_to_say_what_it_is(filled: httpx.Client) -> None:
    assert filled.post("/load", json={}).status_code == 415


@pytest.mark.parametrize(
    "profile", ["/etc/profile.json", "mine.json", "os:system", "../x", "a\\b", "http://x/y"]
)
def test_no_path_and_no_code_is_taken_for_a_profile(client: httpx.Client, profile: str) -> None:
    for path, body in (
        ("/search", {"query": "x", "profile": profile}),
        ("/context", {"query": "x", "profile": profile}),
        ("/explain", {"query": "x", "id": "x", "profile": profile}),
        ("/compare", {"query": "x", "profiles": ["balanced", profile]}),
    ):
        refused = client.post(path, json=body)
        assert refused.status_code == 422
        assert "GET /v1/profiles" in refused.json()["detail"]


def test_a_profile_that_was_shown_can_be_sent_back_changed(client: httpx.Client) -> None:
    client.post("/memories", json={"content": "Ana has a boat."})
    profile = client.get("/profiles/six_factor").json()["profile"]
    profile["name"] = "mine"
    found = client.post("/search", json={"query": "a boat", "profile": profile}).json()
    assert found["profile"] == "mine"
    assert found["hits"]


def test_a_memory_that_python_has_written_is_found(server: RealServer) -> None:
    with Memory.open(server.db, namespace="elsewhere") as memory:
        memory.add("Ben plays the cello.", id="cello")
    with server.client() as client:
        client.headers["Salience-Namespace"] = "elsewhere"
        hits = client.post("/search", json={"query": "cello"}).json()["hits"]
        assert [hit["id"] for hit in hits] == ["cello"]


def test_maintenance_is_a_preview_unless_it_is_told_to_act(client: httpx.Client) -> None:
    for content in ("Ana likes tea.", "Ana likes green tea."):
        client.post("/memories", json={"content": content}).raise_for_status()
    before = client.get("/events").json()["events"]
    assert client.post("/maintain").json()["dry_run"] is True
    assert client.get("/events").json()["events"] == before
    assert client.post("/maintain", json={"dry_run": False}).json()["dry_run"] is False
