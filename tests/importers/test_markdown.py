import json
import os
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from salience import Memory
from salience.importers import ImportProblem, notes, read
from support.imports import by_id, items, problem, put


def test_a_note_with_front_matter(tmp_path: Path) -> None:
    path = put(
        tmp_path,
        "Board Supplier.md",
        "---\ntitle: Who makes the boards\ntags: [hardware, '#suppliers']\ndate: 2026-04-09\n"
        "price: 27.9\nreviewed: 2026-05-01\n---\n# Heading\n\nBrno it is. #decision\n",
    )
    [item] = items(path)
    assert item["id"] == "board-supplier"
    assert item["title"] == "Who makes the boards"
    assert item["content"] == "# Heading\n\nBrno it is. #decision"
    assert item["tags"] == ["hardware", "suppliers", "decision"]
    assert item["created_at"] == datetime(2026, 4, 9, tzinfo=UTC)
    assert item["kind"] == "note"
    assert item["metadata"] == {
        "price": 27.9,
        "reviewed": "2026-05-01",
        "path": "Board Supplier.md",
    }
    json.dumps(item["metadata"])


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("\n# The *real* one ##\n\n# Another", "The *real* one"),
        ("# Notes on C#\n", "Notes on C#"),
        ("# `main` and `run` #\n", "`main` and `run`"),
        ("---\nmood: calm\n---\n\n# Below the front matter\n", "Below the front matter"),
        ("---\ntitle: Written\n---\n# Heading\n", "Written"),
        ("text\n\n# Further down\n", "Plain Name"),
        ("## A section\n\ntext\n", "Plain Name"),
        ("```\n# no heading\n```\n", "Plain Name"),
        ("#tag and text", "Plain Name"),
        ("text", "Plain Name"),
    ],
)
def test_the_title_is_a_heading_on_the_first_line_else_the_name(
    tmp_path: Path, source: str, title: str
) -> None:
    assert items(put(tmp_path, "Plain Name.md", source))[0]["title"] == title


def test_the_time_is_of_the_front_matter_else_of_the_file(tmp_path: Path) -> None:
    path = put(tmp_path, "a.md", "text")
    os.utime(path, (1_700_000_000, 1_700_000_000))
    assert items(path)[0]["created_at"] == datetime.fromtimestamp(1_700_000_000, UTC)
    for value, meant in (
        ("20260409", datetime(2026, 4, 9, tzinfo=UTC)),
        ("1700000000", datetime.fromtimestamp(1_700_000_000, UTC)),
    ):  # which YAML takes for numbers
        assert items(put(tmp_path, "a.md", f"---\ndate: {value}\n---\nb"))[0]["created_at"] == meant
    for value in ("2026-04-09 12:30:00", "'2026-04-09T12:30:00Z'", "2026-04-09T14:30:00+02:00"):
        path = put(tmp_path, "a.md", f"---\ncreated: {value}\n---\ntext")
        assert items(path)[0]["created_at"] == datetime(2026, 4, 9, 12, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("some day in spring", "some day in spring"),
        ("2026", 2026),
        ("20261340", 20261340),
        ("99999999999999999999", "99999999999999999999"),
        ("1.0e+300", 1e300),
        (".nan", "nan"),
        ("true", True),
        ("[2026, 4]", [2026, 4]),
    ],
)
def test_a_date_that_is_none_is_kept_beside_that_of_the_file(
    tmp_path: Path, written: str, kept: object
) -> None:
    path = put(tmp_path, "a.md", f"---\ndate: {written}\n---\ntext")
    os.utime(path, (1_700_000_000, 1_700_000_000))
    [item] = items(path)
    assert item["created_at"] == datetime.fromtimestamp(1_700_000_000, UTC)
    assert item["metadata"]["date"] == kept
    with Memory.open("ram://", embedder=None) as memory:
        assert memory.add_many([item]).ids
    [item] = items(put(tmp_path, "b.md", f"---\ndate: {written}\ncreated: 2026-04-09\n---\nb"))
    assert item["created_at"] == datetime(2026, 4, 9, tzinfo=UTC)
    assert (item["metadata"]["date"], "created" in item["metadata"]) == (kept, False)


@pytest.mark.parametrize(
    ("body", "tags"),
    [
        ("a #tag, and #another/one-x.", ["tag", "another/one-x"]),
        ("#start of line #Über #2026 #2026plan", ["start", "Über", "2026plan"]),
        ("no#tag https://x.org/#anchor &#39; issue #42", []),
        ("`#code` and\n```\n#fence\n```\n#real", ["real"]),
        ("[[Note#Heading]] #real #real", ["real"]),
    ],
)
def test_tags_in_the_text(tmp_path: Path, body: str, tags: list[str]) -> None:
    assert items(put(tmp_path, "a.md", body))[0]["tags"] == tags


def test_links_find_notes_by_path_name_title_and_alias(tmp_path: Path) -> None:
    put(
        tmp_path,
        "vault/Heron.md",
        "See [[people/Seun Adebayo]], [[seun adebayo|him]], [[The DB#Why]].",
    )
    put(
        tmp_path,
        "vault/people/Seun Adebayo.md",
        "---\naliases: [Seun, S. A.]\n---\n[[Heron]] [[Heron]]",
    )
    put(
        tmp_path,
        "vault/db.md",
        "# The DB\n\nAsk [[Seun]]. Not `[[Heron]]`. Table: [[Heron\\|h]]. [[#Why]]",
    )
    notes = by_id(tmp_path / "vault")
    assert set(notes) == {"heron", "people/seun-adebayo", "db"}
    targets = {id: [link["target"] for link in note["links"]] for id, note in notes.items()}
    assert targets == {
        "heron": ["people/seun-adebayo", "db"],
        "people/seun-adebayo": ["heron"],
        "db": ["people/seun-adebayo", "heron"],
    }
    assert notes["heron"]["links"][0] == {
        "target": "people/seun-adebayo",
        "type": "mentions",
        "weight": 1.0,
    }
    assert all("unresolved_links" not in note["metadata"] for note in notes.values())


def test_unresolved_links_are_kept_and_listed(tmp_path: Path) -> None:
    [item] = items(put(tmp_path, "a.md", "[[Not Yet Written]] and [[a]] and ![[Photo.png]]"))
    assert [link["target"] for link in item["links"]] == ["not-yet-written"]
    assert item["metadata"]["unresolved_links"] == ["Not Yet Written"]


def test_a_file_name_wins_over_a_title(tmp_path: Path) -> None:
    put(tmp_path, "v/one.md", "---\ntitle: two\n---\ntext")
    put(tmp_path, "v/two.md", "text")
    put(tmp_path, "v/three.md", "[[two]]")
    assert by_id(tmp_path / "v")["three"]["links"][0]["target"] == "two"


def test_equal_slugs_are_told_apart(tmp_path: Path) -> None:
    put(tmp_path, "v/A b.md", "first")
    put(tmp_path, "v/a-b.md", "second")
    assert set(by_id(tmp_path / "v")) == {"a-b", "a-b-2"}


def test_hidden_files_and_other_files_are_left_out(tmp_path: Path) -> None:
    put(tmp_path, "v/.trash/old.md", "old")
    put(tmp_path, "v/.hidden.md", "hidden")
    put(tmp_path, "v/image.png", b"\x89PNG\0\0")
    put(tmp_path, "v/deep/er/note.MARKDOWN", "kept")
    assert set(by_id(tmp_path / "v")) == {"deep/er/note"}


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("2026-01-10", datetime(2026, 1, 10, tzinfo=UTC)),
        ("2026-01-10 Meeting", datetime(2026, 1, 10, tzinfo=UTC)),
        ("Meeting of 2026-01-10, part 2", datetime(2026, 1, 10, tzinfo=UTC)),
        ("2026_01_10", datetime(2026, 1, 10, tzinfo=UTC)),
        ("2026.01.10", datetime(2026, 1, 10, tzinfo=UTC)),
        ("20260110-notes", datetime(2026, 1, 10, tzinfo=UTC)),
        ("IMG_20260110_0815", datetime(2026, 1, 10, tzinfo=UTC)),
        ("202601101530 Zettel", datetime(2026, 1, 10, 15, 30, tzinfo=UTC)),
        ("20260110T153012", datetime(2026, 1, 10, 15, 30, tzinfo=UTC)),
        ("2026-13-45 then 2026-01-10", datetime(2026, 1, 10, tzinfo=UTC)),
        *(
            (name, None)
            for name in ("2026-01", "2026-02-30", "v20260110", "120260110", "2026-01.10")
        ),
        *((name, None) for name in ("20260110999", "31122026", "2026-01-101", "99999999")),
    ],
)
def test_a_date_in_the_name_of_the_file_is_its_time(
    tmp_path: Path, name: str, meant: datetime | None
) -> None:
    path = put(tmp_path, f"{name}.md", "text")
    os.utime(path, (1_700_000_000, 1_700_000_000))
    [item] = items(path)
    assert item["created_at"] == (meant or datetime.fromtimestamp(1_700_000_000, UTC))
    assert item.assumed == (() if meant else ("created_at",))
    [item] = items(put(tmp_path, f"{name}.md", "---\ndate: 2020-02-02\n---\ntext"))
    assert item["created_at"] == datetime(2020, 2, 2, tzinfo=UTC)
    [item] = items(put(tmp_path, f"{name}.md", "---\ndate: soon\n---\ntext"))
    assert meant is None or item["created_at"] == meant


def test_blank_notes_are_skipped_and_listed(tmp_path: Path) -> None:
    put(tmp_path, "v/Stub.md", "")
    put(tmp_path, "v/deep/2026-01-10.md", "---\ndate: 2026-01-10\ntags: []\nmood:\n---\n \n\n")
    put(tmp_path, "v/Ana.md", "---\naliases: [Anna]\n---\n")
    put(tmp_path, "v/b.md", "[[Stub]] [[Anna]]")
    notes = read(tmp_path / "v")
    by_id = {item["id"]: item for item in notes}
    assert set(by_id) == {"ana", "b"}
    assert notes.blank == ["Stub.md", "deep/2026-01-10.md"]
    assert by_id["ana"]["content"] == "Ana"
    assert by_id["b"]["metadata"]["unresolved_links"] == ["Stub"]


def test_a_long_note_is_divided_at_headings_and_its_parts_linked(tmp_path: Path) -> None:
    sections = [f"## Section {n}\n\n" + f"word{n} " * 1_500 for n in range(6)]
    body = "# Diary\n\n[[Elsewhere]]\n\n" + "\n\n".join(sections)
    parts = items(put(tmp_path, "diary.md", body))
    assert len(parts) > 1
    assert all(len(part["content"]) <= notes.MAX_NOTE_CHARACTERS for part in parts)
    assert [part["id"] for part in parts[:2]] == ["diary", "diary#2"]
    assert parts[0]["title"] == "Diary"
    assert all(part["content"].startswith("## Section") for part in parts[1:])
    assert parts[1]["title"].startswith("Diary: Section")
    for before, part in pairwise(parts):
        assert [link["target"] for link in part["links"]] == [before["id"]]
        assert part["metadata"]["parts"] == len(parts)
    assert [link["target"] for link in parts[0]["links"]] == ["elsewhere"]
    joined = "".join(part["content"] for part in parts)
    assert joined.replace("\n", "").replace(" ", "") == body.replace("\n", "").replace(" ", "")


def test_a_long_note_without_headings_is_divided_all_the_same(tmp_path: Path) -> None:
    paragraphs = items(put(tmp_path, "a.md", ("word " * 1_000 + "\n\n") * 20))
    assert all(part["content"].endswith("word") for part in paragraphs)
    wall = items(put(tmp_path, "b.md", "x" * 45_000))
    assert [len(part["content"]) for part in wall] == [20_000, 20_000, 5_000]


def test_a_note_of_the_longest_length_stays_whole(tmp_path: Path) -> None:
    assert len(items(put(tmp_path, "a.md", "x" * notes.MAX_NOTE_CHARACTERS))) == 1


@pytest.mark.parametrize("rule", ["---\nonly a rule", "---\njust words\n---\nbody", "--- x\n---"])
def test_a_rule_is_not_front_matter(tmp_path: Path, rule: str) -> None:
    assert items(put(tmp_path, "a.md", rule))[0]["content"] == rule


@pytest.mark.parametrize(
    ("front", "line"),
    [("title: a: b", 2), ("a: 1\nb: [1, 2", 4), ("x: 2026-13-45", None), ("{[1]: 2}", None)],
)
def test_broken_front_matter_is_named(tmp_path: Path, front: str, line: int | None) -> None:
    found = problem(put(tmp_path, "a.md", f"---\n{front}\n---\ntext"))
    assert "front matter is not YAML" in str(found)
    assert line is None or found.line == line


@given(st.text(alphabet="ab:,[]{}&*!|>-#'\"%@ \n0.~", max_size=40))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@example("a: &x [*x]")
@example("? [a]\n: b")
@example("a: !!binary YQ==")
@example("a: .nan")
@example("a: !!python/object:os.system x")
def test_any_front_matter_gives_a_note_or_an_import_problem(tmp_path: Path, front: str) -> None:
    path = put(tmp_path, "a.md", f"---\n{front}\n---\ntext #tag [[link]]")
    try:
        [item] = items(path)
    except ImportProblem:
        return
    json.dumps(item["metadata"], allow_nan=False)
    assert item["content"].endswith("text #tag [[link]]")


def test_odd_front_matter_is_read(tmp_path: Path) -> None:
    front = "tags:\n  - 2026\n  -\naliases: one, two\n1: x\nempty:\nnested: {d: 2026-01-01}\n"
    [item] = items(put(tmp_path, "a.md", f"---\n{front}---\ntext"))
    assert item["tags"] == ["2026"]
    assert item["metadata"]["nested"] == {"d": "2026-01-01"}
    json.dumps(item["metadata"])


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_any_encoding_is_read(tmp_path: Path, encoding: str) -> None:
    source = "---\r\ntitle: Café\r\n---\r\nÅlesund – 14 °C\r\n\r\nend"
    [item] = items(put(tmp_path, "a.md", source, encoding))
    assert item["title"] == "Café"
    assert item["content"] == "Ålesund – 14 °C\n\nend"


def test_binary_is_refused(tmp_path: Path) -> None:
    assert "is not text" in str(problem(put(tmp_path, "a.md", b"\x89PNG\0" + b"abcdefgh" * 20)))


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    assert "holds no notes" in str(problem(tmp_path))


@pytest.mark.parametrize("entry", ["[*a{0}, *a{0}, *a{0}, *a{0}]", "{{<<: [*a{0}, *a{0}, *a{0}]}}"])
def test_aliases_nested_without_end_are_refused(tmp_path: Path, entry: str) -> None:
    lines = [f"a{i + 1}: &a{i + 1} {entry.format(i)}" for i in range(40)]
    front = "\n".join(["a0: &a0 {k: v}", *lines])
    found = problem(put(tmp_path, "a.md", f"---\n{front}\n---\nbody"))
    assert "more than 100,000 values" in str(found)


def test_a_few_aliases_are_read(tmp_path: Path) -> None:
    [item] = items(put(tmp_path, "a.md", "---\nx: &x [1, 2]\ny: [*x, *x]\n---\nbody"))
    assert item["metadata"]["y"] == [[1, 2], [1, 2]]


def test_what_is_no_text_stays_in_the_metadata(tmp_path: Path) -> None:
    front = "title: [a, b]\ntags: [x, {a: b}, 7, true]\ntag: {a: b}"
    [item] = items(put(tmp_path, "a.md", f"---\n{front}\n---\n# Heading\n\ntext"))
    assert (item["title"], item["tags"]) == ("Heading", ["x", "7"])
    kept = {name: item["metadata"][name] for name in ("title", "tags", "tag")}
    assert kept == {"title": ["a", "b"], "tags": ["x", {"a": "b"}, 7, True], "tag": {"a": "b"}}
    [item] = items(put(tmp_path, "a.md", "---\ntitle: 7\ntags:\n---\ntext"))
    assert (item["title"], item["tags"]) == ("7", [])
    assert item["metadata"] == {"path": "a.md"}


def test_a_note_without_letters_in_its_name_goes_by_that_name(tmp_path: Path) -> None:
    put(tmp_path, "v/🐢.md", "A turtle.")
    put(tmp_path, "v/b.md", "[[Note]] [[🐢]] [[🦊]]")
    put(tmp_path, "v/deep/🐢🐢.md", "Two turtles.")
    put(tmp_path, "v/c.md", "[[deep]] [[deep/🦊]]")
    notes = by_id(tmp_path / "v")
    assert set(notes) == {"🐢", "deep/🐢🐢", "b", "c"}
    assert [link["target"] for link in notes["b"]["links"]] == ["note", "🐢", "🦊"]
    assert [link["target"] for link in notes["c"]["links"]] == ["deep", "deep/🦊"]
    assert notes["c"]["metadata"]["unresolved_links"] == ["deep", "deep/🦊"]


def test_all_notes_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    for number in range(12):
        put(tmp_path, f"v/sub/n{number:02}.md", "---\na: 1\nb: {\n---\n")
    put(tmp_path, "v/whole.md", "whole")
    said = str(problem(tmp_path / "v"))
    assert "12 notes cannot be read: sub/n00.md, line " in said
    assert "sub/n09.md" in said
    assert "and 2 more" in said
    told: list[ImportProblem] = []
    assert [item["id"] for item in read(tmp_path / "v", left_out=told.append)] == ["whole"]
    assert [each.path.name for each in told] == [f"n{number:02}.md" for number in range(12)]


@pytest.mark.parametrize(
    ("front", "line"),
    [
        ("a: 1\nx: [1, {y: 2026-13-45}]", 3),
        ("a: 1\n\nb: 2026-02-30", 4),
        ("x: 2026-01-01 25:00:00", 2),
    ],
)
def test_a_date_that_cannot_be_is_named_with_its_line(
    tmp_path: Path, front: str, line: int
) -> None:
    found = problem(put(tmp_path, "a.md", f"---\n{front}\n---\ntext"))
    assert found.line == line
    assert "2026-" in found.problem
