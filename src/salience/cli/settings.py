"""The settings of every command, options that are passed on, and JSON as text."""

from __future__ import annotations

import importlib
import json
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any, Self

from salience.engine.memory import Memory
from salience.errors import InvalidInput, StoreError
from salience.lazily import dataclass, replace
from salience.ranking.profile import Profile
from salience.records.time_zone import own_zone, system_zone
from salience.stores.address import SQLITE, remote_scheme, store_url


@dataclass(frozen=True)
class Settings:
    """Settings of a command; None where none was given.

    `db_is_option` tells a store named by `--db` from that of the environment.

    Raises:
        InvalidInput: one is empty, as from a shell variable that was never set.
    """

    db: str | None = None
    namespace: str | None = None
    embedder: str | None = None
    json: bool = False
    db_is_option: bool = False
    time_zone: str | None = None

    def __post_init__(self) -> None:
        for name in ("db", "namespace", "embedder", "time_zone"):
            if getattr(self, name) == "":
                raise InvalidInput(name, "is empty", "give it a value, or leave it out")

    @classmethod
    def from_options(
        cls,
        db: str | None = None,
        namespace: str | None = None,
        embedder: str | None = None,
        json: bool = False,
        time_zone: str | None = None,
    ) -> Self:
        """The settings of a command line."""
        return cls(db, namespace, embedder, json, db is not None, time_zone)

    def over(self, other: Settings) -> Settings:
        """These settings, with those of `other` where these have none."""
        chosen = {name: value for name, value in vars(self).items() if value}
        return replace(other, **chosen)

    @property
    def url(self) -> str:
        """The URL of the store."""
        return store_url(self.db)

    @property
    def zone(self) -> tzinfo:
        """The time zone of printed times."""
        return own_zone(self.time_zone) or system_zone()

    @property
    def missing_file(self) -> Path | None:
        """The path of the store if that is a file which does not exist; None otherwise."""
        if not self.url.startswith(SQLITE):
            return None
        path = self.url.removeprefix(SQLITE).partition("?")[0]
        return None if path == ":memory:" or Path(path).exists() else Path(path)

    def named(self, command: str) -> str:
        """A command, or several joined by `&&`, with the store and namespace of this one.

        A store is named if an option named it, unless its URL may hold a password.
        """
        options = []
        if self.db_is_option and self.db and "@" not in self.db:
            options += ["--db", self.db]
        if self.namespace:
            options += ["--namespace", self.namespace]
        start = shlex.join(["salience", *options]) + " "
        return re.sub(r"(?:^|(?<= && ))salience ", lambda _: start, command)

    def require(self) -> None:
        """Raise `StoreError` if the store is a file that does not exist."""
        if path := self.missing_file:
            raise StoreError(f"{path}: there is no such file; add memories first, or give --db")

    @contextmanager
    def open(
        self,
        *,
        profile: str | Profile = "balanced",
        embeds: bool = True,
        make: bool = False,
        clock: Callable[[], datetime] | None = None,
    ) -> Iterator[Memory]:
        """The memory of the namespace during a block.

        A new file is made only with `make`, and not left behind without a memory in it. A server
        has a clock of its own.
        """
        new_file = self.missing_file
        if not make:
            self.require()
        try:
            options = self.options(embeds)
            if clock is not None and not remote_scheme(self.url):
                options["clock"] = clock
            with Memory.open(self.url, profile=profile, **options) as memory:
                yield memory
        finally:
            if new_file is not None and new_file.exists():
                _remove_if_empty(new_file)

    def options(self, embeds: bool = True) -> dict[str, Any]:
        """The settings of the memory; a server has its own embedder, and knows whose the key is."""
        names = ("namespace", "embedder", "time_zone")
        values = {name: getattr(self, name) for name in names}
        chosen = {name: value for name, value in values.items() if value is not None}
        if remote_scheme(self.url):
            return chosen
        return chosen if embeds else {**chosen, "embedder": None}


def _remove_if_empty(path: Path) -> None:
    """Remove the file of a store that holds no memory; leave alone what cannot be read."""
    with suppress(StoreError, OSError):
        with Memory.open(path, embedder=None) as memory:
            empty = not memory.stats(everywhere=True)["memories"]
        if empty:
            for file in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))):
                file.unlink(missing_ok=True)


def parse_json(name: str, text: str | None, kind: type = dict) -> Any:
    """The JSON object (list, or value of any kind) of an option's text; None for None.

    Raises:
        InvalidInput: the text is not JSON, or JSON of another kind.
    """
    if text is None:
        return None
    shape = "object" if kind is dict else "list" if kind is list else "value"
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise InvalidInput(name, f"is not JSON: {problem}", f"give a JSON {shape}") from None
    if not isinstance(value, kind):
        raise InvalidInput(name, f"is not a JSON {shape}", "see --help")
    return value


def imported(option: str, name: str) -> Any:
    """The function named like `package.module:function`, in this folder or installed.

    Raises:
        InvalidInput: it does not exist.
    """
    module, _, function = name.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        return getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as problem:
        remedy = "write it as package.module:function"
        raise InvalidInput(option, f"{name!r} cannot be imported: {problem}", remedy) from None
    finally:
        sys.path.pop(0)
