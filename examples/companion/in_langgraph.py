"""The companion as a graph of LangGraph: `python -m companion.in_langgraph --user ana`.

Its memory is a store of LangGraph, `SalienceStore`. It needs langgraph and langchain-openai.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from typing import Any
from uuid import uuid4

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.tools import StructuredTool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.store.base import BaseStore, Item

from companion.model import Tools
from companion.settings import Settings
from companion.talk import talk
from salience.display.for_models import fenced
from salience.integrations.langgraph import SalienceStore
from salience.records.record import MemoryRecord


class StoreTools:
    """Tools over a store, for one user and session; each item is a fact with its source."""

    schemas: Sequence[dict[str, Any]] = ()  # the graph knows the tools itself

    def __init__(self, store: BaseStore, user: str, session: str) -> None:
        self._store, self._namespace, self._session = store, ("memories", user), session
        methods = (self.remember, self.recall, self.correct, self.forget)
        self.tools = [StructuredTool.from_function(coroutine=method) for method in methods]

    async def remember(self, fact: str) -> str:
        """Remember a lasting fact: one sentence that stands for itself."""
        return await self._put(uuid4().hex, fact)

    async def recall(self, question: str) -> str:
        """Search the memory for the answer to a question."""
        return await self.recalled(question) or "nothing was found"

    async def correct(self, id: str, fact: str) -> str:
        """Let a new fact take the place of the memory of an id that is wrong or outdated."""
        if (old := await self._store.aget(self._namespace, id)) is None:
            return f"there is no memory {id}; take an id from what was recalled"
        return await self._put(id, fact, corrects=old.value["fact"])

    async def forget(self, id: str) -> str:
        """Delete the memory of an id for good."""
        await self._store.adelete(self._namespace, id)
        return "deleted"

    async def recalled(self, said: str) -> str:
        """The memories that may matter for the words of the user; "" for none."""
        return _fenced(await self._store.asearch(self._namespace, query=said, limit=6))

    async def keep(self, said: str, answered: str) -> None:
        """Keep the words of the user."""
        await self._put(uuid4().hex, said)

    async def source(self, id: str) -> str | None:
        """The source of a memory: who said it, when, in which session; None without one."""
        if (item := await self._store.aget(self._namespace, id)) is None:
            return None
        said = item.value
        return f'{said["speaker"]} on {said["at"][:10]}, {said["source"]}: "{said["fact"]}"'

    async def call(self, name: str, arguments: dict[str, Any]) -> str:
        """Never called: the graph runs the tools."""
        raise NotImplementedError

    async def _put(self, id: str, fact: str, **more: str) -> str:
        now = datetime.now(timezone.utc).isoformat()
        told = {"speaker": self._namespace[-1], "source": f"session {self._session}", "at": now}
        await self._store.aput(self._namespace, id, {"fact": fact, **told, **more}, index=["fact"])
        return f"kept as {id}"


class Graph:
    """A graph that asks a model and runs the tools that it calls, until it answers."""

    def __init__(self, model: BaseChatModel, tools: StoreTools, store: BaseStore) -> None:
        asking = model.bind_tools(tools.tools)

        async def ask(state: MessagesState) -> dict[str, list[BaseMessage]]:
            return {"messages": [await asking.ainvoke(state["messages"])]}

        builder = StateGraph(MessagesState)
        builder.add_node("model", ask)
        builder.add_node("tools", ToolNode(tools.tools))
        builder.add_edge(START, "model")
        builder.add_conditional_edges("model", tools_condition)
        builder.add_edge("tools", "model")
        self._graph = builder.compile(store=store)

    async def answer(self, messages: list[Any], tools: Tools) -> str:
        """Get an answer; the messages grow by it, and by what was called on the way."""
        state = await self._graph.ainvoke({"messages": messages})
        messages[:] = state["messages"]
        return str(messages[-1].text)


def _fenced(items: Iterable[Item]) -> str:
    """Items as a model reads memories: fenced, each with its id and where it comes from."""
    return fenced(
        MemoryRecord(
            item.key,
            "",
            item.value["fact"],
            speaker=item.value["speaker"],
            metadata={"source": item.value["source"]},
            created_at=item.updated_at,
            updated_at=item.updated_at,
        )
        for item in items
    )


async def main(settings: Settings) -> None:
    """Talk with one user, whose items have a namespace of their own."""
    from langchain_openai import ChatOpenAI  # reads OPENAI_API_KEY

    async with SalienceStore(settings.db) as store:
        tools = StoreTools(store, settings.user, settings.session)
        model = ChatOpenAI(base_url=settings.base_url, model=settings.model_name)
        await talk(Graph(model, tools, store), tools, settings.user)


if __name__ == "__main__":
    asyncio.run(main(Settings.parsed((__doc__ or "").splitlines()[0])))
