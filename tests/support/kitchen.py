"""A small store for the tests of explanations: every number in it can be followed."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

from salience import Memory
from support.scoring import DAY, NOW, Designed

QUERY = "what is cooked with saffron"
_SNAPSHOTS = Path(__file__).parent / "snapshots"


def kitchen(url: str = "ram://", **options: Any) -> Memory:
    """Eight notes, with cosines and importances by design, and two that contradict."""
    memory = Memory.open(url, embedder=Designed(), clock=lambda: NOW, **options)
    notes = [
        ("risotto", "saffron risotto takes an hour, cos=0.9", 0.5, 1),
        ("paella", "paella is cooked with saffron and rice, cos=0.8", 0.9, 20),
        ("curry", "curry needs turmeric, cos=0.7", 0.7, 3),
        ("soup", "soup of leeks, cos=0.4", 0.95, 2),
        ("bread", "bread and salt, cos=0.3", 0.6, 40),
        ("tea", "tea is poured at five, cos=0.2", None, 5),
        ("cake", "saffron cake for the feast, cos=0.6", 0.1, 60),
        ("salad", "salad is never cooked, cos=-0.1", 0.2, 7),
    ]
    for id, content, importance, days in notes:
        memory.add(content, id=id, importance=importance, created_at=NOW - days * DAY)
    memory.link("paella", "cake", "contradicts")
    memory.link("paella", "bread", "supports", 0.8)
    return memory


def crowd(seed: int, url: str = "ram://") -> Memory:
    """The kitchen and forty random memories, linked at random."""
    rng = random.Random(seed)
    memory = kitchen(url)
    words = "saffron rice cook feast salt tea leek turmeric hour bread".split()
    for i in range(40):
        text = " ".join(rng.choices(words, k=rng.randint(2, 7)))
        memory.add(
            f"{text} cos={rng.uniform(-0.9, 0.9):.3f}",
            id=f"n{i:02}",
            speaker=rng.choice(["Ana", "Ben", None]),
            session_id=rng.choice(["monday", "friday", None]),
            importance=rng.choice([None, rng.random()]),
            confidence=rng.choice([None, rng.random()]),
            created_at=NOW - rng.uniform(0, 90) * DAY,
        )
    for _ in range(30):
        one, other = rng.sample(range(40), 2)
        kind = rng.choice(["supports", "contradicts", "mentions"])
        memory.link(f"n{one:02}", f"n{other:02}", kind, rng.random())
    for link in memory.links():  # of random words nothing is read
        if link.type == "may_replace":
            memory.link(link.source, link.target, link.type, 0)
    return memory


def check_snapshot(name: str, text: str) -> None:
    """Compare a text with the snapshot of a name; with UPDATE_SNAPSHOTS set, write it."""
    path = _SNAPSHOTS / name
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")
    assert text + "\n" == path.read_text(encoding="utf-8")
