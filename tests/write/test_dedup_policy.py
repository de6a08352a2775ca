"""Policies of deduplication as JSON has them: a mapping of what differs from the default."""

from __future__ import annotations

from typing import Any

import pytest

from salience import Memory
from salience.errors import InvalidInput
from salience.testing import WordHashEmbedder
from salience.write.dedup import NO_DEDUP, DedupPolicy


def test_a_mapping_has_what_differs() -> None:
    default = DedupPolicy(0.9, 60.0)
    assert DedupPolicy.of({}, default) == default
    assert DedupPolicy.of({"strict": True}, default) == DedupPolicy(0.9, 60.0, True)
    given = {"similar": 0.8, "loop_seconds": 5, "strict": True, "contradictions": False}
    assert DedupPolicy.of(given, default) == DedupPolicy(0.8, 5.0, True, False)
    assert DedupPolicy.of({"similar": None, "loop_seconds": 0}, DedupPolicy()) == NO_DEDUP


@pytest.mark.parametrize(
    ("dedup", "field"),
    [
        ({"similar": 1.5}, "dedup.similar"),
        ({"similar": "0.9"}, "dedup.similar"),
        ({"loop_seconds": -1}, "dedup.loop_seconds"),
        ({"loop_seconds": 1e300}, "dedup.loop_seconds"),
        ({"loop_seconds": None}, "dedup.loop_seconds"),
        ({"strict": "yes"}, "dedup.strict"),
        ({"contradictions": None}, "dedup.contradictions"),
        ({"within": [5]}, "dedup.within"),
        ({"within": "run"}, "dedup.within"),
        ({"within": None}, "dedup.within"),
        ({"within": [str(i) for i in range(9)]}, "dedup.within"),
        ({"cosine": 0.9}, "dedup"),
        ({5: 0.9}, "dedup"),
        ([0.9], "dedup"),
    ],
)
def test_a_wrong_one_is_named(dedup: Any, field: str) -> None:
    with Memory.open("ram://", embedder=WordHashEmbedder()) as memory:
        with pytest.raises(InvalidInput) as caught:
            memory.add("An apple a day.", dedup=dedup)
        assert caught.value.field == field
        assert len(memory) == 0


def test_it_says_what_is_a_duplicate() -> None:
    with Memory.open("ram://", embedder=WordHashEmbedder()) as memory:
        memory.add("Ana likes green tea in the morning.")
        for dedup, outcome in (({"similar": None}, "ADDED"), ({"strict": True}, "DUPLICATE")):
            text = "Ana likes green tea in the morning."
            added = memory.add(text, id=f"with {dedup}", dedup=dedup)
            assert added.items[0].outcome == outcome


def test_keys_of_the_metadata_may_set_owners_apart() -> None:
    first, second = {"run": "1"}, {"run": "2"}
    with Memory.open("ram://", embedder=WordHashEmbedder()) as memory:

        def outcome(text: str, run: dict[str, Any]) -> str:
            added = memory.add(text, kind="fact", metadata=run, dedup={"within": ["run"]})
            return added.items[0].outcome

        assert outcome("Ana likes green tea in the morning.", first) == "ADDED"
        assert outcome("Ana likes green tea in the morning.", second) == "ADDED"
        assert outcome("In the morning Ana likes green tea.", second) == "DUPLICATE"
        assert outcome("Ana lives in Porto.", first) == "ADDED"
        assert outcome("Ana lives in Lisbon.", second) == "ADDED"
        assert outcome("Ana lives in Lisbon.", first) == "CONFLICTS"
