"""What takes a store of LangGraph keeps its memory in `SalienceStore`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from deepagents import create_deep_agent
from deepagents.backends import CompositeBackend, StateBackend, StoreBackend
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langmem import create_manage_memory_tool, create_search_memory_tool

from salience.integrations.langgraph import SalienceStore


@pytest.fixture
def store() -> Iterator[SalienceStore]:
    with SalienceStore("ram://") as store:
        yield store


class ScriptedModel(GenericFakeChatModel):
    """A model that calls the tools that it is told to."""

    def __init__(self, *called: dict[str, Any]) -> None:
        calls = [AIMessage("", tool_calls=[{**call, "id": "1"}]) for call in called]
        super().__init__(messages=iter([said for call in calls for said in (call, AIMessage("."))]))

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> ScriptedModel:
        return self


def answers(agent: Any, **configurable: str) -> list[str]:
    """What the tools answer in two conversations."""
    config = {"configurable": configurable}
    runs = [agent.invoke({"messages": [HumanMessage("Go.")]}, config) for _ in range(2)]
    return [run["messages"][-2].text for run in runs]


def test_langmem_manages_and_searches(store: SalienceStore) -> None:
    namespace = ("memories", "{user}")
    tools = [create_manage_memory_tool(namespace), create_search_memory_tool(namespace)]
    model = ScriptedModel(
        {"name": "manage_memory", "args": {"content": "Ana likes tea.", "action": "create"}},
        {"name": "search_memory", "args": {"query": "What does Ana drink?"}},
    )
    _, found = answers(create_agent(model, tools, store=store), user="ana")
    assert "Ana likes tea." in found
    assert store.list_namespaces() == [("memories", "ana")]


def test_a_deep_agent_keeps_its_files(store: SalienceStore) -> None:
    path = "/memories/home.md"
    model = ScriptedModel(
        {"name": "write_file", "args": {"file_path": path, "content": "Ana lives in Lisbon."}},
        {"name": "read_file", "args": {"file_path": path}},
    )
    files = StoreBackend(store=store, namespace=lambda runtime: ("files", "ana"))
    backend = CompositeBackend(default=StateBackend(), routes={"/memories/": files})
    _, found = answers(create_deep_agent(model=model, backend=backend, store=store))
    assert "Ana lives in Lisbon." in found
    assert [item.key for item in store.search(("files",), query="Where does Ana live?")] == [
        "/home.md"
    ]
