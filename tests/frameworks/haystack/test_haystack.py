"""The components in a pipeline whose generator is scripted."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from haystack import Document, Pipeline, component
from haystack.components.builders import ChatPromptBuilder
from haystack.components.writers import DocumentWriter
from haystack.dataclasses import ChatMessage
from haystack.document_stores.types import FilterPolicy
from haystack.errors import FilterError
from hypothesis import given, settings

from salience import AsyncMemory, Memory
from salience.errors import InvalidInput
from salience.integrations.haystack import (
    SalienceDocumentStore,
    SalienceRetriever,
    SalienceWriter,
)
from salience.testing.embedder import WordHashEmbedder
from support.real_server import real_server
from support.users import two_users

ALLOWED = ["salience.integrations.*", "test_haystack"]


@component
class ScriptedGenerator:
    """A model that gives prepared answers; `asked` are the messages that it got each time."""

    def __init__(self, answers: list[str]) -> None:
        self.answers, self.asked = answers, list[list[ChatMessage]]()

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage]) -> dict[str, Any]:
        self.asked.append(messages)
        return {"replies": [ChatMessage.from_assistant(self.answers[len(self.asked) - 1])]}


def open_store(user: str = "ana", shared: Any = None) -> SalienceDocumentStore:
    shared = Memory("ram://", embedder=WordHashEmbedder()) if shared is None else shared
    return SalienceDocumentStore(shared, user_id=user)


def chat(store: SalienceDocumentStore, answers: list[str]) -> Pipeline:
    """A pipeline that recalls, asks the model, and keeps what was said."""
    pipeline = Pipeline()
    pipeline.add_component("retriever", SalienceRetriever(store))
    template = [ChatMessage.from_system("{{recalled}}"), ChatMessage.from_user("{{question}}")]
    pipeline.add_component("prompt", ChatPromptBuilder(template, required_variables="*"))
    pipeline.add_component("model", ScriptedGenerator(answers))
    pipeline.add_component("writer", SalienceWriter(store))
    pipeline.connect("retriever.recalled", "prompt.recalled")
    pipeline.connect("prompt.prompt", "model.messages")
    pipeline.connect("model.replies", "writer.replies")
    return pipeline


def turn(pipeline: Pipeline, question: str, session: str) -> Any:
    return pipeline.run(
        {
            "retriever": {"query": question},
            "prompt": {"question": question},
            "writer": {"messages": [ChatMessage.from_user(question)], "session_id": session},
        }
    )


def test_a_pipeline_remembers_over_sessions_and_is_written_down(tmp_path: Path) -> None:
    db = str(tmp_path / "agent.db")
    store = SalienceDocumentStore(db, user_id="ana")
    pipeline = chat(store, ["Noted."])
    result = turn(pipeline, "I am allergic to nuts.", "monday")
    assert result["writer"] == {"messages_written": 2}
    text = pipeline.dumps()
    store.close()

    again = Pipeline.loads(text, allowed_modules=ALLOWED)
    assert again.to_dict()["components"] == pipeline.to_dict()["components"]
    turn(again, "What am I allergic to?", "friday")
    system, user = again.get_component("model").asked[0]
    assert system.text.startswith("<recalled-memories>")
    assert "    I am allergic to nuts." in system.text
    assert 'said by "user"' in system.text
    assert 'session "monday"' in system.text
    assert user.text == "What am I allergic to?"


def test_the_retriever_gives_documents_with_where_they_come_from() -> None:
    store = open_store()
    store.memory.sync.add("I like gr\u200been tea.", speaker="Ana", session_id="one", id="tea")
    store.memory.sync.add("tea(green)", kind="item")
    DocumentWriter(store).run([Document(content="The flat is in Lisbon.", meta={"topic": "home"})])
    retriever = SalienceRetriever(store, top_k=1)
    [tea] = retriever.run("Which tea?")["documents"]
    assert (tea.id, tea.content) == ("tea", "I like green tea.")
    assert tea.meta.items() >= {"speaker": "Ana", "session_id": "one", "kind": "turn"}.items()
    assert tea.score is not None
    [flat] = retriever.run("Where is the flat?")["documents"]
    assert flat.meta == {"topic": "home"}
    assert asyncio.run(retriever.run_async("Which tea?")) == retriever.run("Which tea?")
    assert len(retriever.run("tea", top_k=3)["documents"]) == 2


def test_filters_of_a_run_replace_those_of_the_retriever_or_are_merged() -> None:
    store = open_store()
    topics = [("home", 1), ("home", 2), ("work", 2)]
    store.write_documents(
        [
            Document(content=f"Note {i}", meta={"topic": t, "n": n})
            for i, (t, n) in enumerate(topics)
        ]
    )
    home = {"field": "meta.topic", "operator": "==", "value": "home"}
    second = {"field": "meta.n", "operator": "==", "value": 2}

    def found(policy: FilterPolicy, filters: dict[str, Any] | None) -> list[str | None]:
        retriever = SalienceRetriever(store, filters=home, filter_policy=policy)
        return sorted(str(d.content) for d in retriever.run("note", filters)["documents"])

    assert found(FilterPolicy.REPLACE, None) == ["Note 0", "Note 1"]
    assert found(FilterPolicy.REPLACE, second) == ["Note 1", "Note 2"]
    assert found(FilterPolicy.MERGE, second) == ["Note 1"]
    with pytest.raises(FilterError):
        found(FilterPolicy.REPLACE, {"field": "meta.n"})
    speaker = {"field": "memory.speaker", "operator": "==", "value": "Ana"}
    assert found(FilterPolicy.REPLACE, speaker) == []


def test_only_what_was_said_is_kept() -> None:
    store = open_store()
    messages = [
        ChatMessage.from_system("Be kind."),
        ChatMessage.from_user("Hello.", name="Ana"),
        ChatMessage.from_assistant(" "),
    ]
    writer = SalienceWriter(store, session_id="one")
    assert writer.run(messages) == {"messages_written": 1}
    assert asyncio.run(writer.run_async([], [ChatMessage.from_assistant("Hi.")], "two")) == {
        "messages_written": 1
    }
    assert writer.run([]) == {"messages_written": 0}
    kept = store.memory.sync.iterate(order="oldest")
    assert [(record.session_id, record.speaker, record.content) for record in kept] == [
        ("one", "Ana", "Hello."),
        ("two", "assistant", "Hi."),
    ]


@settings(max_examples=25)
@given(two_users)
def test_nothing_of_one_user_is_found_by_another(users: tuple[str, str]) -> None:
    shared = Memory("ram://", embedder=WordHashEmbedder())
    ana, ben = (open_store(user, shared) for user in users)
    document = Document(content="The secret of Ana.", meta={"owner": "ana"})
    ana.write_documents([document])
    for filters in (
        None,
        {"field": "id", "operator": "==", "value": document.id},
        {"operator": "NOT", "conditions": [{"field": "id", "operator": "==", "value": "x"}]},
    ):
        assert ben.filter_documents(filters) == []
        found = SalienceRetriever(ben).run("The secret of Ana.", filters)
        assert found == {"documents": [], "recalled": ""}
    ben.delete_documents([document.id])
    assert ben.write_documents([document]) == 1  # its id is free here
    assert ana.count_documents() == 1


def test_no_pipeline_that_is_written_down_holds_an_open_memory() -> None:
    with pytest.raises(InvalidInput, match="give its address"):
        open_store().to_dict()


def test_it_works_over_an_awaited_memory_and_leaves_it_open() -> None:
    async def run() -> None:
        async with AsyncMemory("ram://", embedder=WordHashEmbedder()) as shared:
            store = open_store("ana", shared)
            await store.write_documents_async([Document(content="Ana likes tea.")])
            await store.close_async()
            assert await shared.for_namespace("ana").count() == 1

    asyncio.run(run())


def test_it_works_at_a_server(tmp_path: Path) -> None:
    with real_server(tmp_path / "served.db") as server:
        store = SalienceDocumentStore(server.url, user_id="ana")
        assert SalienceDocumentStore.from_dict(store.to_dict()).to_dict() == store.to_dict()
        pipeline = chat(store, ["Noted.", "To nuts."])
        turn(pipeline, "I am allergic to nuts.", "monday")
        turn(pipeline, "What am I allergic to?", "friday")
        asked = pipeline.get_component("model").asked[1][0].text
        home = {"field": "meta.topic", "operator": "==", "value": "home"}
        store.write_documents([Document(content="A flat.", meta={"topic": "home"})])
        assert [document.content for document in store.filter_documents(home)] == ["A flat."]
        store.close()
    assert "    I am allergic to nuts." in asked
