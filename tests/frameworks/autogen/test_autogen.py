"""`SalienceMemory` beside AutoGen's `ListMemory`, and inside an agent whose model is scripted."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_core import CancellationToken, Image
from autogen_core.memory import ListMemory, MemoryContent, MemoryMimeType
from autogen_core.memory import Memory as AutoGenMemory
from autogen_core.model_context import UnboundedChatCompletionContext
from autogen_core.models import SystemMessage, UserMessage
from autogen_ext.models.replay import ReplayChatCompletionClient
from hypothesis import given, settings
from hypothesis import strategies as st

from salience import AsyncMemory, Memory
from salience.errors import InvalidInput
from salience.integrations.autogen import SalienceMemory
from salience.testing.embedder import WordHashEmbedder
from support.real_server import real_server
from support.users import two_users

TEXT = MemoryMimeType.TEXT
_PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
)


def text(content: str, **metadata: Any) -> MemoryContent:
    return MemoryContent(content=content, mime_type=TEXT, metadata=metadata or None)


def store() -> Memory:
    return Memory("ram://", embedder=WordHashEmbedder())


def test_the_model_gets_what_matters_before_it_answers(tmp_path: Path) -> None:
    db = str(tmp_path / "agent.db")

    async def first_session() -> None:
        memory = SalienceMemory(db, user_id="ana")
        await memory.add(text("Ana is allergic to nuts."))
        await memory.add(text("The spare key is with the neighbour."))
        await memory.close()

    async def second_session() -> list[Any]:
        model = ReplayChatCompletionClient(["No: there are nuts in it.", "With the neighbour."])
        memory = SalienceMemory(db, user_id="ana", limit=1)
        agent = AssistantAgent("helper", model, memory=[memory])
        await agent.run(task="May I eat a nut cake? I have an allergy.")
        await agent.run(task="Who has the spare key?")
        await memory.close()
        return [call["messages"] for call in model.create_calls]

    asyncio.run(first_session())
    asked, asked_again = asyncio.run(second_session())
    assert [type(message) for message in asked] == [SystemMessage, UserMessage, SystemMessage]
    assert "Ana is allergic to nuts." in asked[-1].content
    assert "neighbour" not in asked[-1].content
    assert asked[-1].content.startswith("<recalled-memories>")
    assert "neighbour" in asked_again[-1].content


def test_the_same_memories_are_not_handed_over_twice() -> None:
    async def run() -> list[Any]:
        memory = SalienceMemory(store(), user_id="ana")
        await memory.add(text("Ana is allergic to nuts."))
        context = UnboundedChatCompletionContext()
        await context.add_message(UserMessage(content="What may I eat?", source="user"))
        for _ in range(2):
            found = await memory.update_context(context)
            assert len(found.memories.results) == 1
        return await context.get_messages()

    assert len(asyncio.run(run())) == 2


def test_a_message_takes_no_more_tokens_than_it_may() -> None:
    async def run() -> str:
        memory = SalienceMemory(store(), user_id="ana", max_tokens=200)
        for day in range(40):
            await memory.add(text(f"On day {day} the garden was watered twice."))
        context = UnboundedChatCompletionContext()
        await memory.update_context(context)
        [message] = await context.get_messages()
        return str(message.content)

    assert len(asyncio.run(run())) <= 800


class Both:
    """Each call to AutoGen's memory and to this one; what is found has to be the same."""

    def __init__(self) -> None:
        self.memories: list[Any] = [
            ListMemory(),
            SalienceMemory(store(), user_id="ana", limit=1000),
        ]

    async def add(self, content: MemoryContent) -> None:
        for memory in self.memories:
            await memory.add(content)

    async def clear(self) -> None:
        for memory in self.memories:
            await memory.clear()

    async def query(self) -> list[Any]:
        theirs, ours = [
            [(found.content, found.mime_type, found.metadata or {}) for found in result.results]
            for result in [await memory.query("") for memory in self.memories]
        ]
        for (*expected, metadata), (*found, more) in zip(theirs, ours, strict=True):
            assert found == expected
            assert more.items() >= metadata.items()
            assert set(more) - set(metadata) == {"id", "created_at"}
        return ours

    async def update_context(self) -> list[int]:
        contexts = [UnboundedChatCompletionContext() for _ in self.memories]
        for memory, context in zip(self.memories, contexts, strict=True):
            await memory.update_context(context)
        theirs, ours = [await context.get_messages() for context in contexts]
        assert [type(message) for message in ours] == [type(message) for message in theirs]
        return [len(theirs), len(ours)]


_VALUES = st.dictionaries(st.sampled_from("abc"), st.integers(0, 9) | st.text("xyz "), max_size=2)
_CONTENTS = st.one_of(
    st.tuples(st.text("xyz# "), st.sampled_from([TEXT, MemoryMimeType.MARKDOWN, "text/x-dot"])),
    st.tuples(_VALUES, st.just(MemoryMimeType.JSON)),
    st.tuples(st.binary(max_size=9), st.just(MemoryMimeType.BINARY)),
)


@settings(max_examples=20)
@given(st.lists(st.tuples(_CONTENTS, _VALUES), max_size=6))
def test_whatever_is_added_comes_back_as_from_a_list(added: list[Any]) -> None:
    async def run() -> None:
        both = Both()
        for number, ((given_content, mime_type), metadata) in enumerate(added):
            content = given_content
            if isinstance(content, str):  # the same text twice would be kept once
                content = f"Note {number}: {content}"
            await both.add(
                MemoryContent(content=content, mime_type=mime_type, metadata=metadata or None)
            )
        assert len(await both.query()) == len(added)
        await both.update_context()
        await both.clear()
        assert await both.query() == []

    asyncio.run(run())


def test_an_image_comes_back() -> None:
    async def run() -> None:
        memory = SalienceMemory(store(), user_id="ana")
        image = Image.from_base64(_PIXEL)
        description = {"description": "A photo of the balcony"}
        await memory.add(
            MemoryContent(content=image, mime_type=MemoryMimeType.IMAGE, metadata=description)
        )
        [found] = (await memory.query("balcony photo")).results
        assert isinstance(found.content, Image)
        assert found.content.to_base64() == image.to_base64()

    asyncio.run(run())


def test_the_best_is_first_and_filters_hold() -> None:
    async def run() -> None:
        shared = store()
        shared.for_namespace("ana").add("flat(dentist)", kind="item")
        memory = SalienceMemory(shared, user_id="ana")
        await memory.add(text("The dentist is on 3 May.", topic="health"))
        await memory.add(text("Ana rents a flat in Lisbon.", topic="home"))
        query = MemoryContent(content="Where is the flat?", mime_type=TEXT)
        found = (await memory.query(query)).results
        assert found[0].content == "Ana rents a flat in Lisbon."
        assert found[0].metadata["score"] >= found[1].metadata["score"]
        health = await memory.query("flat", filters={"metadata.topic": "health"})
        assert [content.content for content in health.results] == ["The dentist is on 3 May."]
        assert len((await memory.query("flat", limit=1)).results) == 1
        assert len((await memory.query("flat")).results) == len((await memory.query()).results) == 2
        with pytest.raises(InvalidInput, match="namespaces"):
            await memory.query("flat", namespaces=["ben"])

    asyncio.run(run())


@settings(max_examples=20)
@given(two_users, st.sampled_from(["", "secret", "Ana"]))
def test_nothing_of_one_user_is_found_by_another(users: tuple[str, str], query: str) -> None:
    async def run() -> None:
        shared = store()
        ana, ben = (SalienceMemory(shared, user_id=user) for user in users)
        await ana.add(text("The secret of Ana.", owner="ana"))
        [id] = [found.metadata["id"] for found in (await ana.query("")).results]
        for filters in (None, {"id": id}, {"metadata.owner": "ana"}, {"not": {"id": "x"}}):
            assert (await ben.query(query, filters=filters)).results == []
        context = UnboundedChatCompletionContext()
        await context.add_message(UserMessage(content=query, source="user"))
        assert (await ben.update_context(context)).memories.results == []
        assert len(await context.get_messages()) == 1
        await ben.clear()
        assert len((await ana.query("secret")).results) == 1

    asyncio.run(run())


def test_it_is_dumped_and_loaded_as_a_component(tmp_path: Path) -> None:
    async def run() -> None:
        memory = SalienceMemory(str(tmp_path / "agent.db"), user_id="ana", limit=3)
        await memory.add(text("Ana likes tea."))
        dumped = memory.dump_component()
        await memory.close()
        assert dumped.provider == "salience.integrations.autogen.SalienceMemory"
        loaded = AutoGenMemory.load_component(dumped.model_dump())
        assert isinstance(loaded, SalienceMemory)
        assert [found.content for found in (await loaded.query("tea")).results] == [
            "Ana likes tea."
        ]
        assert loaded.dump_component() == dumped
        await loaded.close()

    asyncio.run(run())


def test_no_configuration_holds_an_open_memory() -> None:
    with pytest.raises(InvalidInput, match="give its address"):
        SalienceMemory(store(), user_id="ana").dump_component()


def test_a_very_long_message_is_searched_for_by_its_beginning() -> None:
    async def run() -> None:
        memory = SalienceMemory(store(), user_id="ana")
        await memory.add(text("Ana is allergic to nuts."))
        found = await memory.query("What is Ana allergic to? " + "x" * 200_000)
        assert len(found.results) == 1

    asyncio.run(run())


def test_a_cancelled_call_stops() -> None:
    async def run() -> None:
        memory, token = SalienceMemory(store(), user_id="ana"), CancellationToken()
        token.cancel()
        with pytest.raises(asyncio.CancelledError):
            await memory.query("tea", token)
        with pytest.raises(asyncio.CancelledError):
            await memory.add(text("Ana likes tea."), token)

    asyncio.run(run())


def test_it_works_over_an_awaited_memory_and_leaves_it_open() -> None:
    async def run() -> None:
        async with AsyncMemory("ram://", embedder=WordHashEmbedder()) as shared:
            memory = SalienceMemory(shared, user_id="ana")
            await memory.add(text("Ana likes tea."))
            await memory.close()
            assert (await shared.for_namespace("ana").search("tea")).hits

    asyncio.run(run())


def test_it_works_at_a_server(tmp_path: Path) -> None:
    async def run(url: str) -> None:
        ana, ben = (SalienceMemory(url, user_id=user) for user in ("ana", "ben"))
        await ana.add(text("Ana likes tea.", topic="drinks"))
        [found] = (await ana.query("What does Ana like?")).results
        assert found.content == "Ana likes tea."
        assert found.metadata["topic"] == "drinks"
        assert (await ben.query("tea")).results == []
        for memory in (ana, ben):
            await memory.close()

    with real_server(tmp_path / "served.db") as server:
        asyncio.run(run(server.url))
