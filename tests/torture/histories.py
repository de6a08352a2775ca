"""Several processes of several threads on one store; the history of each memory is checked.

The state of a memory is None, or its version, importance and positive judgements. Accesses are
counted within a second only, by promise: at the end none may be missing. And a fact that all add at
once has to be there once.
"""

from __future__ import annotations

import json
import multiprocessing
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from random import Random

from salience import Memory
from salience.errors import IdTaken, NotFound, SalienceError, VersionConflict
from salience.records.record import MemoryRecord
from torture.life import opened
from torture.linearizability import Operation, is_linearizable
from torture.tally import Tally

_KEYS_AT_ONCE = 4  # the memories that all use
_CALLS_A_WINDOW = 64 * _KEYS_AT_ONCE  # then come the next ones, on a slow machine as on a fast one
_ERROR = "error"
_OPERATIONS = ("read", "update", "update_if", "feedback", "touch", "delete", "same_fact")
_WEIGHTS = (30, 12, 20, 15, 12, 4, 7)
Seen = tuple[int, float, float] | None
Histories = dict[str, list[Operation]]


@dataclass(frozen=True, slots=True)
class Load:
    """What one process does: for how long, with how many threads."""

    url: str
    seconds: float
    threads: int
    seed: str


def step(state: Hashable, operation: Operation, made_again: bool = False) -> Sequence[Hashable]:
    """The states that a call on one memory may lead to, if its answer was right.

    A judgement gives the memory as it was read right after, so with later changes. Where an id was
    `made_again` after it was erased, that may be the next memory of this id.
    """
    answer = operation.answer
    if operation.name == "read":
        return [state] if answer == state else []
    if operation.name == "add":
        return [answer] if state is None else []
    if state is None:
        return [None] if answer in (None, False) else []
    assert isinstance(state, tuple)
    version, importance, judgements = state
    match operation.name:
        case "taken" | "touch":
            return [state] if operation.name == "taken" or answer else []
        case "delete":
            return [None] if answer is True else []
        case "conflict":
            return [state] if answer == state and version != operation.argument else []
        case "feedback":
            following: Seen = (version + 1, importance, judgements + 1)
            if made_again:
                return [following]
            later = answer is None or (answer[0] > version and answer[2] > judgements)
            return [following] if later else []
    wanted, value = operation.argument
    following = (version + 1, value, judgements)
    return [following] if answer == following and wanted in (None, version) else []


def _seen(record: MemoryRecord | None) -> Seen:
    if record is None:
        return None
    return record.version, record.importance or 0.0, record.feedback_for or 0.0


def _use(memory: Memory, random: Random, key: str, known: int) -> Operation:
    """Make one call on a memory, and note its answer."""
    [name] = random.choices(_OPERATIONS, _WEIGHTS)
    value = random.random()
    begin = time.monotonic_ns()
    argument: object = None
    answer: object
    try:
        match name:
            case "read":
                answer = _seen(memory.get(key))
            case "update":
                argument = (None, value)
                answer = _seen(memory.update(key, importance=value))
            case "update_if":
                argument = (known, value)
                answer = _seen(memory.update(key, importance=value, if_version=known))
            case "feedback":
                answer = _seen(memory.feedback(key, "useful"))
            case "touch":
                memory.touch(key)
                memory.upkeep.flush()
                answer = True
            case "same_fact":
                text = f"All of them add the fact of {key} at once."
                answer = memory.add(text, kind="fact").ids
            case _:
                answer = bool(memory.delete(key))
    except NotFound:
        answer = None
    except VersionConflict as conflict:
        name, argument, answer = "conflict", known, _seen(conflict.record)
    except SalienceError as problem:
        name, answer = _ERROR, f"{type(problem).__name__}: {problem}"
    except Exception as problem:
        name, answer = _ERROR, f"foreign {type(problem).__name__}: {problem}"
    return Operation(begin, time.monotonic_ns(), name, argument, answer)


def _add(memory: Memory, key: str) -> Operation:
    begin = time.monotonic_ns()
    name, answer = "add", None
    try:
        memory.add(f"The memory {key}.", id=key, importance=0.25)
        answer = (1, 0.25, 0.0)
    except IdTaken:
        name = "taken"
    except Exception as problem:
        return Operation(begin, time.monotonic_ns(), _ERROR, None, repr(problem))
    return Operation(begin, time.monotonic_ns(), name, None, answer)


def _work(
    memory: Memory, end: float, seed: str, calls: Synchronized[int], histories: Histories
) -> None:
    random = Random(seed)
    known: dict[str, int] = defaultdict(int)
    while time.monotonic() < end:
        with calls.get_lock():
            window = calls.value // _CALLS_A_WINDOW
            calls.value += 1
        key = f"{window}-{random.randrange(_KEYS_AT_ONCE)}"
        operation = _use(memory, random, key, max(1, known[key]))
        histories[key].append(operation)
        if isinstance(operation.answer, tuple) and operation.name != "same_fact":
            known[key] = operation.answer[0]
        elif operation.answer is None:
            histories[key].append(_add(memory, key))


def run(load: Load, calls: Synchronized[int], pipe: Connection) -> None:
    """The work of one process from the moment that it is told; sends its threads' histories.

    `calls` counts those of all processes.
    """
    histories: list[Histories] = [defaultdict(list) for _ in range(load.threads)]
    with opened(load.url) as memory:
        pipe.send("ready")
        begin = pipe.recv()
        threads = [
            threading.Thread(
                target=_work,
                args=(memory, begin + load.seconds, f"{load.seed}/{n}", calls, history),
            )
            for n, history in enumerate(histories)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    pipe.send([dict(history) for history in histories])
    pipe.close()


def check(
    url: str,
    store: str,
    seconds: float,
    processes: int,
    threads: int,
    seed: int,
    kept: Path | None = None,
) -> Tally:
    """Let processes use one store at once for some seconds, and check the histories.

    They are also written to the file `kept`, a line of JSON each.
    """
    tally = Tally(f"histories, {store}", seed)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torture.victim"])
    with opened(url):  # makes the store
        pass
    started, calls = [], context.Value("q", 0)
    for number in range(processes):
        here, there = context.Pipe()
        load = Load(url, seconds, threads, f"{seed}/{number}")
        process = context.Process(target=run, args=(load, calls, there))
        process.start()
        there.close()
        started.append((process, here))
    for _, pipe in started:  # on a busy machine they take some time
        pipe.recv()
    begin = time.monotonic()
    for _, pipe in started:
        pipe.send(begin)
    merged: Histories = defaultdict(list)
    for process, pipe in started:
        try:
            for histories in pipe.recv():
                for key, operations in histories.items():
                    merged[key] += operations
        except EOFError:
            tally.report("broken", "a process ended without its history")
        process.join()
    if kept is not None:
        with kept.open("a") as file:
            file.writelines(f"{json.dumps(line)}\n" for line in as_json(merged, f"{store}/{seed}"))
    judge(tally, url, merged)
    return tally


def as_json(histories: Histories, source: str) -> Iterator[dict[str, object]]:
    """Each history of a memory with the calls that its check is about."""
    for key, operations in histories.items():
        calls = _checked(operations)
        yield {"source": source, "memory": key, "calls": [asdict(call) for call in calls]}


def _checked(operations: Sequence[Operation]) -> list[Operation]:
    return [o for o in operations if o.name not in ("same_fact", _ERROR)]


def judge(tally: Tally, url: str, histories: Histories) -> None:
    """Check each history, the counted accesses, and that facts are there once."""
    with opened(url) as memory:
        facts = Counter(record.content for record in memory.iterate({"kind": "fact"}))
        for key, operations in histories.items():
            calls = _checked(operations)
            tally.rounds += 1
            tally.acknowledged += len(calls)
            for operation in operations:
                if operation.name == _ERROR:
                    kind = "foreign" if "foreign" in str(operation.answer) else "refused"
                    tally.report(kind, f"{key}: {operation.answer}")
            made_again = sum(o.name == "add" for o in calls) > 1
            if not is_linearizable(calls, None, partial(step, made_again=made_again)):
                tally.report("not linearizable", f"{key}: {len(calls)} calls")
            if any(o.name == "delete" and o.answer for o in calls):
                continue
            touches = sum(o.name == "touch" and o.answer is True for o in calls)
            record = memory.get(key)
            counted = 0 if record is None else record.access_count
            if counted != touches:
                tally.report("lost", f"{key}: {touches} accesses, {counted} counted")
        for content, count in facts.items():
            if count > 1:
                tally.report("twice", f"{content} is there {count} times")
        if not memory.upkeep.verify():
            tally.report("verify", str(memory.upkeep.verify()))
