"""Conversations from a ChatGPT data export: the zip, its folder or its `conversations.json`."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from salience.importers._entries import Ids
from salience.importers._source import (
    ZIP_DAMAGE,
    ImportProblem,
    Item,
    clean,
    decoded,
    head,
    inside,
    moment,
    parsed,
    text,
    unpacked,
)

# An export is one file, or since large ones are divided, several that are numbered.
_FILE = re.compile(r"(?:^|/)conversations(?:-\d+)?\.json$")
_ROLES = ("user", "assistant")
_KINDS = ("text", "multimodal_text", "code")
# Sources are cited within the text by private characters or lenticular brackets.
_CITATION = re.compile("\ue200[^\ue201]*\ue201|【\\d+(?::\\d+)?†[^】]*】|[\ue200-\ue206]")


def read(path: Path) -> Iterator[Item]:
    """Yield the messages of the user and the assistant, conversation by conversation.

    Of a conversation that was edited or answered again, the branch last looked at is read. Hidden
    messages, those to or from a tool, and thoughts are left out.

    Raises:
        ImportProblem: there is no export at the path, or it is damaged.
    """
    ids = Ids()
    for name, source in _documents(path):
        document = parsed(path, source, name=f"{name} is " if name else "")
        if isinstance(document, dict):
            document = document.get("conversations", [document])
        if not isinstance(document, list):
            raise _foreign(path)
        for number, conversation in enumerate(document, start=1):
            if not isinstance(conversation, dict) or not isinstance(
                conversation.get("mapping"), dict
            ):
                raise _foreign(path, f"conversation {number} has no mapping of messages")
            yield from _turns(number, conversation, ids)


def _foreign(path: Path, problem: str = "holds no list of conversations") -> ImportProblem:
    return ImportProblem(path, problem, "give the zip or the conversations.json of an export")


def _documents(path: Path) -> Iterator[tuple[str, str]]:
    """The name, if it is not the path itself, and the text of each file of conversations."""
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if _FILE.search(file.name))
        if not files:
            raise _foreign(path, "holds no conversations.json")
        for file in files:
            yield file.name, text(inside(file, path))
    elif zipfile.is_zipfile(path):
        try:
            with zipfile.ZipFile(path) as archive:
                names = sorted(name for name in archive.namelist() if _FILE.search(name))
                if not names:
                    raise _foreign(path, "holds no conversations.json")
                for name in names:
                    yield name, decoded(path, unpacked(path, archive, name))
        except ZIP_DAMAGE as damage:
            raise ImportProblem(
                path, f"cannot be unpacked: {damage}", "download the export again"
            ) from None
    elif path.suffix.lower() == ".zip" or head(path).startswith(b"PK"):
        problem = "is a zip cut short, or none at all" if head(path) else "is empty"
        raise ImportProblem(path, problem, "download the export again")
    else:
        yield "", text(path)


def _turns(number: int, conversation: dict[str, Any], ids: Ids) -> Iterator[Item]:
    title = conversation.get("title")
    title = clean(title) if isinstance(title, str) else ""
    latest = moment(conversation.get("create_time"))
    turns = []
    for message in _branch(conversation):
        content = _content(message)
        if not content:
            continue
        # A message without a time was said no sooner than the one before it.
        sent_at = moment(message.get("create_time"))
        created = latest if sent_at is None else sent_at
        latest = created if isinstance(created, (datetime, str)) else latest
        item = {
            "id": str(message.get("id") or ""),
            "content": content,
            "speaker": message["author"]["role"],
            "kind": "turn",
            "title": title,
            "metadata": _details(message),
        }
        filled = {key: value for key, value in item.items() if value}
        if created is not None:
            filled["created_at"] = created
        turns.append(filled)
    own = conversation.get("conversation_id") or conversation.get("id")
    session = str(own or ids.session(turns))
    for turn in turns:
        id = turn.get("id") or ids.turn(session, turn)
        yield Item({**turn, "id": id, "session_id": session}, f"conversation {number}")


def _branch(conversation: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages from the root to the current node."""
    mapping = conversation["mapping"]
    name = conversation.get("current_node")
    if not isinstance(name, str) or name not in mapping:
        name = _last_leaf(mapping)
    branch = []
    seen: set[str] = set()
    while isinstance(name, str) and name in mapping and name not in seen:
        seen.add(name)
        node = mapping[name] if isinstance(mapping[name], dict) else {}
        if isinstance(node.get("message"), dict):
            branch.append(node["message"])
        name = node.get("parent")
    return branch[::-1]


def _last_leaf(mapping: dict[str, Any]) -> str | None:
    """The end of the newest branch: from the root always to the last child."""
    nodes = {name: node for name, node in mapping.items() if isinstance(node, dict)}
    roots = (name for name, node in nodes.items() if not node.get("parent"))
    name = next(roots, None)
    seen: set[str] = set()
    while name is not None and name not in seen:
        seen.add(name)
        children = nodes[name].get("children")
        listed = children if isinstance(children, list) else []
        existing = [child for child in listed if isinstance(child, str) and child in nodes]
        name = existing[-1] if existing else name
    return name


def _content(message: dict[str, Any]) -> str:
    """The text of a message; empty for one that was not part of the conversation."""
    author, content = message.get("author"), message.get("content")
    metadata = message.get("metadata")
    if not isinstance(author, dict) or author.get("role") not in _ROLES:
        return ""
    if not isinstance(content, dict) or content.get("content_type", "text") not in _KINDS:
        return ""
    if message.get("recipient") not in (None, "all") or message.get("weight") == 0:
        return ""
    if isinstance(metadata, dict) and metadata.get("is_visually_hidden_from_conversation"):
        return ""
    parts = content.get("parts")
    parts = parts if isinstance(parts, list) else [content.get("text")]
    # Speech comes as a part with its transcript; images and files have no text.
    texts = (part.get("text") if isinstance(part, dict) else part for part in parts)
    joined = "\n\n".join(part for part in texts if isinstance(part, str) and part.strip())
    return clean(_CITATION.sub("", joined))


def _details(message: dict[str, Any]) -> dict[str, Any]:
    metadata = message.get("metadata")
    if not isinstance(metadata, dict):
        return {}
    details: dict[str, Any] = {}
    if isinstance(metadata.get("model_slug"), str):
        details["model"] = metadata["model_slug"]
    attachments = metadata.get("attachments")
    if isinstance(attachments, list):
        names = [file.get("name") for file in attachments if isinstance(file, dict)]
        details["attachments"] = [name for name in names if isinstance(name, str)]
    return {key: value for key, value in details.items() if value}
