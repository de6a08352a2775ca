"""Answers that tell of an error -> the exceptions that an embedded memory raises."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any

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
from salience.remote.calls import Request

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
