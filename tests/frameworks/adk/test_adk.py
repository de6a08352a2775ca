"""The memory service of ADK: beside the one in memory, and what a model receives from it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.events.event import Event
from google.adk.memory.in_memory_memory_service import InMemoryMemoryService
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.session import Session
from google.adk.tools import load_memory, preload_memory
from google.genai import types
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field

from salience import Memory
from salience.errors import InvalidInput
from salience.integrations.adk import SalienceMemoryService
from support.real_server import real_server

NOON = datetime(2026, 5, 1, 12, tzinfo=timezone.utc)


def content(text: str, role: str = "user") -> types.Content:
    return types.Content(role=role, parts=[types.Part(text=text)])


def event(id: str, text: str, author: str = "user", minute: int = 0) -> Event:
    said = content(text, "user" if author == "user" else "model")
    time = NOON + timedelta(minutes=minute)
    return Event(id=id, author=author, content=said, timestamp=time.timestamp())


def session(id: str, events: list[Event], user_id: str = "ana") -> Session:
    return Session(id=id, app_name="app", user_id=user_id, events=events)


def service(memory: Any = "ram://", **options: Any) -> SalienceMemoryService:
    if not isinstance(memory, Memory):
        options = {"embedder": None, **options}
    return SalienceMemoryService(memory, **options)


def test_what_the_model_thought_is_no_memory() -> None:
    thought = types.Part(text="They seem broke.", thought=True)
    parts = [thought, types.Part(text="Here is a flat.")]
    said = Event(author="guide", content=types.Content(role="model", parts=parts))
    silent = Event(author="guide", content=types.Content(role="model", parts=[thought]))
    memory = Memory("ram://", embedder=None)
    asyncio.run(service(memory).add_session_to_memory(session("s", [silent, said])))
    assert [each.content for each in memory.for_namespace("app/ana").get_all()] == [
        "Here is a flat."
    ]


async def found(
    service: Any, query: str, user_id: str = "ana", app_name: str = "app"
) -> list[MemoryEntry]:
    response = await service.search_memory(app_name=app_name, user_id=user_id, query=query)
    memories: list[MemoryEntry] = response.memories
    return memories


def seen(entry: MemoryEntry) -> tuple[Any, ...]:
    """What a caller sees of a memory; times as moments, however they are written."""
    assert entry.timestamp is not None
    moment = datetime.fromisoformat(entry.timestamp).astimezone(timezone.utc)
    text = " ".join(part.text for part in entry.content.parts or () if part.text)
    return entry.id, entry.content.role, text, entry.author, moment


# The same calls on both services. Sessions only grow, as those of ADK do.

users = st.sampled_from(["ana", "ben"])
sessions = st.sampled_from(["sun", "moon"])
calls = st.one_of(
    st.tuples(st.just("session"), users, sessions, st.integers(0, 3)),
    st.tuples(st.just("events"), users, sessions, st.sets(st.integers(0, 2))),
    st.tuples(st.just("delete"), users, sessions, st.integers(0, 2)),
    st.tuples(st.just("delete"), users, sessions, st.none()),
)


def events_of(user: str, name: str) -> list[Event]:
    """The events that a session has in the end; one has no text, one several parts."""
    ids = [f"{user}.{name}.{number}" for number in range(3)]
    several = event(ids[1], "common word", "guide", 1)
    assert several.content is not None
    several.content.parts = [types.Part(text="common word"), types.Part(text=f"about {name}")]
    silent = Event(id="silent", author="guide", content=types.Content(role="model", parts=[]))
    last = event(ids[2], "common", minute=2)
    return [event(ids[0], f"common word of {user}"), several, last, silent]


@settings(max_examples=60)
@given(st.lists(calls, max_size=12))
def test_it_does_what_the_service_in_memory_does(sequence: list[tuple[Any, ...]]) -> None:
    async def main() -> None:
        ours, theirs = service(search={"limit": 100}), InMemoryMemoryService()
        lengths: dict[tuple[str, str], int] = {}
        for kind, user, name, what in sequence:
            events = events_of(user, name)
            scoped = {"app_name": "app", "user_id": user}
            for each in (ours, theirs):
                if kind == "session":
                    length = max(what, lengths.get((user, name), 0))
                    await each.add_session_to_memory(session(name, events[:length], user))
                elif kind == "events":
                    some = [events[place] for place in sorted(what)]
                    await each.add_events_to_memory(events=some, session_id=name, **scoped)
                else:
                    id = None if what is None else events[what].id
                    await each.delete_memory(memory_id=id, **scoped)
            lengths[user, name] = max(
                lengths.get((user, name), 0),
                what if kind == "session" else max(what, default=-1) + 1 if kind == "events" else 0,
            )
            for asking in ("ana", "ben"):
                for query in ("common", "zebra", "", " ?"):
                    expected = {seen(entry) for entry in await found(theirs, query, asking)}
                    assert {seen(entry) for entry in await found(ours, query, asking)} == expected
                # A turn counts the words beside it, so more is found.
                expected = {seen(entry) for entry in await found(theirs, "the moon", asking)}
                assert {seen(e) for e in await found(ours, "the moon", asking)} >= expected
        await ours.aclose()

    asyncio.run(main())


labels = st.sampled_from(["a", "b", "a/b", "", "%", "/", "a%2Fb"])


@settings(max_examples=30)
@given(st.lists(st.tuples(labels, labels), min_size=2, max_size=5, unique=True))
def test_nothing_of_one_user_is_found_or_erased_by_another(pairs: list[tuple[str, str]]) -> None:
    async def main() -> None:
        with Memory("ram://", embedder=None) as memory:
            kept = service(memory, search={"limit": 100})
            for app, user in pairs:
                said = event("e", f"secret of {app!r} and {user!r}")
                await kept.add_session_to_memory(
                    Session(id="s", app_name=app, user_id=user, events=[said])
                )
            (app, user), *others = pairs
            await kept.delete_memory(app_name=app, user_id=user, memory_id="e")
            await kept.delete_session_memory(app_name=app, user_id=user, session_id="s")
            assert await found(kept, "secret", user, app) == []
            for app, user in others:
                [entry] = await found(kept, "secret", user, app)
                assert entry.content.parts
                assert entry.content.parts[0].text == f"secret of {app!r} and {user!r}"

    asyncio.run(main())


def test_an_erased_event_does_not_come_back_and_leaves_no_words() -> None:
    async def main() -> None:
        with Memory("ram://", embedder=None) as memory:
            kept = service(memory)
            both = session("s", [event("1", "my password is swordfish"), event("2", "good day")])
            await kept.add_session_to_memory(both)
            scoped = {"app_name": "app", "user_id": "ana"}
            await kept.delete_memory(memory_id="1", **scoped)
            await kept.add_session_to_memory(both)
            await kept.delete_memory(memory_id="1", **scoped)
            assert await found(kept, "password") == []
            assert await found(kept, "erased") == []
            assert len(await found(kept, "day")) == 1
            ana = memory.for_namespace("app/ana")
            assert "swordfish" not in str([record.to_dict() for record in ana])
            assert "swordfish" not in str(ana.history("1").to_dict())
            assert await kept.delete_session_memory(session_id="s", **scoped) == 1
            assert ana.count() == 0

    asyncio.run(main())


def test_notes_are_kept_with_their_metadata_and_replaced_by_their_ids() -> None:
    async def main() -> None:
        kept = service(search={"limit": 3})
        scoped = {"app_name": "app", "user_id": "ana"}
        note = MemoryEntry(
            id="tea",
            content=content("Ana likes green tea."),
            author="guide",
            timestamp="2026-05-01T12:00:00+00:00",
            custom_metadata={"source": "form"},
        )
        await kept.add_memory(memories=[note], custom_metadata={"batch": 1}, **scoped)
        [entry] = await found(kept, "tea")
        assert seen(entry) == ("tea", "user", "Ana likes green tea.", "guide", NOON)
        assert entry.custom_metadata == {"batch": 1, "source": "form"}
        changed = note.model_copy(update={"content": content("Ana likes black tea.")})
        await kept.add_memory(memories=[changed], **scoped)
        [entry] = await found(kept, "tea")
        assert seen(entry)[2] == "Ana likes black tea."
        unnamed = MemoryEntry(content=content("Ana lives in Lisbon."))
        for _ in range(3):
            await kept.add_memory(memories=[unnamed], **scoped)
        assert len(await found(kept, "Lisbon")) == 1
        with pytest.raises(InvalidInput, match="content"):
            await kept.add_memory(memories=[MemoryEntry(content=types.Content())], **scoped)
        wrong = note.model_copy(update={"timestamp": "soon"})
        with pytest.raises(InvalidInput, match="created_at"):
            await kept.add_memory(memories=[wrong], **scoped)

    asyncio.run(main())


def test_characters_that_nobody_sees_do_not_reach_the_model() -> None:
    async def main() -> None:
        with Memory("ram://", embedder=None) as memory:
            memory.for_namespace("app/ana").add("green\U000e0041 tea\u200b")
            memory.for_namespace("app/ana").add("brew(tea)", kind="item")
            [entry] = await found(service(memory), "tea")
            assert seen(entry)[2] == "green tea"

    asyncio.run(main())


class ScriptedLlm(BaseLlm):
    """Gives the parts of a script one after the other, and keeps the requests."""

    script: list[types.Part]
    requests: list[LlmRequest] = Field(default_factory=list)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.requests.append(llm_request.model_copy(deep=True))
        part = self.script[len(self.requests) - 1]
        yield LlmResponse(content=types.Content(role="model", parts=[part]))

    def received(self, request: int) -> str:
        """All that the model received in a request."""
        contents = self.requests[request].contents
        return "\n".join(content.model_dump_json(exclude_none=True) for content in contents)


async def asked(runner: Runner, sessions: Any, question: str, name: str) -> Session:
    """Ask an agent in a session, which is given back with its events."""
    scoped = {"app_name": "app", "user_id": "ana", "session_id": name}
    await sessions.create_session(**scoped)
    async for _ in runner.run_async(user_id="ana", session_id=name, new_message=content(question)):
        pass
    full: Session = await sessions.get_session(**scoped)
    return full


@pytest.mark.parametrize("tool", [load_memory, preload_memory])
def test_the_model_gets_what_was_said_in_another_session(tool: Any) -> None:
    async def main() -> None:
        with Memory("ram://") as memory:
            kept = SalienceMemoryService(memory)
            memory.for_namespace("app/ben").add("Ben moved to Lisbon, too.")
            call = types.FunctionCall(name="load_memory", args={"query": "Where does Ana live?"})
            answer = types.Part(text="You live in Lisbon.")
            script = [types.Part(text="Noted."), answer]
            if tool is load_memory:
                script.insert(1, types.Part(function_call=call))
            model = ScriptedLlm(model="scripted", script=script)
            sessions = InMemorySessionService()
            agent = LlmAgent(name="guide", model=model, tools=[tool])
            runner = Runner(
                app_name="app", agent=agent, session_service=sessions, memory_service=kept
            )
            first = await asked(runner, sessions, "I moved to Lisbon in March.", "one")
            await kept.add_session_to_memory(first)
            second = await asked(runner, sessions, "Where do I live?", "two")
            assert second.events[-1].content == types.Content(role="model", parts=[answer])
            told = model.received(-1)
            assert "I moved to Lisbon in March." in told
            assert "Ben" not in told

    asyncio.run(main())


def test_it_works_at_a_server(tmp_path: Path) -> None:
    async def main(url: str) -> None:
        kept = SalienceMemoryService(url)
        said = [event("1", "I moved to Lisbon in March."), event("2", "How nice!", "guide", 1)]
        await kept.add_session_to_memory(session("s", said))
        await kept.add_session_to_memory(session("s", said))
        [first, *_] = await found(kept, "Lisbon")
        assert seen(first) == ("1", "user", "I moved to Lisbon in March.", "user", NOON)
        scoped = {"app_name": "app", "user_id": "ana"}
        await kept.delete_memory(memory_id="1", **scoped)
        await kept.add_session_to_memory(session("s", said))
        assert [entry.id for entry in await found(kept, "Lisbon")] == ["2"]
        assert await kept.delete_session_memory(session_id="s", **scoped) == 1
        await kept.aclose()

    with real_server(tmp_path / "m.db") as server:
        asyncio.run(main(server.url))
