"""Chats with assistants: what their apps export."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from salience.importers import _archives
from salience.importers._entries import PLACE, documents, html_text, mapping
from salience.importers._source import ImportProblem, Job, Place, clean, moment
from salience.importers.shapes import Entry, Shape, decoded, dicts, lines_of, role, said, turns
from salience.lazily import regex

_SAID = ("user", "assistant")


# Sources are cited within the text by private characters or lenticular brackets.
_CITATION = regex("\ue200[^\ue201]*\ue201|【\\d+(?::\\d+)?†[^】]*】|[\ue200-\ue206]")


# What a model thought and what its tools answered stand in the text as blocks.
_INNER = regex(
    r'(?s)<details type="(?:reasoning|tool_calls|code_interpreter)".*?</details>|'
    r"<think>.*?</think>"
)
_TAVERN_TIMES = ("%B %d, %Y %I:%M%p", "%Y-%m-%d @%Hh %Mm %Ss", "%Y-%m-%d@%Hh%Mm%Ss")


def _branch(nodes: Any, name: Any, parent: str, children: str) -> list[Entry]:
    """The nodes of a tree from its root to one; by default to the end of the newest branch."""
    nodes = {id: node for id, node in mapping(nodes).items() if isinstance(node, dict)}
    if not isinstance(name, str) or name not in nodes:
        name = next((id for id, node in nodes.items() if not node.get(parent)), None)
        passed: set[str] = set()
        while name is not None and name not in passed:
            passed.add(name)
            listed = nodes[name].get(children)
            listed = listed if isinstance(listed, list) else []
            present = [child for child in listed if isinstance(child, str) and child in nodes]
            name = present[-1] if present else name
    branch: dict[str, Entry] = {}
    while isinstance(name, str) and name in nodes and name not in branch:
        branch[name] = nodes[name]
        name = nodes[name].get(parent)
    return [*branch.values()][::-1]


def _of_chatgpt(place: Place, document: Any, job: Job) -> Iterator[Entry]:
    if isinstance(document, dict):
        document = document.get("conversations", [document])
    if not isinstance(document, list):
        raise ImportProblem(place, "holds no list of conversations", "export it again")
    for number, conversation in enumerate(document, start=1):
        if not isinstance(mapping(conversation).get("mapping"), dict):
            problem = f"conversation {number} has no mapping of messages"
            job.left_out(ImportProblem(place, problem, "export it again"))
            continue
        nodes = _branch(
            conversation["mapping"], conversation.get("current_node"), "parent", "children"
        )
        messages = [node["message"] for node in nodes if isinstance(node.get("message"), dict)]
        messages = [each for each in messages if each.get("weight") != 0]
        yield {**turns(conversation, messages), PLACE: f"conversation {number}"}


def _chatgpt_text(content: Any) -> str:
    parts = mapping(content).get("parts")
    parts = parts if isinstance(parts, list) else [mapping(content).get("text")]
    # Speech comes as a part with its transcript; images and files have no text.
    texts = (part.get("text") if isinstance(part, dict) else part for part in parts)
    return said([_CITATION.sub("", text) for text in texts if isinstance(text, str)])


def _names(files: Any) -> list[str]:
    return [file["name"] for file in dicts(files) if isinstance(file.get("name"), str)]


def _claude_memories(document: Any) -> Iterator[Entry]:
    for entry in dicts(document if isinstance(document, list) else [document]):
        yield {"title": "Memory of Claude.ai", "text": entry.get("conversations_memory")}
        for id, text in mapping(entry.get("project_memories")).items():
            yield {"title": f"Memory of project {id}", "text": text}


def _of_open_webui(place: Place, document: Any, job: Job) -> Iterator[Entry]:
    for entry in dicts(document if isinstance(document, list) else [document]):
        chat = mapping(entry.get("chat", entry))
        history = mapping(chat.get("history"))
        branch = _branch(
            history.get("messages"), history.get("currentId"), "parentId", "childrenIds"
        )
        yield {**entry, "chat": chat, "messages": branch or chat.get("messages")}


def _webui_documents(place: Place, job: Job, gathered: bool) -> Iterator[tuple[str, Any]]:
    if isinstance(place, Path) and _archives.is_database(place):
        for row in _archives.rows(place, "SELECT * FROM chat ORDER BY id"):
            yield str(row["id"]), {**row, "chat": decoded(row["chat"])}
        return
    yield from documents(place, job, gathered)


def _of_librechat(place: Place, document: Any, job: Job) -> Iterator[Entry]:
    for number, entry in enumerate(dicts(document if isinstance(document, list) else [document])):
        yield {**turns(entry, _flat(entry.get("messages"))), PLACE: f"item {number + 1}"}


def _flat(messages: Any) -> Iterator[Entry]:
    """Messages that may hold those that answer them, each before its answers."""
    waiting = dicts(messages)[::-1]
    while waiting:
        message = waiting.pop()
        yield message
        waiting += dicts(message.get("children"))[::-1]


def _of_grok(place: Place, document: Any, job: Job) -> Iterator[Entry]:
    listed = document.get("conversations", [document]) if isinstance(document, dict) else document
    for entry in dicts(listed):
        responses = [mapping(each.get("response", each)) for each in dicts(entry.get("responses"))]
        yield turns(mapping(entry.get("conversation")), responses)


def _mongo_time(value: Any) -> Any:
    """A time as it is, or as Extended JSON writes it."""
    packed = mapping(value).get("$date", value)
    number = mapping(packed).get("$numberLong", packed)
    return moment(int(number) if isinstance(number, str) and number.isdigit() else number)


_PROMPTED = regex(r"Prompted\s+")  # before a prompt in English; other languages name it otherwise


def _of_takeout(place: Place, document: Any, job: Job) -> Iterator[Entry]:
    """The activity of Gemini, each prompt with its answer, the oldest first."""
    assert isinstance(place, Path)
    for entry in dicts(document if isinstance(document, list) else [document])[::-1]:
        prompt = _PROMPTED.sub("", str(entry.get("title") or ""), count=1)
        answer = "\n\n".join(
            html_text(place, part["html"])
            for part in dicts(entry.get("safeHtmlItem"))
            if isinstance(part.get("html"), str)
        )
        messages = [{"role": "user", "content": prompt}, {"role": "assistant", "content": answer}]
        yield turns({"time": entry.get("time")}, messages)


def _of_alpaca(place: Place, document: Any, job: Job) -> Iterator[Entry]:
    for number, entry in enumerate(dicts(document if isinstance(document, list) else [document])):
        prompt = [entry.get("instruction"), entry.get("input")]
        messages = [
            {"role": "user", "content": prompt},
            {"role": "assistant", "content": entry.get("output")},
        ]
        yield {**turns({}, messages), PLACE: str(entry.get(PLACE) or f"item {number + 1}")}


def _tavern_time(value: Any) -> Any:
    for form in _TAVERN_TIMES:
        with suppress(ValueError, TypeError):
            return datetime.strptime(value, form).replace(tzinfo=UTC)
    return moment(value)


ASSISTANTS = (
    Shape(
        name="chatgpt",
        about="ChatGPT: the zip of an export, its folder, or its conversations.json",
        signs=("mapping",),
        within=("conversations",),
        arranged=_of_chatgpt,
        messages="messages",
        shared="session_id=conversation_id|id title created_at=create_time",
        fields="id content speaker=author.role created_at=create_time",
        values={"content": _chatgpt_text, "attachments": _names},
        details="model=metadata.model_slug attachments=metadata.attachments",
        only={
            "author.role": _SAID,
            "recipient": (None, "all"),
            "content.content_type": (None, "text", "multimodal_text", "code"),
        },
        hidden=("metadata.is_visually_hidden_from_conversation",),
    ),
    Shape(
        name="claude-ai",
        about="Claude.ai: the zip of an export, its folder, or its conversations.json",
        signs=("chat_messages",),
        within=("conversations",),
        messages="chat_messages",
        shared="session_id=uuid title=name created_at",
        fields="id=uuid content=content|text speaker=sender created_at",
        values={"speaker": role},
    ),
    Shape(
        name="claude-ai",
        about="",
        signs=("docs prompt_template", "docs.filename"),
        messages="docs",
        shared="session_id=uuid tags=name",
        fields="id=uuid content title=filename created_at",
        kind="note",
    ),
    Shape(
        name="claude-ai",
        about="",
        signs=("conversations_memory", "project_memories"),
        arranged=lambda place, document, job: _claude_memories(document),
        fields="content=text title",
        kind="note",
    ),
    Shape(
        name="open-webui",
        about="Open WebUI: an export of chats, or webui.db",
        signs=("chat.history", "chat.messages"),
        tables={"chat": {"id", "title", "chat"}},
        documents=_webui_documents,
        arranged=_of_open_webui,
        messages="messages",
        shared="session_id=id title=title|chat.title created_at user_id",
        fields="id content speaker=role created_at=timestamp",
        values={"content": lambda content: clean(_INNER.sub("", said(content)))},
        details="model",
        only={"role": _SAID},
    ),
    Shape(
        name="librechat",
        about="LibreChat: an exported conversation, or several in a list",
        signs=("conversationId messages.messageId", "conversationId messages.sender"),
        arranged=_of_librechat,
        messages="messages",
        shared="session_id=conversationId title created_at=createdAt",
        fields=(
            "id=messageId content=text|content speaker=isCreatedByUser|sender created_at=createdAt"
        ),
        values={"speaker": lambda who: role("user" if who is True else who or "assistant")},
        details="model",
    ),
    Shape(
        name="sillytavern",
        about="SillyTavern: a chat",
        signs=("mes is_user", "user_name character_name"),
        gathered=True,
        arranged=lambda place, document, job: [turns({}, lines_of(place, document, job))],
        messages="messages",
        fields="content=mes speaker=name created_at=send_date",
        values={"created_at": _tavern_time},
        hidden=("is_system",),
    ),
    Shape(
        name="grok",
        about="Grok: the JSON of an export (prod-grok-backend.json)",
        signs=("conversation responses",),
        within=("conversations",),
        arranged=_of_grok,
        messages="messages",
        shared="session_id=id|conversation_id title created_at=create_time",
        fields="id=_id|id content=message speaker=sender created_at=create_time",
        values={"speaker": role, "created_at": _mongo_time},
        details="model",
    ),
    Shape(
        name="ai-studio",
        about="Google AI Studio: a prompt",
        signs=("chunkedPrompt.chunks",),
        messages="chunkedPrompt.chunks",
        shared="session_id=id title=displayName",
        fields="content=text|parts speaker=role created_at=createTime",
        values={"speaker": role},
        hidden=("isThought",),
        by_file=True,
    ),
    Shape(
        name="gemini",
        about="Gemini: MyActivity.json of Google Takeout",
        signs=("title time safeHtmlItem.html",),
        arranged=_of_takeout,
        messages="messages",
        shared="created_at=time",
        fields="content speaker=role",
    ),
    Shape(
        name="alpaca",
        about="instructions with outputs, as models are trained on",
        signs=("instruction output",),
        arranged=_of_alpaca,
        messages="messages",
        fields="content speaker=role",
    ),
)
