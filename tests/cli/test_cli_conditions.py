"""Conditions on fields as options, and the commands on tags, entities, links and decay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from salience import Memory

if TYPE_CHECKING:
    from cli.conftest import Run

ITEMS: list[dict[str, Any]] = [
    {"id": "a", "content": "Ana cooks rice.", "tags": ["cooking", "home"], "user_id": "ana"},
    {"id": "b", "content": "Ben cooks soup.", "tags": ["Cooking"], "user_id": "ben"},
    {
        "id": "c",
        "content": "Ana reads.",
        "kind": "fact",
        "user_id": "ana",
        "title": "A book",
        "importance": 0.75,
    },
    {"id": "d", "content": "Hi.", "session_id": "s", "speaker": "Ana", "created_at": "2020-01-01"},
]
CONDITIONS = [
    (("--tag", "cooking"), "ab"),
    (("--tag", "cooking", "--tag", "home"), "a"),
    (("--kind", "fact"), "c"),
    (("--speaker", "Ana"), "d"),
    (("--session", "s"), "d"),
    (("--user", "ana"), "ac"),
    (("--since", "2021-01-01", "--user", "ben"), "b"),
    (("--until", "2021-01-01"), "d"),
    (("--filter", '{"kind": "note"}', "--user", "ana"), "a"),
]


@pytest.fixture
def db(tmp_path: Path) -> str:
    path = str(tmp_path / "memory.db")
    with Memory(path, embedder=None) as memory:
        memory.add_many(ITEMS)
    return path


@pytest.mark.parametrize(("options", "ids"), CONDITIONS)
def test_they_narrow_each_command(
    run: Run, db: str, tmp_path: Path, options: tuple[str, ...], ids: str
) -> None:
    store = ("--db", db, "--embedder", "none", "--json")
    listed = json.loads(run("list", *store, *options).out)["memories"]
    assert sorted(each["id"] for each in listed) == [*ids]
    assert json.loads(run("count", *store, *options).out) == {"count": len(ids)}
    query = "Ana Ben cooks rice soup reads hi"
    found = json.loads(run("search", query, *store, *options).out)["hits"]
    assert sorted(each["id"] for each in found) == [*ids]
    context = json.loads(run("context", query, *store, *options).out)
    assert sorted(each["id"] for each in context["provenance"]) == [*ids]
    notes = tmp_path / "notes"
    assert run("export", "--format", "markdown", *store, *options, str(notes)).code == 0
    # An export of a user is one of a person, who is the speaker of what belongs to no other user.
    exported = "acd" if options == ("--user", "ana") else ids
    assert len(list(notes.glob("*.md"))) == len(exported)
    if "--user" not in options:  # which is to forget a user
        assert run("delete", *store, *options).code == 2  # it cannot ask
        gone = run("delete", *store, *options, "--yes")
        assert json.loads(gone.out)["deleted"] == len(ids)
        assert json.loads(run("count", *store).out) == {"count": len(ITEMS) - len(ids)}


def test_they_narrow_what_is_kept_in_order(run: Run, db: str) -> None:
    store = ("--db", db, "--json")
    for options, count in ((("--kind", "fact"), 1), (("--user", "ana"), 2), ((), len(ITEMS))):
        assert len(json.loads(run("zones", *store, *options).out)["memories"]) == count
        assert json.loads(run("prune", *store, *options).out)["looked_at"] == count


def test_names_are_listed_page_by_page(run: Run, db: str) -> None:
    first = run("tags", "--db", db, "--limit", "1")
    assert first.out.split() == ["2", "Cooking"]
    cursor = first.err.split()[-1]
    assert run("tags", "--db", db, "--limit", "1", "--cursor", cursor).out.split() == ["1", "home"]


def test_json_lines_hold_everything(run: Run, db: str) -> None:
    refused = run("export", "--db", db, "--tag", "cooking")
    assert refused.code == 2
    assert "filter: goes with --format markdown, mem0 or eval" in refused.err


def test_a_wrong_condition_is_named(run: Run, db: str) -> None:
    refused = run("list", "--db", db, "--since", "soon")
    assert refused.code == 2
    assert refused.err.startswith("salience: since: ")


def test_tags_and_entities_are_listed(run: Run, db: str) -> None:
    assert run("tags", "--db", db).out.split() == ["2", "Cooking", "1", "home"]
    assert run("tags", "ho", "--db", db, "--user", "ben").out == ""
    [own] = json.loads(run("tags", "--db", db, "--json", "--user", "ben").out)["names"]
    assert own == {"name": "Cooking", "memories": 1}
    assert run("entities", "--db", db, "--kind", "fact").out.split() == ["1", "Ana"]


def test_memories_are_linked_and_fade(run: Run, db: str) -> None:
    linked = run("link", "a", "c", "--type", "supports", "--weight", "0.5", "--db", db)
    assert linked.out == "a supports c\n"
    assert run("link", "a", "nobody", "--db", db).code == 1
    assert run("decay", "--db", db).out == "4 memories\n"
    with Memory(db, embedder=None) as memory:
        assert memory["d"].strength is not None
        assert memory["d"].strength < 1.0
        assert [event.type for event in memory.history("a")][-2:] == ["link", "decay"]


def test_explain_begins_with_the_parts_of_the_score(run: Run, db: str) -> None:
    store = ("--db", db, "--embedder", "none")
    short = run("explain", "Who cooks rice?", "a", *store).out
    full = run("explain", "Who cooks rice?", "a", *store, "--full").out
    assert len(short.splitlines()) < 24 < len(full.splitlines())
    assert short.splitlines()[:3] == full.splitlines()[:3]
    assert "match" in short
    assert "max_scaled" not in short
    assert "max_scaled" in full
    assert "--full" in short
