"""Sessions as memories: order, users and threads; what a model receives of what is recalled."""

from __future__ import annotations

import asyncio
import threading
from datetime import datetime, timedelta, timezone
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, RunConfig, Runner, function_tool
from agents.memory import Session
from agents.testing import ScriptedModel, assistant_message, function_call
from hypothesis import given, settings
from hypothesis import strategies as st

from salience import AsyncMemory, Memory
from salience.errors import InvalidInput
from salience.integrations.openai_agents import SalienceSession, recalled
from salience.testing.embedder import WordHashEmbedder
from support.real_server import real_server


def said(role: str, text: str) -> Any:
    return {"role": role, "content": text}


def on(memory: Memory | AsyncMemory, **options: Any) -> RunConfig:
    """The settings of a run that recalls."""
    callback = recalled(memory, **options)
    return RunConfig(session_input_callback=callback, tracing_disabled=True)


def received(model: ScriptedModel, call: int = -1) -> list[tuple[str, str]]:
    """The role and the text of each message that the model received in a call."""
    texts = []
    for item in model.calls[call].input:
        content: Any = item.get("content", "")
        text = content if isinstance(content, str) else content[0]["text"]
        texts.append((item.get("role", item.get("type")), text))
    return texts


# Items of many kinds, with texts that a store cannot keep as they are.

texts = st.text(st.characters(), max_size=8)
items = st.one_of(
    st.builds(said, st.sampled_from(["user", "assistant", "system"]), texts),
    st.builds(
        lambda text: {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        },
        texts,
    ),
    st.builds(
        lambda name, arguments: {
            "type": "function_call",
            "name": name,
            "arguments": arguments,
            "call_id": "1",
        },
        texts,
        texts,
    ),
    st.builds(lambda text: {"type": "function_call_output", "call_id": "1", "output": text}, texts),
    st.builds(lambda text: {"type": "reasoning", "summary": [{"text": text}]}, texts),
    st.just({"type": "reasoning", "id": "r", "summary": []}),
    st.dictionaries(texts, st.none() | st.integers() | texts | st.lists(texts), max_size=3),
)


@settings(max_examples=50)
@given(st.lists(st.lists(items, max_size=4), max_size=4), st.integers(-1, 9))
def test_items_come_back_as_they_were_in_their_order(batches: list[list[Any]], limit: int) -> None:
    async def main() -> None:
        session = SalienceSession("s", "ram://", embedder=None)
        for batch in batches:
            await session.add_items(batch)
        expected = [item for batch in batches for item in batch]
        assert await session.get_items() == expected
        last = expected if limit < 0 else expected[-limit:] if limit else []
        assert await session.get_items(limit) == last
        while expected:
            assert await session.pop_item() == expected.pop()
        assert await session.pop_item() is None
        session.close()

    asyncio.run(main())


@settings(max_examples=25)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["ana", "ben", "ana/ben", "%", "", "an"]),
            st.sampled_from(["s", "s/t", "%", "S"]),
        ),
        min_size=2,
        unique=True,
    )
)
def test_nothing_of_one_user_or_session_is_in_another(pairs: list[tuple[str, str]]) -> None:
    async def main() -> None:
        with Memory("ram://", embedder=None) as memory:
            for user, session in pairs:
                text = f"secret of {user!r} in {session!r}"
                await SalienceSession(session, memory, user_id=user).add_items([said("user", text)])
            for user, session in pairs:
                own = SalienceSession(session, memory, user_id=user)
                text = f"secret of {user!r} in {session!r}"
                assert await own.get_items() == [said("user", text)]
                found = await recalled(memory, user_id=user, limit=100)(
                    [], [said("user", "secret")]
                )
                assert all(f"secret of {user!r} in" in line for line in secrets(found))
                assert len(secrets(found)) == sum(name == user for name, _ in pairs)
            first, *others = pairs
            await SalienceSession(first[1], memory, user_id=first[0]).clear_session()
            for user, session in others:
                assert len(await SalienceSession(session, memory, user_id=user).get_items()) == 1

    asyncio.run(main())


def secrets(found: list[Any]) -> list[str]:
    """The lines of recalled items that tell a secret."""
    return [line for item in found for line in item["content"].split("\n") if "secret of" in line]


def test_it_is_a_session_of_the_sdk() -> None:
    session = SalienceSession("s", "ram://", embedder=None)
    assert isinstance(session, Session)
    session.close()
    with pytest.raises(RuntimeError, match="SalienceSession is closed"):
        asyncio.run(session.get_items())


def test_a_limit_of_the_settings_holds_unless_a_call_has_its_own() -> None:
    async def main() -> None:
        session = SalienceSession("s", "ram://", session_settings={"limit": 2}, embedder=None)
        await session.add_items([said("user", str(n)) for n in range(5)])
        assert [item["content"] for item in await session.get_items()] == ["3", "4"]
        assert [item["content"] for item in await session.get_items(3)] == ["2", "3", "4"]

    asyncio.run(main())


def test_a_clock_that_is_set_back_changes_no_order() -> None:
    noon = datetime(2026, 5, 1, 12, tzinfo=timezone.utc)
    times = (noon - timedelta(minutes=minute) for minute in count())

    async def main() -> None:
        with Memory("ram://", embedder=None, clock=lambda: next(times)) as memory:
            session = SalienceSession("s", memory)
            for number in range(5):
                await session.add_items([said("user", str(number))])
            assert [item["content"] for item in await session.get_items()] == list("01234")
            assert [item["content"] for item in await session.get_items(2)] == ["3", "4"]
            assert (await session.pop_item() or {})["content"] == "4"

    asyncio.run(main())


def test_a_very_long_message_is_asked_for_by_its_beginning() -> None:
    with Memory("ram://", embedder=None) as memory:
        memory.add("Ana lives in Lisbon.")
        question = said("user", "Lisbon? " + "very long " * 15_000)
        found = asyncio.run(recalled(memory)([], [question]))
        assert "Ana lives in Lisbon." in found[0]["content"]


def test_a_memory_that_was_given_stays_open() -> None:
    with Memory("ram://", embedder=None) as memory:
        session = SalienceSession("s", memory)
        session.close()
        assert memory.count() == 0


def test_an_item_that_is_too_large_is_refused_and_nothing_is_written() -> None:
    async def main() -> None:
        session = SalienceSession("s", "ram://", embedder=None)
        with pytest.raises(InvalidInput, match=r"^content: "):
            await session.add_items([said("user", "a"), said("user", "x" * 1_000_001)])
        assert await session.get_items() == []

    asyncio.run(main())


def test_items_of_many_threads_and_loops_are_all_kept(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db", embedder=None) as memory:
        session = SalienceSession("s", memory)

        def write(name: int) -> None:
            for turn in range(5):
                asyncio.run(session.add_items([said("user", f"{name}.{turn}")]))

        threads = [threading.Thread(target=write, args=(name,)) for name in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        texts = [item["content"] for item in asyncio.run(session.get_items())]
        assert sorted(texts) == [f"{name}.{turn}" for name in range(3) for turn in range(5)]
        for name in range(3):
            own = [text for text in texts if text.startswith(f"{name}.")]
            assert own == sorted(own)


class HeldEmbedder(WordHashEmbedder):
    """An embedder that waits, once it was asked, until it may go on."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.may_go_on = threading.Event(), threading.Event()

    def embed(self, texts: Any, *, kind: Any = "document") -> Any:
        self.asked.set()
        assert self.may_go_on.wait(60)
        return super().embed(texts, kind=kind)


def test_who_is_cancelled_while_writing_is_so_once_it_is_written() -> None:
    async def main() -> None:
        embedder = HeldEmbedder()
        with Memory("ram://", embedder=embedder) as memory:
            session = SalienceSession("s", memory)
            adding = asyncio.create_task(session.add_items([said("user", "Hello")]))
            assert await asyncio.to_thread(embedder.asked.wait, 60)
            adding.cancel()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert not adding.done()
            embedder.may_go_on.set()
            with pytest.raises(asyncio.CancelledError):
                await adding
            assert await session.get_items() == [said("user", "Hello")]

    asyncio.run(main())


def test_an_item_is_popped_once_however_many_ask() -> None:
    async def main() -> None:
        with Memory("ram://", embedder=None) as memory:
            session = SalienceSession("s", memory)
            await session.add_items([said("user", str(n)) for n in range(6)])
            popped = await asyncio.gather(*(session.pop_item() for _ in range(8)))
            assert sorted(item["content"] for item in popped if item) == list("012345")

    asyncio.run(main())


def test_the_model_gets_what_is_recalled_between_the_history_and_the_question() -> None:
    async def main() -> None:
        with Memory("ram://") as memory:
            memory.for_namespace("ana").add("Ana moved to Lisbon in March.", speaker="Ana")
            memory.for_namespace("ben").add("Ben lives in Lisbon, too.")
            session = SalienceSession("s", memory, user_id="ana")
            await session.add_items([said("user", "Hello"), said("assistant", "Hello Ana")])
            model = ScriptedModel([[assistant_message("In Lisbon.")]])
            agent = Agent(name="guide", model=model)
            question = "Where does Ana live?"
            await Runner.run(
                agent, question, session=session, run_config=on(memory, user_id="ana", limit=1)
            )
            first, second, fence, last = received(model)
            assert [first, second, last] == [
                ("user", "Hello"),
                ("assistant", "Hello Ana"),
                ("user", question),
            ]
            assert fence[0] == "user"
            assert fence[1].startswith("<recalled-memories>\n")
            assert 'said by "Ana"' in fence[1]
            assert "Ana moved to Lisbon in March." in fence[1]
            assert "Ben" not in fence[1]
            kept = [item.get("content") for item in await session.get_items()]
            assert len(kept) == 4
            assert "recalled-memories" not in str(kept)

    asyncio.run(main())


def test_what_is_in_the_history_is_not_recalled_but_what_was_dropped_is() -> None:
    async def main() -> None:
        with Memory("ram://") as memory:
            session = SalienceSession("s", memory)
            await session.add_items(
                [said("user", "My cat is called Miro."), said("assistant", "A fine name.")]
            )
            model = ScriptedModel([[assistant_message("Miro.")], [assistant_message("Miro.")]])
            agent = Agent(name="guide", model=model)
            config = on(memory)
            await Runner.run(agent, "What is my cat called?", session=session, run_config=config)
            assert "recalled-memories" not in str(received(model))
            session.session_settings = session.session_settings.resolve({"limit": 1})
            await Runner.run(agent, "Is my cat called Miro?", session=session, run_config=config)
            assert any("    My cat is called Miro." in text for _, text in received(model))

    asyncio.run(main())


def test_what_the_model_thought_is_given_back_and_not_remembered() -> None:
    thought: Any = {
        "type": "reasoning",
        "id": "r1",
        "summary": [{"type": "summary_text", "text": "They seem broke."}],
        "content": [{"type": "reasoning_text", "text": "They seem broke."}],
    }
    with Memory("ram://", embedder=None) as memory:
        session = SalienceSession("chat", memory)
        asyncio.run(session.add_items([thought]))
        assert asyncio.run(session.get_items()) == [thought]
        assert [each.content for each in memory.get_all()] == ["reasoning"]


def test_calls_of_tools_are_kept_but_not_recalled() -> None:
    @function_tool
    def weather(city: str) -> str:
        """The weather of a city."""
        return f"It rains in {city}."

    async def main() -> None:
        with Memory("ram://") as memory:
            call = function_call("weather", {"city": "Porto"}, call_id="1")
            model = ScriptedModel([[call], [assistant_message("It rains.")]])
            agent = Agent(name="guide", model=model, tools=[weather])
            session = SalienceSession("s", memory)
            config = on(memory, limit=10)
            await Runner.run(agent, "How is it in Porto?", session=session, run_config=config)
            kinds = {record.content: record.kind for record in memory}
            assert kinds["It rains in Porto."] == "item"
            assert any(text.startswith("weather({") for text in kinds)
            found = await recalled(memory, limit=10)([], [said("user", "rain in Porto")])
            assert "It rains in Porto." not in str(found)
            named = recalled(memory, limit=10, filters={"kind": "item"})
            assert "It rains in Porto." in str(await named([], [said("user", "rain in Porto")]))

    asyncio.run(main())


def test_options_of_the_search_hold_and_wrong_ones_are_refused() -> None:
    with Memory("ram://") as memory:
        memory.add("Ana lives in Lisbon.", tags=["home"])
        memory.add("Ana lives on the fourth floor.", tags=["work"])
        new = [said("user", "Where does Ana live?")]
        found = asyncio.run(recalled(memory, filters={"tags": "home"})([], new))
        assert "Lisbon" in found[0]["content"]
        assert "fourth floor" not in found[0]["content"]
        assert asyncio.run(recalled(memory, options={"min_similarity": 0.999})([], new)) == new
        assert asyncio.run(recalled(memory)([], [said("assistant", "Hello")])) == [
            said("assistant", "Hello")
        ]
        with pytest.raises(InvalidInput, match=r"filters\.colour"):
            recalled(memory, filters={"colour": "red"})


def test_sessions_and_recall_work_at_a_server(tmp_path: Path) -> None:
    async def main(url: str) -> None:
        async with AsyncMemory(url) as memory:
            await memory.for_namespace("ana").add("Ana moved to Lisbon in March.")
            session = SalienceSession("s", url, user_id="ana")
            model = ScriptedModel([[assistant_message("In Lisbon.")]])
            result = await Runner.run(
                Agent(name="guide", model=model),
                "Where does Ana live?",
                session=session,
                run_config=on(memory, user_id="ana"),
            )
            assert result.final_output == "In Lisbon."
            assert "Ana moved to Lisbon in March." in received(model)[0][1]
            assert len(await session.get_items()) == 2
            assert (await session.pop_item() or {})["role"] == "assistant"
            session.close()

    with real_server(tmp_path / "m.db") as server:
        asyncio.run(main(server.url))
