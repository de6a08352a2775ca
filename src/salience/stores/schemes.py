"""Schemes of URLs that another class opens, such as http: it is imported when one is opened.

These classes are known by name alone, because they stand above all stores and the engine.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from typing import Any, TypeVar

from salience.stores.address import DB_VARIABLE

T = TypeVar("T")
_OF_SERVERS = {
    "Memory": "salience.remote.memory:RemoteMemory",
    "AsyncMemory": "salience.remote.async_memory:AsyncRemoteMemory",
}
_CLASSES: Mapping[str, Mapping[str, str]] = {"http": _OF_SERVERS, "https": _OF_SERVERS}
"""By scheme the class that stands for each of the engine, as module:name."""


def opened_by(kind: type[T], address: Any) -> type[T]:
    """The class that opens an address (None for that in the environment): `kind`, or its stead."""
    classes = _CLASSES.get(remote_scheme(address), {})
    module, _, name = classes.get(kind.__name__, "").partition(":")
    if not module or kind.__module__ == module:
        return kind
    other: type[T] = getattr(import_module(module), name)
    return other


def remote_scheme(address: Any) -> str:
    """The scheme of an address if other classes open that, else ""."""
    if address is None:
        address = os.environ.get(DB_VARIABLE, "")
    scheme = address.partition("://")[0].lower() if isinstance(address, str) else ""
    return scheme if scheme in _CLASSES else ""
