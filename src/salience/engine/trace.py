"""A trace: a line for each batch of operations that a plan asks for, with the time it takes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

from salience.errors import InvalidInput, shown
from salience.language.tokens import shorten
from salience.ranking.expressions import Signal
from salience.retrieval.operations import Op
from salience.retrieval.query import Query

_TEXT_CHARACTERS = 40
_LISTED = 3  # elements of a list that are written out


def line_writer(trace: Any) -> Callable[[str], object]:
    """The function that takes each line of a trace.

    Raises:
        InvalidInput: `trace` is neither True, nor a stream, nor a function.
    """
    if callable(trace):
        return trace
    stream = sys.stderr if trace is True else trace
    if not hasattr(stream, "write"):
        raise InvalidInput("trace", f"is {shown(trace)}", "give True, a stream or a function")
    return lambda line: stream.write(f"{line}\n")


def trace_line(ops: Sequence[Op], elapsed_ms: float) -> str:
    """A batch as a line: its time, and the operations with their main arguments."""
    return f"{elapsed_ms:8.2f} ms  {'  '.join(map(_operation, ops))}"


def _operation(op: Op) -> str:
    """An operation with its main arguments: not its namespaces, nor what has its default."""
    texts = (
        _argument(field.name, value)
        for field in fields(op)
        if (value := getattr(op, field.name)) is not field.default and value is not None
    )
    return f"{type(op).__name__}({', '.join(filter(None, texts))})"


def _argument(name: str, value: Any) -> str:
    """An argument in short; "" for one that says little."""
    if name.startswith("namespace") or isinstance(value, Query | Signal):
        return ""
    if isinstance(value, str):
        return repr(shorten(value, _TEXT_CHARACTERS))
    if isinstance(value, datetime):
        return value.isoformat(" ", "seconds")
    if isinstance(value, int | float):
        return name if value is True else f"{name}={value}"
    if isinstance(value, Collection):
        return _elements(name, value)
    return str(getattr(value, "name", name))


def _elements(name: str, values: Collection[Any]) -> str:
    """Few texts and routes by their names, and how many there are of anything else."""
    named = [getattr(value, "name", value) for value in values]
    if len(named) > _LISTED or not all(isinstance(value, str) for value in named):
        return f"{len(values)} {name}"
    return ", ".join(repr(shorten(value, _TEXT_CHARACTERS)) for value in named)
