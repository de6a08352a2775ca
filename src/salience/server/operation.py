"""Operations: a method of `Memory` behind a path, and one call of it."""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from operator import attrgetter
from typing import Any, Final, Literal, Protocol
from urllib.parse import unquote

from starlette.datastructures import State
from starlette.requests import Request
from starlette.responses import Response

from salience.access import Keyring, Principal
from salience.api.operations import BY_NAME, DELETE, PREFIX, READ, UPKEEP, Scope
from salience.engine.async_memory import AsyncMemory
from salience.engine.extraction import Extractor
from salience.errors import InvalidInput, NotFound, SalienceError, StoreError, shown
from salience.lazily import dataclass, field
from salience.lifecycle.undoing import RUN_KEY
from salience.records.events import Event
from salience.records.time_zone import time_zone
from salience.records.validation import text
from salience.server.encoding import JSON
from salience.server.guard import Metrics
from salience.server.guard.request import operation_of
from salience.server.models.arguments import Arguments
from salience.server.problems import Problem, Refused, public
from salience.write.idempotency import DoneBefore, Once
from salience.write.items import MAX_KEY_CHARACTERS

ANY_SCOPE: Final = ""
"""For an operation that any valid key may ask."""
_ETAG = re.compile(r'(?:W/)?"([1-9]\d{0,17})"|([1-9]\d{0,17})')  # without quotes, too


class Serving(Protocol):
    """The parts of a server that operations use."""

    memory: AsyncMemory
    extractor: Extractor | None
    keyring: Keyring
    is_ready: bool
    readiness: Readiness
    metrics: Metrics


def count_write(state: State, scope: str) -> None:
    """Count an operation of a scope among those that a key may write.

    Raises:
        Refused: the key has written too much.
    """
    if scope != READ and (count := getattr(state, "count_write", None)) is not None:
        count()


@dataclass(frozen=True)
class Call:
    """One call of an operation: the caller, the namespace and the arguments."""

    request: Request
    server: Serving
    principal: Principal
    namespace: str
    arguments: dict[str, Any] = field(default_factory=dict)

    @property
    def memory(self) -> AsyncMemory:
        """The memory of the namespace, in the time zone of the request or of its key."""
        return memory_of(self.server.memory, self.request, self.principal, self.namespace)

    @property
    def once(self) -> str | None:
        """The `Idempotency-Key` of the request as the store keeps it."""
        key = self.request.state.idempotency_key
        return None if key is None else self.own_key(key)

    def once_only(self) -> dict[str, Any]:
        """The arguments of a write with its idempotency key, which the store keeps."""
        key = self.own_key(self.arguments.get("idempotency_key"))
        return {**self.arguments, "idempotency_key": self.once if key is None else key}

    async def done_once(self, name: str, arguments: Mapping[str, Any], **further: Any) -> Any:
        """The result of a change; where it was made before, of what is now.

        Raises:
            Refused: it was made before, and what it answered cannot be told again.
        """
        state, memory = self.request.state, self.memory
        once, given = None, {**arguments, **further}
        if state.idempotency_key is not None:
            whole = f"{operation_of(self.request.scope)} {state.idempotency_key}"
            key = self.own_key(sha256(whole.encode()).hexdigest())
            memory._core.once = once = Once.of(key, arguments, erases=BY_NAME[name].scope == DELETE)
            if name == "labels.add" and given.get("id") is None:
                given["id"] = once.key  # so that it replaces itself
        try:
            return await attrgetter(name)(memory)(**given)
        except DoneBefore as earlier:
            return await self._done(name, arguments, earlier.event)
        finally:
            state.is_repeated = once is not None and once.was_done

    async def _done(self, name: str, arguments: Mapping[str, Any], event: Event) -> Any:
        """The result of a change that was made before, by an event that it left."""
        run = event.payload.get(RUN_KEY)
        if name == "archive":
            return run
        if name == "unarchive":
            records = await self.memory.get_many(arguments["ids"])
            return {each.id: each.status for each in records if each is not None}
        if BY_NAME[name].scope == UPKEEP:
            done = "all or a part of its work" if run is None else f"the run {run}"
            detail = f"the first request of this idempotency key did {done}; see GET /v1/events"
            raise Refused(Problem("RequestDone", detail))
        return await self.memory.get(event.id or "")

    def own_key(self, key: Any) -> Any:
        """An idempotency key of the owner, whose keys are others than those of other owners.

        Raises:
            InvalidInput: it has too many characters.
        """
        if not isinstance(key, str) or not key.strip():
            return key  # the method says what is wrong
        key = text("idempotency_key", key, limit=MAX_KEY_CHARACTERS)
        own = f"{self.principal.key_id} {key}"
        if len(own) <= MAX_KEY_CHARACTERS:
            return own
        return f"{self.principal.key_id} {sha256(key.encode()).hexdigest()}"

    def log_found(self, count: int, degraded: Iterable[str]) -> None:
        """Tell the log and the metrics how much a search found, and what it went without."""
        self.request.state.counts["found"] = count
        self.server.metrics.degraded(degraded)

    @property
    def id(self) -> str:
        """The id in the path."""
        return unquote(self.request.path_params["id"])

    def take(self, name: str, default: Any = None) -> Any:
        """One argument, which is then no longer among the others."""
        return self.arguments.pop(name, default)

    def if_match(self) -> int | None:
        """The version that the header If-Match asks for; None for any.

        Raises:
            InvalidInput: it is no version.
        """
        header = self.request.headers.get("if-match")
        if header is None or header.strip() == "*":
            return None
        version = _ETAG.fullmatch(header.strip())
        if version is None:
            raise InvalidInput("If-Match", "is no version", 'give the ETag of the memory, as "3"')
        return int(version[1] or version[2])


@dataclass(frozen=True, kw_only=True)
class Answer:
    """An answer of an operation: its meaning, and the type or schema of its body.

    One that `tells` comes as events with its progress, too, where a request accepts these.
    """

    description: str
    body: Any = None
    content_type: str = JSON
    has_etag: bool = False
    tells: bool = False


def memory_of(
    memory: AsyncMemory, request: Request, principal: Principal, namespace: str
) -> AsyncMemory:
    """The memory of a namespace as a request sees it.

    Raises:
        InvalidInput: the header Salience-Time-Zone names no time zone.
    """
    field = request.headers.get("salience-time-zone")
    zone = time_zone("Salience-Time-Zone", field) or principal.time_zone
    return memory.for_namespace(namespace, actor=principal.key_id, time_zone=zone)


Endpoint = Callable[[Call], Awaitable[Response]]


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One method on one path; `scope` is what a key needs, None where nobody needs a key.

    With `ANY_SCOPE` any valid key will do.
    """

    id: str
    method: str
    path: str
    endpoint: Endpoint
    summary: str
    description: str
    tag: str
    scope: Scope | Literal[""] | None
    body: Arguments | None = None
    query: Arguments | None = None
    body_type: str = JSON
    answers: Mapping[int, Answer] = field(default_factory=dict)
    errors: Sequence[int] = ()
    headers: Sequence[str] = ()
    example: Any = None
    needs_body: bool = True
    prefix: str = PREFIX

    @property
    def path_format(self) -> str:
        """The whole path, with the names of its places."""
        return self.prefix + self.path


OPERATIONS: list[Operation] = []
"""All operations, in the order of the document."""

OWN: dict[str, tuple[Endpoint, Mapping[str, Any]]] = {}
"""The functions that answer for methods of `Memory` by themselves, with what they change."""


def answers(name: str, **details: Any) -> Callable[[Endpoint], Endpoint]:
    """Let a function answer for a method of `Memory`, with details in the place of those derived.

    `plus` are further arguments, `answers` further statuses.
    """

    def enter(endpoint: Endpoint) -> Endpoint:
        OWN[name] = endpoint, details
        return endpoint

    return enter


def operation(
    method: str,
    path: str,
    source: Callable[..., Any] | None = None,
    *,
    scope: Scope | Literal[""] | None,
    tag: str,
    **details: Any,
) -> Callable[[Endpoint], Endpoint]:
    """Enter a function for what is not a method of a memory; `source` describes it."""

    def enter(endpoint: Endpoint) -> Endpoint:
        OPERATIONS.append(
            Operation(
                id=endpoint.__name__.strip("_"),
                method=method,
                path=path,
                endpoint=endpoint,
                summary=(endpoint.__doc__ or "").strip().rstrip("."),
                description=described(source or endpoint),
                tag=tag,
                scope=scope,
                **details,
            )
        )
        return endpoint

    return enter


def described(source: Callable[..., Any]) -> str:
    """The docstring of a function without its sections on arguments and errors."""
    return re.split(r"^(?:Args|Raises):\n", inspect.getdoc(source) or "", flags=re.M)[0].strip()


def check_reach(call: Call) -> None:
    """Refuse namespaces that the key does not have, as if there were none, and files as profiles.

    Raises:
        NotFound: it does not have one of them, or all if all are asked for.
        InvalidInput: a profile is a text that may be taken for a file or for code.
    """
    arguments = call.arguments
    sections = arguments.get("sections")
    parts = [part for part in _listed(sections) if isinstance(part, dict)]
    namespaces = [*_listed(arguments.get("namespaces")), *(part.get("namespace") for part in parts)]
    if any(isinstance(name, str) and not call.principal.sees(name) for name in namespaces):
        raise foreign()
    if arguments.get("everywhere") is True and not call.principal.sees_everything:
        raise foreign()
    for profile in (arguments.get("profile"), *_listed(arguments.get("profiles"))):
        check_profile(profile)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def foreign() -> NotFound:
    """The error for a namespace that is not there for a key; the same for all."""
    return NotFound("there is no such namespace for this key")


def scope_missing(scope: str) -> Problem:
    """The problem of a request whose key lacks a scope."""
    return Problem(
        "ScopeMissing",
        f"the key lacks the scope {scope}; make one that has it: salience keys create --scope "
        f"{scope}",
        headers=(("WWW-Authenticate", f'Bearer error="insufficient_scope", scope="{scope}"'),),
    )


# Profiles over the network: names and inline objects, never paths or code


def check_profile(profile: Any) -> None:
    """Refuse a text that might be taken for a file or for code.

    Raises:
        InvalidInput: it ends in .json, or has a slash or a colon.
    """
    if isinstance(profile, str) and (profile.endswith(".json") or set(profile) & set("/\\:")):
        raise InvalidInput(
            "profile",
            f"{shown(profile)} is not the name of a profile",
            "give the name of one (GET /v1/profiles lists them), or the JSON object itself",
        )


# Readiness: whether the store of a server can be read and written now, and if not, why

_EACH_SECONDS = 1.0
_LONGEST_SECONDS = 5.0
_SILENT = "the store does not answer"
_FAILED = "the store could not do its work; the log of the server says why"
_log = logging.getLogger("salience.server")


class Readiness:
    """Asks a store at most once a second; all who want to know meanwhile share the answer."""

    def __init__(self, ask: Callable[[], Awaitable[object]]) -> None:
        self._ask = ask
        self._asked: asyncio.Task[str] | None = None
        self._at = 0.0

    async def problem(self) -> str:
        """The reason why the store cannot be used; empty if it can."""
        loop = asyncio.get_running_loop()
        task = self._asked
        if task is None or (task.done() and loop.time() - self._at > _EACH_SECONDS):
            task = self._asked = loop.create_task(self._problem())
            self._at = loop.time()
        done, _ = await asyncio.wait([task], timeout=_LONGEST_SECONDS)
        return task.result() if done else _SILENT

    async def _problem(self) -> str:
        try:
            await self._ask()
        except Exception as error:
            _log.error("not ready: %s: %s", type(error).__name__, error)
            return public(error) if isinstance(error, SalienceError) else _FAILED
        return ""

    def doubt(self, error: Exception) -> None:
        """Ask again the next time, if the store has just refused something."""
        if isinstance(error, StoreError):
            self._at = -_LONGEST_SECONDS

    def close(self) -> None:
        """Ask no more."""
        if self._asked is not None:
            self._asked.cancel()
