"""Transcripts of coding agents: JSON lines; the words of user and assistant are read.

What tools wrote, what the agent's program put into a user's turn, and what a subagent said is no
part of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from salience.closing import regular_file
from salience.display.for_models import spoken, whole
from salience.lazily import dataclass, regex

Role = Literal["user", "assistant"]

_READ_BYTES = 4 * 2**20  # of one visit, in well under a second; the next one reads on
_MAX_READ_BYTES = 16 * 2**20  # of one line
_MAX_COMMAND_CHARACTERS = 200
# What programs put into the turn of a user, beside the user's words.
_INSERTED = regex(
    r"<(system-reminder|command-name|command-message|command-args|command-contents"
    r"|local-command-stdout|local-command-stderr|local-command-caveat|bash-input|bash-stdout"
    r"|bash-stderr|environment_context|user_instructions|recalled-memories|timestamp"
    r"|ide_opened_file|ide_selection|task-notification|open_and_recently_viewed_files"
    r"|attached_files|turn_aborted|skill)\b[^>]*>.*?</\1>",
    re.S,
)
_QUERY = regex(r"</?user_query>")
_INTERRUPTED = "[Request interrupted"


@dataclass(frozen=True)
class Turn:
    """The words of one turn, when they were said, and the commands that the assistant ran."""

    role: Role
    text: str
    said_at: datetime | None = None
    commands: tuple[str, ...] = ()


def read_turns(
    path: Path, agent: str, start: int, end: int | None = None
) -> tuple[list[Turn], int]:
    """The turns of a transcript from a byte on, and the byte after the last whole line.

    Lines that are not JSON, or of another form, are passed over.

    Raises:
        OSError: the file cannot be read.
    """
    with regular_file(path) as file:
        file.seek(start)
        data = file.read(_READ_BYTES if end is None else end - start)
        if end is None and b"\n" not in data:
            data += file.read(_MAX_READ_BYTES - len(data))
    complete = data[: data.rfind(b"\n") + 1]
    if not complete and len(data) == _MAX_READ_BYTES:
        return [], start + len(data)  # one line of more than that
    reader = _READERS.get(agent, _claude_code)
    turns: list[Turn] = []
    for line in complete.splitlines():
        for turn in _of_line(line, reader):
            if not turns or turn != turns[-1]:
                turns.append(turn)
    return turns, start + len(complete)


def cursor_transcript(session: str, root: Path) -> Path | None:
    """The transcript of a session of Cursor, which does not always tell; None if there is none."""
    name = re.sub(r"[^A-Za-z0-9]", "-", str(root).lstrip("/"))
    folder = Path.home() / ".cursor" / "projects" / name / "agent-transcripts"
    if not re.fullmatch(r"[\w-]+", session):
        return None
    paths = (folder / f"{session}.jsonl", folder / session / f"{session}.jsonl")
    return next((path for path in paths if path.is_file()), None)


def _of_line(line: bytes, reader: Callable[[Mapping[str, Any]], Iterator[Turn]]) -> Iterator[Turn]:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return
    if isinstance(entry, dict):
        for turn in reader(entry):
            if turn.text or turn.commands:
                yield turn


def _claude_code(entry: Mapping[str, Any]) -> Iterator[Turn]:
    """Entries like {"type": "user", "message": {"role", "content"}, "timestamp", ...}."""
    role = _role(entry.get("type"))
    message = entry.get("message")
    set_apart = ("isMeta", "isSidechain", "isCompactSummary", "isVisibleInTranscriptOnly")
    if role is None or not isinstance(message, dict) or any(map(entry.get, set_apart)):
        return
    said_at, content = _time(entry.get("timestamp")), message.get("content")
    yield Turn(role, _words(role, content), said_at, _commands(content))


def _cursor(entry: Mapping[str, Any]) -> Iterator[Turn]:
    """Entries like {"role": "user", "message": {"content": [{"type": "text", "text"}]}}."""
    role, message = _role(entry.get("role")), entry.get("message")
    if role is not None and isinstance(message, dict):
        content = message.get("content")
        yield Turn(role, _words(role, content), _time(entry.get("timestamp")), _commands(content))


def _codex(entry: Mapping[str, Any]) -> Iterator[Turn]:
    """Entries like {"type": "event_msg", "payload": {"type": "user_message", "message"}}.

    The items of the model's protocol hold the same words, and others that nobody said.
    """
    payload, said_at = entry.get("payload"), _time(entry.get("timestamp"))
    if not isinstance(payload, dict):
        return
    if entry.get("type") == "response_item" and payload.get("type") == "function_call":
        command = _command_of_codex(payload.get("arguments"))
        yield Turn("assistant", "", said_at, (command,) if command else ())
    if entry.get("type") != "event_msg":
        return
    kind, content = payload.get("type"), payload.get("message")
    item = payload.get("item")
    if kind == "item_completed" and isinstance(item, dict):
        kind, content = item.get("type"), item.get("content")
    role = _CODEX_ROLES.get(str(kind))
    if role is not None:
        yield Turn(role, _words(role, content), said_at)


_CODEX_ROLES: Mapping[str, Role] = {
    "user_message": "user",
    "UserMessage": "user",
    "agent_message": "assistant",
    "AgentMessage": "assistant",
}
_READERS = {"claude-code": _claude_code, "codex": _codex, "cursor": _cursor}


def _role(value: Any) -> Role | None:
    return value if value in ("user", "assistant") else None


def _words(role: Role, content: Any) -> str:
    """The text of a turn, as its author wrote it."""
    return own_words(role, "\n\n".join(spoken(content)))


def own_words(role: Role, text: str) -> str:
    """The text without what a program put into it."""
    text = whole(text)
    if role == "user":
        text = _QUERY.sub("", _INSERTED.sub("", text))
        if text.lstrip().startswith(_INTERRUPTED):
            return ""
    return text.strip()


def _commands(content: Any) -> tuple[str, ...]:
    """The commands of the shell that an assistant's turn runs."""
    blocks = content if isinstance(content, list) else []
    inputs = [
        block.get("input")
        for block in blocks
        if isinstance(block, dict) and block.get("type") == "tool_use"
    ]
    commands = [each.get("command") for each in inputs if isinstance(each, dict)]
    return tuple(whole(c[:_MAX_COMMAND_CHARACTERS]) for c in commands if isinstance(c, str))


def _command_of_codex(arguments: Any) -> str:
    try:
        values = json.loads(arguments)
    except (TypeError, ValueError, RecursionError):
        return ""
    command = values.get("cmd", values.get("command")) if isinstance(values, dict) else None
    if isinstance(command, list) and command:
        command = command[-1]  # of ["bash", "-lc", "pnpm install"]
    return whole(command[:_MAX_COMMAND_CHARACTERS]) if isinstance(command, str) else ""


def _time(value: Any) -> datetime | None:
    """An aware time, None for anything else."""
    try:
        time = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return time if time.tzinfo is not None else None
