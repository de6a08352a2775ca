"""The memory tool: what the model is told, beside the tool of the SDK that keeps files."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest
from anthropic import Anthropic, AsyncAnthropic
from anthropic.lib.tools import ToolError
from anthropic.lib.tools._beta_builtin_memory_tool import BetaLocalFilesystemMemoryTool
from hypothesis import given, settings
from hypothesis import strategies as st

from salience import Memory
from salience.integrations.anthropic import AsyncSalienceMemoryTool, SalienceMemoryTool
from support.real_server import real_server

HEADER = (
    "Here're the files and directories up to 2 levels deep in {}, excluding hidden items and "
    "node_modules:"
)


@pytest.fixture
def tool() -> SalienceMemoryTool:
    return SalienceMemoryTool("ram://", user_id="ana", embedder=None)


def told(tool: Any, **command: Any) -> str:
    """What the model is told, of success or failure."""
    try:
        answer = tool.call(command)
    except ToolError as problem:
        answer = problem.content
    assert isinstance(answer, str)
    return answer


def test_files_are_shown_with_numbers_and_by_ranges(tool: SalienceMemoryTool) -> None:
    path = "/memories/notes.txt"
    said = told(tool, command="create", path=path, file_text="one\ntwo\nthree\n")
    assert said == f"File created successfully at: {path}"
    head = f"Here's the content of {path} with line numbers:\n"
    assert told(tool, command="view", path=path) == (
        f"{head}     1\tone\n     2\ttwo\n     3\tthree\n     4\t"
    )
    assert told(tool, command="view", path=path, view_range=[2, 3]) == (
        f"{head}     2\ttwo\n     3\tthree"
    )
    assert told(tool, command="view", path=path, view_range=[3, -1]) == (
        f"{head}     3\tthree\n     4\t"
    )
    for wrong in ([3, 2], [9, 10], [1], [1, 2, 3]):
        assert "Invalid `view_range`" in told(tool, command="view", path=path, view_range=wrong)


def test_a_directory_is_listed_two_levels_deep_with_sizes(tool: SalienceMemoryTool) -> None:
    files = {
        "a.txt": "x" * 1536,
        "b/c.txt": "é",
        "b/d/e.txt": "12",
        ".hidden": "1",
        "node_modules/x": "1",
        "empty": "",
    }
    for path, text in files.items():
        told(tool, command="create", path=f"/memories/{path}", file_text=text)
    assert told(tool, command="view", path="/memories/").split("\n") == [
        HEADER.format("/memories"),
        "1.5K\t/memories",
        "1.5K\t/memories/a.txt",
        "4B\t/memories/b/",
        "2B\t/memories/b/c.txt",
        "2B\t/memories/b/d/",
        "0B\t/memories/empty",
    ]
    assert told(tool, command="view", path="/memories/b/d").split("\n") == [
        HEADER.format("/memories/b/d"),
        "2B\t/memories/b/d",
        "2B\t/memories/b/d/e.txt",
    ]


def test_a_file_with_too_many_lines_is_not_shown() -> None:
    tool = SalienceMemoryTool("ram://", embedder=None, limits={"text": 2_000_000})
    told(tool, command="create", path="/memories/long", file_text="x" + "\n" * 999_999)
    said = told(tool, command="view", path="/memories/long")
    assert said == "File /memories/long exceeds maximum line limit of 999,999 lines."


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            {"command": "view", "path": "/memories/no"},
            "The path /memories/no does not exist. Please provide a valid path.",
        ),
        (
            {"command": "create", "path": "/memories/d/a", "file_text": ""},
            "Error: File /memories/d/a already exists",
        ),
        (
            {"command": "str_replace", "path": "/memories/no", "old_str": "a", "new_str": "b"},
            "Error: The path /memories/no does not exist. Please provide a valid path.",
        ),
        (
            {"command": "str_replace", "path": "/memories/d", "old_str": "a", "new_str": "b"},
            "Error: The path /memories/d does not exist. Please provide a valid path.",
        ),
        (
            {"command": "str_replace", "path": "/memories/d/a", "old_str": "no", "new_str": "b"},
            "No replacement was performed, old_str `no` did not appear verbatim in /memories/d/a.",
        ),
        (
            {"command": "str_replace", "path": "/memories/d/a", "old_str": "x", "new_str": "b"},
            "No replacement was performed. Multiple occurrences of old_str `x` in lines: 1, 3. "
            "Please ensure it is unique",
        ),
        (
            {"command": "insert", "path": "/memories/no", "insert_line": 0, "insert_text": ""},
            "Error: The path /memories/no does not exist",
        ),
        (
            {"command": "insert", "path": "/memories/d/a", "insert_line": 4, "insert_text": ""},
            "Error: Invalid `insert_line` parameter: 4. It should be within the range of lines of "
            "the file: [0, 3]",
        ),
        (
            {"command": "delete", "path": "/memories/no"},
            "Error: The path /memories/no does not exist",
        ),
        (
            {"command": "rename", "old_path": "/memories/no", "new_path": "/memories/b"},
            "Error: The path /memories/no does not exist",
        ),
        (
            {"command": "rename", "old_path": "/memories/d", "new_path": "/memories/e"},
            "Error: The destination /memories/e already exists",
        ),
        (
            {"command": "delete", "path": "/memories"},
            "Error: Cannot delete the /memories directory itself",
        ),
    ],
)
def test_what_cannot_be_done_is_told_in_the_documented_words(
    tool: SalienceMemoryTool, command: dict[str, Any], said: str
) -> None:
    told(tool, command="create", path="/memories/d/a", file_text="x\ny\nx\n")
    told(tool, command="create", path="/memories/e", file_text="z")
    assert told(tool, **command) == said


@pytest.mark.parametrize(
    "command",
    [
        {"command": "view"},
        {"command": "view", "path": 3},
        {"command": "insert", "path": "/memories/a", "insert_line": "soon", "insert_text": ""},
        {"command": "create", "path": "/memories/a"},
        {"command": "create", "path": "/memories/a", "file_text": "\0"},
        {"command": "create", "path": "/memories/" + "x" * 600, "file_text": ""},
        {"command": "create", "path": "/memories/a\u200b", "file_text": ""},
        {"command": "create", "path": "/memories/a\nb", "file_text": ""},
        {"command": "burn", "path": "/memories/a"},
    ],
)
def test_a_wrong_command_is_told_and_changes_nothing(
    tool: SalienceMemoryTool, command: dict[str, Any]
) -> None:
    with pytest.raises(ToolError, match=r"^Error: "):
        tool.call(command)
    assert told(tool, command="view", path="/memories").endswith(":\n0B\t/memories")


@pytest.mark.parametrize(
    "path",
    [
        "/memories/../secret",
        "/memories/a/../../secret",
        "/memories/..",
        "/memories/..\\secret",
        "/memories/%2e%2e%2fsecret",
        "/memories/%252e%252e/secret",
        "/memoriesque/a",
        "memories/a",
        "/etc/passwd",
        "/",
        "",
    ],
)
def test_paths_outside_are_refused(tool: SalienceMemoryTool, path: str) -> None:
    for command in (
        {"command": "view", "path": path},
        {"command": "create", "path": path, "file_text": "x"},
        {"command": "rename", "old_path": "/memories/a", "new_path": path},
    ):
        told(tool, command="create", path="/memories/a", file_text="x")
        with pytest.raises(ToolError, match=r"escape /memories|start with /memories"):
            tool.call(command)
    assert told(tool, command="view", path="/memories").count("\n") == 2


# The same commands in the same order, on files of the SDK and on memories.

names = st.sampled_from(["a", "b", "c.txt", ".h"])
paths = st.lists(names, max_size=3).map(lambda parts: "/".join(("/memories", *parts)))
texts = st.lists(st.sampled_from(["x", "y", "xx", "", " "]), max_size=4).map("\n".join)
commands = st.one_of(
    st.fixed_dictionaries({"command": st.just("create"), "path": paths, "file_text": texts}),
    st.fixed_dictionaries(
        {
            "command": st.just("view"),
            "path": paths,
            "view_range": st.sampled_from([None, [1, 1], [1, -1], [2, 9]]),
        }
    ),
    st.fixed_dictionaries(
        {
            "command": st.just("str_replace"),
            "path": paths,
            "old_str": st.sampled_from(["x", "y", "xx", "\n"]),
            "new_str": texts,
        }
    ),
    st.fixed_dictionaries(
        {
            "command": st.just("insert"),
            "path": paths,
            "insert_line": st.integers(-1, 4),
            "insert_text": texts,
        }
    ),
    st.fixed_dictionaries({"command": st.just("delete"), "path": paths}),
    st.fixed_dictionaries({"command": st.just("rename"), "old_path": paths, "new_path": paths}),
)


def outcome(tool: Any, command: dict[str, Any]) -> tuple[bool, str]:
    """Whether a command was done, and what is told about it."""
    try:
        return True, tool.call(command)
    except ToolError as problem:
        return False, str(problem.content)
    except OSError:  # of files
        return False, ""


def without_empty_directories(root: Path) -> None:
    """Files have directories of their own; memories are in some only if they are there."""
    for directory in sorted(root.rglob("*"), reverse=True):
        if directory.is_dir() and not any(directory.iterdir()):
            directory.rmdir()


def comparable(text: str) -> str:
    """What both say: sizes of directories are those of the file system, and wordings differ."""
    text = re.sub(r"^[\d.]+[BKMG]\t", "", text, flags=re.MULTILINE)
    text = text.replace(" and node_modules", "").removeprefix("Error: ")
    text = text.replace(" of lines of the file:", "").removesuffix("Please provide a valid path.")
    return text.rstrip(". ")


@settings(max_examples=60)
@given(st.lists(commands, min_size=1, max_size=25))
def test_it_does_what_the_tool_of_the_sdk_does_with_files(sequence: list[dict[str, Any]]) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        files = BetaLocalFilesystemMemoryTool(str(folder))
        memories = SalienceMemoryTool("ram://", embedder=None)
        for command in sequence:
            expected_done, expected = outcome(files, command)
            without_empty_directories(folder / "memories")
            done, said = outcome(memories, command)
            if command["command"] == "view" and said.startswith("Error: Invalid `view_range`"):
                continue  # nothing would be shown
            assert done == expected_done, (command, expected, said)
            if expected and "not a file" not in expected:
                assert comparable(said) == comparable(expected), command
        memories.close()
    finally:
        shutil.rmtree(folder)


@given(
    st.lists(st.tuples(st.sampled_from(["ana", "ben", "ana/ben", "%", ""]), paths, texts)),
    st.lists(commands, max_size=8),
)
def test_nothing_of_one_user_is_seen_or_changed_by_another(
    files: list[tuple[str, str, str]], sequence: list[dict[str, Any]]
) -> None:
    with Memory("ram://", embedder=None) as memory:
        tools = {user: SalienceMemoryTool(memory, user_id=user) for user, _, _ in files}
        for user, path, text in files:
            told(tools[user], command="create", path=path, file_text=f"{text}\nkept for {user!r}")

        def everything() -> dict[str, list[str]]:
            return {
                user: [
                    record.content for record in memory.for_namespace(tool._files._memory.namespace)
                ]
                for user, tool in tools.items()
            }

        before = everything()
        stranger = SalienceMemoryTool(memory, user_id="eve")
        assert told(stranger, command="view", path="/memories").endswith(":\n0B\t/memories")
        for command in sequence:
            assert "kept for" not in told(stranger, **command)
        stranger.clear_all_memory()
        assert everything() == before


def test_a_file_is_a_memory_and_found_by_search() -> None:
    with Memory("ram://") as memory:
        tool = SalienceMemoryTool(memory, user_id="ana")
        text = "The customer wants invoices in German.\n"
        told(tool, command="create", path="/memories/customers/acme.md", file_text=text)
        ana = memory.for_namespace("ana")
        hit = ana.search("In which language are invoices?")[0]
        assert (hit.id, hit.content, hit.title) == (
            "/memories/customers/acme.md",
            text,
            "customers/acme.md",
        )
        told(
            tool,
            command="str_replace",
            path=hit.id,
            old_str="German",
            new_str="French",
        )
        assert "French" in ana.search("invoices")[0].content
        assert len(ana.history(hit.id)) >= 2
        moved = "/memories/old/acme.md"
        told(tool, command="rename", old_path="/memories/customers", new_path="/memories/old")
        assert (ana[moved].created_at, ana[moved].title) == (hit.created_at, "old/acme.md")
        assert ana.get(hit.id) is None
        tool.clear_all_memory()
        assert ana.search("invoices").ids == ()


def test_other_memories_of_the_user_are_no_files_and_stay() -> None:
    with Memory("ram://", namespace="ana", embedder=None) as memory:
        memory.add("Ana lives in Lisbon.", id="home")
        tool = SalienceMemoryTool(memory)
        assert told(tool, command="view", path="/memories").endswith(":\n0B\t/memories")
        tool.clear_all_memory()
        assert memory["home"].content == "Ana lives in Lisbon."


def test_edits_at_the_same_time_are_all_kept(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db", embedder=None) as memory:
        tool = SalienceMemoryTool(memory)
        told(tool, command="create", path="/memories/log", file_text="")
        start = Barrier(4)

        def write(name: int) -> None:
            start.wait()
            for turn in range(5):
                line = f"{name}.{turn}"
                told(tool, command="insert", path="/memories/log", insert_line=0, insert_text=line)

        threads = [Thread(target=write, args=(name,)) for name in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        lines = memory["/memories/log"].content.split()
        assert sorted(lines) == sorted(f"{name}.{turn}" for name in range(4) for turn in range(5))


# The tool runner of the SDK, against an endpoint that answers as a script says.


class Endpoint(ThreadingHTTPServer):
    """Answers each request with the next message of a script, and keeps the requests."""

    daemon_threads = True

    def __init__(self, script: list[dict[str, Any] | str]) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.script, self.requests = script, list[dict[str, Any]]()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def results(self) -> list[tuple[str, bool]]:
        """What the model was told of each of its calls, and whether as an error.

        Each request continues the thread of the one before, and has new messages only.
        """
        blocks = [
            block
            for request in self.requests
            for message in request["messages"]
            if isinstance(message["content"], list)
            for block in message["content"]
            if block["type"] == "tool_result"
        ]
        return [(block["content"], block.get("is_error", False)) for block in blocks]


class _Answering(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(body)
        step = self.server.script[len(self.server.requests) - 1]
        if isinstance(step, str):
            content: dict[str, Any] = {"type": "text", "text": step}
        else:
            call = f"toolu_{len(self.server.requests)}"
            content = {"type": "tool_use", "id": call, "name": "memory", "input": step}
        answer = {
            "id": f"msg_{len(self.server.requests)}",
            "type": "message",
            "role": "assistant",
            "model": "scripted",
            "content": [content],
            "stop_reason": "end_turn" if isinstance(step, str) else "tool_use",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
        raw = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    script: list[dict[str, Any] | str] = [
        {"command": "view", "path": "/memories"},
        {"command": "create", "path": "/memories/ana.md", "file_text": "Ana likes tea.\n"},
        {
            "command": "str_replace",
            "path": "/memories/ana.md",
            "old_str": "tea",
            "new_str": "coffee",
        },
        {"command": "view", "path": "/memories/../etc/passwd"},
        {"command": "view", "path": "/memories/ana.md"},
        "She likes coffee.",
    ]
    server = Endpoint(script)
    Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


TOLD = [
    (f"{HEADER.format('/memories')}\n0B\t/memories", False),
    ("File created successfully at: /memories/ana.md", False),
    (
        "The memory file has been edited. Here is the snippet showing the change (with line "
        "numbers):\n     1\tAna likes coffee.\n     2\t",
        False,
    ),
    ("Error: Path /memories/../etc/passwd would escape /memories directory", True),
    (
        "Here's the content of /memories/ana.md with line numbers:\n     1\tAna likes coffee."
        "\n     2\t",
        False,
    ),
]
ASKED: dict[str, Any] = {
    "model": "scripted",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "What does Ana like?"}],
}


def test_the_runner_hands_the_model_what_the_tool_says(endpoint: Endpoint) -> None:
    client = Anthropic(api_key="none", base_url=endpoint.url)
    tool = SalienceMemoryTool("ram://", user_id="ana", cache_control={"type": "ephemeral"})
    answer = client.beta.messages.tool_runner(**ASKED, tools=[tool]).until_done()
    assert answer.content[0].text == "She likes coffee."
    assert endpoint.results == TOLD
    assert endpoint.requests[0]["tools"] == [
        {"type": "memory_20250818", "name": "memory", "cache_control": {"type": "ephemeral"}}
    ]


def test_the_awaited_runner_does_the_same_over_a_server(endpoint: Endpoint, tmp_path: Path) -> None:
    async def main(url: str) -> str:
        tool = AsyncSalienceMemoryTool(url, user_id="ana")
        client = AsyncAnthropic(api_key="none", base_url=endpoint.url)
        answer = await client.beta.messages.tool_runner(**ASKED, tools=[tool]).until_done()
        await tool.aclose()
        text: str = answer.content[0].text
        return text

    with real_server(tmp_path / "m.db") as server:
        assert asyncio.run(main(server.url)) == "She likes coffee."
        with Memory(server.url, namespace="ana") as memory:
            assert memory.search("coffee").ids == ("/memories/ana.md",)
    assert endpoint.results == TOLD
