"""Isolation: whatever a namespace is told over MCP is the same to the byte beside a neighbour."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mcp import MCPError
from salience import Memory
from salience.mcp.app import EXPLANATION, uri_of
from salience.mcp.tools import TOOLS
from salience.stores import open_store
from salience.testing import WordHashEmbedder
from salience.testing.conformance import Clock
from support.mcp_client import ALL_TOOLS, Connection, in_process, over_http
from support.served import serve_memory
from support.suite.isolation import RUN, neighbour

QUESTIONS = ("Where does Ana live?", "Who has a celo?")
OF_THE_NEIGHBOUR = "b0"  # an id that the neighbour has, and nobody else


@contextmanager
def embedded(folder: Path, clock: Clock) -> Iterator[tuple[Connection, Memory]]:
    """A client of all tools over a store of this process, and another memory of that store."""
    store = open_store(f"sqlite:///{folder}/memory.db")
    settings: dict[str, Any] = {"clock": clock, "embedder": WordHashEmbedder()}
    with (
        Memory.open(store, **settings) as other,
        in_process(store, namespace="ana", **settings) as connection,
    ):
        yield connection, other
    store.close()


@contextmanager
def served(folder: Path, clock: Clock) -> Iterator[tuple[Connection, Memory]]:
    """A client of all tools at a server, and another memory of that."""
    with serve_memory("ram://", clock=clock, embedder=WordHashEmbedder()) as other:
        url = f"{other.url}/mcp?tools={ALL_TOOLS}"
        with over_http(url, {"Salience-Namespace": "ana"}) as connection:
            yield connection, other


WAYS = {"file": embedded, "http": served}


class Transcript:
    """All that a client was told, each answer with the call that it answers."""

    def __init__(self, connection: Connection, meanwhile: Callable[[], object]) -> None:
        self.connection = connection
        self.meanwhile = meanwhile
        self.ids: list[str] = []  # of the memories that were added
        self.tools: set[str] = set()
        self._answers: list[tuple[str, str]] = []

    def tool(self, name: str, **arguments: Any) -> Any:
        """Call a tool."""
        self.tools.add(name)
        return self.ask("call_tool", name, arguments).structured_content

    def add(self, content: str, **fields: Any) -> None:
        """Add a memory."""
        self.ids.append(self.tool("add_memory", content=content, **fields)["id"])

    def ask(self, method: str, *arguments: Any, **options: Any) -> Any:
        """Call a method of the client; an error is an answer, too."""
        self.meanwhile()
        try:
            answer = self.connection.await_(method, *arguments, **options)
            told = answer.model_dump(mode="json")
        except MCPError as problem:
            answer, told = None, {"error": problem.error.model_dump(mode="json")}
        self._answers.append((f"{method} {arguments}", json.dumps(told, ensure_ascii=False)))
        return answer

    def answers(self) -> list[tuple[str, str]]:
        """The calls and their answers, with numbers for ids, as each run has others."""
        return [(self._numbered(call), self._numbered(told)) for call, told in self._answers]

    def _numbered(self, text: str) -> str:
        for number, id in enumerate(dict.fromkeys(self.ids)):
            text = text.replace(id, f"id {number}").replace(id[:8], f"id {number}")
        return RUN.sub("", text)


def converse(told: Transcript) -> None:
    """Call every tool, prompt and resource, with ids of one's own and with one of the neighbour."""
    told.ask("list_tools")
    told.add("Ana lives in Lisbon and plays the cello.", kind="fact", tags=["music"])
    told.add("The cello of Ana was made in Cremona in 1987.", kind="fact", tags=["music"])
    told.add("The user is called Ana.", kind="profile")
    told.add("On 2026-02-11 Ana met Carla at the Teatro.", speaker="Ana")
    told.add("Carla paints boats, and Ana likes the blue one.", force=True)
    told.add("Ana lives in Lisbon and plays the cello.", kind="fact")
    turns = [{"role": "user", "content": "I have moved."}, {"role": "Bo", "content": "When?"}]
    kept = told.tool("add_conversation", messages=turns, session_id="s1")
    told.ids += kept["ids"]
    own = told.ids
    told.tool("link_memories", source=own[1], target=own[0], type="supports")
    read(told, own)
    told.tool("update_memory", id=own[1], content="The cello was made in 1890.", if_version=1)
    told.tool("update_memory", id=own[1], content="The cello was made in 1891.", if_version=1)
    told.tool("give_feedback", id=own[0], verdict="useful")
    told.tool("archive_memories", ids=[own[4]])
    told.tool("unarchive_memories", ids=[own[4]])
    told.tool("undo", id=own[1])
    told.tool("delete_memory", id=own[3])
    read(told, own)
    trespass(told, own)


def read(told: Transcript, ids: list[str]) -> None:
    """Call everything that only reads."""
    for question in QUESTIONS:
        told.tool("search_memories", query=question, cut="none")
        told.tool("search_memories", query=question, include_archived=True)
        told.tool("get_context", query=question)
        told.tool("explain_memory", query=question, id=ids[0])
        told.tool("search", query=question)
        told.ask("get_prompt", "recall", {"about": question})
    page = told.tool("list_memories", limit=2)
    told.tool("list_memories", limit=2, cursor=page["next_cursor"])
    for name in ("list_tags", "list_entities"):
        first = told.tool(name, limit=1)
        told.tool(name, limit=1, cursor=first.get("next_cursor"))
    told.tool("get_stats")
    for id in (*ids[:2], ids[-1]):
        for name in ("get_memory", "get_history", "list_links", "fetch"):
            told.tool(name, id=id)
        told.ask("read_resource", uri_of(id))
    for uri in ("salience://profile", EXPLANATION):
        told.ask("read_resource", uri)
    for method in ("list_resources", "list_resource_templates", "list_prompts"):
        told.ask(method)
    told.ask("get_prompt", "remember", {"what": "the cello"})


def trespass(told: Transcript, own: list[str]) -> None:
    """Ask for a memory of the neighbour by its id, in every way that takes one."""
    for name in ("get_memory", "get_history", "list_links", "fetch", "delete_memory"):
        told.tool(name, id=OF_THE_NEIGHBOUR)
    told.tool("explain_memory", query=QUESTIONS[0], id=OF_THE_NEIGHBOUR)
    told.tool("update_memory", id=OF_THE_NEIGHBOUR, content="It is mine.")
    told.tool("update_memory", id=own[0], supersedes=OF_THE_NEIGHBOUR)
    told.tool("give_feedback", id=OF_THE_NEIGHBOUR, verdict="incorrect")
    told.tool("link_memories", source=own[0], target=OF_THE_NEIGHBOUR)
    told.tool("link_memories", source=OF_THE_NEIGHBOUR, target=own[0])
    told.tool("archive_memories", ids=[OF_THE_NEIGHBOUR])
    told.tool("unarchive_memories", ids=[OF_THE_NEIGHBOUR])
    told.tool("undo", id=OF_THE_NEIGHBOUR)
    told.tool("get_memory", id=OF_THE_NEIGHBOUR[:9])
    told.tool("add_memory", content="Ben lives in Berlin.", supersedes=OF_THE_NEIGHBOUR)
    told.ask("read_resource", uri_of(OF_THE_NEIGHBOUR))


@pytest.mark.deep
@pytest.mark.parametrize("way", WAYS)
def test_no_answer_tells_of_another_namespace(way: str, tmp_path: Path) -> None:
    transcripts = []
    for beside in (False, True):
        clock, folder = Clock(), tmp_path / str(beside)
        folder.mkdir()
        with WAYS[way](folder, clock) as (connection, other):
            steps = neighbour(other)

            def meanwhile(
                act: Callable[[], object] = steps.__next__ if beside else int,
                pass_: Callable[..., object] = clock.pass_,
            ) -> None:
                act()
                pass_(minutes=1)

            meanwhile()
            told = Transcript(connection, meanwhile)
            converse(told)
            assert told.tools == TOOLS.keys()
            assert (other.for_namespace("ben").count() > 0) == beside
        transcripts.append(told.answers())
    for alone, together in zip(*transcripts, strict=True):
        assert together == alone
