"""The capability of Pydantic AI: what a model receives, and what is kept of a run."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai import Agent
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

from salience import AsyncMemory, Memory
from salience.errors import InvalidInput
from salience.integrations.pydantic_ai import Recall
from support.real_server import real_server


@dataclass
class Person:
    """The dependencies of a run."""

    name: str


class Scripted:
    """Answers with the parts of a script, and keeps what it received."""

    def __init__(self, *script: Any) -> None:
        self.script, self.received = script, list[list[ModelMessage]]()
        self.model = FunctionModel(self.answer)

    def answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.received.append(list(messages))
        step = self.script[(len(self.received) - 1) % len(self.script)]
        return ModelResponse(parts=[TextPart(step) if isinstance(step, str) else step])

    def prompts(self, request: int = -1) -> list[str]:
        """The words of users that were received in a request, recalled ones among them."""
        return prompts_of(self.received[request])


def prompts_of(messages: list[ModelMessage]) -> list[str]:
    return [
        str(part.content)
        for message in messages
        for part in message.parts
        if isinstance(part, UserPromptPart)
    ]


def turns(memory: Memory, session: str) -> list[tuple[str | None, str]]:
    page = memory.get_all({"session_id": session}, order="oldest")
    return [(record.speaker, record.content) for record in page]


def test_what_was_said_is_recalled_in_another_conversation() -> None:
    with Memory("ram://") as memory:
        memory.for_namespace("ben").add("Ben moved to Lisbon, too.")
        memory.for_namespace("ana").add("move(Where did I move to?)", kind="item")
        script = Scripted("Noted.", "In Lisbon.")
        recall = Recall[None](memory, user_id="ana", search={"limit": 1})
        agent = Agent(script.model, capabilities=[recall])
        agent.run_sync("I moved to Lisbon in March.", conversation_id="one")
        assert script.prompts() == ["I moved to Lisbon in March."]
        result = agent.run_sync("Where did I move to?", conversation_id="two")
        fence, question = script.prompts()
        assert question == "Where did I move to?"
        assert fence.startswith("<recalled-memories>\n")
        assert "I moved to Lisbon in March." in fence
        assert "Ben" not in fence
        assert prompts_of(result.all_messages()) == ["Where did I move to?"]
        ana = memory.for_namespace("ana")
        assert turns(ana, "one") == [
            ("user", "I moved to Lisbon in March."),
            ("assistant", "Noted."),
        ]
        assert turns(ana, "two") == [
            ("user", "Where did I move to?"),
            ("assistant", "In Lisbon."),
        ]


def test_it_is_shown_in_each_step_of_a_run_and_searched_for_once() -> None:
    with Memory("ram://") as memory:
        memory.add("Ana moved to Lisbon in March.", id="move")
        script = Scripted(ToolCallPart("weather", {"city": "Lisbon"}), "It rains.")
        agent = Agent(script.model, capabilities=[Recall[None](memory)])

        @agent.tool_plain
        def weather(city: str) -> str:
            """The weather of a city."""
            return f"It rains in {city}."

        agent.run_sync("How is the weather where Ana moved to?")
        assert len(script.received) == 2
        for request in (0, 1):
            fence, question = script.prompts(request)
            assert "Ana moved to Lisbon in March." in fence
            assert question == "How is the weather where Ana moved to?"
        memory.upkeep.flush()
        assert memory["move"].access_count == 1


def test_what_is_in_the_messages_already_is_not_recalled() -> None:
    with Memory("ram://") as memory:
        script = Scripted("A fine name.", "Miro.")
        agent = Agent(script.model, capabilities=[Recall[None](memory)])
        first = agent.run_sync("My cat is called Miro.")
        agent.run_sync("What is my cat called?", message_history=first.all_messages())
        assert script.prompts() == ["My cat is called Miro.", "What is my cat called?"]
        agent.run_sync("Is my cat called Miro?")
        assert "    My cat is called Miro." in script.prompts()[0]
        assert len({record.session_id for record in memory}) == 2


def test_instructions_come_first_and_pictures_are_left_alone() -> None:
    with Memory("ram://") as memory:
        memory.add("Ana moved to Lisbon in March.")
        script = Scripted("In Lisbon.")
        recall = Recall[None](memory)
        agent = Agent(script.model, system_prompt="Be brief.", capabilities=[recall])
        picture = BinaryContent(b"0", media_type="image/png")
        result = agent.run_sync(["Where does Ana live?", picture])
        [request] = script.received[0]
        assert [part.part_kind for part in request.parts] == [
            "system-prompt",
            "user-prompt",
            "user-prompt",
        ]
        assert request.parts[2].content == ["Where does Ana live?", picture]
        assert len(result.all_messages()[0].parts) == 2
        assert memory.search("Where does Ana live?", filters={"kind": "turn"})


def test_a_run_that_fails_or_shall_not_be_remembered_leaves_nothing() -> None:
    def fails(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        raise RuntimeError("no model")

    with Memory("ram://", embedder=None) as memory:
        with pytest.raises(RuntimeError, match="no model"):
            Agent(FunctionModel(fails), capabilities=[Recall[None](memory)]).run_sync("Hello")
        forgetful = Recall[None](memory, remember=False)
        Agent(TestModel(), capabilities=[forgetful]).run_sync("Hello")
        assert memory.count() == 0


def test_wrong_options_are_refused() -> None:
    with Memory("ram://", embedder=None) as memory:
        with pytest.raises(InvalidInput, match=r"filters\.colour"):
            Recall[None](memory, search={"filters": {"colour": "red"}})
        agent = Agent(TestModel(), capabilities=[Recall[None](memory, search={"limit": 0})])
        with pytest.raises(InvalidInput, match="limit"):
            agent.run_sync("Hello")


def test_it_is_awaited_and_works_with_the_test_model_and_streams() -> None:
    async def main() -> None:
        async with AsyncMemory("ram://", embedder=None) as memory:
            agent = Agent(
                TestModel(custom_output_text="Hello Ana."), capabilities=[Recall[None](memory)]
            )
            async with agent.run_stream("Hello", conversation_id="c") as stream:
                assert await stream.get_output() == "Hello Ana."
            await agent.run("Hello again", conversation_id="c")
            page = await memory.get_all({"session_id": "c"}, order="oldest")
            assert [record.content for record in page] == [
                "Hello",
                "Hello Ana.",
                "Hello again",
                "Hello Ana.",
            ]

    asyncio.run(main())


names = st.lists(
    st.sampled_from(["ana", "ben", "an", "ana/ben", "%", "", "/"]), min_size=2, unique=True
)


@settings(max_examples=15)
@given(names)
def test_each_run_has_the_memories_of_its_own_user(users: list[str]) -> None:
    async def main() -> None:
        with Memory("ram://", embedder=None) as memory:
            script = Scripted("Yes.")
            recall = Recall[Person](
                memory, user_id=lambda run: run.deps.name, search={"limit": 100}
            )
            agent = Agent(script.model, deps_type=Person, capabilities=[recall])

            def run(user: str, prompt: str) -> Any:
                return agent.run(prompt, deps=Person(user), conversation_id="same")

            await asyncio.gather(*(run(user, f"secret of {user!r}") for user in users))
            for user in users:
                await run(user, "Which secret is there?")
                fence, _ = script.prompts()
                secrets = [line.strip() for line in fence.split("\n") if "secret of" in line]
                assert secrets == [f"secret of {user!r}"]

    asyncio.run(main())


def test_it_works_at_a_server(tmp_path: Path) -> None:
    async def main(url: str) -> None:
        script = Scripted("Noted.", "In Lisbon.")
        recall = Recall[None](url, user_id="ana")
        agent = Agent(script.model, capabilities=[recall])
        await agent.run("I moved to Lisbon in March.", conversation_id="one")
        await agent.run("Where did I move to?", conversation_id="two")
        assert "I moved to Lisbon in March." in script.prompts()[0]
        await recall.aclose()

    with real_server(tmp_path / "m.db") as server:
        asyncio.run(main(server.url))
        with Memory(server.url, namespace="ana") as memory:
            assert memory.count() == 4


def test_a_message_that_only_goes_on_is_no_question() -> None:
    with Memory("ram://", embedder=None) as memory:
        script = Scripted("Yes.")
        agent = Agent(script.model, capabilities=[Recall[None](memory)])
        history = [ModelRequest(parts=[UserPromptPart("  ")]), ModelResponse(parts=[])]
        agent.run_sync("", message_history=history)
        assert "recalled" not in str(script.received)
        assert turns(memory, next(iter(memory)).session_id or "") == [("assistant", "Yes.")]
