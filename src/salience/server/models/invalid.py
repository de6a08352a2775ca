"""Mistakes in a request: each with its place in the body, its problem and the remedy."""

from __future__ import annotations

from dataclasses import dataclass

from salience.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Mistake:
    """One wrong member of a request; `pointer` is its place by RFC 6901."""

    pointer: str
    field: str
    problem: str
    remedy: str = ""


class InvalidArguments(InvalidInput):
    """A request whose body or query is not as its schema says; `mistakes` names all of it."""

    def __init__(self, mistakes: tuple[Mistake, ...]) -> None:
        self.mistakes = mistakes
        first = mistakes[0]
        super().__init__(first.field, first.problem, first.remedy)
