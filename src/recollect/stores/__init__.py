"""Stores: where memories live. `open_store` picks one by its URL."""

from __future__ import annotations

from recollect.errors import InvalidInput
from recollect.stores.embedded import EmbeddedStore
from recollect.stores.protocol import Store

__all__ = ["EmbeddedStore", "Store", "open_store"]


def open_store(url: str) -> Store:
    """The store of a URL: `sqlite:///path.db`, `sqlite:///:memory:` or `ram://`.

    `sqlite:///memory.db` is relative to the working directory, `sqlite:////var/memory.db` is not;
    `?mode=ro` opens it for reading only.

    Raises:
        InvalidInput: the URL is of no known form.
        StoreError: the file cannot be used.
    """
    if not isinstance(url, str):
        raise InvalidInput("url", f"must be text, not {type(url).__name__}")
    if url == "ram://":
        from recollect.stores.ram import RamRecords

        return EmbeddedStore(RamRecords())
    if url.startswith("sqlite:///"):
        from recollect.stores.sqlite import SqliteRecords

        path, _, options = url.removeprefix("sqlite:///").partition("?")
        if not path:
            raise InvalidInput("url", "names no file", "write sqlite:///memory.db")
        if options not in ("", "mode=ro"):
            raise InvalidInput("url", f"has the option {options!r}", "mode=ro is the only one")
        return EmbeddedStore(SqliteRecords(path, read_only=options == "mode=ro"))
    raise InvalidInput(
        "url", f"{url!r} names no store", "write sqlite:///memory.db, sqlite:///:memory: or ram://"
    )
