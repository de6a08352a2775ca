"""A name is one value, however its accents are encoded; what a memory says stays as it is."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest

from salience import Memory

COMPOSED = "Zoë Ångström"
APART = unicodedata.normalize("NFD", COMPOSED)
FORMS = pytest.mark.parametrize(("first", "again"), [(COMPOSED, APART), (APART, COMPOSED)])


@FORMS
def test_names_of_both_forms_are_one(first: str, again: str) -> None:
    names = ("user_id", "agent_id", "session_id", "speaker", "kind", "id")
    fields: dict[str, Any] = dict.fromkeys(names, first)
    with Memory.open("ram://", embedder=None) as memory:
        memory.add(
            "A kite.", tags=[first], entities=[first], metadata={first: {first: 1}}, **fields
        )
        for name in (*names, "tags"):
            assert memory.get_all({name: again}).total == 1, name
            assert memory.get_all({name: {"in": [again]}}).total == 1, name
        assert memory.get_all({f"metadata.{again}.{again}": 1}).total == 1
        assert memory.get_all({"metadata": {again: {"exists": True}}}).total == 1
        assert memory.get(again) is not None
        assert [tag.name for tag in memory.tags(prefix=again)] == [COMPOSED]
        memory.update(again, metadata={again: None})
        assert memory[again].metadata == {}
        assert memory.delete_user(again).memories == 1


@FORMS
def test_namespaces_of_both_forms_are_one(first: str, again: str) -> None:
    with Memory.open("ram://", embedder=None) as memory:
        memory.for_namespace(first).add("A kite.")
        assert memory.for_namespace(again).get_all().total == 1
        assert len(memory.search("kite", namespaces=[again])) == 1
        assert memory.delete_all(namespace=again).memories == 1


@FORMS
def test_duplicates_are_told_of_both_forms(first: str, again: str) -> None:
    with Memory.open("ram://", embedder=None) as memory:
        memory.add(f"{first} has a kite.", user_id=first)
        added = memory.add(f"{again} has a kite.", user_id=again, tags=[first, again])
        assert added.items[0].outcome == "DUPLICATE"
        assert memory.get_all()[0].tags == (COMPOSED,)


@FORMS
def test_what_a_memory_says_stays_as_it_is(first: str, again: str) -> None:
    with Memory.open("ram://", embedder=None) as memory:
        memory.add(first, id="a", title=first, gist=first, metadata={"name": first})
        record = memory["a"]
        assert (record.content, record.title, record.gist) == (first, first, first)
        assert record.metadata["name"] == first
