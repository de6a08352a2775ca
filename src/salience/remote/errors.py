"""Error responses -> the exceptions that an embedded memory raises."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any

from salience.api.operations import BY_NAME
from salience.engine.memory import Memory
from salience.errors import (
    AccessDenied,
    DiskFull,
    EmbedderError,
    EmbedderMismatch,
    ExtractionError,
    IdTaken,
    InvalidInput,
    InvalidProfile,
    Locked,
    NotEmpty,
    NotFound,
    NotWritable,
    SalienceError,
    ServerBusy,
    StoreClosed,
    StoreError,
    VersionConflict,
)
from salience.records.record import MemoryRecord
from salience.records.validation import boolean
from salience.remote.calls import Request
from salience.write.idempotency import key_reused

_EMBEDDER = "the embedder does not answer: "
Members = Mapping[str, Any]


def error_of(
    request: Request, status: int, headers: Mapping[str, str], members: Any
) -> SalienceError:
    """The exception of an answer whose JSON has some `members`, with the id of the request.

    An answer that no server of this package has written is a `StoreError`.
    """
    if not isinstance(members, dict) or not isinstance(members.get("code"), str):
        return StoreError(f"{request.verb} {request.path} was answered with the status {status}")
    make = _BY_CODE.get(members["code"], _any_error)
    try:
        error = make(request, {"detail": "", **members})
    except (TypeError, ValueError, LookupError):  # of another version
        error = _any_error(request, members)
    if isinstance(error, ServerBusy):
        error.retry_after = retry_after(headers.get("retry-after"))
    if members.get("instance"):
        error.add_note(f"request {members['instance']}")
    return error


def retry_after(header: str | None) -> float:
    """The seconds that a header Retry-After asks to wait: a number, or until a date; at first 0."""
    if header is None:
        return 0.0
    try:
        seconds = float(header)
    except ValueError:
        try:
            moment = parsedate_to_datetime(header)
        except ValueError:
            return 0.0
        aware = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
        seconds = (aware - datetime.now(timezone.utc)).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else 0.0


def _invalid(kind: type[InvalidInput]) -> Callable[[Request, Members], SalienceError]:
    def make(request: Request, members: Members) -> SalienceError:
        first = members["errors"][0]
        return kind(first["field"], first["problem"], first.get("remedy", ""))

    return make


def _refused_whole(request: Request, members: Members) -> SalienceError:
    return InvalidInput("request", members["detail"])


def _conflict(request: Request, members: Members) -> SalienceError:
    return VersionConflict(MemoryRecord.from_dict(members["record"]), request.if_version)


def _embedder(request: Request, members: Members) -> SalienceError:
    detail = members["detail"]
    return EmbedderError(detail, detail.removeprefix(_EMBEDDER))


def _mismatch(request: Request, members: Members) -> SalienceError:
    error = EmbedderMismatch.__new__(EmbedderMismatch)  # its message is the server's
    EmbedderError.__init__(error, members["detail"], "another embedder")
    return error


def _of(kind: type[SalienceError]) -> Callable[[Request, Members], SalienceError]:
    return lambda request, members: kind(members["detail"])


def _any_error(request: Request, members: Members) -> SalienceError:
    return SalienceError(members.get("detail") or members["code"])


_BY_CODE: Mapping[str, Callable[[Request, Members], SalienceError]] = {
    "InvalidInput": _invalid(InvalidInput),
    "IdTaken": _invalid(IdTaken),
    "InvalidProfile": _invalid(InvalidProfile),
    "ImportProblem": _invalid(InvalidInput),
    "NotFound": _of(NotFound),
    "VersionConflict": _conflict,
    "Locked": _of(Locked),
    "EmbedderError": _embedder,
    "EmbedderMismatch": _mismatch,
    "ExtractionError": _of(ExtractionError),
    "StoreError": _of(StoreError),
    "NotWritable": _of(NotWritable),
    "DiskFull": _of(DiskFull),
    "StoreClosed": _of(StoreClosed),
    "NotEmpty": _of(NotEmpty),
    **dict.fromkeys(
        ("KeyRequired", "ScopeMissing", "OriginRefused", "HostRefused"), _of(AccessDenied)
    ),
    **dict.fromkeys(
        ("RateLimited", "Busy", "Stopping", "TimeLimit", "BodyTimeout", "RequestInProgress"),
        _of(ServerBusy),
    ),
    **dict.fromkeys(("BodyTooLarge", "KeyReused", "InvalidRequest"), _refused_whole),
}
"""The exceptions by the code of a problem, which is the name of its class at the server."""


# Refusals of arguments, in the words of an embedded memory


def refuse_rewrite(rewrite: Any) -> None:
    """Refuse to rewrite a whole store from afar.

    Raises:
        InvalidInput: it was asked for.
    """
    if boolean("rewrite", rewrite):
        raise InvalidInput(
            "rewrite", "locks a store that others use", "rewrite it where the server runs"
        )


def as_embedded(name: str, arguments: Mapping[str, Any], problem: InvalidInput) -> InvalidInput:
    """The error by which an embedded memory refuses the arguments of a method.

    That is asked of an empty one, which knows what is wrong more exactly than whoever could not
    send the arguments, or could not read them. Where it takes them, the error is the `problem`,
    and so it is where the server alone knows what is wrong.
    """
    if problem.problem == key_reused().problem:
        return problem
    try:
        with Memory("ram://", embedder=None) as memory:
            BY_NAME[name].of(memory)(**arguments)
    except InvalidInput as refusal:
        for note in getattr(problem, "__notes__", ()):
            refusal.add_note(note)
        return refusal
    except SalienceError:  # such as a memory that is not there
        pass
    return problem


# Retries: which requests are sent again after a failure, and after how long

MAX_TRIES = 4
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.2, 5.0
MAX_RETRY_AFTER_SECONDS = 30.0  # that a server may ask to wait; for longer its refusal is raised
_UNTOUCHED = frozenset({"RateLimited", "Busy", "Stopping"})
"""The codes of refusals before anything was done."""
_PASSING = frozenset({"TimeLimit", "RequestInProgress"})
_PASSING_STATUSES = frozenset({502, 503, 504})  # of a proxy whose server is away for a moment


class Tries:
    """The tries of one request.

    Sent again is what never reached a server, and what a server refused because it was busy. Where
    an answer was lost, only a request is sent again that has the effect of once: one that reads, or
    one with an Idempotency-Key.
    """

    def __init__(self, request: Request) -> None:
        self._request = request
        self._count = 0
        self._has_effect_of_once = request.repeatable or "Idempotency-Key" in request.headers

    def pause_after_failure(self, error: StoreError, was_sent: bool) -> float:
        """The seconds until the next try, after no answer came; raises the error if there is none.

        `was_sent` is False where the server cannot have got the request.
        """
        return self._pause(error, 0.0, not was_sent or self._has_effect_of_once)

    def pause_after_refusal(self, error: SalienceError, status: int, code: str) -> float:
        """The seconds until the next try after an error response, or raise the error.

        `code` is that of the problem, empty where a proxy answered.
        """
        is_passing = code in _PASSING or (not code and status in _PASSING_STATUSES)
        may_repeat = code in _UNTOUCHED or (is_passing and self._has_effect_of_once)
        least = error.retry_after if isinstance(error, ServerBusy) else 0.0
        return self._pause(error, least, may_repeat)

    def _pause(self, error: SalienceError, least: float, may_repeat: bool) -> float:
        self._count += 1
        if not may_repeat or self._count >= MAX_TRIES or least > MAX_RETRY_AFTER_SECONDS:
            raise error
        backoff = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** (self._count - 1))
        return max(least, backoff * random.uniform(0.5, 1.0))
