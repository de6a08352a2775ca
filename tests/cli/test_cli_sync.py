"""Folders that are kept in step, and what a search shows of notes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from salience import Memory
from support.imports import put
from support.vaults import vault

if TYPE_CHECKING:
    from cli.conftest import Run


def paths(run: Run) -> dict[str, str]:
    """The ids of the notes by their paths."""
    listed = run("list", "--json", "--limit", "1000").json["memories"]
    return {each["metadata"]["path"]: each["id"] for each in listed}


def test_a_folder_is_kept_in_step(run: Run, tmp_path: Path) -> None:
    for name in ("Door", "Key", "Lamp", "deep/Roof"):
        put(tmp_path, f"n/{name}.md", f"About the {name}, see [[Key]].")
    assert run("import", "--sync", "n").out == "4 added, 0 rejected\n"
    assert run("import", "--sync", "n").out == "0 added, 4 unchanged, 0 rejected\n"
    before = paths(run)
    (tmp_path / "n/Door.md").rename(tmp_path / "n/Gate.md")  # renamed
    (tmp_path / "n/deep/Roof.md").unlink()  # moved and changed
    put(tmp_path, "n/Roof.md", "It leaks. See [[Gate]].")
    (tmp_path / "n/Lamp.md").unlink()
    put(tmp_path, "n/New.md", "See [[Gate]].")
    seen = run("import", "--sync", "n", "--dry-run")
    assert seen.out.splitlines() == [
        "rename Door.md to Gate.md",
        "rename deep/Roof.md to Roof.md",
        "update Gate.md",
        "add New.md",
        "update Roof.md",
        "delete Lamp.md",
        "1 added, 2 updated, 2 of them renamed, 1 deleted, 1 unchanged, 0 rejected",
    ]
    assert paths(run) == before
    ran = run("import", "--sync", "n")
    assert (ran.code, ran.out) == (0, seen.out.splitlines()[-1] + "\n")
    after = paths(run)
    assert set(after) == {"Gate.md", "Key.md", "New.md", "Roof.md"}
    assert (after["Gate.md"], after["Roof.md"]) == (before["Door.md"], before["deep/Roof.md"])
    links = run("get", after["New.md"], "--json").json
    assert links["metadata"].get("unresolved_links") is None
    assert run("import", "--sync", "n").out == "0 added, 4 unchanged, 0 rejected\n"


def ends() -> set[tuple[str, str, str]]:
    with Memory("memory.db") as memory:
        return {link.key for link in memory.links()}


def test_links_that_a_note_no_longer_has_go_and_those_made_otherwise_stay(
    run: Run, tmp_path: Path
) -> None:
    put(tmp_path, "n/Door.md", "---\nsee: '[[Lamp]]'\n---\nSee [[Key]] and [[Nowhere]].")
    put(tmp_path, "n/Key.md", "A key.")
    put(tmp_path, "n/Lamp.md", "A lamp. [[Key]]")
    run("import", "--sync", "n")
    run("link", "door", "key", "--type", "supports")
    run("update", "key", "--set", "speaker=Ana")
    assert run("import", "--sync", "n").out == "0 added, 3 unchanged, 0 rejected\n"
    (tmp_path / "n/Door.md").unlink()
    put(tmp_path, "n/deep/Door.md", "See [[Key]].")  # moved, and changed
    put(tmp_path, "n/Lamp.md", "A lamp.")
    seen = run("import", "--sync", "n", "--dry-run").out.splitlines()
    assert seen[:3] == ["rename Door.md to deep/Door.md", "update Lamp.md", "update deep/Door.md"]
    assert run("import", "--sync", "n").out == seen[-1] + "\n"
    assert ends() == {("door", "key", "mentions"), ("door", "key", "supports")}
    assert run("get", "key", "--json").json["speaker"] == "Ana"
    assert run("import", "--sync", "n").out == "0 added, 3 unchanged, 0 rejected\n"


def test_a_link_that_leads_elsewhere_now_is_an_update(run: Run, tmp_path: Path) -> None:
    put(tmp_path, "n/a.md", "See [[Lamp]].")
    put(tmp_path, "n/b.md", "---\naliases: [Lamp]\n---\nA lamp.")
    run("import", "--sync", "n")
    assert ends() == {("a", "b", "mentions")}
    put(tmp_path, "n/b.md", "A torch.")
    put(tmp_path, "n/c.md", "---\naliases: [Lamp]\n---\nA new lamp.")
    seen = run("import", "--sync", "n", "--dry-run").out.splitlines()
    assert seen == ["update a.md", "update b.md", "add c.md", "1 added, 2 updated, 0 rejected"]
    assert run("import", "--sync", "n").out == seen[-1] + "\n"
    assert ends() == {("a", "c", "mentions")}


def test_a_note_that_cannot_be_read_is_not_gone(run: Run, tmp_path: Path) -> None:
    put(tmp_path, "n/a.md", "Fine.")
    put(tmp_path, "n/b.md", "Whole.")
    run("import", "--sync", "n")
    put(tmp_path, "n/b.md", "---\ntitle: [\n---\nHalf")
    ran = run("import", "--sync", "n")
    assert (ran.code, ran.out) == (1, "0 added, 1 unchanged, 1 rejected\n")
    assert run("get", "b", "--json").json["content"] == "Whole."


def test_two_vaults_with_notes_of_one_name(run: Run, tmp_path: Path) -> None:
    put(tmp_path, "v1/Home.md", "Oil the hinges.")
    put(tmp_path, "v2/Home.md", "Feed the cat.")
    put(tmp_path, "v2/Cat.md", "See [[Home]].")
    assert run("import", "--sync", "v1").out == "1 added, 0 rejected\n"
    assert run("import", "--sync", "v2").out == "2 added, 0 rejected\n"
    assert run("import", "--sync", "v2").out == "0 added, 2 unchanged, 0 rejected\n"
    assert run("get", "home", "--json").json["content"] == "Oil the hinges."
    assert run("get", "v2/home", "--json").json["content"] == "Feed the cat."
    assert run("stats", "--json").json["links"] == 1
    (tmp_path / "v2/Home.md").unlink()
    assert "1 deleted" in run("import", "--sync", "v2").out
    assert run("get", "home", "--json").json["content"] == "Oil the hinges."


def test_notes_that_were_imported_before_go_on(run: Run, tmp_path: Path) -> None:
    put(tmp_path, "n/a.md", "One.")
    run("import", "n")
    assert run("import", "--sync", "n").out == "0 added, 1 updated, 0 rejected\n"
    assert run("import", "--sync", "n").out == "0 added, 1 unchanged, 0 rejected\n"


def test_a_watched_folder_follows_each_change(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "n/a.md", "One.")

    def watch(folder: Path, **options: object) -> Iterator[set[object]]:
        put(tmp_path, "n/b.md", "Two.")
        yield set()
        (tmp_path / "n/a.md").unlink()
        yield set()

    monkeypatch.setitem(sys.modules, "watchfiles", SimpleNamespace(watch=watch))
    ran = run("import", "--watch", "n")
    assert ran.out.splitlines() == [
        "1 added, 0 rejected",
        "1 added, 1 unchanged, 0 rejected",
        "0 added, 1 deleted, 1 unchanged, 0 rejected",
    ]
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    assert "pip install 'salience[watch]'" in run("import", "--watch", "n").err


def test_what_is_no_folder_of_notes_is_refused(run: Run, tmp_path: Path) -> None:
    put(tmp_path, "a.md", "One.")
    put(tmp_path, "chats/a.jsonl", {"messages": [{"role": "user", "content": "Hi"}]})
    for path in ("a.md", "chats"):
        assert "is not a folder of notes" in run("import", "--sync", path).err
    put(tmp_path, "n/a.md", "One.")
    assert "is for one folder" in run("import", "--sync", "n", "--update").err
    run("import", "--sync", "n")
    (tmp_path / "n/a.md").unlink()
    assert run("import", "--sync", "n").code == 2  # a folder that is not mounted deletes nothing
    assert run("get", "a").code == 0


def test_a_search_shows_title_and_path_of_a_note_without_marks(run: Run, tmp_path: Path) -> None:
    text = (
        "# The kiln\n\nIt is **hot**, see [[Shed rules|the rules]] and `wait`:\n\n- [ ] *Oil* it.\n"
    )
    put(tmp_path, "n/deep/Kiln.md", text)
    run("import", "n")
    shown = run("search", "Where is the hot kiln?").out
    assert "The kiln" in shown.splitlines()[0]
    assert shown.count("The kiln") == 1
    assert "It is hot, see the rules and wait: Oil it." in " ".join(shown.split())
    assert "deep/Kiln.md" in shown
    assert not set("#*[]`") & set(shown)


@pytest.mark.deep
def test_a_vault_of_two_hundred_notes(run: Run, tmp_path: Path) -> None:
    made = vault(tmp_path / "vault")
    ran = run("import", "--sync", "vault")
    assert (ran.code, ran.out) == (1, "200 added, 1 rejected\n")  # the template
    assert "Templates/Daily.md, line 2" in ran.err
    listed = run("list", "--json", "--limit", "1000").json["memories"]
    unresolved = sum(len(each["metadata"].get("unresolved_links", ())) for each in listed)
    assert unresolved == made.unresolved
    assert 1 - unresolved / made.links > 0.9
    assert {tag for each in listed for tag in each["tags"]} == {"workshop"}
    for number, path in enumerate(made.paths[:20]):
        moved = tmp_path / "vault" / "Archive" / f"{Path(path).stem} {number}.md"
        moved.parent.mkdir(exist_ok=True)
        (tmp_path / "vault" / path).rename(moved)
    ran = run("import", "--sync", "vault")
    assert "0 added" in ran.out
    assert "20 of them renamed" in ran.out
    assert "deleted" not in ran.out
    assert len(paths(run)) == 200
