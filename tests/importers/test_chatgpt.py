import json
import re
import zipfile
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from salience.importers import ImportProblem
from support.imports import items, problem, put


def message(
    id: str, role: str, *parts: Any, time: float | None = None, **more: Any
) -> dict[str, Any]:
    return {
        "id": id,
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": time,
        "content": {"content_type": "text", "parts": list(parts)},
        "weight": 1.0,
        "metadata": {},
        "recipient": "all",
        **more,
    }


def tree(*nodes: tuple[str, str | None, dict[str, Any] | None]) -> dict[str, Any]:
    """A conversation of (name, parent, message) nodes."""
    mapping: dict[str, dict[str, Any]] = {
        name: {"id": name, "parent": parent, "children": [], "message": said}
        for name, parent, said in nodes
    }
    for name, parent, _ in nodes:
        if parent in mapping:
            mapping[parent]["children"].append(name)
    return {
        "title": "Greenhouse climate",
        "create_time": 1_767_225_600.5,
        "conversation_id": "c-1",
        "mapping": mapping,
        "current_node": nodes[-1][0],
    }


TALK = tree(
    ("root", None, None),
    ("sys", "root", message("m0", "system", "", metadata={})),
    ("u1", "sys", message("m1", "user", "What is VPD?", time=1_767_225_601.25)),
    ("old", "u1", message("m2", "assistant", "A first answer, thrown away.")),
    ("new", "u1", message("m3", "assistant", "The drying power of air.", time=1_767_225_609)),
)


def test_turns_of_the_current_branch(tmp_path: Path) -> None:
    first, second = items(put(tmp_path, "conversations.json", [TALK]))
    assert first == {
        "id": "m1",
        "content": "What is VPD?",
        "speaker": "user",
        "session_id": "c-1",
        "kind": "turn",
        "title": "Greenhouse climate",
        "created_at": datetime(2026, 1, 1, 0, 0, 1, 250_000, tzinfo=UTC),
        "metadata": {"imported_from": "chatgpt"},
    }
    assert (second["id"], second["speaker"]) == ("m3", "assistant")


def test_another_branch_when_it_is_the_current_one(tmp_path: Path) -> None:
    path = put(tmp_path, "conversations.json", [{**TALK, "current_node": "old"}])
    assert [item["id"] for item in items(path)] == ["m1", "m2"]


@pytest.mark.parametrize("current", [None, "gone", 3, ["new"]])
def test_without_a_current_node_the_newest_branch_is_read(tmp_path: Path, current: Any) -> None:
    path = put(tmp_path, "conversations.json", [{**TALK, "current_node": current}])
    assert [item["id"] for item in items(path)] == ["m1", "m3"]


def test_what_was_not_said_is_left_out(tmp_path: Path) -> None:
    thoughts = {"content_type": "thoughts", "thoughts": []}
    output = {"content_type": "execution_output", "text": "3"}
    hidden = {"is_visually_hidden_from_conversation": True}
    talk = tree(
        ("a", None, message("a", "system", "You are helpful.")),
        ("b", "a", message("b", "user", "About me", metadata=hidden)),
        ("c", "b", message("c", "user", "Add 1 and 2")),
        ("d", "c", message("d", "assistant", "print(1 + 2)", recipient="python")),
        ("e", "d", message("e", "tool", "3", content=output)),
        ("f", "e", message("f", "assistant", content=thoughts)),
        ("g", "f", message("g", "assistant", "", "  ")),
        ("h", "g", message("h", "assistant", "Dropped", weight=0.0)),
        ("i", "h", message("i", "assistant", "It is 3.", metadata={"model_slug": "x-1"})),
    )
    said = items(put(tmp_path, "conversations.json", [talk]))
    assert [item["id"] for item in said] == ["c", "i"]
    assert said[1]["metadata"]["model"] == "x-1"


def test_parts_that_are_not_text(tmp_path: Path) -> None:
    parts = [
        {"content_type": "image_asset_pointer", "asset_pointer": "file-service://f"},
        {"content_type": "audio_transcription", "text": "spoken words"},
        "typed words",
    ]
    content = {"content_type": "multimodal_text", "parts": parts}
    files = {"attachments": [{"name": "leaf.png", "id": "f"}, {"id": "g"}]}
    said = message("m", "user", content=content, metadata=files)
    [item] = items(put(tmp_path, "conversations.json", [tree(("a", None, said))]))
    assert item["content"] == "spoken words\n\ntyped words"
    assert item["metadata"]["attachments"] == ["leaf.png"]


def test_citations_are_taken_out(tmp_path: Path) -> None:
    text = "It rains\ue200cite\ue202turn0search1\ue201 a lot【4†source】."
    path = put(tmp_path, "conversations.json", [tree(("a", None, message("m", "assistant", text)))])
    assert items(path)[0]["content"] == "It rains a lot."


def test_a_message_without_time_has_that_of_the_one_before(tmp_path: Path) -> None:
    talk = tree(
        ("a", None, message("a", "user", "one")),
        ("b", "a", message("b", "assistant", "two", time=1_767_225_700)),
        ("c", "b", message("c", "user", "three")),
    )
    times = [item["created_at"].timestamp() for item in items(put(tmp_path, "c.json", [talk]))]
    assert times == [1_767_225_600.5, 1_767_225_700, 1_767_225_700]


@pytest.mark.parametrize("wrong", [1e20, float("nan"), True, [1]])
def test_a_wrong_time_is_passed_on_to_be_refused(tmp_path: Path, wrong: Any) -> None:
    talk = tree(
        ("u", None, message("m1", "user", "Hi", time=wrong)),
        ("a", "u", message("m2", "assistant", "Hello")),
    )
    first, second = items(put(tmp_path, "c.json", [talk]))
    assert repr(first["created_at"]) == repr(wrong)
    assert second["created_at"].timestamp() == talk["create_time"]


def test_a_zip_and_an_unpacked_export(tmp_path: Path) -> None:
    other = {**json.loads(re.sub(r'"m(\d)"', r'"n\1"', json.dumps(TALK))), "conversation_id": "c-2"}
    archive = tmp_path / "export.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("export/conversations-000.json", json.dumps([TALK]))
        file.writestr("export/conversations-001.json", json.dumps([other]))
        file.writestr("export/shared_conversations.json", "[1]")
        file.writestr("chat.html", "<html>")
    assert [item["session_id"] for item in items(archive)] == ["c-1"] * 2 + ["c-2"] * 2
    put(tmp_path, "folder/conversations.json", [TALK])
    assert len(items(tmp_path / "folder")) == 2


def test_a_circle_of_parents_ends(tmp_path: Path) -> None:
    talk = tree(("a", "b", message("a", "user", "x")), ("b", "a", message("b", "user", "y")))
    assert len(items(put(tmp_path, "conversations.json", [talk]))) == 2
    items(put(tmp_path, "conversations.json", [{**talk, "current_node": None}]))


def packed(name: str) -> bytes:
    content = BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.writestr(name, "x")
    return content.getvalue()


def test_damage_is_named(tmp_path: Path) -> None:
    archive = tmp_path / "empty.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("other.json", '{"a": 1}')
    assert "no file of a known format" in str(problem(put(tmp_path, "x.zip", packed("other.png"))))
    assert "other.json: is JSON of no known shape" in str(problem(archive))
    assert "not JSON" in str(problem(put(tmp_path, "conversations.json", "{oops"), "chatgpt"))
    assert "no list" in str(problem(put(tmp_path, "a.json", "3"), "chatgpt"))
    found = problem(put(tmp_path, "a.json", [TALK, {"title": "x"}]), "chatgpt")
    assert "conversation 2 has no mapping" in str(found)
    broken = archive.read_bytes()[:60]
    for name in ("broken.zip", "broken.json"):
        assert "is a zip cut short" in str(problem(put(tmp_path, name, broken), "chatgpt"))
    assert "is empty" in str(problem(put(tmp_path, "nothing.zip", b"")))


@pytest.mark.parametrize("packing", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_that_is_packed_otherwise_and_damaged_is_named(tmp_path: Path, packing: int) -> None:
    archive = tmp_path / "good.zip"
    with zipfile.ZipFile(archive, "w", packing) as file:
        file.writestr("conversations.json", json.dumps([TALK]))
    damaged = bytearray(archive.read_bytes())
    damaged[70:100] = b"\xff" * 30
    assert "cannot be unpacked" in str(problem(put(tmp_path, "bad.zip", bytes(damaged))))


def test_a_zip_with_a_name_that_is_no_text_is_named(tmp_path: Path) -> None:
    archive = tmp_path / "good.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("é.json", "[]")
    damaged = archive.read_bytes().replace("é".encode(), b"\xff\xff")
    assert "cannot be unpacked" in str(problem(put(tmp_path, "bad.zip", damaged)))


@pytest.mark.parametrize("packing", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_damaged_zip_is_named(tmp_path: Path, packing: int) -> None:
    archive = tmp_path / "good.zip"
    with zipfile.ZipFile(archive, "w", packing) as file:
        file.writestr("conversations.json", json.dumps([TALK]))
    sound = archive.read_bytes()
    for at in range(50, 250, 5):
        damaged = bytearray(sound)
        damaged[at] ^= 255
        assert "cannot be unpacked" in str(problem(put(tmp_path, "bad.zip", bytes(damaged))))


KEYS = (
    *("mapping", "current_node", "parent", "children", "message", "author", "role", "content"),
    *("parts", "text", "title", "metadata", "create_time", "id", "a"),
)
ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just("a"),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6)
    ),
    max_leaves=20,
)


@given(odd=ODD, node=ODD, said=ODD)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_nothing_but_an_import_problem_is_raised(
    tmp_path: Path, odd: Any, node: Any, said: str
) -> None:
    role = {"author": {"role": "user"}, "content": {"parts": said}, "metadata": said}
    for document in (
        odd,
        [odd],
        [{"mapping": odd}],
        [{"mapping": {"a": node, "b": {"message": role, "parent": odd, "children": said}}}],
        [{"mapping": {"a": {"message": {**role, "id": odd, "create_time": node}}}}],
    ):
        path = put(tmp_path, "conversations.json", document)
        try:
            found = items(path, "chatgpt")
        except ImportProblem:
            continue
        assert all(item["content"] and item["session_id"] for item in found)
