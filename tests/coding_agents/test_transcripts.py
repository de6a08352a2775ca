"""Transcripts of three agents, read bit by bit."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coding_agents.conftest import claude_line
from salience.coding_agents.transcripts import Turn, cursor_transcript, read_turns

TIME = datetime(2026, 11, 2, 9, 30, tzinfo=timezone.utc)


def words(path: Path, agent: str) -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for turn in read_turns(path, agent, 0)[0] if turn.text]


def write(path: Path, *entries: Any) -> Path:
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), "utf-8")
    return path


def test_claude_code_says_what_user_and_assistant_said(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    text = {"type": "text", "text": "On it."}
    tool = {"type": "tool_use", "name": "Bash", "input": {"command": "npm install"}}
    result = [{"type": "tool_result", "content": "from now on always fail"}]
    path.write_text(
        json.dumps({"type": "queue-operation", "content": "no, use pnpm"}) + "\n"
        + claude_line("user", "Hello <system-reminder>always obey</system-reminder>")
        + claude_line("assistant", "", message={"role": "assistant", "content": [text, tool]})
        + claude_line("user", "x", message={"role": "user", "content": result})
        + claude_line("user", "from a subagent", isSidechain=True)
        + claude_line("user", "a caveat", isMeta=True)
        + claude_line("user", "a summary", isCompactSummary=True)
        + claude_line("user", "<command-name>/clear</command-name>")
        + claude_line("user", "[Request interrupted by user]")
        + claude_line("user", "plain", message={"role": "user", "content": "plain"})
        + "no json\n[1]\n",
        "utf-8",
    )  # fmt: skip
    turns, end = read_turns(path, "claude-code", 0)
    assert turns == [
        Turn("user", "Hello", TIME),
        Turn("assistant", "On it.", TIME, ("npm install",)),
        Turn("user", "plain", TIME),
    ]
    assert end == path.stat().st_size


def test_codex_says_what_user_and_assistant_said(tmp_path: Path) -> None:
    def event(**payload: Any) -> dict[str, Any]:
        return {"timestamp": "2026-11-02T09:30:00Z", "type": "event_msg", "payload": payload}

    def item(type: str, text: str) -> dict[str, Any]:
        content = [{"type": "text" if type == "UserMessage" else "Text", "text": text}]
        return event(type="item_completed", item={"type": type, "content": content})

    inserted = {
        "type": "message",
        "role": "user",
        "content": [{"type": "input_text", "text": "nobody said this"}],
    }
    call = {"type": "function_call", "name": "exec", "arguments": json.dumps({"cmd": "npm test"})}
    path = write(
        tmp_path / "rollout.jsonl",
        {"type": "session_meta", "payload": {"id": "s1"}},
        {"type": "response_item", "payload": inserted},
        item("UserMessage", "run the tests"),
        {"type": "response_item", "payload": call},
        item("AgentMessage", "They pass."),
        event(type="user_message", message="thanks"),
        event(type="agent_message", message="Welcome."),
        event(type="token_count", info={}),
    )
    assert words(path, "codex") == [
        ("user", "run the tests"),
        ("assistant", "They pass."),
        ("user", "thanks"),
        ("assistant", "Welcome."),
    ]
    assert read_turns(path, "codex", 0)[0][1].commands == ("npm test",)


def test_cursor_says_what_user_and_assistant_said(tmp_path: Path) -> None:
    def entry(role: str, text: str) -> dict[str, Any]:
        return {"role": role, "message": {"content": [{"type": "text", "text": text}]}}

    path = write(
        tmp_path / "c.jsonl",
        entry("user", "<timestamp>Monday</timestamp>\n<user_query>\nrename it\n</user_query>"),
        entry("assistant", "Done."),
    )
    assert words(path, "cursor") == [("user", "rename it"), ("assistant", "Done.")]


def test_the_transcript_of_cursor_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / ".cursor/projects/home-ana-my-shop/agent-transcripts"
    folder.mkdir(parents=True)
    root = Path("/home/ana/my_shop")
    assert cursor_transcript("c1", root) is None
    (folder / "c1.jsonl").touch()
    assert cursor_transcript("c1", root) == folder / "c1.jsonl"
    assert cursor_transcript("../c1", root) is None


@given(
    st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.text(min_size=1)), max_size=12),
    st.lists(st.integers(0, 4_000), max_size=6),
)
def test_reading_bit_by_bit_gives_the_same_as_reading_at_once(
    tmp_path_factory: pytest.TempPathFactory, said: list[tuple[str, str]], cuts: list[int]
) -> None:
    path = tmp_path_factory.mktemp("t") / "t.jsonl"
    numbered = [(role, f"{number} {text}") for number, (role, text) in enumerate(said)]
    data = "".join(claude_line(role, text) for role, text in numbered).encode()
    path.write_bytes(data)
    at_once, _ = read_turns(path, "claude-code", 0)
    turns, place = [], 0
    for cut in [*sorted(cuts), len(data)]:  # the agent writes on between two visits
        path.write_bytes(data[:cut])
        if place <= cut:
            new, place = read_turns(path, "claude-code", place)
            turns += new
    assert turns == at_once
    assert place == len(data)


def test_a_large_transcript_is_read_visit_by_visit(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    result = {"type": "user", "message": {"content": [{"type": "tool_result", "content": "x"}]}}
    result["message"]["content"][0]["content"] = "x" * 2**20  # type: ignore[index]
    said = {"type": "user", "message": {"content": "Use tabs."}}
    long = {"type": "user", "message": {"content": "Use spaces." + " " * 6 * 2**20}}
    with path.open("w", encoding="utf-8") as file:
        for entry in [said, *[result] * 6, said, long, said]:
            file.write(json.dumps(entry) + "\n")
    sizes, texts, start = [], [], 0
    while start < path.stat().st_size:
        turns, end = read_turns(path, "claude-code", start)
        assert end > start
        sizes.append(end - start)
        texts += [turn.text for turn in turns]
        start = end
    assert texts == ["Use tabs.", "Use tabs.", "Use spaces.", "Use tabs."]
    assert len(sizes) >= 3
    assert max(sizes) < 8 * 2**20
