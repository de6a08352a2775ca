"""What says something else is kept, and what says the same is one memory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salience import Memory
from salience.write.dedup import DUPLICATE_COSINE
from salience.write.dedup.sameness import says_more, says_same
from support.texts_beside import DIFFERENT, SAME

ANY_COSINE = 0.01
KINDS = ("fact", "note", None)


@pytest.fixture(autouse=True)
def transport() -> None:
    """Not over HTTP: hundreds of pairs would open as many servers."""


@pytest.fixture(scope="module")
def store() -> Iterator[Memory]:
    with Memory.open("ram://") as memory:
        yield memory


def kept(
    store: Memory, kind: str | None, pair: tuple[str, str], similar: float = DUPLICATE_COSINE
) -> list[str]:
    """The texts of the memories after both of a pair were added."""
    memory = store.for_namespace(f"{kind} {similar} {pair}"[:256])
    for text in pair:
        memory.add(text, kind=kind, dedup={"similar": similar})
    return sorted(record.content for record in memory.get_all())


@pytest.mark.one_in(3)
@pytest.mark.parametrize("group", DIFFERENT)
def test_what_says_something_else_is_kept(store: Memory, group: str) -> None:
    for pair in DIFFERENT[group]:
        for kind in KINDS:
            assert kept(store, kind, pair) == sorted(pair)
        assert kept(store, "fact", pair, ANY_COSINE) == sorted(pair)


@pytest.mark.parametrize("group", SAME)
def test_what_says_the_same_is_one_memory(store: Memory, group: str) -> None:
    for pair in SAME[group]:
        for kind in KINDS:
            assert len(kept(store, kind, pair, ANY_COSINE)) == 1, pair


def test_the_audit_judges_alike() -> None:
    moved = ("Under the oak Mara buried the box.", "Mara buried the box under the oak.")
    pairs = [*chain.from_iterable(DIFFERENT.values()), moved]
    with Memory.open("ram://") as memory:
        memory.add_many(
            (
                {"content": text, "user_id": f"u{place}", "kind": "fact", "id": f"{place} {turn}"}
                for place, pair in enumerate(pairs)
                for turn, text in enumerate(pair)
            ),
            dedup=False,
        )
        memory.upkeep.audit(mend=["duplicates"])
        [archived] = memory.get_all({"status": "archived"})
        assert archived.id == f"{len(pairs) - 1} 1"


@given(st.text(max_size=60), st.text(max_size=60))
def test_the_judge_takes_any_text_and_no_side(one: str, other: str) -> None:
    assert says_same(one, one)
    assert says_same(one, other) == says_same(other, one)
    assert not (says_more(one, other) and says_more(other, one))
