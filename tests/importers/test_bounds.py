"""Files that would fill the memory, hang or lead elsewhere are refused; the rest is read."""

from __future__ import annotations

import json
import os
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
    (vault / "loop.md").symlink_to("loop.md")
    assert contents(vault, left_out.append) == ["Green tea.", "Green tea."]
    assert left_out[-1].path.name == "loop.md"
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


@pytest.mark.parametrize(
    "parts",
    [
        [("a.md", "one"), ("a.md", "two"), ("a.md", "three")],
        [("a:b.md", "one"), ("a?b.md", "two"), ("a*b.md", "three")],
        [("a.md/b.md", "one"), ("a.md", "two"), ("c.md", "three")],
        [("a.md", "one"), ("a.md/b.md", "two"), ("a.md/c.md", "three")],
        [("../a.md", "one"), ("a.md", "two"), ("/a.md", "three")],
        [("n" * 300 + ".md", "one"), ("n" * 301 + ".md", "two"), ("ü" * 200 + "/x.md", "three")],
        [(" .md", "one"), ("sub/a.md", "two"), ("sub//a.md", "three")],
    ],
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_no_part_of_a_zip_takes_the_place_of_another(
    tmp_path: Path, parts: list[tuple[str, str]]
) -> None:
    inner, archive = tmp_path / "inner.zip", tmp_path / "export.zip"
    for path, more in ((inner, []), (archive, [("inner.zip", inner)])):
        with zipfile.ZipFile(path, "w") as file:
            for name, text in parts:
                file.writestr(name, f"{text} {path.stem}")
            for name, other in more:
                file.write(other, name)
    told = sorted(contents(archive))
    assert told == sorted(f"{text} {own}" for _, text in parts for own in ("export", "inner"))


def test_a_part_of_a_zip_that_is_damaged_takes_no_other_along(tmp_path: Path) -> None:
    archive, left_out = tmp_path / "export.zip", list[ImportProblem]()
    with zipfile.ZipFile(archive, "w") as file:
        for name in ("good.md", "bad.md", "other.md"):
            file.writestr(name, f"the text of {name}")
        file.writestr("inner.zip", "no zip at all")
    archive.write_bytes(archive.read_bytes().replace(b"the text of bad", b"another text of", 1))
    assert contents(archive, left_out.append) == ["the text of good.md", "the text of other.md"]
    assert ["bad.md cannot be unpacked" in str(left_out[0]), len(left_out)] == [True, 2]
    with pytest.raises(ImportProblem, match=r"bad.md cannot be unpacked"):
        contents(archive)


@pytest.mark.parametrize("count", [1, 3])
def test_a_small_zip_of_much_text_is_refused(tmp_path: Path, count: int) -> None:
    """However it is divided, and though no part of it grows more than text can."""
    archive, size = tmp_path / "export.zip", _source.most_unpacked(0) // count + 1
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for number in range(count):
            file.writestr(f"{number}.md", b"tea " * (size // 4 + 1))
    with pytest.raises(ImportProblem, match=r"as no text (is|does); unpack it"):
        contents(archive)


MAIL = (
    "From a@b Mon Jan  1 00:00:00 2024\nFrom: {0} <a@b>\nSubject: {0}\nContent-Type: {1}\n\n"
    "the mail of {0}é\n\n"
)


def of_mail(tmp_path: Path, *mails: str) -> Path:
    path = tmp_path / "all.mbox"
    path.write_text("".join(mails), "utf-8")
    return path


@pytest.mark.parametrize(
    "kind", ["text/plain; charset=x-unknown", "text/plain; charset=ascii", "text/plain; charset=''"]
)
def test_a_mail_of_an_unknown_character_set_is_read(tmp_path: Path, kind: str) -> None:
    known = "text/plain; charset=utf-8"
    path = of_mail(
        tmp_path, MAIL.format("Ana", known), MAIL.format("Ben", kind), MAIL.format("Cy", known)
    )
    told = [text.replace("\ufffd\ufffd", "é") for text in contents(path)]
    assert [f"the mail of {name}é" in told[at] for at, name in enumerate(("Ana", "Ben", "Cy"))]
    assert len(told) == 3


def test_a_mail_that_is_nested_without_end_takes_no_other_along(tmp_path: Path) -> None:
    deep = "".join(
        f"Content-Type: multipart/mixed; boundary=B{n}\n\n--B{n}\n" for n in range(3_000)
    )
    first = "From a@b Mon Jan  1 00:00:00 2024\nFrom: a@b\nSubject: s\n"
    path = of_mail(tmp_path, MAIL.format("Ana", "text/plain"), f"{first}{deep}\n\ndeep\n\n")
    left_out: list[ImportProblem] = []
    assert len(contents(path, left_out.append)) == 1
    assert "message 2 cannot be read: its parts are nested too deep" in str(left_out[0])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has none")
def test_what_is_no_file_is_named_and_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("own note")
    os.mkfifo(tmp_path / "b.md")
    (tmp_path / "c.md").symlink_to("nothing.md")
    left_out: list[ImportProblem] = []
    assert contents(tmp_path, left_out.append) == ["own note"]
    assert [problem.within(tmp_path) for problem in left_out] == ["b.md", "c.md"]
    with pytest.raises(ImportProblem, match="can be read only once"):
        contents(tmp_path / "b.md")
