"""Every error that salience raises: it names the field, the problem and the remedy."""

from __future__ import annotations

import reprlib
from typing import Any

MAX_MESSAGE_CHARACTERS = 2_000
MAX_PART_CHARACTERS = 400  # of what the caller wrote
MAX_REMEDY_CHARACTERS = 1_200  # room for the names of all fields


class _ShortRepr(reprlib.Repr):
    """A short `repr`, which gives the size of a number that has too many digits."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = 80

    def repr_int(self, x: int, level: int) -> str:
        if x.bit_length() <= 128:
            return repr(x)
        return f"a whole number of {x.bit_length():,} bits"


shown = _ShortRepr().repr
"""The text of a value in an error message: a `repr` that is never long and never fails."""


def _printable(text: str, characters: int) -> str:
    """A text without lone surrogates, its middle cut out to leave at most so many characters."""
    encoded = text.encode("utf-8", "backslashreplace").decode("utf-8")
    if len(encoded) <= characters:
        return encoded
    return f"{encoded[: characters // 2]}...{encoded[-(characters // 4) :]}"


class SalienceError(Exception):
    """Base of every error this package raises on purpose."""

    def __init__(self, message: str = "") -> None:
        super().__init__(_printable(message, MAX_MESSAGE_CHARACTERS))


class InvalidInput(SalienceError, ValueError):
    """An argument was refused: names the field, the problem and the remedy.

    Nothing has been written when it is raised.
    """

    def __init__(self, field: str, problem: str, remedy: str = "") -> None:
        self.field = _printable(field, MAX_PART_CHARACTERS)
        self.problem = _printable(problem, MAX_PART_CHARACTERS)
        self.remedy = _printable(remedy, MAX_REMEDY_CHARACTERS)
        parts = f"{self.field}: {self.problem}"
        super().__init__(f"{parts}; {self.remedy}" if remedy else parts)


class IdTaken(InvalidInput):
    """The id of a memory to be added is taken."""


class InvalidProfile(InvalidInput):
    """A profile cannot work as declared; `field` is the path of the wrong node."""


class NotFound(SalienceError, KeyError):
    """There is no such memory, profile or run in the namespaces searched."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else "not found"


class VersionConflict(SalienceError):
    """The memory has a different version; `record` is the memory as it is now.

    Nothing has been changed when it is raised.
    """

    def __init__(self, record: Any, if_version: int) -> None:
        self.record = record
        self.if_version = if_version
        super().__init__(
            f"the memory {record.id!r} has the version {record.version}, not {shown(if_version)}: "
            "somebody changed it first; read it again, then pass "
            f"if_version={record.version}"
        )


class StoreError(SalienceError):
    """The store could not do its work: unreadable, read-only, full, foreign or corrupt."""


class StoreClosed(StoreError):
    """The store was used after `close()`."""


class NotWritable(StoreError):
    """The store can be read but not written; nothing was written.

    `brief` says why without the name of a file or a server.
    """

    def __init__(self, message: str = "", brief: str = "") -> None:
        super().__init__(message)
        self.brief = brief or "see its error"


class DiskFull(NotWritable):
    """The disk of the store is full; nothing was written."""

    def __init__(self, message: str = "", brief: str = "its disk is full") -> None:
        super().__init__(message, brief)


class NotEmpty(StoreError):
    """The namespace to import into already holds memories."""


class ServerBusy(StoreError):
    """The server is busy; `retry_after` is the number of seconds to wait."""

    def __init__(self, message: str = "", retry_after: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class AccessDenied(SalienceError):
    """The server refused the key, or the key lacks the required scope."""


class Locked(SalienceError):
    """Another process is doing what only one may do at a time; says which, and until when."""


class EmbedderError(SalienceError):
    """The embedder could not answer: no network, no key, a wrong answer.

    `brief` says it without the words of a server, which may quote a text that was sent.
    """

    def __init__(self, message: str = "", brief: str = "") -> None:
        super().__init__(message)
        self.brief = brief or "see its error"


class RerankerError(SalienceError):
    """The reranker could not answer: no network, no model, out of time, a wrong answer.

    `brief` says it without the words of a server, which may quote a text that was sent.
    """

    def __init__(self, message: str = "", brief: str = "") -> None:
        super().__init__(message)
        self.brief = brief or "see its error"


class ExtractionError(SalienceError):
    """The model that reads facts out of messages could not answer; nothing was written.

    `brief` says it without the words of a server, which may quote a text that was sent.
    """

    def __init__(self, message: str = "", brief: str = "") -> None:
        super().__init__(message)
        self.brief = brief or "see its error"


class EmbedderMismatch(EmbedderError, StoreError):
    """The vectors in the store come from another embedder than the one given."""

    def __init__(self, stored: str, given: str) -> None:
        EmbedderError.__init__(
            self,
            f"the vectors in this store come from {stored}, not from {given}; open it with the "
            "embedder that they come from, or re-embed everything with another: `salience reembed "
            "--embedder NAME`, or Memory.upkeep.reembed(url, embedder=...) for one of your own",
            "another embedder",
        )
