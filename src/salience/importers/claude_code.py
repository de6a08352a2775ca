"""Conversations with Claude Code: one transcript, or folders of them (~/.claude/projects)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from salience.importers._entries import imported, mapping
from salience.importers._source import ImportProblem, Item, clean, inside, lines, moment, parsed

_TYPES = ("user", "assistant")
_HIDDEN = ("isMeta", "isSidechain", "isCompactSummary", "teamName")
_LOOKED_AT = 20  # lines
_TITLES = ("customTitle", "aiTitle")  # the better one first
_NOISE = re.compile(r"<(system-reminder|ide_opened_file|ide_selection)>.*?</\1>", re.DOTALL)
_COMMAND = re.compile(r"<(?:command-|local-command-|session-start-hook>|tick>|bash-)")
_BROKEN_OFF = re.compile(r"\[Request interrupted by user[^\]]*\]")


def read(path: Path) -> Iterator[Item]:
    """Yield what the user and the assistant said, session by session.

    Calls of tools and their results, thoughts, commands, reminders, the work of subagents and the
    summaries of compacted sessions are left out. A message that a resumed session repeats is
    yielded once.

    Raises:
        ImportProblem: there is no transcript, or a line is no JSON object.
    """
    files = sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]
    if not files:
        raise ImportProblem(path, "holds no transcripts", "give a folder with .jsonl files")
    seen: set[str] = set()
    for file in files:
        for item in _session(inside(file, path)):
            if item["id"] not in seen:
                seen.add(item["id"])
                yield item


def is_transcript(path: Path) -> bool:
    """Test whether one of the first lines of a file is of a transcript."""
    try:
        return any(_is_entry(parsed(path, line)) for _, line in islice(lines(path), _LOOKED_AT))
    except ImportProblem:
        return False


def _is_entry(entry: Any) -> bool:
    return isinstance(entry, dict) and "type" in entry and "sessionId" in entry and "uuid" in entry


def _session(file: Path) -> Iterator[Item]:
    titles: dict[str, str] = {}
    entries = []
    for number, line in lines(file):
        if not line.strip():
            continue
        entry = parsed(file, line, line=number)
        if not isinstance(entry, dict):
            raise ImportProblem(file, "not a JSON object", "repair or remove the line", line=number)
        titles |= {key: entry[key] for key in _TITLES if isinstance(entry.get(key), str)}
        entries.append((number, entry))
    title = next((titles[key] for key in _TITLES if key in titles), None)
    for number, entry in entries:
        content = _content(entry)
        if content and isinstance(entry.get("uuid"), str) and clean(entry["uuid"]):
            message = mapping(entry["message"])
            yield imported(
                "claude-code",
                f"line {number}",
                {
                    "id": entry["uuid"],
                    "content": content,
                    "kind": "turn",
                    "speaker": entry["type"],
                    "session_id": str(entry.get("sessionId") or file.stem),
                    "title": clean(title) if title else None,
                    "created_at": moment(entry.get("timestamp")),
                    "metadata": {
                        "project": entry.get("cwd") or "",
                        "branch": entry.get("gitBranch") or "",
                        "model": message.get("model") or "",
                    },
                },
            )


def _content(entry: dict[str, Any]) -> str:
    """The words of an entry; empty for one that is no part of the conversation."""
    if entry.get("type") not in _TYPES or any(entry.get(mark) for mark in _HIDDEN):
        return ""
    content = mapping(entry.get("message")).get("content")
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    texts = (
        block["text"]
        for block in blocks
        if isinstance(block, dict)
        and block.get("type") == "text"
        and isinstance(block.get("text"), str)
    )
    said = clean(_NOISE.sub("", "\n\n".join(texts)))
    return "" if _COMMAND.match(said) or _BROKEN_OFF.fullmatch(said) else said
