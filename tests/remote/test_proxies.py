"""Variables that name proxies: this machine is asked without one, and errors name it."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Iterator
from contextlib import closing

import pytest

from salience import AsyncMemory, Client, Memory
from salience.embedders.openai import OpenAIEmbedder
from salience.errors import EmbedderError, InvalidInput, StoreError
from salience.forks import is_here
from support.mcp_client import in_process
from support.served import serve_memory

DEAD = "http://user:secret@127.0.0.1:9"
VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def url() -> Iterator[str]:
    with serve_memory("ram://") as memory:
        yield memory.url


def embedded(base_url: str) -> None:
    """Ask an endpoint for a vector."""
    with closing(OpenAIEmbedder("m", base_url=base_url, max_retries=0)) as embedder:
        embedder.embed(["x"])


@pytest.mark.parametrize("proxy", [DEAD, "socks5://127.0.0.1:9", "no proxy at all"])
@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_this_machine_is_asked_without_a_proxy(
    url: str, name: str, proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, proxy)
    with Memory(url) as memory:
        memory.add("Ana lives in Porto.")
        assert memory.count() == 1

    async def awaited() -> int:
        async with AsyncMemory(url) as memory:
            return await memory.count()

    assert asyncio.run(awaited()) == 1
    with Client(url) as client:
        assert len(client.search("Where does Ana live?").results) == 1
    with in_process(url) as tools:
        assert tools.call("get_stats")["memories"] == 1
    with pytest.raises(EmbedderError, match="status 404"):  # which the server answers
        embedded(url)


@pytest.mark.parametrize(
    ("address", "here"),
    [
        ("http://127.0.0.1:8420", True),
        ("http://127.8.8.8", True),
        ("http://localhost:8420/x", True),
        ("http://LOCALHOST.", True),
        ("http://api.localhost", True),
        ("http://[::1]:8420", True),
        ("http://[::ffff:127.0.0.1]", True),
        ("http://0.0.0.0:8420", True),
        ("http://10.0.0.1", False),
        ("http://localhost.example.com", False),
        ("http://127.0.0.1.example.com", False),
        ("http://127.0.0.1@example.com", False),
        ("https://example.com", False),
    ],
)
def test_addresses_of_this_machine(address: str, here: bool) -> None:
    assert is_here(address) is here


@pytest.mark.parametrize("name", ["HTTP_PROXY", "all_proxy"])
def test_an_error_names_the_proxy_without_its_password(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, DEAD)
    told = f"asked by the proxy of {name.upper()}, http://127.0.0.1:9"
    with pytest.raises(StoreError, match=told) as lost:
        Memory("http://memory.invalid:8420").count()
    with pytest.raises(EmbedderError, match=told) as unembedded:
        embedded("http://models.invalid/v1")
    assert "secret" not in str(lost.value) + str(unembedded.value)
    monkeypatch.setenv("NO_PROXY", "memory.invalid")
    with pytest.raises(StoreError) as direct:
        Memory("http://memory.invalid:8420").count()
    assert "proxy" not in str(direct.value)


@pytest.mark.skipif(importlib.util.find_spec("socksio") is not None, reason="SOCKS can be spoken")
def test_a_proxy_that_cannot_be_used_is_named_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://user:secret@127.0.0.1:9")
    with pytest.raises(InvalidInput, match=r"^ALL_PROXY: is socks5://127.0.0.1:9, and.*\[socks\]"):
        Memory("http://memory.invalid:8420").count()
    monkeypatch.setenv("ALL_PROXY", "carrier pigeon://coop")
    with pytest.raises(InvalidInput, match=r"ALL_PROXY: is .*; give http://host:port"):
        Memory("http://memory.invalid:8420").count()
