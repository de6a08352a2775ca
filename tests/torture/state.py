"""What a store holds and answers, in a form in which two stores can be compared."""

from __future__ import annotations

import io
import json
import re
from typing import Any

from salience import Memory
from salience.stores import open_store
from torture.life import NOW, opened

_NAME = re.compile(r"\b(?:[0-9a-f]{32}|[a-z]+-[0-9a-f]{8}-\d+)\b")
QUERIES = (
    "Who repairs the cello?",
    "Where is the garden?",
    "What does Ana like?",
    "When is my birthday?",
    "the cat on the sofa",
)
State = tuple[str, ...]


def state(memory: Memory) -> State:
    """All that an export holds, a line each, without what chance or a broken-off write moves.

    Names made by chance become their number in order of appearance. Left out are the digest, and
    the numbers of events and rows, of which a write that was broken off may use up some.
    """
    file = io.StringIO()
    memory.export(file, everywhere=True, vectors=True)
    names: dict[str, str] = {}
    lines = []
    for line in file.getvalue().splitlines():
        content = json.loads(line)
        for event in content.get("events", ()):
            event.pop("seq", None)
        for vector in content.get("former_vectors", ()):
            vector[0] = "its event"
        if "end" in content:
            content["end"].pop("digest")
        text = json.dumps(content, ensure_ascii=False, sort_keys=True)
        lines.append(_NAME.sub(lambda found: names.setdefault(found[0], f"#{len(names)}"), text))
    return tuple(lines)


def answers(memory: Memory) -> list[Any]:
    """The hits of a few searches and their scores, to the bit."""
    results = (memory.search(q, limit=5, now=NOW, touch=False) for q in QUERIES)
    return [[(hit.id, hit.score) for hit in result] for result in results]


def rebuilt(memory: Memory) -> list[Any]:
    """The answers of a new store in memory that was filled from an export."""
    file = io.StringIO()
    memory.export(file, everywhere=True)
    file.seek(0)
    with opened(open_store("ram://")) as copy:
        copy.load(file, everywhere=True)
        return answers(copy)


def first_difference(one: State, other: State) -> str:
    """The first line that differs, for a report."""
    for a, b in zip(one, other, strict=False):
        if a != b:
            place = next(n for n, (x, y) in enumerate(zip(a, b + "\0", strict=False)) if x != y)
            return (
                f"{a[max(0, place - 200) : place + 120]} | {b[max(0, place - 200) : place + 120]}"
            )
    return f"{len(one)} lines, {len(other)} lines"
