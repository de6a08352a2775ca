"""Chats of apps and agents: who said what when, what damage costs, and what a later export adds."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from salience import Memory
from salience.importers import ImportProblem, detect, read
from support.chats import (
    ANSWERED,
    ASKED,
    CHATS,
    SECONDS,
    claude_ai_zip,
    codex,
    gemini,
    put_database,
    put_lines,
    slack,
    slack_zip,
    telegram,
)
from support.imports import items, put

UNTIMED = ("openai", "sharegpt", "lmsys", "alpaca")


@pytest.mark.parametrize("name", CHATS)
def test_who_said_what_and_when(name: str, tmp_path: Path) -> None:
    format, write = CHATS[name]
    path = write(tmp_path)
    assert detect(path) == format
    asked, answered = items(path)
    assert (asked["content"], answered["content"]) == (ASKED, ANSWERED)
    assert asked["speaker"] in ("user", "Ana", "ana")
    assert answered["speaker"] in ("assistant", "Ben", "Claude")
    assert asked["session_id"] == answered["session_id"]
    assert len({asked["id"], answered["id"]}) == 2
    with Memory.open("ram://", embedder=None) as memory:
        added = memory.add_many([asked, answered])
        assert [item.reason for item in added.rejected] == []
        record = memory[added.ids[0]]
        again = memory.add_many(read(path), on_conflict="skip")
        assert {item.outcome for item in again} == {"SKIPPED"}
    if not name.startswith(UNTIMED):
        assert record.created_at == datetime.fromtimestamp(SECONDS[0], UTC).replace(
            microsecond=record.created_at.microsecond
        )
    assert record.kind in ("turn", None) or name == "mbox"


@pytest.mark.parametrize("name", CHATS)
def test_half_a_file_is_named_and_never_half_read_in_silence(name: str, tmp_path: Path) -> None:
    format, write = CHATS[name]
    path = write(tmp_path)
    path = path if path.is_file() else next(path.rglob("*.json"))
    raw = path.read_bytes()
    if path.suffix in (".txt", ".mbox"):
        return  # of which any part is whole
    path.write_bytes(raw[: len(raw) * 2 // 3])
    told: list[ImportProblem] = []
    try:
        found = list(read(path, format, told.append))
    except ImportProblem as problem:
        told.append(problem)
        found = []
    assert told
    assert all(str(path.parent) in str(problem) for problem in told)
    assert all(item["content"] in (ASKED, ANSWERED) for item in found)


def test_the_zip_of_claude_ai_has_projects_and_memories(tmp_path: Path) -> None:
    found = {item["content"]: item for item in items(claude_ai_zip(tmp_path))}
    assert set(found) == {
        *(ASKED, ANSWERED),
        "Stoneware survives frost.",
        "Ana is a potter.",
        "Kiln two.",
    }
    assert found["Stoneware survives frost."]["title"] == "clay.md"
    assert found[ASKED].place == "conversations.json, item 1, message 1"


def test_a_message_that_is_none_is_left_out_alone(tmp_path: Path) -> None:
    document = json.loads(gemini(tmp_path).read_text("utf-8"))
    document["messages"].insert(1, 7)
    told: list[ImportProblem] = []
    found = list(read(put(tmp_path, "s.json", document), None, told.append))
    assert [item["content"] for item in found] == [ASKED, ANSWERED]
    assert "message 2: not a JSON object but int" in str(told[0])


def test_a_running_session_is_read_up_to_its_half_line(tmp_path: Path) -> None:
    path = codex(tmp_path)
    with path.open("a", encoding="utf-8") as file:
        file.write('{"timestamp": "2026-01-02T10:0')
    told: list[ImportProblem] = []
    found = list(read(tmp_path, None, told.append))
    assert [item["content"] for item in found] == [ASKED, ANSWERED]
    assert [problem.line for problem in told] == [9]


def test_a_folder_of_several_formats_is_read_file_by_file(tmp_path: Path) -> None:
    codex(tmp_path / "a")
    gemini(tmp_path / "b")
    put(tmp_path, "c/settings.json", {"theme": "dark"})
    told: list[ImportProblem] = []
    found = read(tmp_path, None, told.append)
    assert found.format == "files"
    places = [item.place.partition(",")[0] for item in found]
    assert places == ["a/rollout-1.jsonl"] * 2 + ["b/session-1.json"] * 2
    assert [problem.path.name for problem in told] == ["settings.json"]


def test_two_messages_of_one_id_are_two(tmp_path: Path) -> None:
    said = [{"id": "1", "type": "user", "content": text} for text in ("One", "Two", "One")]
    path = put(tmp_path, "s.json", {"sessionId": "s", "startTime": "2026-01-01", "messages": said})
    found = items(path)
    assert [item["content"] for item in found] == ["One", "Two"]
    assert len({item["id"] for item in found}) == 2


def test_numbers_of_messages_count_within_their_chat(tmp_path: Path) -> None:
    chat = json.loads(telegram(tmp_path).read_text("utf-8"))
    other = {**chat, "id": 8, "name": "Cleo"}
    found = items(put(tmp_path, "all.json", {"chats": {"list": [chat, other]}}))
    assert [item["id"] for item in found] == ["7:2", "7:3", "8:2", "8:3"]
    talks = [
        {"conversationId": n, "messages": [{"id": 1, "role": "user", "content": f"Of {n}"}]}
        for n in (1, 2)
    ]
    assert [item["id"] for item in items(put(tmp_path, "t.json", talks))] == ["1:1", "2:1"]


@pytest.mark.parametrize(
    ("lines", "time"),
    [
        (["13/02/26, 10:00 - Ana: Hi"], "2026-02-13T10:00"),
        (["02/13/26, 10:00 - Ana: Hi"], "2026-02-13T10:00"),
        (["13/1/26, 9:05 PM - Ana: Hi"], "2026-01-13T21:05"),
        (["1/13/26, 9:05 pm - Ana: Hi"], "2026-01-13T21:05"),
        (["2/2/26, 12:05 a. m. - Ana: Hi"], "2026-02-02T00:05"),
        (["13.06.18 21.25.15: Ana: Hi"], "2018-06-13T21:25"),
        (["02.01.2026, 10:00 - Ana: Hi"], "2026-01-02T10:00"),
        (["2026/01/02 10:00 - Ana: Hi"], "2026-01-02T10:00"),
        (["[2026-01-02 10:00:07] Ana: Hi"], "2026-01-02T10:00"),
        (["[2.1.2026 klo 10.00.07] Ana: Hi"], "2026-01-02T10:00"),
        (["02-01-2026 10:00 - Ana: Hi"], "2026-01-02T10:00"),
        (["\u200f٢٠/١/٢٠٢٦، ٤:٠٥ م - Ana: Hi"], "2026-01-20T16:05"),
        (["2026/01/02(金) 10:00 - Ana: Hi"], "2026-01-02T10:00"),
        (["2026. 1. 2. 오후 4:05 - Ana: Hi"], "2026-01-02T16:05"),
        (["2026. 01. 02. 21:25 - Ana: Hi"], "2026-01-02T21:25"),
        (["2026/1/2 上午12:05 - Ana: Hi"], "2026-01-02T00:05"),
        (["[2026/1/2 下午9:25:10] Ana: Hi"], "2026-01-02T21:25:10"),
        (["20.01.2026 ÖS 9:25 - Ana: Hi"], "2026-01-20T21:25"),
        (["20/1/2569 21:25 - Ana: Hi"], "2026-01-20T21:25"),
        (["[20/01/2026 à 21:25:10] Ana : Hi"], "2026-01-20T21:25:10"),
        (["20/1/26, 4:05 p.\u00a0m. - Ana: Hi"], "2026-01-20T16:05"),
        (["20.01.26, 16:05 Uhr - Ana: Hi"], "2026-01-20T16:05"),
        (
            ["1/3/26, 10:00 - Ana: Hi", "2/3/26, 11:00 - Ben: Ho", "1/4/26, 9:00 - Ben: Ha"],
            "2026-03-01",
        ),
        (["1/3/26, 10:00 - Ana: Hi", "2/2/26, 11:00 - Ben: Ho"], "2026-01-03"),
    ],
)
def test_dates_of_whatsapp_in_many_countries(tmp_path: Path, lines: list[str], time: str) -> None:
    first, *_ = items(put(tmp_path, "chat.txt", "\n".join(lines)))
    assert first["created_at"].isoformat().startswith(time)
    assert (first["speaker"], first["content"]) == ("Ana", "Hi")


OPEN_DATES = [
    "1/2/24, 12:00 - Ana: Hi\n2/2/24, 12:01 - Ben: Ho",
    "[01/12/2024, 10:05:23 AM] Ana: Hi\n[02/12/2024, 10:08:45 AM] Ben: Ho",
]


@pytest.mark.parametrize("text", OPEN_DATES)
def test_an_order_of_dates_that_a_chat_leaves_open_is_asked_for(tmp_path: Path, text: str) -> None:
    path = put(tmp_path, "_chat.txt", text)
    with pytest.raises(ImportProblem, match="--dates dmy"):
        list(read(path))
    day, month = ([item["created_at"] for item in read(path, dates=o)] for o in ("dmy", "mdy"))
    assert [(at.day, at.month) for at in day] == [(at.month, at.day) for at in month]
    with pytest.raises(ImportProblem, match="dmy or mdy"):
        read(path, dates="ymd")  # type: ignore[arg-type]


def test_a_message_of_several_lines_and_what_the_app_says(tmp_path: Path) -> None:
    text = (
        '2/2/26, 10:00 - Ana created group "Kiln"\n2/2/26, 10:01 - Ana: Clay:\n- red\n\n- white\n'
        "2/2/26, 10:02 - Ben: IMG-1.jpg (file attached)\n2/2/26, 10:03 - Ben: Thanks\n"
    )
    found = items(put(tmp_path, "chat.txt", text))
    assert [item["content"] for item in found] == ["Clay:\n- red\n\n- white", "Thanks"]
    assert [item.place for item in found] == ["line 2", "line 7"]


def test_marks_of_slack_become_words(tmp_path: Path) -> None:
    folder = slack(tmp_path)
    text = "<@U1> see <https://x.org/a|the page> in <#C1|kiln> &amp; <!here> <https://y.org>"
    said = [{"type": "message", "user": "U2", "text": text, "ts": "1767348000.1"}]
    put(folder, "kiln/2026-01-03.json", said)
    assert items(folder)[-1]["content"] == (
        "@ana see the page (https://x.org/a) in #kiln & @here https://y.org"
    )
    assert items(folder / "kiln" / "2026-01-03.json")[0]["speaker"] == "Ben"


def claude_line(id: str, type: str, content: Any, session: str = "s1", **more: Any) -> Any:
    said = {"role": type, "content": content}
    at = "2026-03-01T10:00:01Z"
    return {
        "type": type,
        "uuid": id,
        "sessionId": session,
        "timestamp": at,
        "message": said,
        **more,
    }


def test_prompts_typed_while_claude_code_works_and_its_titles(tmp_path: Path) -> None:
    queued = {"type": "queued_command", "commandMode": "prompt", "prompt": "Use brass hinges."}
    task = {"type": "queued_command", "commandMode": "task-notification", "prompt": "Done."}
    path = put_lines(
        tmp_path / "s1.jsonl",
        *({"type": "summary", "summary": f"Other {n}", "leafUuid": f"l{n}"} for n in range(40)),
        {"type": "summary", "summary": "The door", "leafUuid": "u3"},
        claude_line("u1", "user", "Fix the door."),
        {**claude_line("u2", "x", ""), "type": "attachment", "attachment": queued},
        {**claude_line("u4", "x", ""), "type": "attachment", "attachment": task},
        claude_line("u3", "assistant", [{"type": "text", "text": "Done."}]),
    )
    assert detect(path) == "claude-code"
    found = items(path)
    assert [(item["speaker"], item["content"]) for item in found] == [
        ("user", "Fix the door."),
        ("user", "Use brass hinges."),
        ("assistant", "Done."),
    ]
    assert {item["title"] for item in found} == {"The door"}


def test_a_log_of_mem0_is_the_memories_that_it_leaves(tmp_path: Path) -> None:
    columns = "id, memory_id, old_memory, new_memory, event, created_at, updated_at, is_deleted"
    table = f"CREATE TABLE history ({columns})"
    rows = [
        ("h1", "m1", None, "Likes tea", "ADD", "2026-01-01T10:00:00", None, 0),
        ("h2", "m2", None, "Has a cat", "ADD", "2026-01-02T10:00:00", None, 0),
        ("h3", "m1", "Likes tea", "Likes coffee", "UPDATE", "2026-01-03T10:00:00", None, 0),
        ("h4", "m2", "Has a cat", None, "DELETE", "2026-01-04T10:00:00", None, 1),
    ]
    insert = "INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
    path = put_database(tmp_path / "history.db", table, *((insert, row) for row in rows))
    [coffee] = items(path)
    assert (coffee["id"], coffee["content"]) == ("m1", "Likes coffee")
    assert coffee["created_at"] == "2026-01-01T10:00:00"
    assert coffee["metadata"]["updated_at"] == "2026-01-03T10:00:00"


def test_documents_of_chroma_as_json(tmp_path: Path) -> None:
    page = {
        "ids": ["a", "b"],
        "documents": ["Ana has the key.", None],
        "metadatas": [{"page": 3}, {}],
    }
    [key] = items(put(tmp_path, "get.json", page))
    assert (key["id"], key["metadata"]["page"]) == ("a", 3)
    nested = {"ids": [["a"]], "documents": [["Ana has the key."]], "metadatas": [[{"page": 3}]]}
    assert items(put(tmp_path, "query.json", nested))[0]["id"] == "a"


def test_observations_of_the_mcp_server_as_objects_with_times(tmp_path: Path) -> None:
    seen = {"text": "fires clay at night", "timestamp": "2025-05-12T15:54:05Z"}
    entity = {"name": "Ana", "entityType": "person", "createdAt": "2025-05-11T15:54:05Z"}
    path = put_lines(
        tmp_path / "memory.jsonl",
        {"type": "entity", **entity, "observations": [seen, "sells wheels", 7]},
        {"type": "entity", "name": "Ben", "entityType": "person", "observations": ["sings"]},
    )
    told: list[ImportProblem] = []
    found = {item["content"]: item for item in read(path, None, told.append)}
    assert found["Ana: fires clay at night"]["created_at"] == "2025-05-12T15:54:05Z"
    assert found["Ana: sells wheels"]["created_at"] == "2025-05-11T15:54:05Z"
    assert found["Ben: sings"].assumed == ("created_at",)
    assert len(told) == 1


def test_an_agent_file_that_was_encoded_twice(tmp_path: Path) -> None:
    blocks = [{"id": "b0", "label": "human", "value": "Ana, a potter."}]
    agents = [{"name": "Loop", "block_ids": ["b0"], "messages": []}]
    whole = json.dumps({"agents": agents, "blocks": blocks})
    [block] = items(put(tmp_path, "a.af", json.dumps(whole)))
    assert (block["id"], block["content"]) == ("Loop/human", "Ana, a potter.")


def test_names_that_chats_have_for_fields(tmp_path: Path) -> None:
    line = {
        "messageId": "m7",
        "conversationId": 12,
        "sender": "Ana",
        "message": "The key is under the pot.",
        "createdAt": "2026-01-02T10:00:00Z",
        "mood": "calm",
    }
    [item] = items(put(tmp_path, "a.jsonl", line))
    assert (item["id"], item["session_id"], item["speaker"]) == ("m7", "12", "Ana")
    assert item["created_at"] == datetime(2026, 1, 2, 10, tzinfo=UTC)
    assert (item["content"], item["metadata"]) == ("The key is under the pot.", {"mood": "calm"})
    other = {
        "content": "x",
        "date": "some day",
        "from": {"id": 1},
        "value": 7,
        "time": {"created": 1767348000},
    }
    [item] = items(put(tmp_path, "b.jsonl", other))
    assert item["metadata"] == {"date": "some day", "from": {"id": 1}, "value": 7}
    assert item["created_at"] == datetime.fromtimestamp(1_767_348_000, UTC)


def test_a_table_by_its_columns(tmp_path: Path) -> None:
    header = "Highlight,Book Title,Book Author,Note,Tags,Highlighted at"
    rows = '"Clay remembers,\nsaid she.",On Clay,A. Potter,,"clay, fire",2026-01-02 10:00:00\n'
    path = put(tmp_path, "readwise.csv", f"{header}\n{rows}One,Two,Three,Four,Five,2026-01-03,7\n")
    told: list[ImportProblem] = []
    [item] = read(path, None, told.append)
    assert (item["content"], item["title"]) == ("Clay remembers,\nsaid she.", "On Clay")
    assert item["tags"] == ["clay", "fire"]
    assert item["metadata"] == {"Book Author": "A. Potter"}
    assert [problem.line for problem in told] == [4]
    path = put(tmp_path, "b.csv", "Wer;Was\nAna;Clay\n")
    with pytest.raises(ImportProblem, match="no column of Wer, Was is known to be the text"):
        list(read(path))
    [item] = read(path, columns={"content": "Was", "speaker": "Wer"})
    assert (item["content"], item["speaker"]) == ("Clay", "Ana")
    with pytest.raises(ImportProblem, match="has no column 'What' for content: it has Wer, Was"):
        list(read(path, columns={"content": "What"}))


def test_a_table_that_grew_at_its_top_keeps_its_ids(tmp_path: Path) -> None:
    before = items(put(tmp_path, "a.csv", "text,date\nOne,2026-01-01\nTwo,2026-01-02\n"))
    after = items(
        put(tmp_path, "a.csv", "text,date\nNew,2026-01-03\nOne,2026-01-01\nTwo,2026-01-02\n")
    )
    assert [item["id"] for item in after[1:]] == [item["id"] for item in before]


def test_a_zip_of_slack_in_a_folder_is_read(tmp_path: Path) -> None:
    (tmp_path / "team").mkdir()
    slack_zip(tmp_path).rename(tmp_path / "team/export.zip")
    assert [item["content"] for item in items(tmp_path / "team")] == [ASKED, ANSWERED]


def test_what_a_model_thought_and_its_tools_said_is_no_text_of_open_webui(tmp_path: Path) -> None:
    thought = '<details type="reasoning" done="true"><summary>Thought</summary>\n&gt; Hm.</details>'
    called = '<details type="tool_calls" done="true">\n<summary>Tool</summary>"18 C"\n</details>'
    texts = [f"{thought}\nTram 28.", f"{called}It rains.", "<think>Hm.</think>Yes.", thought]
    messages = [
        {"id": f"m{n}", "role": "assistant", "content": text, "timestamp": SECONDS[0] + n}
        for n, text in enumerate(texts)
    ]
    put(tmp_path, "chats.json", [{"id": "c", "title": "T", "chat": {"messages": messages}}])
    said = [item["content"] for item in items(tmp_path / "chats.json")]
    assert said == ["Tram 28.", "It rains.", "Yes."]


def test_a_model_of_librechat_is_the_assistant(tmp_path: Path) -> None:
    messages = [
        {"messageId": "m1", "sender": "Eve", "text": "Hi", "isCreatedByUser": True},
        {"messageId": "m2", "sender": "GPT-4", "text": "Hello", "isCreatedByUser": False},
        {"messageId": "m3", "sender": "GPT-4", "text": "Hm"},
    ]
    put(tmp_path, "chat.json", {"conversationId": "c", "title": "T", "messages": messages})
    speakers = [item["speaker"] for item in items(tmp_path / "chat.json")]
    assert speakers == ["user", "assistant", "GPT-4"]


def test_a_chat_of_messenger_has_its_letters_its_order_and_its_times(tmp_path: Path) -> None:
    chat = {
        "participants": [{"name": "Zo\u00c3\u00ab"}, {"name": "Ben"}],
        "title": "Zo\u00c3\u00ab",
        "thread_path": "inbox/zoe_1",
        "messages": [
            {"sender_name": "Ben", "timestamp_ms": 1767348060000, "content": "caf\u00c3\u00a9?"},
            {"sender_name": "Zo\u00c3\u00ab", "timestamp_ms": 1767348000000, "content": "Hi"},
            {"sender_name": "Ben", "timestamp_ms": 1767348070000, "photos": [{"uri": "x.jpg"}]},
        ],
    }
    found = items(put(tmp_path, "message_1.json", chat))
    assert [(item["speaker"], item["content"]) for item in found] == [
        ("Zo\u00eb", "Hi"),
        ("Ben", "caf\u00e9?"),
    ]
    assert {item["session_id"] for item in found} == {"inbox/zoe_1"}
    assert found[0]["created_at"].isoformat() == "2026-01-02T10:00:00+00:00"


def test_chats_of_grok_and_of_google(tmp_path: Path) -> None:
    at = {"$date": {"$numberLong": "1767348000000"}}
    responses = [
        {"response": {"_id": "r1", "sender": "human", "message": "Paint it.", "create_time": at}},
        {"response": {"_id": "r2", "sender": "ASSISTANT", "message": "Done.", "create_time": at}},
    ]
    grok = {"conversations": [{"conversation": {"id": "c"}, "responses": responses}]}
    chunks = [
        {"role": "user", "text": "Paint it."},
        {"role": "model", "text": "They want paint.", "isThought": True},
        {"role": "model", "text": "Done."},
    ]
    studio = {"displayName": "Fence", "chunkedPrompt": {"chunks": chunks}}
    for name, document in (("grok", grok), ("ai-studio", studio)):
        path = put(tmp_path, f"{name}.json", document)
        assert read(path).format == name
        said = [(item["speaker"], item["content"]) for item in items(path)]
        assert said == [("user", "Paint it."), ("assistant", "Done.")]
    assert items(tmp_path / "grok.json")[0]["created_at"].year == 2026


def test_the_activity_of_gemini(tmp_path: Path) -> None:
    pytest.importorskip("markdownify", reason="the extra 'import' is not installed")
    activity = [
        {
            "header": "Gemini Apps",
            "title": "Prompted Which tram?",
            "time": f"2026-01-0{day}T10:00:00Z",
            "safeHtmlItem": [{"html": "<p>Line <b>28</b></p>"}],
        }
        for day in (2, 1)
    ]
    found = items(put(tmp_path, "MyActivity.json", activity))
    assert [item["content"] for item in found] == ["Which tram?", "Line **28**"] * 2
    assert [item["created_at"][:10] for item in found[1:3]] == ["2026-01-01", "2026-01-02"]


def test_rollouts_of_codex_without_times_outside_and_of_events_alone(tmp_path: Path) -> None:
    part = [{"type": "input_text", "text": "Paint it."}]
    said = {"type": "message", "role": "user", "timestamp": "2026-01-02T10:00:00Z", "content": part}
    meta = {"type": "session_meta", "payload": {"id": "s"}}
    event = {"type": "user_message", "message": "Paint it."}
    for lines in (
        [meta, {"type": "response_item", "payload": said}],
        [meta, {"type": "event_msg", "payload": event, "timestamp": "2026-01-02T10:00:00Z"}],
    ):
        path = put(tmp_path, "rollout.jsonl", "\n".join(map(json.dumps, lines)))
        [turn] = items(path)
        assert read(path).format == "codex"
        assert (turn["speaker"], turn["content"], turn["session_id"]) == ("user", "Paint it.", "s")
        assert str(turn["created_at"]).startswith("2026-01-02")


def test_a_mail_without_a_text_is_named_and_one_without_its_parts_is_read(tmp_path: Path) -> None:
    start = "From a@b Mon Jan  1 00:00:00 2024\nFrom: Ana <a@b>\n"
    picture = "Content-Type: image/png\nContent-Transfer-Encoding: base64\n\naGk=\n\n"
    parts = "Content-Type: multipart/mixed\n\nIts parts have no boundary.\n\n"
    found = read(put(tmp_path, "m.mbox", f"{start}{picture}{start}{parts}"))
    assert [item["content"] for item in found] == ["Its parts have no boundary."]
    assert found.blank == ["message 1 of m.mbox"]
