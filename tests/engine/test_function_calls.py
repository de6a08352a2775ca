"""The tools of a memory in loops of function calls: OpenAI's two APIs and Anthropic's."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import jsonschema_rs
import pytest

from salience import AsyncMemory, Memory
from salience.display.function_calls import STYLES, Style
from salience.errors import InvalidInput
from support.served import serve_memory

NAMES = ["search_memories", "add_memory", "update_memory", "delete_memory"]


def message(style: Style, *calls: tuple[str, str, dict[str, Any]]) -> Any:
    """A message of a model that calls tools, as the API of a style gives it."""
    if style == "anthropic":
        uses = [
            {"type": "tool_use", "id": id, "name": name, "input": given}
            for id, name, given in calls
        ]
        return SimpleNamespace(content=[{"type": "text", "text": "Let me see."}, *uses])
    if style == "responses":
        items = [
            SimpleNamespace(
                type="function_call", call_id=id, name=name, arguments=json.dumps(given)
            )
            for id, name, given in calls
        ]
        return SimpleNamespace(output=[SimpleNamespace(type="reasoning"), *items])
    return {
        "role": "assistant",
        "tool_calls": [
            {"id": id, "function": {"name": name, "arguments": json.dumps(given)}}
            for id, name, given in calls
        ],
    }


def texts(style: Style, answers: list[dict[str, Any]]) -> dict[str, str]:
    """The answers by the ids of their calls."""
    if style == "anthropic":
        [answer] = answers
        assert answer["role"] == "user"
        return {each["tool_use_id"]: each["content"] for each in answer["content"]}
    if style == "responses":
        assert all(each["type"] == "function_call_output" for each in answers)
        return {each["call_id"]: each["output"] for each in answers}
    assert all(each["role"] == "tool" for each in answers)
    return {each["tool_call_id"]: each["content"] for each in answers}


@pytest.mark.parametrize("style", STYLES)
def test_the_definitions_are_those_of_the_api(style: Style) -> None:
    with Memory("ram://", embedder=None) as memory:
        definitions = memory.tools(style).definitions
    own = [each["function"] if style == "openai" else each for each in definitions]
    assert [each["name"] for each in own] == NAMES
    for each in own:
        schema = each["input_schema" if style == "anthropic" else "parameters"]
        jsonschema_rs.meta.validate(schema)
        assert schema["additionalProperties"] is False
        assert each["description"]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("door", ["embedded", "remote"])
def test_a_loop_remembers_finds_corrects_and_forgets(door: str, style: Style) -> None:
    opened = Memory if door == "embedded" else serve_memory
    with opened("ram://", embedder=None) as memory:
        tools = memory.tools(style, user_id="ana")

        def ask(*calls: tuple[str, str, dict[str, Any]]) -> dict[str, str]:
            return texts(style, tools.answers(message(style, *calls)))

        added = ask(
            ("1", "add_memory", {"content": "Ana is allergic to nuts.", "tags": ["health"]})
        )
        outcome = json.loads(added["1"])
        assert outcome["outcome"] == "ADDED"
        record = memory[outcome["id"]]
        assert (record.user_id, record.kind, record.tags) == ("ana", "fact", ("health",))
        both = ask(
            ("2", "search_memories", {"query": "allergic to nuts"}),
            ("3", "search_memories", {"query": "nothing of the kind", "limit": 1}),
        )
        assert "Ana is allergic to nuts." in both["2"]
        assert outcome["id"] in both["2"]
        assert both["3"] == "Nothing is remembered about that."
        changed = {"id": outcome["id"], "content": "Ana is allergic to soy."}
        assert json.loads(ask(("4", "update_memory", changed))["4"])["version"] == 2
        assert json.loads(ask(("5", "delete_memory", {"id": outcome["id"]}))["5"]) == {
            "deleted": True
        }
        assert memory.count() == 0
        assert tools.answers(message(style)) == []
        assert tools.answers(message(style, ("6", "another_tool", {}))) == []


def test_a_model_stays_with_its_owner() -> None:
    with Memory("ram://", embedder=None) as memory:
        memory.add("Ben is allergic to nuts.", id="ben", user_id="ben")
        tools = memory.tools(user_id="ana")
        assert "Ben" not in tools.call("search_memories", {"query": "nuts", "user_id": "ben"})
        for name in ("update_memory", "delete_memory"):
            told = tools.call(name, {"id": "ben", "content": "Ben is not."})
            assert "which no memory has" in told
        assert memory["ben"].content == "Ben is allergic to nuts."
        smuggled = {"content": {"content": "Mine.", "user_id": "ben"}}
        assert tools.call("add_memory", smuggled) == "content: is not text; give a text"
        added = json.loads(tools.call("add_memory", {"content": "Mine.", "user_id": "ben"}))
        assert memory[added["id"]].user_id == "ana"


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("search_memories", "{", "arguments: are not JSON"),
        ("search_memories", "[" * 100_000, "arguments: are not JSON"),
        (["search_memories"], "{}", "name: is ['search_memories'], which no tool has"),
        ("search_memories", "[]", "arguments: are not an object"),
        ("search_memories", "{}", "query: is missing"),
        ("search_memories", {"query": " "}, "query: is empty"),
        ("search_memories", {"query": "x", "limit": "many"}, "limit: "),
        ("add_memory", {"content": "x", "tags": "y"}, "tags: must be a list"),
        ("update_memory", {"id": "nobody", "content": "x"}, "id: is 'nobody'"),
        ("forget_all", {}, "name: is 'forget_all', which no tool has"),
    ],
)
def test_an_error_is_an_answer(name: str, arguments: Any, told: str) -> None:
    with Memory("ram://", embedder=None) as memory:
        assert memory.tools().call(name, arguments).startswith(told)
        answers = memory.tools("anthropic").answers(
            message("anthropic", ("1", "delete_memory", {"id": "nobody"}))
        )
        assert answers[0]["content"][0]["is_error"] is True


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"style": "mine"}, "style"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"user_id": None}, "user_id"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], field: str) -> None:
    with Memory("ram://", embedder=None) as memory:
        with pytest.raises(InvalidInput, match=f"^{field}: "):
            memory.tools(**options)
        with pytest.raises(TypeError, match="'user'; did you mean 'user_id'"):
            memory.tools(user="ana")  # type: ignore[call-arg]


def test_awaited_they_are_the_same() -> None:
    async def loop() -> None:
        async with AsyncMemory("ram://", embedder=None) as memory:
            tools = memory.tools("responses", user_id="ana")
            calls = message("responses", ("1", "add_memory", {"content": "Ana swims."}))
            [answer] = await tools.answers(calls)
            assert json.loads(answer["output"])["outcome"] == "ADDED"
            assert "Ana swims." in await tools.call("search_memories", {"query": "swims"})

    asyncio.run(loop())
