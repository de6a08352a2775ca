import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from salience import Memory, SalienceError
from salience.importers import FORMATS, ImportProblem, conversation, detect, read
from support.imports import items, problem, put


def test_own_fields_pass_unchanged(tmp_path: Path) -> None:
    item = {
        "content": "Boards come from Brno.",
        "id": "f1",
        "speaker": "Ada",
        "session_id": "s",
        "agent_id": "a",
        "user_id": "u",
        "tags": ["x"],
        "metadata": {"k": 1},
        "importance": 0.5,
        "kind": "fact",
        "title": "T",
        "entities": ["Brno"],
        "created_at": "2026-03-01T10:00:00Z",
        "links": [{"target": "f0", "type": "supports", "weight": 0.5}],
    }
    assert items(put(tmp_path, "a.jsonl", json.dumps(item) + "\n")) == [item]


def test_aliases_stand_for_fields(tmp_path: Path) -> None:
    line = {"memory": "m", "session": "s", "timestamp": 1_750_000_000, "role": "user"}
    [item] = items(put(tmp_path, "a.jsonl", line))
    assert item == {
        "content": "m",
        "session_id": "s",
        "created_at": datetime.fromtimestamp(1_750_000_000, UTC),
        "speaker": "user",
    }


def test_a_field_wins_over_its_alias_which_is_kept_as_an_extra(tmp_path: Path) -> None:
    [item] = items(put(tmp_path, "a.jsonl", {"text": "alias", "content": "own", "mood": "calm"}))
    assert item == {"content": "own", "metadata": {"text": "alias", "mood": "calm"}}


def test_given_metadata_wins_over_extras(tmp_path: Path) -> None:
    [item] = items(
        put(tmp_path, "a.jsonl", {"text": "t", "mood": "calm", "metadata": {"mood": "wild"}})
    )
    assert item["metadata"] == {"mood": "wild"}


def test_what_a_store_wrote_out_comes_back_without_its_bookkeeping(tmp_path: Path) -> None:
    line = {
        "namespace": "default",
        "id": "1",
        "content": "c",
        "status": "active",
        "updated_at": "2026-01-01T00:00:00Z",
        "access_count": 3,
        "last_accessed": None,
    }
    assert items(put(tmp_path, "a.jsonl", line)) == [{"id": "1", "content": "c"}]


def test_milliseconds_are_told_from_seconds(tmp_path: Path) -> None:
    [item] = items(put(tmp_path, "a.jsonl", {"text": "t", "created_at": 1_750_000_000_000}))
    assert item["created_at"] == datetime.fromtimestamp(1_750_000_000, UTC)


def test_messages_become_turns_of_one_session(tmp_path: Path) -> None:
    line = {
        "session": "chat-7",
        "user_id": "u",
        "topic": "boards",
        "timestamp": "2026-01-01T00:00:00Z",
        "messages": [
            {"role": "user", "content": "Hello"},
            {"role": "assistant", "content": None, "tool_calls": []},
            {"role": "assistant", "content": [{"type": "text", "text": "Hi"}, {"image": 1}]},
            {"role": "user", "name": "Ada", "content": "Bye", "created_at": "2026-01-02"},
        ],
    }
    turns = items(put(tmp_path, "a.jsonl", line))
    assert [turn["content"] for turn in turns] == ["Hello", "Hi", "Bye"]
    assert [turn["speaker"] for turn in turns] == ["user", "assistant", "Ada"]
    assert {turn["session_id"] for turn in turns} == {"chat-7"}
    assert {turn["kind"] for turn in turns} == {"turn"}
    assert len({turn["id"] for turn in turns}) == 3
    assert all(turn["user_id"] == "u" for turn in turns)
    assert all(turn["metadata"]["topic"] == "boards" for turn in turns)
    assert [turn["created_at"][:10] for turn in turns] == ["2026-01-01"] * 2 + ["2026-01-02"]


def test_conversations_without_a_session_get_one_each(tmp_path: Path) -> None:
    line = json.dumps({"messages": [{"role": "user", "content": "Hello"}]})
    turns = items(put(tmp_path, "log.jsonl", f"{line}\n{line}\n"))
    assert len({turn["session_id"] for turn in turns}) == 2
    assert len({turn["id"] for turn in turns}) == 2


def conversation_of(*said: str) -> dict[str, Any]:
    roles = ("user", "assistant")
    return {"messages": [{"role": roles[n % 2], "content": text} for n, text in enumerate(said)]}


def test_files_of_one_name_do_not_collide(tmp_path: Path) -> None:
    january = put(tmp_path, "jan/chat.jsonl", conversation_of("Bought clay.", "ok", "How much?"))
    february = put(tmp_path, "feb/chat.jsonl", conversation_of("Sold the wheel.", "ok", "For 90."))
    found = [*items(january), *items(february)]
    assert len({item["id"] for item in found}) == 6
    assert len({item["session_id"] for item in found}) == 2


def test_an_export_that_grew_loses_and_repeats_nothing(tmp_path: Path) -> None:
    old = [conversation_of("Which clay?", "Stoneware.", "ok", "Good.", "ok"), conversation_of("Hi")]
    new = [conversation_of("Hi", "Hello!", "Sold it."), conversation_of("How hot?", "Very.")]
    grown = [*new, {"messages": [*old[0]["messages"], {"role": "user", "content": "ok"}]}, old[1]]
    before = items(put(tmp_path, "a.json", old))
    after = items(put(tmp_path, "a.json", grown))
    assert len({item["id"] for item in after}) == len(after) == len(before) + 6
    known = {item["id"]: item for item in after}
    for item in before:
        assert known[item["id"]]["content"] == item["content"]
        assert known[item["id"]]["session_id"] == item["session_id"]


def test_blank_lines_are_skipped_and_an_array_will_do(tmp_path: Path) -> None:
    assert len(items(put(tmp_path, "a.jsonl", '\n{"text":"a"}\n  \n{"text":"b"}'))) == 2
    assert len(items(put(tmp_path, "a.json", [{"text": "a"}, {"text": "b"}]))) == 2


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{broken", "not JSON"),
        ("[1, 2]", "not a JSON object but list"),
        ('"text"', "not a JSON object but str"),
        ('{"messages": ["hi"]}', "message 1 is not a JSON object but str"),
        ("[" * 100_000, "too deep"),
        ('{"content": ' + "1" * 5_000 + "}", "too large"),
    ],
)
def test_a_wrong_line_is_named_with_its_number(tmp_path: Path, line: str, said: str) -> None:
    path = put(tmp_path, "a.jsonl", '{"text":"fine"}\n\n' + line + "\n")
    found = problem(path)
    assert found.line == 3
    assert f"{path}, line 3: " in str(found)
    assert said in str(found)
    assert next(read(path)) == {"content": "fine"}


def test_a_wrong_element_of_an_array_is_counted(tmp_path: Path) -> None:
    assert "item 2: not a JSON" in str(problem(put(tmp_path, "a.json", [{"text": "a"}, 3])))


def test_what_has_no_content_is_refused_by_itself_and_named_by_its_place(tmp_path: Path) -> None:
    path = put(
        tmp_path, "a.jsonl", '{"text":"fine"}\n\n{"mood":"calm"}\n{"id":"x","content":" "}\n'
    )
    with Memory.open("ram://", embedder=None) as memory:
        added = memory.add_many(read(path))
    assert [item.id for item in added.rejected] == ["a:3", "x"]
    assert all("content: is missing" in item.reason for item in added.rejected)
    assert len(added.ids) == 1


def test_a_conversation_gives_the_same_ids_each_time(tmp_path: Path) -> None:
    said: list[dict[str, Any]] = [{"text": "Hello"}, {"text": "Hi", "id": "b"}, {"text": "Hello"}]
    before = [item["id"] for item in items(put(tmp_path, "talk.json", {"memories": said}))]
    assert len(set(before)) == 3
    assert before[1] == "b"
    grown = {"memories": [{"text": "Earlier"}, {"text": " "}, *said]}
    assert [item["id"] for item in items(put(tmp_path, "grown.json", grown))][1:] == before


def test_a_folder_of_conversations_is_no_single_import(tmp_path: Path) -> None:
    put(tmp_path, "talk.json", {"memories": [{"text": "Hello"}]})
    assert "each to a namespace of its own" in str(problem(tmp_path))


def test_what_can_be_read_only_once_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    assert "can be read only once" in str(problem(tmp_path / "pipe.jsonl"))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_any_encoding_is_read(tmp_path: Path, encoding: str) -> None:
    content = "Zuzana Kolářová, 18 °C – ok"
    source = json.dumps({"content": content}, ensure_ascii=False)
    path = put(tmp_path, "a.jsonl", f"{source}\r\n{source}\r\n", encoding)
    assert [item["content"] for item in items(path)] == [content] * 2


def test_a_latin_1_line_among_utf_8_is_read(tmp_path: Path) -> None:
    raw = '{"text":"naïve"}\n'.encode("latin-1") + '{"text":"naïve – ok"}\n'.encode()
    assert [i["content"] for i in items(put(tmp_path, "a.jsonl", raw))] == ["naïve", "naïve – ok"]


def test_lone_surrogates_and_nuls_do_not_get_through(tmp_path: Path) -> None:
    [item] = items(put(tmp_path, "a.jsonl", r'{"text": "a\u0000b \ud83d c"}'))
    assert item["content"] == "ab \ufffd c"
    item["content"].encode()


DOCUMENT = {
    "name": "two friends",
    "memories": [
        {
            "id": "d1:1",
            "text": "I bought a kayak.",
            "speaker": "Ann",
            "session": "s1",
            "created_at": "2026-05-01T10:00:00Z",
        },
        {"id": 2, "text": "Which colour?", "speaker": "Ben", "session": 1, "created_at": None},
        {"id": 3, "text": "  "},
    ],
    "queries": [
        {"id": "q1", "text": "What did Ann buy?", "category": "what", "relevant": ["d1:1"]},
        {"id": 2, "text": "Who asked?", "relevant": [2]},
    ],
}


def test_memories_are_turns(tmp_path: Path) -> None:
    first, second = items(put(tmp_path, "c.json", DOCUMENT))
    assert first == {
        "id": "d1:1",
        "content": "I bought a kayak.",
        "speaker": "Ann",
        "session_id": "s1",
        "kind": "turn",
        "created_at": "2026-05-01T10:00:00Z",
    }
    assert (second["id"], second["session_id"]) == ("2", "1")
    assert "created_at" not in second


@pytest.mark.parametrize("path", ["x" * 5_000, "no/such/file"])
def test_a_path_that_leads_nowhere_is_named(path: str) -> None:
    with pytest.raises(ImportProblem, match=f"^{path[:100]}"):
        items(path)


WRONG_TIMES = ["1e20", "1e400", "NaN", "true", "[1]", "{}", '"yesterday"']


@pytest.mark.parametrize("wrong", WRONG_TIMES)
@pytest.mark.parametrize(
    ("name", "line", "field"),
    [
        ("a.jsonl", '{"content": "x", "created_at": %s}', "created_at"),
        ("a.jsonl", '{"content": "x", "timestamp": %s}', "created_at"),
        ("a.jsonl", '{"content": "x", "valid_to": %s}', "valid_to"),
        ("a.jsonl", '{"content": "x", "expires_at": %s}', "expires_at"),
        ("a.jsonl", '{"messages": [{"content": "x", "created_at": %s}]}', "created_at"),
        ("c.json", '{"memories": [{"text": "x", "created_at": %s}]}', "created_at"),
    ],
)
def test_a_wrong_time_is_refused_with_its_field(
    tmp_path: Path, name: str, line: str, field: str, wrong: str
) -> None:
    with Memory.open("ram://", embedder=None) as memory:
        [item] = memory.add_many(read(put(tmp_path, name, line % wrong)))
    assert item.outcome == "REJECTED"
    assert item.reason.startswith(f"{field}: ")


@pytest.mark.parametrize("none", [None, "", " "])
def test_no_time_is_none(tmp_path: Path, none: str | None) -> None:
    line = {"created_at": "2026-01-01", "messages": [{"content": "x", "created_at": none}]}
    assert items(put(tmp_path, "a.jsonl", line))[0]["created_at"] == "2026-01-01"
    assert "valid_to" not in items(put(tmp_path, "a.jsonl", {"content": "x", "valid_to": none}))[0]
    document = {"memories": [{"text": "x", "created_at": none}]}
    assert "created_at" not in items(put(tmp_path, "c.json", document))[0]


def test_queries_name_the_memories_that_answer(tmp_path: Path) -> None:
    path = put(tmp_path, "c.json", DOCUMENT)
    first, second = conversation.queries(path)
    assert (first.id, first.category, first.relevant) == ("q1", "what", ("d1:1",))
    assert (second.category, second.relevant) == (None, ("2",))
    assert set(second.relevant) <= {item["id"] for item in items(path)}
    with pytest.raises(AttributeError):
        first.id = "other"  # type: ignore[misc]


def test_queries_may_be_missing_but_not_memories(tmp_path: Path) -> None:
    assert conversation.queries(put(tmp_path, "c.json", {"memories": []})) == ()
    assert '"memories"' in str(problem(put(tmp_path, "d.json", {"queries": []}), "conversation"))
    assert '"memories"' in str(problem(put(tmp_path, "e.json", [1]), "conversation"))


@pytest.mark.parametrize("memory", [{"id": "1"}, {"text": 4}, "text"])
def test_a_memory_without_text_is_counted(tmp_path: Path, memory: Any) -> None:
    path = put(tmp_path, "c.json", {"memories": [{"text": "fine"}, memory]})
    assert 'memory 2 has no "text"' in str(problem(path))


def test_broken_json_is_placed(tmp_path: Path) -> None:
    assert problem(put(tmp_path, "c.json", '{\n"memories": [\n}'), "conversation").line == 3


@pytest.mark.parametrize(
    ("name", "content", "format"),
    [
        ("a.jsonl", "", "jsonl"),
        ("a.NDJSON", "", "jsonl"),
        ("a.md", "", "markdown"),
        ("a.json", [{"title": "t", "mapping": {}}], "chatgpt"),
        ("a.json", {"name": "n", "memories": []}, "conversation"),
        ("a.json", [{"text": "t"}], "jsonl"),
        ("a.json", {"text": "t"}, "jsonl"),
        ("a.txt", '{"text": "t"}\n{"text": "u"}\n', "jsonl"),
        ("a.txt", "---\ntitle: x\n---\n", "markdown"),
        ("a", "# Heading\n", "markdown"),
        ("a.txt", "just words", "text"),
    ],
)
def test_the_format_is_told_by_ending_and_first_bytes(
    tmp_path: Path, name: str, content: Any, format: str
) -> None:
    assert detect(put(tmp_path, name, content)) == format


def test_a_folder_is_notes_or_an_export(tmp_path: Path) -> None:
    assert detect(put(tmp_path, "notes/a.md", "x").parent) == "markdown"
    assert detect(put(tmp_path, "export/conversations.json", [{"mapping": {}}]).parent) == (
        "chatgpt"
    )


def test_a_document_is_read_as_a_whole_in_any_encoding(tmp_path: Path) -> None:
    source = json.dumps([{"title": "é😀" * 40_000, "mapping": {}}], ensure_ascii=False)
    assert detect(put(tmp_path, "a.json", source, "utf-16")) == "chatgpt"
    assert detect(put(tmp_path, "a.json", json.dumps(json.loads(source), indent=1))) == "chatgpt"
    assert "not JSON" in str(problem(put(tmp_path, "b.json", source[:-20])))


def test_json_of_no_known_shape_says_what_it_is_and_what_is_nearest(tmp_path: Path) -> None:
    found = problem(put(tmp_path, "a.json", [{"uuid": "u", "sender": "human", "name": "x"}]))
    assert "a list that begins with an object with uuid, sender, name" in found.problem
    assert "the nearest format is claude-ai, which also has chat_messages" in found.remedy
    found = problem(put(tmp_path, "a.json", {"theme": "dark"}))
    assert "an object with theme; write it as JSON lines" in str(found)


def test_a_given_format_is_taken(tmp_path: Path) -> None:
    path = put(tmp_path, "a.bin", "just words")
    assert "no known format" in str(problem(path))
    assert items(path, "markdown")[0]["content"] == "just words"
    assert items(str(path), "markdown")


def test_problems_at_the_door_come_at_once(tmp_path: Path) -> None:
    with pytest.raises(ImportProblem, match="does not exist"):
        read(tmp_path / "nothing.md")
    with pytest.raises(ImportProblem, match="there is no format 'docx'; use one of jsonl"):
        read(put(tmp_path, "a.md", "x"), "docx")


def test_a_problem_is_a_value_error_and_one_of_ours() -> None:
    found = ImportProblem("a.jsonl", "not JSON", "repair it", line=17)
    assert str(found) == "a.jsonl, line 17: not JSON; repair it"
    assert isinstance(found, ValueError)
    assert isinstance(found, SalienceError)


@pytest.mark.parametrize("format", sorted(FORMATS))
@given(raw=st.binary(max_size=60) | st.text(max_size=40).map(str.encode))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_bytes_give_items_or_an_import_problem(tmp_path: Path, format: str, raw: bytes) -> None:
    try:
        found = items(put(tmp_path, "a.any", raw), format)
    except ImportProblem:
        return
    for item in found:
        assert item["content"].strip()
        item["content"].encode()


def test_every_item_is_accepted_by_a_memory(tmp_path: Path) -> None:
    said = {"author": {"role": "user"}, "content": {"parts": ["Hello"]}, "create_time": 1.7e9}
    put(tmp_path, "v/Heron.md", "---\ndate: 2026-01-01\nk: [1, {a: b}]\n---\n[[DB]] [[Nowhere]] #x")
    put(tmp_path, "v/DB.md", "# Long\n\n" + "words " * 5_000)
    put(tmp_path, "conversations.json", [{"mapping": {"a": {"message": said}}}])
    put(tmp_path, "c.json", DOCUMENT)
    put(
        tmp_path, "a.jsonl", {"text": "t", "odd": 1, "messages": [{"role": "user", "content": "x"}]}
    )
    with Memory.open("ram://", embedder=None) as memory:
        for name in ("v", "conversations.json", "c.json", "a.jsonl"):
            found = items(tmp_path / name)
            added = memory.add_many(found)
            assert not added.rejected, added.rejected
            assert len(added.ids) == len(found)


def test_a_question_and_its_answer_are_one_memory(tmp_path: Path) -> None:
    for names in ("question,answer,deck", "Front,Back,deck", "prompt,response,deck"):
        path = tmp_path / "cards.csv"
        path.write_text(f"{names}\nCapital of Peru?,Lima,geo\nCapital of Chad?,,geo\n", "utf-8")
        found = list(read(path))
        assert [item["content"] for item in found] == ["Capital of Peru?\nLima", "Capital of Chad?"]
        assert found[0]["metadata"] == {"deck": "geo"}


def test_json_with_one_key_of_a_format_is_not_called_near_it(tmp_path: Path) -> None:
    path = tmp_path / "n.json"
    path.write_text('{"cells": [], "metadata": {}, "nbformat": 4, "id": 1}', encoding="utf-8")
    with pytest.raises(ImportProblem) as caught:
        read(path)
    assert "nearest" not in str(caught.value)
