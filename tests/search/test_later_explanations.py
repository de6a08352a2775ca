"""Explanations are built when they are read: whatever was written meanwhile, they are the same."""

import copy
import gc
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from salience import Hit, Memory, SearchResult
from salience.ranking import run
from salience.stores import open_store
from salience.stores.index.memory_table import MemoryTable
from salience.testing import WordHashEmbedder

QUESTION: dict[str, Any] = {"now": "2027-01-01", "touch": False, "explain": True, "limit": 4}
ITEMS: list[dict[str, Any]] = [
    {
        "id": f"m{n}",
        "content": f"Ana {verb} {thing} in March",
        "session_id": f"s{n % 3}",
        "speaker": ("Ana", "Bo")[n % 2],
        "entities": ["Ana", thing] if n % 2 else [],
        "layer": ("entity", "episodic")[n % 2],
        "created_at": f"2026-03-{n + 1:02d}",
    }
    for n, (verb, thing) in enumerate(
        (verb, thing) for verb in ("bought", "lost", "sold") for thing in ("plums", "pears", "tea")
    )
]


def searched(memory: Memory, profile: str) -> SearchResult:
    return memory.search("What did Ana buy in March, plums or pears?", profile=profile, **QUESTION)


def trees(result: SearchResult) -> list[Any]:
    return [(hit.explanation and hit.explanation.to_dict(), str(hit.explanation)) for hit in result]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("held", [2_048, 0])
@pytest.mark.parametrize(
    "profile", ["balanced", "composite", "six_factor", "vitality", "activation", "multi_route"]
)
def test_an_explanation_read_after_later_writes_is_that_of_the_search(
    profile: str, held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory.open("ram://", embedder=WordHashEmbedder()) as memory:
        memory.add_many(ITEMS)
        memory.link("m1", "m2", "supports")
        monkeypatch.setattr(run, "MAX_HELD_CANDIDATES", 1_000_000)
        later = searched(memory, profile)
        monkeypatch.setattr(run, "MAX_HELD_CANDIDATES", held)
        at_once = trees(searched(memory, profile))
        assert all(tree["value"] is not None for tree, _ in at_once)
        memory.update(later[0].id, content="Ana sold everything")
        memory.add_many([{"content": f"Bo met Ana {n} times"} for n in range(5)])
        memory.link("m3", "m2", "supports")
        for hit in later.hits[1:]:
            memory.delete(hit.id)
    assert trees(later) == at_once
    assert [hit.explanation.value for hit in later if hit.explanation] == [h.score for h in later]


def tables() -> list[MemoryTable]:
    return [each for each in gc.get_objects() if type(each) is MemoryTable]


def test_a_result_that_waits_to_be_explained_holds_no_index() -> None:
    before = set(map(id, tables()))
    memory = Memory.open(open_store("ram://"), embedder=WordHashEmbedder())
    memory.add_many(ITEMS)
    result = searched(memory, "multi_route")
    own = [weakref.ref(table) for table in tables() if id(table) not in before]
    assert own
    memory.close()
    del memory
    gc.collect()
    assert [table() for table in own if table()] == []
    assert all(hit.explanation for hit in result)


def test_a_hit_that_waits_to_be_explained_can_be_copied_and_pickled() -> None:
    with Memory.open("ram://", embedder=WordHashEmbedder()) as memory:
        memory.add_many(ITEMS)
        clones: list[Callable[[Hit], Hit]] = [
            copy.copy,
            copy.deepcopy,
            lambda hit: pickle.loads(pickle.dumps(hit)),
        ]
        for clone in clones:
            hit = searched(memory, "balanced")[0]
            assert str(clone(hit).explanation) == str(hit.explanation) != "None"
        assert memory.search("Ana", explain=False)[0].explanation is None
