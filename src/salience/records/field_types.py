"""The properties of a field of a memory, and the texts that some fields are limited to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Type = Literal["text", "number", "time", "list", "json", "times"]

STATUSES = (
    "active", "superseded", "contradicted", "archived", "consolidated", "completed", "deleted",
)  # fmt: skip
TIERS = ("short", "medium", "long")
NATURES = ("episodic", "semantic")
CONTENT_TYPES = ("text", "conversation", "document", "event", "fact")
LAYERS = ("episodic", "knowledge", "activity", "entity")
REVIEWS = ("outdated", "incorrect")


@dataclass(frozen=True)
class Field:
    """One field: its type, whether its words are searched, whether it may change in place.

    `patchable` fields change without a new version of the memory: they carry no words, no vector
    and no place in a session. A number is at least 0.
    """

    type: Type
    lexical: bool = False
    patchable: bool = False
    limit: int | None = None  # characters
    choices: tuple[str, ...] = ()  # the only texts allowed; any if empty
    maximum: float | None = None  # the largest number allowed
    whole: bool = False  # a number without a fraction
