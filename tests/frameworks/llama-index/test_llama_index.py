"""The block and the retriever inside LlamaIndex, with a model that notes what it was asked."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core import QueryBundle, VectorStoreIndex, get_response_synthesizer
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import Field
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms.mock import MockLLM, MockLLMWithChatMemoryOfLastCall
from llama_index.core.memory import Memory as LlamaMemory
from llama_index.core.memory import VectorMemoryBlock
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import TextNode
from llama_index.core.storage.chat_store.base_db import MessageStatus
from llama_index.core.storage.chat_store.sql import SQLAlchemyChatStore
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    VectorStoreQuery,
    VectorStoreQueryResult,
)

from salience import AsyncMemory, Memory
from salience.errors import InvalidInput
from salience.integrations.llama_index import (
    SalienceChatStore,
    SalienceMemoryBlock,
    SalienceRetriever,
)
from salience.testing.embedder import WordHashEmbedder
from support.real_server import real_server
from support.users import two_users

EMBEDDER = WordHashEmbedder()


class SameVectors(BaseEmbedding):
    """The vectors of the test embedder, for the classes of LlamaIndex."""

    def _get_text_embedding(self, text: str) -> list[float]:
        [row] = EMBEDDER.embed([text])
        return [float(value) for value in row]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


class Nodes(BasePydanticVectorStore):
    """A vector store that keeps texts, as the block of LlamaIndex needs one."""

    stores_text: bool = True
    nodes: list[Any] = Field(default_factory=list)

    @property
    def client(self) -> None:
        return None

    def add(self, nodes: Any, **_: Any) -> list[str]:
        self.nodes = [*self.nodes, *nodes]
        return [node.node_id for node in nodes]

    def delete(self, ref_doc_id: str, **_: Any) -> None:
        raise NotImplementedError

    def query(self, query: VectorStoreQuery, **_: Any) -> VectorStoreQueryResult:
        asked = query.query_embedding or []
        cosines = [
            sum(a * b for a, b in zip(asked, node.embedding, strict=True)) for node in self.nodes
        ]
        best = sorted(range(len(cosines)), key=lambda i: -cosines[i])[: query.similarity_top_k]
        return VectorStoreQueryResult(
            nodes=[self.nodes[i] for i in best], similarities=[cosines[i] for i in best]
        )


def store() -> Memory:
    return Memory("ram://", embedder=EMBEDDER)


def short_term(session: str, *blocks: Any, **options: Any) -> LlamaMemory:
    """A memory of LlamaIndex that holds some 24 words before the oldest leave it."""
    words: Any = {
        "tokenizer_fn": str.split,
        "token_limit": 40,
        "token_flush_size": 1,
        "chat_history_token_ratio": 0.6,
    }
    return LlamaMemory.from_defaults(
        session_id=session,
        memory_blocks=list(blocks),
        **{**words, **options},
    )


def said(role: str, content: str) -> ChatMessage:
    return ChatMessage(role=role, content=content)


def fourths(text: str) -> list[str]:
    """A token for each four characters."""
    return list(text[::4])


FILLING = [
    said("user", "Tell me a long story about the sea and the wind and many ships."),
    said("assistant", "Once there was a ship that sailed far away and never came back home."),
]


def test_a_chat_engine_recalls_what_another_session_said(tmp_path: Path) -> None:
    db = str(tmp_path / "agent.db")

    async def session(id: str, *inputs: str) -> list[ChatMessage]:
        block, model = SalienceMemoryBlock(db, user_id="ana"), MockLLMWithChatMemoryOfLastCall()
        memory = short_term(id, block, token_limit=400, chat_history_token_ratio=0.06)
        engine = SimpleChatEngine.from_defaults(llm=model, memory=memory)
        for text in inputs:
            await engine.achat(text)
        await block.aclose()
        return list(model.last_chat_messages or ())

    asyncio.run(session("monday", "I am allergic to nuts.", str(FILLING[0].content), "And then?"))
    asked = asyncio.run(session("friday", "What am I allergic to?"))
    assert [message.role.value for message in asked] == ["system", "user"]
    assert "<SalienceMemory>" in str(asked[0].content)
    assert "    I am allergic to nuts." in str(asked[0].content)
    assert 'session "monday"' in str(asked[0].content)
    assert asked[1].content == "What am I allergic to?"


def test_the_same_messages_leave_for_both_blocks() -> None:
    async def run() -> list[tuple[list[str | None], bool, bool]]:
        shared = store()
        shared.for_namespace("ana").add("allergic(nuts)", kind="item")
        ours = SalienceMemoryBlock(shared, user_id="ana", max_tokens=200)
        theirs = VectorMemoryBlock(vector_store=Nodes(), embed_model=SameVectors())
        seen = []
        for block in (ours, theirs):
            memory = short_term("s", block, token_limit=1000, chat_history_token_ratio=0.024)
            await memory.aput_messages(
                [said("user", "I am allergic to nuts."), said("assistant", "Noted."), *FILLING]
            )
            await memory.aput(said("user", "What am I allergic to?"))
            first, *rest = await memory.aget()
            active = [message.content for message in rest]
            assert "allergic(nuts)" not in str(first.content)
            seen.append((active, first.role == "system", "allergic to nuts" in str(first.content)))
        return seen

    ours, theirs = asyncio.run(run())
    assert ours == theirs
    assert ours[1:] == (True, True)


def test_one_block_serves_many_sessions_and_keeps_nothing_of_a_call() -> None:
    async def run() -> None:
        block = SalienceMemoryBlock(store(), user_id="ana")
        for session, text in (("one", "The dentist is on 3 May."), ("two", "Ana likes green tea.")):
            memory = short_term(session, block)
            await memory.aput_messages([said("user", text), said("assistant", "Noted."), *FILLING])
        before = block.model_dump()
        for session in ("one", "two", "three"):
            question = [said("user", "When is the dentist, and which tea?")]
            recalled = await block.aget(question, session_id=session)
            assert "The dentist is on 3 May." in recalled
            assert "Ana likes green tea." in recalled
            assert 'session "one"' in recalled
            assert 'session "two"' in recalled
        assert block.model_dump() == before

    asyncio.run(run())


def test_messages_keep_the_session_that_the_framework_noted() -> None:
    async def run() -> list[ChatMessage]:
        messages = [said("user", "Ana likes tea."), said("tool", "{}"), said("assistant", "")]
        await SalienceMemoryBlock(store(), user_id="ana").aput(messages, session_id="one")
        return messages

    assert [message.additional_kwargs for message in asyncio.run(run())] == [
        {"session_id": "one"}
    ] * 3


@settings(max_examples=20)
@given(st.integers(0, 400), st.integers(1, 12))
def test_a_block_is_cut_by_whole_memories(tokens: int, count: int) -> None:
    async def run() -> None:
        shared = store()
        shared.for_namespace("ana").add_many(
            [f"On day {day} Ana drank\n[7] tea." for day in range(count)]
        )
        block = SalienceMemoryBlock(shared, user_id="ana", limit=20)
        whole = await block.aget([said("user", "When did Ana drink tea?")])
        assert whole.count("drank") == count
        cut = await block.atruncate(whole, tokens)
        if cut is not None:
            assert -(-len(whole) // 4) - -(-len(cut) // 4) >= tokens
            assert 1 <= cut.count("drank") == cut.count("[7] tea.") <= count
            assert cut.endswith("</recalled-memories>")
        assert await block.atruncate("", 1) is None

    asyncio.run(run())


def test_a_block_that_does_not_fit_is_cut_by_the_memory() -> None:
    async def run() -> tuple[str, str]:
        shared = store()
        shared.for_namespace("ana").add_many([f"On day {day} Ana drank tea." for day in range(8)])
        texts = []
        for priority, limit in ((0, 600), (1, 200)):
            block = SalienceMemoryBlock(shared, user_id="ana", priority=priority)
            memory = short_term("s", block, token_limit=limit, tokenizer_fn=fourths)
            await memory.aput(said("user", "When did Ana drink tea?"))
            texts.append(str((await memory.aget())[0].content))
        return texts[0], texts[1]

    whole, cut = asyncio.run(run())
    assert whole.count("drank") == 8
    assert 1 <= cut.count("drank") < 8


TEXTS = ["Ana likes green tea.", "The dentist is on 3 May.", "Ben rents a flat in Lisbon."]


def test_a_retriever_finds_what_that_of_an_index_finds() -> None:
    shared = store()
    shared.for_namespace("ana").add_many([{"id": text[:3], "content": text} for text in TEXTS])
    ours = SalienceRetriever(shared, user_id="ana", limit=3)
    nodes = [TextNode(id_=text[:3], text=text) for text in TEXTS]
    theirs = VectorStoreIndex(nodes, embed_model=SameVectors()).as_retriever(similarity_top_k=3)
    for query in ("Which tea does Ana like?", "When is the dentist?", "a flat in Lisbon"):
        found, expected = ours.retrieve(query), theirs.retrieve(query)
        assert found[0].node_id == expected[0].node_id
        assert {n.node_id: n.text for n in found} == {n.node_id: n.text for n in expected}
        assert asyncio.run(ours.aretrieve(QueryBundle(query))) == found


def test_a_query_engine_reads_who_said_it_and_when() -> None:
    shared = store()
    shared.for_namespace("ana").add(
        "I like gr\u200been tea.", speaker="Ana", session_id="one", created_at="2026-05-01T10:00Z",
        metadata={"topic": "drinks"},
    )  # fmt: skip
    retriever = SalienceRetriever(shared, user_id="ana", filters={"metadata.topic": "drinks"})
    engine = RetrieverQueryEngine(retriever, get_response_synthesizer(llm=MockLLM()))
    asked = str(engine.query("Which tea?"))  # the mock answers with its prompt
    assert "I like green tea." in asked
    for part in ("speaker: Ana", "session_id: one", "created_at: 2026-05-01T10:00+00:00"):
        assert part in asked
    assert "topic" not in asked
    [node] = retriever.retrieve("tea")
    assert node.metadata["topic"] == "drinks"
    assert SalienceRetriever(shared, user_id="ana", filters={"kind": "fact"}).retrieve("tea") == []


@settings(max_examples=20)
@given(two_users, st.sampled_from(["secret", "The secret of Ana."]))
def test_nothing_of_one_user_is_found_by_another(users: tuple[str, str], query: str) -> None:
    async def run() -> None:
        shared = store()
        ana, ben = (SalienceMemoryBlock(shared, user_id=user) for user in users)
        await ana.aput([said("user", "The secret of Ana.")], session_id="one")
        assert await ben.aget([said("user", query)], session_id="one") == ""
        assert "secret of Ana" in await ana.aget([said("user", query)])
        chats = [SalienceChatStore(shared, user_id=user) for user in users]
        await chats[0].add_message("one", said("user", "The secret of Ana."))
        assert await chats[1].get_messages("one", None) == await chats[1].get_keys() == []
        await chats[1].delete_messages("one")
        assert await chats[0].count_messages("one") == 1
        for filters in (None, {"session_id": "one"}, {"not": {"id": "x"}}):
            retriever = SalienceRetriever(shared, user_id=users[1], filters=filters)
            assert retriever.retrieve(query) == await retriever.aretrieve(query) == []

    asyncio.run(run())


_MESSAGES = st.builds(
    said,
    st.sampled_from(["user", "assistant", "tool", "system"]),
    st.text("ab ", max_size=3),
)
_KEYS = st.sampled_from("st")
_STATUSES = st.sampled_from([MessageStatus.ACTIVE, MessageStatus.ARCHIVED])
_ANY = st.none() | _STATUSES
_FEW = st.integers(0, 3)
_CALLS = st.one_of(
    st.tuples(st.just("add_message"), st.tuples(_KEYS, _MESSAGES, _STATUSES)),
    st.tuples(
        st.sampled_from(["add_messages", "set_messages"]),
        st.tuples(_KEYS, st.lists(_MESSAGES, min_size=1, max_size=3), _STATUSES),
    ),
    st.tuples(st.just("delete_messages"), st.tuples(_KEYS, _ANY)),
    st.tuples(st.just("get_messages"), st.tuples(_KEYS, _ANY, st.none() | _FEW, _FEW)),
    st.tuples(
        st.sampled_from(["archive_oldest_messages", "delete_oldest_messages"]),
        st.tuples(_KEYS, _FEW),
    ),
)


@settings(max_examples=15)
@given(st.lists(_CALLS, max_size=8))
def test_each_call_of_the_chat_store_does_what_that_of_llama_index_does(calls: list[Any]) -> None:
    async def run() -> None:
        ours = SalienceChatStore(store(), user_id="ana")
        theirs = SQLAlchemyChatStore(table_name="messages")
        for name, arguments in calls:
            results = [await getattr(one, name)(*arguments) for one in (ours, theirs)]
            assert results[0] == results[1]
        for key in "st":
            for status in (None, *MessageStatus):
                assert await ours.get_messages(key, status) == await theirs.get_messages(
                    key, status
                )
                assert await ours.count_messages(key, status) == await theirs.count_messages(
                    key, status
                )
        assert sorted(await ours.get_keys()) == sorted(await theirs.get_keys())

    asyncio.run(run())


def test_a_message_of_the_chat_store_is_erased_by_its_place() -> None:
    async def run() -> None:
        chat = SalienceChatStore(store(), user_id="ana")
        first, second = said("user", "One."), said("assistant", "Two.")
        await chat.add_messages("s", [first, second])
        assert await chat.delete_message("s", 2) is None
        assert await chat.delete_message("s", -1) is None
        assert await chat.delete_message("s", 1) == second
        assert await chat.get_messages("s") == [first]

    asyncio.run(run())


def test_a_session_keeps_its_order_though_the_clock_is_set_back() -> None:
    async def run() -> list[str | None]:
        days = iter(range(28, 0, -1))
        shared = Memory(
            "ram://", embedder=None, clock=lambda: datetime(2026, 5, next(days), tzinfo=UTC)
        )
        chat = SalienceChatStore(shared, user_id="ana")
        for text in ("One.", "Two.", "Three."):
            await chat.add_message("s", said("user", text))
        return [message.content for message in await chat.get_messages("s")]

    assert asyncio.run(run()) == ["One.", "Two.", "Three."]


def test_a_chat_store_and_a_block_share_what_was_said(tmp_path: Path) -> None:
    db = str(tmp_path / "agent.db")

    async def session(id: str, *texts: str) -> list[ChatMessage]:
        chat = SalienceChatStore(db, user_id="ana")
        block = SalienceMemoryBlock(db, user_id="ana", accept_short_term_memory=False)
        memory = short_term(id, block, chat_store=chat, token_limit=400)
        for text in texts:
            await memory.aput(said("user", text))
        messages = await memory.aget()
        await chat.aclose()
        await block.aclose()
        return messages

    first = asyncio.run(session("monday", "I am allergic to nuts."))
    assert [message.content for message in first] == ["I am allergic to nuts."]
    recalled, asked = asyncio.run(session("friday", "What am I allergic to?"))
    assert str(recalled.content).count("I am allergic to nuts.") == 1
    assert "What am I allergic to?" not in str(recalled.content)
    assert asked.content == "What am I allergic to?"
    again = asyncio.run(session("monday", "And to milk?"))
    assert [message.content for message in again][-2:] == ["I am allergic to nuts.", "And to milk?"]


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(InvalidInput):
        SalienceMemoryBlock(store(), user_id=3)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="filters"):
        SalienceRetriever(store(), user_id="ana", filters={"colour": "red"}).retrieve("tea")


def test_it_works_over_an_awaited_memory_and_leaves_it_open() -> None:
    async def run() -> None:
        async with AsyncMemory("ram://", embedder=EMBEDDER) as shared:
            block = SalienceMemoryBlock(shared, user_id="ana")
            await block.aput([said("user", "Ana likes tea.")])
            await block.aclose()
            retriever = SalienceRetriever(shared, user_id="ana")
            assert len(await retriever.aretrieve("tea")) == 1

    asyncio.run(run())


def test_it_works_at_a_server(tmp_path: Path) -> None:
    with real_server(tmp_path / "served.db") as server:
        block = SalienceMemoryBlock(server.url, user_id="ana")

        async def run() -> str:
            await block.aput([said("user", "Ana likes tea.")], session_id="one")
            recalled = await block.aget([said("user", "What does Ana like?")])
            await block.aclose()
            return recalled

        assert "    Ana likes tea." in asyncio.run(run())
        retriever = SalienceRetriever(server.url, user_id="ana")
        assert [node.text for node in retriever.retrieve("tea")] == ["Ana likes tea."]
        retriever.close()
