"""Exports as Markdown and as JSON of mem0 come back by the importers as they were."""

from __future__ import annotations

import json
import tempfile
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from salience import Memory
from salience.errors import InvalidInput
from salience.importers import detect, read
from salience.importers._source import clean
from salience.records.events import ACCESSES
from salience.records.record import MemoryRecord
from salience.write.transfer.formats import export_as
from support.examples import examples

COUNTED = ("updated_at", "added_at", "version", *ACCESSES)
text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=60)
words = text.map(clean).filter(bool)
names = st.none() | words
numbers = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**60), 2**60)
values = st.recursive(
    st.none() | st.booleans() | numbers | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
times = st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1), timezones=st.just(UTC))
memories = st.fixed_dictionaries(
    {"content": words, "created_at": times},
    optional={
        "id": words,
        "title": names,
        "kind": st.sampled_from(["note", "fact", "turn"]),
        "speaker": names,
        "session_id": names,
        "user_id": names,
        "tags": st.lists(words, unique=True, max_size=3),
        "entities": st.lists(words, unique=True, min_size=1, max_size=3),
        "metadata": st.dictionaries(words, values.filter(lambda v: v is not None), max_size=3),
        "importance": st.floats(0, 1),
        "valid_from": times,
        "expires_at": times,
    },
)


def records(memory: Memory) -> dict[str, MemoryRecord]:
    return {record.id: record for record in memory.get_all(limit=1_000)}


def links(memory: Memory) -> list[tuple[Any, ...]]:
    found = (link for id in records(memory) for link in memory.links(id))
    return sorted(
        {(link.source, link.target, link.type, link.weight, link.created_at) for link in found}
    )


def brought_back(memory: Memory, target: Path, format: str) -> Memory:
    """A memory with what was written in a format and read again."""
    assert export_as(memory, target, format) == memory.get_all(limit=1).total
    other = Memory.open("ram://", embedder=None)
    items = list(read(target))
    statuses = {item["id"]: item.pop("status") for item in items if "status" in item}
    assert not other.add_many(items).rejected
    for id, status in statuses.items():
        other.update(id, status=status)
    return other


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=examples(60))
@given(st.lists(memories, min_size=1, max_size=4))
@example([{"content": "---\na: b\n---\n#tag [[link]]", "title": "a: 'b' #c", "created_at": 0}])
@example([{"content": "a\r\nb\rc", "metadata": {"k" * 250: 1e-7}, "created_at": 0}])
@example([{"content": "x\x85y\u2028z\ufeff\x7f", "metadata": {"\x9f": 1e22}, "created_at": 0}])
@example(
    [{"content": "long, " * 9_000 + "end", "session_id": "s", "kind": "note", "created_at": 0}]
)
def test_markdown_comes_back_as_it_was(entries: list[dict[str, Any]]) -> None:
    with Memory.open("ram://", embedder=None) as memory, tempfile.TemporaryDirectory() as folder:
        created = datetime(2026, 1, 1, tzinfo=UTC)
        given_times = ({**e, "created_at": e["created_at"] or created} for e in entries)
        memory.add_many(given_times, dedup=False, on_conflict="skip")
        before = records(memory)
        ids = list(before)
        for source, target in pairwise(ids):
            memory.link(source, target, "supports", 0.5)
        memory.update(ids[-1], status="archived")
        with brought_back(memory, Path(folder, "notes"), "markdown") as other:
            after = records(other)
            assert after.keys() == before.keys()
            for id, record in records(memory).items():
                assert after[id].equals_except(COUNTED, record), (after[id], record)
            assert links(other) == links(memory)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=examples(30))
@given(st.lists(memories, min_size=1, max_size=4))
@example([{"id": '{"}', "content": '\\"memory": {', "created_at": 0}])
def test_json_of_mem0_comes_back_with_what_mem0_knows(entries: list[dict[str, Any]]) -> None:
    kept = ("id", "content", "user_id", "agent_id", "session_id", "speaker", "created_at")
    with Memory.open("ram://", embedder=None) as memory, tempfile.TemporaryDirectory() as folder:
        memory.add_many(entries, dedup=False, on_conflict="skip")
        with brought_back(memory, Path(folder, "mem0.json"), "mem0") as other:
            after = records(other)
            for id, record in records(memory).items():
                for name in kept:
                    assert getattr(after[id], name) == getattr(record, name)
                given_metadata = {k: v for k, v in record.metadata.items() if v != ""}
                assert given_metadata.items() <= dict(after[id].metadata).items()


def test_mem0_has_days_and_what_is_active(tmp_path: Path) -> None:
    with Memory.open("ram://", embedder=None) as memory:
        memory.add("Likes tea.", id="a", expires_at="2031-01-01", speaker="user", tags=["x"])
        memory.add("Likes milk.", id="b")
        memory.update("b", status="archived")
        assert export_as(memory, tmp_path / "mem0.json", "mem0") == 1
        [expiry] = [record.expires_at for record in memory.get_all() if record.id == "a"]
    [entry] = json.loads((tmp_path / "mem0.json").read_text())["results"]
    assert (entry["memory"], entry["expiration_date"]) == ("Likes tea.", "2030-12-31")
    assert (entry["role"], entry["categories"]) == ("user", ["x"])
    assert detect(tmp_path / "mem0.json") == "mem0"
    [item] = read(tmp_path / "mem0.json")
    assert item["expires_at"] == expiry
    assert expiry is not None
    assert item["expires_at"] - expiry == timedelta(0)


def test_what_people_change_in_a_note_counts(tmp_path: Path) -> None:
    with Memory.open("ram://", embedder=None) as memory:
        memory.add("The kiln is cold.", id="kiln", title="Kiln", kind="fact")
        export_as(memory, tmp_path / "notes", "markdown")
    [note] = (tmp_path / "notes").iterdir()
    assert note.name == "kiln.md"
    changed = note.read_text().replace("is cold", "is hot").replace('"Kiln"', "Big kiln")
    note.write_text(changed)
    (tmp_path / "notes" / "More.md").write_text("See [[Big kiln]].")
    kiln, more = sorted(read(tmp_path / "notes"), key=lambda item: str(item["id"]))
    assert (kiln["content"], kiln["title"], kiln["kind"]) == (
        "The kiln is hot.",
        "Big kiln",
        "fact",
    )
    assert [link["target"] for link in more["links"]] == ["kiln"]


def test_a_folder_that_holds_something_stays(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    with Memory.open("ram://", embedder=None) as memory:
        memory.add("Ana paints.")
        assert export_as(memory, tmp_path / "notes", "markdown") == 1
        with pytest.raises(InvalidInput, match="target"):
            export_as(memory, tmp_path / "notes", "markdown")
        with pytest.raises(InvalidInput, match="format"):
            export_as(memory, tmp_path / "x", "xml")
    assert [path.name for path in tmp_path.iterdir()] == ["notes"]
