"""The companion of the examples as a graph, with a model that is scripted."""

from __future__ import annotations

import asyncio
import io
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from salience.integrations.langgraph import SalienceStore

sys.path.append(str(Path(__file__).resolve().parents[3] / "examples"))

from companion.in_langgraph import Graph, StoreTools
from companion.talk import talk

Messages = list[BaseMessage]
Answer = Callable[[Messages], AIMessage]


class ScriptedModel(BaseChatModel):
    """A model that gives prepared answers; `asked` are the messages that it got each time."""

    answers: list[Any]
    asked: list[Any]
    offered: list[Any]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        self.offered.extend(tool.name for tool in tools)
        return self

    def _generate(self, messages: Messages, *_: Any, **options: Any) -> ChatResult:
        self.asked.append(list(messages))
        return ChatResult(generations=[ChatGeneration(message=self.answers.pop(0)(messages))])


def says(text: str) -> Answer:
    return lambda _: AIMessage(text)


def calls(name: str, **arguments: Any) -> Answer:
    """A call of a tool; an argument may be a function of the messages that the model got."""

    def answer(messages: Messages) -> AIMessage:
        given = {k: v(messages) if callable(v) else v for k, v in arguments.items()}
        return AIMessage("", tool_calls=[{"name": name, "args": given, "id": "call_1"}])

    return answer


def id_of(text: str) -> Callable[[Messages], str]:
    """The id of a memory among those that the model was given."""

    def find(messages: Messages) -> str:
        given = "\n".join(str(message.content) for message in messages)
        [id] = {*re.findall(rf'^\[\d+\] id "(\S+)"[^\n]*\n    {re.escape(text)}$', given, re.M)}
        return id

    return find


@pytest.fixture
def session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[ScriptedModel, str]]:
    """A session over one file: what is typed, what the model answers, what is printed."""

    def run(
        name: str, *typed: str, answers: list[Answer], user: str = "Ana"
    ) -> tuple[ScriptedModel, str]:
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in typed)))
        model = ScriptedModel(answers=answers, asked=[], offered=[])

        async def talking() -> None:
            async with SalienceStore(str(tmp_path / "memory.db")) as store:
                tools = StoreTools(store, user, name)
                await talk(Graph(model, tools, store), tools, user)

        asyncio.run(talking())
        assert not model.answers
        return model, capsys.readouterr().out

    return run


def test_it_remembers_corrects_itself_and_names_its_sources(session: Any) -> None:
    model, printed = session(
        "monday",
        "I moved.",
        answers=[calls("remember", fact="Ana lives in Porto."), says("Noted.")],
    )
    assert printed == "Noted.\n"
    assert model.offered == ["remember", "recall", "correct", "forget"]
    assert "You are a companion who remembers Ana" in model.asked[0][0].content
    assert isinstance(model.asked[1][-1], ToolMessage)
    assert model.asked[1][-1].content.startswith("kept as ")

    model, _ = session(
        "friday",
        "No, I live in Lisbon now.",
        answers=[
            calls("recall", question="Where does Ana live?"),
            calls("correct", id=id_of("Ana lives in Porto."), fact="Ana lives in Lisbon."),
            says("I have corrected it."),
        ],
    )
    assert 'said by "Ana"' in model.asked[0][1].content
    assert 'source "session monday"' in model.asked[0][1].content

    model, printed = session(
        "sunday",
        "Where do I live?",
        answers=[lambda given: AIMessage(f"In Lisbon [#{id_of('Ana lives in Lisbon.')(given)}].")],
    )
    assert "Ana lives in Porto." not in model.asked[0][1].content
    answered, source = printed.splitlines()
    assert answered == "In Lisbon [1]."
    assert re.fullmatch(
        r'  \[1\] Ana on \d{4}-\d\d-\d\d, session friday: "Ana lives in Lisbon\."', source
    )


def test_it_forgets_and_another_user_finds_nothing(session: Any) -> None:
    session(
        "monday",
        "A hint.",
        answers=[calls("remember", fact="The PIN hint is the cat."), says("Noted.")],
    )
    model, _ = session("monday", "What is the PIN hint?", answers=[says("?")], user="Ben")
    assert model.asked[0][1].content == "What is the PIN hint?"
    model, _ = session(
        "friday",
        "Forget the PIN hint.",
        "What is the PIN hint?",
        answers=[
            calls("forget", id=id_of("The PIN hint is the cat.")),
            calls("correct", id="nothing", fact="There is no hint."),
            says("It is deleted."),
            says("I do not know."),
        ],
    )
    results = [m.content for m in model.asked[-1] if isinstance(m, ToolMessage)]
    assert results[0] == "deleted"
    assert results[1].startswith("there is no memory nothing")
    assert "cat" not in model.asked[-1][-1].content
