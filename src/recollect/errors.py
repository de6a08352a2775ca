"""Every error recollect raises: what was wrong, with which field, and what to do about it."""

from __future__ import annotations


class RecollectError(Exception):
    """Base of every error this package raises on purpose."""


class InvalidInput(RecollectError, ValueError):
    """An argument was refused at the door: names the field, the problem and the remedy.

    Nothing has been written when it is raised.
    """

    def __init__(self, field: str, problem: str, remedy: str = "") -> None:
        self.field = field
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"{field}: {problem}" + (f"; {remedy}" if remedy else ""))


class InvalidProfile(InvalidInput):
    """A profile cannot work as declared; `field` is the path of the wrong node."""


class NotFound(RecollectError, KeyError):
    """No memory (or profile, or link) goes by that name in the namespaces looked at."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else "not found"


class StoreError(RecollectError):
    """The store could not do its work: unreadable, read-only, full, foreign or corrupt."""


class StoreClosed(StoreError):
    """The store was used after `close()`."""


class Locked(RecollectError):
    """Somebody else is doing what only one may do at a time; says who, and until when."""


class EmbedderError(RecollectError):
    """The embedder could not answer: no network, no key, a wrong answer."""


class EmbedderMismatch(EmbedderError, StoreError):
    """The vectors in the store were made by another embedder than the one given."""

    def __init__(self, kept: str, given: str) -> None:
        super().__init__(
            f"the vectors in this store come from {kept}, not from {given}; open it with that "
            "embedder, or make them anew with `recollect reembed`"
        )
