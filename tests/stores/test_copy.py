"""Copying a store to another, each kind to each."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from salience import Memory
from salience.errors import StoreError
from salience.evaluation import sample
from salience.stores.copy import copy
from salience.testing import WordHashEmbedder
from salience.write.transfer import parts

EMBEDDER = WordHashEmbedder()


@pytest.fixture
def places(tmp_path: Path, database: str) -> dict[str, str]:
    return {
        "sqlite": f"sqlite:///{tmp_path / 'one.db'}",
        "other": f"sqlite:///{tmp_path / 'other.db'}",
        "postgres": database,
    }


def filled(url: str) -> None:
    with Memory.open(url, embedder=EMBEDDER) as memory:
        memory.add_many(sample.memories(), strict=True)
        for link in sample.links():
            memory.link(link["source"], link["target"], link["type"], link["weight"])
        ids = sorted(record.id for record in memory.get_all(limit=1000))
        chance = random.Random(3)
        for id in chance.sample(ids, 8):
            memory.update(id, content=f"edited: {id}")
        memory.update(ids[0], importance=0.123, metadata={"a": [1, 2.5, None, True]})
        memory.feedback(ids[1], "useful")
        memory.delete(ids[2])
        memory.search("Lisbon", limit=4)
        memory.for_namespace("other").add(
            "A pear, elsewhere.", id="pear", vectors={"image": [1.0, 0.0]}
        )


def everything(url: str) -> dict[str, Any]:
    with Memory.open(url, embedder=EMBEDDER) as memory:
        records = memory.get_all(limit=1000).memories
        chosen = sorted(record.id for record in records)[:40]
        return {
            "records": [record.to_dict() for record in records],
            "links": memory.links(),
            "history": [[e.to_dict() for e in memory.history(id)] for id in chosen],
            "hits": [
                [(hit.id, round(hit.score, 9)) for hit in found]
                for question in sample.questions()[:4]
                for profile in ("balanced", "composite", "vitality")
                for found in [
                    memory.search(question["text"], profile=profile, now=2e9, touch=False)
                ]
            ],
            "pear": [r.to_dict() for r in memory.for_namespace("other").get_all()],
        }


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("sqlite", "postgres"),
        ("postgres", "other"),
        pytest.param("sqlite", "other", marks=pytest.mark.deep),
    ],
)
def test_a_copy_holds_the_same(places: dict[str, str], source: str, target: str) -> None:
    filled(places[source])
    told: list[tuple[str, int, int]] = []
    done = copy(places[source], places[target], lambda *figures: told.append(figures))
    assert [each.namespace for each in done] == ["default", "other"]
    assert done[0].memories == len(sample.memories()) - 1
    assert told[0][0] == "copying default"
    assert everything(places[target]) == everything(places[source])
    with pytest.raises(StoreError, match=r"holds .* memories already"):
        copy(places[source], places[target])


def test_a_copy_that_was_broken_off_goes_on(
    places: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "CHUNK_MEMORIES", 40)
    filled(places["sqlite"])

    def stop(what: str, done: int, total: int) -> None:
        if done > 100:
            raise KeyboardInterrupt

    def stop_later(what: str, done: int, total: int) -> None:
        if what == "copying other":
            raise KeyboardInterrupt

    for target in ("postgres", "other"):
        for broken_off in (stop, stop_later):
            with pytest.raises(KeyboardInterrupt):
                copy(places["sqlite"], places[target], broken_off)
        copy(places["sqlite"], places[target])
        assert everything(places[target]) == everything(places["sqlite"])


def test_a_copy_that_differs_says_so(places: dict[str, str]) -> None:
    filled(places["sqlite"])

    def meddle(what: str, done: int, total: int) -> None:
        if what == "copying default":
            with Memory.open(places["postgres"], embedder=EMBEDDER) as memory:
                memory.update(sample.memories()[5]["id"], importance=0.999)

    with pytest.raises(StoreError, match="'default' of the target differs from the source"):
        copy(places["sqlite"], places["postgres"], meddle)
