"""Erasures of texts that occur nowhere else, and the traces of these in the files of a store."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from salience import Memory

WINDOW = 8  # characters of a marker that count as a trace


class Markers:
    """Texts that occur nowhere else, by the namespace that they are written in."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.of: dict[str, set[str]] = {}

    def new(self, namespace: str, suffix: str = "") -> str:
        marker = "".join(self.chance.choices("bcdfghjklmnpqrstvwxz", k=16)) + suffix
        self.of.setdefault(namespace, set()).add(marker)
        return marker

    def traces(self, folder: Path, namespaces: set[str]) -> set[str]:
        """Pieces of the markers of some namespaces that are in any file of a folder."""
        pieces = {piece for name in namespaces for m in self.of[name] for piece in _pieces(m)}
        found = set()
        for path in folder.iterdir():
            for run in re.findall(rb"[a-z]{%d,}" % WINDOW, path.read_bytes()):
                found |= pieces & {*_windows(run.decode())}
        return found


def _pieces(marker: str) -> Iterator[str]:
    yield from _windows(json.dumps(marker)[1:17])


def _windows(text: str) -> Iterator[str]:
    for start in range(len(text) - WINDOW + 1):
        yield text[start : start + WINDOW]


def write(memory: Memory, markers: Markers, own: list[str]) -> None:
    """One write, of a kind that chance chooses, with markers in all that it writes."""
    chance, name = markers.chance, memory.namespace

    def new(suffix: str = "") -> str:
        return markers.new(name, suffix)

    kind = chance.random()
    if kind < 0.5 or len(own) < 2:
        own.append(new())
        length = chance.choice((1, 2, 3, 40, 400))
        session = new() if chance.random() < 0.3 else None
        memory.add(
            f"{new()} " * length,
            id=own[-1],
            metadata={new(): new("\u2028")},
            session_id=session,
            idempotency_key=new(),
            dedup=False,
            tags=[new()],
            entities=[new("é")],
            title=new(),
            user_id=new(),
        )
    elif kind < 0.7:
        memory.update(chance.choice(own), content=f"{new()} " * chance.choice((1, 2, 60)))
    elif kind < 0.8:
        source, target = chance.sample(own, 2)
        memory.link(source, target, "supports")
    elif kind < 0.9:
        memory.touch([chance.choice(own)], utility=0.5, session_id=new())
    else:
        memory.delete(own.pop(chance.randrange(len(own))))


def check_erasures(memory: Memory, seed: int, folder: Callable[[], Path]) -> None:
    """Write to four namespaces, erase three in three ways, the last again; look at all files.

    `folder` gives the folder of the files, with everything in them that was written.
    """
    markers = Markers(seed)
    names = [markers.new("names") for _ in range(4)]
    spaces = [memory.for_namespace(name) for name in names]
    ids: dict[str, list[str]] = {name: [] for name in names}
    for _ in range(300):
        space = markers.chance.choice(spaces)
        write(space, markers, ids[space.namespace])
    kept, by_ids, by_filter, whole = spaces
    markers.of["gone"] = set(names[1:])
    gone = {"gone", *names[1:]}
    assert markers.traces(folder(), gone)  # they are found while they are there
    by_ids.delete_many(ids[by_ids.namespace])
    by_filter.delete_all({"id": {"exists": True}})
    whole.delete_all(namespace=whole.namespace, rewrite=True)
    assert markers.traces(folder(), gone) == set()
    assert markers.traces(folder(), {kept.namespace})
    assert kept.count() == len(ids[kept.namespace])
    assert kept.upkeep.verify().differences == ()
    assert memory.stats(everywhere=True)["namespaces"] == {kept.namespace: kept.count()}
