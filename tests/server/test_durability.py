"""Nothing acknowledged is lost: when the process is killed, when it stops, between workers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import httpx
import pytest

from salience import Memory
from salience.testing.postgres import PostgresServer
from support.real_server import RealServer, real_server
from support.waiting import HANG_SECONDS
from support.workers import clients_by_worker, worker_of

WRITERS = 4


def write_until_it_dies(server: RealServer, round: int) -> list[str]:
    """The ids of the memories that the server has acknowledged, from several writers at once."""
    acknowledged: list[str] = []
    enough = threading.Event()

    def write(writer: int) -> None:
        with server.client() as client:
            for count in range(10_000):
                id = f"{round}-{writer}-{count}"
                try:
                    body = {"id": id, "content": f"Thought number {id}."}
                    answer = client.post("/memories", json=body)
                except httpx.TransportError:
                    return
                assert answer.status_code == 201, answer.text
                acknowledged.append(id)
                if len(acknowledged) >= 40:
                    enough.set()

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(WRITERS)]
    for thread in threads:
        thread.start()
    assert enough.wait(HANG_SECONDS)
    server.kill()
    for thread in threads:
        thread.join()
    return acknowledged


@pytest.mark.parametrize("rounds", [1, pytest.param(3, marks=pytest.mark.deep)])
def test_every_acknowledged_write_survives_a_kill(rounds: int, tmp_path: Path) -> None:
    db = tmp_path / "memory.db"
    acknowledged: list[str] = []
    with real_server(db) as server:
        for round in range(rounds):
            acknowledged += write_until_it_dies(server, round)
            server.start()
        with server.client() as client:
            found = client.post("/memories/get", json={"ids": acknowledged}).json()["memories"]
    lost = [id for id, record in zip(acknowledged, found, strict=True) if record is None]
    assert len(acknowledged) >= 40 * rounds
    assert not lost
    with Memory.open(db) as memory:
        assert memory.upkeep.verify()


def test_a_stop_writes_what_is_queued(tmp_path: Path) -> None:
    db = tmp_path / "memory.db"
    with real_server(db) as server:
        with server.client() as client:
            client.post("/memories", json={"id": "tea", "content": "Ana likes tea."})
            client.post("/touch", json={"ids": ["tea"], "use": "read"})
        assert server.stop() == 0
    with Memory.open(db) as memory:
        assert memory["tea"].access_count == 1


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.deep)])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of an empty store."""
    if request.param == "sqlite":
        yield str(tmp_path / "memory.db")
        return
    with PostgresServer(fsync="off", full_page_writes="off") as postgres:
        yield postgres.url


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="/proc tells whose a connection is")
def test_workers_read_what_others_have_written(db: str, tmp_path: Path) -> None:
    """Each worker has a connection of its own; what one answers, the other has to know."""
    with real_server(db, "--workers", "2", log=tmp_path / "server.log") as server:
        clients = clients_by_worker(server)
        assert len(clients) == 2
        turns = [*permutations(clients)]
        for count in range(12):
            writer, reader = (clients[pid] for pid in turns[count % 2])
            body = {"content": f"The code of door {count} is {count * 7919}.", "id": f"d{count}"}
            assert writer.post("/memories", json=body).status_code == 201
            query = {"query": f"the code of door {count}", "limit": 50, "touch": False}
            for client in (reader, writer):
                found = client.post("/search", json=query).json()["hits"]
                assert f"d{count}" in [hit["id"] for hit in found]
            changed = writer.patch(f"/memories/d{count}", json={"content": "It is a window."})
            assert changed.status_code == 200
            assert reader.get(f"/memories/d{count}").json()["content"] == "It is a window."
            if count % 3 == 2:
                assert writer.delete(f"/memories/d{count}").status_code == 204
                assert reader.get(f"/memories/d{count}").status_code == 404
        for pid, client in clients.items():  # the connections were kept all along
            with client.stream("GET", f"{server.url}/health") as answer:
                stream = answer.extensions["network_stream"]
                assert worker_of(server, stream.get_extra_info("client_addr")[1]) == pid
                answer.read()
            client.close()
        assert server.stop() == 0
