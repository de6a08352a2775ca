"""What a process keeps between two writes changes nothing that the next one finds."""

import random
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from salience import Memory
from salience.stores.index import vector_index
from salience.testing.embedder import WordHashEmbedder
from salience.write import items

SUBJECTS = ("Ana", "Ben", "My sister")
STATED = (
    "lives in Porto", "lives in Lisbon", "works at Acme", "works at Globex", "likes green tea",
    "is under the blue pot",
)  # fmt: skip
FRAMES = (
    "{}.",
    "{}.",
    "{}!",
    "I recall that {}.",
    "From what is known, {}.",
    "{}. It was said twice.",
)


def step(chance: random.Random, number: int) -> tuple[str, dict[str, Any]]:
    """A random operation and its arguments."""
    said = f"{chance.choice(SUBJECTS)} {chance.choice(STATED)}"
    if chance.random() < 0.12:
        return "search", {"query": said, "limit": chance.randint(1, 3)}
    if chance.random() < 0.1:
        return "update", {"content": f"{said}, since number {number}."}
    if chance.random() < 0.1:
        return "delete", {}
    return "add", {
        "content": chance.choice(FRAMES).format(said),
        "kind": chance.choice(("fact", "fact", "fact", "note", "turn")),
        "user_id": chance.choice((None, None, None, "u1")),
        "metadata": chance.choice(({}, {}, {}, {"room": "b"})),
        "dedup": {"within": ["room"]} if chance.random() < 0.2 else None,
    }


def place_of(places: dict[str | None, int], id: str | None) -> int:
    return places.setdefault(id, len(places))


def outcome(
    memory: Memory, method: str, given: dict[str, Any], place: Callable[[str | None], int]
) -> Any:
    """What an operation answers, with the places of memories for their ids."""
    if method == "search":
        return [place(hit.id) for hit in memory.search(**given)]
    ids = [record.id for record in memory.get_all(limit=200)]
    if method != "add":
        if not ids:
            return None
        id = ids[len(ids) // 2]
        return place(id), getattr(memory, method)(id, **given) is not None
    [added] = memory.add(**given)
    match = None if added.match is None else place(added.match)
    return added.outcome, place(added.id), match, added.similarity


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", range(4))
def test_a_process_finds_what_a_new_one_would(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_index, "SIGNS_FROM", 8)
    numbers = count()  # equals are told apart by their ids
    monkeypatch.setattr(items, "new_id", lambda: f"{next(numbers):06}")
    embedder = WordHashEmbedder()
    chance = random.Random(seed)
    places: tuple[dict[str | None, int], ...] = ({}, {})
    seen: Counter[str] = Counter()
    with Memory.open(tmp_path / "kept.db", embedder=embedder) as kept:
        for number in range(80):
            method, given = step(chance, number)
            with Memory.open(tmp_path / "new.db", embedder=embedder) as new:
                answers = [
                    outcome(memory, method, given, partial(place_of, own))
                    for memory, own in zip((kept, new), places, strict=True)
                ]
            assert answers[0] == answers[1], (number, method, given)
            if method == "add":
                seen[answers[0][0]] += 1
    assert seen["CONFLICTS"] * (seen["DUPLICATE"] + seen["LOOP"]) > 0, seen
