"""The providers inside an agent whose model is scripted, and beside the framework's own history."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatResponse,
    Content,
    HistoryProvider,
    InMemoryHistoryProvider,
    Message,
    SessionContext,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from salience import AsyncMemory, Memory
from salience.errors import InvalidInput
from salience.integrations.agent_framework import SalienceContextProvider, SalienceHistoryProvider
from salience.testing.embedder import WordHashEmbedder
from support.real_server import real_server
from support.users import two_users


class ScriptedClient(BaseChatClient):
    """A model that gives prepared answers; `asked` are the messages that it got each time."""

    def __init__(self, *answers: str) -> None:
        super().__init__()
        self.answers, self.asked = list(answers), list[list[Message]]()

    async def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **_: Any
    ) -> ChatResponse:
        self.asked.append(list(messages))
        return ChatResponse(messages=[Message("assistant", [self.answers.pop(0)])])


def store() -> Memory:
    return Memory("ram://", embedder=WordHashEmbedder())


def agent(client: ScriptedClient, *providers: Any) -> Agent:
    return Agent(client, "Be kind.", name="helper", context_providers=list(providers))


def test_an_agent_remembers_over_sessions_and_processes(tmp_path: Path) -> None:
    db = str(tmp_path / "agent.db")

    async def session(id: str, said: str, answer: str) -> list[Message]:
        client, provider = ScriptedClient(answer), SalienceContextProvider(db, user_id="ana")
        await agent(client, provider).run(said, session=AgentSession(session_id=id))
        await provider.close()
        return client.asked[0]

    first = asyncio.run(session("monday", "I am allergic to nuts.", "Noted."))
    assert [message.text for message in first if message.role == "user"] == [
        "I am allergic to nuts."
    ]
    recalled, question = [
        message
        for message in asyncio.run(session("friday", "What am I allergic to?", "To nuts."))
        if message.role == "user"
    ]
    assert recalled.text.startswith("<recalled-memories>")
    assert "    I am allergic to nuts." in recalled.text
    assert 'session "monday"' in recalled.text
    assert question.text == "What am I allergic to?"
    attribution = recalled.additional_properties["_attribution"]
    assert attribution["origin_session_ids"] == ["monday"]
    with Memory(db, namespace="ana") as memory:
        turns = [(turn.session_id, turn.speaker, turn.content) for turn in memory.iterate()]
    assert sorted(turns) == [
        ("friday", "helper", "To nuts."),
        ("friday", "user", "What am I allergic to?"),
        ("monday", "helper", "Noted."),
        ("monday", "user", "I am allergic to nuts."),
    ]


def test_the_session_itself_is_left_to_its_history() -> None:
    async def run() -> list[list[str]]:
        shared, client = store(), ScriptedClient("Noted.", "To nuts.")
        helper = agent(client, SalienceContextProvider(shared, user_id="ana"))
        session = AgentSession()
        await helper.run("I am allergic to nuts.", session=session)
        await helper.run("What am I allergic to?", session=session)
        return [[message.text for message in asked] for asked in client.asked]

    first, second = asyncio.run(run())
    assert second[-3:] == ["I am allergic to nuts.", "Noted.", "What am I allergic to?"]
    assert not any("recalled-memories" in text for text in (*first, *second))


def test_a_transcript_that_is_sent_whole_is_kept_once() -> None:
    async def run() -> list[str]:
        shared, client = store(), ScriptedClient("A.", "B.")
        helper = agent(client, SalienceContextProvider(shared, user_id="ana"))
        session = AgentSession()
        await helper.run("First?", session=session)
        transcript = [
            Message("user", ["First?"]), Message("assistant", ["A."]), Message("user", ["Second?"])
        ]  # fmt: skip
        await helper.run(transcript, session=session)
        return [turn.content for turn in shared.for_namespace("ana").iterate(order="oldest")]

    assert asyncio.run(run()) == ["First?", "A.", "Second?", "B."]


def test_memories_added_by_other_doors_are_recalled_within_the_budget() -> None:
    async def run() -> str:
        shared, client = store(), ScriptedClient("Yes.")
        shared.for_namespace("ana").add("drink(tea) for Ana", kind="item")
        shared.for_namespace("ana").add_many([f"On day {day} Ana drank tea." for day in range(50)])
        provider = SalienceContextProvider(shared, user_id="ana", limit=50, max_tokens=300)
        await agent(client, provider).run("Did Ana drink tea?")
        return client.asked[0][-2].text

    text = asyncio.run(run())
    assert text.count("drank tea") > 1
    assert "drink(tea)" not in text
    assert len(text) <= 4 * 300


def test_history_and_context_share_what_was_said() -> None:
    async def run() -> tuple[list[str], int]:
        shared, client = store(), ScriptedClient("Noted.", "To nuts.")
        helper = agent(
            client,
            SalienceHistoryProvider(shared, user_id="ana"),
            SalienceContextProvider(shared, user_id="ana", keep_turns=False),
        )
        await helper.run("I am allergic to nuts.", session=AgentSession(session_id="monday"))
        await helper.run("What am I allergic to?", session=AgentSession(session_id="friday"))
        return [message.text for message in client.asked[1]], len(shared.for_namespace("ana"))

    texts, count = asyncio.run(run())
    assert any("    I am allergic to nuts." in text for text in texts)
    assert count == 4


def test_history_goes_on_in_another_process(tmp_path: Path) -> None:
    db = str(tmp_path / "agent.db")

    async def run(said: str) -> list[str]:
        client, history = ScriptedClient("Yes."), SalienceHistoryProvider(db, user_id="ana")
        await agent(client, history).run(said, session=AgentSession(session_id="one"))
        await history.close()
        return [message.text for message in client.asked[0] if message.role != "system"]

    assert asyncio.run(run("First?")) == ["First?"]
    assert asyncio.run(run("Second?")) == ["First?", "Yes.", "Second?"]


_CONTENTS = st.one_of(
    st.text("ab ", max_size=3).map(Content.from_text),
    st.just(Content.from_function_call("c1", "look", arguments='{"a": 1}')),
    st.just(Content.from_function_result("c1", result="found")),
    st.just(Content.from_uri("https://example.com/a.png", media_type="image/png")),
)
_MESSAGES = st.builds(
    Message,
    st.sampled_from(["user", "assistant", "tool", "system"]),
    st.lists(_CONTENTS, max_size=2),
    author_name=st.sampled_from([None, "Ana"]),
    message_id=st.none() | st.sampled_from("xy"),
    additional_properties=st.just({}) | st.just({"colour": [1, None]}),
)


@settings(max_examples=30)
@given(st.lists(st.tuples(st.sampled_from(["s", "t", ""]), st.lists(_MESSAGES)), max_size=5))
def test_history_is_kept_as_the_framework_keeps_it(
    saved: list[tuple[str, list[Message]]],
) -> None:
    async def run() -> None:
        ours, theirs = SalienceHistoryProvider(store(), user_id="ana"), InMemoryHistoryProvider()
        states: dict[str, dict[str, Any]] = {"s": {}, "t": {}, "": {}}
        transcript: list[Message] = []
        for id, messages in saved:
            transcript += messages
            for sent in (messages, transcript):
                await ours.save_messages(id or None, sent)
                await theirs.save_messages(id, sent, state=states[id])
            for other, state in states.items():
                kept = await ours.get_messages(other or None)
                expected = await theirs.get_messages(other, state=state)
                assert [m.to_dict() for m in kept] == [m.to_dict() for m in expected]
        for id in states:
            assert await ours.clear(id or None) == len(states[id].get("messages", ()))
            assert await ours.get_messages(id or None) == []

    asyncio.run(run())


@settings(max_examples=30)
@given(two_users, st.sampled_from(["s", "default", ""]))
def test_nothing_of_one_user_is_found_by_another(users: tuple[str, str], session: str) -> None:
    async def run() -> None:
        shared = store()
        client = ScriptedClient("Noted.", "No idea.")
        for user, said in zip(users, ("The secret is blue.", "The secret is?"), strict=True):
            helper = agent(
                client,
                SalienceHistoryProvider(shared, user_id=user),
                SalienceContextProvider(shared, user_id=user),
            )
            await helper.run(said, session=AgentSession(session_id=session or None))
        assert [m.text for m in client.asked[1] if m.role == "user"] == ["The secret is?"]
        histories = [SalienceHistoryProvider(shared, user_id=user) for user in users]
        if session:
            assert await histories[1].clear(session) == 2
            assert len(await histories[0].get_messages(session)) == 2

    asyncio.run(run())


def test_history_keeps_its_order_though_the_clock_is_set_back() -> None:
    async def run() -> list[str]:
        days = iter(range(28, 0, -1))
        shared = Memory(
            "ram://", embedder=None, clock=lambda: datetime(2026, 5, next(days), tzinfo=UTC)
        )
        history = SalienceHistoryProvider(shared, user_id="ana")
        for text in ("One.", "Two.", "Three."):
            await history.save_messages("s", [Message("user", [text], message_id=text)])
        return [message.text for message in await history.get_messages("s")]

    assert asyncio.run(run()) == ["One.", "Two.", "Three."]


def test_a_very_long_input_is_searched_for_by_its_beginning() -> None:
    async def run() -> list[str]:
        shared, client = store(), ScriptedClient("Yes.")
        shared.for_namespace("ana").add("Ana is allergic to nuts.")
        said = "What am I allergic to? " + "x" * 200_000
        await agent(client, SalienceContextProvider(shared, user_id="ana")).run(said)
        return [message.text for message in client.asked[0]]

    assert any("    Ana is allergic to nuts." in text for text in asyncio.run(run()))


def test_an_unknown_option_and_an_empty_question_do_no_harm() -> None:
    with pytest.raises(TypeError, match="colour"):
        SalienceHistoryProvider(store(), user_id="ana", colour="red")
    with pytest.raises(InvalidInput):
        SalienceContextProvider(store(), user_id=3)  # type: ignore[arg-type]

    async def run() -> SessionContext:
        provider, session = SalienceContextProvider(store(), user_id="ana"), AgentSession()
        context = SessionContext(session_id="s", input_messages=[Message("user", [" "])])
        helper = agent(ScriptedClient(), provider)
        await provider.before_run(agent=helper, session=session, context=context, state={})
        await provider.after_run(agent=helper, session=session, context=context, state={})
        return context

    assert asyncio.run(run()).get_messages() == []


def test_it_works_over_an_awaited_memory_and_leaves_it_open() -> None:
    async def run() -> None:
        async with AsyncMemory("ram://", embedder=WordHashEmbedder()) as shared:
            history: HistoryProvider = SalienceHistoryProvider(shared, user_id="ana")
            await history.save_messages("s", [Message("user", ["Hello."])])
            await history.close()  # type: ignore[attr-defined]
            assert await shared.for_namespace("ana").count() == 1

    asyncio.run(run())


def test_it_works_at_a_server(tmp_path: Path) -> None:
    async def run(url: str) -> list[str]:
        client = ScriptedClient("Noted.", "To nuts.")
        for id, said in (
            ("monday", "I am allergic to nuts."),
            ("friday", "What am I allergic to?"),
        ):
            history = SalienceHistoryProvider(url, user_id="ana")
            context = SalienceContextProvider(url, user_id="ana", keep_turns=False)
            await agent(client, history, context).run(said, session=AgentSession(session_id=id))
            for provider in (history, context):
                await provider.close()
        return [message.text for message in client.asked[1]]

    with real_server(tmp_path / "served.db") as server:
        texts = asyncio.run(run(server.url))
    assert any("    I am allergic to nuts." in text for text in texts)
