"""Hostile input: any value in any argument, damaged files; a result or an error of the library.

Each input has a second of computing time, in which it has to be taken or refused.
"""

from __future__ import annotations

import json
import math
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager, suppress
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from salience import Memory
from salience.errors import SalienceError, shown
from salience.importers import FORMATS, read
from support.doors import call, doors, endless
from support.hostile import HOSTILE
from torture.life import found, opened
from torture.tally import Tally

SECONDS = 1.0
_TRIES = 5  # of an input that was too slow
_LIBRARY = "/salience/"
_AT_ONCE = 1_000  # inputs that one store takes
_DOORS = [door for door in doors() if door != ("upkeep.verify", "repair")]
_PIECES = (
    "apple", "\0", "\x1b[2J", "\ud800", "\u202e", "\U000e0041", "\ufeff", "\n", " ", "'", '"', ";",
    "--", "{", "[", "]", "}", "(", ")", "*", "1e999", "9" * 400, "é", "漢字", "🍎", "%s", "\\", "/",
    "NaN", "null", "$$", "OR", "AND", "NEAR", "e\u0301" * 40, "and", "in", "2026-13-45", "-1", ",",
)  # fmt: skip
_FIELDS = ("kind", "id", "tags", "created_at", "importance", "metadata.k", "speaker", "nobody")
_OPERATORS = ("eq", "in", "gte", "lt", "ne", "contains", "exists", "or", "and", "not", "like")


class TooSlow(BaseException):
    """An input took more than its time."""


@contextmanager
def time_bound(seconds: float = SECONDS) -> Iterator[None]:
    """Stop what takes more seconds of computing time, again and again until it ends."""

    def stop(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def text(random: Random) -> str:
    """A text of hostile pieces."""
    return "".join(random.choice(_PIECES) for _ in range(random.choice((0, 1, 2, 5, 30, 300))))


def number(random: Random) -> Any:
    """A number at an edge."""
    edges = (0, -1, 2**31, 2**63, -(2**63) - 1, 10**400, math.nan, math.inf, -0.0, 5e-324, 1e308)
    return random.choice((*edges, random.random(), random.randint(-9, 9)))


def value(random: Random, depth: int = 3) -> Any:
    """A value as JSON has them, or none that it has."""
    kind = random.randrange(9 if depth else 4)
    match kind:
        case 0 | 1:
            return text(random)
        case 2:
            return number(random)
        case 3:
            return random.choice((None, True, False, "taken", "other", b"apple"))
        case 4 | 5:
            return [value(random, depth - 1) for _ in range(random.randrange(4))]
        case 6:
            return deep(random.choice((10, 100, 3_000)))
        case 7:
            return {
                random.choice(_FIELDS): {random.choice(_OPERATORS): value(random, depth - 1)}
                for _ in range(random.randint(1, 3))
            }
        case _:
            return {text(random): value(random, depth - 1) for _ in range(random.randrange(4))}


def deep(levels: int) -> Any:
    """A list in a list in a list ..."""
    inner: Any = "apple"
    for _ in range(levels):
        inner = [inner]
    return inner


def on_memory(inputs: int, seed: int, folder: Path, progress: Callable[[Tally], None]) -> Tally:
    """One hostile argument at a time, in every method; half of the stores are files."""
    tally = Tally("hostile arguments", seed)
    for first in range(0, inputs, _AT_ONCE):
        random = Random(f"{seed}/{first}")
        path = folder / f"fuzz-{first}.db"
        store = "ram://" if (first // _AT_ONCE) % 2 else path.resolve()
        # A log of searches may be asked for at any path, such as "apple".
        with chdir(folder), opened(store, namespace="n") as memory:
            _fill(memory)
            for number in range(first, min(first + _AT_ONCE, inputs)):
                name, argument = door = random.choice(_DOORS)
                given = value(random) if random.random() < 0.7 else random.choice(HOSTILE)()
                if endless(*door, given) or isinstance(given, range):
                    continue
                label = f"input {seed}/{number}: {name}({argument}={shown(given)})"[:300]
                _attempt(tally, label, partial(call, memory, *door, given))
            if memory.get("taken") is None or memory.count() > 300:
                memory.delete_all(namespace="n")
                _fill(memory)
            _attempt(tally, f"a search after {seed}/{number}", partial(memory.search, "apple"))
        for file in folder.glob(f"{path.name}*"):
            file.unlink()
        progress(tally)
    return tally


def _fill(memory: Memory) -> None:
    memory.add("An apple a day", id="taken", tags=["t"], metadata={"k": 1}, on_conflict="replace")
    memory.add("Another fruit", id="other", kind="fact", on_conflict="replace")


def _attempt(tally: Tally, label: str, act: Callable[[], object]) -> None:
    tally.rounds += 1
    try:
        with suppress(SalienceError):
            _in_time(act)
        tally.acknowledged += 1  # taken, or refused with an error of the library
    except TooSlow as problem:
        tally.report("slow", label, _place(problem))
    except Exception as problem:
        kind = type(problem).__name__
        tally.report("foreign", f"{label}: {kind}: {problem}"[:500], f"{_place(problem)} {kind}")


def _in_time(act: Callable[[], object]) -> None:
    """Call it within the time bound, at the last of several tries.

    Where machines are shared, the computing time of a process has that of its neighbours in it; the
    quickest try is the nearest to its own.
    """
    for _ in range(_TRIES - 1):
        with suppress(TooSlow), time_bound():
            act()
            return
    with time_bound():
        act()


def _place(problem: BaseException) -> str:
    """The line of the library, as file:line, in which an error came up."""
    frames = [f for f in traceback.extract_tb(problem.__traceback__) if _LIBRARY in f.filename]
    if not frames:
        return ""
    return f"{frames[-1].filename.rpartition(_LIBRARY)[2]}:{frames[-1].lineno}"


def on_files(inputs: int, seed: int, folder: Path, progress: Callable[[Tally], None]) -> Tally:
    """Damaged exports for `load`, and damaged files for every importer."""
    tally = Tally("hostile files", seed)
    export, path = folder / "export.jsonl", folder / "damaged"
    with opened("ram://") as memory:
        found(memory)
        memory.export(export)
    lines = export.read_bytes().splitlines(keepends=True)
    for n in range(inputs):
        random = Random(f"{seed}/{n}")
        path.write_bytes(_damaged(lines, random))
        if n % 2:
            form = random.choice(sorted(FORMATS))
            _attempt(tally, f"read {form}, input {seed}/{n}", partial(_read, path, form))
        else:
            with opened("ram://", namespace="n") as memory:
                _attempt(tally, f"load, input {seed}/{n}", partial(memory.load, path))
        if n % _AT_ONCE == 0:
            progress(tally)
    return tally


def _read(path: Path, form: str) -> None:
    for _ in read(path, format=form):
        pass


def _damaged(lines: list[bytes], random: Random) -> bytes:
    """An export with lines changed, doubled, cut or replaced by others."""
    kept = list(lines)
    for _ in range(random.randint(1, 3)):
        place = random.randrange(len(kept))
        line = kept[place]
        match random.randrange(6):
            case 0:
                kept[place] = line[: random.randrange(len(line) + 1)]
            case 1:
                kept.insert(place, line)
            case 2:
                at = random.randrange(len(line) + 1)
                kept[place] = line[:at] + bytes([random.randrange(256)]) + line[at + 1 :]
            case 3:
                del kept[place]
                kept = kept or [b""]
            case 4:
                some = value(random)
                kept[place] = _json(some) + b"\n"
            case _:
                kept[place] = _with_hostile_field(line, random)
    return b"".join(kept)


def _json(some: Any) -> bytes:
    try:
        return json.dumps(some).encode()
    except (TypeError, ValueError, RecursionError):
        return b"[" * 5_000


def _with_hostile_field(line: bytes, random: Random) -> bytes:
    """The line with one of its values replaced."""
    try:
        content = json.loads(line)
        holder = content.get("memory", content)
        holder[random.choice(sorted(holder))] = value(random)
        return _json(content) + b"\n"
    except (ValueError, AttributeError, TypeError, IndexError, RecursionError):
        return line
