"""Problems: every error as the body that RFC 9457 describes, `application/problem+json`."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from traceback import extract_tb
from typing import Any, NamedTuple

import msgspec
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from salience.errors import (
    EmbedderError,
    EmbedderMismatch,
    ExtractionError,
    InvalidInput,
    Locked,
    NotEmpty,
    NotFound,
    NotWritable,
    RerankerError,
    SalienceError,
    StoreClosed,
    StoreError,
    VersionConflict,
)
from salience.importers import ImportProblem
from salience.lazily import dataclass

MEDIA_TYPE = "application/problem+json"


class Kind(NamedTuple):
    """A kind of problem: its status, and its title, which is the same for all of the kind."""

    status: int
    title: str


KINDS: Mapping[str, Kind] = {
    # errors of the engine, by their class
    "InvalidInput": Kind(422, "An argument was refused"),
    "IdTaken": Kind(409, "The id is taken"),
    "InvalidProfile": Kind(422, "A profile cannot work"),
    "ImportProblem": Kind(422, "The lines cannot be imported"),
    "NotFound": Kind(404, "There is nothing of that name"),
    "VersionConflict": Kind(412, "The memory was changed in the meantime"),
    "Locked": Kind(409, "Another process is at work"),
    "NotEmpty": Kind(409, "The namespace already holds memories"),
    "EmbedderMismatch": Kind(409, "The vectors come from another embedder"),
    "EmbedderError": Kind(503, "The embedder does not answer"),
    "RerankerError": Kind(503, "The reranker does not answer"),
    "ExtractionError": Kind(503, "The model for facts does not answer"),
    "StoreClosed": Kind(503, "The store is closed"),
    "StoreError": Kind(503, "The store could not do its work"),
    "NotWritable": Kind(503, "The store cannot be written"),
    "DiskFull": Kind(507, "The disk of the store is full"),
    "SalienceError": Kind(500, "The engine could not do its work"),
    "InternalError": Kind(500, "The server failed"),
    # refusals of requests
    "InvalidRequest": Kind(400, "The request is malformed"),
    "KeyRequired": Kind(401, "A valid key is required"),
    "ScopeMissing": Kind(403, "The key lacks a scope"),
    "ReadOnly": Kind(403, "The server only reads"),
    "OriginRefused": Kind(403, "Requests of this page are refused"),
    "MethodNotAllowed": Kind(405, "The method is not offered here"),
    "BodyTimeout": Kind(408, "The body did not arrive in time"),
    "RequestDone": Kind(409, "The first request of this key was done, and its answer is not kept"),
    "RequestInProgress": Kind(409, "The first request of this key is still running"),
    "BodyTooLarge": Kind(413, "The body is too large"),
    "UnsupportedMediaType": Kind(415, "The content type is not taken"),
    "HostRefused": Kind(421, "The server does not answer for this host"),
    "KeyReused": Kind(422, "The idempotency key belongs to another request"),
    "RateLimited": Kind(429, "Too many requests"),
    "Busy": Kind(503, "The server is busy"),
    "Stopping": Kind(503, "The server is stopping"),
    "TimeLimit": Kind(503, "The answer took too long"),
}
"""Every kind of problem by its code, which is the name of the error's class."""

_STATUS_CODES = {400: "InvalidRequest", 404: "NotFound", 405: "MethodNotAllowed"}
_HIDDEN: Mapping[type[SalienceError], str] = {
    # Their messages name files, hosts and processes, or quote what a server said.
    Locked: "another process is maintaining the namespace; ask again when it has finished",
    EmbedderMismatch: "the vectors in the store come from another embedder; the server has to be "
    "started with that one, or everything be re-embedded",
    StoreClosed: "the store was closed; ask again when the server has restarted",
    StoreError: "the store could not do its work; the log of the server says why",
}
_INTERNAL = "the server failed; its log says why under the id of this request"
_PATH = re.compile(r"[\w\-]+(?:\[\d+\]|\.[\w\-]+)*")
_STEP = re.compile(r"[^.\[\]]+")
_log = logging.getLogger("salience.server")


@dataclass(frozen=True)
class FieldProblem:
    """One refused field: its JSON pointer in the body, what is wrong with it, and the remedy."""

    field: str
    problem: str
    remedy: str = ""
    pointer: str | None = None

    def to_dict(self) -> dict[str, str]:
        """The members of the JSON; without a pointer where there is none."""
        pointer = {} if self.pointer is None else {"pointer": self.pointer}
        return pointer | {"field": self.field, "problem": self.problem, "remedy": self.remedy}


@dataclass(frozen=True)
class Problem:
    """An answer that says why a request was refused or failed.

    `code` is one of `KINDS`; `record` is the memory as it is now, after a conflict of versions.
    """

    code: str
    detail: str
    errors: tuple[FieldProblem, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    record: Mapping[str, Any] | None = None

    @property
    def kind(self) -> Kind:
        """The status and the title."""
        return KINDS[self.code]

    @property
    def status(self) -> int:
        """The status of the response."""
        return self.kind.status

    def to_dict(self, instance: str) -> dict[str, Any]:
        """The members of the JSON; `instance` is the id of the request."""
        members: dict[str, Any] = {
            "type": problem_type(self.code),
            "title": self.kind.title,
            "status": self.status,
            "detail": self.detail,
            "instance": instance,
            "code": self.code,
            "errors": [error.to_dict() for error in self.errors],
        }
        return members if self.record is None else members | {"record": self.record}


class Refused(Exception):
    """A problem as an exception, for code that cannot answer it on the spot."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.code)
        self.problem = problem


def problem_type(code: str) -> str:
    """The `type` of a code: a reference as "/problems/invalid-input"."""
    return "/problems/" + re.sub(r"(?<!^)(?=[A-Z])", "-", code).lower()


def pointer_to(field: str) -> str | None:
    """The JSON pointer to a field such as "items[2].content"; None if it is no path of a body."""
    if _PATH.fullmatch(field) is None:
        return None
    return "#/" + "/".join(_STEP.findall(field))


def problem_of(error: BaseException) -> Problem:
    """The problem for an error.

    An error that the engine does not raise on purpose gives no word of itself away.
    """
    match error:
        case Refused():
            return error.problem
        case InvalidInput():
            code = _code(error)
            path = pointer_to(error.field)
            field = FieldProblem(error.field, error.problem, error.remedy, path)
            return Problem(code, str(error), (field,))
        case ImportProblem():
            field = FieldProblem(error.place or "body", error.problem, error.remedy)
            return Problem("ImportProblem", f"{field.field}: {field.problem}", (field,))
        case VersionConflict():
            return Problem("VersionConflict", str(error), record=error.record.to_dict())
        case NotFound():
            return Problem("NotFound", str(error))
        case SalienceError():
            return Problem(_code(error), public(error))
        case HTTPException() if error.status_code in _STATUS_CODES:
            code = _STATUS_CODES[error.status_code]
            return Problem(code, error.detail, headers=tuple((error.headers or {}).items()))
    return Problem("InternalError", _INTERNAL)


def _code(error: SalienceError) -> str:
    return next(each.__name__ for each in type(error).__mro__ if each.__name__ in KINDS)


def public(error: SalienceError) -> str:
    """The words of an error that anybody may read."""
    if isinstance(error, NotEmpty):
        return str(error)
    if isinstance(error, NotWritable):
        return f"the store cannot be written: {error.brief}"
    for each in type(error).__mro__:
        if each in _HIDDEN:
            return _HIDDEN[each]
    if isinstance(error, RerankerError):
        return f"the reranker does not answer: {error.brief}"
    if isinstance(error, EmbedderError):
        return f"the embedder does not answer: {error.brief}"
    if isinstance(error, ExtractionError):
        return f"the model for facts does not answer, and nothing was written: {error.brief}"
    return str(error)


class ProblemResponse:
    """An ASGI answer for an error or a problem; logs it if the server is at fault.

    An exception handler of FastAPI can return one. `media_type` is for clients that read no other.
    """

    def __init__(self, cause: BaseException | Problem, media_type: str = MEDIA_TYPE) -> None:
        self.cause = cause
        self.media_type = media_type
        self.problem = cause if isinstance(cause, Problem) else problem_of(cause)
        self.status_code = self.problem.status

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if isinstance(self.cause, BaseException) and self.status_code >= 500:
            log_failure(request_id(scope), self.cause)
        await respond(scope, send, self.problem, self.media_type)


async def respond(scope: Scope, send: Send, problem: Problem, media_type: str = MEDIA_TYPE) -> None:
    """Answer a request by a problem, under the id that the request has in `scope["state"]`."""
    body = msgspec.json.encode(problem.to_dict(request_id(scope)))
    headers = [(b"content-type", media_type.encode()), (b"content-length", b"%d" % len(body))]
    headers += [(name.lower().encode(), value.encode()) for name, value in problem.headers]
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def request_id(scope: Scope) -> str:
    """The id of a request; empty if nothing gave it one."""
    id: str = scope.get("state", {}).get("request_id", "")
    return id


def log_failure(id: str, error: BaseException) -> None:
    """Log an error under the id of its request: its class and place, and no text of a memory.

    The words of an unforeseen error may quote anything, so they are logged with DEBUG.
    """
    if isinstance(error, EmbedderError | ExtractionError | RerankerError):
        reason = error.brief
    elif isinstance(error, SalienceError):
        reason = str(error)
    else:
        places = extract_tb(error.__traceback__)[-8:]
        reason = " > ".join(f"{each.filename}:{each.lineno} {each.name}" for each in places)
    _log.error("request %s failed: %s: %s", id, type(error).__name__, reason)
    _log.debug("request %s failed", id, exc_info=error)
