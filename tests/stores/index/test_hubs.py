"""Memories of very many links: read once, and followed as arrays from then on."""

from pathlib import Path

import pytest

from salience import Memory
from salience.stores import embedded
from salience.stores.embedded import EmbeddedStore
from salience.stores.index import memory_table

QUESTION = "the hub of all"
NOW = "2027-01-01"


def hits(memory: Memory) -> list[tuple[str, float]]:
    found = memory.search(QUESTION, profile="activation", limit=30, touch=False, now=NOW)
    return [(hit.id, hit.score) for hit in found]


def test_links_of_a_hub_are_read_once_and_answer_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_table, "MANY_LINKS", 10)
    monkeypatch.setattr(embedded, "MANY_LINKS", 10)
    with Memory.open(tmp_path / "m.db", embedder=None) as memory:
        memory.add_many([{"id": f"m{n}", "content": f"Leaf {n}."} for n in range(40)], dedup=False)
        links = [{"target": f"m{n}", "type": "mentions", "weight": n / 40} for n in range(40)]
        memory.add("The hub of all leaves.", id="hub", links=links)
        memory.add("A hub of two.", id="small", links=links[:2])
        hits(memory)
        statements: list[str] = []
        store = memory._core.dispatcher.store
        assert isinstance(store, EmbeddedStore)
        store._records._reader.set_trace_callback(statements.append)
        again = hits(memory)
        assert not [each for each in statements if "FROM links" in each]
        assert len(again) == 30
        for step in range(5):
            with Memory.open(tmp_path / "m.db", embedder=None) as few, monkeypatch.context() as m:
                m.setattr(memory_table, "MANY_LINKS", 10_000)
                expected = hits(few)
            assert hits(memory) == expected, step
            if step == 0:
                memory.link("small", "m39", "supports")
            elif step == 1:
                memory.delete("m38")
            elif step == 2:
                memory.update("m37", content="Another leaf.")
            else:
                memory.add(f"A later leaf, {step}.", id=f"later{step}")
                memory.link("hub", f"later{step}", "supports")
