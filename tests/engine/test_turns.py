"""Searches of one store compute one after the other; writes and embedders wait for none of them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from salience import AsyncMemory, Memory
from salience.rerankers import reranked
from salience.retrieval import turnstile
from salience.retrieval.turnstile import Turnstile
from salience.stores import EmbeddedStore, open_store
from salience.testing import WordHashEmbedder
from support.waiting import HANG_SECONDS


@pytest.fixture(params=["ram", "sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "ram://" if request.param == "ram" else f"sqlite:///{tmp_path / 'memory.db'}"


def in_thread(work: Callable[[], Any]) -> Future[Any]:
    future: Future[Any] = Future()
    threading.Thread(target=lambda: future.set_result(work()), daemon=True).start()
    return future


class Waiting(Turnstile):
    """Tells when somebody joins the line behind another."""

    def __init__(self) -> None:
        super().__init__()
        self.is_joined = threading.Event()

    def _wait(self, place: Any) -> None:
        if self._line:
            self.is_joined.set()
        super()._wait(place)


def test_a_search_waits_for_its_turn_and_a_write_does_not(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turnstile, "LONGEST_TURN_SECONDS", 60.0)
    store = open_store(url)
    assert isinstance(store, EmbeddedStore)
    line = store.turnstile = Waiting()
    with Memory.open(store, embedder=WordHashEmbedder()) as memory:
        memory.add("A red apple.", id="a")
        with line.turn():
            search = in_thread(lambda: memory.search("apple").ids)
            assert line.is_joined.wait(HANG_SECONDS)
            for write in (
                lambda: memory.add("A pear.", id="b").id,
                lambda: memory.update("a", importance=0.5).id,
                lambda: memory.get("b"),
            ):
                assert in_thread(write).result(HANG_SECONDS)
            assert not search.done()
        assert "a" in search.result(HANG_SECONDS)


def test_an_embedder_that_waits_holds_up_no_other_search(url: str) -> None:
    asked, is_up = threading.Event(), threading.Event()

    class Service(WordHashEmbedder):
        def embed(self, texts: Any, *, kind: Any = "document") -> Any:
            if texts == ["slow"]:
                asked.set()
                assert is_up.wait(HANG_SECONDS)
            return super().embed(texts, kind=kind)

    with Memory.open(url, embedder=Service()) as memory:
        memory.add("A slow apple.", id="a")
        slow = in_thread(lambda: memory.search("slow").ids)
        assert asked.wait(HANG_SECONDS)
        assert memory.search("apple").ids == ("a",)
        is_up.set()
        assert slow.result(HANG_SECONDS) == ("a",)


@pytest.mark.parametrize("fails", [False, True])
def test_a_reranker_that_waits_holds_up_no_other_search(
    url: str, fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turnstile, "LONGEST_TURN_SECONDS", 60.0)
    asked, is_up = threading.Event(), threading.Event()

    def slow(query: str, texts: Any) -> list[float]:
        asked.set()
        assert is_up.wait(HANG_SECONDS)
        return [] if fails else [1.0] * len(texts)

    store = open_store(url)
    assert isinstance(store, EmbeddedStore)
    with Memory.open(store, embedder=WordHashEmbedder()) as memory:
        memory.add("A red apple.", id="a")
        profile = reranked("balanced", slow, timeout=HANG_SECONDS)
        search = in_thread(lambda: memory.search("apple", profile=profile))
        assert asked.wait(HANG_SECONDS)
        assert in_thread(lambda: memory.search("apple").ids).result(HANG_SECONDS) == ("a",)
        is_up.set()
        result = search.result(HANG_SECONDS)
        assert (result.ids, bool(result.degraded)) == (("a",), fails)
        with store.turnstile.turn():  # which nobody holds any more
            assert [place.thread for place in store.turnstile._line] == [threading.get_ident()]


def test_each_call_goes_to_a_thread_once(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def body() -> list[int]:
        loop, hops = asyncio.get_running_loop(), list[int]()
        run_in_executor = loop.run_in_executor

        def counted(*arguments: Any) -> Any:
            hops[-1] += 1
            return run_in_executor(*arguments)

        async with await AsyncMemory.open(url, embedder=WordHashEmbedder()) as memory:
            await memory.add("A red apple.", id="a")
            with monkeypatch.context() as patch:
                patch.setattr(loop, "run_in_executor", counted)
                for call in (
                    lambda: memory.search("apple"),
                    lambda: memory.get_context("apple"),
                    lambda: memory.explain("apple", "a"),
                    lambda: memory.add("A green pear."),
                    lambda: memory.update("a", content="A plum."),
                    lambda: memory.get("a"),
                ):
                    hops.append(0)
                    await call()
        return hops

    assert asyncio.run(body()) == [1] * 6


def test_writes_do_not_queue_behind_searches() -> None:
    """More searches than there are threads for them wait, and a write passes them."""
    is_up = threading.Event()

    class Service(WordHashEmbedder):
        def embed(self, texts: Any, *, kind: Any = "document") -> Any:
            if kind == "query":
                assert is_up.wait(HANG_SECONDS)
            return super().embed(texts, kind=kind)

    async def body() -> None:
        async with await AsyncMemory.open("ram://", embedder=Service()) as memory:
            await memory.add("A red apple.", id="a")
            searches = [asyncio.create_task(memory.search(f"apple {i}")) for i in range(100)]
            await asyncio.sleep(0)
            await asyncio.wait_for(memory.add("A pear.", id="b"), HANG_SECONDS)
            assert not any(search.done() for search in searches)
            is_up.set()
            assert all("a" in result.ids for result in await asyncio.gather(*searches))

    asyncio.run(body())


def test_the_threads_of_searches_end_with_the_memory() -> None:
    before, searching = {*threading.enumerate()}, list[threading.Thread]()

    async def body() -> None:
        async with await AsyncMemory.open("ram://", embedder=None) as memory:
            await memory.search("apple")
            fresh = {*threading.enumerate()} - before
            searching.extend(one for one in fresh if one.name.startswith("salience-search"))

    asyncio.run(body())
    assert searching
    for thread in searching:
        thread.join(HANG_SECONDS)
        assert not thread.is_alive()
