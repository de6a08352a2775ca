"""The life of a store: what it holds at first, and every call that writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from random import Random
from typing import Any

from salience import Memory
from salience.errors import SalienceError
from salience.records.record import MemoryRecord
from salience.testing import WordHashEmbedder
from salience.write.upsert import OnConflict

NOW = datetime(2026, 6, 1, 12, tzinfo=timezone.utc)
LONG_AGO = NOW - timedelta(days=900)
NOUNS = ("cello", "garden", "bicycle", "kitchen", "lighthouse", "train", "violin", "orchard")
VERBS = ("repairs", "sells", "paints", "borrows", "likes", "visits", "cleans", "photographs")
NAMES = ("Ana", "Ben", "Chloe", "Dmitri", "Eve", "Farid")
TOWNS = ("Lisbon", "Rome", "Oslo", "Kyoto", "Lima", "Accra")


def opened(url: Any, now: datetime = NOW, dimensions: int = 32, **settings: Any) -> Memory:
    """A memory whose clock stands still, so that the same calls leave the same state."""
    embedder = WordHashEmbedder(dimensions)
    return Memory.open(url, embedder=embedder, clock=lambda: now, **settings)


def found(memory: Memory) -> None:
    """Fill an empty store with what the calls need: old, expired, linked, doubled, archived."""
    for n in range(24):
        text = f"{NAMES[n % 6]} {VERBS[n % 8]} the {NOUNS[n // 3]} number {n}."
        memory.add(text, id=f"fact{n}", kind="fact", user_id="ana", importance=0.1)
    for start in ("the cat sleeps on", "on the cat sleeps", "sleeps the cat on"):
        memory.add(f"{start} sofa", user_id="ana", dedup=False)
    memory.add("Expired long since.", id="expired", expires_at=NOW - timedelta(days=1))
    memory.add("Buy a bow for the cello.", id="task", kind="task")
    memory.add("A note with a title.", id="titled", title="Title")
    memory.add_chat(_messages("the garden"), session_id="chat", user_id="ana")
    memory.add([{"role": "user", "content": f"Turn {n}"} for n in range(3)], session_id="turns")
    for n in range(6):
        memory.link(f"fact{n}", f"fact{n + 1}", "supports", 0.5)
    memory.archive(["fact20", "fact21"])
    memory.for_namespace("other").add_many([f"The other tenant owns boat {n}." for n in range(8)])
    memory.upkeep.flush()


@dataclass(frozen=True, slots=True)
class Call:
    """A call that writes; `in_steps` tells that it may end between steps, and is then repeated."""

    name: str
    run: Callable[[Memory, Random], None]
    in_steps: bool = False


CALLS: list[Call] = []
_Run = Callable[[Memory, Random], None]


def _call(run: _Run) -> _Run:
    CALLS.append(Call(run.__name__.strip("_"), run))
    return run


def _call_in_steps(run: _Run) -> _Run:
    CALLS.append(Call(run.__name__.strip("_"), run, in_steps=True))
    return run


def do(call: Call, memory: Memory, seed: int) -> None:
    """Make a call; one that the state of the store forbids is refused, and changes nothing."""
    try:
        call.run(memory, Random(seed))
        memory.upkeep.flush()
    except SalienceError as problem:
        if not isinstance(problem, ValueError | KeyError):  # InvalidInput, NotFound
            raise


def _messages(thing: str) -> list[dict[str, str]]:
    return [
        {"role": "user", "content": f"I like {thing}. What do you say?"},
        {"role": "assistant", "content": f"I would like {thing}, too."},
        {"role": "user", "content": f"My birthday is in May, at {thing}."},
    ]


def _text(random: Random) -> str:
    return (
        f"{random.choice(NAMES)} {random.choice(VERBS)} the {random.choice(NOUNS)} "
        f"in {random.choice(TOWNS)}."
    )


def _records(memory: Memory) -> Sequence[MemoryRecord]:
    return list(memory.get_all(limit=1_000))


def _any(memory: Memory, random: Random) -> str:
    return random.choice(_records(memory)).id


def _two(memory: Memory, random: Random) -> list[str]:
    return [record.id for record in random.sample(_records(memory), 2)]


@_call
def add(memory: Memory, random: Random) -> None:
    memory.add(_text(random), tags=["new"], metadata={"n": random.random()})


@_call
def add_again(memory: Memory, random: Random) -> None:
    """A duplicate, which strengthens what is there, and merges its tags."""
    known = next((r for r in _records(memory) if r.kind == "fact"), _records(memory)[0])
    fields: Any = {
        "kind": "fact",
        "user_id": known.user_id,
        "tags": ["again"],
        "metadata": {"k": 1},
    }
    memory.add(known.content, **fields)


@_call
def add_superseding(memory: Memory, random: Random) -> None:
    memory.add(_text(random), supersedes=_any(memory, random))


@_call
def add_linked(memory: Memory, random: Random) -> None:
    one, other = _two(memory, random)
    links = [{"target": one, "type": "supports"}, {"target": other, "type": "mentions"}]
    links.append({"target": "Title", "type": "mentions"})
    memory.add(_text(random), links=links, title=f"Title {random.random()}")


@_call
def add_with_key(memory: Memory, random: Random) -> None:
    memory.add(_text(random), idempotency_key=f"key-{random.randrange(3)}")


@_call
def add_on_conflict(memory: Memory, random: Random) -> None:
    rule: OnConflict = "replace" if random.random() < 0.5 else "skip"
    memory.add(_text(random), id=_any(memory, random), tags=["put"], on_conflict=rule)


@_call
def add_turns(memory: Memory, random: Random) -> None:
    messages = [{"role": "user", "content": _text(random)} for _ in range(3)]
    memory.add(messages, session_id=random.choice(["turns", "new"]))


@_call
def add_many(memory: Memory, random: Random) -> None:
    known = _records(memory)[0]
    items: list[Any] = [_text(random) for _ in range(6)]
    items += [known.content, {"content": _text(random), "supersedes": _any(memory, random)}]
    memory.add_many(items)


@_call
def add_chat(memory: Memory, random: Random) -> None:
    memory.add_chat(_messages(random.choice(NOUNS)), mode=random.choice(["chunks", "hybrid"]))


@_call
def add_chat_on(memory: Memory, random: Random) -> None:
    """Go on with a stored session: its last chunk changes, and new ones follow."""
    messages = [{"role": "assistant", "content": _text(random)}, *_messages(random.choice(NOUNS))]
    memory.add_chat(messages, session_id="chat", user_id="ana")


@_call
def update(memory: Memory, random: Random) -> None:
    memory.update(_any(memory, random), importance=random.random(), tags=["changed"])


@_call
def update_content(memory: Memory, random: Random) -> None:
    memory.update(_any(memory, random), content=_text(random), title=f"T{random.random()}")


@_call
def touch(memory: Memory, random: Random) -> None:
    memory.touch(_two(memory, random), random.choice(["reference", "read", "retrieval"]))


@_call
def touch_with_utility(memory: Memory, random: Random) -> None:
    memory.touch([f"fact{n}" for n in range(3)], utility=0.9)


@_call
def feedback(memory: Memory, random: Random) -> None:
    kind = random.choice(["useful", "not_useful", "outdated", "incorrect"])
    memory.feedback(_any(memory, random), kind, "a reason")


@_call
def promote(memory: Memory, random: Random) -> None:
    memory.feedback(_any(memory, random), "promote")


@_call
def demote(memory: Memory, random: Random) -> None:
    memory.feedback(_any(memory, random), "demote")


@_call
def reinforce(memory: Memory, random: Random) -> None:
    memory.feedback(_any(memory, random), "reinforce")


@_call
def pin(memory: Memory, random: Random) -> None:
    memory.pin(_any(memory, random))


@_call
def unpin(memory: Memory, random: Random) -> None:
    memory.unpin(_any(memory, random))


@_call
def link(memory: Memory, random: Random) -> None:
    one, other = _two(memory, random)
    memory.link(one, other, "depends_on", 0.7)


@_call
def supersede(memory: Memory, random: Random) -> None:
    one, other = _two(memory, random)
    memory.supersede(one, other)


@_call
def contradict(memory: Memory, random: Random) -> None:
    one, other = _two(memory, random)
    memory.link(one, other, "contradicts")


@_call
def decay_all(memory: Memory, random: Random) -> None:
    memory.upkeep.decay()


@_call
def archive(memory: Memory, random: Random) -> None:
    memory.archive(_two(memory, random))


@_call
def unarchive(memory: Memory, random: Random) -> None:
    archived = memory.get_all({"status": "archived"}, limit=100)
    memory.unarchive([record.id for record in archived][:3] or ["fact0"])


@_call
def delete(memory: Memory, random: Random) -> None:
    memory.delete(_any(memory, random))


@_call
def delete_many(memory: Memory, random: Random) -> None:
    memory.delete_many([*_two(memory, random), "nobody"])


@_call
def delete_all(memory: Memory, random: Random) -> None:
    memory.delete_all({"kind": random.choice(["fact", "turn", "chunk"])})


@_call
def delete_namespace(memory: Memory, random: Random) -> None:
    memory.delete_all(namespace="other")


@_call
def prune(memory: Memory, random: Random) -> None:
    memory.upkeep.prune(apply=True, cap=10)


@_call_in_steps
def consolidate(memory: Memory, random: Random) -> None:
    memory.upkeep.consolidate(apply=True, everything=True)


@_call_in_steps
def maintain(memory: Memory, random: Random) -> None:
    memory.upkeep.maintain(steps=("expire", "tasks", "links", "consolidate", "prune"), cap=5)


@_call
def undo(memory: Memory, random: Random) -> None:
    page = memory.events(limit=1_000)
    runs = [event.payload["run"] for event in page.events if event.payload.get("run")]
    if runs:
        memory.undo(random.choice(runs))


@_call_in_steps
def audit(memory: Memory, random: Random) -> None:
    memory.upkeep.audit(mend=("duplicates", "junk", "orphaned"))
