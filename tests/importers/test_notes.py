"""Links, tags and names of notes as Obsidian, Logseq, Notion, Roam and Org write them."""

from __future__ import annotations

import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from salience.importers import ImportProblem, detect, read
from support.imports import by_id, items, put

ID = "0123456789abcdef0123456789abcdef"
OTHER = "fedcba9876543210fedcba9876543210"


def targets(item: dict[str, Any]) -> list[str]:
    return [link["target"] for link in item["links"]]


def test_links_of_front_matter_and_of_markdown_lead_to_notes(tmp_path: Path) -> None:
    front = 'up: [[Pots]]\ncategories:\n  - "[[Pots]]"\nauthor: "[[Ana Reyes|Ana]]"'
    put(tmp_path, "v/a/Bowl.md", f"---\n{front}\n---\nSee [tools](<../Shed tools.md#Tongs>).")
    put(tmp_path, "v/Shed tools.md", "Ask [him](a/Bowl.md), [x](https://x.org/a.md), [y](pic.png).")
    put(tmp_path, "v/Pots.md", "Not `[here](a/Bowl.md)`; [gone](Gone%20note.md) and [[b/c]].")
    put(tmp_path, "v/a/b/c.md", "Text.")
    notes = by_id(tmp_path / "v")
    assert targets(notes["a/bowl"]) == ["pots", "ana-reyes", "shed-tools"]
    assert notes["a/bowl"]["metadata"]["unresolved_links"] == ["Ana Reyes"]
    assert targets(notes["shed-tools"]) == ["a/bowl"]
    assert targets(notes["pots"]) == ["a/b/c", "gone-note"]
    assert notes["pots"]["metadata"]["unresolved_links"] == ["Gone note"]


@pytest.mark.parametrize("name", ["Photo.png", "Plan.PDF", "Song.mp3", "Board.canvas"])
def test_pictures_and_other_files_are_no_memories(tmp_path: Path, name: str) -> None:
    [item] = items(put(tmp_path, "a.md", f"![[{name}]] and [[{name}|this]] and ![x]({name})"))
    assert (item["links"], item["metadata"]) == ([], {"path": "a.md"})


@pytest.mark.parametrize(
    ("body", "tags"),
    [
        ("- [Setup](#setup) and (#fix) and \"#quoted\" and <a href='#here'>", []),
        ("color: #336699, #b7dde8, #1a2 and #b7dde8ff", []),
        ("#facade #garden", ["facade", "garden"]),
        ("> ```c\n> #include <stdio.h>\n> ```\n\n> #said", ["said"]),
        ("~~~\n#code\n~~~\n#[[big purchase]] #clay", ["big purchase", "clay"]),
        ("page.md#part text#no 3#4 #yes/sub #2026goals", ["yes/sub", "2026goals"]),
    ],
)
def test_what_is_a_tag(tmp_path: Path, body: str, tags: list[str]) -> None:
    assert items(put(tmp_path, "a.md", body))[0]["tags"] == tags


def test_pages_journals_and_blocks_of_logseq(tmp_path: Path) -> None:
    block = "65f0a1b2-1111-2222-3333-444455556666"
    head = "title:: Kiln plan\ntags:: pottery, [[night]]\nalias:: Oven plan\n\n"
    plan = f"{head}- Ask [[Workshop/Tools]] on [[Dec 1st, 2025]]\n- See (({block}))"
    put(tmp_path, "pages/Kiln plan.md", plan)
    put(tmp_path, "pages/Workshop___Tools.md", f"- Tongs\n  id:: {block}\n- [[Oven plan]]")
    put(tmp_path, "journals/2025_12_01.md", "- Bought clay #[[big purchase]]")
    notes = by_id(tmp_path)
    plan_note = notes["pages/kiln-plan"]
    assert (plan_note["title"], plan_note["tags"]) == ("Kiln plan", ["pottery", "night"])
    assert plan_note["content"].startswith("- Ask")
    assert targets(plan_note) == ["pages/workshop-tools", "journals/2025-12-01"]
    assert notes["pages/workshop-tools"]["title"] == "Workshop/Tools"
    assert targets(notes["pages/workshop-tools"]) == ["pages/kiln-plan"]
    journal = notes["journals/2025-12-01"]
    assert (journal["tags"], journal["links"]) == (["big purchase"], [])
    assert journal["created_at"] == datetime(2025, 12, 1, tzinfo=UTC)


def put_notion(folder: Path) -> Path:
    fields = "Tags: clay, fire\nCreated: January 2, 2026 10:00 AM"
    kiln = f"# Kiln\n\n{fields}\n\nSee [T](Tools%20{OTHER}.md)."
    inner = folder / "part.zip"
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr(f"Export/Kiln {ID}.md", kiln)
        archive.writestr(f"Export/Tools {OTHER}.md", "# Tools\n\nTongs.")
        archive.writestr("Export/picture.png", b"\x89PNG")
    with zipfile.ZipFile(folder / "notion.zip", "w") as archive:
        archive.write(inner, "ExportBlock-Part-1.zip")
    inner.unlink()
    return folder / "notion.zip"


def test_pages_of_notion_keep_their_ids_and_links(tmp_path: Path) -> None:
    path = put_notion(tmp_path)
    assert detect(path) == "markdown"
    kiln, tools = items(path)
    assert (kiln["id"], kiln["title"], kiln["tags"]) == (ID, "Kiln", ["clay", "fire"])
    assert kiln["created_at"] == datetime(2026, 1, 2, 10, tzinfo=UTC)
    assert targets(kiln) == [tools["id"]] == [OTHER]
    assert "unresolved_links" not in kiln["metadata"]


def test_damage_in_a_zip_names_the_zip_and_the_part(tmp_path: Path) -> None:
    path = tmp_path / "notes.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("vault/a.md", "Fine.")
        archive.writestr("vault/b.md", "---\nx: [\n---\n")
        archive.writestr("../../out.md", "Stays inside.")
    told: list[ImportProblem] = []
    found = [item["content"] for item in read(path, None, told.append)]
    assert sorted(found) == ["Fine.", "Stays inside."]
    assert str(told[0]).startswith(f"{path}: vault/b.md, line 3: the front matter is not YAML")
    assert not (tmp_path.parent / "out.md").exists()


def test_a_graph_of_roam(tmp_path: Path) -> None:
    child = {"string": "Ask [[Tools]] #clay", "uid": "b2b2b2b2b"}
    first = {"string": "Fire at night", "uid": "a1a1a1a1a", "create-time": 1_767_348_000_000}
    pages = [
        {"title": "Kiln", "children": [{**first, "children": [child]}]},
        {"title": "Tools", "children": [{"string": "See ((a1a1a1a1a)) on [[January 3rd, 2026]]"}]},
        {"title": "January 3rd, 2026", "children": [{"string": "Rain", "heading": 2}]},
        {"title": "Empty"},
        {"children": []},
    ]
    path = put(tmp_path, "roam.json", pages)
    assert detect(path) == "roam"
    told: list[ImportProblem] = []
    notes = {item["title"]: item for item in read(path, None, told.append)}
    assert set(notes) == {"Kiln", "Tools", "January 3rd, 2026"}
    assert notes["Kiln"]["content"] == "- Fire at night\n  - Ask [[Tools]] #clay"
    assert notes["Kiln"]["created_at"] == datetime.fromtimestamp(1_767_348_000, UTC)
    assert notes["Kiln"]["tags"] == ["clay"]
    assert targets(notes["Kiln"]) == [notes["Tools"]["id"]]
    assert targets(notes["Tools"]) == [notes["January 3rd, 2026"]["id"], notes["Kiln"]["id"]]
    assert [problem.problem for problem in told] == ["item 5: has no text 'title'"]


def test_a_file_of_org(tmp_path: Path) -> None:
    text = (
        "#+TITLE: Kiln\n#+FILETAGS: :clay:fire:\n#+DATE: <2026-01-02 Fri>\n"
        ':PROPERTIES:\n:ID: k1\n:ROAM_ALIASES: Oven "The hot box"\n:END:\n'
        "* Schedule :night:\nFire it. "
        "See [[file:tools.org][the tools]], [[https://x.org][a page]].\n"
        "#+BEGIN_SRC c\n* no heading\n#+END_SRC\n"
    )
    put(tmp_path, "v/kiln.org", text)
    put(tmp_path, "v/tools.org", "* Tongs\nOf the [[id:k1][kiln]].")
    put(tmp_path, "v/ash.org", "From the [[roam:The hot box]].")
    put(tmp_path, "v/heat.org", "Of the [[Oven]].")
    notes = by_id(tmp_path / "v")
    kiln = notes["kiln"]
    assert (kiln["title"], kiln["tags"]) == ("Kiln", ["clay", "fire", "night"])
    assert kiln["created_at"] == datetime(2026, 1, 2, tzinfo=UTC)
    assert kiln["content"].startswith(
        "# Schedule\nFire it. See [the tools](<tools.org>), [a page]("
    )
    assert targets(kiln) == ["tools"]
    assert all(targets(notes[name]) == ["kiln"] for name in ("tools", "ash", "heat"))
    assert notes["tools"]["title"] == "tools"


def test_plain_texts_are_notes_by_their_path(tmp_path: Path) -> None:
    put(tmp_path, "t/a/key.txt", "The key is under the pot.")
    put(tmp_path, "t/b/key.txt", "# no heading")
    found = by_id(tmp_path / "t")
    assert set(found) == {"a/key", "b/key"}
    assert {item["title"] for item in found.values()} == {"key"}


def test_a_file_of_another_format_in_a_folder_of_notes_is_told_as_left_out(tmp_path: Path) -> None:
    put(tmp_path, "v/Bowl.md", "A bowl.")
    put(tmp_path, "v/chat.json", '[{"role": "user", "content": "Fire the kiln."}]')
    put(tmp_path, "v/settings.json", '{"theme": "dark"}')
    put(tmp_path, "v/prices.csv", "item,price\nbowl,3\n")
    told: list[ImportProblem] = []
    assert [item["content"] for item in read(tmp_path / "v", None, told.append)] == ["A bowl."]
    assert [problem.path for problem in told] == [tmp_path / "v" / "chat.json"]
    with pytest.raises(ImportProblem, match=r"chat\.json: is of the format jsonl"):
        list(read(tmp_path / "v"))


def test_each_file_of_a_folder_by_its_own_format_names_its_place_once(tmp_path: Path) -> None:
    put(tmp_path, "v/sub/Bowl.md", "A bowl.")
    put(tmp_path, "v/prices.csv", "content,tags\nA cup costs 3.,shop\n")
    places = {item["content"]: item.place for item in read(tmp_path / "v", "files")}
    assert places == {"A bowl.": "sub/Bowl.md", "A cup costs 3.": "prices.csv, line 2"}


def test_pages_of_html_are_read_as_their_text(tmp_path: Path) -> None:
    pytest.importorskip("markdownify", reason="the extra 'import' is not installed")
    page = "<html><head><title>x</title><style>p {}</style></head><body><h1>Kiln</h1>"
    page += "<p>1240 degrees</p><script>alert(1)</script></body></html>"
    (tmp_path / "a.html").write_text(page, encoding="utf-8")
    with zipfile.ZipFile(tmp_path / "Export.zip", "w") as archive:
        archive.writestr("Kiln 152bb52ee2b580179846fd78b2b60ea9.html", page)
        archive.writestr("Glazes 152bb52ee2b580179846fd78b2b60ea8.csv", "Name,Text\na,b\n")
    for name, format in (("a.html", None), ("a.html", "text"), ("Export.zip", None)):
        [note] = read(tmp_path / name, format)
        assert note["content"] == "# Kiln\n\n1240 degrees"


def test_a_note_of_a_zip_has_the_time_of_its_entry(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "n.zip", "w") as archive:
        archive.writestr(zipfile.ZipInfo("kiln.md", (2020, 5, 6, 7, 8, 10)), "# Kiln\nhot")
    [note] = read(tmp_path / "n.zip")
    assert note["created_at"].isoformat() == "2020-05-06T07:08:10+00:00"
    assert note.assumed == ("created_at",)
