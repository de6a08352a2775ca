"""Adapters take any memory or address, use both of its sides, and close what they opened."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salience import AsyncMemory, Memory
from salience.access.principal import is_pattern, matches
from salience.errors import InvalidInput, StoreClosed
from salience.integrations._extra import extra
from salience.integrations._memory import Opened, as_query, scope
from salience.records.validation import MAX_NAMESPACE_CHARACTERS
from support.served import serve_memory


async def add_and_count(opened: Opened) -> tuple[int, int]:
    """Add one memory by the awaited side; the counts of both sides after it."""
    await opened.awaited.add("Ana lives in Lisbon.", dedup=False)
    return await opened.awaited.count(), await asyncio.to_thread(opened.sync.count)


def test_both_sides_of_an_address_see_each_others_writes(tmp_path: Path) -> None:
    with Opened(tmp_path / "agent.db", embedder=None, namespace="ana") as opened:
        opened.sync.add("Ana likes tea.")
        assert asyncio.run(add_and_count(opened)) == (2, 2)
        assert opened.awaited.namespace == "ana"
        assert asyncio.run(add_and_count(opened.for_namespace("ben"))) == (1, 1)
    with pytest.raises(StoreClosed):
        opened.sync.count()


def test_a_memory_that_was_given_stays_open() -> None:
    with Memory("ram://", embedder=None) as memory:
        with Opened(memory) as opened:
            assert asyncio.run(add_and_count(opened)) == (1, 1)
        assert memory.count() == 1


def test_an_awaited_memory_has_a_sync_side() -> None:
    async def both() -> tuple[int, int]:
        async with AsyncMemory("ram://", embedder=None) as memory:
            async with Opened(memory) as opened:
                counts = await add_and_count(opened)
            await memory.count()
            return counts

    assert asyncio.run(both()) == (1, 1)


def test_an_awaited_memory_that_is_not_open_is_refused() -> None:
    for address in ("ram://", "http://127.0.0.1:1"):
        with pytest.raises(StoreClosed, match="not open yet"):
            Opened(AsyncMemory(address))


def test_a_memory_at_a_server_may_be_awaited_in_one_loop_after_another() -> None:
    with serve_memory("ram://", embedder=None) as served, Opened(served.url) as opened:
        assert asyncio.run(add_and_count(opened)) == (1, 1)
        assert asyncio.run(add_and_count(opened)) == (2, 2)

        async def close_all() -> int:
            async with AsyncMemory(served.url) as awaited:
                async with Opened(awaited) as beside:
                    await add_and_count(beside)
                await add_and_count(opened)
                await opened.aclose()
                return await awaited.count()

        assert asyncio.run(close_all()) == 4
        with pytest.raises(StoreClosed):
            opened.sync.count()


def test_a_user_has_a_namespace() -> None:
    with Memory("ram://", embedder=None, namespace="own") as memory:
        opened = Opened(memory)
        assert opened.of_user(None).sync.namespace == "own"
        assert opened.of_user("ana").sync.namespace == "ana"


def test_settings_are_for_addresses() -> None:
    with Memory("ram://", embedder=None) as memory, pytest.raises(InvalidInput, match="namespace"):
        Opened(memory, namespace="ana")


def test_the_error_of_a_framework_that_lacks_names_its_extra() -> None:
    with (
        pytest.raises(ImportError, match=r"pip install 'salience\[langgraph\]'"),
        extra("langgraph"),
    ):
        import no_such_framework  # type: ignore[import-not-found]  # noqa: F401


labels = st.lists(st.text(st.characters(exclude_characters="\0", codec="utf-8")), min_size=1)
confusable = st.lists(st.text("a/%~*. é\u0301", max_size=90), min_size=1, max_size=4)


@given(labels | confusable, labels | confusable)
def test_different_labels_have_different_names(some: list[str], others: list[str]) -> None:
    assert (scope(*some) == scope(*others)) == (some == others)


@given(labels | confusable)
def test_a_name_is_one_namespace_as_the_store_takes_it(some: list[str]) -> None:
    name = scope(*some)
    assert 0 < len(name) <= MAX_NAMESPACE_CHARACTERS
    assert name.strip() == name
    assert not is_pattern(name)


@given(confusable, confusable)
def test_a_pattern_of_the_first_labels_covers_all_beneath(some: list[str], more: list[str]) -> None:
    above, beneath = scope(*some), scope(*some, *more)
    if "~" not in beneath:  # which says that it was too long
        assert matches(f"{above}/*", beneath)


def test_names_are_readable() -> None:
    assert scope("app", "ana@x.org", "Übung 1/2", "") == "app/ana@x.org/Übung%201%2F2/%"


@pytest.mark.parametrize("wrong", [(), (7,), ("a\0",), ("\ud800",)])
def test_labels_that_cannot_be_kept_are_refused(wrong: tuple[str, ...]) -> None:
    with pytest.raises(InvalidInput, match="scope"):
        scope(*wrong)


def test_a_query_is_no_longer_than_a_search_takes() -> None:
    with Memory("ram://", embedder=None) as memory:
        for words in ("x " * 200_000, "a\0b\ud800", " \u200b", ""):
            query = as_query(words)
            assert query == "" or len(memory.search(query)) == 0
        assert as_query(" \u200b") == ""
