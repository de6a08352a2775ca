"""An invented agent's nine months of memories: to try the library on, and to show how it recalls.

Everybody and everything in it is made up. The memories are plain dictionaries ready for
`Memory.add_many`; the links join them; the questions name the memories that answer them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from importlib.resources import files
from itertools import groupby
from operator import itemgetter
from typing import Any

from salience.engine.memory import Memory

__all__ = ["Clock", "life", "links", "live", "memories", "questions"]


def memories() -> list[dict[str, Any]]:
    """The memories, oldest first: conversation turns, notes, facts, events and profile entries."""
    return _load("memories")


def links() -> list[dict[str, Any]]:
    """The links between the memories: `source`, `target`, `type` and `weight`."""
    return _load("links")


def questions() -> list[dict[str, Any]]:
    """Questions with the ids of the memories that answer them: `id`, `text`, `relevant`, `note`.

    `relevant` is ordered, the best answer first.
    """
    return _load("questions")


def life() -> list[dict[str, Any]]:
    """The uses and judgements of the memories, in the order of `at`.

    They were `used` in an answer, one was `judged` (with the `kind` and its `context`), or all
    `faded`.
    """
    return _load("life")


class Clock:
    """A clock that stands at a time until it is set to another."""

    def __init__(self) -> None:
        self.time = datetime.fromisoformat(memories()[0]["created_at"])

    def __call__(self) -> datetime:
        return self.time


def live(memory: Memory, clock: Clock) -> None:
    """Let the nine months happen to a memory that reads its time from the clock.

    The memories of a day are written in its evening, with their links, and take the place of others
    then. What `life` tells is done, each act at its time. Nothing happens to a memory whose id was
    taken.
    """
    added = set[str]()
    days = groupby(memories(), lambda item: str(item["created_at"])[:10])
    written = [{"at": items[-1]["created_at"], "written": items} for items in map(_listed, days)]
    for act in sorted([*written, *life()], key=itemgetter("at")):
        clock.time = datetime.fromisoformat(act["at"])
        if "written" in act:
            added.update(memory.add_many(act["written"]).ids)
            _link(memory, {item["id"] for item in act["written"]}, added)
        elif used := added.intersection(act.get("used", ())):
            memory.touch(sorted(used), now=clock.time)
        elif act.get("judged") in added:
            memory.feedback(act["judged"], act["kind"], act["context"])
        elif "faded" in act and added:
            memory.upkeep.decay()
    memory.upkeep.flush()


def _link(memory: Memory, new: set[str], added: set[str]) -> None:
    """Link the new memories with those that were added, and let them take the place of others."""
    for link in links():
        ends = {link["source"], link["target"]}
        if ends <= added and ends & new:
            if link["type"] == "supersedes":
                memory.supersede(link["target"], link["source"])
            memory.link(link["source"], link["target"], link["type"], weight=link["weight"])


def _listed(group: tuple[str, Iterator[dict[str, Any]]]) -> list[dict[str, Any]]:
    return list(group[1])


def _load(name: str) -> list[dict[str, Any]]:
    text = files(__package__).joinpath(f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n") if line]
