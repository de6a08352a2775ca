"""Every error salience raises: what was wrong, with which field, and what to do about it."""

from __future__ import annotations

import reprlib

_LONGEST = 2_000  # characters of an error's text, and of one of its parts
_LONGEST_PART = 400


class _Shown(reprlib.Repr):
    """How values are written in errors: short, and of a number too long for decimals its size."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = 80

    def repr_int(self, x: int, level: int) -> str:
        if x.bit_length() <= 128:
            return repr(x)
        return f"a whole number of {x.bit_length():,} bits"


shown = _Shown().repr
"""A value as an error names it: `repr`, but never long and never an error itself."""


def _cut(text: str, longest: int) -> str:
    """`text` as it can be printed anywhere: without lone surrogates and cut short in its middle."""
    whole = text.encode("utf-8", "backslashreplace").decode("utf-8")
    if len(whole) <= longest:
        return whole
    return f"{whole[: longest // 2]}...{whole[-(longest // 4) :]}"


class SalienceError(Exception):
    """Base of every error this package raises on purpose."""

    def __init__(self, message: str = "") -> None:
        super().__init__(_cut(message, _LONGEST))


class InvalidInput(SalienceError, ValueError):
    """An argument was refused at the door: names the field, the problem and the remedy.

    Nothing has been written when it is raised.
    """

    def __init__(self, field: str, problem: str, remedy: str = "") -> None:
        self.field = _cut(field, _LONGEST_PART)
        self.problem = _cut(problem, _LONGEST_PART)
        self.remedy = _cut(remedy, _LONGEST_PART)
        parts = f"{self.field}: {self.problem}"
        super().__init__(f"{parts}; {self.remedy}" if remedy else parts)


class InvalidProfile(InvalidInput):
    """A profile cannot work as declared; `field` is the path of the wrong node."""


class NotFound(SalienceError, KeyError):
    """No memory (or profile, or link) goes by that name in the namespaces looked at."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else "not found"


class StoreError(SalienceError):
    """The store could not do its work: unreadable, read-only, full, foreign or corrupt."""


class StoreClosed(StoreError):
    """The store was used after `close()`."""


class Locked(SalienceError):
    """Somebody else is doing what only one may do at a time; says who, and until when."""


class EmbedderError(SalienceError):
    """The embedder could not answer: no network, no key, a wrong answer."""


class EmbedderMismatch(EmbedderError, StoreError):
    """The vectors in the store were made by another embedder than the one given."""

    def __init__(self, kept: str, given: str) -> None:
        super().__init__(
            f"the vectors in this store come from {kept}, not from {given}; open it with the one "
            "that they come from, or have all made anew by the one that you name: `salience "
            "reembed --embedder NAME`, or Memory.reembed(url, embedder=...) for one of your own"
        )
