"""The index of a small namespace is small: a server may hold ten thousand of them."""

from pathlib import Path

import pytest

from salience import Memory
from salience.errors import InvalidInput
from salience.evaluation.synthetic_chats import realistic
from salience.stores import open_store
from salience.stores.embedded import EmbeddedStore

NAMESPACES, MEMORIES = 30, 20
MOST_BYTES = 40_000


def test_a_namespace_of_twenty_memories_takes_forty_kilobytes(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'memory.db'}"
    items = list(realistic(NAMESPACES * MEMORIES))
    with Memory.open(url) as memory:
        for number in range(NAMESPACES):
            own = items[number * MEMORIES :][:MEMORIES]
            memory.within(f"n{number}").add_many(own, dedup=False)
    with Memory.open(url) as memory:
        for number in range(NAMESPACES):
            assert memory.within(f"n{number}").search("What did we cook?", touch=False)
        taken = memory.stats(everywhere=True)["index_mb"] * 1e6
        assert taken / NAMESPACES < MOST_BYTES
        memory.within("n0").add("Another one.", dedup=False)
        memory.within("n0").search("What did we cook?", touch=False)
        words = memory._core.dispatcher.store._indexes["n0"].table.words  # type: ignore[attr-defined]
        postings = words._postings["content"]
        assert len(postings._segments) == 1  # those that were loaded
        assert [ordinal for ordinal, _ in postings._recent.memories] == [MEMORIES]


def test_the_indexes_of_a_store_stay_within_their_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SALIENCE_INDEX_BYTES", "20000")
    store = open_store(tmp_path / "m.db")
    assert isinstance(store, EmbeddedStore)
    with Memory(store, embedder=None) as memory:
        for n in range(60):
            memory.within(f"n{n}").add(f"The cello of {n}.")
        for n in [*range(60), 0, 59]:
            assert len(memory.search("cello", namespaces=[f"n{n}"]).hits) == 1
            assert 0 < store._index_bytes <= 20_000
    for odd in ("0", "-1", "1.5", "3GB"):
        monkeypatch.setenv("SALIENCE_INDEX_BYTES", odd)
        with pytest.raises(InvalidInput, match="SALIENCE_INDEX_BYTES"):
            Memory.open(tmp_path / "m.db", embedder=None)
