"""Facts, the turns that they are found in, and what finds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol

from salience.language.statements.topics import TOPICS
from salience.search.about import TOPIC_KEY

Source = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One message: whose it is (`role`, and perhaps a `name`), and its text."""

    role: str
    text: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact, the places of the turns that it comes from (from 0), and whose turn said it.

    `topic` is one of `TOPICS` for a lasting fact about the user.
    """

    text: str
    turns: tuple[int, ...]
    source: Source
    topic: str | None = None

    def origin(self, model: str) -> dict[str, Any]:
        """The metadata of the fact: its topic, whose turn said it, and the model that found it."""
        topic = {} if self.topic is None else {TOPIC_KEY: self.topic}
        return {**topic, "attributed_to": self.source, "source": {"model": model}}


class FactFinder(Protocol):
    """Something that finds facts in turns: an `Extractor`, or a function in the shape of one."""

    @property
    def model(self) -> str:
        """The name by which it is told of."""

    def facts(
        self, turns: Sequence[Turn], *, known: Sequence[str] = (), today: datetime | None = None
    ) -> list[Fact]:
        """Find the facts in some turns that are worth keeping and not `known`."""


def fact_of(value: Any, turns: Sequence[Turn]) -> Fact | None:
    """The fact of one entry of an answer; None if it has no text."""
    if not isinstance(value, dict) or not isinstance(value.get("text"), str):
        return None
    text = value["text"].strip()
    if not text:
        return None
    numbers = value.get("turns")
    places = [
        number - 1
        for number in (numbers if isinstance(numbers, list) else ())
        if type(number) is int and 1 <= number <= len(turns)
    ]
    roles = {turns[place].role for place in places}
    told_by_assistant = roles == {"assistant"} if roles else value.get("source") == "assistant"
    topic = value.get("topic")
    if told_by_assistant:
        return Fact(text, tuple(dict.fromkeys(places)), "assistant")
    return Fact(text, tuple(dict.fromkeys(places)), "user", str(topic) if topic in TOPICS else None)
