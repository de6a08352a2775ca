"""Sessions of coding agents: what these keep of them on the machine."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from salience.importers import _archives
from salience.importers._entries import PLACE, documents, mapping
from salience.importers._source import Job, Place, clean
from salience.importers.shapes import Entry, Shape, at, decoded, dicts, lines_of, role, said, turns
from salience.lazily import regex

_SAID = ("user", "assistant")


_NOISE = regex(r"<(system-reminder|ide_opened_file|ide_selection)>.*?</\1>", re.DOTALL)


_COMMAND = regex(r"<(?:command-|local-command-|session-start-hook>|tick>|bash-)")


_BROKEN_OFF = regex(r"\[Request interrupted by user[^\]]*\]")


_TITLES = ("customTitle", "aiTitle")  # the better one first


_CODEX_CONTEXT = regex(
    r"\s*(?:<(?:environment_context|user_instructions|permissions|turn_aborted|INSTRUCTIONS)"
    r"|# AGENTS\.md instructions)"
)


def _of_claude_code(place: Place, document: Any, job: Job) -> Iterator[Entry]:
    lines = lines_of(place, document, job)
    ids = {str(entry.get("uuid")) for entry in lines}
    titles: dict[str, Any] = {}
    for entry in lines:
        titles |= {key: entry[key] for key in _TITLES if isinstance(entry.get(key), str)}
        if entry.get("type") == "summary" and entry.get("leafUuid") in ids:
            titles["summary"] = entry.get("summary")
    title = next((titles[key] for key in (*_TITLES, "summary") if key in titles), None)
    yield turns({"title": title}, map(_with_queued, lines))


def _with_queued(entry: Entry) -> Entry:
    """An entry of a transcript; a prompt that was typed while the agent worked is the user's."""
    queued = mapping(entry.get("attachment"))
    if queued.get("type") != "queued_command" or queued.get("commandMode", "prompt") != "prompt":
        return entry
    return {**entry, "type": "user", "message": {"content": queued.get("prompt")}}


def _claude_code_text(content: Any) -> str:
    blocks = content if isinstance(content, list) else [content]
    words = clean(_NOISE.sub("", said(blocks)))
    return "" if _COMMAND.match(words) or _BROKEN_OFF.fullmatch(words) else words


def _of_codex(place: Place, document: Any, job: Job) -> Iterator[Entry]:
    """Sessions of the three ages of rollouts: with payloads, of bare items, and of one document."""
    if isinstance(document, dict) and "items" in document:
        yield turns(mapping(document.get("session")), dicts(document["items"]))
        return
    lines = lines_of(place, document, job)
    first = lines[0] if lines else {}
    meta = [each for each in lines if each.get("type") == "session_meta"]
    session = mapping(meta[0].get("payload")) if meta else first if "type" not in first else {}
    model = next((at(e, "payload.model") for e in lines if e.get("type") == "turn_context"), None)
    told_of = [{**e, **mapping(e.get("payload"))} for e in lines]
    if not any(e.get("type") == "message" for e in told_of):  # events alone
        told_of = [_codex_event(e) for e in told_of]
    yield {**turns(session, told_of), "model": model}


def _codex_event(entry: Entry) -> Entry:
    """The message of an event, if it has one."""
    speaker = {"user_message": "user", "agent_message": "assistant"}.get(str(entry.get("type")))
    if speaker is None:
        return entry
    return {**entry, "type": "message", "role": speaker, "content": entry.get("message")}


def _codex_text(content: Any) -> str:
    parts = content if isinstance(content, list) else [content]
    return said([p for p in parts if not _CODEX_CONTEXT.match(said(p))])


def _of_gemini(place: Place, document: Any, job: Job) -> Iterator[Entry]:
    """A session; of one that is written line by line, the last state of each message."""
    if isinstance(document, dict) and "messages" in document:
        yield document
        return
    session: Entry = {}
    messages: dict[str, Entry] = {}
    for entry in lines_of(place, document, job):
        if isinstance(entry.get("$rewindTo"), str):
            ids = list(messages)
            ids = ids[: ids.index(entry["$rewindTo"])] if entry["$rewindTo"] in ids else ids
            messages = {id: messages[id] for id in ids}
        elif "type" in entry and "id" in entry:
            messages[str(entry["id"])] = entry
        else:
            session |= mapping(entry.get("$set", entry))
    session.pop(PLACE, None)
    yield turns(session, [*dicts(session.get("messages")), *messages.values()])


def _of_cline(place: Place, document: Any, job: Job) -> Iterator[Entry]:
    speakers = {**dict.fromkeys(("task", "user_feedback"), "user"), "text": "assistant"}
    speakers |= dict.fromkeys(("completion_result", "plan_mode_respond", "followup"), "assistant")
    messages = []
    for entry in dicts(document):
        speaker = speakers.get(str(entry.get("say") or entry.get("ask")))
        if speaker and not entry.get("partial") and isinstance(entry.get("text"), str):
            messages.append({**entry, "speaker": speaker, "text": _cline_text(entry["text"])})
    name = place.parent.name if isinstance(place, Path) else ""
    first = str(messages[0]["ts"]) if messages and "ts" in messages[0] else None
    # A file that lies in the folder of its task goes by the name of that.
    yield turns({"id": name if first and name.isdigit() else first}, messages)


def _cline_text(source: str) -> str:
    """The words of a message, which for questions and plans are within JSON."""
    with suppress(ValueError, RecursionError):
        packed = mapping(json.loads(source))
        source = next((packed[k] for k in ("response", "question") if k in packed), source)
    return source if isinstance(source, str) else ""


def _of_cursor(place: Place, job: Job, gathered: bool) -> Iterator[tuple[str, Any]]:
    """Chats of the editor; newer ones keep each message under a key of its own."""
    assert isinstance(place, Path)
    for table in ("cursorDiskKV", "ItemTable"):
        if table not in _archives.columns(place):
            continue
        select = f"SELECT key, value FROM {table} WHERE "
        bubbles = {
            row["key"]: decoded(row["value"])
            for row in _archives.rows(place, f"{select} key LIKE 'bubbleId:%'")
        }
        for row in _archives.rows(place, f"{select} key LIKE 'composerData:%' ORDER BY key"):
            chat = mapping(decoded(row["value"]))
            id = str(chat.get("composerId") or row["key"].partition(":")[2])
            heads = dicts(chat.get("fullConversationHeadersOnly")) or dicts(
                chat.get("conversation")
            )
            messages = [
                {**head, **mapping(bubbles.get(f"bubbleId:{id}:{head.get('bubbleId')}"))}
                for head in heads
            ]
            yield id, {**turns(chat, messages), "composerId": id}
        old = "key LIKE 'workbench.panel.aichat.view.aichat.chatdata%'"
        for row in _archives.rows(place, select + old):
            for tab in dicts(mapping(decoded(row["value"])).get("tabs")):
                yield str(tab.get("tabId")), turns(tab, dicts(tab.get("bubbles")))


def _opencode_documents(place: Place, job: Job, gathered: bool) -> Iterator[tuple[str, Any]]:
    """Sessions of a database, of the folder "storage", or of what `opencode export` prints."""
    if not isinstance(place, Path) or (place.is_file() and not _archives.is_database(place)):
        yield from documents(place, job, gathered)
        return
    sessions: dict[str, Entry] = {}
    messages: dict[str, Entry] = {}
    kinds: Iterable[tuple[str, Iterable[Entry]]]
    if place.is_dir():
        storage = place / "storage" if (place / "storage").is_dir() else place
        kinds = ((kind, _stored(storage / kind, job)) for kind in ("session", "message", "part"))
    else:
        order = "ORDER BY time_created, id"
        kinds = (
            (k, _rows(place, f'SELECT * FROM "{k}" {order}'))
            for k in ("session", "message", "part")
        )
    for kind, stored in kinds:
        for entry in stored:
            if kind == "session":
                sessions[str(entry.get("id"))] = {"info": entry, "messages": []}
            elif kind == "message":
                message = {"info": entry, "parts": []}
                messages[str(entry.get("id"))] = message
                session = str(at(entry, "sessionID|session_id"))
                empty: Entry = {"info": {"id": session}, "messages": []}
                sessions.setdefault(session, empty)["messages"].append(message)
            elif (owner := str(at(entry, "messageID|message_id"))) in messages:
                messages[owner]["parts"].append(entry)
    yield from sessions.items()


def _stored(folder: Path, job: Job) -> Iterator[Entry]:
    for file in sorted(folder.rglob("*.json")):
        for _, document in documents(file, job):
            yield mapping(document)


def _rows(path: Path, statement: str) -> Iterator[Entry]:
    for row in _archives.rows(path, statement):
        yield {**row, **mapping(decoded(row.get("data")))}


def _opencode_text(parts: Any) -> str:
    """The text that was typed or said, without files that a prompt quotes in parts of their own."""
    return said([p for p in dicts(parts) if not p.get("synthetic") and not p.get("ignored")])


CODING = (
    Shape(
        name="claude-code",
        about="Claude Code: a transcript, or a folder of them (~/.claude/projects)",
        signs=("type sessionId uuid", "type=summary leafUuid"),
        gathered=True,
        arranged=_of_claude_code,
        messages="messages",
        shared="title",
        fields=(
            "id=uuid content=message.content speaker=type session_id=sessionId created_at=timestamp"
        ),
        values={"content": _claude_code_text},
        details="project=cwd branch=gitBranch model=message.model",
        only={"type": _SAID},
        hidden=("isMeta", "isSidechain", "isCompactSummary", "teamName"),
    ),
    Shape(
        name="codex",
        about="Codex: a rollout, or a folder of them (~/.codex/sessions)",
        signs=(
            "type payload timestamp",
            "type=session_meta|response_item|event_msg|turn_context payload",
            "record_type=state",
            "session items",
            "type=message role",
        ),
        gathered=True,
        arranged=_of_codex,
        messages="messages",
        shared="session_id=id created_at=timestamp",
        fields="id content speaker=role created_at=timestamp",
        values={"content": _codex_text},
        only={"type": ("message",), "role": _SAID},
    ),
    Shape(
        name="gemini-cli",
        about="Gemini CLI: a session, or a folder of them (~/.gemini/tmp)",
        signs=("sessionId startTime", "sessionId projectHash"),
        gathered=True,
        arranged=_of_gemini,
        messages="messages",
        shared="session_id=sessionId created_at=startTime title=summary",
        fields="id content=displayContent|content speaker=type created_at=timestamp",
        values={"speaker": role},
        details="model",
        only={"type": ("user", "gemini")},
        scoped=True,
    ),
    Shape(
        name="gemini-cli",
        about="",
        signs=("sessionId messageId message",),
        fields="content=message speaker=type session_id=sessionId created_at=timestamp",
    ),
    Shape(
        name="cline",
        about="Cline and Roo Code: ui_messages.json of a task, or a folder of tasks",
        signs=("ts type=say", "ts type=ask"),
        arranged=_of_cline,
        messages="messages",
        shared="session_id=id",
        fields="content=text speaker created_at=ts",
    ),
    Shape(
        name="cursor",
        about="Cursor: state.vscdb of globalStorage or workspaceStorage",
        tables={"cursorDiskKV": {"key", "value"}},
        documents=_of_cursor,
        messages="messages",
        shared=(
            "session_id=composerId|tabId title=name|chatTitle created_at=createdAt|lastSendTime"
        ),
        fields="id=bubbleId|id content=text|rawText speaker=type created_at=createdAt",
        values={"speaker": {1: "user", 2: "assistant", "user": "user", "ai": "assistant"}.get},
        only={"type": (1, 2, "user", "ai")},
        scoped=True,
    ),
    Shape(
        name="opencode",
        about="opencode: its storage folder, opencode.db, or what `opencode export` prints",
        signs=("info messages.info",),
        tables={"message": {"id", "session_id", "data"}, "part": {"message_id", "data"}},
        documents=_opencode_documents,
        messages="messages",
        shared=(
            "session_id=info.id title=info.title created_at=info.time.created|info.time_created"
        ),
        fields=(
            "id=info.id content=parts speaker=info.role "
            "created_at=info.time.created|info.time_created"
        ),
        values={"content": _opencode_text},
        details="model=info.modelID|info.model.modelID",
        only={"info.role": _SAID},
    ),
)
