"""Isolation: nothing of another namespace is in any answer, to the byte."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from salience import Memory
from salience.display.result import to_json
from salience.testing.conformance._case import EVERYTHING, START, Clock, StoreCase

_ALONE, _BESIDE = "ana1", "ana2"
_TEXTS = (
    "Ana lives in Lisbon and plays the cello.",
    "The cello of Ana was made in Cremona in 1987.",
    "Bruno repairs bicycles near the river.",
    "On 2026-02-11 Ana met Carla at the Teatro.",
    "Carla paints boats, and Ana likes the blue one.",
)
_OTHERS = (
    "Ana lives in Berlin and sells cellos.",
    "Anna of the river told Carla about Cremona, Lisbon and bicicles.",
    "The blue cello was repaired on 2026-02-11.",
)
_QUESTIONS = ("Where does Ana live?", "Who has a celo?", "What happened in February 2026?")
RUN = re.compile(r"(?<=-)[0-9a-f]{8}(?=-\d)")
"""The part of a run's name that tells it from others that begin at once."""
_KEY = re.compile(r'(key\\*": \\*"(?:[^"]* )?)[0-9a-f]{32,64}')
"""The key that a remote memory gives to each write, so that it can be sent again, or its digest."""
_OF_A_CALL = frozenset({"timings_ms", "search_id"})
Step = Callable[[], object]


class Isolation(StoreCase):
    def test_no_answer_tells_of_another_namespace(self, memory: Memory, clock: Clock) -> None:
        alone = _answers(memory.for_namespace(_ALONE), clock, lambda: None)
        steps = neighbour(memory)
        clock.now = START
        beside = _answers(memory.for_namespace(_BESIDE), clock, lambda: next(steps))
        for (name, one), (_, other) in zip(alone, beside, strict=True):
            assert (name, other) == (name, one)


def _answers(memory: Memory, clock: Clock, meanwhile: Step) -> list[tuple[str, str]]:
    """The name and the answer of each call, as JSON; something happens before each."""
    answers = []
    for name, call in _calls(memory):
        meanwhile()
        clock.pass_(minutes=1)
        text = json.dumps(_plain(call()), ensure_ascii=False)
        memory.upkeep.flush()  # uses get their places in the log
        text = _KEY.sub(r"\1", RUN.sub("", text))
        answers.append((name, text.replace(memory.namespace, _ALONE)))
    return answers


def neighbour(memory: Memory) -> Iterator[None]:
    """Another tenant who writes, links, asks and erases, each time that it is its turn."""
    other = memory.for_namespace("ben")
    for number in count():
        id = f"b{number}"
        text = f"{_OTHERS[number % len(_OTHERS)]} That was number {number}."
        other.add(text, id=id, speaker="Ana", tags=["music"], importance=0.9, dedup=False)
        other.add(text, session_id=f"s{number % 3}", speaker="Anna", dedup=False)
        if number:
            other.link(id, f"b{number - 1}", "supports")
            other.update(f"b{number - 1}", content=f"{text} It was told again.")
            other.search(_QUESTIONS[0])
        if number % 3 == 2:
            other.archive([id])
            other.delete(f"b{number - 1}")
        if number % 6 == 5:
            other.delete_all(namespace="ben")
            other.add("It starts over.", id=id)
        for _ in range(8):
            yield


def _calls(memory: Memory) -> Iterator[tuple[str, Step]]:
    """Every call that reads, between some that write."""
    for number, text in enumerate(_TEXTS):
        fields: dict[str, Any] = {"id": f"m{number}", "tags": ["music"] if number < 2 else []}
        yield (
            "add",
            lambda text=text, fields=fields: memory.add(text, **fields, idempotency_key=text),  # type: ignore[misc]
        )
    yield "add again", lambda: memory.add(_TEXTS[0], id="m9", dedup=True)
    yield (
        "add_many",
        lambda: memory.add_many(
            [
                {"id": f"t{i}", "content": text, "session_id": "s1", "speaker": speaker}
                for i, (speaker, text) in enumerate(
                    [("Ana", "I have moved to Porto."), ("Bo", "When was that?")]
                )
            ]
        ),
    )
    yield "link", lambda: memory.link("m1", "m0", "supports")
    yield from _reading(memory, "at first")
    yield "update", lambda: memory.update("m2", content="Bruno repairs boats near the river.")
    yield "feedback", lambda: memory.feedback("m0", "useful")
    yield "touch", lambda: memory.touch(["m1"], utility=0.5)
    yield "pin", lambda: memory.pin("m3")
    yield "archive", lambda: memory.archive(["m4"])
    yield "decay_all", lambda: memory.upkeep.decay()
    yield "delete", lambda: memory.delete("t1")
    yield "consolidate", lambda: memory.upkeep.consolidate()
    yield "maintain", lambda: memory.upkeep.maintain()
    yield "contradict", lambda: memory.link("m0", "m1", "contradicts")
    yield from _reading(memory, "after changes")
    yield "as of", lambda: memory.search(_QUESTIONS[0], as_of=START, touch=False)
    yield "unarchive", lambda: memory.unarchive(["m4"])
    yield "delete_all", lambda: memory.delete_all({"tags": "music"})
    yield from _reading(memory, "in the end")


def _reading(memory: Memory, when: str) -> Iterator[tuple[str, Step]]:
    """Every call that only reads, and searches that count their hits."""
    steps: dict[str, Step] = {
        "get": lambda: memory.get("m2"),
        "get_many": lambda: memory.get_many(["m0", "nobody", "b0"]),
        "get_all": lambda: memory.get_all(limit=2),
        "next page": lambda: memory.get_all(limit=2, cursor=memory.get_all(limit=2).cursor),
        "filtered": lambda: memory.get_all({"kind": {"exists": True}}, limit=1, order="oldest"),
        "iterate": lambda: [record.id for record in memory.iterate(page_size=2)],
        "count": lambda: [memory.count(), memory.count(archived=True)],
        "about": lambda: [memory.about(), memory.about("Ana")],
        "tags": lambda: memory.tags(),
        "entities": lambda: memory.entities(limit=2),
        "links": lambda: [memory.links(), memory.links("m0"), memory.links(pending=True)],
        "history": lambda: memory.history("m2"),
        "events": lambda: memory.events(limit=5),
        "later events": lambda: memory.events(memory.events(limit=5).cursor),
        "stats": lambda: memory.stats(),
        "zones": lambda: memory.inspect.zones(),
        "zone_shares": lambda: memory.inspect.zone_shares(points=3),
        "vitality": lambda: memory.inspect.vitality("m2", points=3),
        "audit": lambda: memory.upkeep.audit(),
        "verify": lambda: memory.upkeep.verify(),
        "prune": lambda: memory.upkeep.prune(),
        "export": lambda: _exported(memory),
        "candidates": lambda: memory.inspect.candidates(_QUESTIONS[0], profile=EVERYTHING),
        "compare": lambda: memory.inspect.compare(_QUESTIONS[0], ["balanced", EVERYTHING]),
        "explain": lambda: memory.explain(_QUESTIONS[0], "m2"),
        "context": lambda: memory.get_context(_QUESTIONS[0], 200),
    }
    for question in _QUESTIONS:
        steps[question] = lambda question=question: memory.search(question, explain=True)  # type: ignore[misc]
    for profile in ("vitality", "activation"):
        steps[profile] = lambda profile=profile: memory.search(_QUESTIONS[0], profile=profile)  # type: ignore[misc]
    for name, step in steps.items():
        yield f"{name} {when}", step


def _exported(memory: Memory) -> str:
    target = io.BytesIO()
    memory.export(target, vectors=True)
    *lines, _ = target.getvalue().decode().splitlines()  # the last has a digest of the name
    return "\n".join(lines)


def _plain(answer: object) -> Any:
    """An answer as JSON, without what tells one call from another of its kind."""
    value = to_json(answer.to_dict() if hasattr(answer, "to_dict") else answer)
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items() if name not in _OF_A_CALL}
    return [_plain(each) for each in value] if isinstance(value, list) else value
