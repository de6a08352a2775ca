"""The companion in a process for each session, with a scripted endpoint."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from salience import Memory
from support.command_server import commands
from support.real_server import real_server
from support.scripted_server import Handler, Server

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
Messages = list[dict[str, Any]]
Answer = Callable[[Messages], dict[str, Any]]


@pytest.fixture
def endpoint() -> Iterator[Server]:
    with Server() as server:
        yield server


def says(text: str) -> Answer:
    return lambda _: {"role": "assistant", "content": text}


def calls(name: str, **arguments: Any) -> Answer:
    """A call of a tool; an argument may be a function of the messages that the model got."""

    def answer(messages: Messages) -> dict[str, Any]:
        given = {k: v(messages) if callable(v) else v for k, v in arguments.items()}
        function = {"name": name, "arguments": json.dumps(given)}
        call = {"id": "call_1", "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}

    return answer


def cites(before: str, text: str) -> Answer:
    """An answer with a citation of the memory of a text."""
    return lambda messages: says(f"{before} [#{id_of(text)(messages)}].")(messages)


def id_of(text: str) -> Callable[[Messages], str]:
    """The id of a memory among those that the model was given."""

    def find(messages: Messages) -> str:
        given = "\n".join(str(message["content"]) for message in messages)
        [id] = {*re.findall(rf'^\[\d+\] id "(\S+)"[^\n]*\n    {re.escape(text)}$', given, re.M)}
        return id

    return find


def step(answer: Answer) -> Callable[[Handler, dict[str, Any]], None]:
    def reply(handler: Handler, body: dict[str, Any]) -> None:
        handler.reply(200, {"choices": [{"message": answer(body["messages"])}]})

    return reply


class Companion:
    """Sessions of one user: what is typed, what the model answers, what is printed."""

    def __init__(self, endpoint: Server, db: str, module: str = "companion") -> None:
        self.endpoint, self.db, self.module = endpoint, db, module

    def session(self, name: str, *typed: str, answers: list[Answer], user: str = "Ana") -> str:
        """The lines that a process prints."""
        self.endpoint.script += [step(answer) for answer in answers]
        options = ["--user", user, "--db", self.db, "--session", name, "--model", "scripted"]
        ran = subprocess.run(
            [commands() / "python-m", self.module, *options],
            input="".join(f"{line}\n" for line in typed),
            cwd=EXAMPLES,
            env={
                **os.environ,
                "PATH": f"{commands()}{os.pathsep}{os.environ['PATH']}",
                "OPENAI_BASE_URL": self.endpoint.url,
                "OPENAI_API_KEY": "key",
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert ran.returncode == (0 if answers else 1), ran.stderr
        assert not self.endpoint.script
        return ran.stdout or ran.stderr

    def asked(self, request: int = -1) -> Messages:
        """The messages of a request."""
        messages: Messages = self.endpoint.seen[request][2]["messages"]
        return messages


def test_it_remembers_corrects_itself_and_names_its_sources(
    endpoint: Server, tmp_path: Path
) -> None:
    companion = Companion(endpoint, str(tmp_path / "memory.db"))
    printed = companion.session(
        "monday",
        "I live in Porto, by the way.",
        answers=[calls("remember", fact="Ana lives in Porto."), says("Noted.")],
    )
    assert printed == "Noted.\n"
    path, headers, body = endpoint.seen[0]
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == "Bearer key"
    names = [tool["function"]["name"] for tool in body["tools"]]
    assert names == ["remember", "recall", "correct", "forget"]
    assert "You are a companion who remembers Ana" in companion.asked(0)[0]["content"]
    assert companion.asked(0)[1]["content"] == "I live in Porto, by the way."
    assert companion.asked(1)[-1]["content"].startswith("added: ")

    companion.session(
        "friday",
        "No, I live in Lisbon now.",
        answers=[
            calls("recall", question="Where does Ana live?"),
            calls("correct", id=id_of("Ana lives in Porto."), fact="Ana lives in Lisbon."),
            says("I have corrected it."),
        ],
    )
    recalled = companion.asked(2)[1]["content"]
    assert recalled.startswith("<recalled-memories>")
    assert 'said by "Ana"' in recalled
    assert 'source "session monday"' in recalled
    assert recalled.endswith("No, I live in Lisbon now.")
    assert companion.asked(4)[-1]["content"].startswith("supersedes: ")

    printed = companion.session(
        "sunday", "Where do I live?", answers=[cites("In Lisbon", "Ana lives in Lisbon.")]
    )
    assert "    Ana lives in Porto." not in companion.asked()[1]["content"]
    answered, source = printed.splitlines()
    assert answered == "In Lisbon [1]."
    assert re.fullmatch(
        r'  \[1\] Ana on \d{4}-\d\d-\d\d, session friday: "Ana lives in Lisbon\."', source
    )
    with Memory(companion.db, namespace="Ana") as memory:
        facts = {r.content: r.status for r in memory.iterate({"kind": "fact"})}
        assert facts == {"Ana lives in Porto.": "superseded", "Ana lives in Lisbon.": "active"}
        assert memory.count({"kind": "turn", "session_id": "sunday"}) == 2


def test_it_forgets_and_cites_nothing_that_is_not_there(endpoint: Server, tmp_path: Path) -> None:
    companion = Companion(endpoint, str(tmp_path / "memory.db"))
    companion.session(
        "monday",
        "My PIN hint is the cat.",
        answers=[calls("remember", fact="Ana's PIN hint is the cat."), says("Noted.")],
    )
    printed = companion.session(
        "friday",
        "Forget the hint.",
        "What is it?",
        answers=[
            calls("forget", id=id_of("Ana's PIN hint is the cat.")),
            says("It is deleted [#nothing]."),
            says("I do not know."),
        ],
    )
    assert companion.asked(3)[-1]["content"] == "deleted"
    assert printed.splitlines() == ["It is deleted [no such memory].", "I do not know."]
    with Memory(companion.db, namespace="Ana") as memory:
        assert memory.count({"kind": "fact"}) == 0


def test_the_model_learns_what_was_wrong_with_a_call(endpoint: Server, tmp_path: Path) -> None:
    companion = Companion(endpoint, str(tmp_path / "memory.db"))
    broken = {"id": "c", "type": "function", "function": {"name": "recall", "arguments": "{"}}
    companion.session(
        "monday",
        "Hello.",
        answers=[
            lambda _: {"role": "assistant", "tool_calls": [broken]},
            calls("fly"),
            calls("recall"),
            calls("remember", fact=" "),
            calls("correct", id="x", fact="Ana flies."),
            calls("forget", id="x"),
            says("Hello."),
        ],
    )
    results = [message["content"] for message in companion.asked() if message["role"] == "tool"]
    parts = ["not JSON", "no tool fly", "question", "content: is empty", "memory x", "memory x"]
    assert len(results) == len(parts)
    for result, part in zip(results, parts, strict=True):
        assert part in result


def test_over_mcp_it_remembers_and_corrects_itself(endpoint: Server, tmp_path: Path) -> None:
    companion = Companion(endpoint, str(tmp_path / "memory.db"), "companion.over_mcp")
    companion.session(
        "monday",
        "I moved.",
        answers=[calls("add_memory", content="Ana lives in Porto.", kind="fact"), says("Noted.")],
    )
    names = {tool["function"]["name"] for tool in endpoint.seen[0][2]["tools"]}
    assert {"add_memory", "search_memories", "update_memory", "delete_memory"} <= names
    old = id_of("Ana lives in Porto.")
    printed = companion.session(
        "friday",
        "No, I live in Lisbon now.",
        "Where do I live?",
        answers=[
            calls("add_memory", content="Ana lives in Lisbon.", kind="fact", supersedes=old),
            says("I have corrected it."),
            cites("In Lisbon", "Ana lives in Lisbon."),
        ],
    )
    assert 'source "session monday"' in companion.asked(2)[1]["content"]
    corrected, answered, source = printed.splitlines()
    assert (corrected, answered) == ("I have corrected it.", "In Lisbon [1].")
    assert re.fullmatch(
        r'  \[1\] Ana on \d{4}-\d\d-\d\d, session friday: "Ana lives in Lisbon\."', source
    )


def test_it_tells_what_is_wrong_with_the_endpoint(endpoint: Server, tmp_path: Path) -> None:
    companion = Companion(endpoint, str(tmp_path / "memory.db"))
    endpoint.script.append(lambda handler, _: handler.reply(404, {"error": "no such model"}))
    assert "refuses: 404" in companion.session("monday", "Hello.", answers=[])


def test_its_memory_may_be_at_a_server(endpoint: Server, tmp_path: Path) -> None:
    with real_server(tmp_path / "served.db") as server:
        companion = Companion(endpoint, server.url)
        companion.session("monday", "I am allergic to nuts.", answers=[says("Noted.")])
        companion.session("friday", "What am I allergic to?", answers=[says("To nuts.")])
    assert "    I am allergic to nuts." in companion.asked()[1]["content"]


def test_another_user_finds_nothing(endpoint: Server, tmp_path: Path) -> None:
    companion = Companion(endpoint, str(tmp_path / "memory.db"))
    companion.session("monday", "My secret is blue.", answers=[says("Noted.")])
    companion.session("friday", "What is the secret?", answers=[says("I do not know.")], user="Ben")
    assert companion.asked()[1]["content"] == "What is the secret?"
