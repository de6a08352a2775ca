"""Readiness: a server that cannot search yet says why, tries again, and becomes ready."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from salience import AsyncMemory, Memory
from salience.errors import NotWritable, StoreError
from salience.retrieval.operations import CheckWritable
from salience.server import app as module
from salience.server import operation
from salience.server.app import create_app
from salience.server.settings import ServerSettings
from salience.stores import Store, open_store
from support.waiting import until


class Waking(AsyncMemory):
    """A memory whose store fails a few times first."""

    failures = 2

    async def search(self, *arguments: object, **options: object):  # type: ignore[no-untyped-def]
        if Waking.failures:
            Waking.failures -= 1
            raise StoreError("the disk is away")
        return await super().search(*arguments, **options)  # type: ignore[arg-type]


def opened(store: Store) -> AsyncMemory:
    return Waking(store, embedder=None)


def test_a_store_that_fails_at_first_is_searched_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "WARM_AGAIN_SECONDS", 0.01)
    monkeypatch.setattr(logging.getLogger("salience.server"), "propagate", True)
    monkeypatch.setattr(Waking, "failures", 2)
    application = create_app(ServerSettings(db="ram://"), opened)
    with TestClient(application, base_url="http://127.0.0.1") as client:
        until(lambda: client.get("/ready").status_code == 200)
    assert caplog.text.count("not ready: StoreError: the disk is away") == 2


@contextmanager
def served(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """A client of a ready server over a file, which is asked again for each /ready."""
    monkeypatch.setattr(operation, "_EACH_SECONDS", 0.0)
    application = create_app(ServerSettings(db=str(path), embedder="none"))
    address: dict[str, Any] = {"base_url": "http://127.0.0.1", "client": ("127.0.0.1", 50_000)}
    with TestClient(application, **address) as client:
        until(lambda: client.get("/ready").status_code == 200)
        yield client


def test_a_server_whose_file_was_moved_is_not_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "memory.db"
    with served(path, monkeypatch) as client:
        path.rename(tmp_path / "moved.db")
        answer = client.get("/ready")
        assert answer.status_code == 503
        assert "was deleted, moved or replaced" in answer.json()["reason"]
        assert str(tmp_path) not in answer.text
        write = client.post("/v1/memories", json={"content": "x"})
        assert (write.status_code, write.json()["code"]) == (503, "NotWritable")
        (tmp_path / "moved.db").rename(path)
        assert client.get("/ready").status_code == 200


def test_a_server_is_not_ready_right_after_a_write_was_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "memory.db"
    with served(path, monkeypatch) as client:
        monkeypatch.setattr(operation, "_EACH_SECONDS", 3_600.0)
        assert client.get("/ready").status_code == 200
        path.rename(tmp_path / "moved.db")
        assert client.get("/ready").status_code == 200  # of an answer that is kept
        for _ in range(2):
            assert client.post("/v1/memories", json={"content": "x"}).status_code == 503
            assert client.get("/ready").status_code == 503


def test_a_server_is_not_ready_right_after_a_tool_could_not_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mcp")
    path = tmp_path / "memory.db"
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "add_memory", "arguments": {"content": "x"}},
    }
    headers = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-06-18",
    }
    with served(path, monkeypatch) as client:
        monkeypatch.setattr(operation, "_EACH_SECONDS", 3_600.0)
        path.rename(tmp_path / "moved.db")
        assert client.get("/ready").status_code == 200  # of an answer that is kept
        answer = client.post("/mcp", json=call, headers=headers).json()
        assert answer["result"]["isError"]
        assert client.get("/ready").status_code == 503


def test_a_server_whose_disk_is_full_is_not_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(tmp_path)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a small file system can only be mounted with privileges")
    try:
        with served(tmp_path / "memory.db", monkeypatch) as client:
            text = {"content": "word " * 2_000}
            assert client.post("/v1/memories", json=text).status_code == 201
            fill(tmp_path / "rest")
            for number in range(3):
                write = client.post("/v1/memories", json={"content": f"{text['content']} {number}"})
                if write.status_code != 201:  # the log had some room left
                    break
            assert (write.status_code, write.json()["code"]) == (507, "DiskFull")
            answer = client.get("/ready")
            assert (answer.status_code, "disk is full" in answer.text) == (503, True)
            (tmp_path / "rest").unlink()
            assert client.get("/ready").status_code == 200
            assert client.post("/v1/memories", json={"content": "room"}).status_code == 201
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


def fill(path: Path) -> None:
    """Write until the disk is full."""
    with path.open("wb", buffering=0) as rest:
        try:
            while rest.write(b"x" * 4_096) == 4_096:
                pass
        except OSError:
            return


class Silent(AsyncMemory):
    """A memory whose store does not answer."""

    async def get(self, id: str, *, as_of: Any = None) -> Any:
        await asyncio.sleep(60)


def test_a_server_whose_store_is_silent_says_so_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operation, "_LONGEST_SECONDS", 0.01)
    application = create_app(
        ServerSettings(db="ram://"), lambda store: Silent(store, embedder=None)
    )
    with TestClient(application, base_url="http://127.0.0.1") as client:
        until(lambda: "does not answer" in client.get("/ready").text)
        assert client.get("/ready").status_code == 503


def test_a_file_for_reading_only_cannot_be_written(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", embedder=None) as memory:
        memory.add("Ana has a cello.")
    store = open_store(f"sqlite:///{tmp_path}/memory.db?mode=ro")
    with pytest.raises(NotWritable, match="for reading only"):
        store.batch([CheckWritable()])
    store.close()
