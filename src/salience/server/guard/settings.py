"""Settings of the guard: the limits of a server, safe as they are."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, Literal, Self

from salience.api.operations import OPERATIONS
from salience.errors import InvalidInput, shown
from salience.lazily import dataclass, field, fields

MIB = 1 << 20
LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "[::1]")
PUBLIC_PATHS = (
    *("/health", "/ready", "/version", "/openapi.json", "/docs"),
    *("/v1/health", "/v1/ready", "/v1/version", "/v1/openapi.json", "/v1/docs"),
)
HEAVY_OPERATIONS = (
    *dict.fromkeys(each.whole_route for each in OPERATIONS if each.heavy),
    "POST /mcp",
    # Adding through mem0's paths holds no slot, as it may wait for a model.
    *(f"POST /compat/mem0{path}" for path in ("/v3/memories/search/", "/v3/memories/", "/search")),
    *(f"POST /compat/mem0{path}" for path in ("/v2/memories/search/", "/v1/memories/search/")),
    *(f"POST /compat/mem0{path}" for path in ("/v2/memories/", "/v1/exports/get/")),
    *(f"GET /compat/mem0{path}" for path in ("/v1/memories/", "/memories", "/v1/entities/")),
    *(
        f"GET /compat/mem0{path}"
        for path in ("/v1/memories/{id}/history/", "/memories/{id}/history")
    ),
    *(f"{method} /compat/mem0/v1/batch/" for method in ("PUT", "DELETE")),
)
LONG_OPERATIONS = tuple(each.whole_route for each in OPERATIONS if each.is_long)
_MAY_BE_ZERO = frozenset(("queue_length", "queue_seconds"))
_PATH = re.compile(r"/\S*")
_OPERATION = re.compile(r"[A-Z]+ /\S*")
_HOST = re.compile(r"\*|(\*\.)?([\w\-.]+|\[[0-9a-fA-F:.]+\])(:\d{1,5})?")
_ORIGIN = re.compile(r"[a-z][a-z0-9+.\-]*://([\w\-.]+|\[[0-9a-f:.]+\])(:\d{1,5})?")


def _check_numbers(settings: Any, prefix: str = "") -> None:
    for each in fields(settings):
        if each.type not in ("int", "float"):
            continue
        name, value = prefix + each.name, getattr(settings, each.name)
        is_whole = each.type == "int"
        if isinstance(value, bool) or not isinstance(value, int if is_whole else (int, float)):
            remedy = "give a whole number" if is_whole else "give a number of seconds"
            raise InvalidInput(name, f"is {shown(value)}", remedy)
        may_be_zero = each.name in _MAY_BE_ZERO
        if not (0 < value < float("inf") or (may_be_zero and value == 0)):
            remedy = "give 0 or more" if may_be_zero else "give more than 0"
            raise InvalidInput(name, f"is {shown(value)}", remedy)


def _check_texts(name: str, texts: Any, form: re.Pattern[str], remedy: str) -> None:
    if isinstance(texts, str):
        raise InvalidInput(name, "is one text", "give a tuple of texts")
    for text in texts:
        if not isinstance(text, str) or form.fullmatch(text) is None:
            raise InvalidInput(name, f"has {shown(text)}", f"give {remedy}")


@dataclass(frozen=True)
class Rate:
    """A rate limit: at most `quota` requests at once, and as many again in each window."""

    quota: int
    window_seconds: int = 60

    def __post_init__(self) -> None:
        _check_numbers(self, "rate.")

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """The rate of a text as "600/60", 600 requests in 60 seconds; None for "off"."""
        if text == "off":
            return None
        quota, _, window = text.partition("/")
        if not (quota.isdecimal() and window.isdecimal()):
            remedy = 'give requests and seconds as "600/60", or "off"'
            raise InvalidInput("rate", f"is {shown(text)}", remedy)
        return cls(int(quota), int(window))


@dataclass(frozen=True)
class GuardSettings:
    """The limits of a server.

    hosts: the names that the server is asked under, beside those of loopback: "name" on any port,
        "name:port", "*.name", or "*" for any.
    origins: the web pages of other origins that may ask it, as "https://app.example.com". They get
        the answers of CORS; nobody else does. "*" is refused.
    body_bytes, import_bytes: the largest body, and the largest upload to `POST /v1/load`.
    json_depth: the deepest nesting of a JSON body.
    body_seconds: the time in which a body has to arrive; of an upload, each part of it.
    handling_seconds, long_seconds: the time in which the answer has to begin; for the operations
        in `long_operations`, to end.
    key_rate: the requests of one key (or, without a key, of one address). None: no limit.
    write_rate: those of one key that write, change or erase. None: no limit but the first.
    refusal_rate: the requests with a wrong key of one address. None: no limit.
    heavy_operations, long_operations: the operations that wait for one of the `heavy_slots` or
        `long_slots`. All others begin at once.
    queue_length: the most requests that wait for the slots of a kind.
    queue_seconds: the longest time that one waits.
    public_paths: the paths that need no key.
    metrics_access: "key" asks for a key for /metrics, "loopback" for a key or a client on this
        machine, "open" for nothing.

    Raises:
        InvalidInput: a setting is out of its range.
    """

    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    body_bytes: int = 4 * MIB
    import_bytes: int = 256 * MIB
    json_depth: int = 64
    body_seconds: float = 30.0
    handling_seconds: float = 60.0
    long_seconds: float = 3_600.0
    key_rate: Rate | None = field(default_factory=lambda: Rate(60_000))
    write_rate: Rate | None = None
    refusal_rate: Rate | None = field(default_factory=lambda: Rate(120))
    heavy_operations: tuple[str, ...] = HEAVY_OPERATIONS
    heavy_slots: int = field(default_factory=lambda: os.cpu_count() or 1)
    long_operations: tuple[str, ...] = LONG_OPERATIONS
    long_slots: int = 2
    queue_length: int = 256
    queue_seconds: float = 10.0
    public_paths: tuple[str, ...] = PUBLIC_PATHS
    metrics_access: Literal["key", "loopback", "open"] = "loopback"

    def __post_init__(self) -> None:
        _check_numbers(self)
        for name in ("key_rate", "write_rate", "refusal_rate"):
            if not isinstance(getattr(self, name), Rate | None):
                raise InvalidInput(name, f"is {shown(getattr(self, name))}", "give a Rate or None")
        _check_texts("hosts", self.hosts, _HOST, 'a name as "memory.example.com", with or without')
        _check_texts("origins", self.origins, _ORIGIN, 'an origin as "https://app.example.com"')
        _check_texts("public_paths", self.public_paths, _PATH, 'a path as "/health"')
        for name in ("heavy_operations", "long_operations"):
            _check_texts(name, getattr(self, name), _OPERATION, 'a method and path: "POST /v1/x"')
        if self.metrics_access not in ("key", "loopback", "open"):
            raise InvalidInput(
                "metrics_access", f"is {shown(self.metrics_access)}", "give key, loopback or open"
            )

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ, **given: Any) -> Self:
        """Settings with the numbers, rates and `metrics_access` of SALIENCE_<NAME>.

        `given` are used where the environment says nothing.
        """
        texts = {
            each.name: (environment[variable], str(each.type))
            for each in fields(cls)
            if environment.get(variable := f"SALIENCE_{each.name.upper()}")
        }
        parsed = {name: _parsed(name, *text) for name, text in texts.items()}
        return cls(**(given | {name: value for name, value in parsed.items() if value is not ...}))


def _parsed(name: str, text: str, kind: str) -> Any:
    """The value of a setting; ... for one that the environment does not say."""
    if kind.startswith("tuple"):
        return ...
    if kind.startswith("Rate"):
        return Rate.parse(text)
    if kind not in ("int", "float"):
        return text
    try:
        return int(text) if kind == "int" else float(text)
    except ValueError:
        raise InvalidInput(name, f"is {shown(text)}", "give a number") from None
