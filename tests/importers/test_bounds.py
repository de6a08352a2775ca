"""Files that would fill the memory, hang or lead elsewhere are refused; the rest is read."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from salience import Memory, importers
from salience.errors import SalienceError
from salience.importers import ImportProblem, _source

MANY_DIGITS = "9" * 400


def contents(path: Path, left_out: Any = None) -> list[str]:
    return [item["content"] for item in importers.read(path, None, left_out)]


def test_numbers_of_four_hundred_digits(tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_text(
        f'{{"content": "one", "created_at": {MANY_DIGITS}}}\n'
        f'{{"content": "two", "importance": {MANY_DIGITS}}}\n'
        f'{{"content": "three", "metadata": {{"n": {MANY_DIGITS}}}}}\n'
        f'{{"content": "four", "created_at": {"9" * 5_000}}}\n'
        '{"content": "five"}\n'
    )
    left_out: list[ImportProblem] = []
    items = list(importers.read(path, None, left_out.append))
    assert [item["content"] for item in items] == ["one", "two", "three", "five"]
    assert [problem.line for problem in left_out] == [4]
    with Memory.open("ram://", embedder=None) as memory:
        added = memory.add_many(items)
        assert [each.id is not None for each in added] == [False, False, False, True]
        for item, field in zip(items, ("created_at", "importance", "metadata.n"), strict=False):
            with pytest.raises(SalienceError, match=field):
                memory.add_many([item], strict=True)


def test_a_time_of_four_hundred_digits_in_a_chat(tmp_path: Path) -> None:
    message: dict[str, Any] = {"id": "m", "author": {"role": "user"}, "create_time": 10**400}
    message["content"] = {"parts": ["hello"]}
    mapping: dict[str, Any] = {"a": {"message": message, "parent": None, "children": []}}
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([{"create_time": 10**400, "mapping": mapping}]))
    [item] = importers.read(path)
    with (
        Memory.open("ram://", embedder=None) as memory,
        pytest.raises(SalienceError, match="created_at"),
    ):
        memory.add_many([item], strict=True)


def test_a_zip_that_unpacks_to_far_more_than_text_does(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", b" " * 100_000_000)
    with pytest.raises(ImportProblem, match=r"conversations.json is 100,000,000 bytes made of"):
        contents(path)


def test_a_file_that_is_too_large_to_be_read_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_source, "MAX_DOCUMENT_BYTES", 1_000)
    path = tmp_path / "note.md"
    path.write_text("# Tea\n" + "Green tea. " * 100)
    with pytest.raises(ImportProblem, match="more than 1,000 bytes, too many to read as a whole"):
        contents(path)
    archive = tmp_path / "export.zip"
    with zipfile.ZipFile(archive, "w") as whole:
        whole.writestr("conversations.json", " " * 1_001)
    with pytest.raises(ImportProblem, match=r"conversations.json has more than 1,000 bytes"):
        contents(archive)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_line_that_is_too_long_is_left_out(
    encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_source, "MAX_LINE_CHARACTERS", 50)
    path = tmp_path / "notes.jsonl"
    texts = ["one", "a long one " * 20, "x" * 30, "three"]
    path.write_text("\n".join(json.dumps({"content": text}) for text in texts), encoding)
    left_out: list[ImportProblem] = []
    assert contents(path, left_out.append) == ["one", "x" * 30, "three"]
    assert [(problem.line, problem.problem) for problem in left_out] == [
        (2, "has more than 50 characters")
    ]
    with pytest.raises(ImportProblem, match="line 2: has more than 50 characters; divide it"):
        contents(path)


def test_a_folder_gives_nothing_from_outside(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("The password is 1234.")
    (tmp_path / "secret.jsonl").write_text("{}")
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "tea.md").write_text("Green tea.")
    (vault / "again.md").symlink_to("tea.md")
    (vault / "elsewhere.md").symlink_to(tmp_path / "secret.md")
    with pytest.raises(ImportProblem, match=r"elsewhere.md.*leads out of the folder"):
        contents(vault)
    left_out: list[ImportProblem] = []
    assert contents(vault, left_out.append) == ["Green tea.", "Green tea."]
    assert [problem.path.name for problem in left_out] == ["elsewhere.md"]
    assert contents(vault / "elsewhere.md") == ["The password is 1234."]  # it was asked for


def test_a_folder_of_an_export_or_of_transcripts_neither(tmp_path: Path) -> None:
    (tmp_path / "outside.json").write_text("[]")
    for name in ("conversations.json", "session.jsonl"):
        folder = tmp_path / name.partition(".")[0]
        folder.mkdir()
        (folder / name).symlink_to(tmp_path / "outside.json")
        format = "chatgpt" if name.startswith("conv") else "claude-code"
        with pytest.raises(ImportProblem, match="leads out of the folder"):
            list(importers.read(folder, format))
