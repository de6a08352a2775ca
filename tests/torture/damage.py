"""Flipped bits in a SQLite file: each changes no answer, is found by `verify`, or is refused.

Bits are drawn from all tables, indexes and the schema alike, however many pages each has. A damaged
file is mended by the doctor, too: what he calls healthy has nothing in it that was not written.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

from salience import Memory
from salience.access.keyring import Keyring
from salience.errors import SalienceError, StoreError
from salience.testing import WordHashEmbedder
from torture.kills import remove
from torture.tally import Tally

NAMESPACES = ("default", "harbour")
_EMBEDDER = WordHashEmbedder(32)
_NOW = "2026-06-01"
_HEADER_BYTES = 100
_QUARANTINE = ".damaged.jsonl"
_MOST_SHOWN = 3


def opened(path: Path) -> Memory:
    """The memory in a file."""
    return Memory.open(path, embedder=_EMBEDDER)


def sound_file(path: Path) -> bytes:
    """The bytes of a file in which every table has rows."""
    with opened(path) as memory:
        for i in range(20):
            memory.add(
                f"Ana told Ben about ship number {i} on the river.",
                id=f"m{i}",
                tags=["ship"],
                metadata={"mast": i},
                created_at="2026-01-01",
            )
        memory.add("The harbour of Porto has forty berths. " * 60, id="long", title="Porto")
        memory.link("m1", "m2", "supports", 0.5)
        memory.update("m3", content="The ship was sold.")
        memory.feedback("m4", "useful")
        memory.upkeep.maintain()
        other = memory.for_namespace("harbour")
        other.add_chat([{"role": "user", "content": "Where is my ship?"}], session_id="s")
        other.add("The berth is paid.", id="berth", kind="fact")
        memory.search("ship", now=_NOW)
    with Keyring.open(path) as keyring:
        keyring.create("harbour", "memories:read", name="the harbour master")
    return path.read_bytes()


def answers(path: Path, memory: Memory) -> list[Any]:
    """What a memory answers of each namespace, and the keys of its file."""
    told: list[Any] = []
    for name in NAMESPACES:
        own = memory.for_namespace(name)
        hits = own.search("Which ship was sold?", limit=20, now=_NOW, touch=False)
        records = own.get_all(limit=100)
        told += [
            [hit.to_dict() for hit in hits],
            [record.to_dict() for record in records],
            [link.to_dict() for link in own.links()],
            [event.to_dict() for event in own.events(limit=1000)],
        ]
    with Keyring.open(path) as keyring:
        told.append([(key.entry(), key.version) for key in keyring.list()])
    return told


def parts_of(path: Path) -> dict[str, list[int]]:
    """The places of bytes that are not zero, by table or index, the schema and the file's header.

    Most of the other bytes are empty room.
    """
    content = path.read_bytes()
    parts: dict[str, list[int]] = {"header": list(range(_HEADER_BYTES))}
    with closing(sqlite3.connect(path)) as db:
        [size] = db.execute("PRAGMA page_size").fetchone()
        for name, page in db.execute("SELECT name, pageno FROM dbstat"):
            first = max((page - 1) * size, _HEADER_BYTES)
            places = (place for place in range(first, page * size) if content[place])
            parts.setdefault(name, []).extend(places)
    return {name: places for name, places in parts.items() if places}


def on_sqlite(
    flips: int, seed: int, folder: Path, progress: Callable[[Tally], None], mend: bool = True
) -> Tally:
    """Flip bits of a sound file, one at a time, and see what becomes of each."""
    path, draws = folder / "damaged.db", Random(seed)
    sound = sound_file(path)
    parts = parts_of(path)
    with opened(path) as memory:
        expected = answers(path, memory)
        assert all(memory.for_namespace(name).upkeep.verify() for name in NAMESPACES)
        assert memory.upkeep.doctor()
    tally, outcomes = Tally("damage, SQLite", seed), Counter[str]()
    for _ in range(flips):
        part = draws.choice(list(parts))
        place, bit = draws.choice(parts[part]), draws.randrange(8)
        damaged = bytearray(sound)
        damaged[place] ^= 1 << bit
        label = f"{part}, byte {place}, bit {bit}"
        tally.rounds += 1
        remove(path)
        path.write_bytes(damaged)
        outcomes[_outcome(tally, label, path, expected)] += 1
        if mend:
            remove(path)
            path.write_bytes(damaged)
            outcomes[_mended(tally, label, path, expected)] += 1
        progress(tally)
    counts = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(outcomes.items()))
    tally.attack += f" ({counts})"
    return tally


def _outcome(tally: Tally, label: str, path: Path, expected: list[Any]) -> str:
    """Open a damaged file, and compare what it answers and what `verify` finds."""
    is_found = False
    try:
        with opened(path) as memory:
            is_found = not all(memory.for_namespace(name).upkeep.verify() for name in NAMESPACES)
            is_right = answers(path, memory) == expected
    except SalienceError as problem:
        if type(problem) is StoreError and (
            str(path) not in str(problem) or ";" not in str(problem)
        ):
            tally.report("without a name or remedy", f"{label}: {problem}")
        return "found" if is_found else "refused"
    except Exception as problem:
        tally.report("foreign", f"{label}: {type(problem).__name__}: {problem}")
        return "foreign"
    if not is_right and not is_found:
        tally.report("unnoticed", label)
        return "unnoticed"
    return "found" if is_found else "right"


def _mended(tally: Tally, label: str, path: Path, expected: list[Any]) -> str:
    """Let the doctor mend a damaged file: healthy, it holds nothing else than was written."""
    quarantine = path.with_name(path.name + _QUARANTINE)
    quarantine.unlink(missing_ok=True)
    try:
        with opened(path) as memory:
            diagnosis = memory.upkeep.doctor(fix=True)
            if not diagnosis:
                return "left"
            again = memory.upkeep.doctor()
            if not again:
                tally.report("again", f"{label}: {list(again)[:_MOST_SHOWN]}")
            if not all(memory.for_namespace(name).upkeep.verify() for name in NAMESPACES):
                tally.report("verify", f"{label}: is mended and does not verify")
            is_right = answers(path, memory) == expected
            records = [
                r.to_dict() for n in NAMESPACES for r in memory.for_namespace(n).get_all(limit=100)
            ]
            written = [record for each in (expected[1], expected[5]) for record in each]
            if any(_contents(r) not in map(_contents, written) for r in records):
                tally.report("invented", label)
            if len(records) < len(written) and not quarantine.exists():
                tally.report("dropped", label)
            memory.add("The store goes on.", id="after")
    except SalienceError:
        return "not mended"
    except Exception as problem:
        tally.report("foreign", f"{label}, mended: {type(problem).__name__}: {problem}")
        return "foreign"
    return "mended" if is_right else "mended in part"


def _contents(record: dict[str, Any]) -> tuple[Any, ...]:
    names = ("namespace", "id", "content", "tags", "metadata")
    return tuple(repr(record.get(name)) for name in names)
