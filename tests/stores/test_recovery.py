"""An embedding server that goes away and comes back: nobody waits, nothing stays without a vector.

The server is a real one on a local port, which is stopped and started again.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from salience import AsyncMemory, Memory
from salience.embedders import OpenAIEmbedder, StaticEmbedder
from salience.errors import EmbedderError
from salience.stores import migrate
from support.scripted_server import Server, answer
from support.waiting import HANG_SECONDS, until

pytest.importorskip("httpx", reason="the extra 'openai' is not installed")


class Port:
    """A port on which the server runs, or does not."""

    def __init__(self) -> None:
        self.server: Server | None = None
        self.number = 0
        self.embedders: list[OpenAIEmbedder] = []
        self.start()

    def start(self) -> None:
        self.server = Server(self.number)
        self.number = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        if self.server is not None:
            self.server.shutdown()
            self.server.server_close()
            self.server = None
            for embedder in self.embedders:  # their connections, which the server would serve
                embedder.close()

    def embedder(self, **options: Any) -> OpenAIEmbedder:
        url = f"http://127.0.0.1:{self.number}/v1"
        settings = {"base_url": url, "backoff": 0.1, "max_retries": 1, "timeout": 1.0, **options}
        self.embedders.append(OpenAIEmbedder("m", **settings))
        return self.embedders[-1]


@pytest.fixture
def port() -> Iterator[Port]:
    port = Port()
    yield port
    port.stop()


@pytest.fixture(params=["file", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    is_file = request.param == "file"
    address: Any = tmp_path / "memory.db" if is_file else request.getfixturevalue("database")
    migrate(address)
    return address


def by_vector(memory: Memory, query: str) -> set[str]:
    """The memories that a search finds by their vectors."""
    hits = memory.search(query, touch=False, limit=100)
    return {hit.id for hit in hits if "vector" in hit.routes}


def test_what_was_kept_without_vectors_gets_them_when_the_server_is_back(
    address: Any, port: Port
) -> None:
    with Memory(address, embedder=port.embedder(), embedder_pause=0.05) as memory:
        memory.add("Green tea", id="before")
        memory.add("A small boat", id="edited")
        assert by_vector(memory, "Green tea") == {"before", "edited"}
        port.stop()
        [degraded] = memory.add("Black coffee", id="meanwhile").degraded
        assert "kept without a vector, which the same embedder makes later by itself" in degraded
        memory.update("edited", content="A large ship")
        result = memory.search("coffee")
        assert result.ids[0] == "meanwhile"
        assert any(problem.startswith("vector: ") for problem in result.degraded)
        port.start()
        until(lambda: not memory.search("coffee", touch=False).degraded)
        until(lambda: len(by_vector(memory, "a ship with coffee")) == 3)
        assert not memory.add("White wine", id="after").degraded


def test_what_was_imported_without_vectors_gets_them_as_well(
    address: Any, port: Port, tmp_path: Path
) -> None:
    with Memory("ram://", embedder=None) as memory:
        memory.add("Black coffee", id="imported")
        memory.export(tmp_path / "all.jsonl")
    with Memory(address, embedder=port.embedder(), embedder_pause=0.05) as memory:
        port.stop()
        [degraded] = memory.load(tmp_path / "all.jsonl").degraded
        assert "kept without a vector, which the same embedder makes later by itself" in degraded
        port.start()
        until(lambda: by_vector(memory, "coffee") == {"imported"})


def test_a_store_whose_first_memories_have_no_vectors_learns_its_embedder(
    address: Any, port: Port
) -> None:
    port.stop()
    with Memory(address, embedder=port.embedder(), embedder_pause=0.05) as memory:
        memory.add("Black coffee", id="meanwhile")
        assert memory.stats()["embedder"] is None
        port.start()
        until(lambda: by_vector(memory, "coffee") == {"meanwhile"})
        assert memory.stats()["embedder"] == "openai/m@api (8)"


def test_another_process_makes_the_vectors_that_one_left_out(tmp_path: Path, port: Port) -> None:
    port.stop()
    with Memory(tmp_path / "memory.db", embedder=port.embedder()) as memory:
        memory.add("Black coffee", id="meanwhile")
    port.start()
    with Memory(tmp_path / "memory.db", embedder=port.embedder()) as memory:
        until(lambda: by_vector(memory, "coffee") == {"meanwhile"})
    with Memory(tmp_path / "words.db", embedder=None) as memory:
        memory.add("Black coffee", id="wanted")
    with Memory(tmp_path / "words.db", embedder=port.embedder()) as memory:
        memory.add("Green tea", id="tea")
    with Memory(tmp_path / "words.db", embedder=port.embedder()) as memory:
        assert by_vector(memory, "coffee") == {"tea"}  # nobody asked for a vector of the other


def test_nobody_waits_for_a_server_that_has_failed(port: Port) -> None:
    assert port.server is not None
    port.server.script = [answer(500, {})] * 99
    with Memory("ram://", embedder=port.embedder(), embedder_pause=3_600) as memory:
        memory.add("Green tea")
        asked = len(port.server.seen)
        assert asked <= 4  # two tries each, of this call and of the background
        recovery = memory._core.dispatcher.recovery
        assert recovery is not None
        assert recovery.is_waiting
        for number in range(20):
            assert memory.add(f"Black coffee, cup {number}").degraded
            assert memory.search("coffee").degraded
        assert len(port.server.seen) <= asked + 2  # of the background


def test_with_no_pause_every_call_asks_anew(port: Port) -> None:
    assert port.server is not None
    port.server.script = [answer(500, {})] * 99
    with Memory("ram://", embedder=port.embedder(), embedder_pause=0) as memory:
        assert memory.add("Green tea").degraded
        assert memory.search("tea").degraded
        port.server.script = []
        assert not memory.add("Black coffee").degraded


def test_an_awaited_memory_recovers_as_well(tmp_path: Path, port: Port) -> None:
    async def body() -> None:
        settings: Any = {"embedder": port.embedder(), "embedder_pause": 0.05}
        async with AsyncMemory(tmp_path / "memory.db", **settings) as memory:
            port.stop()
            assert (await memory.add("Black coffee", id="meanwhile")).degraded
            port.start()
            deadline = time.monotonic() + HANG_SECONDS
            while True:
                hits = await memory.search("coffee", touch=False)
                if hits and "vector" in hits[0].routes:
                    break
                assert time.monotonic() < deadline, "not found by its vector"
                await asyncio.sleep(0.02)

    asyncio.run(body())


@pytest.mark.parametrize(
    ("embedder", "problem"),
    [
        ("sentence-transformers:./no/such/model", "there is no folder ./no/such/model"),
        ("sentence-transformers:{tmp}", "holds no model"),
        (StaticEmbedder(folder="/no/such/folder"), "which is not there; install salience again"),
    ],
)
def test_an_embedder_that_can_never_work_is_refused_at_opening(
    embedder: Any, problem: str, tmp_path: Path
) -> None:
    if isinstance(embedder, str):
        embedder = embedder.format(tmp=tmp_path)
    with pytest.raises(EmbedderError, match=problem):
        Memory("ram://", embedder=embedder)


def test_a_missing_extra_is_named_at_opening(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name, package=None: None)
    with pytest.raises(EmbedderError, match=r"pip install 'salience\[sentence-transformers\]'"):
        Memory("ram://", embedder="sentence-transformers:a/b")
