"""The address of a store: a path or a URL, and the class that opens those of its scheme."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any, TypeVar

from salience.errors import InvalidInput, shown
from salience.lazily import regex

T = TypeVar("T")
_OF_SERVERS = {
    "Memory": "salience.remote.memory:RemoteMemory",
    "AsyncMemory": "salience.remote.async_memory:AsyncRemoteMemory",
}
_CLASSES: Mapping[str, Mapping[str, str]] = {"http": _OF_SERVERS, "https": _OF_SERVERS}
"""The class that replaces each class of the engine, by scheme, as module:name."""


def opened_by(kind: type[T], address: Any) -> type[T]:
    """The class that opens an address (None: that of the environment): `kind` or a replacement."""
    classes = _CLASSES.get(remote_scheme(address), {})
    module, _, name = classes.get(kind.__name__, "").partition(":")
    if not module or kind.__module__ == module:
        return kind
    other: type[T] = getattr(import_module(module), name)
    return other


def remote_scheme(address: Any) -> str:
    """The scheme of an address that other classes open, else ""."""
    if address is None:
        address = os.environ.get(DB_VARIABLE, "")
    scheme = address.partition("://")[0].lower() if isinstance(address, str) else ""
    return scheme if scheme in _CLASSES else ""


Address = str | os.PathLike[str]
"""The path of a SQLite file, or the URL of a store."""

DB_VARIABLE = "SALIENCE_DB"
"""The environment variable with the address of the store that is opened by default."""
DEFAULT_FILE = "memory.db"
SQLITE = "sqlite:///"
_SCHEME = regex("([A-Za-z][A-Za-z0-9+.-]+):(//)?")  # a single letter is a drive
_EXAMPLES = "agent.db, sqlite:///agent.db, postgresql://user@host/database"
_MEANT = {  # by what others call it
    "file": "sqlite",
    "mem": "ram",
    "memory": "ram",
    "pg": "postgresql",
    "pgsql": "postgresql",
    "psql": "postgresql",
    "postgis": "postgresql",
    "sqlite3": "sqlite",
}
_SCHEMES = ("sqlite", "postgresql", "postgres", "ram")
_LOCAL = ("sqlite://", "ram://")  # their paths may have any character
_URL = regex("[^:/@]*://([^/?#]*)(.*)", re.S)
_HOSTS = regex(r"(\[[^\]]*\]|[^:,]*)(:\d*)?(,(\[[^\]]*\]|[^:,]*)(:\d*)?)*")
_CREDENTIALS = regex("([^:/@]*+:?/{0,2})([^:]*):(.*)@(.*)", re.S)  # what others write, too


def store_url(address: Address | None) -> str:
    """The URL of a store; that of a SQLite file for a path, "~" at its front is the home folder.

    None is the address in the environment's SALIENCE_DB, else memory.db in the working folder.

    Raises:
        InvalidInput: it is not a text, is empty, or is a mistyped URL.
    """
    if address is None:
        address = os.environ.get(DB_VARIABLE, DEFAULT_FILE)
    is_path = isinstance(address, os.PathLike)
    name = os.fspath(address) if is_path else address
    if not isinstance(name, str):
        kind = type(address).__name__
        raise InvalidInput("url", f"must be a path, a URL or a store, not {kind}", _example())
    name = str.__str__(name)
    if not name.strip():
        raise InvalidInput("url", "is empty", _example())
    if name != name.strip() and not is_path:
        raise InvalidInput("url", f"{shown(_masked(name))} begins or ends with a blank", "strip it")
    scheme = None if is_path else _SCHEME.match(name)
    is_url = scheme is not None and bool(scheme[2])
    if scheme and not is_url and (scheme[1].lower() in _MEANT or _nearest(scheme[1], _SCHEMES)):
        raise unknown_store(name)
    if not is_path:
        _refuse_misplaced_password(name)
    if is_url:
        path = name.removeprefix(SQLITE)
        return SQLITE + os.path.expanduser(path) if name != path else name
    return SQLITE + os.path.expanduser(name)


def _refuse_misplaced_password(name: str) -> None:
    """Refuse an address with a password that would be read as a path or as part of a host."""
    if ":" not in name or "@" not in name:
        return
    written = _CREDENTIALS.fullmatch(name)
    if written is None or name.startswith(_LOCAL) or os.path.exists(name):
        return
    url = _URL.fullmatch(name)
    if url is not None:
        user, at, hosts = url[1].rpartition("@")
        if "@" not in user and (at or _HOSTS.fullmatch(hosts) or "@" not in url[2]):
            return
    raise InvalidInput(
        "url",
        f"{shown(_masked(name))} is not the address of a store",
        "write postgresql://user:password@host/database, in the password %40 for @, %2F for /, "
        f"%3F for ? and %23 for #; a file of that name is {SQLITE}NAME",
    )


def _masked(address: str) -> str:
    """An address with *** in the place of a password."""
    return _CREDENTIALS.sub(r"\1\2:***@\4", address)


def public_url(url: str) -> str:
    """The URL of a store to show: without user, password and options; a path as it is."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        return url
    rest = rest.partition("?")[0]
    if scheme + "://" == SQLITE[:-1]:
        return f"{scheme}://{rest}"
    return f"{scheme}://{rest.rpartition('@')[2]}"


def unknown_store(url: str, others: Iterable[str] = ()) -> InvalidInput:
    """The error for a URL of no store, with what it may mean; never with a password.

    `others` are schemes besides those of salience itself.
    """
    scheme, _, rest = url.partition(":")
    guess = _MEANT.get(scheme.lower()) or _nearest(scheme, (*_SCHEMES, *others))
    if guess == "sqlite":
        slashes = "//" if scheme.lower() == "file" or not rest.startswith("///") else "///"
        path = _masked(rest.removeprefix(slashes))
        problem = (
            f"{shown(_masked(url))} {'is not the address of a store' if path else 'names no file'}"
        )
        path = path or "agent.db"
        return InvalidInput("url", problem, f"write {SQLITE}{path}, or the path alone: {path}")
    if guess == "ram":
        return InvalidInput(
            "url", f"{shown(_masked(url))} is not the address of a store", "write ram://"
        )
    if guess is not None:
        right = "postgresql://user@host/database" if guess.startswith("postgres") else f"{guess}://"
        return InvalidInput("url", f"{scheme}:// is not the address of a store", f"write {right}")
    schemes = "".join(f", {other}://..." for other in others)
    return InvalidInput(
        "url", f"{scheme}:// is not the address of a store", f"write {_EXAMPLES}{schemes} or ram://"
    )


def _nearest(scheme: str, known: Iterable[str]) -> str | None:
    """The known scheme most like another, None if none is similar."""
    from difflib import get_close_matches  # needed only for an error

    matches = get_close_matches(scheme.lower().partition("+")[0], list(known), 1, 0.7)
    return matches[0] if matches else None


def _example() -> str:
    return f"write {_EXAMPLES} or ram://"
