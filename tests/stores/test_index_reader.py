"""Vectors compared in a second thread while the first one looks for words."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from salience import Memory
from salience.errors import StoreClosed
from salience.evaluation import sample
from salience.retrieval.operations import Collect
from salience.retrieval.query import Query
from salience.retrieval.routes import Route, Vector
from salience.stores import index_reader, open_store
from salience.stores.index.namespace_index import NamespaceIndex
from salience.testing import WordHashEmbedder

NOW = "2026-10-01T08:00:00Z"
QUESTIONS = [question["text"] for question in sample.questions()][::4]


@pytest.fixture(scope="module")
def memory() -> Iterator[Memory]:
    with Memory.open("sqlite:///:memory:", embedder=WordHashEmbedder()) as memory:
        memory.add_many(sample.memories())
        yield memory


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[tuple[bool, bool]]:
    """For each route that is walked: whether by vectors, and whether in a thread beside."""
    seen: list[tuple[bool, bool]] = []
    find = NamespaceIndex.find

    def watched(index: NamespaceIndex, route: Route, *rest: Any) -> Any:
        beside = threading.current_thread().name.startswith("salience-worker")
        seen.append((isinstance(route, Vector), beside))
        return find(index, route, *rest)

    monkeypatch.setattr(NamespaceIndex, "find", watched)
    return seen


def ranked(memory: Memory, profile: str, question: str) -> list[tuple[str, float]]:
    found = memory.search(question, profile=profile, now=NOW, touch=False)
    return [(hit.id, hit.score) for hit in found]


@pytest.mark.parametrize("profile", ["balanced", "multi_route"])
def test_two_threads_find_what_one_finds(
    memory: Memory, profile: str, threads: list[tuple[bool, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = [ranked(memory, profile, question) for question in QUESTIONS]
    assert not any(beside for _, beside in threads)
    monkeypatch.setattr(index_reader, "_PARALLEL_SEARCH_MIN_ROWS", 1)
    threads.clear()
    assert [ranked(memory, profile, question) for question in QUESTIONS] == alone
    assert set(threads) == {(True, True), (False, False)}
    with ThreadPoolExecutor(4) as pool:  # several callers share the helper
        assert list(pool.map(lambda q: ranked(memory, profile, q), QUESTIONS)) == alone


@pytest.mark.parametrize("by_vector", [True, False])
def test_what_goes_wrong_in_either_thread_is_told(
    memory: Memory, by_vector: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_reader, "_PARALLEL_SEARCH_MIN_ROWS", 1)
    find = NamespaceIndex.find

    def broken(index: NamespaceIndex, route: Route, *rest: Any) -> Any:
        if isinstance(route, Vector) == by_vector:
            raise ArithmeticError("no such number")
        return find(index, route, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(NamespaceIndex, "find", broken)
        with pytest.raises(ArithmeticError, match="no such number"):
            memory.search("tea", touch=False)
    assert len(memory.search("tea", touch=False))


def test_routes_of_a_closed_store_are_refused() -> None:
    store = open_store("ram://")
    store.close()
    with pytest.raises(StoreClosed):
        store.batch([Collect(Query("tea", ("default",), 0.0), (Vector(),), 3, ())])


def test_it_still_answers_while_the_interpreter_ends(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_reader, "_PARALLEL_SEARCH_MIN_ROWS", 1)
    before = ranked(memory, "balanced", "tea")

    def refused(*_: Any) -> Any:
        raise RuntimeError("cannot schedule new futures after interpreter shutdown")

    monkeypatch.setattr(ThreadPoolExecutor, "submit", refused)
    assert ranked(memory, "balanced", "tea") == before
