"""Limits: the largest values that a memory takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from salience.errors import InvalidInput, shown
from salience.lazily import dataclass, fields

_LARGEST_LIMIT = 100_000_000


@dataclass(frozen=True)
class Limits:
    """The largest values that are taken; they bound the time and room that one call may need.

    text: characters of a memory's content, and of each further text that a vector is made of.
    query: characters of a query.
    tags: tags of one memory, and entities as well.
    metadata: bytes of the metadata of one memory, written as JSON.
    """

    text: int = 1_000_000
    query: int = 100_000
    tags: int = 1_000
    metadata: int = 1_000_000

    @classmethod
    def of(cls, limits: Limits | Mapping[str, int] | None) -> Limits:
        """From a mapping of some of the limits by name; the others have their defaults.

        Raises:
            InvalidInput: there is no such limit, or a value is no integer in [1, 100000000].
        """
        if limits is None or isinstance(limits, Limits):
            return limits or DEFAULT_LIMITS
        try:
            values = dict(limits) if isinstance(limits, Mapping) else None
        except Exception:  # of any kind, in a type from outside
            values = None
        if values is None:
            problem, remedy = f"is {shown(limits)}", 'give a mapping: {"text": 5000000}'
            raise InvalidInput("limits", problem, remedy)
        names = [field.name for field in fields(cls)]
        for name, value in values.items():
            if name not in names:
                raise InvalidInput("limits", f"has no {shown(name)}", f"use {', '.join(names)}")
            if type(value) is not int or not 1 <= value <= _LARGEST_LIMIT:
                remedy = f"give a whole number from 1 to {_LARGEST_LIMIT:,}"
                raise InvalidInput(f"limits.{name}", f"is {shown(value)}", remedy)
        return cls(**values)


DEFAULT_LIMITS = Limits()


# The properties of a field of a memory, and the texts that some fields are limited to

Type = Literal["text", "number", "time", "list", "json", "times"]

STATUSES = (
    "active", "superseded", "contradicted", "archived", "consolidated", "completed", "deleted",
)  # fmt: skip
TIERS = ("short", "medium", "long")
NATURES = ("episodic", "semantic")
CONTENT_TYPES = ("text", "conversation", "document", "event", "fact")
LAYERS = ("episodic", "knowledge", "activity", "entity")
CONFIRMED = "confirmed"
REVIEWS = ("outdated", "incorrect", CONFIRMED)


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
