"""Files of chats in the shapes that apps and agents write, about a kiln."""

from __future__ import annotations

import json
import mailbox
import sqlite3
import zipfile
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from support.imports import put

ASKED, ANSWERED = "How hot is a stoneware kiln?", "About 1,240 degrees."
AT = ("2026-01-02T10:00:00Z", "2026-01-02T10:00:05Z")
SECONDS = (1_767_348_000, 1_767_348_005)


def put_lines(path: Path, *entries: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    return path


def claude_ai(folder: Path) -> Path:
    def message(id: str, sender: str, text: str, at: str) -> dict[str, Any]:
        blocks = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": text}]
        return {"uuid": id, "sender": sender, "text": text, "content": blocks, "created_at": at}

    said = [message("m1", "human", ASKED, AT[0]), message("m2", "assistant", ANSWERED, AT[1])]
    talk = {"uuid": "c1", "name": "Kiln", "created_at": AT[0], "account": {"uuid": "a"}}
    return put(folder, "conversations.json", [{**talk, "chat_messages": said}])


def claude_ai_zip(folder: Path) -> Path:
    project = {"uuid": "p", "name": "Pots", "prompt_template": "", "docs": []}
    doc = {"uuid": "d1", "filename": "clay.md", "content": "Stoneware survives frost."}
    memory = {"conversations_memory": "Ana is a potter.", "project_memories": {"p": "Kiln two."}}
    path = folder / "data.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(claude_ai(folder), "conversations.json")
        archive.writestr("projects.json", json.dumps([{**project, "docs": [doc]}]))
        archive.writestr("memories.json", json.dumps([memory]))
        archive.writestr("users.json", "[{}]")
    return path


def codex(folder: Path) -> Path:
    def line(at: str, kind: str, /, **payload: Any) -> dict[str, Any]:
        return {"timestamp": at, "type": kind, "payload": payload}

    def said(at: str, role: str, kind: str, text: str) -> dict[str, Any]:
        part = [{"type": kind, "text": text}]
        return line(at, "response_item", type="message", role=role, content=part)

    return put_lines(
        folder / "rollout-1.jsonl",
        line(AT[0], "session_meta", id="s1", cwd="/kiln"),
        said(AT[0], "developer", "input_text", "Be brief."),
        said(AT[0], "user", "input_text", "<environment_context>x</environment_context>"),
        line(AT[0], "turn_context", model="m"),
        said(AT[0], "user", "input_text", ASKED),
        line(AT[0], "event_msg", type="user_message", message=ASKED),
        line(AT[1], "response_item", type="function_call", name="shell"),
        said(AT[1], "assistant", "output_text", ANSWERED),
    )


def codex_old(folder: Path) -> Path:
    def said(role: str, kind: str, text: str) -> dict[str, Any]:
        return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}

    return put_lines(
        folder / "rollout-2.jsonl",
        {"id": "s1", "timestamp": AT[0], "instructions": None},
        {"record_type": "state"},
        said("user", "input_text", ASKED),
        {"type": "reasoning", "summary": []},
        said("assistant", "output_text", ANSWERED),
    )


def gemini(folder: Path) -> Path:
    said = [
        {"id": "1", "timestamp": AT[0], "type": "user", "content": ASKED},
        {"id": "2", "timestamp": AT[0], "type": "info", "content": "Tips."},
        {"id": "3", "timestamp": AT[1], "type": "gemini", "content": ANSWERED, "model": "g"},
    ]
    return put(folder, "session-1.json", {"sessionId": "s1", "startTime": AT[0], "messages": said})


def gemini_lines(folder: Path) -> Path:
    asked = {"id": "1", "timestamp": AT[0], "type": "user", "content": [{"text": ASKED}]}
    answer = {"id": "3", "timestamp": AT[1], "type": "gemini", "content": ""}
    return put_lines(
        folder / "session-2.jsonl",
        {"sessionId": "s1", "projectHash": "h", "startTime": AT[0]},
        asked,
        {"id": "2", "timestamp": AT[1], "type": "user", "content": "Taken back."},
        {"$rewindTo": "2"},
        answer,
        {**answer, "content": ANSWERED},
        {"$set": {"summary": "Kiln"}},
    )


def cline(folder: Path) -> Path:
    task = folder / "tasks" / str(SECONDS[0])
    said = [
        {"ts": SECONDS[0] * 1000, "type": "say", "say": "task", "text": ASKED},
        {"ts": SECONDS[0] * 1000 + 1, "type": "say", "say": "api_req_started", "text": "{}"},
        {"ts": SECONDS[1] * 1000, "type": "say", "say": "text", "text": ANSWERED},
        {"ts": SECONDS[1] * 1000, "type": "say", "say": "text", "text": "Abo", "partial": True},
    ]
    put(task, "api_conversation_history.json", [{"role": "user", "content": f"<task>{ASKED}"}])
    put(task, "ui_messages.json", said)
    return task


def put_database(path: Path, *statements: Any) -> Path:
    with sqlite3.connect(path) as connection:
        for statement in statements:
            connection.execute(*statement) if isinstance(statement, tuple) else (
                connection.execute(statement)
            )
    connection.close()
    return path


def cursor(folder: Path) -> Path:
    heads = [{"bubbleId": "b1", "type": 1}, {"bubbleId": "b2", "type": 2}]
    chat = {"composerId": "c1", "name": "Kiln", "createdAt": SECONDS[0] * 1000}
    rows = {
        "composerData:c1": {**chat, "fullConversationHeadersOnly": heads},
        "bubbleId:c1:b1": {"type": 1, "text": ASKED, "createdAt": AT[0]},
        "bubbleId:c1:b2": {"type": 2, "text": ANSWERED, "createdAt": AT[1]},
    }
    insert = "INSERT INTO cursorDiskKV VALUES (?, ?)"
    return put_database(
        folder / "state.vscdb",
        "CREATE TABLE ItemTable (key TEXT, value BLOB)",
        "CREATE TABLE cursorDiskKV (key TEXT, value BLOB)",
        *((insert, (key, json.dumps(value))) for key, value in rows.items()),
    )


def opencode(folder: Path) -> Path:
    def message(id: str, role: str, text: str, at: int) -> dict[str, Any]:
        info = {"id": id, "sessionID": "s1", "role": role, "time": {"created": at * 1000}}
        quoted = {"type": "text", "text": "A file.", "synthetic": True}
        return {"info": info, "parts": [quoted, {"type": "text", "text": text}]}

    said = [
        message("m1", "user", ASKED, SECONDS[0]),
        message("m2", "assistant", ANSWERED, SECONDS[1]),
    ]
    return put(folder, "session.json", {"info": {"id": "s1", "title": "Kiln"}, "messages": said})


def opencode_storage(folder: Path) -> Path:
    put(folder, "storage/session/p/s1.json", {"id": "s1", "title": "Kiln"})
    for id, role, text, at in (
        ("m1", "user", ASKED, SECONDS[0]),
        ("m2", "assistant", ANSWERED, SECONDS[1]),
    ):
        message = {"id": id, "sessionID": "s1", "role": role, "time": {"created": at * 1000}}
        put(folder, f"storage/message/s1/{id}.json", message)
        part = {"id": f"p{id}", "messageID": id, "type": "text", "text": text}
        put(folder, f"storage/part/{id}/p{id}.json", part)
    return folder


def opencode_database(folder: Path) -> Path:
    statements: list[Any] = [
        "CREATE TABLE session (id, title, time_created)",
        "CREATE TABLE message (id, session_id, time_created, data)",
        "CREATE TABLE part (id, message_id, session_id, time_created, data)",
        "INSERT INTO session VALUES ('s1', 'Kiln', 1)",
    ]
    for id, role, text, at in (
        ("m1", "user", ASKED, SECONDS[0]),
        ("m2", "assistant", ANSWERED, SECONDS[1]),
    ):
        said = json.dumps({"role": role, "time": {"created": at * 1000}})
        part = json.dumps({"type": "text", "text": text})
        insert = "INSERT INTO message VALUES (?, 's1', ?, ?)"
        statements.append((insert, (id, at * 1000, said)))
        statements.append(("INSERT INTO part VALUES (?, ?, 's1', ?, ?)", (f"p{id}", id, at, part)))
    return put_database(folder / "opencode.db", *statements)


def _webui() -> dict[str, Any]:
    asked = {"id": "m1", "parentId": None, "childrenIds": ["m0", "m2"], "role": "user"}
    answer = {"parentId": "m1", "childrenIds": [], "role": "assistant", "timestamp": SECONDS[1]}
    messages = {
        "m1": {**asked, "content": ASKED, "timestamp": SECONDS[0]},
        "m0": {**answer, "id": "m0", "content": "Thrown away."},
        "m2": {**answer, "id": "m2", "content": ANSWERED},
    }
    return {"title": "Kiln", "history": {"messages": messages, "currentId": "m2"}}


def open_webui(folder: Path) -> Path:
    return put(folder, "chats.json", [{"id": "c1", "title": "Kiln", "chat": _webui()}])


def open_webui_database(folder: Path) -> Path:
    row = ("INSERT INTO chat VALUES ('c1', 'u', 'Kiln', ?)", (json.dumps(_webui()),))
    table = "CREATE TABLE chat (id TEXT, user_id TEXT, title TEXT, chat JSON)"
    return put_database(folder / "webui.db", table, row)


def librechat(folder: Path) -> Path:
    answer = {"messageId": "m2", "sender": "Claude", "text": ANSWERED, "createdAt": AT[1]}
    asked = {"messageId": "m1", "sender": "User", "text": ASKED, "createdAt": AT[0]}
    talk = {"conversationId": "c1", "title": "Kiln", "endpoint": "x"}
    return put(folder, "c.json", {**talk, "messages": [{**asked, "children": [answer]}]})


def telegram(folder: Path) -> Path:
    said = [
        {"id": 1, "type": "service", "date": AT[0][:-1], "actor_id": "user1", "text": ""},
        {
            "id": 2,
            "type": "message",
            "date": "2026-01-02T12:00:00",
            "date_unixtime": str(SECONDS[0]),
            "from": "Ana",
            "from_id": "user1",
            "text": ["How hot is ", {"type": "bold", "text": "a stoneware"}, " kiln?"],
        },
        {
            "id": 3,
            "type": "message",
            "date_unixtime": str(SECONDS[1]),
            "from": "Ben",
            "from_id": "user2",
            "text": ANSWERED,
        },
    ]
    return put(folder, "result.json", {"name": "Ben", "type": "x", "id": 7, "messages": said})


def telegram_account(folder: Path) -> Path:
    chat = json.loads(telegram(folder).read_text("utf-8"))
    return put(folder, "all.json", {"about": "x", "chats": {"about": "y", "list": [chat]}})


def slack(folder: Path) -> Path:
    people = [{"id": "U1", "name": "ana"}, {"id": "U2", "profile": {"real_name": "Ben"}}]
    said = [
        {"type": "message", "subtype": "channel_join", "user": "U1", "text": "joined", "ts": "1"},
        {"type": "message", "user": "U1", "text": ASKED, "ts": f"{SECONDS[0]}.000100"},
        {"type": "message", "user": "U2", "text": ANSWERED, "ts": f"{SECONDS[1]}.000200"},
    ]
    put(folder, "slack/users.json", people)
    put(folder, "slack/channels.json", [{"id": "C1", "name": "kiln"}])
    put(folder, "slack/kiln/2026-01-02.json", said)
    return folder / "slack"


def slack_zip(folder: Path) -> Path:
    root = slack(folder)
    with zipfile.ZipFile(folder / "slack.zip", "w") as archive:
        for file in root.rglob("*.json"):
            archive.write(file, file.relative_to(root).as_posix())
    return folder / "slack.zip"


def discord(folder: Path) -> Path:
    def message(id: str, name: str, text: str, at: str) -> dict[str, Any]:
        author = {"id": "9", "name": name.lower(), "nickname": name}
        return {"id": id, "type": "Default", "timestamp": at, "content": text, "author": author}

    said = [message("1", "Ana", ASKED, AT[0]), message("2", "Ben", ANSWERED, AT[1])]
    said.append({**said[0], "id": "3", "type": "GuildMemberJoin"})
    channel = {"id": "c1", "name": "Kiln"}
    return put(folder, "kiln.json", {"guild": {"id": "1"}, "channel": channel, "messages": said})


def sillytavern(folder: Path) -> Path:
    return put_lines(
        folder / "chat.jsonl",
        {"user_name": "Ana", "character_name": "Potter", "create_date": "x"},
        {"name": "Ana", "is_user": True, "send_date": "January 2, 2026 10:00am", "mes": ASKED},
        {"name": "Ben", "is_user": False, "send_date": "January 2, 2026 10:00am", "mes": ANSWERED},
    )


def whatsapp_android(folder: Path) -> Path:
    text = (
        "12/31/25, 9:59\u202fAM - Messages and calls are end-to-end encrypted.\n"
        f"1/2/26, 10:00\u202fAM - Ana: {ASKED}\n1/2/26, 10:00\u202fAM - Ben: <Media omitted>\n"
        f"1/2/26, 10:00\u202fAM - Ben: {ANSWERED}\n"
    )
    return put(folder, "WhatsApp Chat with Ben.txt", text)


def whatsapp_ios(folder: Path) -> Path:
    text = (
        f"[02.01.26, 10:00:00] Ana: {ASKED}\n"
        "\u200e[02.01.26, 10:00:02] Ben: \u200eBild weggelassen\n"
        f"[02.01.26, 10:00:05] Ben: {ANSWERED}\n"
    )
    return put(folder, "_chat.txt", text)


def mbox(folder: Path) -> Path:
    box = mailbox.mbox(folder / "all.mbox")
    for id, name, text, at, before in (
        ("m1", "Ana", ASKED, "Fri, 02 Jan 2026 10:00:00 +0000", None),
        ("m2", "Ben", ANSWERED, "Fri, 02 Jan 2026 10:00:05 +0000", "<m1>"),
    ):
        message = EmailMessage()
        message["From"] = f"{name} <{name.lower()}@example.org>"
        message["Subject"], message["Date"], message["Message-ID"] = "Kiln", at, f"<{id}>"
        if before:
            message["In-Reply-To"] = before
        message.set_content(text)
        box.add(message)
    box.close()
    return folder / "all.mbox"


def openai(folder: Path) -> Path:
    said = [{"role": "user", "content": ASKED}, {"role": "assistant", "content": ANSWERED}]
    return put(folder, "array.json", said)


def openai_request(folder: Path) -> Path:
    said = [{"role": "user", "content": ASKED}, {"role": "assistant", "content": ANSWERED}]
    return put(folder, "r.json", json.dumps({"model": "m", "messages": said}, indent=2))


def sharegpt(folder: Path) -> Path:
    said = [{"from": "human", "value": ASKED}, {"from": "gpt", "value": ANSWERED}]
    return put(folder, "s.json", [{"id": "c1", "conversations": said}])


def lmsys(folder: Path) -> Path:
    said = [{"content": ASKED, "role": "user"}, {"content": ANSWERED, "role": "assistant"}]
    return put_lines(folder / "l.jsonl", {"conversation_id": "c1", "conversation": said})


def alpaca(folder: Path) -> Path:
    return put(folder, "a.json", [{"instruction": ASKED, "input": "", "output": ANSWERED}])


CHATS: dict[str, tuple[str, Callable[[Path], Path]]] = {
    "alpaca": ("alpaca", alpaca),
    "claude-ai": ("claude-ai", claude_ai),
    "cline": ("cline", cline),
    "codex": ("codex", codex),
    "codex, old": ("codex", codex_old),
    "cursor": ("cursor", cursor),
    "discord": ("discord", discord),
    "gemini-cli": ("gemini-cli", gemini),
    "gemini-cli, lines": ("gemini-cli", gemini_lines),
    "librechat": ("librechat", librechat),
    "lmsys": ("jsonl", lmsys),
    "mbox": ("mbox", mbox),
    "open-webui": ("open-webui", open_webui),
    "open-webui, database": ("open-webui", open_webui_database),
    "openai": ("jsonl", openai),
    "openai, request": ("jsonl", openai_request),
    "opencode": ("opencode", opencode),
    "opencode, database": ("opencode", opencode_database),
    "opencode, storage": ("opencode", opencode_storage),
    "sharegpt": ("jsonl", sharegpt),
    "sillytavern": ("sillytavern", sillytavern),
    "slack": ("slack", slack),
    "slack, zip": ("slack", slack_zip),
    "telegram": ("telegram", telegram),
    "telegram, account": ("telegram", telegram_account),
    "whatsapp, Android": ("whatsapp", whatsapp_android),
    "whatsapp, iOS": ("whatsapp", whatsapp_ios),
}
"""The formats of chats, and files with the same question and answer in each."""
