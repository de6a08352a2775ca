"""The events of coding agents, in one form, and what each agent takes for an answer."""

from __future__ import annotations

import json
import logging
import os
import traceback
from collections.abc import Mapping
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

from salience.coding_agents.paths import HOME_VARIABLES, make_private, state_folder
from salience.coding_agents.project import PROJECT_FOLDER_VARIABLE
from salience.coding_agents.transcripts import cursor_transcript, own_words
from salience.errors import InvalidInput
from salience.lazily import dataclass

_CLAUDE_NAMES = {"session-start": "SessionStart", "prompt": "UserPromptSubmit"}
_FORGOTTEN_AFTER = ("clear", "compact")  # sources of a start whose context lost what was told


@dataclass(frozen=True)
class HookEvent:
    """An event of an agent: its name, the agent, the folder, and the words that came with it."""

    name: str
    agent: str
    session: str
    folder: str
    transcript: Path | None = None
    prompt: str = ""
    reply: str = ""
    starts_anew: bool = False

    @classmethod
    def of(cls, message: Mapping[str, Any]) -> HookEvent:
        """The event of a request.

        Raises:
            InvalidInput: the agent's input is not a JSON object.
        """
        try:
            values = json.loads(message["input"] or "{}")
        except (ValueError, RecursionError):
            values = None
        if not isinstance(values, dict):
            raise InvalidInput(
                "standard input", "is not a JSON object", "give the event of the agent"
            )
        agent = message["agent"] or _agent_of(values)
        environment = message["environment"]
        roots = values.get("workspace_roots")
        folder = (
            _text(values, "cwd")
            or (roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else "")
            or environment.get(PROJECT_FOLDER_VARIABLE)
            or environment.get("CURSOR_PROJECT_DIR")
            or message["cwd"]
        )
        session = _text(values, "session_id") or _text(values, "conversation_id") or "unknown"
        path = _text(values, "transcript_path")
        transcript = Path(path) if path else None
        if transcript is None and agent == "cursor":
            transcript = cursor_transcript(session, Path(folder))
        return cls(
            name=message["event"],
            agent=agent,
            session=session,
            folder=folder,
            transcript=transcript if transcript and _is_own(transcript, environment) else None,
            prompt=own_words("user", _text(values, "prompt")),
            reply=own_words("assistant", _text(values, "last_assistant_message")),
            starts_anew=values.get("source") in _FORGOTTEN_AFTER,
        )

    def answer(self, text: str) -> str:
        """The standard output of the hook by which the agent takes a text as context."""
        if not text:
            return ""
        if self.agent == "cursor":
            answer: dict[str, Any] = {"additional_context": text}
            if self.name == "prompt":
                answer["continue"] = True
            return json.dumps(answer)
        name = _CLAUDE_NAMES[self.name]
        return json.dumps(
            {"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}}
        )


def _is_own(transcript: Path, environment: Mapping[str, str]) -> bool:
    """Test whether a transcript is a file in the user's home, or in a folder set for an agent."""
    folders = [Path.home(), *(Path(environment[n]) for n in HOME_VARIABLES if n in environment)]
    path = transcript.resolve()
    return path.is_file() and any(path.is_relative_to(each.resolve()) for each in folders)


def _agent_of(values: Mapping[str, Any]) -> str:
    if "cursor_version" in values or "conversation_id" in values:
        return "cursor"
    return "codex" if "turn_id" in values or "model" in values else "claude-code"


def _text(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    return value if isinstance(value, str) else ""


# The log of the hooks: the request, its outcome, how long it took; never a text

_MAX_BYTES = 500_000
_logger = logging.getLogger("salience.hooks")


def log_path() -> str:
    """The file of the log; the one before it ends in .1."""
    return os.path.join(state_folder(), "hooks.log")


def open_log() -> None:
    """Let this process write to the log."""
    if not _logger.handlers:
        make_private(state_folder())
        handler = RotatingFileHandler(
            log_path(), maxBytes=_MAX_BYTES, backupCount=1, encoding="utf-8", delay=True
        )
        handler.setFormatter(logging.Formatter("%(asctime)s %(process)d %(message)s"))
        _logger.addHandler(handler)
        _logger.setLevel(logging.INFO)
        _logger.propagate = False


def log_event(event: str, **values: object) -> None:
    """Write one line: an event, and numbers or names of it."""
    _logger.info("%s %s", event, " ".join(f"{name}={value}" for name, value in values.items()))


def log_failure(event: str, problem: BaseException) -> None:
    """Write where a failure came from; not its message, which may quote a text."""
    frames = traceback.extract_tb(problem.__traceback__)
    places = " < ".join(f"{frame.name}:{frame.lineno}" for frame in reversed(frames[-6:]))
    _logger.info("%s failed %s at %s", event, type(problem).__name__, places)
