"""The framework of an adapter, which an extra brings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Imports of a framework; if it lacks, the ImportError names the extra that brings it.

    with extra("langgraph"):
        from langgraph.store.base import BaseStore
    """
    try:
        yield
    except ImportError as problem:
        remedy = f"pip install 'salience[{name}]'"
        raise ImportError(f"this adapter needs {name} ({problem}); {remedy}") from problem
