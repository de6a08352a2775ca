"""Requests that were seen, their answers, and the places that keep them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from salience.server.guard.request import UNMATCHED

_ENTRY_BYTES = 1_024  # of memory, beside the body


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer, the template of the path that gave it, and the namespace that it is about."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes
    route: str = UNMATCHED
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class KeptRequest:
    """A request that was seen: the hash of its content, and its answer once there is one.

    `is_done` without an answer: the answer was too large to be kept, or it is dropped.
    """

    fingerprint: bytes
    answer: Answer | None = None
    is_done: bool = False
    erased_in: frozenset[str] = frozenset()  # namespaces, while it was running

    @property
    def bytes(self) -> int:
        """The memory that it takes, roughly."""
        return _ENTRY_BYTES + (len(self.answer.body) if self.answer else 0)


class AnswerStore(Protocol):
    """A place for requests and their answers; servers that share one replay for each other."""

    async def begin(self, name: str, fingerprint: bytes) -> KeptRequest | None:
        """Reserve a name for a request: None, or the request that has it already."""

    async def finish(self, name: str, answer: Answer | None) -> None:
        """Keep the answer of a request, unless it was dropped before; None: it was too large."""

    async def abandon(self, name: str) -> None:
        """Forget a request that failed, so that it can be sent again."""

    async def drop_answers(self, namespace: str, own: str | None = None) -> None:
        """Forget what was answered about a namespace, but not which requests were done.

        A request that is running may have read what is gone, so its answer about the namespace is
        not kept either; that of the request `own` is.
        """
